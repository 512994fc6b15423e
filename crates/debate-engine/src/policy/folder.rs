//! A folder of reviewers: their files are read, and proposals are written into its folder `prompts`, nowhere else
//! (rule V7).
//!
//! Both folders are held open and every name is a single component below them, opened without following links. So
//! neither a name nor a link, nor one that is put in place meanwhile, leads anywhere else.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::policy::system_prompt;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, mkdirat, open, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

use super::folder_error::FolderError;

/// The folder of proposals.
const PROMPTS: &str = "prompts";
/// How files of reviewers end, in the order in which they are looked for.
const ENDINGS: [&str; 4] = ["cjs", "js", "mjs", "ts"];
/// Bytes of a reviewer's file.
const SOURCE_BYTES_MAX: u64 = 256 * 1024;

/// A folder of reviewers.
#[derive(Debug)]
pub struct ReviewersFolder {
    path: PathBuf,
    folder: OwnedFd,
}

impl ReviewersFolder {
    /// Opens a folder.
    ///
    /// # Errors
    /// There is none.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open(path, flags, Mode::empty())
            .map_err(|errno| FolderError::Open { path: path.to_owned(), source: errno.into() })?;
        Ok(Self { path: path.to_owned(), folder })
    }

    /// Returns the system prompt of a reviewer, from its file.
    ///
    /// # Errors
    /// There is no such file, it is too long, or it assigns no `SYSTEM_PROMPT`.
    pub fn system_prompt(&self, reviewer: &ReviewerName) -> Result<String, FolderError> {
        for ending in ENDINGS {
            let name = format!("{reviewer}.{ending}");
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = match openat(&self.folder, &name, flags, Mode::empty()) {
                Ok(file) => File::from(file),
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(self.refused(&name, errno)),
            };
            let path = self.path.join(&name);
            let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
            if !is_file {
                return Err(FolderError::NotPlain { path });
            }
            let mut source = Vec::new();
            let read = file.take(SOURCE_BYTES_MAX + 1).read_to_end(&mut source);
            read.map_err(|source| FolderError::Io { path: path.clone(), source })?;
            let text = String::from_utf8(source).ok().filter(|text| text.len() as u64 <= SOURCE_BYTES_MAX);
            if let Some(prompt) = text.as_deref().and_then(system_prompt::read) {
                return Ok(prompt);
            }
        }
        Err(FolderError::NoPrompt { path: self.path.clone(), reviewer: reviewer.clone() })
    }

    /// Writes a proposal, `number` of its reviewer's, as `prompts/<reviewer>.txt` and its diff next to it, each file
    /// atomically; returns both paths.
    ///
    /// # Errors
    /// `prompts` or one of the files is a link or something else, or the system refused.
    pub fn write(
        &self,
        reviewer: &ReviewerName,
        number: u32,
        proposed: &str,
        diff: &str,
    ) -> Result<[PathBuf; 2], FolderError> {
        let prompts = self.prompts()?;
        let names = [format!("{reviewer}.txt"), format!("{reviewer}.diff")];
        names.iter().try_for_each(|name| self.check_plain(&prompts, name))?;
        self.replace(&prompts, &names[1], number, diff)?;
        self.replace(&prompts, &names[0], number, proposed)?;
        Ok(names.map(|name| self.path.join(PROMPTS).join(name)))
    }

    /// Checks that proposals could be written now, before anybody is asked for one.
    ///
    /// # Errors
    /// As [`ReviewersFolder::write`].
    pub fn check(&self, reviewer: &ReviewerName) -> Result<(), FolderError> {
        let prompts = self.prompts()?;
        ["txt", "diff"].iter().try_for_each(|end| self.check_plain(&prompts, &format!("{reviewer}.{end}")))
    }

    /// Opens the folder of proposals, which is made where there is none.
    fn prompts(&self) -> Result<OwnedFd, FolderError> {
        match mkdirat(&self.folder, PROMPTS, Mode::RWXU | Mode::RGRP | Mode::XGRP | Mode::ROTH | Mode::XOTH) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(self.refused(PROMPTS, errno)),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.folder, PROMPTS, flags, Mode::empty()).map_err(|errno| self.refused(PROMPTS, errno))
    }

    /// Refuses to replace anything but a plain file.
    fn check_plain(&self, prompts: &OwnedFd, name: &str) -> Result<(), FolderError> {
        let path = || self.path.join(PROMPTS).join(name);
        match statat(prompts, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(()),
            Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile => Ok(()),
            Ok(_) => Err(FolderError::NotPlain { path: path() }),
            Err(errno) => Err(FolderError::Io { path: path(), source: errno.into() }),
        }
    }

    /// Writes a file next to the one that it then replaces.
    fn replace(&self, prompts: &OwnedFd, name: &str, number: u32, text: &str) -> Result<(), FolderError> {
        let io = |source: io::Error| FolderError::Io { path: self.path.join(PROMPTS).join(name), source };
        let draft = write_draft(prompts, name, number, text).map_err(io)?;
        renameat(prompts, &draft, prompts, name).map_err(|errno| {
            let _gone = unlinkat(prompts, &draft, AtFlags::empty());
            io(errno.into())
        })
    }

    fn refused(&self, name: &str, errno: Errno) -> FolderError {
        let path = self.path.join(name);
        match errno {
            // Of a link: NOFOLLOW says LOOP, with DIRECTORY it says NOTDIR.
            Errno::LOOP | Errno::NOTDIR | Errno::MLINK => FolderError::NotPlain { path },
            errno => FolderError::Io { path, source: errno.into() },
        }
    }
}

/// Writes the replacement of a file next to it, to the disk; returns its name, which is unique to the proposal.
fn write_draft(prompts: &OwnedFd, name: &str, number: u32, text: &str) -> io::Result<String> {
    let draft = format!(".{name}.{number}.{}", std::process::id());
    // What a crash has left.
    match unlinkat(prompts, &draft, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(errno) => return Err(errno.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
    let mut file = File::from(openat(prompts, &draft, flags, mode)?);
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        let _gone = unlinkat(prompts, &draft, AtFlags::empty());
    }
    written.map(|()| draft)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "all of this is tests")]

    use std::collections::BTreeMap;
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    use rustix::fs::mkfifoat;

    use super::*;

    /// Returns every file below a folder with its bytes; links as what they point to.
    fn tree(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(root).unwrap().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                found.extend(tree(&path));
            } else if kind.is_symlink() {
                found.insert(
                    path.clone(),
                    std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                );
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
        found
    }

    fn stage() -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let reviewers = root.path().join("reviewers");
        std::fs::create_dir(&reviewers).unwrap();
        std::fs::write(reviewers.join("security.cjs"), "const SYSTEM_PROMPT = `Look.`;").unwrap();
        std::fs::write(root.path().join("victim.txt"), "untouched").unwrap();
        (root, reviewers)
    }

    #[test]
    fn v7_a_proposal_and_its_diff_are_written_and_nothing_else_changes() {
        let (root, reviewers) = stage();
        let before = tree(root.path());
        let folder = ReviewersFolder::open(&reviewers).unwrap();
        let name: ReviewerName = "security".parse().unwrap();
        assert_eq!(folder.system_prompt(&name).unwrap(), "Look.");
        for text in ["one", "two"] {
            folder.write(&name, 1, text, "a diff").unwrap();
            let mut after = tree(root.path());
            assert_eq!(after.remove(&reviewers.join("prompts/security.txt")).unwrap(), text.as_bytes());
            assert_eq!(after.remove(&reviewers.join("prompts/security.diff")).unwrap(), b"a diff");
            assert_eq!(after, before, "no draft is left, no other file is touched");
        }
    }

    #[test]
    fn v7_a_crash_before_the_old_file_is_replaced_leaves_it_whole() {
        let (_root, reviewers) = stage();
        let folder = ReviewersFolder::open(&reviewers).unwrap();
        let name: ReviewerName = "security".parse().unwrap();
        folder.write(&name, 1, "the first", "its diff").unwrap();
        // All that a crash can leave: a draft, whole or not, that never took the file's place.
        let prompts = folder.prompts().unwrap();
        let draft = write_draft(&prompts, "security.txt", 2, "half of the sec").unwrap();
        let read = || std::fs::read_to_string(reviewers.join("prompts/security.txt")).unwrap();
        assert_eq!(read(), "the first");
        assert!(reviewers.join("prompts").join(&draft).exists() && draft.starts_with(".security.txt.2."));
        folder.write(&name, 2, "the second", "its diff").unwrap();
        assert_eq!(read(), "the second");
        assert!(!reviewers.join("prompts").join(&draft).exists(), "what the crash has left is gone");
    }

    #[test]
    fn v7_of_proposals_written_at_the_same_time_each_file_is_one_of_them_and_whole() {
        let (_root, reviewers) = stage();
        let folder = ReviewersFolder::open(&reviewers).unwrap();
        let name: ReviewerName = "security".parse().unwrap();
        let text = |number: u32| format!("{number}\n").repeat(20_000);
        let texts: Vec<String> = (1..=4).map(text).collect();
        folder.write(&name, 1, &texts[0], &texts[0]).unwrap();
        let is_whole = |file: &str| {
            let read = std::fs::read_to_string(reviewers.join("prompts").join(file)).unwrap();
            assert!(texts.contains(&read), "{file} has {} bytes of a mixture", read.len());
        };
        std::thread::scope(|scope| {
            let writers = (1..=4).map(|number| {
                let (folder, name, text) = (&folder, &name, text(number));
                scope.spawn(move || {
                    (0..10).for_each(|_| drop(folder.write(name, number, &text, &text).unwrap()));
                })
            });
            let writers: Vec<_> = writers.collect();
            while writers.iter().any(|writer| !writer.is_finished()) {
                is_whole("security.txt");
                is_whole("security.diff");
            }
        });
        assert_eq!(tree(&reviewers.join("prompts")).len(), 2, "no draft is left");
    }

    #[test]
    fn v7_links_are_never_followed_and_what_they_point_to_stays() {
        let name: ReviewerName = "security".parse().unwrap();
        let victim = |root: &Path| std::fs::read_to_string(root.join("victim.txt")).unwrap();
        // The folder of proposals is a link out of here.
        let (root, reviewers) = stage();
        std::fs::create_dir(root.path().join("elsewhere")).unwrap();
        symlink(root.path().join("elsewhere"), reviewers.join("prompts")).unwrap();
        let before = tree(root.path());
        let folder = ReviewersFolder::open(&reviewers).unwrap();
        assert!(matches!(folder.write(&name, 1, "x", "y"), Err(FolderError::NotPlain { .. })));
        assert!(matches!(folder.check(&name), Err(FolderError::NotPlain { .. })));
        assert_eq!(tree(root.path()), before);
        // The proposal, and then its diff, is a link to another file.
        for file in ["security.txt", "security.diff"] {
            let (root, reviewers) = stage();
            std::fs::create_dir(reviewers.join("prompts")).unwrap();
            symlink(root.path().join("victim.txt"), reviewers.join("prompts").join(file)).unwrap();
            let before = tree(root.path());
            let folder = ReviewersFolder::open(&reviewers).unwrap();
            assert!(matches!(folder.write(&name, 1, "x", "y"), Err(FolderError::NotPlain { .. })), "{file}");
            assert_eq!((tree(root.path()), victim(root.path())), (before, "untouched".to_owned()));
        }
        // A hard link is replaced, not written through.
        let (root, reviewers) = stage();
        std::fs::create_dir(reviewers.join("prompts")).unwrap();
        std::fs::hard_link(root.path().join("victim.txt"), reviewers.join("prompts/security.txt")).unwrap();
        ReviewersFolder::open(&reviewers).unwrap().write(&name, 1, "x", "y").unwrap();
        assert_eq!(victim(root.path()), "untouched");
        // The folder that was opened is used, whatever its name leads to later.
        let (root, reviewers) = stage();
        let folder = ReviewersFolder::open(&reviewers).unwrap();
        std::fs::rename(&reviewers, root.path().join("moved")).unwrap();
        symlink(root.path(), &reviewers).unwrap();
        assert!(folder.system_prompt(&name).is_ok());
        folder.write(&name, 1, "x", "y").unwrap();
        assert!(root.path().join("moved/prompts/security.txt").exists());
        assert!(!root.path().join("prompts").exists());
        // A reviewer's file that is a link is not read.
        let (root, reviewers) = stage();
        symlink(root.path().join("victim.txt"), reviewers.join("other.cjs")).unwrap();
        let read = ReviewersFolder::open(&reviewers).unwrap().system_prompt(&"other".parse().unwrap());
        assert!(matches!(read, Err(FolderError::NotPlain { .. })), "{read:?}");
    }

    #[test]
    fn v7_a_folder_or_pipe_in_the_place_of_a_file_is_refused() {
        for [taken, other] in [["txt", "diff"], ["diff", "txt"]] {
            let (_root, reviewers) = stage();
            let folder = ReviewersFolder::open(&reviewers).unwrap();
            let prompts = folder.prompts().unwrap();
            mkfifoat(&prompts, format!("pipe.{taken}"), Mode::RUSR | Mode::WUSR).unwrap();
            let file = |name: &str, end: &str| reviewers.join(format!("prompts/{name}.{end}"));
            std::fs::create_dir(file("folder", taken)).unwrap();
            for name in ["folder", "pipe"] {
                let written = folder.write(&name.parse().unwrap(), 1, "x", "y");
                assert!(matches!(written, Err(FolderError::NotPlain { .. })), "{name}.{taken}: {written:?}");
                assert!(!file(name, other).exists(), "not even the other file is written");
            }
            assert!(file("pipe", taken).metadata().unwrap().file_type().is_fifo());
        }
        let (_root, reviewers) = stage();
        let folder = ReviewersFolder::open(&reviewers).unwrap();
        std::fs::create_dir(reviewers.join("dir.cjs")).unwrap();
        mkfifoat(&folder.folder, "pipe.cjs", Mode::RUSR | Mode::WUSR).unwrap();
        for name in ["dir", "pipe"] {
            let read = folder.system_prompt(&name.parse().unwrap());
            assert!(matches!(read, Err(FolderError::NotPlain { .. })), "{name}: {read:?}");
        }
        std::fs::write(reviewers.join("bare.cjs"), "nothing here").unwrap();
        assert!(matches!(folder.system_prompt(&"bare".parse().unwrap()), Err(FolderError::NoPrompt { .. })));
    }
}

//! Reading files and searching them.

use std::cmp::Reverse;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};

use super::path::is_git;
use super::{Awaited, Workspace};
use crate::bounded::bounded;

/// The largest file that is read, in bytes.
pub(super) const FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;
/// Lines shown at once.
const LINES_MAX: u32 = 400;
/// Lines shown unless more are asked for.
const LINES_DEFAULT: u32 = 120;
/// Files that one search looks at.
pub(super) const FILES_MAX: usize = 20_000;
/// Lines that one search finds.
const HITS_MAX: usize = 40;
/// Lines that it shows of one file.
const FILE_HITS_MAX: usize = 10;
/// Characters of a line that a search shows.
const HIT_CHARS_MAX: usize = 200;

impl Workspace {
    /// Returns lines of a file, numbered.
    pub(super) fn read_file(&self, path: &str, from: u32, to: Option<u32>) -> anyhow::Result<String> {
        let text = self.text_of(&self.inside(path)?)?;
        let from = from.max(1);
        let to = to.unwrap_or(from.saturating_add(LINES_DEFAULT - 1)).min(from.saturating_add(LINES_MAX - 1));
        let mut shown = String::new();
        for (line, number) in text.lines().zip(1..).filter(|(_, number)| (from..=to).contains(number)) {
            let _infallible = writeln!(shown, "{number}: {line}");
        }
        ensure!(!shown.is_empty(), "{path} has {} lines", text.lines().count());
        Ok(shown)
    }

    /// Returns the lines that hold a text, letters' case aside, as `path:line: text`.
    ///
    /// Of a repository the files of its last commit are searched, which what is built or ignored is none of; of another
    /// folder all files.
    ///
    /// # Errors
    /// The text is empty, the path is not allowed, or the caller no longer waits for the result.
    pub(super) fn search(
        &self,
        text: &str,
        path: Option<&str>,
        tracked: Option<Vec<PathBuf>>,
        awaited: &Awaited<'_>,
    ) -> anyhow::Result<String> {
        let wanted = text.trim().to_lowercase();
        ensure!(!wanted.is_empty(), "there is nothing to search for");
        let place = self.inside(path.unwrap_or("."))?;
        let mut files = match tracked {
            Some(tracked) => self.below(&place, tracked, awaited)?,
            None => files_of(place, awaited)?,
        };
        let is_cut = files.len() > FILES_MAX;
        files.truncate(FILES_MAX);
        let (mut found, mut hits) = (String::new(), 0);
        for file in files {
            awaited()?;
            // What is no text holds no words.
            let Ok(text) = self.text_of(&file) else { continue };
            let lines = text.lines().zip(1..).filter(|(line, _)| line.to_lowercase().contains(&wanted));
            for (place, (line, number)) in lines.enumerate() {
                if hits == HITS_MAX {
                    let _infallible = write!(found, "… more than {HITS_MAX} lines");
                    return Ok(found);
                }
                if place == FILE_HITS_MAX {
                    let _infallible = writeln!(found, "… more in {}", self.shown(&file));
                    break;
                }
                hits += 1;
                let line: String = line.trim().chars().take(HIT_CHARS_MAX).collect();
                let _infallible = writeln!(found, "{}:{number}: {line}", self.shown(&file));
            }
        }
        if hits == 0 {
            found.push_str("nothing found");
        }
        if is_cut {
            let _infallible =
                write!(found, "\n… only the first {FILES_MAX} files were searched; name a folder");
        }
        Ok(found)
    }

    /// Reads a file of text, by its whole path.
    ///
    /// # Errors
    /// It is none, or has more than is read, which is refused.
    pub(super) fn text_of(&self, path: &Path) -> anyhow::Result<String> {
        let file = self.open_file(path).with_context(|| format!("cannot open {}", self.shown(path)))?;
        ensure!(file.metadata()?.is_file(), "{} is no file", self.shown(path));
        text(file, &self.shown(path))
    }

    /// Returns the files of a repository that lie below a place and are there, links left out: one more than is searched.
    fn below(
        &self,
        place: &Path,
        tracked: Vec<PathBuf>,
        awaited: &Awaited<'_>,
    ) -> anyhow::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for name in tracked {
            awaited()?;
            let file = self.root().join(name);
            if file.starts_with(place) && self.inside(&self.shown(&file)).is_ok() {
                files.push(file);
            }
            if files.len() > FILES_MAX {
                break;
            }
        }
        Ok(files)
    }
}

/// Reads what has a name as text.
///
/// # Errors
/// It is none, or has more than is read, which is refused: then one byte more is read.
pub(super) fn text(from: impl Read, name: &str) -> anyhow::Result<String> {
    let bytes = bounded(from, FILE_BYTES_MAX)?
        .with_context(|| format!("refused: {name} has more than {FILE_BYTES_MAX} bytes"))?;
    String::from_utf8(bytes).ok().context("it is no text in UTF-8")
}

/// Lists the files of a folder in name order, links and git's own left out: one more than is searched.
fn files_of(folder: PathBuf, awaited: &Awaited<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let (mut files, mut left) = (Vec::new(), vec![folder]);
    while let Some(path) = left.pop().filter(|_| files.len() <= FILES_MAX) {
        awaited()?;
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if metadata.is_file() {
            files.push(path);
        } else if metadata.is_dir() {
            let mut entries: Vec<_> = fs::read_dir(&path).into_iter().flatten().flatten().collect();
            entries.sort_unstable_by_key(|entry| Reverse(entry.file_name()));
            let inner = entries.iter().filter(|entry| !is_git(&entry.file_name()));
            left.extend(inner.map(fs::DirEntry::path));
        }
    }
    Ok(files)
}

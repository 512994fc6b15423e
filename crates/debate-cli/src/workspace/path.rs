//! Which paths lie inside of a workspace, and opening them without leaving it.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use super::Workspace;

/// The longest path, in bytes.
const PATH_BYTES_MAX: usize = 1_024;
/// The folder of git's own files, which may hold secrets.
const GIT: &str = ".git";

impl Workspace {
    /// Returns the folder.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns where a path inside of the workspace leads.
    ///
    /// # Errors
    /// It leads out of the folder, over a link, into git's own files, or nowhere.
    pub(super) fn inside(&self, path: &str) -> anyhow::Result<PathBuf> {
        ensure!(path.len() <= PATH_BYTES_MAX && !path.contains('\0'), "refused: that is no path");
        let mut found = self.root.clone();
        for component in Path::new(path).components() {
            let name = match component {
                Component::Normal(name) => name,
                Component::CurDir => continue,
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    bail!("refused: {path} leads out of the workspace")
                }
            };
            ensure!(!is_git(name), "refused: {path} is git's own");
            found.push(name);
            let metadata = found.symlink_metadata().with_context(|| format!("there is no {path}"))?;
            ensure!(!metadata.is_symlink(), "refused: {path} goes over a link");
        }
        // Whatever the system makes of names, what is found lies below the folder.
        let real = found.canonicalize().with_context(|| format!("there is no {path}"))?;
        ensure!(real.starts_with(&self.root), "refused: {path} leads out of the workspace");
        Ok(found)
    }

    /// Opens a file inside of the workspace, name by name below the one before, so that no link is followed, not even one that
    /// was put in place since [`Workspace::inside`] looked.
    ///
    /// # Errors
    /// A name is a link or of something else than it should be, or the system refused.
    #[cfg(unix)]
    pub(super) fn open_file(&self, path: &Path) -> io::Result<File> {
        use rustix::fs::{Mode, OFlags, open, openat};

        let below = path.strip_prefix(&self.root).map_err(|_| io::ErrorKind::InvalidInput)?;
        let names = below.components().map(|component| match component {
            Component::Normal(name) => Ok(name),
            Component::CurDir | Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                Err(io::ErrorKind::InvalidInput)
            }
        });
        let names: Vec<&std::ffi::OsStr> = names.collect::<Result<_, _>>()?;
        let (name, folders) = names.split_last().ok_or(io::ErrorKind::IsADirectory)?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut place = open(&self.root, flags | OFlags::DIRECTORY, Mode::empty())?;
        for folder in folders {
            place = openat(&place, *folder, flags | OFlags::DIRECTORY, Mode::empty())?;
        }
        Ok(File::from(openat(&place, *name, flags | OFlags::NONBLOCK, Mode::empty())?))
    }

    /// Opens a file inside of the workspace.
    ///
    /// # Errors
    /// It is a link or no file, or the system refused.
    #[cfg(not(unix))]
    pub(super) fn open_file(&self, path: &Path) -> io::Result<File> {
        let is_file = path.symlink_metadata()?.is_file();
        if is_file { File::open(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Returns a path of the workspace as tools show it.
    pub(super) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// Returns whether a name is that of git's own folder.
pub(super) fn is_git(name: &std::ffi::OsStr) -> bool {
    name.eq_ignore_ascii_case(GIT)
}

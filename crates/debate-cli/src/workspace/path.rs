//! Which paths lie inside of a workspace.

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

    /// Returns a path of the workspace as tools show it.
    pub(super) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

/// Returns whether a name is that of git's own folder.
pub(super) fn is_git(name: &std::ffi::OsStr) -> bool {
    name.eq_ignore_ascii_case(GIT)
}

//! Packages of npm, installed as they are locked.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo::{Workspace, answers, succeed};

/// Returns npm's program.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(if cfg!(windows) { "npm.cmd" } else { "npm" })
}

/// Returns what of Node and npm is not installed.
pub(crate) fn missing(workspace: &Workspace) -> Option<&'static str> {
    let is_missing = |program: &&str| !is_there(workspace, program);
    ["node", if cfg!(windows) { "npm.cmd" } else { "npm" }].into_iter().find(is_missing)
}

/// Returns whether a program is installed.
pub(crate) fn is_there(workspace: &Workspace, program: &str) -> bool {
    let mut version = workspace.program(Path::new(program));
    version.arg("--version");
    answers(version)
}

/// Installs the packages of a folder exactly as they are locked, unless they are there.
///
/// # Errors
///
/// When npm fails, or a file cannot be read or written.
pub(crate) fn install(workspace: &Workspace, folder: &str) -> Result<()> {
    let path = workspace.root.join(folder);
    let read =
        |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let lock = read(&path.join("package-lock.json"))?;
    let stamp = path.join("node_modules/.locked");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    println!("installing the packages of {folder}");
    let mut install = workspace.program(&program());
    install.current_dir(&path).args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]);
    succeed(install)?;
    fs::write(&stamp, lock).with_context(|| format!("cannot write {}", stamp.display()))
}

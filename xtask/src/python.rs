//! Environments of Python with pinned packages, below the target folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo::{Workspace, answers, succeed};

/// The packages of one environment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packages {
    /// The folder's name below the target folder.
    pub(crate) name: &'static str,
    /// What pip installs, with versions.
    pub(crate) wanted: &'static [&'static str],
    /// Packages that pip also installs, without their dependencies.
    pub(crate) alone: &'static [&'static str],
}

/// Returns the interpreter of an environment that has the packages, or why there is none.
///
/// # Errors
///
/// When a package cannot be installed.
pub(crate) fn environment(workspace: &Workspace, packages: Packages) -> Result<Result<PathBuf, String>> {
    let python = Path::new("python3");
    let mut version = workspace.program(python);
    version.arg("--version");
    if !answers(version) {
        return Ok(Err("python3 is not installed".to_owned()));
    }
    let folder = workspace.target.join(packages.name);
    let interpreter = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let stamp = folder.join("installed.txt");
    let wanted = [packages.wanted, packages.alone].concat().join("\n");
    if interpreter.exists() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(Ok(interpreter));
    }
    println!("installing {} into {}", wanted.replace('\n', ", "), folder.display());
    let mut venv = workspace.program(python);
    venv.args(["-m", "venv", "--clear"]).arg(&folder);
    if succeed(venv).is_err() {
        return Ok(Err("python3 cannot make a virtual environment (its venv is missing)".to_owned()));
    }
    for (more, names) in [(&[][..], packages.wanted), (&["--no-deps"], packages.alone)] {
        if !names.is_empty() {
            let mut pip = workspace.program(&interpreter);
            pip.args(["-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]);
            pip.args(more).args(names);
            succeed(pip)?;
        }
    }
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(Ok(interpreter))
}

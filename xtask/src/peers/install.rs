//! Building and installing peers: Rust into the target folder, Python into an environment of its own for each.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::roster::{Peer, Program};
use crate::cargo::{Workspace, answers, succeed};

/// Installs wheels many times faster than pip; pip is used where it cannot be had.
const UV: &str = "uv==0.13.9";

/// Makes a peer ready and returns what it is started with.
///
/// # Errors
///
/// When it does not build or cannot be installed.
pub(crate) fn peer(workspace: &Workspace, peer: &Peer) -> Result<Vec<OsString>> {
    match peer.program {
        Program::Rust(package, binary, more) => {
            let program = rust(workspace, package, binary)?;
            Ok([program.into_os_string()].into_iter().chain(more.iter().map(OsString::from)).collect())
        }
        Program::Python(environment, script) => {
            let [python, script] = script_of(workspace, environment, script)?;
            Ok(vec![python.into(), "-u".into(), script.into()])
        }
    }
}

/// Makes an environment ready and returns its interpreter and a script of benches/peers/python.
///
/// # Errors
///
/// When it cannot be installed.
pub(crate) fn script_of(workspace: &Workspace, environment: &str, script: &str) -> Result<[PathBuf; 2]> {
    let python = python(workspace, environment)?;
    Ok([python, workspace.root.join("benches/peers/python").join(script)])
}

/// Builds one package of benches/peers alone, lest its dependencies get features from another one's, and returns a binary
/// of it.
///
/// # Errors
///
/// When it does not build.
pub(crate) fn rust(workspace: &Workspace, package: &str, binary: &str) -> Result<PathBuf> {
    rust_in(workspace, "benches/peers", package, binary)
}

/// Builds one package of the workspace in a folder, and returns a binary of it.
///
/// # Errors
///
/// When it does not build.
pub(crate) fn rust_in(workspace: &Workspace, folder: &str, package: &str, binary: &str) -> Result<PathBuf> {
    let mut build = workspace.cargo(["build", "--release", "--quiet", "--locked", "--manifest-path"]);
    build
        .arg(format!("{folder}/Cargo.toml"))
        .args(["--package", package, "--target-dir"])
        .arg(&workspace.target);
    succeed(build).with_context(|| format!("{package} does not build"))?;
    Ok(workspace.target.join("release").join(format!("{binary}{}", std::env::consts::EXE_SUFFIX)))
}

/// Returns the interpreter of an environment with pinned packages.
fn python(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let requirements = workspace.root.join(format!("benches/peers/python/requirements/{name}.txt"));
    let wanted = fs::read_to_string(&requirements)
        .with_context(|| format!("cannot read {}", requirements.display()))?;
    let folder = workspace.target.join("peers").join(name);
    let (interpreter, stamp) = (folder.join("bin/python"), folder.join("installed.txt"));
    if interpreter.exists() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(interpreter);
    }
    eprintln!("installing {name} into {}", folder.display());
    environment(workspace, &folder)?;
    let mut install = match uv(workspace) {
        Some(uv) => {
            let mut install = workspace.program(&uv);
            install.args(["pip", "install", "--quiet", "--python"]).arg(&interpreter);
            install
        }
        None => {
            let mut install = workspace.program(&interpreter);
            install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
            install
        }
    };
    install.arg("--requirement").arg(&requirements);
    succeed(install).with_context(|| format!("the packages of {name} cannot be installed"))?;
    fs::write(&stamp, wanted).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(interpreter)
}

fn environment(workspace: &Workspace, folder: &Path) -> Result<()> {
    let python = Path::new("python3");
    let mut version = workspace.program(python);
    version.arg("--version");
    if !answers(version) {
        bail!("python3 is not installed");
    }
    let mut venv = workspace.program(python);
    venv.args(["-m", "venv", "--clear"]).arg(folder);
    succeed(venv).context("python3 cannot make a virtual environment (its venv is missing)")
}

fn uv(workspace: &Workspace) -> Option<PathBuf> {
    let folder = workspace.target.join("peers/uv");
    let uv = folder.join("bin/uv");
    if !uv.exists() {
        environment(workspace, &folder).ok()?;
        let mut pip = workspace.program(&folder.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", UV]);
        succeed(pip).ok()?;
    }
    Some(uv)
}

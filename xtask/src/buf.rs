//! The wire's checks and reference: buf from npm, installed under the target folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo::{Workspace, succeed};
use crate::npm;
use crate::reference;
use crate::report::Ended;

const VERSION: &str = "1.75.0";

/// The wire as it was released last; what breaks its clients is refused. Written by `cargo xtask api --released`.
const RELEASED: &str = "proto/released.binpb";
/// The reference that is made of the comments in proto/, below the target folder.
const REFERENCE: &str = "docs/api.md";

/// Checks proto/: the rules of buf, and that no client of the last release breaks.
///
/// # Errors
///
/// When buf cannot be installed or finds a violation.
pub(crate) fn check(workspace: &Workspace) -> Result<Ended> {
    if let Some(missing) = npm::missing(workspace) {
        return Ok(Ended::Skipped(format!("{missing} is not installed")));
    }
    let program = installed(workspace)?;
    for arguments in [&["lint", "proto"][..], &["breaking", "proto", "--against", RELEASED]] {
        let mut buf = workspace.program(&program);
        buf.args(arguments);
        succeed(buf)?;
    }
    reference(workspace, &program)?;
    Ok(Ended::Passed)
}

/// Writes the reference and, where this is a release, what later wires are compared with.
///
/// # Errors
///
/// When buf cannot be installed or proto/ cannot be built.
pub(crate) fn write(workspace: &Workspace, is_release: bool) -> Result<()> {
    let program = installed(workspace)?;
    let page = reference(workspace, &program)?;
    let path = workspace.target.join(REFERENCE);
    let folder = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {}", path.display());
    if is_release {
        let mut build = workspace.program(&program);
        build.args(["build", "proto", "--exclude-source-info", "--output", RELEASED]);
        succeed(build)?;
    }
    Ok(())
}

fn reference(workspace: &Workspace, program: &Path) -> Result<String> {
    let mut build = workspace.program(program);
    build.args(["build", "proto", "--exclude-imports", "--output", "-#format=json"]).stderr(Stdio::inherit());
    let built = build.output().context("cannot start buf")?;
    if !built.status.success() {
        bail!("buf ended with {}", built.status);
    }
    reference::page(&serde_json::from_slice(&built.stdout).context("the image is not JSON")?)
}

/// Returns where buf is, installed where it was not.
///
/// # Errors
///
/// When npm fails.
pub(crate) fn installed(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("buf");
    let program = folder.join("node_modules/.bin/buf");
    if version_in(&folder).as_deref() == Some(VERSION) && program.exists() {
        return Ok(program);
    }
    println!("installing @bufbuild/buf {VERSION} into {}", folder.display());
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut npm = workspace.program(Path::new("npm"));
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"])
        .arg(&folder)
        .arg(format!("@bufbuild/buf@{VERSION}"));
    succeed(npm)?;
    Ok(program)
}

fn version_in(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("node_modules/@bufbuild/buf/package.json")).ok()?;
    let package: Value = serde_json::from_str(&text).ok()?;
    Some(package["version"].as_str()?.to_owned())
}

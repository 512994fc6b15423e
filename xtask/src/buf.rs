//! The wire's lint: buf from npm, installed under the target folder.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::cargo::{Workspace, answers, succeed};
use crate::report::Ended;

const VERSION: &str = "1.75.0";

/// Runs `buf lint` on proto/.
///
/// # Errors
///
/// When buf cannot be installed or finds a violation.
pub(crate) fn lint(workspace: &Workspace) -> Result<Ended> {
    if !workspace.root.join("proto").is_dir() {
        return Ok(Ended::Skipped("there is no proto/ to lint".to_owned()));
    }
    for program in ["node", "npm"] {
        let mut version = workspace.program(Path::new(program));
        version.arg("--version");
        if !answers(version) {
            return Ok(Ended::Skipped(format!("{program} is not installed")));
        }
    }
    let mut buf = workspace.program(&installed(workspace)?);
    buf.args(["lint", "proto"]);
    succeed(buf)?;
    Ok(Ended::Passed)
}

fn installed(workspace: &Workspace) -> Result<PathBuf> {
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

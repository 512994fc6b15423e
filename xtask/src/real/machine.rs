//! Which program ran, and where.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::Path;
use std::thread::available_parallelism;

use anyhow::{Context, Result};

use crate::cargo::Workspace;

/// Returns a name for a program that changes with its content.
///
/// # Errors
///
/// When the file cannot be read.
pub(crate) fn digest(program: &Path) -> Result<String> {
    let bytes = fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(format!("{:016x}", hasher.finish()))
}

/// Returns the commit of the workspace, and whether files differ from it.
pub(crate) fn commit(workspace: &Workspace) -> String {
    let git = |arguments: &[&str]| {
        let output = workspace.program(Path::new("git")).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return "unknown".to_owned() };
    let changed = git(&["status", "--porcelain", "--", ".", ":!docs/real-models.md"]).unwrap_or_default();
    if changed.is_empty() { commit } else { format!("{commit} with changes") }
}

/// Returns cores and processor for people.
pub(crate) fn describe() -> String {
    let cores = available_parallelism().map_or_else(|_| "?".to_owned(), |cores| cores.to_string());
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let processor = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let processor = processor.map_or("unknown processor", |(_, name)| name.trim());
    format!("{cores} cores ({processor})")
}

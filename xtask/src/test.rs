//! `cargo xtask test`: all tests, each kind as one step.

use anyhow::Result;

use crate::cargo::{MCP, Workspace, answers, succeed};
use crate::report::{Ended, Report};
use crate::{buf, clients, deploy, packages, postgres, viewer};

/// Set where a test that drives a browser fails without one; elsewhere it is skipped, visibly.
const NEEDS_BROWSER: &str = "DEBATE_NEEDS_BROWSER";

/// Runs every kind of test.
pub(crate) fn add_steps(workspace: &Workspace, report: &mut Report) {
    report.step("PostgreSQL", postgres::provide);
    report.step("the page as its sources give it", || viewer::check(workspace));
    report.step("a browser", || viewer::provide_browser(workspace));
    report.step("Rust tests", || {
        run_tests(workspace, &["--workspace", "--exclude", "debate-sim", "--features", MCP], "dev")?;
        Ok(Ended::Passed)
    });
    report.step("simulated worlds", || {
        run_tests(workspace, &["--package", "debate-sim"], "sim")?;
        Ok(Ended::Passed)
    });
    report.step("doc tests", || {
        succeed(workspace.cargo(["test", "--workspace", "--doc"]))?;
        Ok(Ended::Passed)
    });
    report.step("clients of the server", || clients::run(workspace));
    report.step("a page over gRPC-web", || clients::browser(workspace));
    report.step("a model server by others", || clients::model_server(workspace));
    report.step("contracts, and the client in Python", || packages::python(workspace));
    report.step("the client in TypeScript", || packages::typescript(workspace));
    report.step("files of deployment", || deploy::check(workspace));
    report.step("the wire", || buf::check(workspace));
}

/// Runs the tests of some packages, built with a profile of the workspace.
fn run_tests(workspace: &Workspace, packages: &[&str], profile: &str) -> Result<()> {
    if answers(workspace.cargo(["nextest", "--version"])) {
        let mut command = workspace.cargo(["nextest", "run", "--cargo-profile", profile]);
        command.args(packages).env(NEEDS_BROWSER, "1");
        return succeed(command);
    }
    println!("cargo-nextest is not installed; cargo test runs the same tests, one crate after another");
    let mut command = workspace.cargo(["test", "--lib", "--bins", "--tests", "--profile", profile]);
    command.args(packages).env(NEEDS_BROWSER, "1");
    succeed(command)
}

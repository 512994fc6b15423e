//! The workspace as cargo describes it, and commands that run inside it.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// What is off in a first build and tested all the same.
pub(crate) const MCP: &str = "debate-cli/mcp";

/// The workspace this program was built in.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// The folder of the root Cargo.toml.
    pub(crate) root: PathBuf,
    /// Where cargo builds, whatever set it.
    pub(crate) target: PathBuf,
    /// What `cargo metadata --no-deps` answered.
    pub(crate) metadata: Value,
}

impl Workspace {
    /// Returns the workspace that the current folder belongs to.
    ///
    /// # Errors
    ///
    /// When `cargo metadata` fails or answers in an unknown shape.
    pub(crate) fn find() -> Result<Self> {
        let output = command(&cargo_path())
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .stderr(Stdio::inherit())
            .output()
            .context("cannot start cargo metadata")?;
        if !output.status.success() {
            bail!("cargo metadata failed");
        }
        let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata is not JSON")?;
        let folder = |key: &str| -> Result<PathBuf> {
            let text = metadata[key].as_str().with_context(|| format!("cargo metadata has no {key}"))?;
            Ok(PathBuf::from(text))
        };
        Ok(Self { root: folder("workspace_root")?, target: folder("target_directory")?, metadata })
    }

    /// Returns a cargo command that runs at the root of the workspace.
    pub(crate) fn cargo<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut cargo = command(&cargo_path());
        cargo.current_dir(&self.root).args(arguments);
        cargo
    }

    /// Returns a command for another program that runs at the root of the workspace.
    pub(crate) fn program(&self, program: &Path) -> Command {
        let mut command = command(program);
        command.current_dir(&self.root);
        command
    }
}

/// Tells whether a program is there and answers to these arguments with success.
pub(crate) fn answers(mut command: Command) -> bool {
    let silent = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Runs a command with its output shown.
///
/// # Errors
///
/// When it cannot be started or does not end with success.
pub(crate) fn succeed(mut command: Command) -> Result<()> {
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = command.status().with_context(|| format!("cannot start {shown}"))?;
    if !status.success() {
        bail!("{shown} ended with {status}");
    }
    Ok(())
}

fn cargo_path() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// Leaves out what `cargo run` tells about this package, lest build scripts take it for theirs.
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    command
}

//! Builds and installs the libraries that the bench `catchup` compares with our log.

use std::path::Path;

use anyhow::{Context as _, Result};

use super::install;
use crate::cargo::Workspace;

/// Returns the arguments that name the libraries to the bench; one that cannot be had is left out, and said so.
pub(crate) fn arguments(workspace: &Workspace) -> Vec<String> {
    let peers = [("disintegrate", disintegrate(workspace)), ("eventsourcing", eventsourcing(workspace))];
    let argument = |(name, command): (&str, Result<String>)| match command {
        Ok(command) => Some(["--peer".to_owned(), format!("{name}={command}")]),
        Err(error) => {
            eprintln!("skipped {name}: {error:#}");
            None
        }
    };
    peers.into_iter().filter_map(argument).flatten().collect()
}

/// Of Rust: disintegrate-postgres.
fn disintegrate(workspace: &Workspace) -> Result<String> {
    let name = "catchup-disintegrate";
    text(&install::rust_in(workspace, "benches/peers/catchup", name, name)?)
}

/// Of Python: eventsourcing with its recorder for PostgreSQL.
fn eventsourcing(workspace: &Workspace) -> Result<String> {
    let [python, script] = install::script_of(workspace, "eventsourcing", "eventsourcing_catchup.py")?;
    Ok(format!("{} {}", text(&python)?, text(&script)?))
}

fn text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("{} is no text", path.display()))
}

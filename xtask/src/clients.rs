//! Programs in other languages: clients of the server, and a model server that the adapters are clients of.
//!
//! Each Python script of tests/clients runs against the freshly built binary. It reads the path of the binary
//! from `DEBATE_BIN`, starts its own server and ends with 0 when all it checks holds.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo::{MCP, Workspace, succeed};
use crate::npm;
use crate::python::{Packages, environment};
use crate::report::Ended;

/// What the scripts import; ranges, so that older Pythons find a version of their own.
const PACKAGES: Packages = Packages {
    name: "clients",
    wanted: &[
        "grpcio>=1.60,<2",
        "grpcio-reflection>=1.60,<2",
        "opentelemetry-proto>=1.30,<2",
        // A collector of OpenTelemetry's protocol, a program of its own.
        "rotel==0.0.1a15",
        // The official SDK of the Model Context Protocol.
        "mcp==2.3.0",
    ],
    alone: &[],
};

/// The model server that others wrote, from npm; it has no dependencies of its own.
const MODEL_SERVER: &str = "@copilotkit/aimock@1.43.0";

/// Runs every Python script of tests/clients.
///
/// # Errors
///
/// When a package cannot be installed, the binary does not build, or a script fails.
pub(crate) fn run(workspace: &Workspace) -> Result<Ended> {
    let scripts = scripts(&workspace.root.join("tests/clients"))?;
    if scripts.is_empty() {
        return Ok(Ended::Skipped("tests/clients holds no .py file".to_owned()));
    }
    let python = match environment(workspace, PACKAGES)? {
        Ok(python) => python,
        Err(why) => return Ok(Ended::Skipped(why)),
    };
    let binary = program(workspace)?;
    for script in scripts {
        println!("running {}", script.strip_prefix(&workspace.root).unwrap_or(&script).display());
        let mut command = workspace.program(&python);
        command.arg("-u").arg(&script).env("DEBATE_BIN", &binary);
        succeed(command)?;
    }
    Ok(Ended::Passed)
}

/// Lets a page in a real browser use the server over gRPC-web.
///
/// # Errors
///
/// When something cannot be installed, the binary does not build, or the script fails.
pub(crate) fn browser(workspace: &Workspace) -> Result<Ended> {
    if let Some(missing) = npm::missing(workspace) {
        return Ok(Ended::Skipped(format!("{missing} is not installed")));
    }
    if !npm::is_there(workspace, "chromium") {
        return Ok(Ended::Skipped("chromium is not installed".to_owned()));
    }
    let folder = "tests/browser";
    npm::install(workspace, folder)?;
    let mut script = workspace.program(Path::new("node"));
    script.arg(workspace.root.join(folder).join("grpc_web.mjs"));
    script
        .env("DEBATE_BIN", program(workspace)?)
        .env("DEBATE_DESCRIPTORS", workspace.root.join("proto/released.binpb"));
    succeed(script)?;
    Ok(Ended::Passed)
}

/// Builds the program with all that it can have, and returns where it is.
///
/// # Errors
///
/// When it does not build.
pub(crate) fn program(workspace: &Workspace) -> Result<PathBuf> {
    succeed(workspace.cargo(["build", "--package", "debate-cli", "--features", MCP]))?;
    Ok(workspace.target.join("debug").join(format!("debate{}", std::env::consts::EXE_SUFFIX)))
}

/// Runs the adapters' tests against a model server that others wrote.
///
/// # Errors
///
/// When the server cannot be installed or a test fails.
pub(crate) fn model_server(workspace: &Workspace) -> Result<Ended> {
    if let Some(missing) = npm::missing(workspace) {
        return Ok(Ended::Skipped(format!("{missing} is not installed")));
    }
    let (node, npm) = (PathBuf::from("node"), npm::program());
    let folder = workspace.target.join("model-server");
    let stamp = folder.join("installed.txt");
    if !fs::read_to_string(&stamp).is_ok_and(|installed| installed == MODEL_SERVER) {
        println!("installing {MODEL_SERVER} into {}", folder.display());
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut install = workspace.program(&npm);
        install.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        install.arg(&folder).arg(MODEL_SERVER);
        succeed(install)?;
        fs::write(&stamp, MODEL_SERVER).with_context(|| format!("cannot write {}", stamp.display()))?;
    }
    // The same packages as those of the Rust tests, so that nothing is built twice.
    let cargo = workspace.cargo([
        "test",
        "--workspace",
        "--exclude",
        "debate-sim",
        "--features",
        MCP,
        "--test",
        "aimock",
    ]);
    let mut server = workspace.program(&node);
    server.arg("tests/clients/aimock.mjs").arg(cargo.get_program()).args(cargo.get_args());
    server.env("AIMOCK", &folder);
    succeed(server)?;
    Ok(Ended::Passed)
}

fn scripts(folder: &Path) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut scripts = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "py") {
            scripts.push(path);
        }
    }
    scripts.sort();
    Ok(scripts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_come_in_order_of_their_names_and_without_other_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["watch.py", "start.py", "notes.txt"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<_> = scripts(folder.path()).unwrap();
        assert_eq!(names, [folder.path().join("start.py"), folder.path().join("watch.py")]);
    }

    #[test]
    fn a_folder_that_is_not_there_holds_no_scripts() {
        let folder = tempfile::tempdir().unwrap();
        assert!(scripts(&folder.path().join("clients")).unwrap().is_empty());
    }
}

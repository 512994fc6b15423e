//! The clients in other languages, built and run against the program, and its contracts held by tools that others wrote.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::buf;
use crate::cargo::{Workspace, succeed};
use crate::clients;
use crate::npm;
use crate::python::{Packages, environment};
use crate::report::Ended;

/// What builds the package, runs it, and looks at the server, pinned.
const TOOLS: Packages = Packages {
    name: "contract-tools",
    wanted: &[
        "grpcio-health-checking==1.85.1",
        "grpcio-tools==1.85.1",
        "schemathesis==4.32.5",
        "setuptools==84.2.1",
    ],
    alone: &[],
};

/// What is run with them, in order.
const SCRIPTS: [&str; 4] = [
    "clients/python/tests/test_client.py",
    "tests/contract/health.py",
    "tests/contract/curl.py",
    "tests/contract/openapi.py",
];

/// Builds the wheel of clients/python and runs its tests, then every script of tests/contract.
///
/// # Errors
///
/// When something cannot be installed or built, or a check fails.
pub(crate) fn python(workspace: &Workspace) -> Result<Ended> {
    let python = match environment(workspace, TOOLS)? {
        Ok(python) => python,
        Err(why) => return Ok(Ended::Skipped(why)),
    };
    let binary = clients::program(workspace)?;
    let wheels = workspace.target.join("wheels");
    if wheels.exists() {
        fs::remove_dir_all(&wheels).with_context(|| format!("cannot empty {}", wheels.display()))?;
    }
    let pip = |arguments: &[&str]| {
        let mut pip = workspace.program(&python);
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]).args(arguments);
        pip
    };
    let mut build = pip(&["wheel", "--no-build-isolation", "--no-deps", "clients/python", "--wheel-dir"]);
    build.arg(&wheels);
    succeed(build)?;
    let mut install = pip(&["install", "--no-deps", "--no-index", "--force-reinstall", "debate-client"]);
    install.arg("--find-links").arg(&wheels);
    succeed(install)?;
    let buf = if npm::missing(workspace).is_none() { Some(buf::installed(workspace)?) } else { None };
    for script in SCRIPTS {
        if script.ends_with("curl.py") && buf.is_none() {
            println!("npm is not installed, so {script} has no buf and is skipped");
            continue;
        }
        println!("running {script}");
        let mut run = workspace.program(&python);
        // No bytecode next to the sources.
        run.args(["-B", "-u", script]).env("DEBATE_BIN", &binary);
        run.env("PYTHONPATH", workspace.root.join("tests/contract"));
        run.env("BUF", buf.as_deref().unwrap_or(Path::new("")));
        succeed(run)?;
    }
    Ok(Ended::Passed)
}

/// Checks the types of clients/typescript and runs its tests.
///
/// # Errors
///
/// When something cannot be installed, its types are wrong, or a test fails.
pub(crate) fn typescript(workspace: &Workspace) -> Result<Ended> {
    if let Some(missing) = npm::missing(workspace) {
        return Ok(Ended::Skipped(format!("{missing} is not installed")));
    }
    let (node, npm) = (Path::new("node"), &*npm::program());
    let binary = clients::program(workspace)?;
    let folder = compiler(workspace, npm)?;
    let modules = folder.join("node_modules");
    let built = folder.join("built");
    let mut compile = workspace.program(node);
    compile.arg(modules.join(".bin/tsc")).args(["--project", "clients/typescript", "--outDir"]).arg(&built);
    compile.arg("--typeRoots").arg(modules.join("@types"));
    succeed(compile)?;
    let mut run = workspace.program(node);
    run.args(["--test", "clients/typescript/test/"]).env("DEBATE_BIN", binary).env("DEBATE_CLIENT", built);
    succeed(run)?;
    Ok(Ended::Passed)
}

/// Returns the folder below the target folder in which npm has installed what the lock file names.
fn compiler(workspace: &Workspace, npm: &Path) -> Result<PathBuf> {
    let folder = workspace.target.join("typescript-client");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut is_new = !folder.join("node_modules").is_dir();
    for name in ["package.json", "package-lock.json"] {
        let source = workspace.root.join("clients/typescript").join(name);
        let wanted = fs::read(&source).with_context(|| format!("cannot read {}", source.display()))?;
        let copy = folder.join(name);
        if !fs::read(&copy).is_ok_and(|found| found == wanted) {
            fs::write(&copy, wanted).with_context(|| format!("cannot write {}", copy.display()))?;
            is_new = true;
        }
    }
    if is_new {
        println!("installing what clients/typescript/package-lock.json names into {}", folder.display());
        let mut install = workspace.program(npm);
        install.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(&folder);
        succeed(install)?;
    }
    Ok(folder)
}

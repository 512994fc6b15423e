//! The model server of benches/peers as a child process, and asking it things.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::flight::Field;
use super::install;
use crate::cargo::Workspace;

/// What all draws of latency start from.
const SEED: u32 = 1;

/// The running server; it ends with this value.
#[derive(Debug)]
pub(crate) struct ModelServer {
    child: Child,
    address: String,
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        // It may have ended by itself; nothing else can be done then.
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl ModelServer {
    /// Builds and starts the server on a free port of loopback.
    ///
    /// # Errors
    ///
    /// When it does not build or start.
    pub(crate) fn start(workspace: &Workspace) -> Result<Self> {
        let program = install::rust(workspace, "peer-server", "peer-server")?;
        let mut command = on_processor(1, &program);
        let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start the model server")?;
        let stdout = child.stdout.take().context("the model server has no output")?;
        let mut address = String::new();
        BufReader::new(stdout).read_line(&mut address).context("the model server says no address")?;
        Ok(Self { child, address: address.trim().to_owned() })
    }

    /// Returns the base address for clients.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Sets the latency and forgets all counts.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub(crate) fn set_latency(&self, field: Field) -> Result<()> {
        let Field { median_ms, sigma, .. } = field;
        self.ask("POST", &format!("/mode?median_ms={median_ms}&sigma={sigma}&seed={SEED}")).map(|_| ())
    }

    /// Returns how many milliseconds each debate must take under a schedule.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub(crate) fn critical_paths(&self, debates: u32, schedule: &str) -> Result<Vec<f64>> {
        let paths = self.ask("GET", &format!("/critical?debates={debates}&schedule={schedule}"))?;
        Ok(serde_json::from_value(paths)?)
    }

    /// Checks that every call of so many debates was made once.
    ///
    /// # Errors
    ///
    /// When it was not, or the server does not answer.
    pub(crate) fn check_calls(&self, debates: u32) -> Result<()> {
        let stats = self.ask("GET", "/stats")?;
        let wanted = u64::from(debates) * 31;
        if stats["calls"] != wanted || stats["repeated"] != 0 || stats["unknown"] != 0 {
            bail!("{wanted} calls were to be made once each, and the server saw {stats}");
        }
        Ok(())
    }

    /// Returns the requests that were first asked.
    ///
    /// # Errors
    ///
    /// When the server does not answer.
    pub(crate) fn tape(&self) -> Result<Value> {
        self.ask("GET", "/tape")
    }

    fn ask(&self, method: &str, path: &str) -> Result<Value> {
        let mut stream = TcpStream::connect(&self.address).context("the model server is gone")?;
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address);
        stream.write_all(head.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("the model server's answer has no body")?;
        if !head.starts_with("HTTP/1.1 200") {
            bail!("{path}: {body}");
        }
        serde_json::from_str(body).with_context(|| format!("{path} is not answered with JSON"))
    }
}

/// Returns whether what is measured runs on one processor alone, and the model server on another: where there are two and
/// `taskset` is installed.
pub(crate) fn is_pinned() -> bool {
    let has_two = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    has_two && Command::new("taskset").arg("--version").stdout(Stdio::null()).status().is_ok()
}

/// Returns a command that runs on one processor alone, where that can be had.
pub(crate) fn on_processor(processor: usize, program: &Path) -> Command {
    if !is_pinned() {
        return Command::new(program);
    }
    let mut command = Command::new("taskset");
    command.arg("--cpu-list").arg(processor.to_string()).arg(program);
    command
}

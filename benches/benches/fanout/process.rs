//! A server in a process of its own, and what the system says of it.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

/// Clock ticks of `/proc` in a second, on every Linux that is in use.
const TICKS: f64 = 100.0;

/// A server, run by this same program. It reads commands as lines and answers with lines.
pub(crate) struct Server {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    pub(crate) address: String,
}

/// What the system holds for a process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu_s: f64,
    pub(crate) resident_mb: f64,
    pub(crate) peak_mb: f64,
    pub(crate) files: usize,
}

impl Usage {
    pub(crate) fn json(&self) -> Value {
        json!({"cpu_s": self.cpu_s, "resident_mb": self.resident_mb, "peak_mb": self.peak_mb, "files": self.files})
    }
}

impl Server {
    /// Starts a server of a role on a store, and waits until it listens.
    pub(crate) fn start(role: &str, store: &Path) -> Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.args(["--role", role]).arg(store).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start a server")?;
        let commands = child.stdin.take().context("it has no input")?;
        let answers = BufReader::new(child.stdout.take().context("it has no output")?);
        let mut server = Self { child, commands, answers, address: String::new() };
        server.address = server.heard()?;
        Ok(server)
    }

    /// Sends the server a command and returns its answer.
    pub(crate) fn ask(&mut self, line: &str) -> Result<String> {
        self.tell(line)?;
        self.heard()
    }

    /// Sends the server a command.
    pub(crate) fn tell(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.commands, "{line}")?)
    }

    fn heard(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            bail!("the server has ended");
        }
        Ok(line.trim().to_owned())
    }

    /// Returns what the server uses.
    pub(crate) fn usage(&self) -> Result<Usage> {
        let folder = format!("/proc/{}", self.child.id());
        let stat = fs::read_to_string(format!("{folder}/stat"))?;
        // The name before may hold spaces; user and system time are the 14th and 15th field.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |place: usize| fields.get(place).and_then(|ticks| ticks.parse::<f64>().ok());
        let status = fs::read_to_string(format!("{folder}/status"))?;
        let megabytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            Some(line.trim().strip_suffix(" kB")?.parse::<f64>().ok()? / 1_024.0)
        };
        Ok(Usage {
            cpu_s: (ticks(11).context("no user time")? + ticks(12).context("no system time")?) / TICKS,
            resident_mb: megabytes("VmRSS:").context("no resident memory")?,
            peak_mb: megabytes("VmHWM:").context("no peak of memory")?,
            files: fs::read_dir(format!("{folder}/fd"))?.count(),
        })
    }

    /// Sends SIGTERM and waits for the end.
    pub(crate) fn terminate(mut self) -> Result<()> {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status()?;
        if !killed.success() {
            bail!("cannot send SIGTERM to the server");
        }
        let ended = self.child.wait()?;
        if !ended.success() {
            bail!("the server ended with {ended}");
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing is to be done for one that has ended by itself.
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}

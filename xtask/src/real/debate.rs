//! One debate as a process of the program `debate`, and reading its log while it runs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::child::{OwnedChild, cause};
use super::counts::Counts;
use super::server::SLOTS;

/// How often a running debate is looked at.
const POLL: Duration = Duration::from_secs(2);

/// How often its progress is printed.
const PROGRESS: Duration = Duration::from_secs(20);

/// What a debate may take beyond its deadline.
const GRACE: Duration = Duration::from_secs(120);

/// One debate: the program, the model, and the folder with its store and output.
#[derive(Debug)]
pub(crate) struct Debate<'a> {
    pub(crate) program: &'a Path,
    pub(crate) model: &'a str,
    pub(crate) url: String,
    /// Its own folder, made anew.
    pub(crate) folder: PathBuf,
    pub(crate) deadline: Duration,
    pub(crate) started: Instant,
}

/// Why waiting for a debate came to an end.
#[derive(Debug)]
pub(crate) enum Waited {
    /// The process ended.
    Ended,
    /// The log has as many answers as were waited for.
    Answered,
}

impl Debate<'_> {
    /// Starts `debate run` with a request.
    ///
    /// # Errors
    ///
    /// When the folder cannot be made or the process does not start.
    pub(crate) fn run(&self, request: &Value) -> Result<OwnedChild> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)
                .with_context(|| format!("cannot empty {}", self.folder.display()))?;
        }
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
        let path = self.folder.join("request.json");
        fs::write(&path, format!("{request:#}"))
            .with_context(|| format!("cannot write {}", path.display()))?;
        self.spawn("run", path.as_ref())
    }

    /// Starts `debate resume` for the debate of the store.
    ///
    /// # Errors
    ///
    /// When there is no debate or the process does not start.
    pub(crate) fn resume(&self) -> Result<OwnedChild> {
        self.spawn("resume", self.id()?.as_ref())
    }

    /// Waits until the process ends, or until so many calls are answered.
    ///
    /// # Errors
    ///
    /// When the log cannot be read, or the debate runs on long after its deadline.
    pub(crate) fn wait(&self, child: &mut OwnedChild, answers_wanted: Option<usize>) -> Result<Waited> {
        let mut printed = Instant::now();
        loop {
            if child.has_ended()? {
                return Ok(Waited::Ended);
            }
            let is_due = printed.elapsed() >= PROGRESS;
            if is_due || answers_wanted.is_some() {
                let counts = Counts::of(&self.log().unwrap_or_default());
                if answers_wanted.is_some_and(|wanted| counts.answered() >= wanted) {
                    return Ok(Waited::Answered);
                }
                if is_due {
                    printed = Instant::now();
                    let (answered, failed) = (counts.answered(), counts.failed());
                    let seconds = self.started.elapsed().as_secs();
                    println!("    {seconds:>4} s: {answered} calls read, {failed} attempts failed");
                }
            }
            if self.started.elapsed() > self.deadline + GRACE {
                bail!("still running {} s after its deadline", GRACE.as_secs());
            }
            thread::sleep(POLL);
        }
    }

    /// Returns the events that the debate has so far.
    ///
    /// # Errors
    ///
    /// When there is no debate yet, or its log cannot be read.
    pub(crate) fn log(&self) -> Result<Vec<Value>> {
        self.lines(&["log", &self.id()?, "--json"])
    }

    /// Returns whether `debate verify` finds no fault.
    ///
    /// # Errors
    ///
    /// When there is no debate or the program does not start.
    pub(crate) fn verifies(&self) -> Result<bool> {
        let mut verify = self.command();
        verify.args(["verify", &self.id()?]).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(verify.status().context("cannot start debate verify")?.success())
    }

    /// Returns what the program wrote to stderr about its failure.
    pub(crate) fn cause(&self) -> String {
        cause(&self.folder.join("errors.txt"))
    }

    fn id(&self) -> Result<String> {
        if !self.store().exists() {
            bail!("the debate has no store yet");
        }
        let listed = self.lines(&["list", "--json"])?;
        let id = listed.first().and_then(|debate| debate["debate_id"].as_str());
        id.map(str::to_owned).context("the store has no debate yet")
    }

    fn spawn(&self, verb: &str, subject: &OsStr) -> Result<OwnedChild> {
        let mut command = self.command();
        command.arg(verb).arg(subject).args(["--json", "--quiet"]).stdin(Stdio::null());
        command.stdout(File::create(self.folder.join("result.json"))?);
        command.stderr(File::create(self.folder.join("errors.txt"))?);
        Ok(OwnedChild(command.spawn().with_context(|| format!("cannot start debate {verb}"))?))
    }

    fn lines(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        let output = self.command().args(arguments).output().context("cannot start the program debate")?;
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("debate {}: {}", arguments.join(" "), errors.trim());
        }
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }

    /// Returns the program with this debate's store and model, and without options from the environment.
    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("DEBATE_") {
                command.env_remove(name);
            }
        }
        command.env("OPENAI_BASE_URL", &self.url).env("OPENAI_API_KEY", "a-local-server-needs-no-key");
        command.arg("--store").arg(format!("sqlite://{}", self.store().display()));
        command.args(["--model", &format!("openai:{}", self.model)]);
        command.args(["--provider-limits", &format!("openai:concurrency={SLOTS}")]);
        command
    }

    fn store(&self) -> PathBuf {
        self.folder.join("debate.sqlite")
    }
}

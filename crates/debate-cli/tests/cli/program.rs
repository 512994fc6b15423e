//! Runs the program in a folder of its own, with nothing of the tester's environment.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with a store in it.
#[derive(Debug)]
pub(crate) struct Program {
    folder: TempDir,
}

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Returns the path of an example request.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

impl Program {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// Returns the path of something in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    /// Returns the program about to run in the folder; its store is `debates.sqlite` there.
    pub(crate) fn command<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_debate"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let ours = ["DEBATE_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "ROUNDTABLE_"];
            if ours.iter().any(|prefix| name.starts_with(prefix)) || name == "COLUMNS" {
                command.env_remove(name);
            }
        }
        command.env("LC_ALL", "C.UTF-8").env("TERM", "xterm");
        command
    }

    /// Returns the program about to run in the folder, which may have so many files open.
    pub(crate) fn command_with_files(&self, files_max: u32, args: &[&str]) -> Command {
        let command = self.command(args);
        let mut shell = Command::new("sh");
        let limited = format!("ulimit -n {files_max} && exec \"$0\" \"$@\"");
        shell.args(["-c", &limited]).arg(command.get_program()).args(args).stdin(Stdio::null());
        as_in(&command, &mut shell);
        shell.current_dir(self.folder.path());
        shell
    }

    /// Runs the program to its end.
    pub(crate) fn run<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// Runs the program on a terminal to its end, both of its outputs in `stdout`; none where there is no `script` to make one.
    pub(crate) fn run_on_terminal(&self, args: &[&str]) -> Option<Ran> {
        self.run_on("xterm", args)
    }

    /// Runs the program on a terminal of a kind, as [`Program::run_on_terminal`] does; `args` are words of a shell.
    pub(crate) fn run_on(&self, kind: &str, args: &[&str]) -> Option<Ran> {
        self.on_terminal(kind, args).output().ok().map(Ran::of)
    }

    /// Returns the program about to run on a terminal of a kind; `args` are words of a shell.
    pub(crate) fn on_terminal(&self, kind: &str, args: &[&str]) -> Command {
        let line: Vec<&str> =
            [env!("CARGO_BIN_EXE_debate")].into_iter().chain(args.iter().copied()).collect();
        let mut script = Command::new("script");
        script.args(["-qec", &line.join(" "), "/dev/null"]).stdin(Stdio::null());
        as_in(&self.command([""; 0]), &mut script);
        script.env("TERM", kind).current_dir(self.folder.path());
        script
    }

    /// Runs the program to its end, with bytes on its stdin.
    pub(crate) fn run_with_stdin(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut command = self.command(args);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(stdin).unwrap();
        Ran::of(child.wait_with_output().unwrap())
    }

    /// Holds the debate of an example and returns its id.
    pub(crate) fn debate(&self, name: &str) -> String {
        let ran = self.run(["run".as_ref(), example(name).as_os_str(), "--json".as_ref()]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.json()["debate_id"].as_str().unwrap().to_owned()
    }
}

/// Gives a program the environment of another.
fn as_in(other: &Command, program: &mut Command) {
    for (name, value) in other.get_envs() {
        match value {
            Some(value) => program.env(name, value),
            None => program.env_remove(name),
        };
    }
}

impl Ran {
    /// Takes what a run left behind.
    pub(crate) fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns stdout, which is one JSON value and nothing else.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns stdout, which is one JSON value in each line.
    pub(crate) fn lines(&self) -> Vec<Value> {
        self.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

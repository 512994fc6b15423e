//! Where the installed binaries are, and as whom they run.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::FixtureError;

/// Where Debian keeps one folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Users that PostgreSQL may run as where this process is root.
const USERS: [&str; 2] = ["postgres", "nobody"];

/// The installed binaries of one version.
#[derive(Debug, Clone)]
pub struct Binaries {
    folder: PathBuf,
    run_as: Option<User>,
}

/// An unprivileged user.
#[derive(Debug, Clone, Copy)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

impl Binaries {
    /// Finds the newest version installed as Debian does it, or else what is on the PATH.
    ///
    /// # Errors
    /// When no version is installed, or no user can run it.
    pub fn find() -> Result<Self, FixtureError> {
        let on_path = env::var_os("PATH").map(|path| env::split_paths(&path).collect()).unwrap_or_default();
        let folders: Vec<PathBuf> = debian_folders().into_iter().chain::<Vec<PathBuf>>(on_path).collect();
        let has_server =
            |folder: &&PathBuf| ["initdb", "postgres"].iter().all(|it| folder.join(it).is_file());
        let folder = folders.iter().find(has_server).ok_or(FixtureError::NotInstalled)?.clone();
        Ok(Self { folder, run_as: unprivileged()? })
    }

    /// Returns the folder that they are in.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the version, such as `15.18`.
    ///
    /// # Errors
    /// When the server does not say.
    pub fn version(&self) -> Result<String, FixtureError> {
        let mut postgres = self.command("postgres");
        postgres.arg("--version");
        let text = run(postgres)?;
        let number = text.split_whitespace().find(|it| it.starts_with(|first: char| first.is_ascii_digit()));
        Ok(number.unwrap_or("unknown").to_owned())
    }

    /// Returns a command for one of the binaries, run by somebody who may run it.
    pub(crate) fn command(&self, name: &str) -> Command {
        self.as_user(Command::new(self.folder.join(name)))
    }

    /// Returns a system command that runs as the user that runs PostgreSQL.
    pub(crate) fn as_user(&self, mut command: Command) -> Command {
        if let Some(user) = self.run_as {
            command.uid(user.uid).gid(user.gid);
        }
        // The folder that this process is in may be closed to that user.
        command.current_dir("/");
        command
    }

    /// Returns whom PostgreSQL runs as, if not as this process.
    pub(crate) fn user(&self) -> Option<User> {
        self.run_as
    }
}

/// Returns the folders of all versions, the newest first.
fn debian_folders() -> Vec<PathBuf> {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort();
    versions.into_iter().rev().map(|(_, folder)| folder).collect()
}

/// Returns whom to run as, where this process is root.
fn unprivileged() -> Result<Option<User>, FixtureError> {
    if id(&["-u"])? != Some(0) {
        return Ok(None);
    }
    for name in USERS {
        if let (Some(uid), Some(gid)) = (id(&["-u", name])?, id(&["-g", name])?) {
            return Ok(Some(User { uid, gid }));
        }
    }
    Err(FixtureError::NoUser)
}

fn id(arguments: &[&str]) -> Result<Option<u32>, FixtureError> {
    let output = Command::new("id").args(arguments).output().map_err(FixtureError::io("id"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok().filter(|_| output.status.success()))
}

/// Runs a command to its end and returns what it printed.
pub(crate) fn run(mut command: Command) -> Result<String, FixtureError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().map_err(FixtureError::io(&program))?;
    if !status.success() {
        let output = String::from_utf8_lossy(&stderr).trim().to_owned();
        return Err(FixtureError::Program { program, output });
    }
    Ok(String::from_utf8_lossy(&stdout).into_owned())
}

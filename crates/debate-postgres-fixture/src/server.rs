//! One server, and the databases in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::binaries::{Binaries, run};
use crate::keeper::Keeper;
use crate::{FixtureError, cluster};

/// How long a server may take to answer; one that recovers from a kill takes longest.
const START_MAX: Duration = Duration::from_secs(60);

/// How often to ask whether it answers.
const START_POLL: Duration = Duration::from_millis(5);

/// The superuser of every cluster.
const SUPERUSER: &str = "postgres";

/// A running server of its own. Everything is as by default: also that every commit reaches the disk.
///
/// Dropping it stops it and removes its files; so does the end of this process, however it comes.
#[derive(Debug)]
pub struct Server {
    binaries: Binaries,
    folder: PathBuf,
    keeper: Keeper,
}

impl Server {
    /// Starts a server on new files. Settings are `name=value`.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, or does not start.
    pub fn start(settings: &[&str]) -> Result<Self, FixtureError> {
        Self::start_on(settings, cluster::make_data)
    }

    /// Starts a second server that follows this one and takes over on `SELECT pg_promote()`. Until then it may
    /// be read and refuses every write.
    ///
    /// # Errors
    /// When its files cannot be copied, or it does not start.
    pub fn standby(&self) -> Result<Self, FixtureError> {
        Self::start_on(&[], |binaries, data| {
            let mut copy = binaries.command("pg_basebackup");
            copy.arg("--host").arg(&self.folder).args(["--username", SUPERUSER, "--checkpoint=fast"]);
            copy.args(["--no-sync", "--write-recovery-conf", "--pgdata"]).arg(data);
            run(copy).map(drop)
        })
    }

    /// Starts a server on the files that are made for it.
    fn start_on(
        settings: &[&str],
        make_data: impl FnOnce(&Binaries, &Path) -> Result<(), FixtureError>,
    ) -> Result<Self, FixtureError> {
        let binaries = Binaries::find()?;
        let folder = cluster::make_folder(&binaries)?;
        let data = folder.join("data");
        let mut command = vec![binaries.folder().join("postgres").display().to_string()];
        command.extend(["-D".to_owned(), data.display().to_string()]);
        command.extend(["-k".to_owned(), folder.display().to_string()]);
        for setting in ["listen_addresses=", "max_connections=60"].iter().chain(settings) {
            command.extend(["-c".to_owned(), (*setting).to_owned()]);
        }
        // From here on, the folder is the keeper's to remove.
        let keeper = Keeper::new(&binaries, &folder, &command)?;
        let mut server = Self { binaries, folder, keeper };
        make_data(&server.binaries, &data)?;
        server.start_again()?;
        Ok(server)
    }

    /// Starts the server again after it was stopped, and waits until it answers.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn start_again(&mut self) -> Result<(), FixtureError> {
        let started = Instant::now();
        let mut seen = self.log().len();
        self.keeper.order("start")?;
        while !self.is_ready()? {
            if started.elapsed() > START_MAX {
                return Err(FixtureError::NotReady { log: self.log() });
            }
            thread::sleep(START_POLL);
            let log = self.log();
            // A new server gives up where the last process of a killed one has not gone yet.
            if log[seen..].contains("is still in use") {
                seen = log.len();
                self.keeper.order("start")?;
            }
        }
        Ok(())
    }

    /// Stops the server as its administrator would, and waits for it: connections are ended, nothing is lost.
    ///
    /// # Errors
    /// When the order cannot be sent.
    pub fn stop(&mut self) -> Result<(), FixtureError> {
        self.keeper.order("INT")
    }

    /// Kills the server: it writes nothing and notifies no client.
    ///
    /// # Errors
    /// When it cannot be killed.
    pub fn kill(&mut self) -> Result<(), FixtureError> {
        self.keeper.order("KILL")
    }

    /// Returns the URL of a database, for its superuser.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.url_for(SUPERUSER, database)
    }

    /// Returns the URL of a database for one of its users.
    #[must_use]
    pub fn url_for(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@localhost/{database}?host={}", self.folder.display())
    }

    /// Returns the path of the socket it listens on.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    /// Returns a folder that the server may use and that goes with it.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Creates a database.
    ///
    /// # Errors
    /// When it is there already, or the server does not answer.
    pub fn create_database(&self, name: &str) -> Result<(), FixtureError> {
        self.sql("postgres", &format!("CREATE DATABASE {name}")).map(drop)
    }

    /// Runs SQL as the superuser and returns the rows, one a line, columns separated by `|`.
    ///
    /// # Errors
    /// When the server refuses it.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String, FixtureError> {
        let mut psql = self.binaries.command("psql");
        psql.args(["--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set=ON_ERROR_STOP=1"]);
        psql.arg("--host").arg(&self.folder).args(["--username", SUPERUSER, "--command", sql, database]);
        run(psql)
    }

    fn is_ready(&self) -> Result<bool, FixtureError> {
        let mut pg_isready = self.binaries.command("pg_isready");
        pg_isready.arg("--quiet").arg("--host").arg(&self.folder);
        let status = pg_isready.stdin(Stdio::null()).status();
        status.map(|status| status.success()).map_err(FixtureError::io("pg_isready"))
    }

    /// Returns what the server has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }
}

/// Returns the URL of an empty database, in a server that all tests of this process share.
///
/// # Errors
/// When PostgreSQL is not installed, or does not start.
pub fn fresh_database() -> Result<String, FixtureError> {
    // Never dropped: its keeper sees this process end.
    static SHARED: Mutex<Option<Server>> = Mutex::new(None);
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    let server = match &mut *shared {
        Some(server) => server,
        empty => empty.insert(Server::start(&[])?),
    };
    // The first test of a process, which is often its only one, need not wait for a database to be made.
    let name = match DATABASES.fetch_add(1, Ordering::Relaxed) {
        0 => "postgres".to_owned(),
        number => format!("test_{number}"),
    };
    if name != "postgres" {
        server.create_database(&name)?;
    }
    Ok(server.url(&name))
}

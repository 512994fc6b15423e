//! Opens the file: creates and migrates it, or says what is wrong with it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, SqlSafeStr as _, SqlitePool};

use crate::port::{BoxError, Position};
use crate::sqlite::{Durability, FileLock, SqliteOptions, read};

/// What marks a file as ours: `DBTE` in its header, set by the first migration.
const APPLICATION_ID: i32 = 1_145_197_637;

/// The schema that this program knows, oldest step first. A step, once released, is never edited.
const MIGRATIONS: [(i64, &str, &str); 3] = [
    (1, "log", include_str!("../../../../migrations/sqlite/0001_log.sql")),
    (2, "lean insert", include_str!("../../../../migrations/sqlite/0002_lean_insert.sql")),
    (3, "archive", include_str!("../../../../migrations/sqlite/0003_archive.sql")),
];

/// Bytes of a page of a new file, those of a block of most disks: a block that is lost takes a whole page, which SQLite
/// notices; of larger pages, which would save a little, it notices no missing half.
const PAGE_BYTES: u32 = 4_096;

/// Pages of the journal after which it is moved into the file, 16 MiB: a page that is written often is moved once.
const CHECKPOINT_PAGES: &str = "4000";

/// Memory of the writer for pages, in KiB: the ends of the indices stay in it.
const WRITER_CACHE_KIB: &str = "-2000";

/// Memory of each reader for pages, in KiB: the system keeps the file's pages too.
const READER_CACHE_KIB: &str = "-512";

/// How long to sleep between tries where SQLite itself cannot wait.
const RETRY_PAUSE: Duration = Duration::from_millis(10);

/// The file cannot be used as a store.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The location names no file.
    #[error(
        "`{location}` names no file; give a path or sqlite://PATH (for a store in memory, choose the memory store)"
    )]
    NotAPath {
        /// What was given.
        location: String,
    },
    /// The file cannot be opened or created.
    #[error("cannot open or create {path}; check that its folder exists and that both may be written")]
    Unreachable {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: BoxError,
    },
    /// The file may be read but not written.
    #[error("{path} is read-only; make the file and its folder writable, or copy it elsewhere")]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Another program keeps the file to itself.
    #[error("{path} is locked by another program; close that program or try again")]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else than a SQLite database, or broken.
    #[error("{path} is not a SQLite database, or is damaged; choose another path or restore a backup")]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is the database of another program.
    #[error("{path} is the database of another program; choose another path")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version of this program.
    #[error("{path} has schema {found}, this program knows {known}; upgrade this program")]
    Newer {
        /// The file.
        path: PathBuf,
        /// The file's schema.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// The file's schema has the right number but other contents.
    #[error("{path} has another schema {version} than this program; use the program that created it")]
    Altered {
        /// The file.
        path: PathBuf,
        /// The number of the schema.
        version: i64,
    },
    /// Anything else that SQLite refused.
    #[error("cannot open {path}")]
    Backend {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        #[source]
        source: BoxError,
    },
}

/// An open file.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) writer: SqliteConnection,
    pub(super) readers: SqlitePool,
    /// The position of the last event.
    pub(super) last: Position,
    pub(super) lock: FileLock,
}

/// Opens the file at a location, with its schema up to date.
pub(super) async fn open(location: &str, options: &SqliteOptions) -> Result<Opened, OpenError> {
    let path = path_of(location)?;
    if path.metadata().is_ok_and(|it| it.permissions().readonly()) {
        return Err(OpenError::ReadOnly { path });
    }
    make_private(&path)
        .map_err(|source| OpenError::Unreachable { path: path.clone(), source: source.into() })?;
    match open_path(&path, options).await {
        Ok((writer, readers, last)) => {
            let lock = FileLock::open(&path)
                .map_err(|source| OpenError::Unreachable { path: path.clone(), source: source.into() })?;
            Ok(Opened { path, writer, readers, last, lock })
        }
        Err(failure) => Err(failure.explain(path)),
    }
}

/// Opens the file at a location without writing anything; `None` where that cannot be done either, or its journal would
/// be left out.
pub(super) async fn open_read_only(location: &str) -> Option<(PathBuf, SqlitePool, Position, FileLock)> {
    let path = path_of(location).ok()?;
    let journal = PathBuf::from(format!("{}-wal", path.display()));
    let has_journal = journal.metadata().is_ok_and(|journal| journal.len() > 0);
    let lock = FileLock::open(&path).ok()?;
    // With the journal, as other readers do; if its index cannot be made and it is empty, as a file that never changes.
    for is_immutable in [false, true].into_iter().filter(|is_immutable| !(is_immutable & has_journal)) {
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .foreign_keys(false)
            .read_only(true)
            .immutable(is_immutable)
            .disable_statement_logging();
        let readers = SqlitePoolOptions::new().max_connections(4).test_before_acquire(false);
        let Ok(readers) = readers.connect_with(options).await else { continue };
        let application_id = sqlx::query_scalar::<_, i32>("PRAGMA application_id").fetch_one(&readers).await;
        if application_id.ok() != Some(APPLICATION_ID) {
            continue;
        }
        if let Ok(last) = read::last_position(&readers).await {
            return Some((path, readers, last, lock));
        }
    }
    None
}

/// Creates a file that only its owner may read, also behind a link: debates are private. SQLite gives the files next to
/// it the same permissions.
fn make_private(path: &Path) -> io::Result<()> {
    // One that is there is not opened: closing it would let go of locks that this process has on it.
    if path.exists() {
        return Ok(());
    }
    let mut options = File::options();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Returns the path of the file that a location names.
pub(super) fn path_of(location: &str) -> Result<PathBuf, OpenError> {
    let path = location.strip_prefix("sqlite:").map_or(location, |it| it.strip_prefix("//").unwrap_or(it));
    // What begins with `file:` SQLite reads as an address, of another file than the one of that name, which is looked at here;
    // so would be what another reading takes a scheme from.
    let is_address = path.starts_with("file:") || path.starts_with("sqlite:");
    if path.is_empty() || is_address || path.contains(":memory:") || path.contains(['?', '\0']) {
        return Err(OpenError::NotAPath { location: location.to_owned() });
    }
    Ok(PathBuf::from(path))
}

async fn open_path(
    path: &Path,
    options: &SqliteOptions,
) -> Result<(SqliteConnection, SqlitePool, Position), Failure> {
    let shared = SqliteConnectOptions::new()
        .filename(path)
        .foreign_keys(false)
        .busy_timeout(options.busy_timeout)
        .disable_statement_logging();
    let synchronous = match options.durability {
        Durability::Full => SqliteSynchronous::Full,
        Durability::Relaxed => SqliteSynchronous::Normal,
    };
    // What redaction frees is overwritten, not merely unlinked. What the writer writes has its shape by its types: a CHECK
    // that calls a function has SQLite keep a journal of every statement, since it might fail half-way.
    let to_write = shared
        .clone()
        .synchronous(synchronous)
        .page_size(PAGE_BYTES)
        .pragma("ignore_check_constraints", "ON")
        .pragma("secure_delete", "ON")
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .pragma("cache_size", WRITER_CACHE_KIB);
    let mut writer = to_write.connect().await?;
    ensure_ours(&mut writer).await?;
    switch_to_wal(&mut writer, options.busy_timeout).await?;
    migrate(&mut writer).await?;

    let readers = SqlitePoolOptions::new()
        .max_connections(options.readers_max.max(1))
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(shared.read_only(true).row_buffer_size(256).pragma("cache_size", READER_CACHE_KIB))
        .await?;
    let last = read::last_position(&readers).await.map_err(|error| Failure::Read(error.into()))?;
    Ok((writer, readers, last))
}

/// Refuses a database that another program created. An empty one becomes ours.
async fn ensure_ours(writer: &mut SqliteConnection) -> Result<(), Failure> {
    // In this order: another process may make the file ours in between, with its objects and its id in one transaction.
    let objects: i64 =
        sqlx::query_scalar("SELECT count(*) FROM sqlite_schema").fetch_one(&mut *writer).await?;
    let application_id: i32 = sqlx::query_scalar("PRAGMA application_id").fetch_one(writer).await?;
    if application_id == APPLICATION_ID || (application_id == 0 && objects == 0) {
        Ok(())
    } else {
        Err(Failure::Foreign)
    }
}

/// Switches to the write-ahead log; the file stays in that mode. SQLite does not wait for locks here, so this function
/// does: another process may be switching the same new file.
async fn switch_to_wal(writer: &mut SqliteConnection, timeout: Duration) -> Result<(), Failure> {
    let started = Instant::now();
    loop {
        let switched =
            sqlx::query_scalar::<_, String>("PRAGMA journal_mode = WAL").fetch_one(&mut *writer).await;
        match switched {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => {}
            Err(error) if primary_code(&error) == Some(SQLITE_BUSY) => {}
            Err(error) => return Err(error.into()),
        }
        if started.elapsed() >= timeout {
            return Err(Failure::Locked);
        }
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Brings the schema up to date in one transaction, so that two processes never do it at once.
async fn migrate(writer: &mut SqliteConnection) -> Result<(), Failure> {
    let migrations = MIGRATIONS.map(|(version, description, sql)| {
        Migration::new(version, description.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    let migrator = Migrator::with_migrations(migrations.into());
    let mut transaction = writer.begin_with("BEGIN IMMEDIATE").await?;
    migrator.run(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(())
}

/// Why opening stopped, before the path is known to the message.
enum Failure {
    Foreign,
    Locked,
    Migrate(MigrateError),
    Read(BoxError),
    Sqlite(sqlx::Error),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl From<MigrateError> for Failure {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => Self::Sqlite(error),
            other => Self::Migrate(other),
        }
    }
}

impl Failure {
    fn explain(self, path: PathBuf) -> OpenError {
        match self {
            Self::Foreign => OpenError::Foreign { path },
            Self::Locked => OpenError::Locked { path },
            Self::Read(source) => OpenError::Backend { path, source },
            Self::Migrate(MigrateError::VersionMissing(found)) => {
                OpenError::Newer { path, found, known: MIGRATIONS[MIGRATIONS.len() - 1].0 }
            }
            Self::Migrate(MigrateError::VersionMismatch(version)) => OpenError::Altered { path, version },
            Self::Migrate(error) => OpenError::Backend { path, source: error.into() },
            Self::Sqlite(error) => match primary_code(&error) {
                Some(SQLITE_BUSY | SQLITE_LOCKED) => OpenError::Locked { path },
                Some(SQLITE_READONLY) => OpenError::ReadOnly { path },
                Some(SQLITE_CANTOPEN) => OpenError::Unreachable { path, source: error.into() },
                Some(SQLITE_CORRUPT | SQLITE_NOTADB) => OpenError::NotADatabase { path },
                Some(_) | None => OpenError::Backend { path, source: error.into() },
            },
        }
    }
}

const SQLITE_BUSY: i32 = 5;
const SQLITE_LOCKED: i32 = 6;
const SQLITE_READONLY: i32 = 8;
const SQLITE_CORRUPT: i32 = 11;
const SQLITE_CANTOPEN: i32 = 14;
const SQLITE_NOTADB: i32 = 26;

/// Returns SQLite's result code without its extension.
fn primary_code(error: &sqlx::Error) -> Option<i32> {
    let code: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(code & 0xff)
}

//! Connects to a database: creates and migrates the log, or says what is wrong.

use std::str::FromStr as _;

use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, SqlSafeStr as _};

use crate::port::{BoxError, Position};
use crate::postgres::address::server_of;
use crate::postgres::fault::answer;
use crate::postgres::{PostgresOptions, feed, pooler};

/// The schema that this program knows, oldest step first. A step, once released, is never edited.
const MIGRATIONS: [(i64, &str, &str); 6] = [
    (1, "log", include_str!("../../../../migrations/postgres/0001_log.sql")),
    (2, "leases", include_str!("../../../../migrations/postgres/0002_leases.sql")),
    (3, "archive", include_str!("../../../../migrations/postgres/0003_archive.sql")),
    (4, "insert", include_str!("../../../../migrations/postgres/0004_insert.sql")),
    (5, "paths", include_str!("../../../../migrations/postgres/0005_paths.sql")),
    (6, "functions", include_str!("../../../../migrations/postgres/0006_functions.sql")),
];

/// The newest schema that this program knows.
pub(super) const SCHEMA: i64 = MIGRATIONS[MIGRATIONS.len() - 1].0;

/// The oldest server that has 64-bit transaction ids.
const VERSION_MIN: i32 = 130_000;

/// The database cannot be used as a store. No variant tells a password.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The location is not a URL of PostgreSQL.
    #[error("this is not a PostgreSQL URL; write postgres://USER@HOST/DATABASE")]
    NotAUrl,
    /// The server cannot be reached, or does not answer.
    #[error("cannot reach PostgreSQL at {server}; check that it runs there and takes connections")]
    Unreachable {
        /// Where it should be.
        server: String,
        /// What happened.
        #[source]
        source: BoxError,
    },
    /// The server knows no such user or password.
    #[error(
        "PostgreSQL at {server} refuses the login; check user and password (PGPASSWORD or ~/.pgpass keep it)"
    )]
    LoginRefused {
        /// Where it is.
        server: String,
    },
    /// There is no such database.
    #[error("there is no database {server}; create it with `createdb`")]
    NoDatabase {
        /// Where it should be.
        server: String,
    },
    /// The server takes no more connections.
    #[error("PostgreSQL at {server} takes no more connections; raise max_connections or end some")]
    Full {
        /// Where it is.
        server: String,
    },
    /// A pooler gives sessions to other clients between transactions.
    #[error(
        "a pooler in transaction mode stands before {server}; use its session mode or the database's own port"
    )]
    Pooler {
        /// Where it is.
        server: String,
    },
    /// The server is too old.
    #[error("PostgreSQL at {server} is version {found}; the log needs 13 or newer")]
    TooOld {
        /// Where it is.
        server: String,
        /// Its version.
        found: i32,
    },
    /// The database cannot hold every text.
    #[error("the database {server} is encoded in {found}; create it with `createdb --encoding UTF8`")]
    Encoding {
        /// Where it is.
        server: String,
        /// Its encoding.
        found: String,
    },
    /// There is no log, and none was to be created.
    #[error("there is no log in {server}; run a debate there first")]
    NoLog {
        /// Where it should be.
        server: String,
    },
    /// The log is missing or old, and this login may not change that.
    #[error(
        "{server} has schema {found}, this program needs {known}; open it once as the owner of the database"
    )]
    MayNotMigrate {
        /// Where it is.
        server: String,
        /// The schema found; 0 for none.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// The database has tables of another program by our names.
    #[error("{server} has tables of another program by the names of ours; choose another database")]
    Foreign {
        /// Where it is.
        server: String,
    },
    /// The log was written by a newer version of this program.
    #[error("{server} has schema {found}, this program knows {known}; upgrade this program")]
    Newer {
        /// Where it is.
        server: String,
        /// The schema found.
        found: i64,
        /// The newest schema that this program knows.
        known: i64,
    },
    /// The schema has the right number but other contents.
    #[error("{server} has another schema {version} than this program; use the program that created it")]
    Altered {
        /// Where it is.
        server: String,
        /// The number of the schema.
        version: i64,
    },
    /// The log was restored into a server whose transaction ids are behind those in the log.
    #[error(
        "the log in {server} comes from a server with more transactions than this one has had, so new events would \
         stand before old ones; run `SELECT rebase_positions()` once as its owner"
    )]
    Restored {
        /// Where it is.
        server: String,
    },
    /// Anything else that PostgreSQL refused.
    #[error("cannot open the log in {server}")]
    Backend {
        /// Where it is.
        server: String,
        /// What PostgreSQL said.
        #[source]
        source: BoxError,
    },
}

/// A database with the log in it.
pub(super) struct Opened {
    /// Where it is, without password.
    pub(super) server: String,
    /// How to connect to write.
    pub(super) writer: PgConnectOptions,
    pub(super) pool: PgPool,
    /// The last event that `read_all` returns.
    pub(super) settled: Position,
}

/// Connects to the database at a URL, with its schema up to date.
pub(super) async fn open(url: &str, options: &PostgresOptions) -> Result<Opened, ConnectError> {
    let is_ours = ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
    let parsed = PgConnectOptions::from_str(url).ok().filter(|_| is_ours);
    let parsed = parsed.ok_or(ConnectError::NotAUrl)?.application_name("debate").disable_statement_logging();
    let server = server_of(url, &parsed);
    match open_at(&parsed, options).await {
        Ok((writer, pool, settled)) => Ok(Opened { server, writer, pool, settled }),
        Err(failure) => Err(failure.explain(server)),
    }
}

async fn open_at(
    parsed: &PgConnectOptions,
    options: &PostgresOptions,
) -> Result<(PgConnectOptions, PgPool, Position), Failure> {
    // Migrating may take long, and waits for others who do it.
    let mut connection = answer(options.retry_time, parsed.connect()).await?;
    // Where it cannot be asked, what follows says why.
    if matches!(pooler::shares_sessions(&mut connection, parsed).await, Ok(true)) {
        return Err(Failure::Pooler);
    }
    ensure_suitable(&mut connection).await?;
    if !options.create_missing && applied(&mut connection).await?.is_none() {
        return Err(Failure::NoLog);
    }
    if !is_up_to_date(&mut connection).await? {
        migrate(&mut connection).await?;
    }
    let is_restored: bool = sqlx::query_scalar(
        "SELECT coalesce(greatest((SELECT max(position) FROM events), (SELECT max(last_position) FROM archived)) \
             >= position_of(pg_snapshot_xmax(pg_current_snapshot())), false)",
    )
    .fetch_one(&mut connection)
    .await?;
    if is_restored {
        return Err(Failure::Restored);
    }
    let settled = feed::settled(&mut connection).await?;
    let limits = limits(&mut connection, options).await?;
    connection.close().await?;

    let to_use = parsed.clone().options(limits);
    let pool = PgPoolOptions::new()
        // One more hears other processes.
        .max_connections(options.connections_max.max(1) + 1)
        .acquire_timeout(options.retry_time)
        .test_before_acquire(false)
        .connect_lazy_with(to_use.clone());
    Ok((to_use, pool, settled))
}

/// Returns what limits every statement, and what makes an acknowledged event durable.
async fn limits(
    connection: &mut PgConnection,
    options: &PostgresOptions,
) -> Result<Vec<(&'static str, String)>, sqlx::Error> {
    let time = options.statement_timeout.as_millis().to_string();
    let mut limits = vec![
        ("statement_timeout", time.clone()),
        ("lock_timeout", time.clone()),
        ("idle_in_transaction_session_timeout", time),
        ("jit", "off".to_owned()),
    ];
    let commits: String = sqlx::query_scalar("SHOW synchronous_commit").fetch_one(&mut *connection).await?;
    if commits == "off" {
        limits.push(("synchronous_commit", "on".to_owned()));
    }
    let syncs: String = sqlx::query_scalar("SHOW fsync").fetch_one(connection).await?;
    if syncs == "off" {
        tracing::warn!("the server has fsync off: a crash of its machine may lose acknowledged events");
    }
    Ok(limits)
}

async fn ensure_suitable(connection: &mut PgConnection) -> Result<(), Failure> {
    let version: i32 = sqlx::query_scalar("SELECT current_setting('server_version_num')::int")
        .fetch_one(&mut *connection)
        .await?;
    if version < VERSION_MIN {
        return Err(Failure::TooOld(version / 10_000));
    }
    let encoding: String = sqlx::query_scalar("SHOW server_encoding").fetch_one(connection).await?;
    if encoding == "UTF8" { Ok(()) } else { Err(Failure::Encoding(encoding)) }
}

/// Returns whether the schema is up to date, so that a login that may only write needs no right to migrate.
async fn is_up_to_date(connection: &mut PgConnection) -> Result<bool, Failure> {
    let Some(found) = applied(connection).await? else {
        let is_foreign: bool =
            sqlx::query_scalar("SELECT coalesce(to_regclass('events'), to_regclass('requests')) IS NOT NULL")
                .fetch_one(connection)
                .await?;
        return if is_foreign { Err(Failure::Foreign) } else { Ok(false) };
    };
    let known = migrations();
    if let Some((newer, _)) = found.iter().find(|(version, _)| *version > newest()) {
        return Err(Failure::Migrate(MigrateError::VersionMissing(*newer)));
    }
    for migration in &known {
        match found.iter().find(|(version, _)| *version == migration.version) {
            None => return Ok(false),
            Some((version, checksum)) if *checksum != *migration.checksum => {
                return Err(Failure::Migrate(MigrateError::VersionMismatch(*version)));
            }
            Some(_) => {}
        }
    }
    Ok(true)
}

/// Returns the steps that the database has had, or `None` where there never was one.
async fn applied(connection: &mut PgConnection) -> Result<Option<Vec<(i64, Vec<u8>)>>, sqlx::Error> {
    let is_there: bool = sqlx::query_scalar("SELECT to_regclass('_sqlx_migrations') IS NOT NULL")
        .fetch_one(&mut *connection)
        .await?;
    if !is_there {
        return Ok(None);
    }
    let steps =
        sqlx::query_as("SELECT version, checksum FROM _sqlx_migrations WHERE success ORDER BY version");
    steps.fetch_all(connection).await.map(Some)
}

fn migrations() -> Vec<Migration> {
    let migration = |(version, description, sql): (i64, &'static str, &'static str)| {
        Migration::new(version, description.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    MIGRATIONS.into_iter().map(migration).collect()
}

const fn newest() -> i64 {
    MIGRATIONS[MIGRATIONS.len() - 1].0
}

/// Brings the schema up to date. One process does it, others wait for it.
async fn migrate(connection: &mut PgConnection) -> Result<(), Failure> {
    let found = applied(connection).await?.and_then(|steps| steps.last().map(|it| it.0)).unwrap_or(0);
    // `run` does the same, but its future cannot be spawned.
    let migrated = Migrator::with_migrations(migrations()).run_direct(None, connection, false).await;
    migrated.map_err(|error| match Failure::from(error) {
        Failure::Postgres(error) if code_of(&error) == "42501" => Failure::MayNotMigrate(found),
        other => other,
    })
}

/// Why opening stopped, before the server is known to the message.
enum Failure {
    Pooler,
    TooOld(i32),
    Encoding(String),
    Foreign,
    NoLog,
    Restored,
    MayNotMigrate(i64),
    Migrate(MigrateError),
    Postgres(sqlx::Error),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<MigrateError> for Failure {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => Self::Postgres(error),
            other => Self::Migrate(other),
        }
    }
}

impl Failure {
    fn explain(self, server: String) -> ConnectError {
        let known = newest();
        match self {
            Self::Pooler => ConnectError::Pooler { server },
            Self::TooOld(found) => ConnectError::TooOld { server, found },
            Self::Encoding(found) => ConnectError::Encoding { server, found },
            Self::Foreign => ConnectError::Foreign { server },
            Self::NoLog => ConnectError::NoLog { server },
            Self::Restored => ConnectError::Restored { server },
            Self::MayNotMigrate(found) => ConnectError::MayNotMigrate { server, found, known },
            Self::Migrate(MigrateError::VersionMissing(found)) => {
                ConnectError::Newer { server, found, known }
            }
            Self::Migrate(MigrateError::VersionMismatch(version)) => {
                ConnectError::Altered { server, version }
            }
            Self::Migrate(error) => ConnectError::Backend { server, source: error.into() },
            Self::Postgres(error) => match code_of(&error).as_str() {
                "28000" | "28P01" => ConnectError::LoginRefused { server },
                "3D000" => ConnectError::NoDatabase { server },
                "53300" => ConnectError::Full { server },
                // A prepared statement of somebody else's session, or none where there was one.
                "42P05" | "26000" => ConnectError::Pooler { server },
                "" | "57P03" => ConnectError::Unreachable { server, source: error.into() },
                _ => ConnectError::Backend { server, source: error.into() },
            },
        }
    }
}

/// Returns the server's code of an error; empty where the server did not speak.
fn code_of(error: &sqlx::Error) -> String {
    error.as_database_error().and_then(sqlx::error::DatabaseError::code).unwrap_or_default().into_owned()
}

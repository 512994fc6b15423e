//! The order of all events, without holes, while many processes write at once.
//!
//! The naive way numbers events by a sequence and has readers ask for what is behind the last number they saw. A sequence
//! hands out its numbers before the commit, so this happens:
//!
//! ```text
//! writer A    begins, is given 10
//! writer B    begins, is given 11, commits
//! reader      sees 9, 11; remembers 11
//! writer A    commits 10
//! reader      asks for what is behind 11: event 10 is never seen
//! ```
//!
//! Here a position begins with the id of its transaction (`position_of` in the schema), and a reader reads only below a
//! horizon: the oldest transaction that was still running when its statement began (`pg_snapshot_xmin`). Every
//! transaction below the horizon has ended, so its events are visible or will never be; every one to come gets an id at
//! or above it. Nothing can appear any more below a position that was read: no event is lost, none is read twice, the
//! order never changes, and writers never wait. In the story above, A and B run as transactions 7 and 8: the
//! horizon stays at 7 until A has ended, and then A's event is read before B's.
//!
//! The price: a transaction that writes anywhere in the server and does not end holds the horizon back, and with it every
//! reader of all events (readers of one stream are never held back). Hence [`Horizon`], its age, and a warning. What is
//! read from a standby is below that standby's own horizon, for the statement asks the server that it runs on.

use std::fmt;
use std::time::Duration;

use debate_core::id::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgRow};

use crate::port::Position;
use crate::postgres::read::{behind, columns};

/// Where everything has been decided: below it, nothing can appear any more.
macro_rules! horizon {
    () => {
        "position_of(pg_snapshot_xmin(pg_current_snapshot()))"
    };
}

const ALL: &str = concat!(
    "SELECT ",
    columns!("e"),
    " FROM events e WHERE e.position >= $1 AND e.position < ",
    horizon!(),
    " ORDER BY e.position LIMIT $2"
);
const SETTLED: &str = concat!("SELECT coalesce(max(position), 0) FROM events WHERE position < ", horizon!());

const SETTLED_AND_LAST: &str = concat!(
    "SELECT (SELECT coalesce(max(position), 0) FROM events WHERE position < ",
    horizon!(),
    "), coalesce(max(position), 0) FROM events"
);

/// A login that may not see others' sessions sees only its own; prepared transactions are visible to all.
const HELD_BACK: &str = concat!(
    "SELECT (SELECT count(*) FROM events WHERE position >= ",
    horizon!(),
    "), a.pid, (extract(epoch FROM clock_timestamp() - a.since) * 1000)::bigint, a.gid ",
    "FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT pid, gid, since FROM (",
    "SELECT pid, NULL::text AS gid, xact_start AS since, backend_xid AS xid FROM pg_stat_activity ",
    "WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid() ",
    "UNION ALL SELECT NULL, gid, prepared, transaction FROM pg_prepared_xacts) open ",
    "ORDER BY age(xid) DESC LIMIT 1) a ON true"
);

/// Whose transaction holds readers back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// That of a process of the server, by its id.
    Process(i32),
    /// One that was prepared under this name and waits for its second phase; no process has it.
    Prepared(String),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(pid) => write!(f, "process {pid}"),
            Self::Prepared(name) => write!(f, "prepared as {name:?}"),
        }
    }
}

/// How far readers of all events are held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Horizon {
    /// Events that are stored and not yet delivered to readers of all events.
    pub events_behind: u64,
    /// Whose the oldest transaction that writes is, where this login may see it.
    pub held_by: Option<Holder>,
    /// How long ago that transaction began.
    pub age: Option<Duration>,
}

/// Reads events of all streams.
pub(super) async fn all(
    connection: &mut PgConnection,
    after: Position,
    limit: u32,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let Some(from) = behind(after.0) else { return Ok(Vec::new()) };
    sqlx::query(ALL).bind(from).bind(i64::from(limit)).fetch_all(connection).await
}

/// Reads the position of the last event below the horizon.
pub(super) async fn settled(connection: &mut PgConnection) -> Result<Position, sqlx::Error> {
    let last: i64 = sqlx::query_scalar(SETTLED).fetch_one(connection).await?;
    Ok(Position(u64::try_from(last).unwrap_or(0)))
}

/// Reads the positions of the last event below the horizon, and of the last one of all.
pub(super) async fn settled_and_last(
    connection: &mut PgConnection,
) -> Result<(Position, Position), sqlx::Error> {
    let row = sqlx::query(SETTLED_AND_LAST).fetch_one(connection).await?;
    let position = |last: i64| Position(u64::try_from(last).unwrap_or(0));
    Ok((position(row.try_get(0)?), position(row.try_get(1)?)))
}

/// Reads the time by the clock that leases run by.
pub(super) async fn clock(connection: &mut PgConnection) -> Result<Timestamp, sqlx::Error> {
    let ms: i64 = sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")
        .fetch_one(connection)
        .await?;
    Ok(Timestamp(ms))
}

/// Reads how far readers are held back, and by whom.
pub(super) async fn horizon(connection: &mut PgConnection) -> Result<Horizon, sqlx::Error> {
    let row = sqlx::query(HELD_BACK).fetch_one(connection).await?;
    let age_ms: Option<i64> = row.try_get(2)?;
    let (pid, name): (Option<i32>, Option<String>) = (row.try_get(1)?, row.try_get(3)?);
    Ok(Horizon {
        events_behind: u64::try_from(row.try_get::<i64, _>(0)?).unwrap_or(0),
        held_by: pid.map(Holder::Process).or(name.map(Holder::Prepared)),
        age: age_ms.map(|ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0))),
    })
}

//! Archived streams: the table of them, and the transactions that take events out of the file and put them back.

use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Seq, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{Row as _, Sqlite, SqlitePool};

use crate::append::Append;
use crate::archive::{ArchiveError, Archived, Step, check_whole, decide_archive, decide_restore};
use crate::list::ListFilter;
use crate::port::{Head, Position, ReadError};
use crate::sqlite::commit::{Committer, Written};
use crate::sqlite::read::{Fields, integer};

/// The columns of one archived stream, position first.
macro_rules! columns {
    () => {
        "SELECT position, stream_kind, stream_id, seq, hash, bundle, at, tenant, format, opened_at FROM archived "
    };
}

const FIND: &str = concat!(columns!(), "WHERE stream_kind = ?1 AND stream_id = ?2");
const LIST: &str = concat!(
    columns!(),
    "WHERE position < ?1 AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR format = ?3) ",
    "ORDER BY position DESC LIMIT CAST(?4 AS INTEGER)"
);
const LAST: &str = "SELECT position, seq, hash, kind FROM events \
     WHERE stream_kind = ?1 AND stream_id = ?2 ORDER BY seq DESC LIMIT 1";
const IS_THERE: &str =
    "SELECT 1 FROM events WHERE stream_kind = ?1 AND stream_id = ?2 AND seq = ?3 AND hash = ?4";
/// A trigger of the table then removes the events.
const ADD: &str = "INSERT INTO archived (stream_kind, stream_id, seq, hash, bundle, at, position, tenant, format, opened_at) \
     SELECT stream_kind, stream_id, ?3, ?4, ?5, ?6, position, tenant, \
         CASE WHEN json_valid(body) AND json_type(body, '$.format') = 'text' THEN body ->> '$.format' END, at \
     FROM events WHERE stream_kind = ?1 AND stream_id = ?2 AND seq = 1";
const OPEN: &str = "UPDATE archived SET restoring = 1 WHERE stream_kind = ?1 AND stream_id = ?2";
const REMOVE: &str = "DELETE FROM archived WHERE stream_kind = ?1 AND stream_id = ?2";

/// Reads where a stream's events are, if they are archived.
pub(super) async fn find<'c>(
    connection: impl sqlx::Executor<'c, Database = Sqlite>,
    stream: StreamId,
) -> Result<Option<Archived>, ReadError> {
    let row = of(FIND, stream).fetch_optional(connection).await?;
    row.as_ref().map(archived).transpose()
}

/// Lists archived streams, the newest first.
pub(super) async fn list(readers: &SqlitePool, filter: &ListFilter) -> Result<Vec<Archived>, ReadError> {
    let rows = sqlx::query(LIST)
        .bind(filter.before.map_or(i64::MAX, |before| integer(before.0)))
        .bind(filter.tenant.clone())
        .bind(filter.format.clone())
        .bind(filter.limit)
        .fetch_all(readers)
        .await?;
    rows.iter().map(archived).collect()
}

fn archived(row: &SqliteRow) -> Result<Archived, ReadError> {
    let fields = Fields::of(row, 0)?;
    Ok(Archived {
        position: fields.position(),
        stream: fields.stream(1)?,
        head: Head { seq: Seq(fields.number(3)?), hash: fields.digest(4)? },
        bundle: fields.get(5)?,
        at: Timestamp(fields.get(6)?),
        tenant: fields.get(7)?,
        format: fields.get(8)?,
        opened_at: Timestamp(fields.get(9)?),
    })
}

type Query = sqlx::query::Query<'static, Sqlite, sqlx::sqlite::SqliteArguments>;

fn of(sql: &'static str, stream: StreamId) -> Query {
    sqlx::query(sql).bind(stream.kind.as_str()).bind(stream.id.as_bytes().to_vec())
}

impl Committer {
    /// Archives a stream in one transaction; nothing is done where it fails.
    pub(super) async fn archive(
        &mut self,
        stream: StreamId,
        head: Head,
        bundle: &str,
        at: Timestamp,
    ) -> Result<(), ArchiveError> {
        self.forget(stream);
        let archived = self.try_archive(stream, head, bundle, at).await;
        if archived.is_err() {
            self.roll_back().await;
        }
        archived
    }

    async fn try_archive(
        &mut self,
        stream: StreamId,
        head: Head,
        bundle: &str,
        at: Timestamp,
    ) -> Result<(), ArchiveError> {
        let failed = |error: sqlx::Error| ArchiveError::backend(stream, error);
        self.execute("BEGIN IMMEDIATE").await.map_err(failed)?;
        let unread = |error: ReadError| ArchiveError::backend(stream, error);
        let archived = find(self.connection(), stream).await.map_err(unread)?;
        let last = last(self.connection(), stream).await.map_err(unread)?;
        if matches!(decide_archive(stream, head, bundle, archived, last)?, Step::Go) {
            let add = of(ADD, stream).bind(integer(head.seq.0)).bind(head.hash.0.to_vec());
            let add = add.bind(bundle.to_owned()).bind(at.0);
            add.execute(self.connection()).await.map_err(failed)?;
        }
        self.execute("COMMIT").await.map_err(failed)
    }

    /// Puts a stream back in one transaction and returns what was written; nothing is done where it fails.
    pub(super) async fn restore(
        &mut self,
        stream: StreamId,
        events: Vec<Envelope>,
    ) -> Result<Option<Written>, ArchiveError> {
        self.forget(stream);
        let restored = self.try_restore(stream, events).await;
        if restored.is_err() {
            self.roll_back().await;
        }
        restored
    }

    async fn try_restore(
        &mut self,
        stream: StreamId,
        events: Vec<Envelope>,
    ) -> Result<Option<Written>, ArchiveError> {
        let failed = |error: sqlx::Error| ArchiveError::backend(stream, error);
        let head = check_whole(stream, &events)?;
        self.execute("BEGIN IMMEDIATE").await.map_err(failed)?;
        let unread = |error: ReadError| ArchiveError::backend(stream, error);
        let archived = find(self.connection(), stream).await.map_err(unread)?;
        let there = of(IS_THERE, stream).bind(integer(head.seq.0)).bind(head.hash.0.to_vec());
        let is_there = there.fetch_optional(self.connection()).await.map_err(failed)?.is_some();
        let step = decide_restore(stream, head, archived.as_ref(), is_there)?;
        let mut written = None;
        if matches!(step, Step::Go) {
            of(OPEN, stream).execute(self.connection()).await.map_err(failed)?;
            let count = events.len() as u64;
            let last = self.insert(&[&Append::new(stream, Seq::START, events)]).await.map_err(failed)?;
            of(REMOVE, stream).execute(self.connection()).await.map_err(failed)?;
            // One writer at a time: the events of a transaction stand together.
            let first = Position(last.0 + 1 - count);
            written = Some(Written { first, last, heads: vec![(stream, head.seq)] });
        }
        self.execute("COMMIT").await.map_err(failed)?;
        Ok(written)
    }
}

/// Reads where a stream ends, and with which kind of event.
async fn last(
    connection: &mut SqliteConnection,
    stream: StreamId,
) -> Result<Option<(Head, String)>, ReadError> {
    let Some(row) = of(LAST, stream).fetch_optional(connection).await? else { return Ok(None) };
    let fields = Fields::of(&row, 0)?;
    let head = Head { seq: Seq(fields.number(1)?), hash: fields.digest(2)? };
    Ok(Some((head, row.try_get(3)?)))
}

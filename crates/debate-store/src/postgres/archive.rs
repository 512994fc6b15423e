//! Archived streams: the table of them, and the transactions that take events out of the database and put them back.
//!
//! The schema (`0003_archive.sql`) decides which streams can be archived: inserting a row into `archived` deletes the
//! events of its stream, and fails if the stream goes on or is not finished. Only appends to that stream wait
//! meanwhile.

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Seq, Timestamp};
use sqlx::postgres::{PgArguments, PgConnection, PgRow};
use sqlx::{Connection as _, Postgres, Row as _};

use super::PostgresStore;
use super::fault::{Fault, Patience, answer};
use super::insert::insert_query;
use super::read::{Fields, integer};
use crate::append::Append;
use crate::archive::{Archive, ArchiveError, Archived, Step, check_whole, decide_archive, decide_restore};
use crate::list::ListFilter;
use crate::port::{BoxError, Head, Position, ReadError};

/// The columns of one archived stream, position first.
macro_rules! columns {
    () => {
        "SELECT position, stream_kind, stream_id, seq, hash, bundle, at, tenant, format, opened_at FROM archived "
    };
}

const FIND: &str = concat!(columns!(), "WHERE stream_kind = $1 AND stream_id = $2");
const LIST: &str = concat!(
    columns!(),
    "WHERE position < $1 AND ($2::text IS NULL OR tenant = $2) AND ($3::text IS NULL OR format = $3) ",
    "ORDER BY position DESC LIMIT $4"
);
const LAST: &str = "SELECT position, seq, hash, kind FROM events \
     WHERE stream_kind = $1 AND stream_id = $2 ORDER BY seq DESC LIMIT 1";
const IS_THERE: &str =
    "SELECT 1 FROM events WHERE stream_kind = $1 AND stream_id = $2 AND seq = $3 AND hash = $4";
/// Triggers of the table fill in the rest and remove the events.
const ADD: &str =
    "INSERT INTO archived (stream_kind, stream_id, seq, hash, bundle, at) VALUES ($1, $2, $3, $4, $5, $6)";
/// Who comes second waits here, and then finds nothing.
const OPEN: &str = "UPDATE archived SET restoring = true WHERE stream_kind = $1 AND stream_id = $2";
const REMOVE: &str = "DELETE FROM archived WHERE stream_kind = $1 AND stream_id = $2";

fn of(sql: &'static str, stream: StreamId) -> sqlx::query::Query<'static, Postgres, PgArguments> {
    sqlx::query(sql).bind(stream.kind.as_str()).bind(stream.id)
}

/// Reads where a stream's events are, if they are archived.
pub(super) async fn find(
    connection: &mut PgConnection,
    stream: StreamId,
) -> Result<Option<PgRow>, sqlx::Error> {
    of(FIND, stream).fetch_optional(connection).await
}

/// Reads archived streams, the newest first.
pub(super) async fn list(
    connection: &mut PgConnection,
    filter: &ListFilter,
) -> Result<Vec<PgRow>, sqlx::Error> {
    sqlx::query(LIST)
        .bind(filter.before.map_or(i64::MAX, |before| integer(before.0)))
        .bind(filter.tenant.as_deref())
        .bind(filter.format.as_deref())
        .bind(i64::from(filter.limit))
        .fetch_all(connection)
        .await
}

/// Makes an archived stream of a row of [`find`] or [`list`].
pub(super) fn archived(row: &PgRow) -> Result<Archived, ReadError> {
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

/// Why a transaction did nothing, before the stream is known to the message.
enum Stopped {
    Decided(ArchiveError),
    Failed(sqlx::Error),
}

impl From<sqlx::Error> for Stopped {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error)
    }
}

impl From<ArchiveError> for Stopped {
    fn from(error: ArchiveError) -> Self {
        Self::Decided(error)
    }
}

impl From<ReadError> for Stopped {
    fn from(error: ReadError) -> Self {
        Self::Failed(sqlx::Error::Decode(error.into()))
    }
}

impl PostgresStore {
    /// Does something in one transaction, and again where the server was gone for a moment or somebody came first: what
    /// was done before is found done.
    async fn in_one<T>(
        &self,
        stream: StreamId,
        work: impl for<'a> Fn(&'a mut PgConnection) -> Worked<'a, T> + Send,
    ) -> Result<T, ArchiveError> {
        let time = self.options.answer_time();
        let mut patience = Patience::of(self.options.retry_time);
        loop {
            let done = match answer(time, self.pool.acquire()).await {
                Ok(mut connection) => {
                    let done = transact(&mut connection, time, &work).await;
                    if done.is_err() {
                        // Whatever state it is in.
                        connection.close_on_drop();
                    }
                    done
                }
                Err(error) => Err(error.into()),
            };
            let error = match done {
                Ok(done) => return Ok(done),
                Err(Stopped::Decided(error)) => return Err(error),
                Err(Stopped::Failed(sqlx::Error::PoolClosed)) => return Err(ArchiveError::Closed),
                Err(Stopped::Failed(error)) => error,
            };
            if Fault::of(&error) == Fault::Lasting || !patience.pause().await {
                let source: BoxError = error.into();
                return Err(ArchiveError::Backend { stream, source });
            }
        }
    }
}

/// Work under way in a transaction.
type Worked<'a, T> = std::pin::Pin<Box<dyn Future<Output = Result<T, Stopped>> + Send + 'a>>;

async fn transact<T>(
    connection: &mut PgConnection,
    time: std::time::Duration,
    work: impl for<'a> Fn(&'a mut PgConnection) -> Worked<'a, T>,
) -> Result<T, Stopped> {
    let limit = async {
        let mut transaction = connection.begin().await?;
        let done = work(&mut transaction).await?;
        transaction.commit().await?;
        Ok(done)
    };
    match tokio::time::timeout(time, limit).await {
        Ok(done) => done,
        Err(_) => Err(sqlx::Error::Io(std::io::ErrorKind::TimedOut.into()).into()),
    }
}

#[async_trait]
impl Archive for PostgresStore {
    async fn archive(
        &self,
        stream: StreamId,
        head: Head,
        bundle: &str,
        at: Timestamp,
    ) -> Result<(), ArchiveError> {
        self.in_one(stream, |connection| {
            let bundle = bundle.to_owned();
            Box::pin(async move {
                let archived = find(connection, stream).await?.as_ref().map(archived).transpose()?;
                let last = of(LAST, stream).fetch_optional(&mut *connection).await?;
                let last = last.as_ref().map(last_of).transpose()?;
                if matches!(decide_archive(stream, head, &bundle, archived, last)?, Step::Go) {
                    let add = of(ADD, stream).bind(integer(head.seq.0)).bind(head.hash.0.to_vec());
                    add.bind(bundle).bind(at.0).execute(connection).await?;
                }
                Ok(())
            })
        })
        .await
    }

    async fn restore(&self, stream: StreamId, events: Vec<Envelope>) -> Result<(), ArchiveError> {
        let head = check_whole(stream, &events)?;
        let append = Append::new(stream, Seq::START, events);
        let last = self.in_one(stream, |connection| {
            let append = append.clone();
            Box::pin(async move {
                of(OPEN, stream).execute(&mut *connection).await?;
                let archived = find(connection, stream).await?.as_ref().map(archived).transpose()?;
                let there = of(IS_THERE, stream).bind(integer(head.seq.0)).bind(head.hash.0.to_vec());
                let is_there = there.fetch_optional(&mut *connection).await?.is_some();
                match decide_restore(stream, head, archived.as_ref(), is_there)? {
                    Step::Done => return Ok(None),
                    Step::Go => {}
                }
                let rows = insert_query(&[&append]).fetch_all(&mut *connection).await?;
                of(REMOVE, stream).execute(connection).await?;
                let last: Option<i64> = rows.last().map(|row| row.try_get(0)).transpose()?;
                Ok(last.and_then(|last| u64::try_from(last).ok()).map(Position))
            })
        });
        if let Some(last) = last.await? {
            self.announcer.committed(std::iter::once((stream, head.seq, last)));
        }
        Ok(())
    }
}

fn last_of(row: &PgRow) -> Result<(Head, String), ReadError> {
    let fields = Fields::of(row, 0)?;
    Ok((Head { seq: Seq(fields.number(1)?), hash: fields.digest(2)? }, fields.get(3)?))
}

//! Everything that is read from the file, and how a row becomes an envelope.

use std::fmt::Display;

use debate_core::envelope::{Envelope, SaltedProse, StreamId, StreamKind};
use debate_core::id::{Digest, Seq, Timestamp};
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row as _, Sqlite, SqlitePool, Type};
use uuid::Uuid;

use crate::list::{ListFilter, Listed};
use crate::port::{Head, Position, ReadError, RequestOwner};

/// The columns of one event, position first, in the order that [`envelope`] reads them.
macro_rules! columns {
    ($table:literal) => {
        concat!(
            $table,
            ".position, ",
            $table,
            ".stream_kind, ",
            $table,
            ".stream_id, ",
            $table,
            ".seq, ",
            $table,
            ".kind, ",
            $table,
            ".version, ",
            $table,
            ".at, ",
            $table,
            ".tenant, ",
            $table,
            ".actor, ",
            $table,
            ".trace, ",
            $table,
            ".hash, ",
            $table,
            ".prose_digest, ",
            $table,
            ".salt, ",
            $table,
            ".body, ",
            $table,
            ".prose"
        )
    };
}

/// How many columns `columns!` names.
const COLUMNS: usize = 15;

/// Lists debates; the statement differs only in how it finds the first events, so that an index serves each.
macro_rules! list_sql {
    ($first:literal) => {
        concat!(
            "SELECT ", columns!("f"), ", ", columns!("l"), ", (SELECT max(h.seq) FROM events h ",
            "WHERE h.stream_kind = f.stream_kind AND h.stream_id = f.stream_id) ",
            "FROM events f LEFT JOIN events l ON l.position = (SELECT k.position FROM events k ",
            "WHERE k.stream_kind = f.stream_kind AND k.stream_id = f.stream_id ",
            "AND k.kind IN (SELECT value FROM json_each(?1)) ORDER BY k.seq DESC LIMIT 1) ",
            "WHERE f.seq = 1 AND f.stream_kind = ?2 AND f.position < ?3 ",
            "AND (?4 IS NULL OR ?4 = CASE WHEN json_valid(f.body) THEN json_extract(f.body, '$.format') END) ",
            "AND (?5 IS NULL OR l.kind IN (SELECT value FROM json_each(?5))) ",
            "AND (?7 IS NULL OR l.at >= ?7) ",
            $first,
            "ORDER BY f.position DESC LIMIT CAST(?6 AS INTEGER)"
        )
    };
}

// A bare parameter as the limit would have SQLite compile the statement again for every value of it; hence the casts.
const STREAM: &str = concat!(
    "SELECT ",
    columns!("e"),
    " FROM events e ",
    "WHERE e.stream_kind = ?1 AND e.stream_id = ?2 AND e.seq > ?3 ORDER BY e.seq LIMIT CAST(?4 AS INTEGER)"
);
const ALL: &str = concat!(
    "SELECT ",
    columns!("e"),
    " FROM events e WHERE e.position > ?1 ORDER BY e.position LIMIT CAST(?2 AS INTEGER)"
);
const OPENED: &str = "SELECT position, stream_kind, stream_id, seq FROM events \
     WHERE stream_kind = ?1 AND seq = 1 AND position > ?2 ORDER BY position LIMIT CAST(?3 AS INTEGER)";
const PLACES: &str = "SELECT position, stream_kind, stream_id, seq FROM events WHERE position > ?1 ORDER BY position LIMIT CAST(?2 AS INTEGER)";
const HEAD: &str = "SELECT position, seq, hash FROM events \
     WHERE stream_kind = ?1 AND stream_id = ?2 ORDER BY seq DESC LIMIT 1";
const REQUEST: &str =
    "SELECT stream_kind, stream_id, body_hash FROM requests WHERE tenant = ?1 AND request_id = ?2";
const REQUEST_OF: &str = "SELECT min(request_id) FROM requests WHERE stream_kind = ?1 AND stream_id = ?2";
const LAST_POSITION: &str = "SELECT coalesce(max(position), 0) FROM events";
const LIST: &str = list_sql!("");
const LIST_OF_TENANT: &str = list_sql!("AND f.tenant = ?8 ");

/// Reads events of one stream.
pub(super) async fn stream(
    readers: &SqlitePool,
    stream: StreamId,
    after: Seq,
    limit: u32,
) -> Result<Vec<Envelope>, ReadError> {
    let rows = sqlx::query(STREAM)
        .bind(stream.kind.as_str())
        .bind(stream.id.as_bytes().to_vec())
        .bind(integer(after.0))
        .bind(limit)
        .fetch_all(readers)
        .await?;
    rows.iter().map(|row| envelope(row, 0).map(|(_, envelope)| envelope)).collect()
}

/// Reads events of all streams.
pub(super) async fn all(
    readers: &SqlitePool,
    after: Position,
    limit: u32,
) -> Result<Vec<(Position, Envelope)>, ReadError> {
    let rows = sqlx::query(ALL).bind(integer(after.0)).bind(limit).fetch_all(readers).await?;
    rows.iter().map(|row| envelope(row, 0)).collect()
}

/// Reads where events of all streams belong, without their contents.
pub(super) async fn places(
    readers: &SqlitePool,
    after: Position,
    limit: u32,
) -> Result<Vec<(Position, StreamId, Seq)>, ReadError> {
    let rows = sqlx::query(PLACES).bind(integer(after.0)).bind(limit).fetch_all(readers).await?;
    let places = rows.iter().map(|row| {
        let fields = Fields::of(row, 0)?;
        Ok((fields.position, fields.stream(1)?, Seq(fields.number(3)?)))
    });
    places.collect()
}

/// Reads which debates were opened after a position, and where.
pub(super) async fn opened(
    readers: &SqlitePool,
    after: Position,
    limit: u32,
) -> Result<Vec<(Position, StreamId)>, ReadError> {
    let query = sqlx::query(OPENED).bind(StreamKind::Debate.as_str()).bind(integer(after.0)).bind(limit);
    let rows = query.fetch_all(readers).await?;
    let opened = rows.iter().map(|row| {
        let fields = Fields::of(row, 0)?;
        Ok((fields.position, fields.stream(1)?))
    });
    opened.collect()
}

/// Reads the last event's place and hash.
pub(super) async fn head(readers: &SqlitePool, stream: StreamId) -> Result<Option<Head>, ReadError> {
    let row = sqlx::query(HEAD)
        .bind(stream.kind.as_str())
        .bind(stream.id.as_bytes().to_vec())
        .fetch_optional(readers)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let fields = Fields::of(&row, 0)?;
    Ok(Some(Head { seq: Seq(fields.number(1)?), hash: fields.digest(2)? }))
}

/// Reads what a request opened.
pub(super) async fn request<'c>(
    connection: impl sqlx::Executor<'c, Database = Sqlite>,
    tenant: &str,
    request_id: &str,
) -> Result<Option<RequestOwner>, ReadError> {
    let row = sqlx::query(REQUEST)
        .bind(tenant.to_owned())
        .bind(request_id.to_owned())
        .fetch_optional(connection)
        .await?;
    let Some(row) = row else { return Ok(None) };
    let fields = Fields { row: &row, base: 0, position: Position::START };
    Ok(Some(RequestOwner { stream: fields.stream(0)?, body_hash: fields.digest(2)? }))
}

/// Reads the request id that opened a stream.
pub(super) async fn request_of(readers: &SqlitePool, stream: StreamId) -> Result<Option<String>, ReadError> {
    let query = sqlx::query_scalar(REQUEST_OF).bind(stream.kind.as_str());
    Ok(query.bind(stream.id.as_bytes().to_vec()).fetch_one(readers).await?)
}

/// Reads the position of the last event.
pub(super) async fn last_position(readers: &SqlitePool) -> Result<Position, ReadError> {
    let last: i64 = sqlx::query_scalar(LAST_POSITION).fetch_one(readers).await?;
    Ok(Position(u64::try_from(last).unwrap_or(0)))
}

/// Lists debates, the newest first.
pub(super) async fn list(readers: &SqlitePool, filter: &ListFilter) -> Result<Vec<Listed>, ReadError> {
    let sql = if filter.tenant.is_some() { LIST_OF_TENANT } else { LIST };
    let query = sqlx::query(sql)
        .bind(json_list(&filter.lifecycle))
        .bind(StreamKind::Debate.as_str())
        .bind(filter.before.map_or(i64::MAX, |before| integer(before.0)))
        .bind(filter.format.clone())
        .bind(filter.status.as_deref().map(json_list))
        .bind(filter.limit)
        .bind(filter.touched_since.map(|since| since.0));
    let query = match &filter.tenant {
        Some(tenant) => query.bind(tenant.clone()),
        None => query,
    };
    let rows = query.fetch_all(readers).await?;
    rows.iter().map(listed).collect()
}

fn listed(row: &SqliteRow) -> Result<Listed, ReadError> {
    let (position, first) = envelope(row, 0)?;
    let fields = Fields { row, base: 2 * COLUMNS, position };
    let has_last = Fields { row, base: COLUMNS, position }.get::<Option<i64>>(0)?.is_some();
    let last_of_kinds = if has_last { Some(envelope(row, COLUMNS).map(|(_, last)| last)?) } else { None };
    Ok(Listed { first, last_of_kinds, head: Seq(fields.number(0)?), position })
}

fn json_list(kinds: &[String]) -> String {
    serde_json::Value::from(kinds).to_string()
}

/// Reads an event from a row whose columns, from `base` on, are those of `columns!`.
fn envelope(row: &SqliteRow, base: usize) -> Result<(Position, Envelope), ReadError> {
    let fields = Fields::of(row, base)?;
    let prose = match (fields.get::<Option<&[u8]>>(12)?, fields.get::<Option<String>>(14)?) {
        (Some(salt), Some(text)) => Some(SaltedProse { salt: fields.sized("salt", salt)?, text }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return Err(fields.corrupt("prose and salt do not go together")),
    };
    let prose_digest = match fields.get::<Option<&[u8]>>(11)? {
        Some(bytes) => Some(Digest(fields.sized("prose_digest", bytes)?)),
        None => None,
    };
    let envelope = Envelope {
        stream: fields.stream(1)?,
        seq: Seq(fields.number(3)?),
        kind: fields.get(4)?,
        version: fields.get(5)?,
        at: Timestamp(fields.get(6)?),
        tenant: fields.get(7)?,
        actor: fields.get(8)?,
        trace: fields.get(9)?,
        body: fields.get(13)?,
        prose,
        prose_digest,
        hash: fields.digest(10)?,
    };
    Ok((fields.position, envelope))
}

/// Reads the columns of a row from `base` on, and names the event's position where one is not what it must be.
#[derive(Clone, Copy)]
pub(super) struct Fields<'r> {
    row: &'r SqliteRow,
    base: usize,
    position: Position,
}

impl<'r> Fields<'r> {
    /// Starts at a column that holds a position.
    pub(super) fn of(row: &'r SqliteRow, base: usize) -> Result<Self, ReadError> {
        let mut fields = Self { row, base, position: Position::START };
        fields.position = Position(fields.number(0)?);
        Ok(fields)
    }

    pub(super) fn get<T: Decode<'r, Sqlite> + Type<Sqlite>>(self, index: usize) -> Result<T, ReadError> {
        self.row.try_get_unchecked(self.base + index).map_err(|error| self.corrupt(error))
    }

    /// Returns the position that the row begins with.
    pub(super) fn position(self) -> Position {
        self.position
    }

    pub(super) fn number(self, index: usize) -> Result<u64, ReadError> {
        u64::try_from(self.get::<i64>(index)?).map_err(|error| self.corrupt(error))
    }

    pub(super) fn digest(self, index: usize) -> Result<Digest, ReadError> {
        Ok(Digest(self.sized("a digest", self.get(index)?)?))
    }

    /// Reads the stream's kind and, from the next column, its id.
    pub(super) fn stream(self, index: usize) -> Result<StreamId, ReadError> {
        let name: &str = self.get(index)?;
        let kind = StreamKind::from_name(name)
            .ok_or_else(|| self.corrupt(format_args!("unknown kind of stream `{name}`")))?;
        let id = Uuid::from_bytes(self.sized("stream_id", self.get(index + 1)?)?);
        Ok(StreamId { kind, id })
    }

    fn sized<const N: usize>(self, what: &str, bytes: &[u8]) -> Result<[u8; N], ReadError> {
        bytes.try_into().map_err(|_| self.corrupt(format_args!("{what} has {} bytes, not {N}", bytes.len())))
    }

    fn corrupt(self, what: impl Display) -> ReadError {
        ReadError::Corrupt { position: self.position, what: what.to_string() }
    }
}

/// Returns a number as SQLite stores it; what is too large stands for "after everything".
pub(super) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

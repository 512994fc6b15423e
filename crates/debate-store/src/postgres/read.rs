//! Reads rows and makes envelopes of them.

use std::fmt::Display;

use debate_core::envelope::{Envelope, SaltedProse, StreamId, StreamKind};
use debate_core::id::{Digest, Seq, Timestamp};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{Decode, Postgres, Row as _, Type};
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
pub(super) use columns;

/// How many columns `columns!` names.
const COLUMNS: usize = 15;

/// Lists debates; the statement differs only in how it finds the first events, so that an index serves each.
macro_rules! list_sql {
    ($first:literal) => {
        concat!(
            "SELECT ",
            columns!("f"),
            ", ",
            columns!("l"),
            ", (SELECT max(h.seq) FROM events h ",
            "WHERE h.stream_kind = f.stream_kind AND h.stream_id = f.stream_id) ",
            "FROM events f LEFT JOIN LATERAL (SELECT * FROM events k ",
            "WHERE k.stream_kind = f.stream_kind AND k.stream_id = f.stream_id ",
            "AND k.kind = ANY($1) ORDER BY k.seq DESC LIMIT 1) l ON true ",
            "WHERE f.seq = 1 AND f.stream_kind = $2 AND f.position < $3 ",
            "AND ($4::text IS NULL OR $4 = format_of(f.body)) ",
            "AND ($5::text[] IS NULL OR l.kind = ANY($5)) ",
            "AND ($7::bigint IS NULL OR l.at >= $7) ",
            $first,
            "ORDER BY f.position DESC LIMIT $6"
        )
    };
}

const STREAM: &str = concat!(
    "SELECT ",
    columns!("e"),
    " FROM events e ",
    "WHERE e.stream_kind = $1 AND e.stream_id = $2 AND e.seq >= $3 ORDER BY e.seq LIMIT $4"
);
const HASHES: &str = "SELECT position, hash FROM events \
     WHERE stream_kind = $1 AND stream_id = $2 AND seq > $3 ORDER BY seq LIMIT $4";
const HEADS: &str = "WITH RECURSIVE streams AS ( \
         (SELECT stream_kind, stream_id, 1::bigint AS place FROM events \
          WHERE (stream_kind, stream_id) > ($1, $2) AND $3 > 0 \
          ORDER BY stream_kind, stream_id LIMIT 1) \
         UNION ALL \
         SELECT next.stream_kind, next.stream_id, s.place + 1 FROM streams s CROSS JOIN LATERAL ( \
             SELECT e.stream_kind, e.stream_id FROM events e \
             WHERE (e.stream_kind, e.stream_id) > (s.stream_kind, s.stream_id) \
             ORDER BY e.stream_kind, e.stream_id LIMIT 1) next \
         WHERE s.place < $3) \
     SELECT s.stream_kind, s.stream_id, last.seq, last.hash FROM streams s CROSS JOIN LATERAL ( \
         SELECT e.seq, e.hash FROM events e \
         WHERE e.stream_kind = s.stream_kind AND e.stream_id = s.stream_id \
         ORDER BY e.seq DESC LIMIT 1) last \
     ORDER BY s.place";

const HEAD: &str = "SELECT position, seq, hash FROM events \
     WHERE stream_kind = $1 AND stream_id = $2 ORDER BY seq DESC LIMIT 1";
const REQUEST: &str =
    "SELECT stream_kind, stream_id, body_hash FROM requests WHERE tenant = $1 AND request_id = $2";
const REQUEST_OF: &str = "SELECT min(request_id) FROM requests WHERE stream_kind = $1 AND stream_id = $2";
const LIST: &str = list_sql!("");
const LIST_OF_TENANT: &str = list_sql!("AND f.tenant = $8 ");

/// Reads events of one stream.
pub(super) async fn stream(
    connection: &mut PgConnection,
    stream: StreamId,
    after: Seq,
    limit: u32,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let Some(from) = behind(after.0) else { return Ok(Vec::new()) };
    sqlx::query(STREAM)
        .bind(stream.kind.as_str())
        .bind(stream.id)
        .bind(from)
        .bind(i64::from(limit))
        .fetch_all(connection)
        .await
}

/// Reads where events of a stream stand, and their hashes.
pub(super) async fn hashes(
    connection: &mut PgConnection,
    stream: StreamId,
    after: Seq,
    limit: usize,
) -> Result<Vec<PgRow>, sqlx::Error> {
    sqlx::query(HASHES)
        .bind(stream.kind.as_str())
        .bind(stream.id)
        .bind(integer(after.0))
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .fetch_all(connection)
        .await
}

/// Reads the last event's place and hash.
pub(super) async fn head(
    connection: &mut PgConnection,
    stream: StreamId,
) -> Result<Option<PgRow>, sqlx::Error> {
    sqlx::query(HEAD).bind(stream.kind.as_str()).bind(stream.id).fetch_optional(connection).await
}

/// Reads the heads of at most `limit` streams, those right after `after`: two steps down an index for each, however long
/// it is.
pub(super) async fn heads(
    connection: &mut PgConnection,
    after: Option<StreamId>,
    limit: u32,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let (kind, id) = after.map_or(("", Uuid::nil()), |after| (after.kind.as_str(), after.id));
    sqlx::query(HEADS).bind(kind).bind(id).bind(i64::from(limit)).fetch_all(connection).await
}

/// Reads what a request opened.
pub(super) async fn request(
    connection: &mut PgConnection,
    tenant: &str,
    request_id: &str,
) -> Result<Option<PgRow>, sqlx::Error> {
    sqlx::query(REQUEST).bind(tenant).bind(request_id).fetch_optional(connection).await
}

/// Reads the request id that opened a stream.
pub(super) async fn request_of(
    connection: &mut PgConnection,
    stream: StreamId,
) -> Result<Option<String>, sqlx::Error> {
    sqlx::query_scalar(REQUEST_OF).bind(stream.kind.as_str()).bind(stream.id).fetch_one(connection).await
}

/// Reads debates, the newest first.
pub(super) async fn list(
    connection: &mut PgConnection,
    filter: &ListFilter,
) -> Result<Vec<PgRow>, sqlx::Error> {
    let sql = if filter.tenant.is_some() { LIST_OF_TENANT } else { LIST };
    let query = sqlx::query(sql)
        .bind(filter.lifecycle.as_slice())
        .bind(StreamKind::Debate.as_str())
        .bind(filter.before.map_or(i64::MAX, |before| integer(before.0)))
        .bind(filter.format.as_deref())
        .bind(filter.status.as_deref())
        .bind(i64::from(filter.limit))
        .bind(filter.touched_since.map(|since| since.0));
    let query = match &filter.tenant {
        Some(tenant) => query.bind(tenant.as_str()),
        None => query,
    };
    query.fetch_all(connection).await
}

/// Makes a head of a row of [`head`].
pub(super) fn head_of(row: &PgRow) -> Result<Head, ReadError> {
    let fields = Fields::of(row, 0)?;
    Ok(Head { seq: fields.seq(1)?, hash: fields.digest(2)? })
}

/// Makes a stream and its head of a row of [`heads`].
pub(super) fn headed(row: &PgRow) -> Result<(StreamId, Head), ReadError> {
    let fields = Fields { row, base: 0, position: Position::START };
    let stream = fields.stream(0)?;
    let seq = place(fields.get(2)?).map_err(|what| fields.corrupt(format_args!("in {stream} {what}")))?;
    Ok((stream, Head { seq: Seq(seq), hash: fields.digest(3)? }))
}

/// Makes a position and a hash of a row of [`hashes`].
pub(super) fn hash_of(row: &PgRow) -> Result<(Position, Digest), ReadError> {
    let fields = Fields::of(row, 0)?;
    Ok((fields.position, fields.digest(1)?))
}

/// Makes the owner of a request of a row of [`request`].
pub(super) fn owner_of(row: &PgRow) -> Result<RequestOwner, ReadError> {
    let fields = Fields { row, base: 0, position: Position::START };
    Ok(RequestOwner { stream: fields.stream(0)?, body_hash: fields.digest(2)? })
}

/// Makes one debate of a row of [`list`].
pub(super) fn listed(row: &PgRow) -> Result<Listed, ReadError> {
    let (position, first) = envelope(row, 0)?;
    let fields = Fields { row, base: 2 * COLUMNS, position };
    let has_last = Fields { row, base: COLUMNS, position }.get::<Option<i64>>(0)?.is_some();
    let last_of_kinds = if has_last { Some(envelope(row, COLUMNS).map(|(_, last)| last)?) } else { None };
    Ok(Listed { first, last_of_kinds, head: Seq(fields.number(0)?), position })
}

/// Makes an event of a row whose columns, from `base` on, are those of `columns!`.
pub(super) fn envelope(row: &PgRow, base: usize) -> Result<(Position, Envelope), ReadError> {
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
    let version: i32 = fields.get(5)?;
    let envelope = Envelope {
        stream: fields.stream(1)?,
        seq: fields.seq(3)?,
        kind: fields.get(4)?,
        version: u16::try_from(version).map_err(|error| fields.corrupt(error))?,
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
    row: &'r PgRow,
    base: usize,
    position: Position,
}

impl<'r> Fields<'r> {
    /// Starts at a column that holds a position.
    pub(super) fn of(row: &'r PgRow, base: usize) -> Result<Self, ReadError> {
        let mut fields = Self { row, base, position: Position::START };
        fields.position = place(fields.get(0)?).map(Position).map_err(|what| fields.corrupt(what))?;
        Ok(fields)
    }

    /// Reads a sequence number.
    fn seq(self, index: usize) -> Result<Seq, ReadError> {
        place(self.get(index)?).map(Seq).map_err(|what| self.corrupt(what))
    }

    pub(super) fn get<T: Decode<'r, Postgres> + Type<Postgres>>(self, index: usize) -> Result<T, ReadError> {
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
        Ok(StreamId { kind, id: self.get::<Uuid>(index + 1)? })
    }

    fn sized<const N: usize>(self, what: &str, bytes: &[u8]) -> Result<[u8; N], ReadError> {
        bytes.try_into().map_err(|_| self.corrupt(format_args!("{what} has {} bytes, not {N}", bytes.len())))
    }

    fn corrupt(self, what: impl Display) -> ReadError {
        ReadError::Corrupt { position: self.position, what: what.to_string() }
    }
}

/// Returns a place in a stream, or among all events, of a row: 1 or more. Only what was written by hand has another.
fn place(number: i64) -> Result<u64, String> {
    let place = u64::try_from(number).ok().filter(|place| *place > 0);
    place.ok_or_else(|| format!("an event stands at {number}, before the first place"))
}

/// Returns the first place behind another, to read on from there, unless that is the last one. Behind the start stands also
/// what was put before the first place by hand, which readers are to find.
pub(super) fn behind(place: u64) -> Option<i64> {
    if place == 0 { Some(i64::MIN) } else { i64::try_from(place).ok()?.checked_add(1) }
}

/// Returns a number as PostgreSQL stores it; what is too large stands for "after everything".
pub(super) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

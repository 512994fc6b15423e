//! Commits a group of appends: decides each on what is stored, writes those that fit, leaves the others out.
//!
//! Appends that continue streams from where this process left them are inserted with nothing asked before: the
//! insert trigger refuses them if another process came first, and then the group is decided in a transaction.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;

use debate_core::chain::GENESIS;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Digest, Seq};
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Arguments as _, AssertSqlSafe, Row as _};

use crate::append::{Append, AppendError};
use crate::decision::Decision;
use crate::port::{BoxError, Head, Position};
use crate::sqlite::archive;
use crate::sqlite::read::{self, integer};

/// Up to so many events there is a prepared statement for every number, so that what a debate appends is one statement.
const ROWS_MAX: usize = 16;

/// Of more events, as many are inserted by one statement; each goes to another thread and back.
const ROWS_OF_MANY: [usize; 3] = [32, 64, 128];

/// Heads remembered; when there are more, all are forgotten.
const HEADS_MAX: usize = 8_192;

const INSERT: &str = "INSERT OR ROLLBACK INTO events (stream_kind, stream_id, seq, kind, version, at, tenant, actor, trace, \
     hash, prose_digest, salt, body, prose) VALUES ";
const VALUES: &str = "(?,?,?,?,?,?,?,?,?,?,?,?,?,?)";

/// Where each stream of a JSON list `[[kind, id in hex], …]` stands.
const HEADS: &str = "SELECT s.key, e.seq, e.hash FROM json_each(?1) s JOIN events e \
     ON e.stream_kind = s.value ->> 0 AND e.stream_id = unhex(s.value ->> 1) \
     AND e.seq = (SELECT max(m.seq) FROM events m \
         WHERE m.stream_kind = s.value ->> 0 AND m.stream_id = unhex(s.value ->> 1))";

/// What came of a group.
pub(super) struct Answers {
    /// One answer per append, in order.
    pub(super) each: Vec<Result<Position, AppendError>>,
    /// What was written, if anything.
    pub(super) written: Option<Written>,
}

/// Events that are now stored.
pub(super) struct Written {
    pub(super) first: Position,
    pub(super) last: Position,
    /// Where each written stream stands now.
    pub(super) heads: Vec<(StreamId, Seq)>,
}

/// Owns the connection that writes.
pub(super) struct Committer {
    connection: SqliteConnection,
    /// The last events of streams as this process saw them. Another process may have gone on since.
    heads: HashMap<StreamId, Head>,
    /// The insert statements, by their rows.
    inserts: BTreeMap<usize, Arc<str>>,
}

impl Committer {
    pub(super) fn new(connection: SqliteConnection) -> Self {
        let statement = |rows| {
            let mut sql = String::from(INSERT);
            for row in 0..rows {
                let _ = write!(sql, "{}{VALUES}", if row == 0 { "" } else { "," });
            }
            (rows, Arc::from(sql))
        };
        let inserts = (1..=ROWS_MAX).chain(ROWS_OF_MANY).map(statement).collect();
        Self { connection, heads: HashMap::new(), inserts }
    }

    /// Forgets where a stream stands.
    pub(super) fn forget(&mut self, stream: StreamId) {
        self.heads.remove(&stream);
    }

    pub(super) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }

    pub(super) fn into_connection(self) -> SqliteConnection {
        self.connection
    }

    /// Commits appends to different streams; each is stored whole or not at all.
    pub(super) async fn commit(&mut self, appends: &[Append]) -> Answers {
        match self.try_commit(appends).await {
            Ok(answers) => answers,
            Err(error) => {
                self.heads.clear();
                self.roll_back().await;
                let error: Arc<dyn Error + Send + Sync> = Arc::from(error);
                let failed = |append: &Append| {
                    let source = Box::new(Arc::clone(&error));
                    Err(AppendError::Backend { stream: append.stream, source })
                };
                Answers { each: appends.iter().map(failed).collect(), written: None }
            }
        }
    }

    async fn try_commit(&mut self, appends: &[Append]) -> Result<Answers, BoxError> {
        if self.continues_known_heads(appends) {
            let all: Vec<&Append> = appends.iter().collect();
            match self.insert_at_once(&all).await {
                Ok(last) => {
                    let mut each = Vec::with_capacity(appends.len());
                    let written = self.record(&all, last, &mut each);
                    return Ok(Answers { each: each.into_iter().map(Ok).collect(), written });
                }
                Err(error) if is_refused_by_trigger(&error) => self.roll_back().await,
                Err(error) => return Err(error.into()),
            }
        }
        self.decide_and_commit(appends).await
    }

    /// Returns whether everything follows what this process saw last, and nothing needs to be looked up.
    fn continues_known_heads(&self, appends: &[Append]) -> bool {
        appends.iter().all(|append| {
            let known = self.heads.get(&append.stream);
            append.request.is_none()
                && known.is_some_and(|head| {
                    head.seq == append.expected && append.check_follows(&head.hash).is_ok()
                })
        })
    }

    /// Inserts everything in one statement, which needs no transaction around it, or else in one transaction.
    async fn insert_at_once(&mut self, appends: &[&Append]) -> Result<Position, sqlx::Error> {
        if self.inserts.contains_key(&events_of(appends).count()) {
            return self.insert(appends).await;
        }
        self.execute("BEGIN IMMEDIATE").await?;
        let last = self.insert(appends).await?;
        self.execute("COMMIT").await?;
        Ok(last)
    }

    pub(super) async fn execute(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        sqlx::query(sql).execute(&mut self.connection).await.map(drop)
    }

    /// Leaves the transaction, if there is one. A dead connection fails the next group by itself.
    pub(super) async fn roll_back(&mut self) {
        let _ = self.execute("ROLLBACK").await;
    }

    async fn decide_and_commit(&mut self, appends: &[Append]) -> Result<Answers, BoxError> {
        self.execute("BEGIN IMMEDIATE").await?;
        self.load_heads(appends).await?;
        let mut decisions = Vec::with_capacity(appends.len());
        for append in appends {
            decisions.push(self.decide(append).await?);
        }
        let decided = || appends.iter().zip(&decisions);
        let accepted: Vec<&Append> =
            decided().filter(|(_, it)| matches!(it, Decision::Write)).map(|(append, _)| append).collect();
        let last = self.insert(&accepted).await?;
        for (append, decision) in decided() {
            match decision {
                Decision::Write | Decision::Stored { record_request: true, .. } => {
                    self.insert_request(append).await?;
                }
                Decision::Stored { record_request: false, .. } | Decision::Refuse(_) => {}
            }
        }
        self.execute("COMMIT").await?;

        let mut positions = Vec::with_capacity(accepted.len());
        let written = self.record(&accepted, last, &mut positions);
        let mut positions = positions.into_iter();
        let answer = |decision| match decision {
            Decision::Write => Ok(positions.next().unwrap_or(last)),
            Decision::Stored { last, .. } => Ok(last),
            Decision::Refuse(error) => Err(error),
        };
        Ok(Answers { each: decisions.into_iter().map(answer).collect(), written })
    }

    /// Reads where the streams stand, whatever was remembered of them.
    async fn load_heads(&mut self, appends: &[Append]) -> Result<(), BoxError> {
        if self.heads.len() > HEADS_MAX {
            self.heads.clear();
        }
        let mut streams = Vec::with_capacity(appends.len());
        for Append { stream, .. } in appends {
            self.heads.remove(stream);
            streams.push(serde_json::json!([stream.kind.as_str(), stream.id.simple().to_string()]));
        }
        let rows = sqlx::query(HEADS)
            .bind(serde_json::Value::from(streams).to_string())
            .fetch_all(&mut self.connection)
            .await?;
        for row in rows {
            let index = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX);
            let seq = Seq(u64::try_from(row.try_get::<i64, _>(1)?).unwrap_or(0));
            let hash: [u8; 32] = row.try_get::<&[u8], _>(2)?.try_into()?;
            if let Some(append) = appends.get(index) {
                self.heads.insert(append.stream, Head { seq, hash: Digest(hash) });
            }
        }
        Ok(())
    }

    async fn decide(&mut self, append: &Append) -> Result<Decision, BoxError> {
        let owner = match &append.request {
            Some(it) => read::request(&mut self.connection, &it.tenant, &it.request_id).await?,
            None => None,
        };
        let head = self.heads.get(&append.stream).copied().unwrap_or(Head { seq: Seq::START, hash: GENESIS });
        let stored = if head.seq > append.expected { self.stored_position(append).await? } else { None };
        let is_archived = head.seq == Seq::START
            && archive::find(&mut self.connection, append.stream).await.map_err(BoxError::from)?.is_some();
        Ok(Decision::of(append, owner.as_ref(), &head, stored, is_archived))
    }

    /// Returns where the last of these events stands, if all of them are already there.
    async fn stored_position(&mut self, append: &Append) -> Result<Option<Position>, BoxError> {
        let rows = sqlx::query(
            "SELECT position, hash FROM events WHERE stream_kind = ?1 AND stream_id = ?2 AND seq > ?3 \
             ORDER BY seq LIMIT CAST(?4 AS INTEGER)",
        )
        .bind(append.stream.kind.as_str())
        .bind(append.stream.id.as_bytes().to_vec())
        .bind(integer(append.expected.0))
        .bind(integer(append.envelopes.len() as u64))
        .fetch_all(&mut self.connection)
        .await?;
        let mut hashes = Vec::with_capacity(rows.len());
        let mut last = Position::START;
        for row in rows {
            last = Position(u64::try_from(row.try_get::<i64, _>(0)?).unwrap_or(0));
            let hash = row.try_get::<&[u8], _>(1)?.try_into()?;
            hashes.push(Digest(hash));
        }
        Ok(append.is_stored_as(hashes).then_some(last))
    }

    /// Inserts the events of all appends and returns the last one's position.
    pub(super) async fn insert(&mut self, appends: &[&Append]) -> Result<Position, sqlx::Error> {
        let events: Vec<&Envelope> = events_of(appends).collect();
        let mut last = Position::START;
        let mut rest = &events[..];
        while let Some((count, sql)) = self.inserts.range(..=rest.len()).next_back() {
            let (rows, after) = rest.split_at(*count);
            rest = after;
            let mut arguments = SqliteArguments::default();
            for envelope in rows {
                bind(&mut arguments, envelope).map_err(sqlx::Error::Encode)?;
            }
            let sql = AssertSqlSafe(Arc::clone(sql));
            let done = sqlx::query_with(sql, arguments).execute(&mut self.connection).await?;
            last = Position(u64::try_from(done.last_insert_rowid()).unwrap_or(0));
        }
        Ok(last)
    }

    async fn insert_request(&mut self, append: &Append) -> Result<(), sqlx::Error> {
        let Some(request) = &append.request else { return Ok(()) };
        sqlx::query(
            "INSERT INTO requests (tenant, request_id, body_hash, stream_kind, stream_id) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )
        .bind(request.tenant.clone())
        .bind(request.request_id.clone())
        .bind(request.body_hash.0.to_vec())
        .bind(append.stream.kind.as_str())
        .bind(append.stream.id.as_bytes().to_vec())
        .execute(&mut self.connection)
        .await?;
        Ok(())
    }

    /// Remembers the new heads and works out each append's position: within a transaction they have no holes.
    fn record(
        &mut self,
        written: &[&Append],
        last: Position,
        positions: &mut Vec<Position>,
    ) -> Option<Written> {
        let events = events_of(written).count() as u64;
        let before = last.0.saturating_sub(events);
        let mut position = before;
        let mut heads = Vec::with_capacity(written.len());
        for append in written {
            position += append.envelopes.len() as u64;
            positions.push(Position(position));
            if let Some(event) = append.envelopes.last() {
                self.heads.insert(append.stream, Head { seq: event.seq, hash: event.hash });
                heads.push((append.stream, event.seq));
            }
        }
        (events > 0).then_some(Written { first: Position(before + 1), last, heads })
    }
}

fn events_of<'a>(appends: &'a [&Append]) -> impl Iterator<Item = &'a Envelope> {
    appends.iter().flat_map(|append| &append.envelopes).map(|envelope| &**envelope)
}

fn bind(arguments: &mut SqliteArguments, envelope: &Envelope) -> Result<(), sqlx::error::BoxDynError> {
    let text = |text: &str| Arc::<str>::from(text);
    arguments.add(text(envelope.stream.kind.as_str()))?;
    arguments.add(envelope.stream.id.as_bytes().to_vec())?;
    arguments.add(integer(envelope.seq.0))?;
    arguments.add(text(&envelope.kind))?;
    arguments.add(envelope.version)?;
    arguments.add(envelope.at.0)?;
    arguments.add(text(&envelope.tenant))?;
    arguments.add(text(&envelope.actor))?;
    arguments.add(envelope.trace.as_deref().map(text))?;
    arguments.add(envelope.hash.0.to_vec())?;
    arguments.add(envelope.prose_digest.map(|digest| digest.0.to_vec()))?;
    arguments.add(envelope.prose.as_ref().map(|prose| prose.salt.to_vec()))?;
    arguments.add(text(&envelope.body))?;
    arguments.add(envelope.prose.as_ref().map(|prose| text(&prose.text)))?;
    Ok(())
}

/// Returns whether an insert was refused because its place is taken or not yet reached.
fn is_refused_by_trigger(error: &sqlx::Error) -> bool {
    const SQLITE_CONSTRAINT_TRIGGER: &str = "1811";
    let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
    code.is_some_and(|code| code == SQLITE_CONSTRAINT_TRIGGER)
}

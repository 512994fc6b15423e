//! Commits a group of appends in one statement, and finds out what became of it when that fails.
//!
//! Nothing is locked and nothing asked before: the key refuses a place that is taken, the statement itself one that is
//! not yet reached. What this process knows of a stream's last event only saves it from asking; the server decides. A statement
//! whose answer was lost is simply sent again: if its first time did commit, or does so meanwhile, the key refuses the
//! second, and reading tells that the events are these very ones.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use debate_core::chain::GENESIS;
use debate_core::envelope::StreamId;
use debate_core::id::{Digest, Seq};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool};
use sqlx::{ConnectOptions as _, Row as _};
use uuid::Uuid;

use crate::append::{Append, AppendError};
use crate::decision::Decision;
use crate::port::{BoxError, Head, Position};
use crate::postgres::fault::{Fault, Patience, answer};
use crate::postgres::insert::insert_query;
use crate::postgres::{PostgresOptions, archive, read};

/// Heads remembered; when there are more, all are forgotten.
const HEADS_MAX: usize = 8_192;

/// How often an append is decided anew because the server and what was read do not agree.
const DECISIONS_MAX: u32 = 8;

const REQUEST_ALONE: &str = "INSERT INTO requests (tenant, request_id, body_hash, stream_kind, stream_id) \
     VALUES ($1, $2, $3, $4, $5)";

/// The hashes of some events, by stream and sequence number.
const PREDECESSORS: &str = "SELECT e.stream_kind, e.stream_id, e.hash \
     FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS r (kind, id, seq) \
     JOIN events e ON e.stream_kind = r.kind AND e.stream_id = r.id AND e.seq = r.seq";

/// The answer to one append.
pub(super) type Answer = Result<Position, AppendError>;

/// Writes groups, each on a connection of its own.
pub(super) struct Committer {
    to_connect: PgConnectOptions,
    options: PostgresOptions,
    /// For reading what became of an append.
    pool: PgPool,
    /// Connections that are not in use.
    idle: Mutex<Vec<PgConnection>>,
    /// The last events of streams as this process saw them. Another process may have gone on since.
    heads: Mutex<HashMap<StreamId, Head>>,
}

impl Committer {
    pub(super) fn new(to_connect: PgConnectOptions, options: PostgresOptions, pool: PgPool) -> Self {
        let (idle, heads) = (Mutex::default(), Mutex::default());
        Self { to_connect, options, pool, idle, heads }
    }

    /// Commits appends to different streams; each is stored whole or not at all. Returns one answer each, in order.
    pub(super) async fn commit(&self, appends: &[Append]) -> Vec<Answer> {
        let mut answers: Vec<Option<Answer>> = appends.iter().map(|_| None).collect();
        let mut open: Vec<usize> = (0..appends.len()).collect();
        // Two processes that add to the same streams in another order would wait for each other.
        open.sort_by_key(|&index| appends[index].stream);
        let mut patience = Patience::of(self.options.retry_time);
        let mut refusals = 0;
        while !open.is_empty() && refusals < DECISIONS_MAX {
            if let Err(error) = self.write(appends, &mut open, &mut answers, &mut patience).await {
                refusals += u32::from(Fault::of(&error) == Fault::Refused);
                self.settle(appends, &mut open, &mut answers, &mut patience, error).await;
            }
        }
        let unanswered =
            |index: usize| -> Answer { Err(failed(&appends[index], "the log changes too fast")) };
        answers.into_iter().enumerate().map(|(index, it)| it.unwrap_or_else(|| unanswered(index))).collect()
    }

    /// Writes what is still open, unless something needs to be read before.
    async fn write(
        &self,
        appends: &[Append],
        open: &mut Vec<usize>,
        answers: &mut [Option<Answer>],
        patience: &mut Patience,
    ) -> Result<(), sqlx::Error> {
        self.ensure_they_follow(appends, open, answers, patience).await?;
        if open.is_empty() {
            return Ok(());
        }
        let group: Vec<&Append> = open.iter().map(|&index| &appends[index]).collect();
        let first = self.insert(&group).await?;
        let mut before = first.0 - 1;
        let mut heads = self.heads();
        for index in open.drain(..) {
            let append = &appends[index];
            before += append.envelopes.len() as u64;
            answers[index] = Some(Ok(Position(before)));
            if let Some(last) = append.envelopes.last() {
                heads.insert(append.stream, Head { seq: last.seq, hash: last.hash });
            }
        }
        Ok(())
    }

    /// Checks that each append follows what is stored. What does not fit is decided here and is open no more.
    async fn ensure_they_follow(
        &self,
        appends: &[Append],
        open: &mut Vec<usize>,
        answers: &mut [Option<Answer>],
        patience: &mut Patience,
    ) -> Result<(), sqlx::Error> {
        let mut doubtful = Vec::new();
        let mut unknown = Vec::new();
        {
            let mut heads = self.heads();
            if heads.len() > HEADS_MAX {
                heads.clear();
            }
            for &index in &*open {
                let append = &appends[index];
                match heads.get(&append.stream) {
                    Some(head) if head.seq == append.expected => {
                        if append.check_follows(&head.hash).is_err() {
                            doubtful.push(index);
                        }
                    }
                    Some(head) if head.seq > append.expected => doubtful.push(index),
                    Some(_) | None if append.expected == Seq::START => {}
                    Some(_) | None => unknown.push(index),
                }
            }
        }
        if !unknown.is_empty() {
            let hashes = self.predecessors(unknown.iter().map(|&index| &appends[index])).await?;
            doubtful.extend(unknown.into_iter().filter(|&index| {
                let append = &appends[index];
                hashes.get(&append.stream).is_none_or(|hash| append.check_follows(hash).is_err())
            }));
        }
        for index in doubtful {
            self.decide(&appends[index], index, open, answers, patience).await;
        }
        Ok(())
    }

    /// Works out what a failed statement means, and answers whatever can be answered.
    async fn settle(
        &self,
        appends: &[Append],
        open: &mut Vec<usize>,
        answers: &mut [Option<Answer>],
        patience: &mut Patience,
        error: sqlx::Error,
    ) {
        let is_final = match Fault::of(&error) {
            Fault::Refused => {
                for index in open.clone() {
                    self.decide(&appends[index], index, open, answers, patience).await;
                }
                false
            }
            Fault::Passing => !patience.pause().await,
            // One of many may be what the server cannot take: each is then written alone.
            Fault::Lasting if open.len() > 1 => {
                for index in std::mem::take(open) {
                    let answer = Box::pin(self.commit(&appends[index..=index])).await.pop();
                    answers[index] = answer;
                }
                false
            }
            Fault::Lasting => true,
        };
        if is_final {
            let error: Arc<dyn Error + Send + Sync> = Arc::new(error);
            for index in open.drain(..) {
                answers[index] = Some(Err(failed(&appends[index], Box::new(Arc::clone(&error)))));
            }
        }
    }

    /// Reads what is stored and decides on it. What is to be written stays open.
    async fn decide(
        &self,
        append: &Append,
        index: usize,
        open: &mut Vec<usize>,
        answers: &mut [Option<Answer>],
        patience: &mut Patience,
    ) {
        self.heads().remove(&append.stream);
        let decided = loop {
            match self.read_decision(append).await {
                Err(error) if is_passing(&*error) && patience.pause().await => {}
                decided => break decided,
            }
        };
        let answer = match decided {
            Ok(Decision::Write) => return,
            Ok(Decision::Stored { last, .. }) => Ok(last),
            Ok(Decision::Refuse(error)) => Err(error),
            Err(error) => Err(failed(append, error)),
        };
        open.retain(|other| *other != index);
        answers[index] = Some(answer);
    }

    async fn read_decision(&self, append: &Append) -> Result<Decision, BoxError> {
        let time = self.options.answer_time();
        let mut connection = answer(time, self.pool.acquire()).await?;
        let owner = match &append.request {
            Some(it) => answer(time, read::request(&mut connection, &it.tenant, &it.request_id)).await?,
            None => None,
        };
        let owner = owner.as_ref().map(read::owner_of).transpose()?;
        let head = answer(time, read::head(&mut connection, append.stream)).await?;
        let head = head.as_ref().map(read::head_of).transpose()?;
        let head = head.unwrap_or(Head { seq: Seq::START, hash: GENESIS });
        let mut stored = None;
        if head.seq > append.expected {
            let count = append.envelopes.len();
            let rows =
                answer(time, read::hashes(&mut connection, append.stream, append.expected, count)).await?;
            let rows = rows.iter().map(read::hash_of).collect::<Result<Vec<_>, _>>()?;
            let last = rows.last().map(|(position, _)| *position);
            stored = last.filter(|_| append.is_stored_as(rows.iter().map(|(_, hash)| *hash)));
        }
        let is_archived = head.seq == Seq::START
            && answer(time, archive::find(&mut connection, append.stream)).await?.is_some();
        let decision = Decision::of(append, owner.as_ref(), &head, stored, is_archived);
        if let (Decision::Stored { record_request: true, .. }, Some(request)) = (&decision, &append.request) {
            let insert = sqlx::query(REQUEST_ALONE)
                .bind(request.tenant.as_str())
                .bind(request.request_id.as_str())
                .bind(request.body_hash.0.as_slice())
                .bind(append.stream.kind.as_str())
                .bind(append.stream.id);
            answer(time, insert.execute(&mut *connection)).await?;
        }
        Ok(decision)
    }

    /// Reads the hash of the event that each append is to follow; what is not there is left out.
    async fn predecessors<'a>(
        &self,
        appends: impl Iterator<Item = &'a Append>,
    ) -> Result<HashMap<StreamId, Digest>, sqlx::Error> {
        let streams: Vec<(StreamId, i64)> =
            appends.map(|it| (it.stream, read::integer(it.expected.0))).collect();
        let query = sqlx::query(PREDECESSORS)
            .bind(streams.iter().map(|(stream, _)| stream.kind.as_str()).collect::<Vec<&str>>())
            .bind(streams.iter().map(|(stream, _)| stream.id).collect::<Vec<Uuid>>())
            .bind(streams.iter().map(|(_, seq)| *seq).collect::<Vec<i64>>());
        let mut connection = self.connection().await?;
        let rows = answer(self.options.answer_time(), query.fetch_all(&mut connection)).await?;
        self.idle().push(connection);
        let mut hashes = HashMap::new();
        for row in rows {
            let (kind, id): (&str, Uuid) = (row.try_get(0)?, row.try_get(1)?);
            let hash = <[u8; 32]>::try_from(row.try_get::<&[u8], _>(2)?);
            let stream = streams.iter().find(|(it, _)| it.id == id && it.kind.as_str() == kind);
            if let (Some((stream, _)), Ok(hash)) = (stream, hash) {
                hashes.insert(*stream, Digest(hash));
            }
        }
        Ok(hashes)
    }

    /// Inserts the events of all appends in one transaction and returns the first one's position.
    ///
    /// A connection that failed, or whose caller stopped waiting, is not used again.
    async fn insert(&self, appends: &[&Append]) -> Result<Position, sqlx::Error> {
        let mut connection = self.connection().await?;
        let insert = insert_query(appends).fetch_all(&mut connection);
        let inserted = answer(self.options.answer_time(), insert).await;
        let is_usable = match &inserted {
            Ok(_) => true,
            Err(error) => Fault::of(error) == Fault::Refused,
        };
        if is_usable {
            self.idle().push(connection);
        }
        let first: i64 = match inserted?.first() {
            Some(row) => row.try_get(0)?,
            None => return Err(sqlx::Error::RowNotFound),
        };
        u64::try_from(first).map(Position).map_err(|error| sqlx::Error::Decode(error.into()))
    }

    async fn connection(&self) -> Result<PgConnection, sqlx::Error> {
        let idle = self.idle().pop();
        match idle {
            Some(connection) => Ok(connection),
            None => answer(self.options.answer_time(), self.to_connect.connect()).await,
        }
    }

    /// Closes the connections that are not in use.
    pub(super) async fn close(&self) {
        let idle = std::mem::take(&mut *self.idle());
        for connection in idle {
            let _ = sqlx::Connection::close(connection).await;
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<PgConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heads(&self) -> MutexGuard<'_, HashMap<StreamId, Head>> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whether a failed decision may go better the next time: also one that was overtaken by another writer.
fn is_passing(error: &(dyn Error + Send + Sync + 'static)) -> bool {
    error.downcast_ref::<sqlx::Error>().is_some_and(|error| Fault::of(error) != Fault::Lasting)
}

fn failed(append: &Append, source: impl Into<BoxError>) -> AppendError {
    AppendError::Backend { stream: append.stream, source: source.into() }
}

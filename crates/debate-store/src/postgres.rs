//! A store in a PostgreSQL database, which many processes may use at once.
//!
//! An append is one statement, and the key (stream, sequence number) is its lock: who comes second is refused. Appends
//! that meet in one process are committed together. Positions are not dense: they order events and nothing else, see
//! `feed.rs` for how readers miss none.

mod address;
mod archive;
mod commit;
mod fault;
mod feed;
mod insert;
mod leases;
mod open;
mod pooler;
mod queue;
mod read;
mod wakeup;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Seq, Timestamp};
use sqlx::postgres::{PgConnection, PgPool};

pub use address::MaskedAddress;
pub use feed::{Holder, Horizon};
pub use open::ConnectError;

use crate::append::{Append, AppendError};
use crate::archive::Archived;
use crate::list::{ListFilter, Listed};
use crate::port::{EventStore, Head, Position, ReadError, RedactError, RequestOwner};
use crate::postgres::commit::Committer;
use crate::postgres::fault::{Fault, Patience, answer};
use crate::postgres::queue::Queue;
use crate::postgres::read::integer;
use crate::postgres::wakeup::{Announcer, Background};
use crate::wake::Wakes;

/// How a PostgreSQL store works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Whether the log is created where the database has none.
    pub create_missing: bool,
    /// The most connections that read; two more tell other processes and hear them.
    pub connections_max: u32,
    /// The most connections that write. One does, unless much is written at once.
    pub writers_max: usize,
    /// The most time of the server for one statement, and for one lock.
    pub statement_timeout: Duration,
    /// How long to try again where the server is gone, restarts, or takes no more connections.
    pub retry_time: Duration,
    /// How often to look for events of other processes while somebody waits for them: what a lost notification costs.
    pub poll_interval: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            create_missing: true,
            connections_max: 8,
            writers_max: 4,
            statement_timeout: Duration::from_secs(30),
            retry_time: Duration::from_secs(10),
            poll_interval: Duration::from_secs(1),
        }
    }
}

impl PostgresOptions {
    /// Returns how long to wait for an answer: longer than the server may take, for a cut connection never gives one.
    fn answer_time(&self) -> Duration {
        self.statement_timeout + Duration::from_secs(1)
    }
}

/// Keeps events in a PostgreSQL database.
///
/// Dropping it lets the appends already handed over finish in the background; [`PostgresStore::close`] waits.
pub struct PostgresStore {
    server: String,
    options: PostgresOptions,
    pool: PgPool,
    queue: Arc<Queue>,
    announcer: Arc<Announcer>,
    wakes: Arc<Wakes>,
    background: Background,
}

/// A read under way on a connection.
type Asked<'a, T> = Pin<Box<dyn Future<Output = Result<T, sqlx::Error>> + Send + 'a>>;

impl PostgresStore {
    /// Opens the store in the database at a URL, `postgres://USER@HOST/DATABASE`, creating or migrating the log where
    /// needed.
    ///
    /// Must be called on a tokio runtime with time and IO enabled; the store lives on that runtime.
    ///
    /// # Errors
    /// [`ConnectError`] says what is wrong and what can be done; it tells no password.
    pub async fn open(url: &str, options: PostgresOptions) -> Result<Self, ConnectError> {
        let opened = open::open(url, &options).await?;
        let wakes = Wakes::new(opened.settled);
        let announcer = Announcer::new(Arc::clone(&wakes));
        let background = Background::start(&announcer, &opened.writer, &opened.pool, &options);
        let committer = Committer::new(opened.writer, options.clone(), opened.pool.clone());
        let queue = Queue::new(committer, options.writers_max.max(1), Arc::clone(&announcer));
        Ok(Self { server: opened.server, options, pool: opened.pool, queue, announcer, wakes, background })
    }

    /// Returns where the database is, such as `host:5432/name`, without user and password.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns how far readers of all events are held back by a transaction that does not end.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn horizon(&self) -> Result<Horizon, ReadError> {
        self.ask(|connection| Box::pin(feed::horizon(connection))).await
    }

    /// Returns the newest schema that this program knows, to which opening brings the database.
    #[must_use]
    pub const fn schema() -> i64 {
        open::SCHEMA
    }

    /// Returns the time by the database's clock, in milliseconds since 1970: the clock of leases.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn clock(&self) -> Result<Timestamp, ReadError> {
        self.ask(|connection| Box::pin(feed::clock(connection))).await
    }

    /// Finishes the appends already handed over and ends the connections.
    ///
    /// Whatever is asked of the store later fails with `Closed`. Closing twice does nothing.
    pub async fn close(&self) {
        self.queue.close().await;
        self.background.stop();
        self.wakes.close();
        self.pool.close().await;
    }

    /// Reads, and reads again where the server was gone for a moment.
    async fn ask<T>(
        &self,
        read: impl for<'a> Fn(&'a mut PgConnection) -> Asked<'a, T> + Send,
    ) -> Result<T, ReadError> {
        let time = self.options.answer_time();
        let mut patience = Patience::of(self.options.retry_time);
        loop {
            let asked = match answer(time, self.pool.acquire()).await {
                Ok(mut connection) => match answer(time, read(&mut connection)).await {
                    Ok(found) => return Ok(found),
                    Err(error) => {
                        // A connection that failed is not used again.
                        if error.as_database_error().is_none() {
                            connection.close_on_drop();
                        }
                        error
                    }
                },
                Err(error) => error,
            };
            if Fault::of(&asked) != Fault::Passing || !patience.pause().await {
                return Err(asked.into());
            }
        }
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore").field("server", &self.server).finish_non_exhaustive()
    }
}

#[async_trait]
impl EventStore for PostgresStore {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        append.check()?;
        self.queue.append(append).await
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        let rows = self.ask(|it| Box::pin(read::stream(it, stream, after, limit))).await?;
        rows.iter().map(|row| read::envelope(row, 0).map(|(_, envelope)| envelope)).collect()
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        let rows = self.ask(|it| Box::pin(feed::all(it, after, limit))).await?;
        rows.iter().map(|row| read::envelope(row, 0)).collect()
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        let row = self.ask(|it| Box::pin(read::head(it, stream))).await?;
        row.as_ref().map(read::head_of).transpose()
    }

    async fn heads(&self, after: Option<StreamId>, limit: u32) -> Result<Vec<(StreamId, Head)>, ReadError> {
        let rows = self.ask(|it| Box::pin(read::heads(it, after, limit))).await?;
        rows.iter().map(read::headed).collect()
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        let (tenant, request_id) = (Arc::<str>::from(tenant), Arc::<str>::from(request_id));
        let row = self.ask(|it| {
            let (tenant, request_id) = (Arc::clone(&tenant), Arc::clone(&request_id));
            Box::pin(async move { read::request(it, &tenant, &request_id).await })
        });
        row.await?.as_ref().map(read::owner_of).transpose()
    }

    async fn request_of(&self, stream: StreamId) -> Result<Option<String>, ReadError> {
        self.ask(|it| Box::pin(read::request_of(it, stream))).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        let filter = Arc::new(filter);
        let rows = self.ask(|it| {
            let filter = Arc::clone(&filter);
            Box::pin(async move { read::list(it, &filter).await })
        });
        rows.await?.iter().map(read::listed).collect()
    }

    async fn find_archived(&self, stream: StreamId) -> Result<Option<Archived>, ReadError> {
        let row = self.ask(|it| Box::pin(archive::find(it, stream))).await?;
        row.as_ref().map(archive::archived).transpose()
    }

    async fn list_archived(&self, filter: ListFilter) -> Result<Vec<Archived>, ReadError> {
        let filter = Arc::new(filter);
        let rows = self.ask(|it| {
            let filter = Arc::clone(&filter);
            Box::pin(async move { archive::list(it, &filter).await })
        });
        rows.await?.iter().map(archive::archived).collect()
    }

    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError> {
        let updated = self.ask(|it| {
            Box::pin(async move {
                sqlx::query(
                    "UPDATE events SET prose = NULL, salt = NULL \
                     WHERE stream_kind = $1 AND stream_id = $2 AND seq = $3",
                )
                .bind(stream.kind.as_str())
                .bind(stream.id)
                .bind(integer(seq.0))
                .execute(it)
                .await
            })
        });
        match updated.await {
            Ok(updated) if updated.rows_affected() > 0 => Ok(()),
            Ok(_) => Err(RedactError::NotFound { stream, seq }),
            Err(ReadError::Closed) => Err(RedactError::Closed),
            Err(error) => Err(RedactError::Backend { stream, seq, source: error.into() }),
        }
    }

    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError> {
        self.wakes.subscribe(stream)?.beyond(after, self.head(stream)).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        let mut wait = self.wakes.subscribe_all()?;
        let settled = self.ask(|it| Box::pin(feed::settled(it))).await?;
        if settled > after {
            return Ok(settled);
        }
        self.announcer.stir();
        wait.beyond(after).await
    }
}

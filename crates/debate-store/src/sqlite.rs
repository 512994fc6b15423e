//! A store in one SQLite file.
//!
//! One task owns the one connection that writes and commits whatever was queued while the disk was busy with the
//! commit before; reads use a separate pool. Other processes may use the same file.

mod archive;
mod commit;
#[cfg(target_os = "linux")]
mod file_lock;
mod heads;
mod leases;
mod open;
mod poll;
mod read;
#[cfg(any(test, not(target_os = "linux")))]
mod whole_file_lock;
mod writer;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Seq, Timestamp};
use sqlx::SqlitePool;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

#[cfg(target_os = "linux")]
use file_lock::FileLock;
pub use open::OpenError;
#[cfg(not(target_os = "linux"))]
use whole_file_lock::FileLock;

use crate::append::{Append, AppendError};
use crate::archive::{Archive, ArchiveError, Archived};
use crate::group::AppendJob;
use crate::list::{ListFilter, Listed};
use crate::port::{BoxError, EventStore, Head, Position, ReadError, RedactError, RequestOwner};
use crate::wake::Wakes;
use leases::FileLeases;
use writer::Job;

/// When an acknowledged event is safe.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// At once: every commit reaches the disk before it is acknowledged.
    #[default]
    Full,
    /// Soon: a power cut may lose the last commits, a crash of the process loses none. The file never breaks.
    Relaxed,
}

/// How a SQLite store works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// When an acknowledged event is safe.
    pub durability: Durability,
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// How often to look for events of other processes while somebody waits for them.
    pub poll_interval: Duration,
    /// The most reads at the same time.
    pub readers_max: u32,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            busy_timeout: Duration::from_secs(5),
            poll_interval: Duration::from_millis(250),
            readers_max: 4,
        }
    }
}

/// The store could not be closed cleanly. Acknowledged events are safe as far as [`Durability`] says.
#[derive(Debug, thiserror::Error)]
#[error("cannot close the store cleanly")]
pub struct CloseError(#[source] BoxError);

/// Keeps events in one SQLite file.
///
/// Dropping it lets the appends already handed over finish in the background; [`SqliteStore::close`] waits.
pub struct SqliteStore {
    path: PathBuf,
    readers: SqlitePool,
    jobs: mpsc::Sender<Job>,
    wakes: Arc<Wakes>,
    poller: AbortHandle,
    leases: FileLeases,
}

impl SqliteStore {
    /// Opens a store, creating or migrating the file where needed.
    ///
    /// The location is a path, `sqlite:PATH` or `sqlite://PATH`, taken as it is. Must be called on a tokio
    /// runtime with time enabled; the store lives on that runtime.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file and what can be done.
    pub async fn open(location: &str, options: SqliteOptions) -> Result<Self, OpenError> {
        let opened = open::open(location, &options).await?;
        let wakes = Wakes::new(opened.last);
        let cursor = poll::Cursor::new(opened.last);
        let lock = Arc::new(opened.lock);
        let place = writer::Place { path: opened.path.clone(), lock: Arc::clone(&lock) };
        let jobs = writer::spawn(opened.writer, place, Arc::clone(&wakes), Arc::clone(&cursor));
        let poller = poll::spawn(opened.readers.clone(), Arc::clone(&wakes), cursor, options.poll_interval);
        let leases = FileLeases::new(lock, opened.last);
        Ok(Self { path: opened.path, readers: opened.readers, jobs, wakes, poller, leases })
    }

    /// Opens a store that is there for reading: as [`Self::open`] does, and where the file, its folder or its disk cannot be
    /// written, without writing anything. Nothing can be appended then.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file and what can be done.
    pub async fn open_to_read(location: &str) -> Result<Self, OpenError> {
        let options = SqliteOptions::default();
        let error = match Self::open(location, options.clone()).await {
            Ok(store) => return Ok(store),
            Err(
                error @ (OpenError::ReadOnly { .. }
                | OpenError::Unreachable { .. }
                | OpenError::Backend { .. }),
            ) => error,
            Err(error) => return Err(error),
        };
        let Some((path, readers, last, lock)) = open::open_read_only(location).await else {
            return Err(error);
        };
        let wakes = Wakes::new(last);
        let poller =
            poll::spawn(readers.clone(), Arc::clone(&wakes), poll::Cursor::new(last), options.poll_interval);
        let (jobs, _receiver) = mpsc::channel(1);
        Ok(Self { path, readers, jobs, wakes, poller, leases: FileLeases::new(Arc::new(lock), last) })
    }

    /// Returns the path of the file that a location names, whether or not there is one; opened by that path it is the same.
    ///
    /// # Errors
    /// [`OpenError::NotAPath`] where it names none, or SQLite would open another one by its name.
    pub fn path_of(location: &str) -> Result<PathBuf, OpenError> {
        open::path_of(location)
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Finishes the appends already handed over, moves them from the journal into the file and closes it.
    ///
    /// Whatever is asked of the store later fails with `Closed`. Closing twice does nothing.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub async fn close(&self) -> Result<(), CloseError> {
        self.poller.abort();
        self.wakes.close();
        self.readers.close().await;
        let (reply, done) = oneshot::channel();
        if self.jobs.send(Job::Close { reply }).await.is_err() {
            return Ok(());
        }
        match done.await {
            Ok(closed) => closed.map_err(CloseError),
            Err(_) => Ok(()),
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        self.poller.abort();
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("path", &self.path).finish_non_exhaustive()
    }
}

#[async_trait]
impl EventStore for SqliteStore {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        append.check()?;
        let stream = append.stream;
        let (reply, done) = oneshot::channel();
        let job = Job::Append(AppendJob { append, reply });
        self.jobs.send(job).await.map_err(|_| AppendError::Closed)?;
        match done.await {
            Ok(answer) => answer,
            Err(_) => Err(AppendError::Backend { stream, source: "the writer stopped".into() }),
        }
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        read::stream(&self.readers, stream, after, limit).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        read::all(&self.readers, after, limit).await
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        read::head(&self.readers, stream).await
    }

    async fn heads(&self, after: Option<StreamId>, limit: u32) -> Result<Vec<(StreamId, Head)>, ReadError> {
        heads::heads(&self.readers, after, limit).await
    }

    fn is_in_place(&self) -> bool {
        self.leases.is_at(&self.path)
    }

    async fn ready(&self) -> Result<(), ReadError> {
        read::last_position(&self.readers).await?;
        let (reply, done) = oneshot::channel();
        self.jobs.send(Job::Probe { reply }).await.map_err(|_| ReadError::Closed)?;
        let written = done.await.map_err(|_| ReadError::Closed)?;
        written.map_err(ReadError::backend)
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        read::request(&self.readers, tenant, request_id).await
    }

    async fn request_of(&self, stream: StreamId) -> Result<Option<String>, ReadError> {
        read::request_of(&self.readers, stream).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        read::list(&self.readers, &filter).await
    }

    async fn find_archived(&self, stream: StreamId) -> Result<Option<Archived>, ReadError> {
        archive::find(&self.readers, stream).await
    }

    async fn list_archived(&self, filter: ListFilter) -> Result<Vec<Archived>, ReadError> {
        archive::list(&self.readers, &filter).await
    }

    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError> {
        let (reply, done) = oneshot::channel();
        let job = Job::Redact { stream, seq, reply };
        self.jobs.send(job).await.map_err(|_| RedactError::Closed)?;
        match done.await {
            Ok(answer) => answer,
            Err(_) => Err(RedactError::Backend { stream, seq, source: "the writer stopped".into() }),
        }
    }

    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError> {
        self.wakes.subscribe(stream)?.beyond(after, self.head(stream)).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        let mut wait = self.wakes.subscribe_all()?;
        let last = read::last_position(&self.readers).await?;
        if last > after { Ok(last) } else { wait.beyond(after).await }
    }
}

#[async_trait]
impl Archive for SqliteStore {
    async fn archive(
        &self,
        stream: StreamId,
        head: Head,
        bundle: &str,
        at: Timestamp,
    ) -> Result<(), ArchiveError> {
        let (reply, done) = oneshot::channel();
        let bundle = bundle.to_owned();
        let job = Job::Archive { stream, head, bundle, at, reply };
        self.jobs.send(job).await.map_err(|_| ArchiveError::Closed)?;
        done.await.unwrap_or_else(|_| Err(ArchiveError::backend(stream, "the writer stopped")))
    }

    async fn restore(&self, stream: StreamId, events: Vec<Envelope>) -> Result<(), ArchiveError> {
        let (reply, done) = oneshot::channel();
        let job = Job::Restore { stream, events, reply };
        self.jobs.send(job).await.map_err(|_| ArchiveError::Closed)?;
        done.await.unwrap_or_else(|_| Err(ArchiveError::backend(stream, "the writer stopped")))
    }
}

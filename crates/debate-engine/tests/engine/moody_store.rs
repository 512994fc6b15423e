//! A store that is down or slow for a while, does not tell that it wrote, knows what was looked up; else the memory store.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{DebateId, Seq, Timestamp};
use debate_store::{
    Append, AppendError, Archive, Archived, EventStore, Head, ListFilter, Listed, MemoryStore, Position,
    ReadError, RedactError, RequestOwner,
};
use tokio::sync::{RwLock, RwLockWriteGuard};

#[derive(Debug, Default)]
pub(crate) struct MoodyStore {
    inner: MemoryStore,
    is_down: AtomicBool,
    silent_appends: AtomicU32,
    appends: RwLock<()>,
    reads: RwLock<()>,
    looked_up: Mutex<Vec<(StreamId, &'static str)>>,
    read_at_once_max: AtomicU32,
}

impl MoodyStore {
    /// Lets every operation fail, or none.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::Relaxed);
    }

    /// Stores the next append and says that it failed.
    pub(crate) fn be_silent_once(&self) {
        self.silent_appends.store(1, Ordering::Relaxed);
    }

    /// Has a finished debate in an archive.
    pub(crate) async fn archive(&self, debate: DebateId) {
        let head = self.inner.head(debate.into()).await.unwrap().unwrap();
        self.inner.archive(debate.into(), head, "kept.bundle", Timestamp(1)).await.unwrap();
    }

    /// Holds all appends up until what is returned goes.
    pub(crate) async fn hold_up(&self) -> RwLockWriteGuard<'_, ()> {
        self.appends.write().await
    }

    /// Holds all reads of a stream's events up until what is returned goes.
    pub(crate) async fn hold_up_reads(&self) -> RwLockWriteGuard<'_, ()> {
        self.reads.write().await
    }

    /// Returns what was looked up in which stream since this was last asked.
    pub(crate) fn looked_up(&self) -> Vec<(StreamId, &'static str)> {
        std::mem::take(&mut self.looked_up.lock().unwrap())
    }

    /// Returns the most events of one stream that were asked for at once since this was last asked.
    pub(crate) fn read_at_once_max(&self) -> u32 {
        self.read_at_once_max.swap(0, Ordering::Relaxed)
    }

    fn look(&self) -> Result<(), ReadError> {
        let is_down = self.is_down.load(Ordering::Relaxed);
        if is_down { Err(ReadError::backend("down")) } else { Ok(()) }
    }
}

#[async_trait]
impl EventStore for MoodyStore {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        let stream = append.stream;
        let _passed = self.appends.read().await;
        let failed = || AppendError::Backend { stream, source: "down".into() };
        self.look().map_err(|_| failed())?;
        let position = self.inner.append(append).await?;
        if self.silent_appends.swap(0, Ordering::Relaxed) > 0 { Err(failed()) } else { Ok(position) }
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        let _passed = self.reads.read().await;
        self.look()?;
        self.looked_up.lock().unwrap().push((stream, "events"));
        self.read_at_once_max.fetch_max(limit, Ordering::Relaxed);
        self.inner.read(stream, after, limit).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        self.look()?;
        self.inner.read_all(after, limit).await
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        self.look()?;
        self.looked_up.lock().unwrap().push((stream, "head"));
        self.inner.head(stream).await
    }

    async fn find_archived(&self, stream: StreamId) -> Result<Option<Archived>, ReadError> {
        self.look()?;
        self.looked_up.lock().unwrap().push((stream, "archived"));
        self.inner.find_archived(stream).await
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        self.look()?;
        self.inner.find_request(tenant, request_id).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        self.look()?;
        self.inner.list(filter).await
    }

    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError> {
        self.inner.redact(stream, seq).await
    }

    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError> {
        self.inner.wait(stream, after).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        self.inner.wait_all(after).await
    }
}

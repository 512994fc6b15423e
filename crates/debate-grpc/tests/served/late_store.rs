//! A store whose appends can be held up. Like those of databases, they complete even if their caller no longer waits.

use std::sync::Arc;

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::Seq;
use debate_store::{
    Append, AppendError, EventStore, Head, ListFilter, Listed, MemoryStore, Position, ReadError, RedactError,
    RequestOwner,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// More appends than are ever under way.
const MANY: u32 = 1_000;

#[derive(Debug)]
pub(crate) struct LateStore {
    inner: Arc<MemoryStore>,
    gate: Arc<Semaphore>,
    begun: watch::Sender<usize>,
}

impl LateStore {
    pub(crate) fn new() -> Self {
        let gate = Arc::new(Semaphore::new(MANY as usize));
        Self { inner: Arc::new(MemoryStore::new()), gate, begun: watch::Sender::new(0) }
    }

    /// Holds all appends up until what is returned goes.
    pub(crate) async fn hold_up(&self) -> OwnedSemaphorePermit {
        Arc::clone(&self.gate).acquire_many_owned(MANY).await.unwrap()
    }

    /// Returns what tells how many appends of clients, not of the engine, have begun.
    pub(crate) fn begun(&self) -> watch::Receiver<usize> {
        self.begun.subscribe()
    }
}

#[async_trait]
impl EventStore for LateStore {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        let (inner, gate) = (Arc::clone(&self.inner), Arc::clone(&self.gate));
        if append.envelopes().iter().any(|envelope| envelope.actor != "engine") {
            self.begun.send_modify(|begun| *begun += 1);
        }
        let done = tokio::spawn(async move {
            let _passed = gate.acquire().await.unwrap();
            inner.append(append).await
        });
        done.await.unwrap()
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        self.inner.read(stream, after, limit).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        self.inner.read_all(after, limit).await
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        self.inner.head(stream).await
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        self.inner.find_request(tenant, request_id).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
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

//! A store that is wiped between debates, so that thousands of them take no more memory than a few.

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::Seq;
use debate_store::{
    Append, AppendError, EventStore, Head, ListFilter, Listed, MemoryStore, Position, ReadError, RedactError,
    RequestOwner,
};

/// A memory store that can be exchanged for an empty one.
#[derive(Debug, Default)]
pub(crate) struct ResettableStore {
    written: RwLock<Arc<MemoryStore>>,
}

impl ResettableStore {
    /// Forgets everything. No debate may be running.
    pub(crate) fn wipe(&self) {
        *self.written.write().unwrap_or_else(PoisonError::into_inner) = Arc::default();
    }

    fn store(&self) -> Arc<MemoryStore> {
        Arc::clone(&self.written.read().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl EventStore for ResettableStore {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        self.store().append(append).await
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        self.store().read(stream, after, limit).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        self.store().read_all(after, limit).await
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        self.store().head(stream).await
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        self.store().find_request(tenant, request_id).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        self.store().list(filter).await
    }

    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError> {
        self.store().redact(stream, seq).await
    }

    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError> {
        self.store().wait(stream, after).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        self.store().wait_all(after).await
    }
}

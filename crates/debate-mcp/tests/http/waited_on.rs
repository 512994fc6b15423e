//! A store that tells how many wait for its streams.

use std::sync::Arc;

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::Seq;
use debate_store::{
    Append, AppendError, EventStore, Head, ListFilter, Listed, MemoryStore, Position, ReadError, RedactError,
    RequestOwner,
};
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct WaitedOn {
    inner: Arc<MemoryStore>,
    waiting: watch::Sender<usize>,
}

impl WaitedOn {
    pub(crate) fn over(inner: Arc<MemoryStore>) -> Self {
        Self { inner, waiting: watch::Sender::new(0) }
    }

    /// Returns how many wait.
    pub(crate) fn waiting(&self) -> watch::Receiver<usize> {
        self.waiting.subscribe()
    }
}

/// Somebody who waits until this is dropped.
struct Waits<'a>(&'a watch::Sender<usize>);

impl<'a> Waits<'a> {
    fn begin(waiting: &'a watch::Sender<usize>) -> Self {
        waiting.send_modify(|many| *many += 1);
        Self(waiting)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|many| *many -= 1);
    }
}

#[async_trait]
impl EventStore for WaitedOn {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        self.inner.append(append).await
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
        let _waits = Waits::begin(&self.waiting);
        self.inner.wait(stream, after).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        self.inner.wait_all(after).await
    }
}

//! A store that also publishes its events to the floor as they are written.

use std::sync::Arc;

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::Seq;
use debate_store::{
    Append, AppendError, EventStore, Head, ListFilter, Listed, Position, ReadError, RedactError, RequestOwner,
};

use crate::bare::{Channels, message};

/// A store, and the channels that get what is written to it.
#[derive(Clone)]
pub(crate) struct PublishingStore {
    pub(crate) kept: Arc<dyn EventStore>,
    pub(crate) channels: Channels,
}

impl std::fmt::Debug for PublishingStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PublishingStore").field("kept", &self.kept).finish_non_exhaustive()
    }
}

#[async_trait]
impl EventStore for PublishingStore {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        let events = append.envelopes().to_vec();
        let position = self.kept.append(append).await?;
        for event in events {
            let (debate, message) = message(&event);
            self.channels.say(&debate, message);
        }
        Ok(position)
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        self.kept.read(stream, after, limit).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        self.kept.read_all(after, limit).await
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        self.kept.head(stream).await
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        self.kept.find_request(tenant, request_id).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        self.kept.list(filter).await
    }

    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError> {
        self.kept.redact(stream, seq).await
    }

    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError> {
        self.kept.wait(stream, after).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        self.kept.wait_all(after).await
    }
}

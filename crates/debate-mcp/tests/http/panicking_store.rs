//! A store that is ready, and whose every other use is a defect.

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::Seq;
use debate_store::{
    Append, AppendError, EventStore, Head, ListFilter, Listed, Position, ReadError, RedactError, RequestOwner,
};

#[derive(Debug)]
pub(crate) struct PanickingStore;

#[async_trait]
impl EventStore for PanickingStore {
    async fn append(&self, _: Append) -> Result<Position, AppendError> {
        panic!("on purpose")
    }

    async fn read(&self, _: StreamId, _: Seq, _: u32) -> Result<Vec<Envelope>, ReadError> {
        panic!("on purpose")
    }

    async fn read_all(&self, _: Position, _: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        panic!("on purpose")
    }

    async fn head(&self, _: StreamId) -> Result<Option<Head>, ReadError> {
        Ok(None)
    }

    async fn find_request(&self, _: &str, _: &str) -> Result<Option<RequestOwner>, ReadError> {
        panic!("on purpose")
    }

    async fn list(&self, _: ListFilter) -> Result<Vec<Listed>, ReadError> {
        panic!("on purpose")
    }

    async fn redact(&self, _: StreamId, _: Seq) -> Result<(), RedactError> {
        panic!("on purpose")
    }

    async fn wait(&self, _: StreamId, _: Seq) -> Result<Seq, ReadError> {
        std::future::pending().await
    }

    async fn wait_all(&self, _: Position) -> Result<Position, ReadError> {
        std::future::pending().await
    }
}

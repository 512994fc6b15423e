//! What every store can do, and how reading fails.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId, StreamKind};
use debate_core::id::{Digest, Seq};

use crate::append::{Append, AppendError};
use crate::archive::Archived;
use crate::list::{ListFilter, Listed};
pub use crate::position::{BoxError, Head, Position};

/// Events read at once where heads are found in the log itself.
const PAGE: u32 = 1_000;

/// What a request id stands for (rule K11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestOwner {
    /// The stream that the request opened.
    pub stream: StreamId,
    /// The digest of the request's body.
    pub body_hash: Digest,
}

/// Keeps streams of events, append only.
///
/// Reads see every append that was acknowledged before they began. Only reads of all streams may see it later: where
/// many processes write at once, an event is held back until nothing can appear before it any more.
#[async_trait]
pub trait EventStore: Send + Sync + fmt::Debug {
    /// Appends events to one stream, all or none, and returns the position of the last one.
    ///
    /// The future may be dropped; the events are then stored or not, as after a lost reply. An append whose very
    /// events are already there succeeds, so that it can be repeated.
    ///
    /// # Errors
    /// [`AppendError`] says whether anything can have been stored.
    async fn append(&self, append: Append) -> Result<Position, AppendError>;

    /// Returns at most `limit` events of a stream, those right after `after`, in order.
    ///
    /// A stream that does not exist reads as empty.
    ///
    /// # Errors
    /// When the store cannot be read; an error never looks like the end of the stream.
    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError>;

    /// Returns at most `limit` events of all streams, those right after `after`, in an order that never changes.
    ///
    /// No event ever appears before a position that was already returned, so that who reads on from the last one
    /// misses none and sees none twice.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError>;

    /// Returns the last event's place and hash; `None` for a stream that does not exist.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError>;

    /// Returns at most `limit` streams with their heads, those right after `after`, in the order of kind and id.
    ///
    /// A backend that does not bring a way of its own reads the whole log for every page.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn heads(&self, after: Option<StreamId>, limit: u32) -> Result<Vec<(StreamId, Head)>, ReadError> {
        scan(self, after, limit).await
    }

    /// Returns what was opened under a request id (rule K11).
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError>;

    /// Returns the request id that opened a stream; `None` where there was none. A backend that does not say otherwise
    /// tells of none.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn request_of(&self, _stream: StreamId) -> Result<Option<String>, ReadError> {
        Ok(None)
    }

    /// Returns debates, the newest first, as the events themselves tell of them.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError>;

    /// Returns where a stream's events were moved to; `None` where they are here, or never were. A backend that does not say
    /// otherwise archives nothing.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn find_archived(&self, _stream: StreamId) -> Result<Option<Archived>, ReadError> {
        Ok(None)
    }

    /// Returns archived streams, the newest first, by where their first events stood; of the filter, what asks for
    /// lifecycle and status says nothing here.
    ///
    /// # Errors
    /// When the store cannot be read.
    async fn list_archived(&self, _filter: ListFilter) -> Result<Vec<Archived>, ReadError> {
        Ok(Vec::new())
    }

    /// Says whether events can be stored and read now. A backend that does not say otherwise looks whether it can be read.
    ///
    /// # Errors
    /// When the store cannot be read or written, or is no longer where others find it.
    async fn ready(&self) -> Result<(), ReadError> {
        self.head(StreamId { kind: StreamKind::Debate, id: uuid::Uuid::nil() }).await.map(drop)
    }

    /// Returns whether the store is still where others find it; a file may have been removed or replaced. A backend that
    /// does not say otherwise is no file.
    fn is_in_place(&self) -> bool {
        true
    }

    /// Deletes the prose and the salt of one event for good; its hash still stands (rule K15).
    ///
    /// An event without prose stays as it is.
    ///
    /// # Errors
    /// When there is no such event or the store cannot be written.
    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError>;

    /// Waits until a stream has an event after `after`, and returns the head then known.
    ///
    /// Appends through this store wake at once; those of other processes are found by polling.
    ///
    /// # Errors
    /// When the store cannot be read or was closed.
    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError>;

    /// Waits until [`EventStore::read_all`] has an event after `after`, and returns the last position then known.
    ///
    /// # Errors
    /// When the store cannot be read or was closed.
    async fn wait_all(&self, after: Position) -> Result<Position, ReadError>;
}

/// Reads the whole log and returns a page of heads, in the order of streams.
async fn scan<S: EventStore + ?Sized>(
    store: &S,
    after: Option<StreamId>,
    limit: u32,
) -> Result<Vec<(StreamId, Head)>, ReadError> {
    let mut heads = BTreeMap::new();
    let mut position = Position::START;
    loop {
        let page = store.read_all(position, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        position = *last;
        for (_, envelope) in page {
            if after.is_none_or(|after| envelope.stream > after) {
                heads.insert(envelope.stream, Head { seq: envelope.seq, hash: envelope.hash });
            }
        }
    }
    Ok(heads.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect())
}

/// The store could not be read. Every caller that waited for the same read gets the error.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReadError {
    /// The backend failed; trying again may help.
    #[error("cannot read from the store")]
    Backend {
        /// What the backend said.
        #[source]
        source: Arc<dyn Error + Send + Sync>,
    },
    /// A row is not an event, so the store was changed behind its back.
    #[error("the event at position {position} cannot be read: {what}")]
    Corrupt {
        /// The row's position in the store.
        position: Position,
        /// What is wrong with the row.
        what: String,
    },
    /// The store was closed in this process.
    #[error("the store is closed")]
    Closed,
}

impl ReadError {
    /// Wraps a backend's error.
    pub fn backend(source: impl Into<BoxError>) -> Self {
        Self::Backend { source: Arc::from(source.into()) }
    }
}

#[cfg(any(feature = "postgres", feature = "sqlite"))]
impl From<sqlx::Error> for ReadError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            sqlx::Error::PoolClosed => Self::Closed,
            other => Self::backend(other),
        }
    }
}

/// The prose of an event could not be deleted.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// There is no such event.
    #[error("{stream} has no event {seq}")]
    NotFound {
        /// The stream asked for.
        stream: StreamId,
        /// The sequence number asked for.
        seq: Seq,
    },
    /// The backend failed; the prose may or may not be deleted.
    #[error("cannot redact event {seq} of {stream}")]
    Backend {
        /// The stream asked for.
        stream: StreamId,
        /// The sequence number asked for.
        seq: Seq,
        /// What the backend said.
        #[source]
        source: BoxError,
    },
    /// The store was closed in this process; nothing was deleted.
    #[error("the store is closed")]
    Closed,
}

#[cfg(test)]
mod tests {
    use debate_core::chain::{GENESIS, hash_of};
    use debate_core::id::Timestamp;
    use uuid::Uuid;

    use super::*;
    use crate::memory::MemoryStore;

    #[tokio::test]
    async fn the_log_itself_gives_the_heads_that_a_backend_gives() {
        let store = MemoryStore::new();
        for (id, length) in [(3, 2), (1, 5), (2, 1)] {
            let stream = StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(id) };
            let mut hash = GENESIS;
            let events = (1..=length).map(|seq| {
                let mut envelope = Envelope {
                    stream,
                    seq: Seq(seq),
                    kind: "noted".to_owned(),
                    version: 1,
                    at: Timestamp(0),
                    tenant: String::new(),
                    actor: "test".to_owned(),
                    trace: None,
                    body: "{}".to_owned(),
                    prose: None,
                    prose_digest: None,
                    hash: Digest::default(),
                };
                hash = hash_of(&hash, &envelope);
                envelope.hash = hash;
                envelope
            });
            let events: Vec<Envelope> = events.collect();
            store.append(Append::new(stream, Seq::START, events)).await.unwrap();
        }
        let all = store.heads(None, 10).await.unwrap();
        assert_eq!(all.iter().map(|(_, head)| head.seq).collect::<Vec<_>>(), [Seq(5), Seq(1), Seq(2)]);
        assert_eq!(scan(&store, None, 10).await.unwrap(), all);
        assert_eq!(scan(&store, Some(all[0].0), 1).await.unwrap(), all[1..2]);
    }
}

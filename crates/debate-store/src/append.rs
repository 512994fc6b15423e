//! What is appended, and the ways in which it is refused.

use std::collections::VecDeque;
use std::sync::Arc;

use debate_core::chain::{ChainBreak, GENESIS, hash_of};
use debate_core::codec::Sealed;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Digest, Seq};

use crate::position::BoxError;

/// The most events that one append may carry.
pub const EVENTS_PER_APPEND_MAX: usize = 1_000;

/// Names a request that opens a stream, so that repeating it opens nothing new (rule K11).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// Whose request it is.
    pub tenant: String,
    /// The id that the client chose.
    pub request_id: String,
    /// The digest of the request's body.
    pub body_hash: Digest,
}

/// Events to append to one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    /// The stream.
    pub stream: StreamId,
    /// The sequence number of the stream's last event; [`Seq::START`] says that the stream must not exist.
    pub expected: Seq,
    /// The events, from `expected + 1` on without holes, hashes sealed.
    pub(crate) envelopes: Vec<Arc<Envelope>>,
    /// The hash that they are known to be chained on, where they were sealed by this program and not read somewhere.
    sealed_behind: Option<Digest>,
    /// The request that these events answer, stored in the same transaction.
    pub request: Option<RequestKey>,
}

impl Append {
    /// Creates an append of events that came from elsewhere, which is checked, and that answers no request.
    #[must_use]
    pub fn new<E: Into<Arc<Envelope>>>(
        stream: StreamId,
        expected: Seq,
        envelopes: impl IntoIterator<Item = E>,
    ) -> Self {
        let envelopes = envelopes.into_iter().map(Into::into).collect();
        Self { stream, expected, envelopes, sealed_behind: None, request: None }
    }

    /// Returns the events.
    #[must_use]
    pub fn envelopes(&self) -> &[Arc<Envelope>] {
        &self.envelopes
    }

    /// Records the request that these events answer.
    #[must_use]
    pub fn with_request(mut self, request: RequestKey) -> Self {
        self.request = Some(request);
        self
    }

    /// Checks all that can be seen without the stream: that the events are there, belong together and chain.
    pub(crate) fn check(&self) -> Result<(), AppendError> {
        let stream = self.stream;
        if self.envelopes.is_empty() {
            return Err(AppendError::Empty { stream });
        }
        if self.envelopes.len() > EVENTS_PER_APPEND_MAX {
            return Err(AppendError::TooMany { stream, events: self.envelopes.len() });
        }
        if self.sealed_behind.is_some() {
            return if self.expected == Seq::START { self.check_follows(&GENESIS) } else { Ok(()) };
        }
        let mut previous = (self.expected == Seq::START).then_some(GENESIS);
        let mut seq = self.expected;
        for envelope in &self.envelopes {
            seq = seq.next();
            if envelope.stream != stream {
                return Err(ChainBreak::Stream { stream, seq, found: envelope.stream }.into());
            }
            if envelope.seq != seq {
                return Err(ChainBreak::Sequence { stream, expected: seq, found: envelope.seq }.into());
            }
            if previous.is_some_and(|previous| hash_of(&previous, envelope) != envelope.hash) {
                return Err(ChainBreak::Hash { stream, seq }.into());
            }
            if envelope.prose.as_ref().is_some_and(|it| Some(it.digest()) != envelope.prose_digest) {
                return Err(ChainBreak::Prose { stream, seq }.into());
            }
            previous = Some(envelope.hash);
        }
        Ok(())
    }

    /// Checks that the first event follows the stream's last one.
    pub(crate) fn check_follows(&self, head_hash: &Digest) -> Result<(), AppendError> {
        let Some(first) = self.envelopes.first() else {
            return Err(AppendError::Empty { stream: self.stream });
        };
        let follows = match &self.sealed_behind {
            Some(behind) => behind == head_hash,
            None => hash_of(head_hash, first) == first.hash,
        };
        if follows { Ok(()) } else { Err(ChainBreak::Hash { stream: self.stream, seq: first.seq }.into()) }
    }

    /// Returns whether the stored hashes, from `expected + 1` on, are those of these very events.
    pub(crate) fn is_stored_as(&self, hashes: impl IntoIterator<Item = Digest>) -> bool {
        let mut wanted: VecDeque<Digest> = self.envelopes.iter().map(|it| it.hash).collect();
        for hash in hashes {
            match wanted.pop_front() {
                Some(first) if first == hash => {}
                Some(_) => return false,
                None => break,
            }
        }
        wanted.is_empty()
    }

    /// Returns the error of an append whose place is taken or not yet reached.
    pub(crate) fn conflict(&self, actual: Seq) -> AppendError {
        AppendError::Conflict { stream: self.stream, expected: self.expected, actual }
    }
}

impl From<Sealed> for Append {
    fn from(sealed: Sealed) -> Self {
        let (stream, behind) = (sealed.stream(), sealed.behind());
        let (expected, sealed_behind) = (behind.seq, Some(behind.hash));
        Self { stream, expected, envelopes: sealed.into_envelopes(), sealed_behind, request: None }
    }
}

/// An append was refused or could not be finished.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// Another writer came first, or the stream is shorter than expected; nothing was written.
    #[error("{stream} is at {actual}, expected {expected}")]
    Conflict {
        /// The stream.
        stream: StreamId,
        /// What the writer took for the stream's last event.
        expected: Seq,
        /// What the stream's last event is.
        actual: Seq,
    },
    /// There was nothing to append.
    #[error("nothing to append to {stream}")]
    Empty {
        /// The stream.
        stream: StreamId,
    },
    /// The append has more events than [`EVENTS_PER_APPEND_MAX`]; nothing was written.
    #[error("cannot append {events} events to {stream} at once, at most {EVENTS_PER_APPEND_MAX}")]
    TooMany {
        /// The stream.
        stream: StreamId,
        /// How many there were.
        events: usize,
    },
    /// The events do not follow one another, or not the stream's last one; nothing was written.
    #[error("the events do not chain")]
    Invalid(#[from] ChainBreak),
    /// The request id already opened another stream, or this one with other events; nothing was written
    /// (rule K11).
    #[error("this request id already opened {stream}{}", if *same_body { "" } else { " with another body" })]
    RequestTaken {
        /// What the request id opened.
        stream: StreamId,
        /// Whether that request had the same body, so that its stream is the answer to this one too.
        same_body: bool,
    },
    /// The stream's events were moved into an archive; nothing was written.
    #[error("{0} is archived; restore it first")]
    Archived(StreamId),
    /// The backend failed; the events may or may not be stored.
    #[error("cannot append to {stream}")]
    Backend {
        /// The stream.
        stream: StreamId,
        /// What the backend said.
        #[source]
        source: BoxError,
    },
    /// The store was closed in this process; nothing was written.
    #[error("the store is closed")]
    Closed,
}

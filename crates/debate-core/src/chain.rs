//! The hash chain of rule K15: every envelope's hash covers the hash before it, so that a changed, removed,
//! reordered or inserted event is found and named. Removal of the tail alone shows only against a checkpoint.

use crate::envelope::{Envelope, StreamId};
use crate::id::{Digest, Seq};

/// The hash that stands before the first event of every stream.
pub const GENESIS: Digest = Digest([0; 32]);

/// Returns the hash of an envelope that follows `previous`. The envelope's own `hash` field is not read.
#[must_use]
pub fn hash_of(previous: &Digest, envelope: &Envelope) -> Digest {
    let prose_digest = envelope.prose_digest.map_or([0; 32], |digest| digest.0);
    Digest::of_parts([
        previous.0.as_slice(),
        envelope.stream.kind.as_str().as_bytes(),
        envelope.stream.id.as_bytes(),
        &envelope.seq.0.to_le_bytes(),
        envelope.kind.as_bytes(),
        &envelope.version.to_le_bytes(),
        &envelope.at.0.to_le_bytes(),
        envelope.tenant.as_bytes(),
        envelope.actor.as_bytes(),
        envelope.trace.as_deref().unwrap_or_default().as_bytes(),
        envelope.body.as_bytes(),
        &[u8::from(envelope.prose_digest.is_some())],
        &prose_digest,
    ])
}

/// The first place at which a stream is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChainBreak {
    /// The sequence has a hole, a repetition or a swap.
    #[error("{stream}: event {expected} is missing; found {found} in its place")]
    Sequence {
        /// The stream under test.
        stream: StreamId,
        /// The sequence number that should stand here.
        expected: Seq,
        /// The sequence number that does.
        found: Seq,
    },
    /// The envelope does not hash to what it says, or does not follow its predecessor.
    #[error("{stream}: event {seq} was changed: its hash does not match")]
    Hash {
        /// The stream under test.
        stream: StreamId,
        /// The first bad sequence number.
        seq: Seq,
    },
    /// The prose is not what the digest in the envelope says.
    #[error("{stream}: the text of event {seq} was changed")]
    Prose {
        /// The stream under test.
        stream: StreamId,
        /// The first bad sequence number.
        seq: Seq,
    },
    /// An envelope of another stream stands here.
    #[error("{stream}: event {seq} belongs to {found}")]
    Stream {
        /// The stream under test.
        stream: StreamId,
        /// The sequence number.
        seq: Seq,
        /// The stream the envelope names.
        found: StreamId,
    },
}

impl ChainBreak {
    /// Returns the first bad sequence number.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Sequence { expected, .. } => *expected,
            Self::Hash { seq, .. } | Self::Prose { seq, .. } | Self::Stream { seq, .. } => *seq,
        }
    }
}

/// Checks a stream envelope by envelope, in order.
#[derive(Debug, Clone)]
pub struct ChainCheck {
    stream: StreamId,
    head: Seq,
    hash: Digest,
}

impl ChainCheck {
    /// Starts before the first event of a stream.
    #[must_use]
    pub fn new(stream: StreamId) -> Self {
        Self { stream, head: Seq::START, hash: GENESIS }
    }

    /// Starts behind an event that is known, by its hash, to be the one that was written.
    #[must_use]
    pub fn after(stream: StreamId, head: Seq, hash: Digest) -> Self {
        Self { stream, head, hash }
    }

    /// Returns the last sequence number that passed, and its hash.
    #[must_use]
    pub fn head(&self) -> (Seq, Digest) {
        (self.head, self.hash)
    }

    /// Checks the next envelope.
    ///
    /// # Errors
    /// The first way in which the envelope is not the one that was written here.
    pub fn push(&mut self, envelope: &Envelope) -> Result<(), ChainBreak> {
        let stream = self.stream;
        let expected = self.head.next();
        if envelope.stream != stream {
            return Err(ChainBreak::Stream { stream, seq: expected, found: envelope.stream });
        }
        if envelope.seq != expected {
            return Err(ChainBreak::Sequence { stream, expected, found: envelope.seq });
        }
        // To the hash an empty trace context is none, so an empty one is never written.
        let has_empty_trace = envelope.trace.as_deref() == Some("");
        if has_empty_trace || hash_of(&self.hash, envelope) != envelope.hash {
            return Err(ChainBreak::Hash { stream, seq: expected });
        }
        if let Some(prose) = &envelope.prose
            && Some(prose.digest()) != envelope.prose_digest
        {
            return Err(ChainBreak::Prose { stream, seq: expected });
        }
        self.head = expected;
        self.hash = envelope.hash;
        Ok(())
    }
}

//! One event as it is stored: who, when, where in which stream, its facts, its prose apart, and the hash that
//! chains it to the event before. The kernel's typed [`crate::event::Event`] becomes an envelope in
//! [`crate::codec`]; a store keeps envelopes and knows nothing of what is in them.

use std::fmt;

use uuid::Uuid;

use crate::id::{DebateId, Digest, Seq, Timestamp};

/// What a stream is about. Sequence numbers count within one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKind {
    /// One debate of any format.
    Debate,
    /// Prompt policy: proposals and their acceptance (rules V7, V8).
    Policy,
}

impl StreamKind {
    /// Returns the name used in storage and on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debate => "debate",
            Self::Policy => "policy",
        }
    }

    /// Reads the stored name back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "debate" => Some(Self::Debate),
            "policy" => Some(Self::Policy),
            _ => None,
        }
    }
}

/// Names one append-only stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// What the stream is about.
    pub kind: StreamKind,
    /// Which one of that kind.
    pub id: Uuid,
}

impl From<DebateId> for StreamId {
    fn from(debate: DebateId) -> Self {
        Self { kind: StreamKind::Debate, id: debate.0 }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.as_str(), self.id)
    }
}

/// The deletable text of an event, with the salt that keeps its digest from being guessed (rule K15).
///
/// Redaction deletes both; the digest stays in the envelope, so the chain still verifies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaltedProse {
    /// Sixteen random bytes, handed in by the writer.
    pub salt: [u8; 16],
    /// The prose as a JSON object.
    pub text: String,
}

impl SaltedProse {
    /// Returns the digest that the hash chain covers.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_parts([self.salt.as_slice(), self.text.as_bytes()])
    }
}

/// An event as stored, exact to the byte: hashes are taken over these very strings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Its place in the stream.
    pub seq: Seq,
    /// The event's kind, such as `call_started`.
    pub kind: String,
    /// The version of that kind's shape, from 1.
    pub version: u16,
    /// When it was decided.
    pub at: Timestamp,
    /// Whose data it is; empty for the only tenant of a single-user store.
    pub tenant: String,
    /// Who caused it: `engine`, or the name of a client.
    pub actor: String,
    /// W3C trace context of the cause, where there is one: its `traceparent`, and behind a space its `tracestate` if it
    /// had one.
    pub trace: Option<String>,
    /// Facts as a JSON object: all that the fold needs.
    pub body: String,
    /// Prose, unless there is none or it was redacted.
    pub prose: Option<SaltedProse>,
    /// The salted digest of the prose, kept when the prose goes. `None` where there never was any.
    pub prose_digest: Option<Digest>,
    /// The hash over this envelope and the hash before it.
    pub hash: Digest,
}

impl Envelope {
    /// Returns whether prose was here and has been deleted.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        self.prose_digest.is_some() && self.prose.is_none()
    }

    /// Returns how many bytes its texts have: facts, prose, and the short ones, which in a stranger's bundle need not be short.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        let named = self.kind.len()
            + self.tenant.len()
            + self.actor.len()
            + self.trace.as_ref().map_or(0, String::len);
        named + self.body.len() + self.prose.as_ref().map_or(0, |prose| prose.text.len())
    }

    /// Returns the id of the event, derived from stream and sequence, so that a repeated append can be recognised.
    #[must_use]
    pub fn event_id(&self) -> String {
        format!("{}/{}", self.stream, self.seq)
    }
}

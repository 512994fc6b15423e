//! One line of a bundle, and what can be wrong with it.

use debate_core::envelope::{Envelope, SaltedProse, StreamId, StreamKind};
use debate_core::id::{Digest, Seq, Timestamp};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{EVENTS_MAX, LINE_BYTES_MAX, REQUEST_ID_BYTES_MAX, STREAM_BYTES_MAX, VERSION};
use crate::excerpt::beginning;
use crate::leaf::LeafError;
use crate::leaves::LeavesError;

/// One line of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Bundle(Start),
    /// The checkpoint under which its streams are.
    Checkpoint(Signed),
    /// A leaf of the checkpoint's tree, as it is written; all of them, in order.
    Leaf(String),
    /// A stream begins.
    Stream(StreamStart),
    /// The stream's next event.
    Event(EventLine),
    /// The last line.
    End(End),
}

/// How a bundle begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The version of the format.
    pub version: u32,
    /// Whether it claims to be all that the store has.
    pub whole: bool,
}

/// A checkpoint in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The signed note.
    pub note: String,
    /// The proof that its tree begins with an older one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Consistency>,
}

/// The proof that a tree begins with that of an older checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Consistency {
    /// How many leaves the older tree has.
    pub size: u64,
    /// The nodes, the lowest first.
    pub proof: Vec<Digest>,
}

/// How a stream begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamStart {
    /// The stream's kind.
    pub kind: String,
    /// The stream's id.
    pub id: Uuid,
    /// The id of the request that opened it, where there was one. Nothing proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The proof that the stream is under the checkpoint; none where it is not yet, or where all leaves are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inclusion: Option<Inclusion>,
}

/// The proof that a leaf is in a checkpoint's tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inclusion {
    /// The stream's latest leaf, as it is written.
    pub leaf: String,
    /// Its place, from 0.
    pub index: u64,
    /// The nodes, the lowest first.
    pub proof: Vec<Digest>,
}

/// An event as it is stored, exact to the byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventLine {
    seq: Seq,
    kind: String,
    version: u16,
    at: Timestamp,
    tenant: String,
    actor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prose: Option<ProseLine>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prose_digest: Option<Digest>,
    hash: Digest,
}

/// The prose of an event, with its salt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProseLine {
    salt: String,
    text: String,
}

/// How a bundle ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// How many streams it has.
    pub streams: u64,
    /// How many events, of all streams.
    pub events: u64,
}

/// A line does not belong where it stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// It has more than [`LINE_BYTES_MAX`] bytes.
    #[error("it is longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// It is not one of the lines of a bundle.
    #[error("it is not a line of a bundle: {0}")]
    Form(String),
    /// It says the same as a line that is written differently.
    #[error("it is not written as a bundle is")]
    Spelling,
    /// It is a line of a bundle, but not in this place.
    #[error("it does not belong in this place")]
    Place,
    /// The bundle has another version.
    #[error("the bundle has version {0}, only {VERSION} is known here")]
    Version(u32),
    /// A stream is of an unknown kind.
    #[error("`{0}` is not a kind of stream")]
    Kind(String),
    /// The id of a request has more than [`REQUEST_ID_BYTES_MAX`] bytes, or others than printable ASCII without spaces.
    #[error("its request id has more than {REQUEST_ID_BYTES_MAX} bytes, or others than printable ASCII")]
    RequestId,
    /// A salt is not sixteen bytes in hex.
    #[error("`{0}` is not a salt")]
    Salt(String),
    /// A leaf cannot be read.
    #[error("it holds no leaf: {0}")]
    Leaf(#[from] LeafError),
    /// A leaf does not follow from those before.
    #[error(transparent)]
    Leaves(#[from] LeavesError),
    /// A stream stands in the bundle for the second time.
    #[error("{0} is in the bundle already")]
    Twice(StreamId),
    /// A stream has no events, or more than [`EVENTS_MAX`].
    #[error("{stream} has {events} events, it must have 1 to {EVENTS_MAX}")]
    Events {
        /// The stream.
        stream: StreamId,
        /// How many.
        events: u64,
    },
    /// The events of a stream have more than [`STREAM_BYTES_MAX`] bytes.
    #[error("the events of {0} have more than {STREAM_BYTES_MAX} bytes")]
    Bytes(StreamId),
    /// The bundle holds not as much as its end says.
    #[error("the bundle holds {streams} streams with {events} events, its end says otherwise")]
    Count {
        /// How many streams there are.
        streams: u64,
        /// How many events there are.
        events: u64,
    },
    /// The bundle stops before its end.
    #[error("the bundle is cut off here")]
    CutOff,
}

impl Line {
    /// Begins a bundle.
    #[must_use]
    pub fn start(whole: bool) -> Self {
        Self::Bundle(Start { version: VERSION, whole })
    }

    /// Begins a stream.
    #[must_use]
    pub fn stream(stream: StreamId, inclusion: Option<Inclusion>) -> Self {
        Self::opened(stream, None, inclusion)
    }

    /// Begins a stream that a request opened.
    #[must_use]
    pub fn opened(stream: StreamId, request_id: Option<String>, inclusion: Option<Inclusion>) -> Self {
        let (kind, id) = (stream.kind.as_str().to_owned(), stream.id);
        Self::Stream(StreamStart { kind, id, request_id, inclusion })
    }

    /// Returns the line's text, without a line feed.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("a line has string keys and no floats")
    }

    /// Reads a line without its line feed.
    pub(super) fn parse(text: &str) -> Result<Self, LineError> {
        let line: Self =
            serde_json::from_str(text).map_err(|error| LineError::Form(beginning(&error.to_string())))?;
        if line.text() == text { Ok(line) } else { Err(LineError::Spelling) }
    }
}

impl StreamStart {
    /// Returns which stream begins.
    ///
    /// # Errors
    /// The kind does not exist, or the request id is invalid: an import writes the id as it is.
    pub(super) fn stream(&self) -> Result<StreamId, LineError> {
        let request_id = self.request_id.as_deref().unwrap_or_default();
        if request_id.len() > REQUEST_ID_BYTES_MAX || !request_id.chars().all(|c| c.is_ascii_graphic()) {
            return Err(LineError::RequestId);
        }
        let kind = StreamKind::from_name(&self.kind).ok_or_else(|| LineError::Kind(beginning(&self.kind)))?;
        Ok(StreamId { kind, id: self.id })
    }
}

impl From<&Envelope> for EventLine {
    fn from(envelope: &Envelope) -> Self {
        let prose =
            |prose: &SaltedProse| ProseLine { salt: hex::encode(prose.salt), text: prose.text.clone() };
        Self {
            seq: envelope.seq,
            kind: envelope.kind.clone(),
            version: envelope.version,
            at: envelope.at,
            tenant: envelope.tenant.clone(),
            actor: envelope.actor.clone(),
            trace: envelope.trace.clone(),
            body: envelope.body.clone(),
            prose: envelope.prose.as_ref().map(prose),
            prose_digest: envelope.prose_digest,
            hash: envelope.hash,
        }
    }
}

impl EventLine {
    /// Returns the event of a stream.
    pub(super) fn envelope(self, stream: StreamId) -> Result<Envelope, LineError> {
        let prose = match self.prose {
            Some(ProseLine { salt, text }) => {
                let mut bytes = [0; 16];
                hex::decode_to_slice(&salt, &mut bytes).map_err(|_| LineError::Salt(beginning(&salt)))?;
                if hex::encode(bytes) != salt {
                    return Err(LineError::Spelling);
                }
                Some(SaltedProse { salt: bytes, text })
            }
            None => None,
        };
        Ok(Envelope {
            stream,
            seq: self.seq,
            kind: self.kind,
            version: self.version,
            at: self.at,
            tenant: self.tenant,
            actor: self.actor,
            trace: self.trace,
            body: self.body,
            prose,
            prose_digest: self.prose_digest,
            hash: self.hash,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaf::Leaf;

    #[test]
    fn error_on_a_malformed_line_quotes_only_its_beginning() {
        let (long, stream) =
            ("\u{e9}".repeat(1 << 20), StreamId { kind: StreamKind::Debate, id: Uuid::nil() });
        let event = EventLine {
            seq: Seq(1),
            kind: "said".to_owned(),
            version: 1,
            at: Timestamp(0),
            tenant: String::new(),
            actor: String::new(),
            trace: None,
            body: String::new(),
            prose: Some(ProseLine { salt: long.clone(), text: String::new() }),
            prose_digest: None,
            hash: Digest::default(),
        };
        let start = StreamStart { kind: long.clone(), id: stream.id, request_id: None, inclusion: None };
        let leaf = |text: String| LineError::from(text.parse::<Leaf>().unwrap_err());
        for (error, why) in [
            (
                Line::parse(&format!("{{\"{long}\":1}}")).unwrap_err(),
                "it is not a line of a bundle: unknown variant",
            ),
            (start.stream().unwrap_err(), "is not a kind of stream"),
            (event.envelope(stream).unwrap_err(), "is not a salt"),
            (leaf(format!("{long} 1 x")), "names no stream"),
            (leaf(format!("{stream} {long} x")), "is not a sequence number"),
            (leaf(format!("{stream} 1 {long}")), "is not a hash"),
        ] {
            let error = error.to_string();
            assert!(error.contains(why) && error.len() < 1_100, "{why}: {} bytes", error.len());
        }
    }
}

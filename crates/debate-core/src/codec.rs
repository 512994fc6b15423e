//! Between typed events and stored envelopes, both ways. Hashes are sealed here, over the exact bytes.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::chain::hash_of;
use crate::envelope::{Envelope, SaltedProse, StreamId};
use crate::event::{Event, Forked, KernelEvent, Recorded, Redacted};
use crate::format::Format;
use crate::id::{Digest, Seq, Timestamp};
use crate::record::{self, Body as _, Record, RecordError};

/// Who writes, and for whom: the same for every event of one append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Whose data it is; empty for the only tenant.
    pub tenant: String,
    /// Who caused the events.
    pub actor: String,
    /// W3C trace context of the cause, as [`Envelope::trace`] keeps it.
    pub trace: Option<String>,
}

/// The end of a stream, on which the next envelope is chained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The last sequence number.
    pub seq: Seq,
    /// Its hash.
    pub hash: Digest,
}

impl Head {
    /// The end of a stream that does not exist yet.
    pub const NONE: Self = Self { seq: Seq::START, hash: crate::chain::GENESIS };
}

/// Envelopes of one stream, each chained here behind the one before: that they follow one another need not be checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    stream: StreamId,
    behind: Head,
    envelopes: Vec<Arc<Envelope>>,
}

impl Sealed {
    /// Returns the stream that they belong to.
    #[must_use]
    pub fn stream(&self) -> StreamId {
        self.stream
    }

    /// Returns the end of the stream that they are chained on.
    #[must_use]
    pub fn behind(&self) -> Head {
        self.behind
    }

    /// Returns the end of the stream with them.
    #[must_use]
    pub fn head(&self) -> Head {
        self.envelopes.last().map_or(self.behind, |last| Head { seq: last.seq, hash: last.hash })
    }

    /// Returns the envelopes, in order.
    #[must_use]
    pub fn into_envelopes(self) -> Vec<Arc<Envelope>> {
        self.envelopes
    }
}

/// Turns decided events into envelopes chained behind `head`.
///
/// `salt` hands in sixteen fresh random bytes for every event that has prose.
pub fn seal<F: Format>(
    stream: StreamId,
    head: Head,
    author: &Author,
    at: Timestamp,
    events: &[Event<F>],
    mut salt: impl FnMut() -> [u8; 16],
) -> Sealed {
    let parts = events.iter().map(|event| (event.kind(), event.version(), event.body(), event.prose()));
    seal_parts(stream, head, author, at, parts, &mut salt)
}

/// Turns events of a stream that is no debate's into envelopes chained behind `head`, as [`seal`] does.
pub fn seal_records<R: Record>(
    stream: StreamId,
    head: Head,
    author: &Author,
    at: Timestamp,
    events: &[R],
    mut salt: impl FnMut() -> [u8; 16],
) -> Sealed {
    let parts = events.iter().map(|event| (event.kind(), event.version(), event.body(), event.prose()));
    seal_parts(stream, head, author, at, parts, &mut salt)
}

/// Seals events by kind, version, body and prose.
fn seal_parts(
    stream: StreamId,
    behind: Head,
    author: &Author,
    at: Timestamp,
    parts: impl Iterator<Item = (&'static str, u16, String, Option<String>)>,
    salt: &mut dyn FnMut() -> [u8; 16],
) -> Sealed {
    let mut head = behind;
    let envelopes = parts
        .map(|(kind, version, body, prose)| {
            let prose = prose.map(|text| SaltedProse { salt: salt(), text });
            let mut envelope = Envelope {
                stream,
                seq: head.seq.next(),
                kind: kind.to_owned(),
                version,
                at,
                tenant: author.tenant.clone(),
                actor: author.actor.clone(),
                trace: author.trace.clone().filter(|trace| !trace.is_empty()),
                body,
                prose_digest: prose.as_ref().map(SaltedProse::digest),
                prose,
                hash: Digest::default(),
            };
            envelope.hash = hash_of(&head.hash, &envelope);
            head = Head { seq: envelope.seq, hash: envelope.hash };
            Arc::new(envelope)
        })
        .collect();
    Sealed { stream, behind, envelopes }
}

/// A stored envelope is not an event of this format.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Neither kernel nor format knows the kind.
    #[error("event {seq}: kind {kind} is not known here")]
    Kind {
        /// Where it stands.
        seq: Seq,
        /// The kind.
        kind: String,
    },
    /// The kind is known, the content is not of its shape.
    #[error("event {seq} cannot be read")]
    Record {
        /// Where it stands.
        seq: Seq,
        /// What does not fit.
        #[source]
        source: RecordError,
    },
    /// The event stands where it cannot have been written.
    #[error("event {seq}: {kind} {why}")]
    Place {
        /// Where it stands.
        seq: Seq,
        /// The kind.
        kind: String,
        /// Why not there.
        why: &'static str,
    },
}

/// Returns what a debate was forked from, given its first event; `None` where it is no fork (rule K14).
///
/// # Errors
/// It is one, and cannot be read.
pub fn forked(first: &Envelope) -> Option<Result<Forked, DecodeError>> {
    let seq = first.seq;
    let read = || record::decode_body(first.version, &first.body, None);
    (first.kind == Forked::KIND).then(|| read().map_err(|source| DecodeError::Record { seq, source }))
}

/// Returns which event's words an event says were deleted, if it is a record of that (rule K15).
#[must_use]
pub fn redacted(envelope: &Envelope) -> Option<Seq> {
    let read = || record::decode_body(envelope.version, &envelope.body, None).ok();
    (envelope.kind == Redacted::KIND).then(read).flatten().map(|Redacted { seq }| seq)
}

/// What is wrong with an event that [`taken`] finds, for people.
pub const MISSING_PROSE: &str = "its words were deleted and no redaction is on record";

/// Returns the first event of a whole stream whose words are gone though no redaction of them is on record (rule K15).
#[must_use]
pub fn taken(stream: &[Envelope]) -> Option<Seq> {
    let recorded: BTreeSet<Seq> = stream.iter().filter_map(redacted).collect();
    let bare = stream.iter().filter(|envelope| envelope.is_redacted());
    bare.map(|envelope| envelope.seq).find(|seq| !recorded.contains(seq))
}

/// Reads an envelope back.
///
/// # Errors
/// The kind, its version or its shape is not known, or it begins a debate, and not the one in whose stream it stands.
pub fn decode<F: Format>(envelope: &Envelope) -> Result<Recorded<F>, DecodeError> {
    let seq = envelope.seq;
    let prose = envelope.prose.as_ref().map(|prose| prose.text.as_str());
    let event = Event::decode(&envelope.kind, envelope.version, &envelope.body, prose)
        .ok_or_else(|| DecodeError::Kind { seq, kind: envelope.kind.clone() })?
        .map_err(|source| DecodeError::Record { seq, source })?;
    let place = |why| DecodeError::Place { seq, kind: envelope.kind.clone(), why };
    let begins = match &event {
        Event::Opened(opened) => Some(opened.debate.into()),
        // One that does not say which it opens is not folded.
        Event::Kernel(KernelEvent::Forked(forked)) => {
            Some(forked.debate.map_or(envelope.stream, StreamId::from))
        }
        Event::Kernel(_) | Event::Fact(_) => None,
    };
    if begins.is_some() && seq != Seq(1) {
        return Err(place("stands within a debate"));
    }
    if begins.is_some_and(|stream| stream != envelope.stream) {
        return Err(place("begins another debate"));
    }
    Ok(Recorded { seq, at: envelope.at, event })
}

//! A page of a debate's events, as they are stored.

use debate_core::envelope::Envelope;
use debate_core::id::Seq;
use serde::Serialize;
use serde_json::Value;

use crate::log::Log;

/// The most events of one page.
pub(crate) const EVENTS_MAX: usize = 500;

/// One stored event.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EventShown {
    seq: u64,
    kind: String,
    version: u16,
    at: String,
    actor: String,
    hash: String,
    /// The digest of its words, which the hash covers; null where there never were any.
    words_digest: Option<String>,
    redacted: bool,
    /// The facts, exact to the byte.
    facts: String,
    words: Option<Value>,
}

impl From<&Envelope> for EventShown {
    fn from(event: &Envelope) -> Self {
        Self {
            seq: event.seq.0,
            kind: event.kind.clone(),
            version: event.version,
            at: event.at.to_string(),
            actor: event.actor.clone(),
            hash: event.hash.to_string(),
            words_digest: event.prose_digest.map(|digest| digest.to_string()),
            redacted: event.is_redacted(),
            facts: event.body.clone(),
            words: event.prose.as_ref().and_then(|prose| serde_json::from_str(&prose.text).ok()),
        }
    }
}

/// Returns at most `limit` events of the debate's own stream, those right behind `after`.
pub(crate) fn events(log: &Log, after: Seq, limit: usize) -> Vec<EventShown> {
    let behind = log.own().iter().filter(|event| event.seq > after);
    behind.take(limit.min(EVENTS_MAX)).map(|event| EventShown::from(event.as_ref())).collect()
}

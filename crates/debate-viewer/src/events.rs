//! A page of a debate's events, as they are stored.

use debate_core::envelope::Envelope;
use debate_core::id::Seq;
use debate_engine::fitting;
use serde::Serialize;
use serde_json::Value;

use crate::log::Log;

/// The most events of one page.
pub(crate) const EVENTS_MAX: usize = 500;

/// Events right behind a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct EventPage {
    /// The last event of the log as it was read.
    head_seq: u64,
    events: Vec<EventShown>,
    /// Whether there are others behind them.
    more: bool,
}

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

/// Returns at most `limit` events of the debate's own stream, those right behind `after`; fewer where they are long.
pub(crate) fn events(log: &Log, after: Seq, limit: usize) -> EventPage {
    let behind = log.own().iter().skip_while(|event| event.seq <= after);
    let behind: Vec<&Envelope> = behind.map(AsRef::as_ref).collect();
    let shown = &behind[..behind.len().min(limit.clamp(1, EVENTS_MAX))];
    let shown = &shown[..fitting(shown.iter().map(|event| event.text_bytes()))];
    EventPage {
        head_seq: log.head().0.0,
        events: shown.iter().map(|event| EventShown::from(*event)).collect(),
        more: shown.len() < behind.len(),
    }
}

//! What a bundle of a debate has in it: its stream and those that it was forked from.

use std::collections::BTreeSet;

use debate_core::codec;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::Redacted;
use debate_core::fork::DEPTH_MAX;
use debate_core::id::{DebateId, Seq};
use debate_core::record::Body as _;
use debate_store::{EventStore, ReadError};

use crate::journal::{LoadError, PAGE};

/// Returns a stream and, before it, those that it was forked from, the eldest first (rule K14).
///
/// # Errors
/// The store cannot be read, or holds a fork that cannot be.
pub async fn exported_streams(store: &dyn EventStore, stream: StreamId) -> Result<Vec<StreamId>, LoadError> {
    let mut streams = vec![stream];
    for _ in 0..DEPTH_MAX {
        let eldest = streams[streams.len() - 1];
        let first = store.read(eldest, Seq::START, 1).await?;
        let Some(forked) = first.first().and_then(codec::forked) else { break };
        let debate = DebateId(eldest.id);
        streams.push(forked.map_err(|source| LoadError::Decode { debate, source })?.parent.into());
    }
    streams.reverse();
    Ok(streams)
}

/// Returns a stream's events, without the words whose redaction is recorded, though it be unfinished.
///
/// # Errors
/// The store cannot be read.
pub async fn exported_events(store: &dyn EventStore, stream: StreamId) -> Result<Vec<Envelope>, ReadError> {
    let mut events: Vec<Envelope> = Vec::new();
    loop {
        let after = events.last().map_or(Seq::START, |last| last.seq);
        let page = store.read(stream, after, PAGE).await?;
        if page.is_empty() {
            break;
        }
        events.extend(page);
    }
    withhold_redacted(&mut events);
    Ok(events)
}

/// Takes away the words whose redaction is recorded among the same events, though it be unfinished (rule K15).
pub fn withhold_redacted(events: &mut [Envelope]) {
    let records = events.iter().filter(|event| event.kind == Redacted::KIND);
    let redacted: BTreeSet<(StreamId, Seq)> = records
        .filter_map(|event| Some((event.stream, serde_json::from_str::<Redacted>(&event.body).ok()?.seq)))
        .collect();
    for event in events.iter_mut().filter(|event| redacted.contains(&(event.stream, event.seq))) {
        event.prose = None;
    }
}

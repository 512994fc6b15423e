//! What of a store goes out in a bundle: whole streams, without words that were taken away.

use std::collections::BTreeSet;

use debate_core::codec;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::Redacted;
use debate_core::fork::DEPTH_MAX;
use debate_core::id::{DebateId, Seq};
use debate_core::record::Body as _;
use debate_store::{EventStore, ReadError};

use crate::journal::LoadError;

/// Events read at once.
const PAGE: u32 = 1_000;

/// Returns a debate's stream and, before it, those that it was forked from, the eldest first (rule K14).
///
/// # Errors
/// The store cannot be read, or says unreadably what a debate was forked from.
pub async fn lineage(store: &dyn EventStore, debate: DebateId) -> Result<Vec<StreamId>, LoadError> {
    let mut lineage = vec![StreamId::from(debate)];
    for _ in 0..DEPTH_MAX {
        let first = store.read(lineage[lineage.len() - 1], Seq::START, 1).await?;
        let Some(forked) = first.first().and_then(codec::forked) else { break };
        let forked = forked.map_err(|source| LoadError::Decode { debate, source })?;
        lineage.push(forked.parent.into());
    }
    lineage.reverse();
    Ok(lineage)
}

/// Reads a stream, without the words whose redaction is recorded, though it be unfinished (rule K15).
///
/// # Errors
/// The store cannot be read.
pub async fn events(store: &dyn EventStore, stream: StreamId) -> Result<Vec<Envelope>, ReadError> {
    let mut events: Vec<Envelope> = Vec::new();
    loop {
        let after = events.last().map_or(Seq::START, |last| last.seq);
        let page = store.read(stream, after, PAGE).await?;
        if page.is_empty() {
            break;
        }
        events.extend(page);
    }
    let records = events.iter().filter(|event| event.kind == Redacted::KIND);
    let read = records.filter_map(|event| serde_json::from_str::<Redacted>(&event.body).ok());
    let redacted: BTreeSet<Seq> = read.map(|redacted| redacted.seq).collect();
    for event in events.iter_mut().filter(|event| redacted.contains(&event.seq)) {
        event.prose = None;
    }
    Ok(events)
}

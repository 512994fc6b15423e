//! What a fork rests on (rule K14): the prefixes of its parents' streams, referenced and never copied.

use debate_core::codec;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::Forked;
use debate_core::fork::DEPTH_MAX;
use debate_core::id::{DebateId, Digest, Seq};
use debate_store::EventStore;

use crate::journal::{LoadError, PAGE, missing};

/// The beginning of a stream, up to where a fork parts from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Whose stream.
    pub(crate) debate: DebateId,
    /// The last event of it.
    pub(crate) until: Seq,
    /// That event's hash, as the fork has it.
    pub(crate) hash: Digest,
}

impl From<&Forked> for Stretch {
    fn from(forked: &Forked) -> Self {
        Self { debate: forked.parent, until: forked.at, hash: forked.parent_hash }
    }
}

/// Returns what a fork rests on, the eldest first; nothing where the first event is not that of a fork.
///
/// # Errors
/// A parent is gone, or they lie too deep.
pub(crate) async fn stretches(store: &dyn EventStore, first: &Envelope) -> Result<Vec<Stretch>, LoadError> {
    let debate = DebateId(first.stream.id);
    let mut stretches: Vec<Stretch> = Vec::new();
    let mut found = codec::forked(first);
    while let Some(forked) = found {
        let forked = forked.map_err(|source| LoadError::Decode { debate, source })?;
        if stretches.len() >= DEPTH_MAX {
            return Err(LoadError::TooDeep(debate));
        }
        stretches.push(Stretch::from(&forked));
        let first = store.read(forked.parent.into(), Seq::START, 1).await?;
        found = first.first().and_then(codec::forked);
    }
    stretches.reverse();
    Ok(stretches)
}

/// Returns the events that a fork rests on, the eldest parent's first; none where the first event is not that of a fork.
///
/// # Errors
/// A parent is archived, gone, or not what it was when it was forked.
pub(crate) async fn prefix(store: &dyn EventStore, first: &Envelope) -> Result<Vec<Envelope>, LoadError> {
    let mut prefix = Vec::new();
    for stretch in stretches(store, first).await? {
        let events = read(store, stretch.debate, Some(stretch.until)).await?;
        let is_it = |last: &Envelope| (last.seq, last.hash) == (stretch.until, stretch.hash);
        if !events.last().is_some_and(is_it) {
            if events.is_empty()
                && let archived @ LoadError::Archived { .. } = missing(store, stretch.debate).await
            {
                return Err(archived);
            }
            let debate = DebateId(first.stream.id);
            return Err(LoadError::Parent { debate, parent: stretch.debate, at: stretch.until });
        }
        prefix.extend(events);
    }
    Ok(prefix)
}

/// Returns a stream's events up to and including `until`, or all of them.
pub(crate) async fn read(
    store: &dyn EventStore,
    debate: DebateId,
    until: Option<Seq>,
) -> Result<Vec<Envelope>, LoadError> {
    let mut log: Vec<Envelope> = Vec::new();
    loop {
        let after = log.last().map_or(Seq::START, |last| last.seq);
        let page = store.read(StreamId::from(debate), after, PAGE).await?;
        let is_last = page.len() < PAGE as usize;
        log.extend(page.into_iter().take_while(|envelope| until.is_none_or(|until| envelope.seq <= until)));
        let is_there = until.is_some_and(|until| log.last().is_some_and(|last| last.seq >= until));
        if is_last || is_there {
            return Ok(log);
        }
    }
}

//! Deleting words of a debate for good while all that was decided still verifies (rule K15).

use std::collections::BTreeMap;

use debate_core::codec::{self, Author};
use debate_core::command::{Command, DecideError};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::format::Format;
use debate_core::id::{DebateId, Seq};
use debate_store::{AppendError, EVENTS_PER_APPEND_MAX, EventStore, ReadError, RedactError};

use crate::engine_shared::EngineShared;
use crate::journal::{Journal, LoadError, PAGE};

/// Which words go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redact {
    /// Those of one event.
    Event(Seq),
    /// Those of every event that has any.
    All,
}

/// What a redaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Redaction {
    /// How many redactions were recorded.
    pub recorded: usize,
    /// How many events lost their words.
    pub deleted: usize,
}

/// Words were not redacted.
#[derive(Debug, thiserror::Error)]
pub enum RedactionError {
    /// The debate cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The debate has no such event, or has not concluded; nothing was recorded.
    #[error(transparent)]
    Refused(DecideError),
    /// The event never had words; nothing was recorded.
    #[error("event {0} has no words")]
    NoProse(Seq),
    /// The redaction was not recorded for sure; no words were deleted.
    #[error(transparent)]
    Record(#[from] AppendError),
    /// The redaction is recorded, the words are still stored; asking again deletes them.
    #[error(transparent)]
    Delete(#[from] RedactError),
}

/// Records redactions and then deletes the words.
pub(crate) async fn redact<F: Format>(
    shared: &EngineShared,
    debate: DebateId,
    what: Redact,
    actor: &str,
) -> Result<Redaction, RedactionError> {
    let store = &*shared.store;
    let mut journal: Journal<F> = Journal::load(store, debate, None).await?;
    let prose = prose(store, debate, what).await.map_err(LoadError::from)?;
    let is_recorded = |seq: &Seq| journal.debate.redacted().contains(seq);
    let new: Vec<Seq> = match what {
        Redact::Event(seq) if seq > journal.debate.head() || seq == Seq::START => {
            return Err(RedactionError::Refused(DecideError::NoEvent(seq)));
        }
        Redact::Event(seq) if !prose.contains_key(&seq) => return Err(RedactionError::NoProse(seq)),
        Redact::Event(_) | Redact::All => prose.keys().copied().filter(|seq| !is_recorded(seq)).collect(),
    };
    let author = Author { tenant: journal.tenant.clone(), actor: actor.to_owned(), trace: None };
    for some in new.chunks(EVENTS_PER_APPEND_MAX) {
        let mut draft = journal.debate.draft(shared.env.now());
        for seq in some {
            draft.decide(Command::Redact { seq: *seq }).map_err(RedactionError::Refused)?;
        }
        journal.record(store, &shared.env, &author, draft).await?;
    }
    let stored: Vec<Seq> =
        prose.into_iter().filter(|(_, is_stored)| *is_stored).map(|(seq, _)| seq).collect();
    for seq in &stored {
        store.redact(debate.into(), *seq).await?;
    }
    Ok(Redaction { recorded: new.len(), deleted: stored.len() })
}

/// Deletes the words of a stream that are stored though their deletion is on record in one of the events that are given (rule
/// K15): it was interrupted, or the record of it came from elsewhere. Holds one event at a time. Returns how many lost theirs.
///
/// # Errors
/// [`RedactionError::Load`] where the store cannot be read; [`RedactionError::Delete`] where words may still be stored.
pub async fn finish_redactions(
    store: &dyn EventStore,
    stream: StreamId,
    records: &[Seq],
) -> Result<usize, RedactionError> {
    let mut deleted = 0;
    for record in records {
        let record = event(store, stream, *record).await?;
        let Some(seq) = record.as_ref().and_then(codec::redacted) else { continue };
        if event(store, stream, seq).await?.is_some_and(|envelope| envelope.prose.is_some()) {
            store.redact(stream, seq).await?;
            deleted += 1;
        }
    }
    Ok(deleted)
}

/// Returns one event, if there is such a one.
async fn event(store: &dyn EventStore, stream: StreamId, seq: Seq) -> Result<Option<Envelope>, LoadError> {
    let Some(before) = seq.0.checked_sub(1) else { return Ok(None) };
    let page = store.read(stream, Seq(before), 1).await?;
    Ok(page.into_iter().find(|envelope| envelope.seq == seq))
}

/// Returns the events in question that ever had prose, and whether they still have it.
async fn prose(
    store: &dyn EventStore,
    debate: DebateId,
    what: Redact,
) -> Result<BTreeMap<Seq, bool>, ReadError> {
    let mut found = BTreeMap::new();
    let mut after = Seq::START;
    loop {
        let page = store.read(StreamId::from(debate), after, PAGE).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after = last.seq;
        let worded = page.iter().filter(|envelope| match what {
            Redact::Event(seq) => envelope.seq == seq && envelope.prose_digest.is_some(),
            Redact::All => envelope.prose_digest.is_some(),
        });
        found.extend(worded.map(|envelope| (envelope.seq, envelope.prose.is_some())));
    }
}

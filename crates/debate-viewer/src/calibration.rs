//! How good the forecasts of resolved debates were (rule K16): which there are, and what their logs say together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use debate_core::format::Format as _;
use debate_core::formats::any::{AnyDebate, AnyReplayError};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::track_record::{Case, TrackRecord, prompt_versions};
use debate_core::id::{DebateId, Seq};
use debate_engine::{Engine, LoadError};
use debate_store::ReadError;

/// The most debates that are summed up together, the newest ones.
pub const CASES_MAX: usize = 10_000;

/// A debate of which it is known what happened, as far as its log goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResolvedDebate {
    /// Which debate.
    pub debate: DebateId,
    /// Its last event.
    pub head: Seq,
}

/// Resolved debates.
#[derive(Debug, Clone, Default)]
pub struct Resolved {
    /// At most [`CASES_MAX`].
    pub debates: Vec<ResolvedDebate>,
    /// How many more there are.
    pub left_out: u64,
}

/// Returns the debates with probabilities that were resolved, the newest first; those of one tenant where it is named.
///
/// # Errors
/// The store cannot be read.
pub async fn resolved(engine: &Engine, tenant: Option<&str>) -> Result<Resolved, ReadError> {
    let found = engine.find_with_event_kind("resolved", tenant, Some(Prediction::NAME)).await?;
    let left_out = found.len().saturating_sub(CASES_MAX) as u64;
    let debates = found.into_iter().take(CASES_MAX);
    let debates = debates
        .map(|listed| ResolvedDebate { debate: DebateId(listed.first.stream.id), head: listed.head })
        .collect();
    Ok(Resolved { debates, left_out })
}

/// What logs say of their debates, read once and kept until they grow: what is deleted from a log or corrected in it adds
/// an event. At most [`CASES_MAX`] are kept.
#[derive(Debug, Clone, Default)]
pub struct Cases {
    known: Arc<Mutex<BTreeMap<ResolvedDebate, Option<Arc<Case>>>>>,
}

impl Cases {
    /// Returns what debates say together, in whatever order they come; those that are not resolved say nothing.
    ///
    /// # Errors
    /// One of them is not there, has no probabilities, or cannot be read.
    pub async fn track_record(&self, engine: &Engine, resolved: Resolved) -> Result<TrackRecord, LoadError> {
        let mut record = TrackRecord::new(resolved.left_out);
        let debates: BTreeSet<ResolvedDebate> = resolved.debates.into_iter().collect();
        for resolved in debates {
            let known = self.lock().get(&resolved).cloned();
            let case = match known {
                Some(case) => case,
                None => self.keep(resolved, case(engine, resolved.debate).await?.map(Arc::new)),
            };
            case.into_iter().for_each(|case| record.add(case));
        }
        Ok(record)
    }

    fn keep(&self, resolved: ResolvedDebate, case: Option<Arc<Case>>) -> Option<Arc<Case>> {
        let mut known = self.lock();
        let outgrown = ResolvedDebate { head: Seq::START, ..resolved }..resolved;
        let outgrown: Vec<ResolvedDebate> = known.range(outgrown).map(|(key, _)| *key).collect();
        outgrown.iter().for_each(|key| drop(known.remove(key)));
        if known.len() < CASES_MAX {
            known.insert(resolved, case.clone());
        }
        case
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ResolvedDebate, Option<Arc<Case>>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads a debate's log, once; `None` where it is not resolved.
///
/// # Errors
/// It is not there, has no probabilities, or cannot be read.
pub async fn case(engine: &Engine, debate: DebateId) -> Result<Option<Case>, LoadError> {
    let history = engine.history(debate, None).await?;
    let prompts = prompt_versions(&history).map_err(|source| LoadError::Decode { debate, source })?;
    let folded = AnyDebate::replay(&history).map_err(|error| match error {
        AnyReplayError::Empty => LoadError::NotFound(debate),
        AnyReplayError::Format { kind } => LoadError::Format { debate, format: kind },
        AnyReplayError::Decode(source) => LoadError::Decode { debate, source },
        AnyReplayError::Replay(source) => LoadError::Replay { debate, source },
    })?;
    match folded {
        AnyDebate::Prediction(folded) => Ok(Case::of(&folded, prompts)),
        AnyDebate::Deliberation(_)
        | AnyDebate::Roundtable(_)
        | AnyDebate::Review(_)
        | AnyDebate::Investigation(_) => {
            Err(LoadError::Format { debate, format: folded.format().to_owned() })
        }
    }
}

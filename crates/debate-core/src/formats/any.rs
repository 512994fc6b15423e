//! A debate of whatever format, for readers that take them all: the one dispatch over formats.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::deliberation::Deliberation;
use super::investigation::Investigation;
use super::prediction::scores::Resolution;
use super::prediction::{self, Prediction};
use super::review::Review;
use super::roundtable::{self, Roundtable};
use crate::call::CallKey;
use crate::codec::{self, DecodeError};
use crate::command::{Command, DecideError};
use crate::debate::{Debate, Lifecycle, ReplayError};
use crate::envelope::Envelope;
use crate::event::{AttemptRef, Concluded, Forked, Resolved, StopRuleFired};
use crate::format::Format;
use crate::id::{DebateId, Digest, Seq, Timestamp};
use crate::limits::Limits;
use crate::prose::Texts;
use crate::spend::Spend;
use crate::stop::{Completeness, StopRule};

/// The names of all formats, the contract's first.
pub const FORMATS: [&str; 5] =
    [Prediction::NAME, Deliberation::NAME, Roundtable::NAME, Review::NAME, Investigation::NAME];

/// One debate of any format, folded.
#[derive(Debug, Clone)]
pub enum AnyDebate {
    /// A prediction debate.
    Prediction(Box<Debate<Prediction>>),
    /// A deliberation.
    Deliberation(Box<Debate<Deliberation>>),
    /// A roundtable.
    Roundtable(Box<Debate<Roundtable>>),
    /// A review debate.
    Review(Box<Debate<Review>>),
    /// An investigation.
    Investigation(Box<Debate<Investigation>>),
}

/// Stored envelopes are not the log of a debate.
#[derive(Debug, thiserror::Error)]
pub enum AnyReplayError {
    /// There are no events.
    #[error("the log is empty")]
    Empty,
    /// The first event does not name a format that is known here.
    #[error("the first event, {kind}, does not name a format that is known here")]
    Format {
        /// The first event's kind.
        kind: String,
    },
    /// An envelope cannot be read.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// The events do not fold.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// Evaluates the same expression for a debate of every format.
macro_rules! each {
    ($any:expr, $debate:ident => $value:expr) => {
        match $any {
            AnyDebate::Prediction($debate) => $value,
            AnyDebate::Deliberation($debate) => $value,
            AnyDebate::Roundtable($debate) => $value,
            AnyDebate::Review($debate) => $value,
            AnyDebate::Investigation($debate) => $value,
        }
    };
}

impl AnyDebate {
    /// Folds a stored log, or the prefix of one; the first event says the format.
    ///
    /// # Errors
    /// The log is empty, of an unknown format, or does not fold.
    pub fn replay(log: &[Envelope]) -> Result<Self, AnyReplayError> {
        let first = log.first().ok_or(AnyReplayError::Empty)?;
        match format_of(first).as_deref() {
            Some(Prediction::NAME) => Ok(Self::Prediction(Box::new(fold(log)?))),
            Some(Deliberation::NAME) => Ok(Self::Deliberation(Box::new(fold(log)?))),
            Some(Roundtable::NAME) => Ok(Self::Roundtable(Box::new(fold(log)?))),
            Some(Review::NAME) => Ok(Self::Review(Box::new(fold(log)?))),
            Some(Investigation::NAME) => Ok(Self::Investigation(Box::new(fold(log)?))),
            Some(_) | None => Err(AnyReplayError::Format { kind: first.kind.clone() }),
        }
    }

    /// Folds the next stored event.
    ///
    /// # Errors
    /// The envelope cannot be read or does not fit; the debate is then of no further use.
    pub fn apply(&mut self, envelope: &Envelope) -> Result<(), AnyReplayError> {
        each!(self, debate => {
            let recorded = codec::decode(envelope)?;
            debate.apply(recorded.at, &recorded.event).map_err(ReplayError::from)?;
        });
        Ok(())
    }

    /// Returns which debate this is.
    #[must_use]
    pub fn id(&self) -> DebateId {
        each!(self, debate => debate.id())
    }

    /// Returns the format's name.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self {
            Self::Prediction(_) => Prediction::NAME,
            Self::Deliberation(_) => Deliberation::NAME,
            Self::Roundtable(_) => Roundtable::NAME,
            Self::Review(_) => Review::NAME,
            Self::Investigation(_) => Investigation::NAME,
        }
    }

    /// Returns the sequence number of the last event folded.
    #[must_use]
    pub fn head(&self) -> Seq {
        each!(self, debate => debate.head())
    }

    /// Returns where the debate is in its life.
    #[must_use]
    pub fn lifecycle(&self) -> Lifecycle {
        each!(self, debate => debate.lifecycle())
    }

    /// Returns the phase that is open, with its number.
    #[must_use]
    pub fn phase(&self) -> Option<(&str, u32)> {
        each!(self, debate => debate.phase())
    }

    /// Returns what it may spend.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        each!(self, debate => debate.limits())
    }

    /// Returns what was spent.
    #[must_use]
    pub fn spend(&self) -> Spend {
        each!(self, debate => debate.spend())
    }

    /// Returns how whole the outcome is: as concluded, or were the debate to conclude now (rule K6).
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        each!(self, debate => debate.completeness())
    }

    /// Returns the rule that ended the debate, or is ending it (rule K7).
    #[must_use]
    pub fn stop_rule(&self) -> Option<StopRule> {
        each!(self, debate => debate.stop_rule())
    }

    /// Returns when the debate was opened.
    #[must_use]
    pub fn opened_at(&self) -> Timestamp {
        each!(self, debate => debate.opened_at())
    }

    /// Returns when time is up; none where there is no deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        each!(self, debate => debate.deadline())
    }

    /// Returns when time is up.
    #[must_use]
    pub fn deadline_at(&self) -> Timestamp {
        each!(self, debate => debate.deadline_at())
    }

    /// Returns the conclusion that stands and when it was reached.
    #[must_use]
    pub fn conclusion(&self) -> Option<(&Concluded, Timestamp)> {
        each!(self, debate => debate.conclusion())
    }

    /// Returns what happened in the world, once known, and when that was recorded (rule K16).
    #[must_use]
    pub fn resolved(&self) -> Option<(&Resolved, Timestamp)> {
        each!(self, debate => debate.resolved())
    }

    /// Tells whether what happened could be recorded at a moment (rule K16).
    ///
    /// # Errors
    /// Why not, as [`crate::command::Command::Resolve`] would be refused; also where just that is recorded already.
    pub fn check_resolution(&self, at: Timestamp, resolved: &Resolved) -> Result<(), DecideError> {
        each!(self, debate => debate.decide(at, Command::Resolve(resolved.clone())).map(drop))
    }

    /// Returns what this debate was forked from, and how (rule K14).
    #[must_use]
    pub fn forked(&self) -> Option<&Forked> {
        each!(self, debate => debate.forked())
    }

    /// Returns the question or topic, unless it was redacted.
    #[must_use]
    pub fn title(&self) -> Option<String> {
        match self {
            Self::Prediction(debate) => Prediction::title(debate.brief()),
            Self::Deliberation(debate) => Deliberation::title(debate.brief()),
            Self::Roundtable(debate) => Roundtable::title(debate.brief()),
            Self::Review(debate) => Review::title(debate.brief()),
            Self::Investigation(debate) => Investigation::title(debate.brief()),
        }
    }

    /// Returns the models asked so far, in name order.
    #[must_use]
    pub fn models(&self) -> &BTreeSet<String> {
        each!(self, debate => debate.models())
    }

    /// Returns the models asked so far that have no price, in name order (rule K8).
    #[must_use]
    pub fn unpriced_models(&self) -> &BTreeSet<String> {
        each!(self, debate => debate.unpriced_models())
    }

    /// Returns the stop rule that ended the debate, or is ending it, with its numbers (rule K7).
    #[must_use]
    pub fn stop(&self) -> Option<&StopRuleFired> {
        each!(self, debate => debate.stop())
    }

    /// Returns the calls whose answer was taken from a reply that its limit cut, in key order (rule K18).
    #[must_use]
    pub fn calls_cut(&self) -> Vec<CallKey> {
        each!(self, debate => debate.calls_cut().cloned().collect())
    }

    /// Returns whether any reply came from a simulated model.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        each!(self, debate => debate.is_simulated())
    }

    /// Returns what prompts of answered calls did not show whole, with the number of these prompts (rule K20).
    #[must_use]
    pub fn parts_cut(&self) -> BTreeMap<&str, u32> {
        each!(self, debate => debate.parts_cut())
    }

    /// Returns a line that says what prompts of answered calls did not show whole; none where all was shown (rule K20).
    #[must_use]
    pub fn parts_cut_note(&self) -> Option<String> {
        each!(self, debate => debate.parts_cut_note())
    }

    /// Returns a line that says which model stands in for those that the debate may use, if any does (rule K23).
    #[must_use]
    pub fn replacement_note(&self) -> Option<String> {
        each!(self, debate => debate.replacement_note())
    }

    /// Returns whether all replies came from simulated models, if any came.
    #[must_use]
    pub fn is_wholly_simulated(&self) -> bool {
        each!(self, debate => debate.is_wholly_simulated())
    }

    /// Returns whether prose of this debate was deleted.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        each!(self, debate => debate.is_redacted())
    }

    /// Returns how sure the debate is, in [0, 1], as the result says it; none where the format has no such number.
    #[must_use]
    pub fn confidence(&self) -> Option<f64> {
        match self {
            Self::Prediction(debate) => {
                Some(prediction::completeness::confidence(debate, &self.completeness()))
            }
            Self::Deliberation(_) | Self::Review(_) | Self::Investigation(_) => None,
            Self::Roundtable(debate) => Some(roundtable::conclude::confidence(debate)),
        }
    }

    /// Returns the result as it stands, as JSON: field for field the contract's where there is one.
    #[must_use]
    pub fn outcome_json(&self, texts: Texts) -> String {
        each!(self, debate => json_of(debate, texts))
    }

    /// Returns the result as it stands, in `extra` with what the outcome does not say and its digest does not cover:
    /// `forked_from` (rule K14), and `resolution` once the world has answered (rule K16).
    #[must_use]
    pub fn result_json(&self, texts: Texts) -> String {
        let resolution = match self {
            Self::Prediction(debate) => Resolution::of(debate),
            Self::Deliberation(_) | Self::Roundtable(_) | Self::Review(_) | Self::Investigation(_) => None,
        };
        let forked = self.forked();
        if resolution.is_none() && forked.is_none() {
            return self.outcome_json(texts);
        }
        let mut outcome = each!(self, debate => value_of(debate, texts));
        if let Some(Forked { parent, at, change, .. }) = forked {
            outcome["extra"]["forked_from"] =
                json!({ "debate_id": parent.to_string(), "at": at.0, "change": change });
        }
        if let Some(resolution) = resolution {
            outcome["extra"]["resolution"] = value(&resolution);
        }
        outcome.to_string()
    }

    /// Returns the digest of the outcome as it stands, prose withheld (rules K4, K15).
    #[must_use]
    pub fn outcome_digest(&self) -> Digest {
        each!(self, debate => debate.outcome_digest())
    }

    /// Returns the rules in force, as JSON.
    #[must_use]
    pub fn rules_json(&self) -> Value {
        each!(self, debate => value(debate.config()))
    }

    /// Returns the subject in people's words, as JSON; none where it was redacted.
    #[must_use]
    pub fn brief_json(&self) -> Option<Value> {
        each!(self, debate => debate.brief().shown().map(value))
    }

    /// Returns the number of calls of a debate in which nothing goes wrong.
    #[must_use]
    pub fn calls_expected(&self) -> u64 {
        each!(self, debate => calls_expected(debate))
    }

    /// Returns the attempts that are under way, as far as the log knows, in the order of their calls.
    #[must_use]
    pub fn open_attempts(&self) -> Vec<AttemptRef> {
        each!(self, debate => debate.calls().flat_map(|(key, call)| call.open_attempts(key)).collect())
    }
}

fn calls_expected<F: Format>(debate: &Debate<F>) -> u64 {
    F::calls_expected(debate.config())
}

/// Returns the format that the first event of a debate names.
#[must_use]
pub fn format_of(first: &Envelope) -> Option<String> {
    #[derive(Deserialize)]
    struct Named {
        format: String,
    }
    serde_json::from_str::<Named>(&first.body).ok().map(|named| named.format)
}

/// Folds a stored log of a known format, or the prefix of one.
///
/// # Errors
/// The log is empty, an event cannot be read, or the events do not fold.
pub fn fold<'a, F: Format>(log: impl IntoIterator<Item = &'a Envelope>) -> Result<Debate<F>, AnyReplayError> {
    let recorded = log.into_iter().map(codec::decode::<F>).collect::<Result<Vec<_>, _>>()?;
    Ok(Debate::replay(&recorded)?)
}

fn value(shown: &impl Serialize) -> Value {
    serde_json::to_value(shown).expect("results have string keys and finite numbers")
}

fn value_of<F: Format>(debate: &Debate<F>, texts: Texts) -> Value {
    value(&F::outcome(debate, texts))
}

fn json_of<F: Format>(debate: &Debate<F>, texts: Texts) -> String {
    let outcome = F::outcome(debate, texts);
    serde_json::to_string(&outcome).expect("outcomes have string keys and finite numbers")
}

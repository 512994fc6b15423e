//! Events of a debate's life: phases, stop rules, pause, conclusion, and what follows it (rules K6, K7, K14–K17).

use serde::{Deserialize, Serialize};

use crate::bound::{BoundModels, ModelIdentity};
use crate::id::{DebateId, Digest, OutcomeId, Seq, Timestamp};
use crate::limits::Limits;
use crate::measures::distribution::Distribution;
use crate::prose::Prose;
use crate::spend::Spend;
use crate::stop::{Budget, Completeness, StopRule};
use crate::{body, bounds};

/// A phase or round began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseOpened {
    /// The phase's name, such as `opening`.
    pub phase: String,
    /// Its number, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
}
body!(PhaseOpened, "phase_opened");

/// A phase or round ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseClosed {
    /// The phase's name.
    pub phase: String,
    /// Its number, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
}
body!(PhaseClosed, "phase_closed");

/// A rule that ends debates fired (rule K7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopRuleFired {
    /// Which rule.
    pub rule: StopRule,
    /// Which budget is used up, where the rule is that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    /// The number it looked at.
    pub statistic: f64,
    /// The number it compared with.
    pub threshold: f64,
    /// Recorded, not obeyed.
    #[serde(default)]
    pub shadow: bool,
    /// Whether the closing synthesis may still be asked for.
    pub closing: bool,
}
body!(StopRuleFired, "stop_rule_fired");

impl StopRuleFired {
    /// Returns the rule in a few words for people, with the budget that is used up: `budget of cost_micros`.
    #[must_use]
    pub fn name(&self) -> String {
        let rule = self.rule.as_str();
        self.budget.map_or_else(|| rule.to_owned(), |budget| format!("{rule} of {}", budget.as_str()))
    }
}

/// Nothing new starts; the deadline stands still.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paused {
    /// Milliseconds left to the deadline.
    pub remaining_ms: u64,
}
body!(Paused, "paused");

/// A paused debate goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// The new deadline.
    pub deadline_at: Timestamp,
}
body!(Resumed, "resumed");

/// A process drives the debate again after none did: its deadline moves by the time that no process drove (rule K24).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DrivingResumed {
    /// Milliseconds between the last event and now.
    pub idle_ms: u64,
    /// The new deadline.
    pub deadline_at: Timestamp,
}
body!(DrivingResumed, "driving_resumed");

/// A void debate is driven again (rule K24): answers on record stay, questions that failed get new attempts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reopened {
    /// The new deadline.
    pub deadline_at: Timestamp,
}
body!(Reopened, "reopened");

/// All that is asked from here on is put to another model: what the debate may use was not to be had, or its log does
/// not say what that is (rule K23).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelReplaced {
    /// That model.
    pub model: ModelIdentity,
}
body!(ModelReplaced, "model_replaced");

/// Somebody ended the debate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cancelled {
    /// Why, in their words.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(Cancelled, "cancelled", prose: String);

/// The outcome stands. Not necessarily the last event: resolution, redaction, continuation follow it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Concluded {
    /// Which conclusion of this debate, from 1.
    pub revision: u32,
    /// The rule that ended it.
    pub rule: StopRule,
    /// Whether anything is missing (rule K6).
    pub completeness: Completeness,
    /// The digest of the outcome with prose withheld (rules K4, K15).
    pub outcome_digest: Digest,
    /// What the debate has used by then (rule K8); logs did not always say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<Spend>,
}
body!(Concluded, "concluded");

/// A concluded debate got more rounds (rule K17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Continued {
    /// How many more.
    #[serde(deserialize_with = "bounds::count")]
    pub rounds: u32,
    /// The new deadline.
    pub deadline_at: Timestamp,
    /// Whether they have a question of their own to deal with.
    #[serde(default, skip_serializing_if = "is_false")]
    pub focused: bool,
    /// That question, in people's words.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(Continued, "continued", prose: String);

impl Continued {
    /// Returns the question that the added rounds are to deal with, where they have one.
    #[must_use]
    pub fn focus(&self) -> Option<&Prose<String>> {
        self.focused.then_some(&self.prose)
    }
}

/// This debate goes on from another's prefix (rule K14). The first event of its stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forked {
    /// The debate it comes from.
    pub parent: DebateId,
    /// The last sequence number they share.
    pub at: Seq,
    /// The parent's hash there.
    pub parent_hash: Digest,
    /// What differs, as [`crate::fork::Change`] writes it.
    pub change: String,
    /// The debate that this opens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debate: Option<DebateId>,
    /// The format's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub format: String,
    /// What it may spend, where that is not what its parent might.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The models that it may use; its parent's where it does not say (rule K23).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<BoundModels>,
}
body!(Forked, "forked");

/// The world answered (rule K16). A later one corrects those before it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// What happened.
    pub outcome: OutcomeId,
    /// When it happened, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub happened_at: Option<Timestamp>,
    /// The probabilities that a market or a crowd gave the outcomes, in the request's order, where they are
    /// known. They come with the answer, so no role in the debate was shown them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub market: Option<Distribution>,
}
body!(Resolved, "resolved");

impl Resolved {
    /// Says what happened and no more.
    #[must_use]
    pub fn new(outcome: OutcomeId) -> Self {
        Self { outcome, happened_at: None, market: None }
    }
}

/// The prose of an event was deleted (rule K15).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Redacted {
    /// Which event lost its prose.
    pub seq: Seq,
}
body!(Redacted, "redacted");

fn is_false(flag: &bool) -> bool {
    !flag
}

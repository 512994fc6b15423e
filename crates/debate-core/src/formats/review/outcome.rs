//! The result of a review debate: the caller's input as it came, the audit log, and what was said.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::config::Skip;
use super::conflict::{Conflict, Operation};
use super::fact::Winner;
use crate::call::Tokens;
use crate::id::{DebateId, Role};
use crate::spend::{Cost, is_zero};
use crate::stop::Completeness;

/// The result of a review debate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReviewResult {
    /// The debate, a UUID v4.
    pub debate_id: DebateId,
    /// When the outcome was reached, ISO 8601 in UTC; empty while the debate runs.
    pub completed_at: String,
    /// The caller's critiques, byte for byte as they came (rule V6).
    pub critiques: RawJson,
    /// The caller's conflicts, byte for byte as they came; null where none were given (rule V6).
    pub conflicts: Option<RawJson>,
    /// The conflicts that were found in the critiques; empty where the caller gave them (rule V2).
    pub conflicts_found: Vec<Conflict>,
    /// How many conflicts there are, given or found.
    pub conflict_count: u32,
    /// The audit entry (rule V5); null if no pair debated.
    pub debate_log: Option<DebateLog>,
    /// Why no pair debated (rule V1); null if one did.
    pub not_run: Option<NotRun>,
    /// What each pair said and what the judge found, in order.
    pub debates: Vec<PairDebate>,
    /// The pairs that could not be debated to their end (rule V3).
    pub failed_pairs: Vec<FailedPair>,
    /// Tokens that providers reported, in and out.
    pub total_tokens: u64,
    /// Counts.
    pub metadata: Metadata,
    /// Whether anything is missing (rule K6).
    pub completeness: Completeness,
    /// Why it stopped (rule K7); empty while it runs.
    pub stop_reason: String,
    /// Whether any reply came from a simulated model.
    pub simulated: bool,
    /// Whether every request's token usage is known.
    pub usage_complete: bool,
    /// Tokens of thinking among those written: what providers reported, and the room for it where one reported nothing
    /// (rule P23).
    #[serde(skip_serializing_if = "is_zero")]
    pub thinking_tokens: u64,
    /// What it cost, as far as models have prices (rule K8); absent if the cost is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Models that were asked and have no price, where others have one (rule K8).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unpriced_models: Vec<String>,
    /// Whether prose of this debate was deleted.
    pub redacted: bool,
}

/// JSON of the caller's, shown as it came.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Takes a text that is JSON; what is none is shown as a text.
    pub(super) fn of(json: &str) -> Self {
        let raw = RawValue::from_string(json.to_owned());
        let quoted = || serde_json::value::to_raw_value(json).expect("a text is JSON");
        Self(raw.unwrap_or_else(|_| quoted()))
    }

    /// Returns the JSON.
    #[must_use]
    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

/// Why no pair debated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotRun {
    /// In a word.
    pub why: Skip,
    /// In a sentence.
    pub reason: String,
}

/// The audit entry, in the shape of the predecessor's (rule V5).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DebateLog {
    /// Always true.
    pub ran: bool,
    /// The pairs that were debated to their end, in order.
    pub pairs: Vec<LoggedPair>,
    /// What the judge says of each reviewer, pair by pair.
    pub judge_feedback: Vec<LoggedFeedback>,
    /// What it used.
    pub cost: LoggedCost,
}

/// A pair in the audit entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoggedPair {
    /// The reviewer who adds.
    pub role_a: Role,
    /// The reviewer who removes.
    pub role_b: Role,
    /// What it was about.
    pub conflict: String,
    /// The reviewer who won, or `tie`; null where there is no judgement.
    pub winner: Option<String>,
    /// Scores by reviewer, from 0 to 10; empty where there is no judgement.
    pub judge_scores: BTreeMap<Role, f64>,
}

/// What the judge says of a reviewer, in the audit entry.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoggedFeedback {
    /// The reviewer.
    pub role: Role,
    /// From 0 to 10.
    pub argument_quality_score: f64,
    /// Words for the arguments.
    pub argument_labels: Vec<String>,
    /// What would improve the reviewer's prompt.
    pub policy_signal: String,
}

/// What a debate used, in the audit entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoggedCost {
    /// Tokens read by models.
    pub input_tokens: u64,
    /// Tokens written by models.
    pub output_tokens: u64,
}

/// What a pair said and what the judge found.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairDebate {
    /// The pair, from 1.
    pub pair: u32,
    /// The reviewer who adds.
    pub role_a: Role,
    /// The reviewer who removes.
    pub role_b: Role,
    /// The conflict in words.
    pub conflict_description: String,
    /// The operation of the reviewer who adds; null where it was redacted.
    pub op_a: Option<Operation>,
    /// The operation of the reviewer who removes; null where it was redacted.
    pub op_b: Option<Operation>,
    /// What the first argues; null where nothing was said, as with the others.
    pub role_a_argument: Option<String>,
    /// What the second argues.
    pub role_b_argument: Option<String>,
    /// What the first answers.
    pub role_a_rebuttal: Option<String>,
    /// What the second answers.
    pub role_b_rebuttal: Option<String>,
    /// Speeches that have another length than asked for, although they were asked for again.
    pub off_length: Vec<String>,
    /// Tokens of the speeches, as far as providers reported them.
    pub usage: Tokens,
    /// What the judge found; null where it found nothing.
    pub judgement: Option<PairJudgement>,
}

/// What the judge found of a pair (rule V4).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairJudgement {
    /// What it says of each reviewer, the one who adds first.
    pub feedback: Vec<JudgeFeedback>,
    /// Whose arguments are better.
    pub winner: Winner,
    /// The debate in a sentence or two.
    pub summary: String,
    /// What must be known of this judgement; null where there is nothing.
    pub note: Option<String>,
    /// The passes that were had, in order.
    pub passes: Vec<PassShown>,
    /// Tokens of the judge, as far as providers reported them.
    pub usage: Tokens,
}

/// One pass of the judge.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassShown {
    /// Which, from 1.
    pub pass: u32,
    /// The reviewer who was shown first.
    pub shown_first: Role,
    /// Whose arguments are better.
    pub winner: Winner,
    /// Scores by reviewer, from 0 to 10.
    pub judge_scores: BTreeMap<Role, f64>,
}

/// What the judge says of a reviewer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgeFeedback {
    /// What the audit entry says too.
    #[serde(flatten)]
    pub logged: LoggedFeedback,
    /// Who wins the pair.
    pub winner: Winner,
}

/// A pair that was not debated to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FailedPair {
    /// The pair, from 1.
    pub pair: u32,
    /// The reviewer who adds.
    pub role_a: Role,
    /// The reviewer who removes.
    pub role_b: Role,
    /// What happened.
    pub why: String,
}

/// Counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Requests sent to models, every cause counted.
    pub calls: u64,
    /// From opening to outcome, in milliseconds.
    pub wall_clock_time_ms: u64,
    /// The models asked, joined by a comma.
    pub model: String,
}

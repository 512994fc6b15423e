//! The result of a prediction debate, field for field as in the contract. What goes beyond the contract is in
//! [`Extra`].

use serde::{Deserialize, Serialize};

use super::answer::Precedent;
use super::config::Phase;
use super::fact::{Disagreement, Emerging, KeyInsight};
use super::judged::JudgePasses;
use super::ledger::LedgerEntry;
use super::notes::RepairEntry;
use crate::call::Tokens;
use crate::id::{DebateId, OutcomeId, Role};
use crate::measures::distribution::Distribution;
use crate::measures::pooling::Pools;
use crate::spend::{Cost, is_zero};
use crate::stop::Completeness;

/// The result of a prediction debate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DebateResult {
    /// The debate, a UUID v4.
    pub debate_id: DebateId,
    /// The caller's id of the task.
    pub task_id: String,
    /// When the outcome was reached, ISO 8601 in UTC; empty while the debate runs.
    pub completed_at: String,
    /// What was said.
    pub debate_log: DebateLog,
    /// How far the roles agree, in [0, 1] (rule P8); null where the debate is void.
    pub consensus_score: Option<f64>,
    /// Where roles diverge (rule P13).
    pub disagreement_map: Vec<Disagreement>,
    /// One entry for each outcome, in the request's order; empty where the debate is void.
    pub probability_distribution: Vec<OutcomeProbability>,
    /// What the debate brought to light (rule P14).
    pub key_insights: Vec<KeyInsight>,
    /// Cited by the historian (rule P12).
    pub historical_precedents: Vec<Precedent>,
    /// Counts and costs.
    pub metadata: Metadata,
    /// What goes beyond the contract.
    pub extra: Extra,
}

/// What was said.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DebateLog {
    /// The rounds that were opened, in order.
    pub rounds: Vec<Round>,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Round {
    /// From 1.
    pub round_number: u32,
    /// What it was for.
    pub phase: Phase,
    /// The arguments that stand, in role order.
    pub arguments: Vec<ArgumentEntry>,
    /// What came of it.
    pub round_summary: RoundSummary,
}

/// One argument that stands.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgumentEntry {
    /// Who spoke.
    pub role: Role,
    /// The words.
    pub argument: String,
    /// The outcome it speaks for.
    pub outcome_supported: OutcomeId,
    /// What it rests on.
    pub evidence_cited: Vec<String>,
    /// Its scores.
    pub scores: ScoreEntry,
    /// Whom it rebuts.
    pub rebuts: Vec<Role>,
    /// How it is named by others, such as `r1.optimist`.
    pub point: String,
    /// Earlier points that it cites in words that stand there (rule P11).
    pub cites: Vec<String>,
    /// Rules that it breaks and was not asked again for, such as `P12`.
    pub flags: Vec<String>,
}

/// The scores of one argument: each in [0, 1], null where it could not be had (rule P5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScoreEntry {
    /// By criterion, in the order of the request.
    #[serde(flatten)]
    pub criteria: serde_json::Map<String, serde_json::Value>,
    /// The weighted mean.
    pub composite: Option<f64>,
}

/// What came of one round (rule P9).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RoundSummary {
    /// The role with the strongest argument; empty where none was scored.
    pub dominant_argument: String,
    /// Points of contention.
    pub key_disagreements: Vec<String>,
    /// Where the roles are heading.
    pub emerging_consensus: Vec<Emerging>,
}

/// The answer for one outcome (rule P7).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutcomeProbability {
    /// The outcome.
    pub outcome_id: OutcomeId,
    /// The debate's probability: w · judge + (1 − w) · consensus.
    pub probability: f64,
    /// Each role's last accepted probability, in role order, the judge's included.
    pub role_assessments: Vec<RoleAssessment>,
    /// The synthesis's own; null where there was none.
    pub judge_probability: Option<f64>,
    /// The pooled roles' (their mean, unless another pooling was asked for).
    pub consensus_probability: f64,
}

/// One role's probability of one outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoleAssessment {
    /// The role.
    pub role: Role,
    /// Its probability.
    pub probability: f64,
    /// How sure it is, in [0, 1].
    pub confidence: f64,
}

/// Counts and costs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metadata {
    /// Arguments that stand.
    pub total_arguments: u64,
    /// Tokens that providers reported; see [`Extra::usage_complete`].
    pub sonnet_tokens_used: Tokens,
    /// Requests sent to models, every cause counted.
    pub sonnet_calls: u64,
    /// From opening to outcome, in milliseconds.
    pub wall_clock_time_ms: u64,
    /// The models asked, joined by a comma.
    pub model: String,
}

/// What goes beyond the contract.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Extra {
    /// Whether anything is missing (rule K6).
    pub completeness: Completeness,
    /// How sure the debate is, in [0, 1]: the synthesis's confidence, lowered by each missing argument, score and pass
    /// of the judge (rule P16); 0 where the debate is void.
    pub confidence: f64,
    /// Whether any reply came from a simulated model: such a result is no forecast.
    pub simulated: bool,
    /// Why it stopped (rule K7); empty while it runs.
    pub stop_reason: String,
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
    /// How far the roles agree on each outcome, in the request's order (rule P8).
    pub consensus_per_outcome: Vec<OutcomeConsensus>,
    /// The mean of the blind opening's distributions (rule P4).
    pub blind_baseline: Option<Distribution>,
    /// The roles' last distributions pooled in every way, side by side (rule P18).
    pub pools: Option<Pools>,
    /// Each role's distribution after every round, with its move and the points cited for it (rule P17).
    pub ledger: Vec<LedgerEntry>,
    /// Moves that count as conformity (rule P17).
    pub conformity_moves: u64,
    /// How good the arguments were (rule P6).
    pub argument_quality: ArgumentQuality,
    /// The share of closing arguments that cite an earlier point; null without any (rule P11).
    pub evolution_share: Option<f64>,
    /// The order in which the judge saw the arguments (rule P19).
    pub judge_order: Vec<String>,
    /// The judge's reasoning.
    pub judge_reasoning: String,
    /// How the judge's passes compare, where more than one was asked for (rule P19).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge_passes: Option<JudgePasses>,
    /// Answers that count although something in them was repaired (rules K18, P29).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<RepairEntry>,
    /// What a reader should know about the numbers, one line each, such as that all roles gave the same (rule P27).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Whether prose of this debate was deleted.
    pub redacted: bool,
}

/// How far the roles agree on one outcome.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OutcomeConsensus {
    /// The outcome.
    pub outcome_id: OutcomeId,
    /// 1 − sd/sd_max, in [0, 1].
    pub consensus_score: f64,
    /// The population standard deviation of the roles' probabilities.
    pub standard_deviation: f64,
}

/// How good the arguments were (rule P6).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ArgumentQuality {
    /// The share of scored arguments above 0.4; null where none was scored.
    pub good_share: Option<f64>,
    /// Whether that share is below 0.8.
    pub flagged: bool,
    /// Arguments that were asked again.
    pub rejected: u64,
}

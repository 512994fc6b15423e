//! The result of a deliberation.

use serde::Serialize;

use super::config::{Mode, Phase};
use crate::call::Tokens;
use crate::id::{DebateId, Role};
use crate::spend::{Cost, is_zero};
use crate::stop::Completeness;

/// The result of a deliberation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeliberationResult {
    /// The debate, a UUID v4.
    pub debate_id: DebateId,
    /// What was debated.
    pub topic: String,
    /// How thoroughly.
    pub mode: Mode,
    /// When the outcome was reached, ISO 8601 in UTC; empty while the debate runs.
    pub completed_at: String,
    /// What the participants said, by phase; the consensus is apart.
    pub phases: Vec<PhaseEntry>,
    /// What the orchestrator summed up; null where there was no consensus.
    pub consensus: Option<String>,
    /// Participants whose final position says that it changed, in their order (rule D6).
    pub position_changes: Vec<Role>,
    /// What the consensus leaves unresolved (rule D7).
    pub disagreements: Vec<String>,
    /// How many disagreements those are, known even where their words are gone.
    pub disagreement_count: u32,
    /// Phases in which somebody spoke, the consensus included.
    pub round_count: u32,
    /// Their names, in order.
    pub phase_sequence: Vec<Phase>,
    /// How often somebody spoke, the consensus included.
    pub turn_count: u32,
    /// Counts and costs.
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

/// What was said in one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseEntry {
    /// Which phase.
    pub phase: Phase,
    /// Its number, from 1.
    pub round: u32,
    /// What was said, in the participants' order.
    pub contributions: Vec<ContributionEntry>,
}

/// What one participant said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ContributionEntry {
    /// Who spoke.
    pub participant: Role,
    /// The words.
    pub content: String,
    /// Whether a final position says that it changed; null in other phases (rule D6).
    pub changed_position: Option<bool>,
}

/// Counts and costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// Tokens that providers reported; see [`DeliberationResult::usage_complete`].
    pub tokens: Tokens,
    /// Requests sent to models, every cause counted.
    pub calls: u64,
    /// From opening to outcome, in milliseconds.
    pub wall_clock_time_ms: u64,
    /// The models asked, joined by a comma.
    pub model: String,
}

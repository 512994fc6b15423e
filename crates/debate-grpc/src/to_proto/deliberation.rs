//! The result of a deliberation.

use debate_core::formats::deliberation::config::Phase;
use debate_core::formats::deliberation::outcome::{
    ContributionEntry, DeliberationResult, Metadata, PhaseEntry,
};
use debate_proto::v1;

use super::{completeness, cost, texts, tokens};

/// Returns the result of a deliberation.
#[must_use]
pub fn deliberation_result(result: DeliberationResult) -> v1::DeliberationResult {
    v1::DeliberationResult {
        debate_id: result.debate_id.to_string(),
        topic: result.topic,
        mode: result.mode.as_str().to_owned(),
        completed_at: result.completed_at,
        phases: result.phases.into_iter().map(phase).collect(),
        consensus: result.consensus,
        position_changes: texts(&result.position_changes),
        disagreements: result.disagreements,
        disagreement_count: result.disagreement_count,
        round_count: result.round_count,
        phase_sequence: texts(result.phase_sequence.iter().map(|phase| Phase::as_str(*phase))),
        turn_count: result.turn_count,
        metadata: Some(metadata(result.metadata)),
        completeness: Some(completeness(&result.completeness)),
        stop_reason: result.stop_reason,
        simulated: result.simulated,
        usage_complete: result.usage_complete,
        thinking_tokens: result.thinking_tokens,
        redacted: result.redacted,
        cost: result.cost.map(cost),
        unpriced_models: result.unpriced_models,
    }
}

pub(super) fn phase(entry: PhaseEntry) -> v1::DeliberationPhase {
    v1::DeliberationPhase {
        phase: entry.phase.as_str().to_owned(),
        round: entry.round,
        contributions: entry.contributions.into_iter().map(contribution).collect(),
    }
}

pub(super) fn contribution(entry: ContributionEntry) -> v1::Contribution {
    v1::Contribution {
        participant: entry.participant.to_string(),
        content: entry.content,
        changed_position: entry.changed_position,
    }
}

fn metadata(metadata: Metadata) -> v1::DeliberationMetadata {
    v1::DeliberationMetadata {
        tokens: Some(tokens(metadata.tokens)),
        calls: metadata.calls,
        wall_clock_time_ms: metadata.wall_clock_time_ms,
        model: metadata.model,
    }
}

//! The contract's result of a prediction debate.

use debate_core::formats::prediction::answer::Precedent;
use debate_core::formats::prediction::fact::{Disagreement, KeyInsight};
use debate_core::formats::prediction::ledger;
use debate_core::formats::prediction::notes::RepairEntry;
use debate_core::formats::prediction::outcome::{
    ArgumentEntry, ArgumentQuality, DebateResult, Extra, Metadata, OutcomeConsensus, OutcomeProbability,
    Round, RoundSummary, ScoreEntry,
};
use debate_core::measures::consensus::Direction;
use debate_core::measures::distribution::Distribution;
use debate_core::measures::pooling;
use debate_proto::v1;
use serde_json::Value;

use super::{completeness, cost, texts, tokens};

/// Returns the result of a prediction debate.
#[must_use]
pub fn prediction_result(result: DebateResult) -> v1::DebateResult {
    v1::DebateResult {
        debate_id: result.debate_id.to_string(),
        task_id: result.task_id,
        completed_at: result.completed_at,
        debate_log: Some(v1::DebateLog { rounds: result.debate_log.rounds.into_iter().map(round).collect() }),
        consensus_score: result.consensus_score,
        disagreement_map: result.disagreement_map.into_iter().map(disagreement).collect(),
        probability_distribution: result.probability_distribution.into_iter().map(probability).collect(),
        key_insights: result.key_insights.into_iter().map(insight).collect(),
        historical_precedents: result.historical_precedents.into_iter().map(precedent).collect(),
        metadata: Some(metadata(result.metadata)),
        extra: Some(extra(result.extra)),
    }
}

pub(super) fn round(round: Round) -> v1::Round {
    v1::Round {
        round_number: round.round_number,
        phase: round.phase.as_str().to_owned(),
        arguments: round.arguments.into_iter().map(argument).collect(),
        round_summary: Some(summary(round.round_summary)),
    }
}

pub(super) fn argument(entry: ArgumentEntry) -> v1::Argument {
    v1::Argument {
        role: entry.role.to_string(),
        argument: entry.argument,
        outcome_supported: entry.outcome_supported.to_string(),
        evidence_cited: entry.evidence_cited,
        scores: Some(scores(&entry.scores)),
        rebuts: texts(&entry.rebuts),
        point: entry.point,
        cites: entry.cites,
        flags: entry.flags,
    }
}

fn scores(scores: &ScoreEntry) -> v1::Scores {
    let mut sent = v1::Scores { composite: scores.composite, ..v1::Scores::default() };
    for (criterion, score) in &scores.criteria {
        let score = Value::as_f64(score);
        match criterion.as_str() {
            "logical_strength" => sent.logical_strength = score,
            "evidence_quality" => sent.evidence_quality = score,
            "novelty" => sent.novelty = score,
            other => sent.other.extend(score.map(|score| (other.to_owned(), score))),
        }
    }
    sent
}

fn summary(summary: RoundSummary) -> v1::RoundSummary {
    let emerging = summary.emerging_consensus.into_iter();
    v1::RoundSummary {
        dominant_argument: summary.dominant_argument,
        key_disagreements: summary.key_disagreements,
        emerging_consensus: emerging
            .map(|emerging| v1::EmergingConsensus {
                outcome_id: emerging.outcome_id.to_string(),
                direction: direction(emerging.direction).to_owned(),
            })
            .collect(),
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Toward => "toward",
        Direction::Away => "away",
    }
}

pub(super) fn disagreement(disagreement: Disagreement) -> v1::Disagreement {
    let positions = disagreement.positions.into_iter();
    v1::Disagreement {
        topic: disagreement.topic,
        positions: positions
            .map(|position| v1::Position {
                role: position.role.to_string(),
                stance: position.stance,
                strength: position.strength,
            })
            .collect(),
        resolved: disagreement.resolved,
    }
}

pub(super) fn probability(outcome: OutcomeProbability) -> v1::OutcomeProbability {
    let assessments = outcome.role_assessments.into_iter();
    v1::OutcomeProbability {
        outcome_id: outcome.outcome_id.to_string(),
        probability: outcome.probability,
        role_assessments: assessments
            .map(|assessment| v1::RoleAssessment {
                role: assessment.role.to_string(),
                probability: assessment.probability,
                confidence: assessment.confidence,
            })
            .collect(),
        judge_probability: outcome.judge_probability,
        consensus_probability: outcome.consensus_probability,
    }
}

fn insight(insight: KeyInsight) -> v1::KeyInsight {
    v1::KeyInsight {
        insight: insight.insight,
        source_role: insight.source_role.to_string(),
        round: insight.round,
        impact: insight.impact.as_str().to_owned(),
        affected_outcomes: texts(&insight.affected_outcomes),
    }
}

fn precedent(precedent: Precedent) -> v1::HistoricalPrecedent {
    v1::HistoricalPrecedent {
        event: precedent.event,
        date: precedent.date,
        similarity_score: precedent.similarity_score,
        outcome: precedent.outcome,
        relevance: precedent.relevance,
    }
}

fn metadata(metadata: Metadata) -> v1::DebateMetadata {
    v1::DebateMetadata {
        total_arguments: metadata.total_arguments,
        sonnet_tokens_used: Some(tokens(metadata.sonnet_tokens_used)),
        sonnet_calls: metadata.sonnet_calls,
        wall_clock_time_ms: metadata.wall_clock_time_ms,
        model: metadata.model,
    }
}

fn extra(extra: Extra) -> v1::DebateExtra {
    v1::DebateExtra {
        completeness: Some(completeness(&extra.completeness)),
        confidence: extra.confidence,
        simulated: extra.simulated,
        stop_reason: extra.stop_reason,
        usage_complete: extra.usage_complete,
        thinking_tokens: extra.thinking_tokens,
        consensus_per_outcome: extra.consensus_per_outcome.iter().map(consensus).collect(),
        blind_baseline: extra.blind_baseline.as_ref().map(probabilities).unwrap_or_default(),
        pools: extra.pools.as_ref().map(pools),
        ledger: extra.ledger.into_iter().map(ledger_entry).collect(),
        conformity_moves: extra.conformity_moves,
        argument_quality: Some(quality(&extra.argument_quality)),
        evolution_share: extra.evolution_share,
        judge_order: extra.judge_order,
        judge_reasoning: extra.judge_reasoning,
        redacted: extra.redacted,
        judge_passes: extra.judge_passes.map(|passes| v1::JudgePasses {
            held: passes.held,
            total_variation: passes.total_variation,
            flipped: passes.flipped,
        }),
        cost: extra.cost.map(cost),
        unpriced_models: extra.unpriced_models,
        repairs: extra.repairs.into_iter().map(repaired).collect(),
        notes: extra.notes,
    }
}

fn repaired(entry: RepairEntry) -> v1::RepairedAnswer {
    v1::RepairedAnswer { call: entry.call, repairs: entry.repairs }
}

fn consensus(consensus: &OutcomeConsensus) -> v1::OutcomeConsensus {
    v1::OutcomeConsensus {
        outcome_id: consensus.outcome_id.to_string(),
        consensus_score: consensus.consensus_score,
        standard_deviation: consensus.standard_deviation,
    }
}

fn pools(pools: &pooling::Pools) -> v1::Pools {
    v1::Pools {
        linear: probabilities(&pools.linear),
        log_odds: probabilities(&pools.log_odds),
        extremised: probabilities(&pools.extremised),
        trimmed: probabilities(&pools.trimmed),
    }
}

fn ledger_entry(entry: ledger::LedgerEntry) -> v1::LedgerEntry {
    v1::LedgerEntry {
        role: entry.role.to_string(),
        round: entry.round,
        probabilities: probabilities(&entry.probabilities),
        confidence: entry.confidence,
        moves: entry.moves,
        cited_for_it: texts(&entry.cited_for_it),
        conformity: entry.conformity,
    }
}

fn quality(quality: &ArgumentQuality) -> v1::ArgumentQuality {
    v1::ArgumentQuality {
        good_share: quality.good_share,
        flagged: quality.flagged,
        rejected: quality.rejected,
    }
}

fn probabilities(distribution: &Distribution) -> Vec<f64> {
    distribution.as_slice().to_vec()
}

#[cfg(test)]
mod tests;

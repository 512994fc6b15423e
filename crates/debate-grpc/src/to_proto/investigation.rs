//! The result of an investigation.

use debate_core::formats::investigation::answer::{Stance, Status};
use debate_core::formats::investigation::evidence::EvidenceKind;
use debate_core::formats::investigation::fact::{ChallengeId, RoundSummarised, Stage, Standing};
use debate_core::formats::investigation::outcome::{
    ChallengeEntry, ConclusionEntry, EvidenceEntry, HypothesisEntry, InvestigationResult, Metadata,
    ReportEntry, VerdictEntry, ViolationEntry,
};
use debate_proto::v1;

use super::{completeness, cost, tokens};

/// Returns the result of an investigation.
#[must_use]
pub fn investigation_result(result: InvestigationResult) -> v1::InvestigationResult {
    v1::InvestigationResult {
        debate_id: result.debate_id.to_string(),
        problem: result.problem,
        language: result.language.as_str().to_owned(),
        completed_at: result.completed_at,
        verdict: result.verdict.map(verdict),
        conclusion: result.conclusion.map(conclusion),
        hypotheses: result.hypotheses.into_iter().map(hypothesis).collect(),
        challenges: result.challenges.into_iter().map(challenge).collect(),
        violations: result.violations.into_iter().map(violation).collect(),
        rounds: result.rounds.iter().map(standings).collect(),
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

fn verdict(entry: VerdictEntry) -> v1::InvestigationVerdict {
    v1::InvestigationVerdict {
        hypothesis: entry.hypothesis,
        statement: entry.statement,
        named_by: entry.named_by.as_str().to_owned(),
        confidence: entry.confidence,
        confirmed: entry.confirmed,
        reasoning: entry.reasoning,
        evidence_for: entry.evidence_for,
        evidence_against: entry.evidence_against,
        needs_more_information: entry.needs_more_information,
        missing: entry.missing,
    }
}

fn conclusion(entry: ConclusionEntry) -> v1::InvestigationConclusion {
    v1::InvestigationConclusion { text: entry.text, next_steps: entry.next_steps }
}

/// Converts a hypothesis with what was brought on it.
pub(super) fn hypothesis(entry: HypothesisEntry) -> v1::HypothesisEntry {
    v1::HypothesisEntry {
        hypothesis: entry.hypothesis,
        investigator: entry.investigator.to_string(),
        statement: entry.statement,
        prediction: entry.prediction,
        status: status(entry.status),
        confidence: entry.confidence,
        refusals: entry.refusals,
        open_challenges: ids(&entry.open_challenges),
        trusted: entry.trusted,
        reports: entry.reports.into_iter().map(report).collect(),
        evidence: entry.evidence.into_iter().map(evidence).collect(),
    }
}

fn status(status: Status) -> String {
    status.as_str().to_owned()
}

fn ids(challenges: &[ChallengeId]) -> Vec<String> {
    challenges.iter().map(ToString::to_string).collect()
}

fn report(entry: ReportEntry) -> v1::ReportEntry {
    let stage = match entry.stage {
        Stage::Report => "report",
        Stage::Respond => "respond",
    };
    v1::ReportEntry {
        round: entry.round,
        stage: stage.to_owned(),
        status: status(entry.status),
        before: entry.before,
        stated: entry.stated,
        confidence: entry.confidence,
        key_finding: entry.key_finding,
    }
}

fn evidence(entry: EvidenceEntry) -> v1::EvidenceEntry {
    v1::EvidenceEntry {
        id: entry.id,
        supports: entry.supports,
        kind: entry.kind.map(EvidenceKind::as_str).map(str::to_owned),
        pointer: entry.pointer,
        quote: entry.quote,
        claim: entry.claim,
        check: entry.check.as_str().to_owned(),
        ignored: entry.ignored,
    }
}

/// Converts a challenge with what became of it.
pub(super) fn challenge(entry: ChallengeEntry) -> v1::ChallengeEntry {
    v1::ChallengeEntry {
        id: entry.id.to_string(),
        hypothesis: entry.hypothesis,
        kind: entry.kind.as_str().to_owned(),
        expects: entry.expects.as_str().to_owned(),
        challenge: entry.challenge,
        stance: entry.stance.map(Stance::as_str).map(str::to_owned),
        state: entry.state.as_str().to_owned(),
    }
}

fn violation(entry: ViolationEntry) -> v1::ViolationEntry {
    v1::ViolationEntry {
        shown_by: entry.shown_by,
        by: entry.by.to_string(),
        violation: entry.violation.to_owned(),
        consequence: entry.consequence.to_owned(),
        act: entry.act.map(str::to_owned),
        hypothesis: entry.hypothesis,
        challenge: entry.challenge.map(|id| id.to_string()),
    }
}

/// Converts how hypotheses stood after a round.
pub(super) fn standings(summary: &RoundSummarised) -> v1::RoundStandings {
    v1::RoundStandings {
        round: summary.round,
        standings: summary.standings.iter().map(standing).collect(),
        leading: summary.leading,
        lead: summary.lead,
    }
}

fn standing(standing: &Standing) -> v1::Standing {
    v1::Standing {
        hypothesis: standing.hypothesis,
        investigator: standing.investigator.to_string(),
        status: status(standing.status),
        confidence: standing.confidence,
        refusals: standing.refusals,
        open_challenges: ids(&standing.open_challenges),
        trusted: standing.trusted,
    }
}

fn metadata(metadata: Metadata) -> v1::InvestigationMetadata {
    v1::InvestigationMetadata {
        rounds: metadata.rounds,
        tokens: Some(tokens(metadata.tokens)),
        calls: metadata.calls,
        wall_clock_time_ms: metadata.wall_clock_time_ms,
        model: metadata.model,
    }
}

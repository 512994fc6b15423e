//! The result of a roundtable.

use debate_core::formats::roundtable::agent::Stance;
use debate_core::formats::roundtable::flags::FlagEntry;
use debate_core::formats::roundtable::outcome::{
    AgentResponse, CitationEntry, Decision, Evidence, ExitEntry, GroupthinkWarning, JudgementEntry, Metadata,
    ResponseEntry, Reused, RoundEntry, RoundtableResult, SpokenEntry, ToolRunEntry, WebSourceEntry,
};
use debate_proto::v1;

use super::{completeness, cost, texts, tokens};

/// Returns the result of a roundtable.
#[must_use]
pub fn roundtable_result(result: RoundtableResult) -> v1::RoundtableResult {
    v1::RoundtableResult {
        debate_id: result.debate_id.to_string(),
        topic: result.topic,
        mode: result.mode.as_str().to_owned(),
        completed_at: result.completed_at,
        decision: Some(decision(result.decision)),
        agent_responses: result.agent_responses.into_iter().map(agent_response).collect(),
        evidence: Some(evidence(result.evidence)),
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

fn decision(decision: Decision) -> v1::RoundtableDecision {
    v1::RoundtableDecision {
        consensus: decision.consensus.as_str().to_owned(),
        agreement_level: decision.agreement_level,
        action: decision.action.as_str().to_owned(),
        position: decision.position,
        supporters: texts(&decision.supporters),
        dissenters: texts(&decision.dissenters),
        confidence: decision.confidence,
        cautions: decision.cautions,
        missing: texts(&decision.missing),
    }
}

fn agent_response(agent: AgentResponse) -> v1::RoundtableAgentResponse {
    v1::RoundtableAgentResponse {
        agent: agent.agent.to_string(),
        role: agent.role.map(str::to_owned),
        shown_as: agent.shown_as,
        round: agent.round,
        response: Some(response(agent.response)),
    }
}

fn response(entry: ResponseEntry) -> v1::RoundtableResponse {
    let stance = |stance: Stance| stance.as_str().to_owned();
    v1::RoundtableResponse {
        kind: entry.kind.as_str().to_owned(),
        stance: entry.stance.map(stance),
        stance_forced: entry.stance_forced,
        stated_stance: entry.stated_stance.map(stance),
        position: entry.position,
        reasoning: entry.reasoning,
        confidence: entry.confidence,
        citations: entry.citations,
        refers_to: texts(&entry.refers_to),
    }
}

fn evidence(evidence: Evidence) -> v1::RoundtableEvidence {
    v1::RoundtableEvidence {
        rounds: evidence.rounds.into_iter().map(table_round).collect(),
        groupthink: evidence.groupthink.map(groupthink),
        cross_references: evidence.interaction.cross_references,
        rebuttal_depth: evidence.interaction.rebuttal_depth,
        question_response_pairs: evidence.interaction.question_response_pairs,
        convergence_round: evidence.convergence_round,
        citations: evidence.citations.into_iter().map(citation).collect(),
        citation_count: evidence.citation_count,
        citations_found: evidence.citations_found,
        tool_runs: evidence.tool_runs.into_iter().map(tool_run).collect(),
        web_sources: evidence.web_sources.into_iter().map(web_source).collect(),
    }
}

fn web_source(found: WebSourceEntry) -> v1::RoundtableWebSource {
    v1::RoundtableWebSource {
        agent: found.agent.to_string(),
        round: found.round,
        kind: found.kind.as_str().to_owned(),
        url: found.page.url,
        title: found.page.title,
        cited_text: found.page.cited_text,
    }
}

fn tool_run(run: ToolRunEntry) -> v1::RoundtableToolRun {
    let reused =
        |from: Reused| v1::RoundtableReusedToolRun { agent: from.agent.to_string(), round: from.round };
    v1::RoundtableToolRun {
        agent: run.agent.to_string(),
        round: run.round,
        kind: run.kind.as_str().to_owned(),
        tool: run.tool,
        arguments: run.arguments,
        ok: run.ok,
        latency_ms: run.latency_ms,
        reused_from: run.reused_from.map(reused),
        error: run.error,
    }
}

/// Converts a round.
pub(super) fn table_round(entry: RoundEntry) -> v1::RoundtableRound {
    v1::RoundtableRound {
        round: entry.round,
        responses: entry.responses.into_iter().map(spoken).collect(),
        judgements: entry.judgements.into_iter().map(judgement).collect(),
        focus: entry.focus,
    }
}

/// Converts what one agent said.
pub(super) fn spoken(entry: SpokenEntry) -> v1::RoundtableSpokenResponse {
    v1::RoundtableSpokenResponse { agent: entry.agent.to_string(), response: Some(response(entry.response)) }
}

fn judgement(judged: JudgementEntry) -> v1::RoundtableJudgement {
    v1::RoundtableJudgement {
        kind: judged.kind.as_str().to_owned(),
        agreement_level: judged.agreement_level,
        camps: judged.camps.iter().map(|camp| v1::RoundtableCamp { agents: texts(camp) }).collect(),
        overlap: judged.overlap,
        steady: texts(&judged.steady),
        groupthink_checked: judged.groupthink_signs.is_some(),
        groupthink_signs: texts(judged.groupthink_signs.unwrap_or_default().iter().map(|sign| sign.name())),
    }
}

fn groupthink(found: GroupthinkWarning) -> v1::RoundtableGroupthink {
    v1::RoundtableGroupthink {
        detected: found.detected,
        rounds: found.rounds,
        indicators: found.indicators,
        recommendation: found.recommendation,
        action: found.action.as_str().to_owned(),
        after_repoll: found.after_repoll,
    }
}

fn citation(cited: CitationEntry) -> v1::RoundtableCitation {
    v1::RoundtableCitation { source: cited.source, agent: cited.agent.to_string(), round: cited.round }
}

fn metadata(metadata: Metadata) -> v1::RoundtableMetadata {
    v1::RoundtableMetadata {
        rounds_held: metadata.rounds_held,
        rounds_max: metadata.rounds_max,
        execution_pattern: metadata.execution_pattern.as_str().to_owned(),
        parallelization: metadata.parallelization.as_str().to_owned(),
        similarity: metadata.similarity.as_str().to_owned(),
        exit: metadata.exit.map(exit),
        shadow_exits: metadata.shadow_exits.into_iter().map(exit).collect(),
        flags: metadata.flags.iter().map(flag).collect(),
        tokens: Some(tokens(metadata.tokens)),
        calls: metadata.calls,
        wall_clock_time_ms: metadata.wall_clock_time_ms,
        model: metadata.model,
    }
}

fn exit(entry: ExitEntry) -> v1::RoundtableExit {
    v1::RoundtableExit {
        reason: entry.reason.to_owned(),
        details: entry.details,
        statistic: entry.statistic,
        threshold: entry.threshold,
    }
}

fn flag(entry: &FlagEntry) -> v1::RoundtableFlag {
    v1::RoundtableFlag {
        flag: entry.flag.to_owned(),
        variable: entry.variable.to_owned(),
        value: entry.value.to_string(),
        source: entry.source.as_str().to_owned(),
    }
}

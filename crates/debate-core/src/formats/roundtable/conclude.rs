//! The result of a roundtable, computed from the state alone (rules K4, K6, T5, T6, T10).

use super::call::{self, Kind};
use super::config::{AGENTS_MIN, PROCEED_CONFIDENCE_MIN};
use super::fact::{ResponseGiven, RoundJudged};
use super::outcome::{
    AgentResponse, Consensus, Decision, ExitEntry, Metadata, NextStep, ResponseEntry, RoundtableResult, role,
};
use super::{Roundtable, evidence, plan, strategy};
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::id::Role;
use crate::measures::{TOLERANCE, summary};
use crate::prose::{REDACTED, Texts};
use crate::stop::{Completeness, StopRule};

/// Returns the result as it stands.
pub(super) fn outcome(debate: &Debate<Roundtable>, texts: Texts) -> RoundtableResult {
    let completeness = debate.completeness();
    let standings = standings(debate);
    let evidence = evidence::of(debate, texts);
    RoundtableResult {
        debate_id: debate.id(),
        topic: texts.of(debate.brief()).map_or_else(|| REDACTED.to_owned(), |brief| brief.topic.clone()),
        mode: debate.config().mode,
        completed_at: debate.conclusion().map(|(_, at)| at.to_string()).unwrap_or_default(),
        decision: decision(debate, &standings, &completeness, texts),
        agent_responses: standings.iter().map(|given| agent_response(debate, given, texts)).collect(),
        evidence,
        metadata: metadata(debate),
        completeness,
        stop_reason: debate.stop_reason().to_owned(),
        simulated: debate.is_simulated(),
        usage_complete: debate.spend().complete,
        thinking_tokens: debate.spend().thinking,
        cost: debate.spend().cost,
        unpriced_models: debate.unpriced_if_cost_known(),
        redacted: debate.is_redacted(),
    }
}

/// Returns the mean confidence of the agents in their current positions, in [0, 1]; 0 if no agent spoke.
#[must_use]
pub fn confidence(debate: &Debate<Roundtable>) -> f64 {
    let confidences: Vec<f64> = standings(debate).iter().map(|given| given.confidence).collect();
    summary::mean(&confidences).unwrap_or_default()
}

/// Returns where every agent stands that has spoken: its last response, in the table's order.
fn standings(debate: &Debate<Roundtable>) -> Vec<&ResponseGiven> {
    let (config, state) = (debate.config(), debate.state());
    let rounds = state.rounds_spoken();
    let last = |name: &Role| (1..=rounds).rev().find_map(|round| state.standing(round, name));
    config.agents.iter().filter_map(|agent| last(&agent.name)).collect()
}

fn agent_response(debate: &Debate<Roundtable>, given: &ResponseGiven, texts: Texts) -> AgentResponse {
    let config = debate.config();
    let agent = config.agent(&given.agent);
    let shown_as = agent.filter(|_| config.mode.strategy().is_anonymous()).map(strategy::label);
    AgentResponse {
        agent: given.agent.clone(),
        role: role(agent.and_then(|agent| agent.part)),
        shown_as,
        round: given.round,
        response: entry(given, texts),
    }
}

/// Returns a response as results show it.
#[must_use]
pub fn entry(given: &ResponseGiven, texts: Texts) -> ResponseEntry {
    let words = texts.of(&given.prose);
    let shown = |text: fn(&super::fact::ResponseProse) -> &String| {
        words.map_or_else(|| REDACTED.to_owned(), |words| text(words).clone())
    };
    ResponseEntry {
        kind: given.kind,
        stance: given.stance,
        stance_forced: given.forced,
        stated_stance: given.stated_stance,
        position: shown(|words| &words.position),
        reasoning: shown(|words| &words.reasoning),
        confidence: given.confidence,
        citations: words.map(|words| words.citations.clone()).unwrap_or_default(),
        refers_to: given.refers_to.clone(),
    }
}

fn decision(
    debate: &Debate<Roundtable>,
    standings: &[&ResponseGiven],
    completeness: &Completeness,
    texts: Texts,
) -> Decision {
    let verdict = debate.state().verdict(debate.state().rounds_judged());
    let agreement_level = verdict.map_or(0.0, |verdict| verdict.agreement);
    let camp = verdict.map(largest_camp).unwrap_or_default();
    let is_present =
        |name: &Role| verdict.is_some_and(|verdict| verdict.camps.iter().flatten().any(|of| of == name));
    let names = debate.config().agents.iter().map(|agent| agent.name.clone());
    let (present, missing): (Vec<Role>, Vec<Role>) = names.partition(is_present);
    let (supporters, dissenters) = present.into_iter().partition(|name| camp.contains(name));
    let first = standings.iter().find(|given| camp.first() == Some(&given.agent));
    let consensus = match agreement_level {
        level if level >= Consensus::HIGH_MIN - TOLERANCE => Consensus::High,
        level if level >= Consensus::MEDIUM_MIN - TOLERANCE => Consensus::Medium,
        _low => Consensus::Low,
    };
    let cautions = cautions(debate, completeness);
    Decision {
        consensus,
        agreement_level,
        action: match consensus {
            Consensus::High if cautions.is_empty() => NextStep::Proceed,
            Consensus::High | Consensus::Medium => NextStep::Verify,
            Consensus::Low => NextStep::QueryDetail,
        },
        position: first.map(|given| entry(given, texts).position),
        supporters,
        dissenters,
        missing,
        confidence: confidence(debate),
        cautions,
    }
}

/// Returns the largest camp of a round, the first founded among equals.
fn largest_camp(judged: &RoundJudged) -> Vec<Role> {
    let largest = judged.camps.iter().map(Vec::len).max().unwrap_or_default();
    judged.camps.iter().find(|camp| camp.len() == largest).cloned().unwrap_or_default()
}

/// Returns what speaks against trusting a decision (rules K6, T3, T5).
fn cautions(debate: &Debate<Roundtable>, completeness: &Completeness) -> Vec<String> {
    let mut cautions = Vec::from_iter(debate.replacement_note());
    if let Some(found) = evidence::groupthink(debate).filter(|found| found.detected) {
        let rounds: Vec<String> = found.rounds.iter().map(u32::to_string).collect();
        let ended = match debate.stop_rule() {
            Some(StopRule::Confidence) => "; the debate ended on confidence, which is one of its signs",
            Some(_) | None => "",
        };
        cautions.push(format!("signs of groupthink in round {}{ended}", rounds.join(", ")));
    }
    let forced = debate.state().responses(debate.config()).filter(|given| given.forced).count();
    if forced > 0 {
        cautions.push(format!("{forced} stances were forced and are not those that agents gave"));
    }
    let missing: Vec<&str> = debate.config().tools_missing.iter().map(|tool| tool.as_str()).collect();
    if !missing.is_empty() {
        cautions.push(format!("agents could not use {}: nothing searched here", missing.join(", ")));
    }
    if *completeness != Completeness::Full {
        cautions.push(format!("the result is {}", completeness.as_str()));
    }
    if debate.config().has_revised_rules() {
        let verdict = debate.state().verdict(debate.state().rounds_judged());
        for agents in verdict.into_iter().flat_map(|verdict| &verdict.identical) {
            let agents: Vec<&str> = agents.iter().map(Role::as_str).collect();
            cautions.push(format!("{} gave the same answer, word for word", agents.join(" and ")));
        }
        let confidence = confidence(debate);
        if confidence < PROCEED_CONFIDENCE_MIN - TOLERANCE {
            cautions.push(format!("the mean confidence is {confidence:.2}, below {PROCEED_CONFIDENCE_MIN}"));
        }
    }
    cautions
}

fn metadata(debate: &Debate<Roundtable>) -> Metadata {
    let (config, spend) = (debate.config(), debate.spend());
    Metadata {
        rounds_held: debate.state().rounds_spoken(),
        rounds_max: debate.state().rounds_max(),
        execution_pattern: config.mode.strategy().pattern,
        parallelization: config.parallelization(),
        similarity: config.similarity,
        exit: debate.stop().map(exit),
        shadow_exits: debate.shadows().iter().map(exit).collect(),
        flags: config.flags.entries(),
        tokens: spend.known,
        calls: spend.calls,
        wall_clock_time_ms: debate.wall_clock_ms(),
        model: debate.model_names(),
    }
}

fn exit(fired: &StopRuleFired) -> ExitEntry {
    let StopRuleFired { rule, statistic, threshold, .. } = fired;
    let details = match rule {
        StopRule::Consensus => format!("Agreement level {statistic} >= threshold {threshold}"),
        StopRule::Convergence => format!("Positions stable for {threshold} rounds"),
        StopRule::Confidence => format!("All agents confidence >= {threshold}"),
        StopRule::MaxRounds => format!("Reached maximum rounds ({threshold})"),
        StopRule::Concluded
        | StopRule::Deadline
        | StopRule::Budget
        | StopRule::Cancelled
        | StopRule::Failed => fired.name().to_owned(),
    };
    ExitEntry { reason: rule.as_str(), details, statistic: *statistic, threshold: *threshold }
}

/// Returns how whole the result is, were the debate to conclude now (rules K6, P16).
pub(super) fn completeness(debate: &Debate<Roundtable>) -> Completeness {
    let (config, state) = (debate.config(), debate.state());
    let spoke = state.speakers(config);
    let all = config.agents.len();
    if spoke < AGENTS_MIN {
        let why = vec![format!("{spoke} of {all} agents spoke; {AGENTS_MIN} are needed")];
        return Completeness::Void { why };
    }
    let early = debate.early_stop();
    let mut why: Vec<String> = early.iter().map(|fired| format!("stopped by {}", fired.name())).collect();
    let mut missing = Vec::new();
    for agent in config.agents.iter().filter(|agent| plan::is_missing(debate, &agent.name)) {
        missing.push(agent.name.to_string());
        why.push(format!("{} gave no usable answer after its retries", agent.name));
    }
    let rounds =
        if early.is_some() || debate.stop().is_none() { state.rounds_max() } else { state.rounds_judged() };
    let present = config.agents.iter().filter(|agent| !plan::is_missing(debate, &agent.name));
    for (round, agent) in (1..=rounds).flat_map(|round| present.clone().map(move |agent| (round, agent))) {
        if state.response(Kind::Respond, round, &agent.name).is_none() {
            missing.push(call::key(Kind::Respond, round, &agent.name).to_string());
        }
        let repoll = call::key(Kind::Repoll, round, &agent.name);
        if debate.is_failed(&repoll, debate.revision(&repoll)) {
            missing.push(repoll.to_string());
            why.push(format!("{} gave no usable answer when asked again", agent.name));
        }
    }
    Completeness::of(missing, why)
}

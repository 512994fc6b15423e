//! Parts of a roundtable's result as tools return them: computed from the result alone, without asking a model.

use debate_core::formats::roundtable::call::Kind;
use debate_core::formats::roundtable::outcome::{RoundEntry, RoundtableResult, SpokenEntry};
use debate_core::measures::agreement::is_steady;
use debate_core::prose::REDACTED;
use serde_json::{Value, json};

/// Returns how far the agents agree.
pub(crate) fn consensus((result, state): &(RoundtableResult, &'static str)) -> Value {
    let rounds = result.evidence.rounds.iter().map(|round| {
        let last = round.judgements.last();
        json!({
            "round": round.round,
            "agreement_level": last.map(|judged| judged.agreement_level),
            "camps": last.map(|judged| &judged.camps),
        })
    });
    json!({
        "debate_id": result.debate_id,
        "state": state,
        "decision": result.decision,
        "rounds": rounds.collect::<Vec<_>>(),
        "groupthink": result.evidence.groupthink,
        "convergence_round": result.evidence.convergence_round,
    })
}

/// Returns what an agent said, in one round or in all.
pub(crate) fn responses(result: &RoundtableResult, agent: Option<&str>, round: Option<u32>) -> Value {
    let responses = by(result, agent, round).map(|(entry, said)| {
        let mut response = json!(said.response);
        response["round"] = entry.round.into();
        response
    });
    json!({ "debate_id": result.debate_id, "agent": agent, "responses": responses.collect::<Vec<_>>() })
}

/// Returns the sources that were named, each once, with who named it, and the pages that providers searched for.
pub(crate) fn citations(result: &RoundtableResult, agent: Option<&str>, round: Option<u32>) -> Value {
    let mut sources: Vec<(&str, Vec<Value>)> = Vec::new();
    for (entry, said) in by(result, agent, round) {
        for source in &said.response.citations {
            let naming = json!({ "agent": said.agent, "round": entry.round });
            match sources.iter_mut().find(|(known, _)| known == source) {
                Some((_, namings)) => namings.push(naming),
                None => sources.push((source, vec![naming])),
            }
        }
    }
    let citations = sources.iter().map(|(source, by)| json!({ "source": source, "named_by": by }));
    let found = result.evidence.web_sources.iter().filter(|found| {
        agent.is_none_or(|agent| agent == found.agent.as_str())
            && round.is_none_or(|round| round == found.round)
    });
    json!({
        "debate_id": result.debate_id,
        "citations": citations.collect::<Vec<_>>(),
        "web_sources": found.collect::<Vec<_>>(),
    })
}

/// Returns how an agent's position came about, by round; an answer when asked again stands behind the one before.
pub(crate) fn thoughts(result: &RoundtableResult, agent: Option<&str>) -> Value {
    let mut confidence_before: Option<f64> = None;
    let thoughts = by(result, agent, None).map(|(entry, said)| {
        let response = &said.response;
        let change =
            confidence_before.replace(response.confidence).map(|before| response.confidence - before);
        json!({
            "round": entry.round,
            "kind": response.kind,
            "stance": response.stance,
            "position": response.position,
            "reasoning": response.reasoning,
            "confidence": response.confidence,
            "confidence_change": change,
            "refers_to": response.refers_to,
            "moved": moved(result, entry, said),
        })
    });
    let thoughts: Vec<Value> = thoughts.collect();
    let role = result.agent_responses.iter().find(|known| Some(known.agent.as_str()) == agent);
    json!({
        "debate_id": result.debate_id,
        "agent": agent,
        "role": role.and_then(|known| known.role),
        "thoughts": thoughts,
    })
}

/// Returns what a roundtable comes to.
pub(crate) fn synthesis((result, state): &(RoundtableResult, &'static str)) -> Value {
    let judged = result.evidence.rounds.iter().rev().find_map(|round| round.judgements.last());
    let position = |name: &str| {
        let agent = result.agent_responses.iter().find(|known| known.agent.as_str() == name);
        agent.map(|known| known.response.position.as_str())
    };
    let mut camps = judged.map(|judged| judged.camps.clone()).unwrap_or_default();
    camps.sort_by_key(|camp| std::cmp::Reverse(camp.len()));
    let camps = camps.iter().map(
        |camp| json!({ "agents": camp, "position": camp.first().and_then(|first| position(first.as_str())) }),
    );
    json!({
        "debate_id": result.debate_id,
        "state": state,
        "topic": result.topic,
        "decision": result.decision,
        "camps": camps.collect::<Vec<_>>(),
        "moves": moves(result),
        "citation_count": result.evidence.citation_count,
        "completeness": result.completeness,
    })
}

/// Returns where agents changed their positions, in order.
fn moves(result: &RoundtableResult) -> Vec<Value> {
    let mut before: Vec<(&str, &str)> = Vec::new();
    let mut moves = Vec::new();
    for (entry, said) in spoken(result) {
        let (agent, position) = (said.agent.as_str(), said.response.position.as_str());
        match before.iter_mut().find(|(known, _)| *known == agent) {
            Some((_, held)) => {
                let from = std::mem::replace(held, position);
                if moved(result, entry, said) == Some(true) {
                    moves.push(json!({ "agent": agent, "round": entry.round, "from": from, "to": position }));
                }
            }
            None => before.push((agent, position)),
        }
    }
    moves
}

/// Returns whether an agent gave up the position it had before: in the round before, or, where it was asked again, at
/// first in the same round. None where that is not known, and for first answers of the first round.
fn moved(result: &RoundtableResult, entry: &RoundEntry, said: &SpokenEntry) -> Option<bool> {
    let first = entry.responses.iter().find(|first| {
        (said.response.kind, first.response.kind) == (Kind::Repoll, Kind::Respond)
            && first.agent == said.agent
    });
    if let Some(first) = first {
        let (before, after) = (&first.response.position, &said.response.position);
        let is_known = before != REDACTED && after != REDACTED;
        return is_known.then(|| !is_steady(result.metadata.similarity, before, after));
    }
    let judged = entry.judgements.iter().find(|judged| judged.kind == said.response.kind)?;
    (entry.round > 1).then(|| !judged.steady.contains(&said.agent))
}

/// Returns what an agent said, or everybody, in a round, or in all.
fn by<'a>(
    result: &'a RoundtableResult,
    agent: Option<&'a str>,
    round: Option<u32>,
) -> impl Iterator<Item = (&'a RoundEntry, &'a SpokenEntry)> {
    spoken(result).filter(move |(entry, said)| {
        agent.is_none_or(|agent| agent == said.agent.as_str())
            && round.is_none_or(|round| round == entry.round)
    })
}

fn spoken(result: &RoundtableResult) -> impl Iterator<Item = (&RoundEntry, &SpokenEntry)> {
    result.evidence.rounds.iter().flat_map(|entry| entry.responses.iter().map(move |said| (entry, said)))
}

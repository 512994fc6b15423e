//! What a reply means as a fact: validated by the mode's strategy (rules T2, T3), with what follows from its words.

use super::Roundtable;
use super::answer::Answer;
use super::call::{Call, Kind};
use super::config::Config;
use super::fact::{ResponseGiven, ResponseProse};
use super::strategy::{self, Claims};
use crate::call::CallKey;
use crate::debate::Debate;
use crate::id::Role;
use crate::measures::cross_reference::{mentions, questions, refers_by_phrase, restates, takes_up};
use crate::prose::Prose;
use crate::request::sizes::CITATIONS_MAX;

/// The most questions of others that one response takes up (rule T11).
const TAKEN_UP_MAX: usize = 3;

/// Returns what a reply means, or why it cannot be used.
pub(super) fn response(
    debate: &Debate<Roundtable>,
    call: &Call,
    revision: u32,
    answer: &Answer,
) -> Result<ResponseGiven, String> {
    if answer.position.trim().is_empty() {
        return Err("the reply has no position".to_owned());
    }
    if !answer.confidence.is_finite() {
        return Err("the reply has no confidence".to_owned());
    }
    let config = debate.config();
    let part = config.agent(&call.agent).and_then(|agent| agent.part);
    let stated = Claims { stance: answer.stance, confidence: answer.confidence, forced: false };
    let claims = config.mode.strategy().validate_response(part, stated);
    let said = format!("{}\n{}", answer.position, answer.reasoning);
    let refers_to = refers_to(config, &call.agent, &said);
    let taken_up = questions_taken_up(debate, call, &refers_to, &said);
    let citations: Vec<String> = answer.citations.iter().take(CITATIONS_MAX).cloned().collect();
    Ok(ResponseGiven {
        kind: call.kind,
        round: call.round,
        agent: call.agent.clone(),
        revision,
        stance: claims.stance,
        forced: claims.forced,
        stated_stance: stated.stance.filter(|_| claims.forced),
        confidence: claims.confidence,
        stated_confidence: Some(stated.confidence).filter(|stated| *stated != claims.confidence),
        refers_by_phrase: refers_by_phrase(&said),
        questions: count(questions(&said).len()),
        questions_taken_up: count(taken_up),
        citations: count(citations.len()),
        citations_found: count(citations.iter().filter(|source| is_found(debate, call, source)).count()),
        refers_to,
        prose: Prose::new(ResponseProse {
            position: answer.position.trim().to_owned(),
            reasoning: answer.reasoning.trim().to_owned(),
            citations,
        }),
    })
}

fn count(of: usize) -> u32 {
    u32::try_from(of).unwrap_or(u32::MAX)
}

/// Returns whether a source, or the address in it, stands in what some tool has found for the one who answers, or for
/// anybody in an earlier round: what others of the same round have found by now is a matter of time.
fn is_found(debate: &Debate<Roundtable>, call: &Call, source: &str) -> bool {
    let address = source.split_whitespace().find(|word| word.contains("://"));
    let trimmed = |word: &str| word.trim_matches(|c: char| "<>()[]{}\"'.,;".contains(c)).to_owned();
    let sought = trimmed(address.unwrap_or(source).trim());
    let counts = |of: &CallKey| of.round < call.round || of.round == call.round && of.role == call.agent;
    let runs = debate.tool_runs().filter(|run| counts(run.call));
    let mut found = runs.filter(|run| run.tool.answered == Some(true));
    !sought.is_empty() && found.any(|run| run.tool.result.shown().is_some_and(|said| said.contains(&sought)))
}

/// Returns the other agents that a text names, by the names under which they are shown.
fn refers_to(config: &Config, speaker: &Role, said: &str) -> Vec<Role> {
    let is_anonymous = config.mode.strategy().is_anonymous();
    let others = config.agents.iter().filter(|agent| agent.name != *speaker);
    let named = others.filter(|agent| {
        let label = strategy::label(agent);
        !mentions(said, if is_anonymous { &label } else { agent.name.as_str() }).is_empty()
    });
    named.map(|agent| agent.name.clone()).collect()
}

/// Returns how many questions of others in the round before a text takes up: by their words, or by naming who put
/// them. A topic or focus that an agent puts again does not count as its question.
fn questions_taken_up(debate: &Debate<Roundtable>, call: &Call, refers_to: &[Role], said: &str) -> usize {
    let Some(before) = call.round.checked_sub(1).filter(|_| call.kind == Kind::Respond) else {
        return 0;
    };
    let (subject, state) = (subject(debate, before), debate.state());
    let asked = state.round(debate.config(), before, Kind::Respond);
    let asked = asked.filter(|given| given.agent != call.agent).flat_map(|given| {
        let prose = given.prose.shown();
        let words = prose.map(|prose| format!("{}\n{}", prose.position, prose.reasoning)).unwrap_or_default();
        let is_named = refers_to.contains(&given.agent);
        let own = questions(&words).into_iter().filter(|question| !restates(question, &subject));
        own.map(|question| is_named || takes_up(said, question, &subject)).collect::<Vec<_>>()
    });
    asked.filter(|taken_up| *taken_up).take(TAKEN_UP_MAX).count()
}

/// Returns what everybody spoke of from a round to the next: the topic, and what these rounds were added to deal with.
fn subject(debate: &Debate<Roundtable>, round: u32) -> String {
    let topic = debate.brief().shown().map(|brief| brief.topic.as_str());
    let focuses = [round, round + 1].map(|round| debate.state().focus(round).and_then(Prose::shown));
    let focuses = focuses.into_iter().flatten().map(String::as_str);
    topic.into_iter().chain(focuses).collect::<Vec<_>>().join("\n")
}

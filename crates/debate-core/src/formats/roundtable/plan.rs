//! Which questions of a roundtable are open, and what follows when they are answered: one plan for all modes (rules T1,
//! T4).

use super::call;
use super::call::Kind;
use super::config::AGENTS_MIN;
use super::fact::{Fact, ResponseGiven};
use super::flags::Action;
use super::mode::Parallelization;
use super::{Roundtable, exit, judge};
use crate::call::{CallKey, Want};
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::format::Step;
use crate::id::Role;
use crate::stop::StopRule;

/// The phase of a round.
pub(super) const ROUND: &str = "round";

/// The rule that a rejected response breaks.
const STANCE_RULE: &str = "T3";

/// Returns the questions whose answers are needed now.
pub(super) fn wanted(debate: &Debate<Roundtable>) -> Vec<Want> {
    let Some((_, round)) = debate.phase().filter(|_| debate.stop().is_none()) else {
        return Vec::new();
    };
    if is_repolling(debate, round) {
        return unsettled(debate, Kind::Repoll, round)
            .map(|name| want(debate, Kind::Repoll, round, name))
            .collect();
    }
    let last = debate.config().agents.last().map(|agent| &agent.name);
    let mut to_speak: Vec<&Role> = unsettled(debate, Kind::Respond, round).collect();
    match debate.config().parallelization() {
        Parallelization::None => to_speak.truncate(1),
        Parallelization::LastOnly if to_speak.len() > 1 => to_speak.retain(|name| Some(*name) != last),
        Parallelization::LastOnly | Parallelization::Full => {}
    }
    to_speak.into_iter().map(|name| want(debate, Kind::Respond, round, name)).collect()
}

fn want(debate: &Debate<Roundtable>, kind: Kind, round: u32, agent: &Role) -> Want {
    let call = call::key(kind, round, agent);
    let revision = debate.revision(&call);
    Want { call, revision }
}

/// Returns the agents of which an answer is still to come, in the table's order.
fn unsettled<'a>(
    debate: &'a Debate<Roundtable>,
    kind: Kind,
    round: u32,
) -> impl Iterator<Item = &'a Role> + use<'a> {
    let names = debate.config().agents.iter().map(|agent| &agent.name);
    names.filter(move |name| !is_settled(debate, &call::key(kind, round, name), name))
}

fn is_settled(debate: &Debate<Roundtable>, key: &CallKey, agent: &Role) -> bool {
    let revision = debate.revision(key);
    debate.is_answered(key, revision) || debate.is_failed(key, revision) || is_missing(debate, agent)
}

/// Returns whether an agent has failed for good in some round and said nothing there; it is then gone for all others.
pub(super) fn is_missing(debate: &Debate<Roundtable>, agent: &Role) -> bool {
    (1..=debate.state().rounds_max()).any(|round| {
        let key = call::key(Kind::Respond, round, agent);
        debate.is_failed(&key, debate.revision(&key))
            && debate.state().response(Kind::Respond, round, agent).is_none()
    })
}

/// Returns whether a round's agents agreed too easily and are to be asked once more (rule T6).
fn is_repolling(debate: &Debate<Roundtable>, round: u32) -> bool {
    let judged = debate.state().judged(round, Kind::Respond);
    let detected = judged.and_then(|judged| judged.groupthink.as_ref()).is_some_and(|found| found.detected);
    detected && debate.config().flags.groupthink_action.value == Action::Repoll
}

/// Returns whether a round's answers of one kind are still to be looked at as a whole.
fn is_unjudged(debate: &Debate<Roundtable>, round: u32, kind: Kind) -> bool {
    let state = debate.state();
    state.judged(round, kind).is_none() && state.round(debate.config(), round, kind).next().is_some()
}

/// Returns whether nothing more is to be had in a round.
fn is_over(debate: &Debate<Roundtable>, round: u32) -> bool {
    is_heard(debate, round, Kind::Respond)
        && (!is_repolling(debate, round) || is_heard(debate, round, Kind::Repoll))
}

/// Returns whether all of a round's answers of one kind are there, and were looked at.
fn is_heard(debate: &Debate<Roundtable>, round: u32, kind: Kind) -> bool {
    unsettled(debate, kind, round).next().is_none() && !is_unjudged(debate, round, kind)
}

/// Returns the next thing that follows from the state without asking anybody.
pub(super) fn advance(debate: &Debate<Roundtable>) -> Option<Step<Fact>> {
    let Some((_, round)) = debate.phase() else {
        return Some(between_rounds(debate));
    };
    if debate.stop().is_none() {
        if let Some(reject) = rejection(debate, round) {
            return Some(reject);
        }
        let agents = debate.config().agents.iter();
        let alive = agents.filter(|agent| !is_missing(debate, &agent.name)).count();
        if alive < AGENTS_MIN {
            return Some(Step::Stop(fired(StopRule::Failed, alive as f64, AGENTS_MIN as f64)));
        }
    }
    // A round that was cut short is looked at too: the result stands on what there is.
    let is_stopping = debate.stop().is_some();
    let due = Kind::ALL.into_iter().find(|kind| {
        let is_complete = is_stopping || unsettled(debate, *kind, round).next().is_none();
        is_complete && is_unjudged(debate, round, *kind)
    });
    if let Some(kind) = due {
        return Some(Step::Record(vec![judge::round(debate, round, kind).into()]));
    }
    (is_stopping || is_over(debate, round)).then_some(Step::ClosePhase { phase: ROUND, round })
}

fn between_rounds(debate: &Debate<Roundtable>) -> Step<Fact> {
    if debate.stop().is_some() {
        return Step::Conclude;
    }
    let rounds = debate.state().rounds_max();
    let next = (1..=rounds).find(|round| !is_over(debate, *round));
    let held = next.map_or(rounds, |next| next - 1);
    if let Some(fired) = exit::due(debate, held) {
        return Step::Stop(fired);
    }
    match next {
        Some(round) => Step::OpenPhase { phase: ROUND, round },
        None => Step::Stop(fired(StopRule::MaxRounds, f64::from(rounds), f64::from(rounds))),
    }
}

/// Returns a stop that ends the debate at once.
pub(super) fn fired(rule: StopRule, statistic: f64, threshold: f64) -> StopRuleFired {
    StopRuleFired { rule, budget: None, statistic, threshold, shadow: false, closing: false }
}

/// Returns the first response whose stance had to be forced and that was not asked again yet (rule T3).
fn rejection(debate: &Debate<Roundtable>, round: u32) -> Option<Step<Fact>> {
    let config = debate.config();
    Kind::ALL.into_iter().flat_map(|kind| debate.state().round(config, round, kind)).find_map(|given| {
        let key = call::key(given.kind, round, &given.agent);
        let call = debate.call(&key).filter(|call| call.rejections == 0 && call.is_answered())?;
        let is_standing = given.revision == call.revision;
        (given.forced && is_standing).then(|| Step::Reject {
            want: Want { revision: call.revision, call: key },
            rules: vec![STANCE_RULE.to_owned()],
            reason: reason(given),
        })
    })
}

fn reason(given: &ResponseGiven) -> String {
    let expected = given.stance.map_or("", super::agent::Stance::as_str);
    match given.stated_stance {
        Some(stated) => {
            format!("The stance is {}; the one assigned to you is {expected}.", stated.as_str())
        }
        None => format!("There is no stance; the one assigned to you is {expected}."),
    }
}

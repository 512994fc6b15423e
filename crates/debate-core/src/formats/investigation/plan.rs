//! Which questions of an investigation are open, and what follows when they are answered (rule I7).
//!
//! A round is: all investigators report side by side, the devil's advocate challenges, those who are challenged answer
//! side by side, the synthesizer says where things stand. After the last round the synthesizer rules and the lead conveys.

use super::Investigation;
use super::call::Call;
use super::config::{HYPOTHESES_MIN, Seat};
use super::fact::Fact;
use super::standing;
use crate::call::Want;
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::format::Step;
use crate::id::Role;
use crate::stop::StopRule;

/// The phase in which the lead proposes hypotheses.
pub(super) const PROPOSAL: &str = "proposal";
/// The phase that a round is.
pub(super) const DEBATE: &str = "debate";

/// Returns the questions whose answers are needed now.
pub(super) fn wanted(debate: &Debate<Investigation>) -> Vec<Want> {
    match debate.phase() {
        None if debate.stop().is_some() => {
            closing(debate).into_iter().map(|call| want(debate, &call)).collect()
        }
        Some(_) if debate.stop().is_some() => Vec::new(),
        None => Vec::new(),
        Some((PROPOSAL, _)) => vec![want(debate, &Call::Propose)],
        Some((_, round)) => of_round(debate, round).iter().map(|call| want(debate, call)).collect(),
    }
}

fn want(debate: &Debate<Investigation>, call: &Call) -> Want {
    let call = call.key();
    Want { revision: debate.revision(&call), call }
}

/// Returns whether nothing more is to be had from a question.
fn is_settled(debate: &Debate<Investigation>, call: &Call) -> bool {
    let Want { call, revision } = want(debate, call);
    debate.is_answered(&call, revision) || debate.is_failed(&call, revision)
}

/// Returns whether a question has failed for good.
pub(super) fn is_failed(debate: &Debate<Investigation>, call: &Call) -> bool {
    let Want { call, revision } = want(debate, call);
    debate.is_failed(&call, revision)
}

/// Returns whether an investigator has failed for good up to a round, so that it is not asked again.
pub(super) fn is_missing(debate: &Debate<Investigation>, investigator: &Role, up_to: u32) -> bool {
    (1..=up_to).any(|round| {
        let investigator = || investigator.clone();
        is_failed(debate, &Call::Report { round, investigator: investigator() })
            || is_failed(debate, &Call::Respond { round, investigator: investigator() })
    })
}

/// Returns the open questions of a round that can be asked now; none once it is over.
fn of_round(debate: &Debate<Investigation>, round: u32) -> Vec<Call> {
    let (config, state) = (debate.config(), debate.state());
    let alive = || state.seats(config).filter(|seat| !is_missing(debate, &seat.investigator, round));
    let report = |seat: &Seat| Call::Report { round, investigator: seat.investigator.clone() };
    let reports: Vec<Call> = alive().map(report).filter(|call| !is_settled(debate, call)).collect();
    if !reports.is_empty() || state.last_round() == 0 || alive().next().is_none() {
        return reports;
    }
    let challenge = Call::Challenge { round };
    if !is_settled(debate, &challenge) {
        return vec![challenge];
    }
    let challenged = alive().filter(|seat| !state.to_answer(seat.hypothesis, round).is_empty());
    let respond = |seat: &Seat| Call::Respond { round, investigator: seat.investigator.clone() };
    let responses: Vec<Call> = challenged.map(respond).filter(|call| !is_settled(debate, call)).collect();
    if !responses.is_empty() {
        return responses;
    }
    let status = Call::Status { round };
    if is_settled(debate, &status) { Vec::new() } else { vec![status] }
}

/// Returns the question that is open once the rounds have ended; none once all is said.
fn closing(debate: &Debate<Investigation>) -> Option<Call> {
    let round = debate.state().last_round();
    let is_closing = debate.stop().is_some_and(|fired| fired.closing) && round > 0;
    let calls = [Call::Verdict { round }, Call::Convey { round }].into_iter();
    calls.filter(|_| is_closing).find(|call| !is_settled(debate, call))
}

/// Returns the next thing that follows from the state without asking anybody.
pub(super) fn advance(debate: &Debate<Investigation>) -> Option<Step<Fact>> {
    let Some((phase, round)) = debate.phase() else {
        return between_phases(debate);
    };
    let is_proposal = phase == PROPOSAL;
    let close = Step::ClosePhase { phase: if is_proposal { PROPOSAL } else { DEBATE }, round };
    if debate.is_stopped() {
        return Some(close);
    }
    if is_proposal {
        return (debate.stop().is_some() || is_settled(debate, &Call::Propose)).then_some(close);
    }
    let is_over = of_round(debate, round).is_empty();
    if is_over && debate.state().last_round() == 0 {
        return Some(failed(0, 1));
    }
    if debate.stop().is_none() && !is_over {
        return None;
    }
    let is_worth_it = is_over || debate.state().last_round() == round;
    if is_worth_it && debate.state().summary(round).is_none() {
        return Some(Step::Record(vec![standing::summary(debate, round).into()]));
    }
    Some(close)
}

fn between_phases(debate: &Debate<Investigation>) -> Option<Step<Fact>> {
    if debate.stop().is_some() {
        return closing(debate).is_none().then_some(Step::Conclude);
    }
    let state = debate.state();
    if state.hypotheses().is_none() {
        let propose = Call::Propose;
        let has_failed = is_failed(debate, &propose);
        return Some(if has_failed {
            failed(0, HYPOTHESES_MIN)
        } else {
            Step::OpenPhase { phase: PROPOSAL, round: 1 }
        });
    }
    let over = state.rounds_over();
    let fired = if over == 0 { None } else { standing::convergence(debate, over) };
    Some(fired.map_or(Step::OpenPhase { phase: DEBATE, round: over + 1 }, Step::Stop))
}

fn failed(statistic: usize, threshold: usize) -> Step<Fact> {
    let (statistic, threshold) = (statistic as f64, threshold as f64);
    let rule = StopRule::Failed;
    Step::Stop(StopRuleFired { rule, budget: None, statistic, threshold, shadow: false, closing: false })
}

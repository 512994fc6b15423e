//! Which questions of a prediction debate are open, and what follows when they are answered (rules P2, P3, P6, P21).

use super::call::{self, Call, JUDGE};
use super::config::{Phase, Schedule};
use super::fact::{Fact, Rule};
use super::state::{State, Turn};
use super::{Prediction, summary};
use crate::call::{CallKey, Want};
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::format::Step;
use crate::id::Role;
use crate::stop::StopRule;

/// The fewest roles that make a debate (rule P16).
pub(super) const ROLES_MIN: usize = 2;

/// Returns the questions whose answers are needed now: arguments first, they are what others wait for.
pub(super) fn wanted(debate: &Debate<Prediction>) -> Vec<Want> {
    if debate.stop().is_some() {
        return if debate.phase().is_none() { syntheses(debate) } else { Vec::new() };
    }
    let Some(frontier) = frontier(debate).filter(|round| debate.is_open(*round)) else {
        return Vec::new();
    };
    let roles = &debate.config().roles;
    let arguing = roles.iter().filter_map(|role| {
        let want = want(debate, call::argue(frontier, role));
        let idle = debate.is_answered(&want.call, want.revision)
            || is_missing(debate, role, frontier)
            || waits_for_others(debate, frontier, role);
        (!idle).then_some(want)
    });
    let rounds = first_round(debate)..=frontier;
    let scoring = rounds.flat_map(|round| roles.iter().map(move |role| (round, role)));
    let scoring = scoring.filter_map(|(round, role)| {
        let argued = want(debate, call::argue(round, role));
        let revision = argued.revision;
        debate.is_answered(&argued.call, revision).then(|| Want { call: call::score(round, role), revision })
    });
    arguing.chain(scoring).collect()
}

/// Returns whether the debate stands still without an answer: arguments and the synthesis always, scores once they are
/// all that is wanted.
pub(super) fn is_critical(debate: &Debate<Prediction>, call: &CallKey) -> bool {
    match Call::of(call) {
        Some(Call::Argue { .. } | Call::Synthesise { .. }) => true,
        Some(Call::Score { .. }) => {
            wanted(debate).iter().all(|want| matches!(Call::of(&want.call), Some(Call::Score { .. })))
        }
        None => false,
    }
}

fn syntheses(debate: &Debate<Prediction>) -> Vec<Want> {
    let round = debate.state().last_round();
    let passes = 1..=debate.config().judge_passes;
    let open = passes.filter(|pass| !debate.state().has_judged(round, *pass));
    open.map(|pass| want(debate, Call::Synthesise { round, pass }.key())).collect()
}

fn want(debate: &Debate<Prediction>, call: crate::call::CallKey) -> Want {
    let revision = debate.revision(&call);
    Want { call, revision }
}

/// Returns the first round that is not summed up.
fn first_round(debate: &Debate<Prediction>) -> u32 {
    debate.state().rounds_over() + 1
}

/// Returns the round in which arguments are wanted; none once all rounds are summed up.
///
/// A pipelined debate goes on as soon as a round's arguments are there. When a score rejects one of them (rule P6),
/// the frontier falls back until it is settled again.
fn frontier(debate: &Debate<Prediction>) -> Option<u32> {
    let (first, last) = (first_round(debate), debate.config().rounds);
    let frontier = match debate.config().schedule {
        Schedule::Strict => first,
        Schedule::Pipelined => (first..last).find(|round| !is_argued(debate, *round)).unwrap_or(last),
    };
    (first <= last).then_some(frontier)
}

/// Returns whether all arguments that a round can have are there, and enough of them to go on.
fn is_argued(debate: &Debate<Prediction>, round: u32) -> bool {
    let mut roles = debate.config().roles.iter();
    roles.all(|role| has_argued(debate, round, role)) && alive(debate, round) >= ROLES_MIN
}

/// Returns whether no more arguments are to come from a role in a round.
fn has_argued(debate: &Debate<Prediction>, round: u32, role: &Role) -> bool {
    let call = debate.call(&call::argue(round, role));
    call.is_some_and(|call| call.is_answered() || call.failed) || is_missing(debate, role, round)
}

/// Returns whether a role must wait for the other arguments of the round: the judge in the last one (rule P3).
fn waits_for_others(debate: &Debate<Prediction>, round: u32, role: &Role) -> bool {
    debate.config().phase(round) == Phase::Closing
        && role.as_str() == JUDGE
        && debate.config().roles.iter().any(|other| other != role && !has_argued(debate, round, other))
}

/// Returns whether a role failed for good in some round up to this one and said nothing there (rule P16).
pub(super) fn is_missing(debate: &Debate<Prediction>, role: &Role, up_to: u32) -> bool {
    (1..=up_to).any(|round| {
        let failed = debate.call(&call::argue(round, role)).is_some_and(|call| call.failed);
        failed && debate.state().standing(round, role).is_none()
    })
}

fn alive(debate: &Debate<Prediction>, round: u32) -> usize {
    debate.config().roles.iter().filter(|role| !is_missing(debate, role, round)).count()
}

/// Returns the next thing that follows from the state without asking anybody.
pub(super) fn advance(debate: &Debate<Prediction>) -> Option<Step<Fact>> {
    let (config, state) = (debate.config(), debate.state());
    let phase = |round: u32| config.phase(round).as_str();
    let mut open = (1..=config.rounds).filter(|round| debate.is_open(*round));
    if let Some(round) = open.clone().find(|round| state.summary(*round).is_some()) {
        return Some(Step::ClosePhase { phase: phase(round), round });
    }
    if debate.stop().is_some() {
        return match open.next() {
            Some(round) => Some(Step::Record(vec![summary::of(debate, round).into()])),
            None => closed(debate).then_some(Step::Conclude),
        };
    }
    let Some(frontier) = frontier(debate) else {
        let rounds = f64::from(config.rounds);
        return Some(stop(StopRule::MaxRounds, rounds, rounds, true));
    };
    let first = first_round(debate);
    if let Some(reject) = (first..=frontier).find_map(|round| rejection(debate, round)) {
        return Some(reject);
    }
    let alive = alive(debate, first);
    let is_settled = config.roles.iter().all(|role| is_settled(debate, first, role));
    // What enough roles said counts (rule P16): the rest of the round is waited for, and the synthesis closes on it.
    let closing = config.has_revised_rules() && state.assessments(config, u32::MAX).len() >= ROLES_MIN;
    if alive < ROLES_MIN && (is_settled || !closing) {
        return Some(stop(StopRule::Failed, alive as f64, ROLES_MIN as f64, closing));
    }
    if let Some(round) = (first..=frontier).find(|round| !debate.is_open(*round)) {
        return Some(Step::OpenPhase { phase: phase(round), round });
    }
    // Later rounds wait their turn: until this one is settled, a score may still make them void.
    is_settled.then(|| Step::Record(vec![summary::of(debate, first).into()]))
}

/// Returns whether nothing more is to be had from the synthesis of a debate that is stopping.
fn closed(debate: &Debate<Prediction>) -> bool {
    let round = debate.state().last_round();
    let is_over = |pass: u32| {
        let call = debate.call(&Call::Synthesise { round, pass }.key());
        debate.state().has_judged(round, pass) || call.is_some_and(|call| call.failed)
    };
    debate.stop().is_some_and(|fired| !fired.closing)
        || (1..=debate.config().judge_passes).all(is_over)
        || debate.state().assessments(debate.config(), round).is_empty()
}

fn stop(rule: StopRule, statistic: f64, threshold: f64, closing: bool) -> Step<Fact> {
    Step::Stop(StopRuleFired { rule, budget: None, statistic, threshold, shadow: false, closing })
}

/// Returns the first argument of a round that breaks a rule and was not asked again yet.
///
/// An argument is asked again at most once in all, for whatever reason (rule P3).
fn rejection(debate: &Debate<Prediction>, round: u32) -> Option<Step<Fact>> {
    debate.config().roles.iter().find_map(|role| {
        let key = call::argue(round, role);
        let call = debate.call(&key).filter(|call| call.rejections == 0 && call.is_answered())?;
        let turn = debate.state().slot(round, role)?.turn(call.revision)?;
        let broken = rules_broken(turn);
        if broken.is_empty() {
            return None;
        }
        Some(Step::Reject {
            want: Want { revision: call.revision, call: key },
            reason: super::checks::reason(turn, &broken, debate.config()),
            rules: broken.iter().map(|rule| rule.as_str().to_owned()).collect(),
        })
    })
}

fn rules_broken(turn: &Turn) -> Vec<Rule> {
    let poor = State::is_below_threshold(turn).then_some(Rule::P6);
    turn.made.breaks.iter().copied().chain(poor).collect()
}

/// Returns whether nothing more is to be had from a role in a round.
fn is_settled(debate: &Debate<Prediction>, round: u32, role: &Role) -> bool {
    let Want { call, revision } = want(debate, call::argue(round, role));
    if !debate.is_answered(&call, revision) {
        return has_argued(debate, round, role);
    }
    let score = call::score(round, role);
    debate.is_answered(&score, revision) || debate.is_failed(&score, revision)
}

impl State {
    /// Returns whether a pass of the judge covers the rounds up to this one.
    pub(super) fn has_judged(&self, round: u32, pass: u32) -> bool {
        self.judgements().any(|judgement| judgement.round == round && judgement.pass == pass)
    }
}

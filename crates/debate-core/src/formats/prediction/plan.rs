//! Which questions of a prediction debate are open, and what follows when they are answered (rules P2, P3, P6).

use super::call::{self, Call, JUDGE};
use super::config::Phase;
use super::fact::{Fact, Rule};
use super::state::{State, Turn};
use super::{Prediction, summary};
use crate::call::Want;
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::format::Step;
use crate::id::Role;
use crate::stop::StopRule;

/// The fewest roles that make a debate (rule P16).
pub(super) const ROLES_MIN: usize = 2;

/// Returns the questions whose answers are needed now.
pub(super) fn wanted(debate: &Debate<Prediction>) -> Vec<Want> {
    if debate.stop().is_some() {
        let round = debate.state().last_round();
        let key = Call::Synthesise { round }.key();
        let wanted = debate.phase().is_none() && debate.state().judgement_of(round).is_none();
        return if wanted { vec![want(debate, key)] } else { Vec::new() };
    }
    let Some((_, round)) = debate.phase() else {
        return Vec::new();
    };
    let mut wants = Vec::new();
    for role in debate.config().roles.iter().filter(|role| !is_missing(debate, role)) {
        let key = call::argue(round, role);
        let revision = debate.revision(&key);
        if debate.is_answered(&key, revision) {
            wants.push(Want { call: call::score(round, role), revision });
        } else if !waits_for_others(debate, round, role) {
            wants.push(Want { call: key, revision });
        }
    }
    wants
}

fn want(debate: &Debate<Prediction>, call: crate::call::CallKey) -> Want {
    let revision = debate.revision(&call);
    Want { call, revision }
}

/// Returns whether a role must wait for the other arguments of the round: the judge in the last one (rule P3).
fn waits_for_others(debate: &Debate<Prediction>, round: u32, role: &Role) -> bool {
    debate.config().phase(round) == Phase::Closing
        && role.as_str() == JUDGE
        && debate.config().roles.iter().any(|other| {
            let key = call::argue(round, other);
            let revision = debate.revision(&key);
            other != role
                && !debate.is_answered(&key, revision)
                && !debate.is_failed(&key, revision)
                && !is_missing(debate, other)
        })
}

/// Returns whether a role has failed for good in some round and said nothing there (rule P16).
pub(super) fn is_missing(debate: &Debate<Prediction>, role: &Role) -> bool {
    (1..=debate.config().rounds).any(|round| {
        let key = call::argue(round, role);
        debate.is_failed(&key, debate.revision(&key)) && debate.state().standing(round, role).is_none()
    })
}

/// Returns the next thing that follows from the state without asking anybody.
pub(super) fn advance(debate: &Debate<Prediction>) -> Option<Step<Fact>> {
    let config = debate.config();
    let Some((_, round)) = debate.phase() else {
        return between_rounds(debate);
    };
    let phase = config.phase(round).as_str();
    if debate.state().summary(round).is_some() {
        return Some(Step::ClosePhase { phase, round });
    }
    if debate.stop().is_some() {
        return Some(Step::Record(vec![summary::of(debate, round).into()]));
    }
    if let Some(reject) = rejection(debate, round) {
        return Some(reject);
    }
    let alive = config.roles.iter().filter(|role| !is_missing(debate, role)).count();
    if alive < ROLES_MIN {
        return Some(stop(StopRule::Failed, alive as f64, ROLES_MIN as f64, false));
    }
    let settled = config.roles.iter().all(|role| is_settled(debate, round, role));
    settled.then(|| Step::Record(vec![summary::of(debate, round).into()]))
}

fn between_rounds(debate: &Debate<Prediction>) -> Option<Step<Fact>> {
    let config = debate.config();
    let over = debate.state().rounds_over();
    let Some(fired) = debate.stop() else {
        return Some(if over < config.rounds {
            let round = over + 1;
            Step::OpenPhase { phase: config.phase(round).as_str(), round }
        } else {
            stop(StopRule::MaxRounds, f64::from(over), f64::from(config.rounds), true)
        });
    };
    let round = debate.state().last_round();
    let key = Call::Synthesise { round }.key();
    let done = !fired.closing
        || debate.state().judgement_of(round).is_some()
        || debate.is_failed(&key, debate.revision(&key))
        || debate.state().assessments(config, round).is_empty();
    done.then_some(Step::Conclude)
}

fn stop(rule: StopRule, statistic: f64, threshold: f64, closing: bool) -> Step<Fact> {
    Step::Stop(StopRuleFired { rule, statistic, threshold, shadow: false, closing })
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
    let poor = State::is_poor(turn).then_some(Rule::P6);
    turn.made.breaks.iter().copied().chain(poor).collect()
}

/// Returns whether nothing more is to be had from a role in a round.
fn is_settled(debate: &Debate<Prediction>, round: u32, role: &Role) -> bool {
    let argue = call::argue(round, role);
    let revision = debate.revision(&argue);
    if !debate.is_answered(&argue, revision) {
        return debate.is_failed(&argue, revision) || is_missing(debate, role);
    }
    let score = call::score(round, role);
    debate.is_answered(&score, revision) || debate.is_failed(&score, revision)
}

impl State {
    /// Returns the judgement if it covers the rounds up to this one.
    pub(super) fn judgement_of(&self, round: u32) -> Option<&super::fact::JudgementRendered> {
        self.judgement().filter(|judgement| judgement.round == round)
    }
}

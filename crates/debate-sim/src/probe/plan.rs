//! Which questions of a probe are open, and what follows when they are answered.

use debate_core::call::{CallKey, Want};
use debate_core::debate::Debate;
use debate_core::event::StopRuleFired;
use debate_core::format::Step;
use debate_core::id::Role;
use debate_core::stop::StopRule;

use super::Probe;
use super::call::{self, Call};
use super::fact::{Fact, Rested};

/// The fewest seats that make a debate.
pub(super) const SEATS_MIN: usize = 2;

/// The name of every round's phase.
const PHASE: &str = "round";

/// A saying that weighs less is asked for again.
const WEIGHT_MIN: u32 = 25;

/// A number divisible by this is unwelcome: it is asked for again at once.
const UNLUCKY: u32 = 13;

/// The spread under which the seats no longer move; looked at in shadow only.
const CONVERGED: f64 = 20.0;

/// Returns the questions whose answers are needed now.
pub(super) fn wanted(debate: &Debate<Probe>) -> Vec<Want> {
    let state = debate.state();
    if debate.stop().is_some() {
        let is_open = debate.phase().is_none() && state.closed().is_none();
        let close = Call::Close { round: state.rounds_over() };
        return if is_open { vec![want(debate, close.key())] } else { Vec::new() };
    }
    let Some((_, round)) = debate.phase() else {
        return Vec::new();
    };
    let mut wants = Vec::new();
    for role in debate.config().seats.iter().filter(|role| !is_missing(debate, role)) {
        let say = want(debate, call::say(round, role));
        if debate.is_answered(&say.call, say.revision) {
            wants.push(Want { call: call::weigh(round, role), revision: say.revision });
        } else {
            wants.push(say);
        }
    }
    if is_tally_due(debate, round) {
        let tally = want(debate, Call::Tally { round }.key());
        if debate.is_answered(&tally.call, tally.revision) {
            wants.push(want(debate, Call::Note { round }.key()));
        } else {
            wants.push(tally);
        }
    }
    wants
}

fn want(debate: &Debate<Probe>, call: CallKey) -> Want {
    let revision = debate.revision(&call);
    Want { call, revision }
}

/// Returns whether every seat was heard; an impatient tally does not wait for what is asked again.
fn is_tally_due(debate: &Debate<Probe>, round: u32) -> bool {
    let config = debate.config();
    let is_heard = |role: &Role| {
        let is_spoken = !config.patient && debate.state().said(round, role).is_some();
        is_spoken || is_done(debate, &call::say(round, role)) || is_missing(debate, role)
    };
    let somebody = config.seats.iter().any(|role| debate.state().said(round, role).is_some());
    somebody && config.seats.iter().all(is_heard)
}

/// Returns whether a call is answered or has failed for good, at its current revision.
fn is_done(debate: &Debate<Probe>, key: &CallKey) -> bool {
    let revision = debate.revision(key);
    debate.is_answered(key, revision) || debate.is_failed(key, revision)
}

/// Returns whether a seat has failed for good in some round and said nothing there.
pub(super) fn is_missing(debate: &Debate<Probe>, role: &Role) -> bool {
    (1..=debate.config().rounds).any(|round| {
        let key = call::say(round, role);
        debate.is_failed(&key, debate.revision(&key)) && debate.state().said(round, role).is_none()
    })
}

/// Returns the next thing that follows from the state without asking anybody.
pub(super) fn advance(debate: &Debate<Probe>) -> Option<Step<Fact>> {
    let Some((_, round)) = debate.phase() else {
        return between_rounds(debate);
    };
    if debate.state().rested(round).is_some() {
        return Some(Step::ClosePhase { phase: PHASE, round });
    }
    if debate.stop().is_some() {
        return Some(rest(debate, round));
    }
    if let Some(reject) = rejection(debate, round) {
        return Some(reject);
    }
    let alive = debate.config().seats.iter().filter(|role| !is_missing(debate, role)).count();
    if alive < SEATS_MIN {
        return Some(stop(StopRule::Failed, alive as f64, SEATS_MIN as f64, false));
    }
    is_settled(debate, round).then(|| rest(debate, round))
}

fn between_rounds(debate: &Debate<Probe>) -> Option<Step<Fact>> {
    let (config, state) = (debate.config(), debate.state());
    let over = state.rounds_over();
    if debate.stop().is_some() {
        let close = Call::Close { round: over }.key();
        let spoke = config.seats.iter().any(|role| state.said(over, role).is_some());
        let is_over = debate.is_stopped() || is_done(debate, &close) || !spoke;
        return is_over.then_some(Step::Conclude);
    }
    let spread = state.rested(over).map_or(0, |rested| rested.spread);
    if u32::try_from(debate.shadows().len()).is_ok_and(|fired| fired < over) {
        let (rule, statistic) = (StopRule::Convergence, f64::from(spread));
        let threshold = CONVERGED;
        return Some(Step::Stop(StopRuleFired {
            rule,
            budget: None,
            statistic,
            threshold,
            shadow: true,
            closing: true,
        }));
    }
    if over > config.continued_after && spread <= config.consensus_spread_max {
        let threshold = f64::from(config.consensus_spread_max);
        return Some(stop(StopRule::Consensus, f64::from(spread), threshold, true));
    }
    Some(if over < config.rounds {
        Step::OpenPhase { phase: PHASE, round: over + 1 }
    } else {
        stop(StopRule::MaxRounds, f64::from(over), f64::from(config.rounds), true)
    })
}

fn stop(rule: StopRule, statistic: f64, threshold: f64, closing: bool) -> Step<Fact> {
    Step::Stop(StopRuleFired { rule, budget: None, statistic, threshold, shadow: false, closing })
}

fn rest(debate: &Debate<Probe>, round: u32) -> Step<Fact> {
    let said = debate.config().seats.iter().filter_map(|role| debate.state().said(round, role));
    let values: Vec<u32> = said.map(|said| said.value).collect();
    let spread = values.iter().max().unwrap_or(&0) - values.iter().min().unwrap_or(&0);
    Step::Record(vec![Rested { round, spread }.into()])
}

/// Returns the first answer that breaks a rule; each is asked for again once, unless it becomes void.
fn rejection(debate: &Debate<Probe>, round: u32) -> Option<Step<Fact>> {
    let seats = debate.config().seats.iter();
    let sayings = seats.filter_map(|role| {
        let said = debate.state().said(round, role)?;
        let is_light = debate.state().weight(round, role).is_some_and(|weight| weight < WEIGHT_MIN);
        let light = is_light.then(|| ("light", "It carries too little weight.".to_owned()));
        Some((call::say(round, role), said.revision, unlucky(said.value).or(light)?))
    });
    let tally = debate
        .state()
        .tallied(round)
        .and_then(|tallied| Some((Call::Tally { round }.key(), tallied.revision, unlucky(tallied.value)?)));
    sayings.chain(tally).find_map(|(key, revision, (rule, reason))| {
        let call = debate.call(&key)?;
        let is_standing = call.is_answered() && call.revision == revision && call.rejections == 0;
        let want = Want { call: key, revision };
        is_standing.then(|| Step::Reject { want, rules: vec![rule.to_owned()], reason })
    })
}

fn unlucky(value: u32) -> Option<(&'static str, String)> {
    value.is_multiple_of(UNLUCKY).then(|| ("unlucky", format!("{value} is unlucky.")))
}

fn is_settled(debate: &Debate<Probe>, round: u32) -> bool {
    let is_seat_settled = |role: &Role| {
        let say = call::say(round, role);
        let revision = debate.revision(&say);
        if !debate.is_answered(&say, revision) {
            return debate.is_failed(&say, revision) || is_missing(debate, role);
        }
        let weigh = call::weigh(round, role);
        debate.is_answered(&weigh, revision) || debate.is_failed(&weigh, revision)
    };
    let tally = Call::Tally { round }.key();
    let is_noted = debate.is_failed(&tally, debate.revision(&tally))
        || (is_done(debate, &tally) && is_done(debate, &Call::Note { round }.key()));
    debate.config().seats.iter().all(is_seat_settled) && is_noted
}

//! Which questions of a deliberation are open, and what follows when they are answered (rules D1, D2, D4).

use super::Deliberation;
use super::call;
use super::config::{Concurrency, PARTICIPANTS_MIN, Phase};
use super::fact::Fact;
use crate::call::{CallKey, Want};
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::format::Step;
use crate::id::Role;
use crate::stop::StopRule;

/// Returns the questions whose answers are needed now.
pub(super) fn wanted(debate: &Debate<Deliberation>) -> Vec<Want> {
    let config = debate.config();
    let Some((number, phase)) = open_phase(debate) else {
        return Vec::new();
    };
    if phase == Phase::Consensus {
        let orchestrator = config.orchestrator.iter();
        return orchestrator.map(|speaker| want(debate, call::key(phase, number, &speaker.name))).collect();
    }
    if debate.stop().is_some() {
        return Vec::new();
    }
    let to_speak = config.participants.iter().map(|speaker| &speaker.name);
    let to_speak = to_speak.filter(|name| !is_settled(debate, phase, number, name));
    let at_once = match config.concurrency {
        Concurrency::Sequential => 1,
        Concurrency::Parallel => config.participants.len(),
    };
    to_speak.take(at_once).map(|name| want(debate, call::key(phase, number, name))).collect()
}

fn want(debate: &Debate<Deliberation>, call: CallKey) -> Want {
    let revision = debate.revision(&call);
    Want { call, revision }
}

fn open_phase(debate: &Debate<Deliberation>) -> Option<(u32, Phase)> {
    let (_, number) = debate.phase()?;
    Some((number, debate.config().phase(number)?))
}

/// Returns whether a participant has failed for good in some phase and said nothing there.
pub(super) fn is_missing(debate: &Debate<Deliberation>, participant: &Role) -> bool {
    let phases = debate.config().phases().iter().zip(1..);
    phases.filter(|(phase, _)| **phase != Phase::Consensus).any(|(phase, number)| {
        let key = call::key(*phase, number, participant);
        debate.is_failed(&key, debate.revision(&key))
            && debate.state().contribution(number, participant).is_none()
    })
}

/// Returns whether nothing more is to be had from a participant in a phase.
fn is_settled(debate: &Debate<Deliberation>, phase: Phase, number: u32, participant: &Role) -> bool {
    let key = call::key(phase, number, participant);
    debate.is_answered(&key, debate.revision(&key)) || is_missing(debate, participant)
}

/// Returns whether nothing more is to be had in a phase.
fn is_over(debate: &Debate<Deliberation>, phase: Phase, number: u32) -> bool {
    let config = debate.config();
    if phase == Phase::Consensus {
        return config.orchestrator.as_ref().is_none_or(|orchestrator| {
            let key = call::key(phase, number, &orchestrator.name);
            let revision = debate.revision(&key);
            debate.is_answered(&key, revision) || debate.is_failed(&key, revision)
        });
    }
    config.participants.iter().all(|speaker| is_settled(debate, phase, number, &speaker.name))
}

/// Returns the next thing that follows from the state without asking anybody.
pub(super) fn advance(debate: &Debate<Deliberation>) -> Option<Step<Fact>> {
    if debate.phase().is_none() {
        return Some(between_phases(debate));
    }
    let (round, phase) = open_phase(debate)?;
    let close = Step::ClosePhase { phase: phase.as_str(), round };
    if debate.is_stopped() {
        return Some(close);
    }
    if phase != Phase::Consensus {
        if debate.stop().is_some() {
            return Some(close);
        }
        let speakers = debate.config().participants.iter();
        let alive = speakers.filter(|speaker| !is_missing(debate, &speaker.name)).count();
        if alive < PARTICIPANTS_MIN {
            return Some(stop(StopRule::Failed, alive, PARTICIPANTS_MIN));
        }
    }
    is_over(debate, phase, round).then_some(close)
}

fn between_phases(debate: &Debate<Deliberation>) -> Step<Fact> {
    let config = debate.config();
    let phases = config.phases();
    let mut numbered = phases.iter().copied().zip(1..);
    let Some(fired) = debate.stop() else {
        return match numbered.find(|(phase, round)| !is_over(debate, *phase, *round)) {
            Some((phase, round)) => Step::OpenPhase { phase: phase.as_str(), round },
            None if config.is_cut_short() => {
                stop(StopRule::MaxRounds, phases.len(), config.max_rounds as usize)
            }
            None => stop(StopRule::Concluded, phases.len(), phases.len()),
        };
    };
    let open = config.consensus().filter(|(round, _)| !is_over(debate, Phase::Consensus, *round));
    match open {
        Some((round, _)) if fired.closing && debate.state().speakers(config) >= PARTICIPANTS_MIN => {
            Step::OpenPhase { phase: Phase::Consensus.as_str(), round }
        }
        Some(_) | None => Step::Conclude,
    }
}

fn stop(rule: StopRule, statistic: usize, threshold: usize) -> Step<Fact> {
    let (statistic, threshold) = (statistic as f64, threshold as f64);
    Step::Stop(StopRuleFired { rule, budget: None, statistic, threshold, shadow: false, closing: false })
}

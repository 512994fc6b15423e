//! Which questions of a review debate are open, and what follows when they are answered (rules V1, V3, V4).

use super::call;
use super::checks::{LENGTH_RULE, SENTENCES};
use super::config::{Pair, Speech};
use super::fact::{Fact, PairFailed, ReviewSkipped, SpeechMade};
use super::{PHASE, Review};
use crate::call::{CallKey, Want};
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::format::Step;
use crate::stop::StopRule;

/// Returns the questions whose answers are needed now: of each pair the next speech, or the judge's passes.
pub(super) fn wanted(debate: &Debate<Review>) -> Vec<Want> {
    let open = debate.config().numbered_pairs().filter(|(number, _)| !is_over(debate, *number));
    let wanted = open.flat_map(|(number, pair)| match next_speech(debate, number, pair) {
        Some(speech) => vec![speech],
        None => call::passes(debate.config(), number).filter(|call| !is_settled(debate, call)).collect(),
    });
    wanted.map(|call| Want { revision: debate.revision(&call), call }).collect()
}

fn is_answered(debate: &Debate<Review>, call: &CallKey) -> bool {
    debate.is_answered(call, debate.revision(call))
}

fn is_failed(debate: &Debate<Review>, call: &CallKey) -> bool {
    debate.is_failed(call, debate.revision(call))
}

/// Returns whether nothing more is to be had from a call.
fn is_settled(debate: &Debate<Review>, call: &CallKey) -> bool {
    is_answered(debate, call) || is_failed(debate, call)
}

fn next_speech(debate: &Debate<Review>, number: u32, pair: &Pair) -> Option<CallKey> {
    call::speeches(number, pair).find(|call| !is_answered(debate, call))
}

/// Returns whether nothing more is to be had from a pair.
fn is_over(debate: &Debate<Review>, number: u32) -> bool {
    let Some(pair) = debate.config().pair(number) else { return true };
    if debate.is_stopped() || debate.state().failed(number).is_some() {
        return true;
    }
    match next_speech(debate, number, pair) {
        // Once the debate is stopping, there are only judgements.
        Some(_) => debate.stop().is_some(),
        None => call::passes(debate.config(), number).all(|call| is_settled(debate, &call)),
    }
}

/// Returns the next thing that follows from the state without asking anybody.
pub(super) fn advance(debate: &Debate<Review>) -> Option<Step<Fact>> {
    let config = debate.config();
    if let Some(why) = config.skip() {
        let (conflicts, needed) = (config.conflicts, config.min_conflicts_to_trigger);
        return Some(match (debate.state().skipped(), debate.stop()) {
            (None, _) => {
                let skipped = ReviewSkipped { why, conflicts, min_conflicts_to_trigger: needed };
                Step::Record(vec![skipped.into()])
            }
            (Some(_), None) => stop(conflicts, needed),
            (Some(_), Some(_)) => Step::Conclude,
        });
    }
    if debate.stop().is_none() {
        let mut pairs = config.numbered_pairs();
        if let Some(step) = pairs.find_map(|(number, pair)| rejection(debate, number, pair)) {
            return Some(step);
        }
        let mut pairs = config.numbered_pairs();
        if let Some(failed) = pairs.find_map(|(number, pair)| failure(debate, number, pair)) {
            return Some(Step::Record(vec![failed.into()]));
        }
    }
    let mut numbers = config.numbered_pairs().map(|(number, _)| number);
    let ended = numbers.clone().find(|number| debate.is_open(*number) && is_over(debate, *number));
    if let Some(round) = ended {
        return Some(Step::ClosePhase { phase: PHASE, round });
    }
    let waiting = numbers.find(|number| !debate.is_open(*number) && !is_over(debate, *number));
    if let Some(round) = waiting {
        return Some(Step::OpenPhase { phase: PHASE, round });
    }
    if debate.phase().is_some() {
        return None;
    }
    let pairs = u32::try_from(config.pairs.len()).unwrap_or(u32::MAX);
    Some(if debate.stop().is_some() { Step::Conclude } else { stop(pairs, pairs) })
}

/// Returns the first speech of a pair that has another length than asked for and was not asked again yet.
fn rejection(debate: &Debate<Review>, number: u32, pair: &Pair) -> Option<Step<Fact>> {
    let made = Speech::ORDER.into_iter().filter_map(|(speech, side)| {
        let call = call::speak(number, speech, pair.role(side));
        Some((call, debate.state().speech(number, speech, side)?))
    });
    let is_first = |call: &CallKey, made: &SpeechMade| {
        let state = debate.call(call);
        state.is_some_and(|state| state.rejections == 0 && state.answered == Some(made.revision))
    };
    let mut long = made.filter(|(call, made)| !SENTENCES.contains(&made.sentences) && is_first(call, made));
    let (call, made) = long.next()?;
    let (least, most) = SENTENCES.into_inner();
    let reason = format!("It had {} sentences; {least} to {most} are asked for.", made.sentences);
    let want = Want { call, revision: made.revision };
    Some(Step::Reject { want, rules: vec![LENGTH_RULE.to_owned()], reason })
}

fn failure(debate: &Debate<Review>, number: u32, pair: &Pair) -> Option<PairFailed> {
    if debate.state().failed(number).is_some() {
        return None;
    }
    let call = call::speeches(number, pair).find(|call| is_failed(debate, call))?;
    Some(PairFailed { pair: number, call })
}

fn stop(statistic: u32, threshold: u32) -> Step<Fact> {
    Step::Stop(StopRuleFired {
        rule: StopRule::Concluded,
        budget: None,
        statistic: f64::from(statistic),
        threshold: f64::from(threshold),
        shadow: false,
        closing: false,
    })
}

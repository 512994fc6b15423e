//! What ends a roundtable before its last round (rule T5): consensus, convergence, confidence, in this order.

use super::Roundtable;
use super::plan;
use crate::debate::Debate;
use crate::event::StopRuleFired;
use crate::id::Role;
use crate::measures::TOLERANCE;
use crate::stop::StopRule;

/// Returns the rule that ends the debate after a round, or would in shadow, where it has not been recorded yet.
///
/// A round after which the debate was continued ends nothing any more.
pub(super) fn due(debate: &Debate<Roundtable>, round: u32) -> Option<StopRuleFired> {
    let flags = &debate.config().flags;
    let is_obeyed = flags.exit_enabled.value && !flags.exit_shadow.value;
    if round <= debate.state().continued_after() || !(is_obeyed || flags.exit_shadow.value) {
        return None;
    }
    let met = met(debate, round);
    if is_obeyed {
        return met.into_iter().next();
    }
    let recorded = |rule: StopRule| debate.shadows().iter().any(|shadow| shadow.rule == rule);
    let new = met.into_iter().find(|fired| !recorded(fired.rule))?;
    Some(StopRuleFired { shadow: true, ..new })
}

/// Returns the rules that are met after a round, in order.
fn met(debate: &Debate<Roundtable>, round: u32) -> Vec<StopRuleFired> {
    let (config, state) = (debate.config(), debate.state());
    let Some(verdict) = state.verdict(round) else { return Vec::new() };
    let rounds = config.flags.exit_convergence_rounds.value.0;
    let confidences = state.standings(config, round).map(|given| given.confidence);
    let least = confidences.min_by(f64::total_cmp).unwrap_or_default();
    let measured = [
        (StopRule::Consensus, verdict.agreement, config.flags.exit_consensus.value.0),
        (StopRule::Convergence, f64::from(steady_rounds(debate, round, rounds)), f64::from(rounds)),
        (StopRule::Confidence, least, config.flags.exit_confidence.value.0),
    ];
    let met = measured.into_iter().filter(|(_, statistic, threshold)| *statistic >= threshold - TOLERANCE);
    met.map(|(rule, statistic, threshold)| plan::fired(rule, statistic, threshold)).collect()
}

/// Returns for how many rounds, up to this one and at most so many, every agent that spoke in all of them and in the
/// round before kept its position.
pub(super) fn steady_rounds(debate: &Debate<Roundtable>, round: u32, rounds_max: u32) -> u32 {
    let is_steady_for = |rounds: u32| {
        let Some(first) = round.checked_sub(rounds).filter(|first| *first >= 1) else { return false };
        let spoke = |name: &Role| (first..=round).all(|round| debate.state().standing(round, name).is_some());
        let mut present =
            debate.config().agents.iter().map(|agent| &agent.name).filter(|name| spoke(name)).peekable();
        present.peek().is_some()
            && present.all(|name| (first + 1..=round).all(|round| is_steady(debate, round, name)))
    };
    (1..=rounds_max).take_while(|rounds| is_steady_for(*rounds)).last().unwrap_or_default()
}

fn is_steady(debate: &Debate<Roundtable>, round: u32, name: &Role) -> bool {
    debate.state().verdict(round).is_some_and(|verdict| verdict.steady.contains(name))
}

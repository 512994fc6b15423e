//! What came of a round: who was strongest, who differs from whom, where the roles are heading (rule P9).

use super::Prediction;
use super::fact::{Emerging, RoundSummarised};
use super::state::Turn;
use crate::debate::Debate;
use crate::measures::consensus;
use crate::measures::panel::Panel;

/// Sums up a round from what stands in it.
pub(super) fn of(debate: &Debate<Prediction>, round: u32) -> RoundSummarised {
    let turns: Vec<&Turn> = debate.state().round_turns(debate.config(), round).collect();
    RoundSummarised {
        round,
        dominant_argument: dominant(&turns).map(|turn| turn.made.role.clone()),
        key_disagreements: disagreements(&turns),
        emerging_consensus: emerging(debate, round),
    }
}

/// Returns the argument with the highest composite; of equals the one earlier in role order.
fn dominant<'a>(turns: &[&'a Turn]) -> Option<&'a Turn> {
    let mut best: Option<(&Turn, f64)> = None;
    for turn in turns {
        let Some(composite) = turn.composite() else { continue };
        if best.is_none_or(|(_, highest)| composite > highest) {
            best = Some((turn, composite));
        }
    }
    best.map(|(turn, _)| turn)
}

/// Returns one line for every split over the supported outcome and for every rebuttal.
fn disagreements(turns: &[&Turn]) -> Vec<String> {
    let mut camps: Vec<(&str, Vec<&str>)> = Vec::new();
    for turn in turns {
        let outcome = turn.made.outcome_supported.as_str();
        let role = turn.made.role.as_str();
        match camps.iter_mut().find(|(supported, _)| *supported == outcome) {
            Some((_, roles)) => roles.push(role),
            None => camps.push((outcome, vec![role])),
        }
    }
    let mut lines = Vec::new();
    if camps.len() > 1 {
        let sides = camps.iter().map(|(outcome, roles)| format!("{} for {outcome}", roles.join(", ")));
        lines.push(sides.collect::<Vec<_>>().join("; "));
    }
    lines.extend(turns.iter().filter(|turn| !turn.made.rebuts.is_empty()).map(|turn| {
        let rebutted: Vec<&str> = turn.made.rebuts.iter().map(crate::id::Role::as_str).collect();
        format!("{} rebuts {}", turn.made.role, rebutted.join(", "))
    }));
    lines
}

/// Returns the outcomes on which the roles came closer together or drifted apart since the round before.
fn emerging(debate: &Debate<Prediction>, round: u32) -> Vec<Emerging> {
    if round < 2 {
        return Vec::new();
    }
    let spreads = |round| {
        let assessments = debate.state().assessments(debate.config(), round);
        let distributions: Vec<_> = assessments.into_iter().map(|(_, distribution)| distribution).collect();
        Panel::new(&distributions).map(|panel| consensus::spreads(&panel)).unwrap_or_default()
    };
    let outcomes = debate.config().outcomes.iter();
    outcomes
        .zip(spreads(round - 1).into_iter().zip(spreads(round)))
        .filter_map(|(outcome, (before, now))| {
            let direction = consensus::direction(before, now)?;
            Some(Emerging { outcome_id: outcome.clone(), direction })
        })
        .collect()
}

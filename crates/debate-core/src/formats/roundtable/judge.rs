//! What a round comes to as a whole (rules T5, T6): computed once, from the words, and recorded.

use super::Roundtable;
use super::agent::Stance;
use super::call::Kind;
use super::fact::{Groupthink, ResponseGiven, RoundJudged, Sign};
use super::flags::{Closeness, Flags};
use super::visible::Statistics;
use crate::debate::Debate;
use crate::id::Role;
use crate::measures::agreement::{agreement, is_steady, plain};
use crate::measures::{TOLERANCE, groupthink, summary};

/// Returns what the answers of one kind in a round come to.
///
/// Redacted text is not a position: its agents are in no camp.
pub(super) fn round(debate: &Debate<Roundtable>, round: u32, kind: Kind) -> RoundJudged {
    let (config, state) = (debate.config(), debate.state());
    let given: Vec<(&ResponseGiven, &str)> =
        state.round(config, round, kind).filter_map(|given| Some((given, position(given)?))).collect();
    let positions: Vec<&str> = given.iter().map(|(_, position)| *position).collect();
    let confidences: Vec<f64> = given.iter().map(|(given, _)| given.confidence).collect();
    let opposes = |stance: Option<Stance>, other: Option<Stance>| {
        stance.zip(other).is_some_and(|(stance, other)| stance.opposes(other))
    };
    let are_opposed = |a: usize, b: usize| opposes(given[a].0.stance, given[b].0.stance);
    let found = agreement(config.similarity, &positions, &confidences, are_opposed);
    let overlap = groupthink::mean_overlap(&positions);
    let camps = found.camps.iter().map(|camp| camp.iter().map(|at| given[*at].0.agent.clone()).collect());
    let steady = given.iter().filter(|(given, after)| {
        let before = round.checked_sub(1).and_then(|before| state.standing(before, &given.agent));
        let before = before.and_then(position);
        before.is_some_and(|before| is_steady(config.similarity, before, after))
    });
    let signs = config.flags.groupthink_enabled.value && given.len() >= groupthink::GROUP_MIN;
    RoundJudged {
        round,
        kind,
        agreement: found.level,
        position_score: found.position_score,
        confidence_score: found.confidence_score,
        overlap,
        camps: camps.collect(),
        steady: steady.map(|(given, _)| given.agent.clone()).collect(),
        groupthink: signs.then(|| {
            let stances = given.iter().filter_map(|(given, _)| given.stance);
            let is_close = is_close(&config.flags, found.level, overlap);
            let signs = [
                (Sign::Confidence, groupthink::all_are_sure(&confidences)),
                (Sign::Stance, groupthink::all_take_one_stance(stances)),
                (Sign::Position, is_close),
            ];
            let signs: Vec<Sign> =
                signs.into_iter().filter(|(_, shows)| *shows).map(|(sign, _)| sign).collect();
            Groupthink { detected: signs.len() >= groupthink::SIGNS_MIN, signs }
        }),
        identical: if config.has_revised_rules() { identical(&given) } else { Vec::new() },
    }
}

/// Returns the agents whose answers have the same words, in groups of two or more, in the table's order.
fn identical(given: &[(&ResponseGiven, &str)]) -> Vec<Vec<Role>> {
    let mut groups: Vec<(String, Vec<Role>)> = Vec::new();
    for (given, position) in given {
        let reasoning = given.prose.shown().map_or("", |prose| prose.reasoning.as_str());
        let words = plain(&format!("{position} {reasoning}"));
        match groups.iter_mut().find(|(of, _)| *of == words) {
            Some((_, agents)) => agents.push(given.agent.clone()),
            None => groups.push((words, vec![given.agent.clone()])),
        }
    }
    groups.into_iter().map(|(_, agents)| agents).filter(|agents| agents.len() > 1).collect()
}

fn position(given: &ResponseGiven) -> Option<&str> {
    given.prose.shown().map(|prose| prose.position.as_str())
}

/// Returns whether positions are too much alike, by what the flags look at.
fn is_close(flags: &Flags, agreement: f64, overlap: f64) -> bool {
    match flags.groupthink_closeness.value {
        Closeness::Agreement => agreement >= flags.groupthink_threshold.value.0 - TOLERANCE,
        Closeness::Overlap => overlap >= groupthink::OVERLAP_MIN - TOLERANCE,
    }
}

/// Returns the statistics of a round that was looked at, from facts alone (rule T2).
pub(super) fn statistics(debate: &Debate<Roundtable>, round: u32) -> Option<Statistics> {
    let judged = debate.state().verdict(round)?;
    let standings: Vec<&ResponseGiven> = debate.state().standings(debate.config(), round).collect();
    let confidences: Vec<f64> = standings.iter().map(|given| given.confidence).collect();
    let least = confidences.iter().copied().min_by(f64::total_cmp)?;
    let most = confidences.iter().copied().max_by(f64::total_cmp)?;
    let takers = |stance| standings.iter().filter(|given| given.stance == Some(stance)).count();
    let stances = super::agent::Stance::ALL.map(|stance| (stance, takers(stance)));
    Some(Statistics {
        round,
        responses: standings.len(),
        mean_confidence: summary::mean(&confidences)?,
        confidence_sd: summary::population_sd(&confidences)?,
        confidence_range: (least, most),
        stances: stances.into_iter().filter(|(_, takers)| *takers > 0).collect(),
        camps: judged.camps.len(),
        agreement: judged.agreement,
    })
}

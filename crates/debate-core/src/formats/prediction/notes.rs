//! What a reader of a result should know about its numbers: which answers were repaired, and which distributions are
//! equal, and what prompts did not show (rules K18, K20, P27, P29).

use serde::Serialize;

use super::Prediction;
use super::call::{self, Call};
use crate::call::{CUT, CallKey};
use crate::debate::Debate;
use crate::id::OutcomeId;
use crate::measures::distribution::{Distribution, Repair};
use crate::prose::Texts;

/// An answer that counts although something in it was repaired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RepairEntry {
    /// The call that it answers, such as `argue/1/optimist`.
    pub call: String,
    /// What was repaired, one word each: `normalized`, `completed`, `negative_clipped` or `percentages` for a
    /// distribution, `cut` where the reply was cut by its limit, and others.
    pub repairs: Vec<String>,
}

/// Repairs of the reader that change what an answer says, and not only how it is written.
const OF_CONTENT: [&str; 5] = [CUT, "percentages", "confidence_missing", "supports_missing", "argument_cut"];

/// Probabilities that differ by less are equal; prompts show a prior with two places.
const EQUAL_WITHIN: f64 = 1e-9;
const PRIOR_WITHIN: f64 = 0.01;

/// Returns the answers that stand and were repaired, in the order of rounds and roles, then the judge's.
pub(super) fn repairs(debate: &Debate<Prediction>) -> Vec<RepairEntry> {
    let (config, state) = (debate.config(), debate.state());
    if !config.has_revised_rules() {
        return Vec::new();
    }
    let turns = state.turns(config).flat_map(|turn| {
        let made = &turn.made;
        let argued = entry(debate, &call::argue(made.round, &made.role), made.revision, &made.repairs);
        let scored = turn.scored.as_ref();
        let scored =
            scored.and_then(|_| entry(debate, &call::score(made.round, &made.role), made.revision, &[]));
        [argued, scored]
    });
    let judged = state.judgements().map(|judgement| {
        let key = Call::Synthesise { round: judgement.round, pass: judgement.pass }.key();
        entry(debate, &key, debate.revision(&key), &judgement.repairs)
    });
    turns.chain(judged).flatten().collect()
}

fn entry(
    debate: &Debate<Prediction>,
    key: &CallKey,
    revision: u32,
    of_numbers: &[Repair],
) -> Option<RepairEntry> {
    let answered = debate.call(key).filter(|call| call.answered == Some(revision));
    let of_reply = answered.map_or(&[][..], |call| &call.repairs);
    let of_reply = of_reply.iter().filter(|repair| OF_CONTENT.contains(&repair.as_str())).cloned();
    let repairs: Vec<String> =
        of_numbers.iter().map(|repair| repair.as_str().to_owned()).chain(of_reply).collect();
    (!repairs.is_empty()).then(|| RepairEntry { call: key.to_string(), repairs })
}

/// Returns one line for each way in which roles gave equal distributions, which count, and one for what prompts did not
/// show: a reader should know (rules K20, P27).
pub(super) fn notes(debate: &Debate<Prediction>, texts: Texts) -> Vec<String> {
    let (config, state) = (debate.config(), debate.state());
    if !config.has_revised_rules() {
        return Vec::new();
    }
    let opening: Vec<&Distribution> =
        state.round_turns(config, 1).map(|turn| &turn.made.probabilities).collect();
    let last = state.assessments(config, u32::MAX);
    let mut notes = Vec::from_iter(debate.replacement_note());
    if are_equal(&opening) {
        notes.push(format!("all {} roles gave the same distribution in the blind opening", opening.len()));
    }
    let last_only: Vec<&Distribution> = last.iter().map(|(_, distribution)| *distribution).collect();
    if state.last_round() > 1 && are_equal(&last_only) {
        notes.push(format!("the last distributions of all {} roles are the same", last.len()));
    }
    if let Some(prior) = prior(debate, texts) {
        let repeats = last.iter().filter(|(_, distribution)| is_equal(distribution, &prior, PRIOR_WITHIN));
        let roles: Vec<&str> = repeats.map(|(role, _)| role.as_str()).collect();
        if !roles.is_empty() {
            notes.push(format!("equal to the prior that was shown: {}", roles.join(", ")));
        }
    }
    if config.tells_what_was_shown() {
        notes.extend(debate.parts_cut_note());
    }
    notes
}

fn are_equal(distributions: &[&Distribution]) -> bool {
    let Some((first, others)) = distributions.split_first() else { return false };
    !others.is_empty() && others.iter().all(|other| is_equal(other, first.as_slice(), EQUAL_WITHIN))
}

fn is_equal(distribution: &Distribution, other: &[f64], within: f64) -> bool {
    let pairs = distribution.as_slice().iter().zip(other);
    distribution.len() == other.len() && pairs.into_iter().all(|(a, b)| (a - b).abs() <= within)
}

/// Returns the prior that prompts show, in the order of outcomes; none where it does not name all of them.
fn prior(debate: &Debate<Prediction>, texts: Texts) -> Option<Vec<f64>> {
    let priors = &texts.of(debate.brief())?.simulation_summary.final_distribution;
    let of =
        |id: &OutcomeId| priors.iter().find(|prior| prior.outcome_id == *id).map(|prior| prior.probability);
    debate.config().outcomes.iter().map(of).collect()
}

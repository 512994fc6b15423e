//! The facts of a prediction debate in words.

use debate_core::debate::Debate;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::config::Config;
use debate_core::formats::prediction::fact::{
    ArgumentMade, ArgumentScored, Fact, JudgementRendered, RoundSummarised,
};
use debate_core::measures::consensus::Direction;
use debate_core::measures::distribution::{Distribution, Repair};

use super::{EventLine, Severity, Tell};
use crate::page::{percent, score};
use crate::plain::one_line;

/// Outcomes that one line names.
const OUTCOMES_SHOWN: usize = 3;

impl Tell for Prediction {
    fn tell(debate: &Debate<Self>, fact: &Fact) -> EventLine {
        let config = debate.config();
        match fact {
            Fact::ArgumentMade(made) => {
                EventLine::new(Severity::Step, Some(&made.role), argued(config, made))
            }
            Fact::ArgumentScored(scored) => {
                EventLine::new(Severity::Step, Some(&scored.role), was_scored(config, scored))
            }
            Fact::RoundSummarised(summary) => EventLine::new(Severity::Mark, None, summed_up(summary)),
            Fact::JudgementRendered(judgement) => {
                EventLine::new(Severity::Mark, None, judged(config, judgement))
            }
        }
    }
}

/// Returns the likeliest outcomes of a distribution.
pub(super) fn distribution(config: &Config, distribution: &Distribution) -> String {
    let mut shares: Vec<_> = config.outcomes.iter().zip(distribution.as_slice()).collect();
    shares.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let left = shares.len().saturating_sub(OUTCOMES_SHOWN);
    let shown = shares.iter().take(OUTCOMES_SHOWN);
    let mut parts: Vec<String> =
        shown.map(|(id, share)| format!("{} {}", one_line(id.as_str()), percent(**share))).collect();
    if left > 0 {
        parts.push(format!("{left} more"));
    }
    parts.join(", ")
}

fn argued(config: &Config, made: &ArgumentMade) -> String {
    let list = |what: &str, items: Vec<String>| {
        if items.is_empty() { String::new() } else { format!(", {what} {}", items.join(", ")) }
    };
    let shares = distribution(config, &made.probabilities);
    let rebuts = list("rebuts", made.rebuts.iter().map(ToString::to_string).collect());
    let cites = list("cites", made.cites.iter().map(ToString::to_string).collect());
    let breaks = list("breaks", made.breaks.iter().map(|rule| rule.as_str().to_owned()).collect());
    let repaired = list("repaired:", repairs(&made.repairs));
    format!("{shares}; confidence {:.2}{rebuts}{cites}{breaks}{repaired}", made.confidence)
}

fn was_scored(config: &Config, scored: &ArgumentScored) -> String {
    let criteria = config.criteria.iter().zip(&scored.scores);
    let parts: Vec<String> = criteria
        .map(|(criterion, value)| format!("{} {}", one_line(&criterion.name), score(*value)))
        .collect();
    format!("scored {} ({})", score(scored.composite), parts.join(", "))
}

fn summed_up(summary: &RoundSummarised) -> String {
    let strongest = summary.dominant_argument.as_ref();
    let mut text = match strongest {
        Some(role) => format!("round {} is over; strongest: {role}", summary.round),
        None => format!("round {} is over; nothing was scored", summary.round),
    };
    for (direction, words) in [(Direction::Toward, "closer on"), (Direction::Away, "further apart on")] {
        let moved = summary.emerging_consensus.iter().filter(|emerging| emerging.direction == direction);
        let moved: Vec<String> = moved.map(|emerging| one_line(emerging.outcome_id.as_str())).collect();
        if !moved.is_empty() {
            text.push_str(&format!("; {words} {}", moved.join(", ")));
        }
    }
    text
}

fn judged(config: &Config, judgement: &JudgementRendered) -> String {
    let shares = distribution(config, &judgement.probabilities);
    let repairs = repairs(&judgement.repairs);
    let repaired =
        if repairs.is_empty() { String::new() } else { format!(", repaired: {}", repairs.join(", ")) };
    format!("the judge's synthesis: {shares}; confidence {:.2}{repaired}", judgement.confidence)
}

fn repairs(of: &[Repair]) -> Vec<String> {
    of.iter().map(|repair| repair.as_str().to_owned()).collect()
}

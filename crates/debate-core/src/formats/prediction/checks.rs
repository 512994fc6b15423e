//! What a reply means as facts: distributions made valid (P7), names checked (P3, P10), quotations looked up (P11),
//! precedents counted (P12). Whatever a reply says about who speaks or what is scored is ignored: the call alone
//! says that (K13).

use super::Prediction;
use super::answer::{Argument, Citation, OutcomeRef, Precedent, Scores, Synthesis};
use super::call::HISTORIAN;
use super::config::{Config, Phase};
use super::fact::{
    ArgumentMade, ArgumentProse, ArgumentScored, Disagreement, Impact, JudgementProse, JudgementRendered,
    KeyInsight, Position, Rule,
};
use super::point::PointId;
use super::state::Turn;
use super::visibility;
use crate::debate::Debate;
use crate::id::{OutcomeId, Role};
use crate::measures::distribution::{Distribution, Repair};
use crate::measures::scoring;
use crate::prose::Prose;

/// The fewest precedents that the historian's opening brings (rule P12).
const PRECEDENTS_MIN: usize = 2;

/// The fewest characters of a quotation that can show a point was read (rule P11).
const QUOTE_CHARS_MIN: usize = 8;

/// Returns what an argument means.
pub(super) fn argument(
    debate: &Debate<Prediction>,
    round: u32,
    role: &Role,
    revision: u32,
    answer: &Argument,
) -> Result<ArgumentMade, String> {
    let config = debate.config();
    let (probabilities, repairs, unknown) = distribution(config, &answer.probabilities)?;
    let supported = match &answer.supports {
        OutcomeRef::Known(place) => config.outcomes.get(*place),
        OutcomeRef::Unknown(_) => None,
    };
    let fallback = || config.outcomes[probabilities.argmax()].clone();
    let rebuts = rebutted(debate, round, role, &answer.rebuts);
    let cites = cited(debate, round, &answer.cites);
    let precedents: Vec<Precedent> = answer.precedents.iter().filter_map(complete).collect();
    let phase = config.phase(round);
    let breaks = [
        (Rule::P3, unknown || supported.is_none()),
        (Rule::P10, round > 1 && rebuts.is_empty() && !visibility::opponents(debate, round, role).is_empty()),
        (Rule::P11, phase == Phase::Closing && cites.is_empty()),
        (
            Rule::P12,
            phase == Phase::Opening && role.as_str() == HISTORIAN && precedents.len() < PRECEDENTS_MIN,
        ),
    ];
    Ok(ArgumentMade {
        round,
        role: role.clone(),
        revision,
        outcome_supported: supported.cloned().unwrap_or_else(fallback),
        probabilities,
        repairs,
        confidence: share(answer.confidence),
        rebuts,
        cites,
        precedents: u32::try_from(precedents.len()).unwrap_or(u32::MAX),
        breaks: breaks.into_iter().filter_map(|(rule, broken)| broken.then_some(rule)).collect(),
        prose: Prose::new(ArgumentProse {
            claim: answer.claim.clone(),
            argument: answer.argument.clone(),
            evidence_cited: answer.evidence_cited.clone(),
            precedents,
        }),
    })
}

/// Returns what scores of an argument mean (rule P5).
///
/// # Errors
/// A criterion has no score, or one outside [0, 1]: then the others are not to be trusted either (rule P26).
pub(super) fn scores(
    config: &Config,
    round: u32,
    role: &Role,
    revision: u32,
    answer: &Scores,
) -> Result<ArgumentScored, String> {
    let score_of = |name: &str| {
        let found = answer.scores.iter().find(|(criterion, _)| criterion == name);
        let Some((_, score)) = found else {
            return Err(format!("P26: each criterion needs a number from 0 to 1; {name} has none"));
        };
        if !(0.0..=1.0).contains(score) {
            return Err(format!("P26: each number must be from 0 to 1; you wrote {score} for {name}"));
        }
        Ok(Some(*score))
    };
    let scores: Vec<Option<f64>> =
        config.criteria.iter().map(|criterion| score_of(&criterion.name)).collect::<Result<_, _>>()?;
    let weights = config.criteria.iter().map(|criterion| criterion.weight);
    let composite = scoring::composite(weights.zip(scores.iter().copied()));
    let prose = Prose::new(answer.reason.clone());
    Ok(ArgumentScored { round, role: role.clone(), revision, scores, composite, prose })
}

/// Returns what a synthesis means; names that are none of the debate's are left out.
pub(super) fn judgement(
    debate: &Debate<Prediction>,
    round: u32,
    pass: u32,
    answer: &Synthesis,
) -> Result<JudgementRendered, String> {
    let config = debate.config();
    let (probabilities, repairs, _) = distribution(config, &answer.probabilities)?;
    let role_named = |name: &str| config.roles.iter().find(|role| role.as_str() == name.trim()).cloned();
    let disagreements = answer.disagreements.iter().map(|text| Disagreement {
        topic: text.topic.clone(),
        positions: text
            .positions
            .iter()
            .filter_map(|(role, stance, strength)| {
                let (stance, strength) = (stance.clone(), share(*strength));
                Some(Position { role: role_named(role)?, stance, strength })
            })
            .collect(),
        resolved: text.resolved,
    });
    let insights = answer.insights.iter().filter_map(|text| {
        Some(KeyInsight {
            insight: text.insight.clone(),
            source_role: role_named(&text.source_role)?,
            round: Some(text.round).filter(|said| (1..=round).contains(said))?,
            impact: impact(&text.impact),
            affected_outcomes: text
                .affected_outcomes
                .iter()
                .filter_map(|named| known(config, named))
                .collect(),
        })
    });
    Ok(JudgementRendered {
        round,
        pass,
        probabilities,
        repairs,
        confidence: share(answer.confidence),
        prose: Prose::new(JudgementProse {
            reasoning: answer.reasoning.clone(),
            disagreements: disagreements.filter(|one| !one.positions.is_empty()).collect(),
            insights: insights.collect(),
        }),
    })
}

/// Returns the reason that is shown to a role that is asked again.
pub(super) fn reason(turn: &Turn, broken: &[Rule], config: &Config) -> String {
    let lines = broken.iter().map(|rule| match rule {
        Rule::P3 => {
            let named = config.outcomes.len();
            format!("Name only the {named} outcomes listed, by their letters.")
        }
        Rule::P6 => match turn.scored.as_ref().and_then(|scored| scored.prose.shown()) {
            Some(reason) => format!("It was scored as too weak: {reason}"),
            None => "It was scored as too weak.".to_owned(),
        },
        Rule::P10 => "Name at least one other role that you rebut.".to_owned(),
        Rule::P11 => "Cite at least one point of an earlier round, quoting its exact words.".to_owned(),
        Rule::P12 => {
            "Bring at least two precedents, each with event, date, outcome and relevance.".to_owned()
        }
    });
    lines.collect::<Vec<_>>().join(" ")
}

type Repaired = (Distribution, Vec<Repair>, bool);

/// Makes a distribution of what a model said, and says whether it named an outcome that is none (rules P7, P29).
fn distribution(config: &Config, said: &[(OutcomeRef, f64)]) -> Result<Repaired, String> {
    let mut stated = vec![None; config.outcomes.len()];
    let mut unknown = false;
    for (outcome, probability) in said {
        match outcome {
            OutcomeRef::Known(place) if *place < stated.len() => stated[*place] = Some(*probability),
            OutcomeRef::Known(_) | OutcomeRef::Unknown(_) => unknown = true,
        }
    }
    let (distribution, repairs) = Distribution::repair(&stated).map_err(|error| format!("P29: {error}"))?;
    Ok((distribution, repairs, unknown))
}

fn known(config: &Config, outcome: &OutcomeRef) -> Option<OutcomeId> {
    match outcome {
        OutcomeRef::Known(place) => config.outcomes.get(*place).cloned(),
        OutcomeRef::Unknown(_) => None,
    }
}

/// Returns the named roles that may be rebutted, in role order, each once (rule P10).
fn rebutted(debate: &Debate<Prediction>, round: u32, role: &Role, named: &[String]) -> Vec<Role> {
    let opponents = visibility::opponents(debate, round, role);
    let is_named = |role: &Role| named.iter().any(|name| name.trim().eq_ignore_ascii_case(role.as_str()));
    opponents.into_iter().filter(is_named).collect()
}

/// Returns the earlier points whose quoted words really stand there, each once (rule P11).
fn cited(debate: &Debate<Prediction>, round: u32, citations: &[Citation]) -> Vec<PointId> {
    let mut points: Vec<PointId> = Vec::new();
    for citation in citations {
        let Ok(point) = citation.point.parse::<PointId>() else { continue };
        let turn = debate.state().standing(point.round, &point.role).filter(|_| point.round < round);
        let prose = turn.and_then(|turn| turn.made.prose.shown());
        let shown = |prose: &ArgumentProse| {
            [&prose.argument, &prose.claim].map(|text| stands_in(&citation.quote, text))
        };
        let stands = prose.is_some_and(|prose| shown(prose).contains(&true));
        if stands && !points.contains(&point) {
            points.push(point);
        }
    }
    points
}

/// Returns whether quoted words stand in a text, letters' case, spacing and quotation marks aside.
fn stands_in(quote: &str, text: &str) -> bool {
    let words = folded(quote);
    let is_long = words.chars().count() >= QUOTE_CHARS_MIN;
    // What stands there letter for letter also does so folded; folding a whole argument takes longer.
    is_long && (text.contains(quote) || folded(text).contains(&words))
}

fn folded(text: &str) -> String {
    let kept = text.chars().filter(|letter| !matches!(letter, '"' | '\'' | '“' | '”' | '‘' | '’' | '…'));
    let text: String = kept.flat_map(char::to_lowercase).collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_matches(|letter: char| letter.is_ascii_punctuation()).to_owned()
}

/// Returns a precedent if nothing of it is missing (rule P12).
fn complete(precedent: &Precedent) -> Option<Precedent> {
    let texts = [&precedent.event, &precedent.date, &precedent.outcome, &precedent.relevance];
    let complete = texts.iter().all(|text| !text.trim().is_empty());
    let in_range = (0.0..=1.0).contains(&precedent.similarity_score);
    (complete && in_range).then(|| precedent.clone())
}

fn impact(word: &str) -> Impact {
    match word.trim().to_ascii_lowercase().as_str() {
        "high" => Impact::High,
        "low" => Impact::Low,
        _ => Impact::Medium,
    }
}

/// Keeps a number in [0, 1]; what is no number counts as 0.
fn share(value: f64) -> f64 {
    if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 }
}

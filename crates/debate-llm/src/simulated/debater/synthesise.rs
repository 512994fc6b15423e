//! Makes up the final assessment: the points' forecasts, weighted by their scores, and where they differ.

use std::fmt::Write as _;

use serde::Serialize;

use super::answered;
use super::numbers::Numbers;
use super::phrases;
use super::room;
use super::sheet::{Point, Sheet};
use super::stance::{self, Stance, View};
use crate::simulated::Draw;

/// The most disagreements and insights of a synthesis.
const DISAGREEMENTS_MAX: usize = 3;
const INSIGHTS_MAX: usize = 4;
/// A spread of probabilities, highest less lowest, that counts as a disagreement.
const SPREAD_MIN: f64 = 0.1;
/// A spread below which a disagreement counts as settled.
const RESOLVED_MAX: f64 = 0.12;
/// Room for the reasoning, in tokens; what is left of the reply at least.
const REASONING_TOKENS_MAX: usize = 380;

#[derive(Serialize)]
struct Reply<'a> {
    reasoning: String,
    probabilities: Numbers<'a>,
    confidence: f64,
    disagreements: Vec<Disagreement<'a>>,
    insights: Vec<Insight<'a>>,
}

#[derive(Serialize)]
struct Disagreement<'a> {
    topic: String,
    positions: Vec<Position<'a>>,
    resolved: bool,
}

#[derive(Serialize)]
struct Position<'a> {
    role: &'a str,
    stance: String,
    strength: f64,
}

#[derive(Serialize)]
struct Insight<'a> {
    insight: String,
    source_role: &'a str,
    round: u32,
    impact: &'static str,
    affected_outcomes: Vec<&'a str>,
}

/// Returns the text of a reply of at most `tokens_max` tokens.
pub(super) fn reply(sheet: &Sheet<'_>, tokens_max: usize, draw: &mut Draw) -> String {
    let view = View::of(sheet, Stance::Balanced, draw);
    let said = said(sheet, &view);
    let shares = pooled(&said, &view);
    let stated = stance::stated(&shares);
    let letters = sheet.outcomes.iter().map(|outcome| outcome.letter);
    let probabilities = Numbers(letters.zip(stated.iter().copied()).collect());
    let names: usize = probabilities.0.iter().map(|(name, _)| room::cost(name) + 4).sum();
    let mut left = (tokens_max * 9 / 10).saturating_sub(names + 60);
    let reasoning = reasoning(sheet, &said, &stated, left.min(REASONING_TOKENS_MAX), draw);
    left = left.saturating_sub(room::cost(&reasoning));
    let mut disagreements = Vec::new();
    for disagreement in self::disagreements(sheet, &said) {
        let cost = disagreement.cost();
        if cost > left {
            break;
        }
        left -= cost;
        disagreements.push(disagreement);
    }
    let mut insights = Vec::new();
    for insight in self::insights(sheet, draw) {
        let cost = 40 + room::cost(&insight.insight) + room::cost(insight.source_role);
        if cost > left {
            break;
        }
        left -= cost;
        insights.push(insight);
    }
    let confidence = confidence(&said, view.supports, draw);
    serde_json::to_string(&Reply { reasoning, probabilities, confidence, disagreements, insights })
        .unwrap_or_default()
}

/// A role's latest point with its probability of every outcome.
type Said<'a> = (&'a Point<'a>, Vec<f64>);

/// Returns what the roles said last.
fn said<'a>(sheet: &'a Sheet<'a>, view: &View) -> Vec<Said<'a>> {
    let latest = view.others.iter().map(|place| &sheet.points[*place]);
    latest.map(|point| (point, stance::spread(point, &view.base))).collect()
}

/// Returns the mean of the roles' latest forecasts, weighted by their scores; the prior if no role spoke.
fn pooled(said: &[Said<'_>], view: &View) -> Vec<f64> {
    if said.is_empty() {
        return view.base.clone();
    }
    let mut pooled = vec![0.0; view.base.len()];
    for (point, shares) in said {
        for (pooled, share) in pooled.iter_mut().zip(shares) {
            *pooled += point.strength.max(0.05) * share;
        }
    }
    stance::normalise(&mut pooled);
    pooled
}

/// Returns how far apart the latest forecasts of an outcome are: highest less lowest.
fn spread(said: &[Said<'_>], outcome: usize) -> f64 {
    let shares = said.iter().map(|(_, shares)| shares[outcome]);
    let (low, high) =
        shares.fold((1.0, 0.0), |(low, high), share| (f64::min(low, share), f64::max(high, share)));
    f64::max(high - low, 0.0)
}

fn confidence(said: &[Said<'_>], outcome: usize, draw: &mut Draw) -> f64 {
    let spread = if said.is_empty() { 0.5 } else { spread(said, outcome) };
    let sure = 0.82 - 0.6 * spread + draw.between(-0.04, 0.04);
    (sure.clamp(0.3, 0.92) * 100.0).round() / 100.0
}

fn label<'a>(sheet: &'a Sheet<'_>, place: usize) -> &'a str {
    sheet.outcomes.get(place).map_or("the only outcome", |outcome| room::beginning(&outcome.label, 8, 16))
}

fn percent(share: f64) -> f64 {
    (share * 100.0).round()
}

fn reasoning(
    sheet: &Sheet<'_>,
    said: &[Said<'_>],
    stated: &[f64],
    tokens_max: usize,
    draw: &mut Draw,
) -> String {
    let top = stance::likeliest(stated, None);
    let mut text = format!("{} ", phrases::MARK);
    let topic = room::clipped(&sheet.question, 20, 40);
    let _infallible = write!(
        text,
        "On “{topic}” I end at {} % for {}.",
        percent(stated.get(top).copied().unwrap_or(1.0)),
        label(sheet, top)
    );
    let mut ranked: Vec<&Said<'_>> = said.iter().collect();
    ranked.sort_by(|(a, _), (b, _)| b.strength.total_cmp(&a.strength).then(a.id.cmp(b.id)));
    for (rank, (point, shares)) in ranked.into_iter().enumerate() {
        let end = text.len();
        let said = answered::quote(&point.text, 14, draw).map(answered::in_prose);
        let share = percent(shares[top]);
        let _infallible = match (rank, said) {
            (0, Some(said)) => write!(text, " It rests most on {}: “{said}”.", point.id),
            (1 | 2, Some(said)) => write!(text, " {} adds “{said}” and holds {share} %.", point.id),
            (_, Some(said)) => write!(text, " {} weighs less, with {share} %: “{said}”.", point.id),
            (_, None) => write!(text, " {} holds {share} %.", point.id),
        };
        if room::cost(&text) > tokens_max {
            text.truncate(end);
            break;
        }
    }
    text
}

fn disagreements<'a>(sheet: &Sheet<'_>, said: &[Said<'a>]) -> Vec<Disagreement<'a>> {
    let spreads: Vec<f64> = (0..sheet.outcomes.len()).map(|place| spread(said, place)).collect();
    let mut disputed: Vec<usize> = (0..spreads.len()).filter(|place| spreads[*place] >= SPREAD_MIN).collect();
    disputed.sort_by(|a, b| spreads[*b].total_cmp(&spreads[*a]).then(a.cmp(b)));
    // What one of two outcomes has, the other lacks.
    disputed.truncate(if spreads.len() == 2 { 1 } else { DISAGREEMENTS_MAX });
    let disagreements = disputed.into_iter().map(|place| {
        let positions = said.iter().map(|(point, shares)| {
            let stance = format!("{} % for {} ({})", percent(shares[place]), label(sheet, place), point.id);
            Position { role: point.role, stance, strength: (shares[place] * 100.0).round() / 100.0 }
        });
        let topic = format!("How likely is {}?", label(sheet, place));
        Disagreement { topic, positions: positions.collect(), resolved: spreads[place] < RESOLVED_MAX }
    });
    disagreements.collect()
}

impl Disagreement<'_> {
    fn cost(&self) -> usize {
        let positions = self.positions.iter();
        let positions: usize =
            positions.map(|position| 16 + room::cost(position.role) + room::cost(&position.stance)).sum();
        16 + room::cost(&self.topic) + positions
    }
}

/// Returns what the best points brought, one of each role at most.
fn insights<'a>(sheet: &'a Sheet<'_>, draw: &mut Draw) -> Vec<Insight<'a>> {
    let mut ranked: Vec<&Point<'_>> = sheet.points.iter().collect();
    ranked.sort_by(|a, b| b.strength.total_cmp(&a.strength).then(a.id.cmp(b.id)));
    let mut insights: Vec<Insight<'a>> = Vec::new();
    for point in ranked {
        if insights.len() >= INSIGHTS_MAX || insights.iter().any(|known| known.source_role == point.role) {
            continue;
        }
        let Some(said) = answered::quote(&point.text, 18, draw) else { continue };
        let strength = point.strength;
        insights.push(Insight {
            insight: format!("{} {}: “{}”", phrases::MARK, point.id, answered::in_prose(said)),
            source_role: point.role,
            round: point.round,
            impact: if strength >= 0.7 {
                "high"
            } else if strength >= 0.5 {
                "medium"
            } else {
                "low"
            },
            affected_outcomes: sheet
                .outcomes
                .get(point.supports)
                .map(|outcome| outcome.letter)
                .into_iter()
                .collect(),
        });
    }
    insights
}

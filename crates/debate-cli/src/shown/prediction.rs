//! The result of a prediction debate.

use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::config::Config;
use debate_core::formats::prediction::forecast::Forecasts;
use debate_core::formats::prediction::outcome::DebateResult;
use debate_core::id::OutcomeId;
use debate_core::measures::distribution::Distribution;
use debate_core::prose::Texts;

use super::{roles, rounds};
use crate::page::{Column, Page, clipped, percent, score};
use crate::plain::one_line;

/// Shows the result as it stands.
pub(super) fn show(page: &mut Page, debate: &Debate<Prediction>, full: bool) {
    let result = Prediction::outcome(debate, Texts::Shown);
    let names = Names::of(debate);
    answer(page, &names, &result, debate.parts_cut_note().as_ref());
    super::resolution::show(page, debate);
    side_by_side(page, debate.config(), &names, &result);
    roles::show(page, debate.config(), &names, &result, full);
    repaired(page, &result);
    disagreements(page, &result);
    insights(page, &names, &result);
    precedents(page, &result);
    rounds::show(page, &names, &result, full);
    reasoning(page, &result, full);
}

/// The mark of a number whose answer was repaired.
const REPAIRED: &str = "*";

/// What outcomes are called.
pub(super) struct Names {
    labels: Vec<(OutcomeId, String)>,
}

impl Names {
    fn of(debate: &Debate<Prediction>) -> Self {
        let texts = debate.brief().shown().map(|brief| brief.outcomes.as_slice()).unwrap_or_default();
        let label = |(place, id): (usize, &OutcomeId)| {
            let label = texts.get(place).map_or("", |text| text.label.as_str());
            let label = one_line(if label.trim().is_empty() { id.as_str() } else { label });
            (id.clone(), label)
        };
        Self { labels: debate.config().outcomes.iter().enumerate().map(label).collect() }
    }

    /// Returns what an outcome is called.
    pub(super) fn of_outcome(&self, id: &OutcomeId) -> String {
        let found = self.labels.iter().find(|(known, _)| known == id);
        found.map_or_else(|| one_line(id.as_str()), |(_, label)| label.clone())
    }
}

/// Returns the likeliest outcome with its probability; a dash where the debate is void.
pub(super) fn likeliest(debate: &Debate<Prediction>, label_chars: usize) -> String {
    let last = Forecasts::of(debate).map(|forecasts| forecasts.last);
    let probabilities = last.iter().flat_map(|last| last.as_slice().iter().zip(&debate.config().outcomes));
    let found = probabilities.max_by(|(one, _), (other, _)| one.total_cmp(other));
    found.map_or_else(
        || "-".to_owned(),
        |(probability, id)| {
            let label = clipped(&Names::of(debate).of_outcome(id), label_chars);
            format!("{label} {:.0} %", probability * 100.0)
        },
    )
}

/// Shows the probabilities and the notes but one, which the end of the page has in every format.
fn answer(page: &mut Page, names: &Names, result: &DebateResult, noted_at_end: Option<&String>) {
    if result.probability_distribution.is_empty() {
        return;
    }
    page.heading("Probabilities");
    let labels: Vec<String> =
        result.probability_distribution.iter().map(|entry| names.of_outcome(&entry.outcome_id)).collect();
    let width = page.label_width(&labels);
    for (label, entry) in labels.iter().zip(&result.probability_distribution) {
        page.bar(label, width, entry.probability);
    }
    let notes = result.extra.notes.iter().filter(|note| noted_at_end != Some(*note));
    notes.for_each(|note| page.hanging(2, "! ", &one_line(note)));
}

/// Returns the mark of a number whose answer was repaired, nothing for any other (rule P29).
pub(super) fn mark(result: &DebateResult, call: &str) -> &'static str {
    if result.extra.repairs.iter().any(|entry| entry.call == call) { REPAIRED } else { "" }
}

/// Says what the mark means, and what was repaired where (rules K18, P29).
fn repaired(page: &mut Page, result: &DebateResult) {
    let entries = &result.extra.repairs;
    if entries.is_empty() {
        return;
    }
    let lines = entries.iter().map(|entry| format!("{} ({})", entry.call, entry.repairs.join(", ")));
    let text = one_line(&lines.collect::<Vec<_>>().join("; "));
    page.hanging(2, &format!("{REPAIRED} repaired: "), &text);
}

/// Shows the judge, the consensus, the blind baseline and the other pools side by side (rules P4, P8, P18).
fn side_by_side(page: &mut Page, config: &Config, names: &Names, result: &DebateResult) {
    let extra = &result.extra;
    if result.probability_distribution.is_empty() {
        return;
    }
    let weight = config.judge_weight;
    let judge = result.extra.repairs.iter().any(|entry| entry.call.starts_with("synthesise/"));
    let judge_mark = if judge { REPAIRED } else { "" };
    if result.probability_distribution.iter().all(|entry| entry.judge_probability.is_none()) {
        page.heading("Consensus (result = the consensus: there is no synthesis)");
    } else {
        let rest = 1.0 - weight;
        page.heading(&format!("Judge and consensus (result = {weight:.2} judge + {rest:.2} consensus)"));
    }
    let at = |distribution: Option<&Distribution>, place: usize| {
        let share = distribution.and_then(|shares| shares.as_slice().get(place).copied());
        share.map_or_else(|| "-".to_owned(), percent)
    };
    let pools = extra.pools.as_ref();
    let row = |(place, entry): (usize, &debate_core::formats::prediction::outcome::OutcomeProbability)| {
        vec![
            names.of_outcome(&entry.outcome_id),
            entry.judge_probability.map_or_else(|| "-".to_owned(), |judge| percent(judge) + judge_mark),
            percent(entry.consensus_probability),
            at(extra.blind_baseline.as_ref(), place),
            score(extra.consensus_per_outcome.get(place).map(|outcome| outcome.consensus_score)),
            at(pools.map(|pools| &pools.log_odds), place),
            at(pools.map(|pools| &pools.extremised), place),
            at(pools.map(|pools| &pools.trimmed), place),
        ]
    };
    let rows: Vec<Vec<String>> = result.probability_distribution.iter().enumerate().map(row).collect();
    let head = [
        ("outcome", Column::Left),
        ("judge", Column::Right),
        ("consensus", Column::Right),
        ("blind", Column::Right),
        ("agreement", Column::Right),
        ("log-odds", Column::Right),
        ("extremised", Column::Right),
        ("trimmed", Column::Right),
    ];
    page.table(2, &head, &rows);
    let agreement = result.consensus_score.map_or_else(|| "-".to_owned(), |score| format!("{score:.2}"));
    page.line(&format!(
        "  agreement over all outcomes {agreement}; blind = the mean of the independent first round"
    ));
}

fn disagreements(page: &mut Page, result: &DebateResult) {
    if result.disagreement_map.is_empty() {
        return;
    }
    page.heading("Where they disagree");
    for disagreement in &result.disagreement_map {
        let settled = if disagreement.resolved { " (settled)" } else { "" };
        page.hanging(2, "- ", &format!("{}{settled}", disagreement.topic));
        for position in &disagreement.positions {
            let mark = format!("{} {:.2}: ", position.role, position.strength);
            page.hanging(6, &mark, &one_line(&position.stance));
        }
    }
}

fn insights(page: &mut Page, names: &Names, result: &DebateResult) {
    if result.key_insights.is_empty() {
        return;
    }
    page.heading("Insights");
    for insight in &result.key_insights {
        page.hanging(2, "- ", &insight.insight);
        let affected: Vec<String> = insight.affected_outcomes.iter().map(|id| names.of_outcome(id)).collect();
        let about = if affected.is_empty() { String::new() } else { format!("; on {}", affected.join(", ")) };
        let (impact, role, round) = (insight.impact.as_str(), &insight.source_role, insight.round);
        page.paragraph(4, &format!("{impact} impact; {role}, round {round}{about}"));
    }
}

fn precedents(page: &mut Page, result: &DebateResult) {
    if result.historical_precedents.is_empty() {
        return;
    }
    page.heading("Precedents");
    for precedent in &result.historical_precedents {
        let (date, event) = (one_line(&precedent.date), one_line(&precedent.event));
        page.hanging(2, "- ", &format!("{date}: {event}"));
        page.paragraph(4, &format!("ended: {}", one_line(&precedent.outcome)));
        let relevance = one_line(&precedent.relevance);
        page.paragraph(4, &format!("like this one {:.2}: {relevance}", precedent.similarity_score));
    }
}

fn reasoning(page: &mut Page, result: &DebateResult, full: bool) {
    if result.extra.judge_reasoning.is_empty() {
        return;
    }
    page.heading("The judge's reasoning");
    if let Some(passes) = &result.extra.judge_passes {
        let flipped = if passes.flipped { "; they hold different outcomes for the likeliest" } else { "" };
        let apart = passes.total_variation;
        page.paragraph(2, &format!("{} passes in reversed orders, {apart:.2} apart{flipped}", passes.held));
    }
    page.excerpt(2, &result.extra.judge_reasoning, if full { usize::MAX } else { 6 });
}

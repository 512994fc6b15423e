//! How each role's probabilities moved through the rounds, and how good its arguments were (rules P5, P6, P17).

use debate_core::formats::prediction::config::Config;
use debate_core::formats::prediction::outcome::DebateResult;
use debate_core::id::{OutcomeId, Role};

use super::prediction::{self, Names};
use crate::page::{Column, Page, percent, score};

/// Outcomes whose moves are shown unless all are asked for.
const OUTCOMES_SHOWN: usize = 3;

/// Shows a table for each of the likeliest outcomes, and one of scores.
pub(super) fn show(page: &mut Page, config: &Config, names: &Names, result: &DebateResult, full: bool) {
    let rounds: Vec<u32> = result.debate_log.rounds.iter().map(|round| round.round_number).collect();
    if result.extra.ledger.is_empty() {
        return;
    }
    let shown = shown(config, result, full);
    for outcome in &shown {
        page.heading(&format!("Roles by round: {}", names.of_outcome(outcome)));
        moves(page, config, result, &rounds, outcome);
    }
    let left = config.outcomes.len() - shown.len();
    if left > 0 && config.outcomes.len() > 2 {
        page.line(&format!("  {left} more outcomes with --full"));
    }
    if result.extra.conformity_moves > 0 {
        let moves = result.extra.conformity_moves;
        page.line(&format!(
            "  {moves} moves of 0.1 log-odds or more towards the others came without a new point of theirs"
        ));
    }
    page.heading("Scores of the arguments by round");
    scores(page, config, result, &rounds);
    quality(page, result);
}

/// Returns the outcomes to show: of two the first (the other is the rest), else the likeliest.
fn shown(config: &Config, result: &DebateResult, full: bool) -> Vec<OutcomeId> {
    if full {
        return config.outcomes.clone();
    }
    if config.outcomes.len() == 2 {
        return config.outcomes[..1].to_vec();
    }
    let mut likely: Vec<_> = result.probability_distribution.iter().collect();
    likely.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let top: Vec<&OutcomeId> = likely.iter().take(OUTCOMES_SHOWN).map(|entry| &entry.outcome_id).collect();
    config.outcomes.iter().filter(|id| top.contains(id)).cloned().collect()
}

fn head(rounds: &[u32]) -> Vec<String> {
    rounds.iter().map(|round| format!("round {round}")).collect()
}

fn moves(page: &mut Page, config: &Config, result: &DebateResult, rounds: &[u32], outcome: &OutcomeId) {
    let Some(place) = config.outcome_index(outcome) else { return };
    let names = head(rounds);
    let mut columns = vec![("role", Column::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Column::Right)));
    columns.extend([("confidence", Column::Right), ("assessment", Column::Left)]);
    let entry = result.probability_distribution.iter().find(|entry| entry.outcome_id == *outcome);
    let assessments = entry.map(|entry| entry.role_assessments.as_slice()).unwrap_or_default();
    let row = |role: &Role| {
        let mut row = vec![role.to_string()];
        row.extend(rounds.iter().map(|round| {
            let made = result.extra.ledger.iter().find(|entry| entry.role == *role && entry.round == *round);
            let share = made.and_then(|entry| entry.probabilities.as_slice().get(place).copied());
            let mark = prediction::mark(result, &format!("argue/{round}/{role}"));
            share.map_or_else(|| "-".to_owned(), |share| percent(share) + mark)
        }));
        let last = assessments.iter().find(|assessment| assessment.role == *role);
        row.push(score(last.map(|last| last.confidence)));
        row.push(last.map_or_else(|| "missing".to_owned(), |last| page.terminal().bar(last.probability, 20)));
        row
    };
    let rows: Vec<Vec<String>> = config.roles.iter().map(row).collect();
    page.table(2, &columns, &rows);
}

fn scores(page: &mut Page, config: &Config, result: &DebateResult, rounds: &[u32]) {
    let names = head(rounds);
    let mut columns = vec![("role", Column::Left)];
    columns.extend(names.iter().map(|name| (name.as_str(), Column::Right)));
    let row = |role: &Role| {
        let mut row = vec![role.to_string()];
        row.extend(result.debate_log.rounds.iter().map(|round| {
            let argument = round.arguments.iter().find(|argument| argument.role == *role);
            let mark = prediction::mark(result, &format!("score/{}/{role}", round.round_number));
            score(argument.and_then(|argument| argument.scores.composite)) + mark
        }));
        row
    };
    let rows: Vec<Vec<String>> = config.roles.iter().map(row).collect();
    page.table(2, &columns, &rows);
}

fn quality(page: &mut Page, result: &DebateResult) {
    let quality = &result.extra.argument_quality;
    if let Some(share) = quality.good_share {
        let flag = if quality.flagged { ", fewer than the 80 % there should be" } else { "" };
        page.line(&format!(
            "  {} score above 0.4{flag}; {} were asked again",
            percent(share),
            quality.rejected
        ));
    }
    if let Some(share) = result.extra.evolution_share {
        page.line(&format!("  {} of the closing arguments cite an earlier point", percent(share)));
    }
}

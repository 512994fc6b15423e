//! What was said in each round of a prediction debate.

use debate_core::formats::prediction::outcome::{ArgumentEntry, DebateResult, Round};
use debate_core::measures::consensus::Direction;

use super::prediction::Names;
use crate::page::{Page, score};
use crate::plain::one_line;

/// Lines of an argument unless whole texts are asked for.
const LINES_SHOWN: usize = 3;

/// Shows the rounds in order.
pub(super) fn show(page: &mut Page, names: &Names, result: &DebateResult, full: bool) {
    for round in &result.debate_log.rounds {
        page.heading(&format!("Round {}: {}", round.round_number, round.phase.as_str()));
        summary(page, names, round);
        for argument in &round.arguments {
            show_argument(page, names, argument, full);
        }
    }
}

fn summary(page: &mut Page, names: &Names, round: &Round) {
    let summary = &round.round_summary;
    if !summary.dominant_argument.is_empty() {
        page.line(&format!("  strongest argument: {}", one_line(&summary.dominant_argument)));
    }
    for emerging in &summary.emerging_consensus {
        let outcome = names.of_outcome(&emerging.outcome_id);
        match emerging.direction {
            Direction::Toward => page.line(&format!("  closer together on {outcome}")),
            Direction::Away => page.line(&format!("  further apart on {outcome}")),
        }
    }
    if !summary.key_disagreements.is_empty() {
        page.hanging(2, "at odds: ", &one_line(&summary.key_disagreements.join("; ")));
    }
}

fn show_argument(page: &mut Page, names: &Names, argument: &ArgumentEntry, full: bool) {
    let mut line = format!("{} for {}", argument.role, names.of_outcome(&argument.outcome_supported));
    line.push_str(&format!(", score {}", score(argument.scores.composite)));
    for (what, whom) in [
        ("rebuts", argument.rebuts.iter().map(ToString::to_string).collect::<Vec<_>>()),
        ("cites", argument.cites.clone()),
        ("flagged", argument.flags.clone()),
    ] {
        if !whom.is_empty() {
            line.push_str(&format!(", {what} {}", whom.join(", ")));
        }
    }
    page.hanging(2, "", &one_line(&line));
    page.excerpt(6, &argument.argument, if full { usize::MAX } else { LINES_SHOWN });
    if full {
        argument.evidence_cited.iter().for_each(|evidence| page.hanging(6, "- ", &one_line(evidence)));
    }
}

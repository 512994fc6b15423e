//! How good the forecasts of a resolved debate were (rule K16).

use debate_core::debate::Debate;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::scores::Resolution;
use debate_core::measures::proper_scores::ProperScores;

use crate::page::{Column, Page};
use crate::plain::one_line;

/// Shows what happened and the losses of every forecast; nothing where that is not known yet.
pub(crate) fn show(page: &mut Page, debate: &Debate<Prediction>) {
    let Some(resolution) = Resolution::of(debate) else { return };
    page.heading(&format!("What happened: {}", one_line(resolution.outcome.as_str())));
    if let Some(at) = &resolution.happened_at {
        page.line(&format!("  on {at}; recorded {}", resolution.resolved_at));
    }
    let Some(scores) = resolution.scores else {
        page.line("  the debate is void: there is no forecast to score");
        return;
    };
    let row = |who: &str, scores: &ProperScores| {
        vec![who.to_owned(), format!("{:.4}", scores.brier), format!("{:.3}", scores.log_bits)]
    };
    let mut rows = vec![row("the debate", &scores.r#final)];
    rows.extend(scores.judge.iter().map(|judge| row("judge's synthesis", judge)));
    rows.push(row("consensus", &scores.consensus));
    rows.extend(scores.blind.iter().map(|blind| row("blind opening", blind)));
    rows.extend(scores.roles.iter().map(|entry| row(&one_line(entry.role.as_str()), &entry.scores)));
    let head = [("forecast of", Column::Left), ("Brier", Column::Right), ("bits", Column::Right)];
    page.table(2, &head, &rows);
    page.line("  losses: smaller is better");
    if let Some(uplift) = scores.uplift {
        let (brier, bits) = (uplift.brier, uplift.log_bits);
        let verdict = match brier {
            _ if debate.is_simulated() => "simulated, so it says nothing about debates",
            brier if brier > 0.0 => "the debate helped",
            brier if brier < 0.0 => "the debate did not help",
            _ => "the debate changed nothing",
        };
        page.line(&format!("  uplift over the blind opening {brier:+.4} Brier, {bits:+.3} bits: {verdict}"));
    }
}

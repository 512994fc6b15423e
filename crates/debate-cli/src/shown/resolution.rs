//! How good the forecasts of a resolved debate were (rule K16).

use debate_core::debate::Debate;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::scores::Resolution;
use debate_core::measures::proper_scores::{ProperScores, Uplift};

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
        let step = |gain: Uplift| format!("{:+.4} Brier, {:+.3} bits", gain.brier, gain.log_bits);
        page.line(&format!("  gained over the mean of the blind opening: {}", step(uplift)));
        if let Some(steps) = scores.steps {
            let parts = [("pooling", steps.pooling), ("debate", steps.debate), ("judge", steps.judge)];
            parts.iter().for_each(|(name, gain)| page.line(&format!("    by {name}: {}", step(*gain))));
        }
        let note = if debate.is_simulated() {
            "simulated, so it says nothing about debates"
        } else {
            "one outcome proves nothing; see debate calibration"
        };
        page.line(&format!("  {note}"));
    }
}

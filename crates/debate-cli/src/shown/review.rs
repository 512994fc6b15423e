//! The result of a review debate.

use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::review::Review;
use debate_core::formats::review::fact::Winner;
use debate_core::formats::review::outcome::{PairDebate, PairJudgement};
use debate_core::prose::Texts;

use crate::page::Page;
use crate::plain::one_line;

/// Lines of a speech unless whole texts are asked for.
const LINES_SHOWN: usize = 4;

/// Shows the result as it stands.
pub(super) fn show(page: &mut Page, debate: &Debate<Review>, full: bool) {
    let result = Review::outcome(debate, Texts::Shown);
    if let Some(not_run) = &result.not_run {
        page.heading("No debate ran");
        page.paragraph(2, &not_run.reason);
    }
    for debated in &result.debates {
        let title = format!("Pair {}: {}", debated.pair, one_line(&debated.conflict_description));
        page.heading(&title);
        if let Some(judgement) = &debated.judgement {
            verdict(page, debated, judgement);
        }
        speeches(page, debated, full);
    }
    if !result.failed_pairs.is_empty() {
        page.heading("Pairs that failed");
        for failed in &result.failed_pairs {
            let line = format!("{} and {}: {}", failed.role_a, failed.role_b, one_line(&failed.why));
            page.hanging(2, "- ", &line);
        }
    }
    page.heading("Input");
    page.line("  critiques and conflicts are returned as they came; nothing was merged");
}

fn verdict(page: &mut Page, debated: &PairDebate, judgement: &PairJudgement) {
    let winner = match judgement.winner {
        Winner::RoleA => debated.role_a.as_str(),
        Winner::RoleB => debated.role_b.as_str(),
        Winner::Tie => "neither",
    };
    page.line(&format!("  argued better: {winner}"));
    for feedback in &judgement.feedback {
        let logged = &feedback.logged;
        let labels = logged.argument_labels.join(", ");
        page.line(&format!("  {} {:.1} of 10  {labels}", logged.role, logged.argument_quality_score));
        page.hanging(6, "signal: ", &one_line(&logged.policy_signal));
    }
    page.paragraph(2, &judgement.summary);
    if let Some(note) = &judgement.note {
        page.hanging(2, "note: ", note);
    }
}

fn speeches(page: &mut Page, debated: &PairDebate, full: bool) {
    let said = [
        (&debated.role_a, "argues", &debated.role_a_argument),
        (&debated.role_b, "argues", &debated.role_b_argument),
        (&debated.role_a, "answers", &debated.role_a_rebuttal),
        (&debated.role_b, "answers", &debated.role_b_rebuttal),
    ];
    for (role, does, text) in said {
        let Some(text) = text else { continue };
        page.line(&format!("  {role} {does}"));
        page.excerpt(6, text, if full { usize::MAX } else { LINES_SHOWN });
    }
}

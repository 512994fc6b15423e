//! The result of a deliberation.

use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::deliberation::outcome::DeliberationResult;
use debate_core::id::Role;
use debate_core::prose::Texts;

use crate::page::Page;
use crate::plain::one_line;

/// Lines of a contribution unless whole texts are asked for.
const LINES_SHOWN: usize = 4;

/// Shows the result as it stands.
pub(super) fn show(page: &mut Page, debate: &Debate<Deliberation>, full: bool) {
    let result = Deliberation::outcome(debate, Texts::Shown);
    consensus(page, &result);
    left_out(page, debate);
    for phase in &result.phases {
        page.heading(&format!("Phase {}: {}", phase.round, phase.phase.as_str()));
        for contribution in &phase.contributions {
            let changed =
                if contribution.changed_position == Some(true) { " (changed position)" } else { "" };
            page.line(&format!("  {}{changed}", contribution.participant));
            page.excerpt(6, &contribution.content, if full { usize::MAX } else { LINES_SHOWN });
        }
    }
}

fn consensus(page: &mut Page, result: &DeliberationResult) {
    if let Some(consensus) = &result.consensus {
        page.heading("Consensus");
        page.paragraph(2, consensus);
    }
    if !result.disagreements.is_empty() {
        page.heading("Left open");
        result.disagreements.iter().for_each(|open| page.hanging(2, "- ", &one_line(open)));
    }
    if !result.position_changes.is_empty() {
        page.heading("Changed position");
        let names: Vec<&str> = result.position_changes.iter().map(Role::as_str).collect();
        page.line(&format!("  {}", names.join(", ")));
    }
}

/// Names the skills that could not be loaded (rule D8).
fn left_out(page: &mut Page, debate: &Debate<Deliberation>) {
    let missing = &debate.config().skills_missing;
    if !missing.is_empty() {
        page.heading("Skills left out");
        page.line(&format!("  {}", one_line(&missing.join(", "))));
    }
}

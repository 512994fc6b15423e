//! The facts of a deliberation in words.

use debate_core::counted::counted;
use debate_core::debate::Debate;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::deliberation::fact::Fact;
use debate_core::prose::REDACTED;

use super::{EventLine, Severity, Tell, quoted};

impl Tell for Deliberation {
    fn tell(_debate: &Debate<Self>, fact: &Fact) -> EventLine {
        match fact {
            Fact::ContributionMade(made) => {
                let words = made.prose.shown().map_or(REDACTED, |prose| prose.content.as_str());
                let changed = if made.changed_position == Some(true) { "changed position; " } else { "" };
                let text = format!("{} ({changed}{})", quoted(words), made.phase.as_str());
                EventLine::new(Severity::Step, Some(&made.participant), text)
            }
            Fact::ConsensusReached(reached) => {
                let words = reached.prose.shown().map_or(REDACTED, |prose| prose.content.as_str());
                let open = match reached.disagreements {
                    0 => String::new(),
                    open => format!(", {} left", counted(open, "disagreement", "disagreements")),
                };
                let text = format!("consensus{open}: {}", quoted(words));
                EventLine::new(Severity::Mark, None, text)
            }
        }
    }
}

//! The facts of a roundtable in words.

use debate_core::debate::Debate;
use debate_core::formats::roundtable::Roundtable;
use debate_core::formats::roundtable::call::Kind;
use debate_core::formats::roundtable::fact::Fact;
use debate_core::prose::REDACTED;

use super::{EventLine, Severity, Tell, quoted};

impl Tell for Roundtable {
    fn tell(_debate: &Debate<Self>, fact: &Fact) -> EventLine {
        match fact {
            Fact::ResponseGiven(given) => {
                let words = given.prose.shown().map_or(REDACTED, |prose| prose.position.as_str());
                let forced = if given.forced { " forced" } else { "" };
                let stance = given.stance.map(|stance| format!("{}{forced}, ", stance.as_str()));
                let stance = stance.unwrap_or_default();
                let again = if given.kind == Kind::Repoll { ", asked again" } else { "" };
                let text = format!("{} ({stance}confidence {:.2}{again})", quoted(words), given.confidence);
                EventLine::new(Severity::Step, Some(&given.agent), text)
            }
            Fact::RoundJudged(judged) => {
                let found = judged.groupthink.as_ref().is_some_and(|found| found.detected);
                let (round, camps) = (judged.round, judged.camps.len());
                let again = if judged.kind == Kind::Repoll { " when asked again" } else { "" };
                let warning = if found { ", signs of groupthink" } else { "" };
                let text = format!(
                    "round {round}{again}: agreement {:.2}, {camps} camps{warning}",
                    judged.agreement
                );
                EventLine::new(Severity::Mark, None, text)
            }
        }
    }
}

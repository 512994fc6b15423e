//! The facts of a review debate in words.

use debate_core::counted::counted;
use debate_core::debate::Debate;
use debate_core::formats::review::Review;
use debate_core::formats::review::config::Side;
use debate_core::formats::review::fact::{Fact, PairJudged, Winner};
use debate_core::prose::REDACTED;

use super::{EventLine, Severity, Tell, quoted};

impl Tell for Review {
    fn tell(debate: &Debate<Self>, fact: &Fact) -> EventLine {
        match fact {
            Fact::ReviewSkipped(skipped) => {
                let (found, needed) = (skipped.conflicts, skipped.min_conflicts_to_trigger);
                let why = skipped.why.as_str().replace('_', " ");
                let found = counted(found, "conflict", "conflicts");
                let text = format!("no debate runs: {why} ({found}, {needed} start a debate)");
                EventLine::new(Severity::Mark, None, text)
            }
            Fact::SpeechMade(made) => {
                let words = made.prose.shown().map_or(REDACTED, |prose| prose.text.as_str());
                let kind = made.speech.as_str();
                let text = format!("{} ({kind}, pair {})", quoted(words), made.pair);
                EventLine::new(Severity::Step, Some(&made.role), text)
            }
            Fact::PairJudged(judged) => EventLine::new(Severity::Mark, None, verdict(debate, judged)),
            Fact::PairFailed(failed) => {
                let text = format!("pair {} ends: {} has no usable answer", failed.pair, failed.call);
                EventLine::new(Severity::Trouble, None, text)
            }
        }
    }
}

fn verdict(debate: &Debate<Review>, judged: &PairJudged) -> String {
    let pair = debate.config().pair(judged.pair);
    let score = |side: Side| {
        let role = pair.map_or("?", |pair| pair.role(side).as_str());
        format!("{role} {:.1}", judged.verdict(side).argument_quality_score)
    };
    let winner = match (judged.winner.side(), pair) {
        (Some(side), Some(pair)) => pair.role(side).as_str(),
        (Some(_), None) | (None, _) => Winner::Tie.as_str(),
    };
    let scores = Side::BOTH.map(score).join(", ");
    let pass = if judged.pass > 1 { " seen the other way round" } else { "" };
    format!("pair {} judged{pass}: {winner} ({scores})", judged.pair)
}

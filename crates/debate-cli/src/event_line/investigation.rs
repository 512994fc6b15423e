//! The facts of an investigation in words.

use debate_core::counted::counted;
use debate_core::debate::Debate;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::investigation::config::{DEVILS_ADVOCATE, LEAD, SYNTHESIZER};
use debate_core::formats::investigation::fact::{
    ChallengeRaised, EvidenceReported, Fact, Stage, VerdictRendered, ViolationFound,
};
use debate_core::prose::{Prose, REDACTED};

use super::{EventLine, Severity, Tell, quoted};

impl Tell for Investigation {
    fn tell(_debate: &Debate<Self>, fact: &Fact) -> EventLine {
        match fact {
            Fact::HypothesesProposed(proposed) => {
                let refused = match proposed.refused {
                    0 => String::new(),
                    refused => format!(", {refused} refused"),
                };
                let count = counted(proposed.count, "hypothesis", "hypotheses");
                let text = format!("proposed {count}{refused}");
                EventLine::new(Severity::Mark, Some(&LEAD.into()), text)
            }
            Fact::EvidenceReported(reported) => report(reported),
            Fact::ChallengeRaised(raised) => challenge(raised),
            Fact::StatusUpdated(status) => {
                let answered = status.answered.len();
                let words = words(&status.prose, |said| &said.summary);
                let answered = counted(answered, "challenge", "challenges");
                let text = format!("{answered} answered: {}", quoted(words));
                EventLine::new(Severity::Step, Some(&SYNTHESIZER.into()), text)
            }
            Fact::ViolationFound(found) => violation(found),
            Fact::RoundSummarised(summary) => {
                let standings = summary.standings.iter().map(|standing| {
                    let trusted = if standing.trusted { "" } else { " untrusted" };
                    format!("H{} {}/10{trusted}", standing.hypothesis, standing.confidence)
                });
                let standings: Vec<String> = standings.collect();
                let text = format!("round {} is over: {}", summary.round, standings.join(", "));
                EventLine::new(Severity::Mark, None, text)
            }
            Fact::VerdictRendered(verdict) => ruling(verdict),
            Fact::ConclusionConveyed(conveyed) => {
                let text = quoted(words(&conveyed.prose, |said| &said.text));
                EventLine::new(Severity::Mark, Some(&LEAD.into()), text)
            }
        }
    }
}

fn words<T>(prose: &Prose<T>, of: impl Fn(&T) -> &String) -> &str {
    prose.shown().map_or(REDACTED, |said| of(said).as_str())
}

fn report(reported: &EvidenceReported) -> EventLine {
    let (before, now) = (reported.before, reported.confidence);
    let did = match reported.stage {
        Stage::Report => "reports on",
        Stage::Respond => "answers on",
    };
    let counting = reported.evidence.iter().filter(|evidence| evidence.counts()).count();
    let finding = quoted(words(&reported.prose, |said| &said.key_finding));
    let evidence = counted(reported.evidence.len(), "piece of evidence counts", "pieces of evidence count");
    let text = format!(
        "{did} H{}: {}, {before} to {now} of 10, {counting} of {evidence}: {finding}",
        reported.hypothesis,
        reported.status.as_str(),
    );
    EventLine::new(Severity::Step, Some(&reported.investigator), text)
}

fn challenge(raised: &ChallengeRaised) -> EventLine {
    let whom = raised.hypothesis.map_or_else(|| "no hypothesis".to_owned(), |number| format!("H{number}"));
    let ignored = if raised.stands { "" } else { " (ignored)" };
    let reason = quoted(words(&raised.prose, |said| &said.challenge));
    let text = format!("{} to {whom}{ignored}: {reason}", raised.id);
    EventLine::new(Severity::Step, Some(&DEVILS_ADVOCATE.into()), text)
}

fn violation(found: &ViolationFound) -> EventLine {
    let act = found.act.map_or_else(String::new, |act| format!(" ({})", act.as_str()));
    let challenge = found.challenge.map_or_else(String::new, |id| format!(" {id}"));
    let text = format!("broke {}{act}{challenge}: {}", found.violation.as_str(), found.consequence.as_str());
    EventLine::new(Severity::Trouble, Some(&found.by), text)
}

fn ruling(verdict: &VerdictRendered) -> EventLine {
    let needs = if verdict.needs_more_information { ", more information is needed" } else { "" };
    let text = format!("verdict: H{}, named by {}{needs}", verdict.hypothesis, verdict.named_by.as_str());
    EventLine::new(Severity::Mark, Some(&SYNTHESIZER.into()), text)
}

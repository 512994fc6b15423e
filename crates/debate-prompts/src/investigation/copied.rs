//! Messages that copy their own prompt (rule P27).

use debate_core::call::Want;
use debate_core::formats::investigation::answer::Said;
use debate_core::formats::investigation::evidence::Evidence;
use debate_core::formats::investigation::fact::EvidenceReported;
use debate_core::formats::investigation::visible::{ChallengeView, Dossier, Task, Visible};

use super::instructions;
use crate::copies;
use crate::prompts::ParseError;

/// The fields of messages, which are copies where they are all of a text.
const KEYS: [&str; 12] = [
    "hypothesis",
    "prediction",
    "key_finding",
    "finding",
    "pointer",
    "quote",
    "shows",
    "words",
    "challenge",
    "summary",
    "conclusion",
    "reason",
];

/// Returns an error where a text of a message copies its prompt's instructions, or a finding or challenge that it shows.
///
/// # Errors
/// The text is a copy; the reason is for the one who is asked again.
pub(super) fn check(visible: &Visible, want: &Want, said: &Said) -> Result<(), ParseError> {
    let instructions = instructions(visible, want).map_err(|error| ParseError { why: error.to_string() })?;
    let [persona, task] = &instructions;
    for (what, text) in texts(said) {
        copies::check_instructions(text, &[persona, task], &KEYS, what)?;
        copies::check_shown(text, shown(&visible.task).into_iter(), || None, what)?;
    }
    Ok(())
}

/// Returns what a message says in its own words, what it says first first.
fn texts(said: &Said) -> Vec<(&'static str, &str)> {
    match said {
        Said::Hypotheses(hypotheses) => {
            let texts = hypotheses.iter().flat_map(|text| {
                [("hypothesis", text.statement.as_str()), ("prediction", text.prediction.as_str())]
            });
            texts.collect()
        }
        Said::Report(report) => {
            let finding = [("key finding", report.key_finding.as_str())].into_iter();
            let responses = report.responses.iter().map(|response| ("response", response.text.as_str()));
            finding.chain(responses).chain(report.evidence().map(|(_, evidence)| shows(evidence))).collect()
        }
        Said::Challenges(challenges) => {
            let reasons = challenges.iter().map(|challenge| ("challenge", challenge.challenge.as_str()));
            let evidence = challenges.iter().flat_map(|challenge| &challenge.counter_evidence).map(shows);
            reasons.chain(evidence).collect()
        }
        Said::Status(status) => vec![("summary", status.summary.as_str())],
        Said::Verdict(verdict) => vec![("summary", verdict.reasoning.as_str())],
        Said::Conclusion(conclusion) => vec![("conclusion", conclusion.text.as_str())],
    }
}

fn shows(evidence: &Evidence) -> (&'static str, &str) {
    ("evidence", evidence.claim.as_str())
}

/// Returns the findings, responses and challenges that a task shows, each with whether it is its reader's own. The lead
/// conveys what others said, so nothing is a copy there.
fn shown(task: &Task) -> Vec<(bool, &str)> {
    let (dossiers, is_advocate): (&[Dossier], bool) = match task {
        Task::Investigate(view) => {
            let own = messages(&view.messages).map(|text| (true, text));
            return own.chain(challenges(&view.challenges).map(|text| (false, text))).collect();
        }
        Task::Challenge { dossiers, .. } => (dossiers, true),
        Task::Status(dossiers) | Task::Verdict(dossiers) => (dossiers, false),
        Task::Propose { .. } | Task::Convey(_) => return Vec::new(),
    };
    let shown = dossiers.iter().flat_map(|dossier| {
        let said = messages(&dossier.messages).map(|text| (false, text));
        said.chain(challenges(&dossier.challenges).map(|text| (is_advocate, text)))
    });
    shown.collect()
}

fn messages(messages: &[EvidenceReported]) -> impl Iterator<Item = &str> {
    messages.iter().filter_map(|message| message.prose.shown()).flat_map(|report| {
        let responses = report.responses.iter().map(|response| response.text.as_str());
        std::iter::once(report.key_finding.as_str()).chain(responses)
    })
}

fn challenges(challenges: &[ChallengeView]) -> impl Iterator<Item = &str> {
    challenges.iter().filter_map(|view| Some(view.raised.prose.shown()?.challenge.as_str()))
}

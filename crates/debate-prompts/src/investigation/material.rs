//! What was said, as tagged material: escaped, so that no word of it can end its tag or begin another (rule K13).

use debate_core::formats::investigation::answer::HypothesisText;
use debate_core::formats::investigation::config::Language;
use debate_core::formats::investigation::fact::{EvidenceReported, Stage, ViolationFound};
use debate_core::formats::investigation::visible::{
    ChallengeView, ConveyView, Dossier, InvestigateView, Subject, Task, Visible,
};

use super::messages;
use crate::escape;
use crate::tokens::Section;

/// Messages are shortened, the oldest first, down to so many tokens each; where a context window is too small even for
/// that, they are left out.
const MESSAGE_TOKENS: (u32, u32) = (80, 0);
/// Hypotheses are shortened after messages, down to so many tokens each; the second number is for a context window.
const HYPOTHESIS_TOKENS: (u32, u32) = (80, 24);
/// The subject is shortened last, down to so many tokens each part; the second number is for a context window.
const SUBJECT_TOKENS: (u32, u32) = (400, 80);

/// A piece of a prompt that may be shortened.
pub(super) struct Part {
    name: String,
    /// The tag with its attributes.
    tag: String,
    text: String,
    priority: u8,
    /// The fewest tokens of it, and those where a context window is too small even for that.
    tokens_min: (u32, u32),
}

impl Part {
    fn subject(tag: &str, text: &str) -> Self {
        let (name, text) = (tag.to_owned(), text.to_owned());
        Self { tag: name.clone(), name, text, priority: u8::MAX, tokens_min: SUBJECT_TOKENS }
    }

    fn message(name: &str, tag: String, text: String, round: u32) -> Self {
        let priority = u8::try_from(round).unwrap_or(u8::MAX - 1);
        Self { name: name.to_owned(), tag, text, priority, tokens_min: MESSAGE_TOKENS }
    }

    /// Returns what may be shortened.
    pub(super) fn section(&self) -> Section<'_> {
        let (tokens_min, tokens_least) = self.tokens_min;
        Section { name: &self.name, text: &self.text, priority: self.priority, tokens_min, tokens_least }
    }

    /// Returns the part with its text at the given length.
    pub(super) fn framed(&self, text: &str) -> String {
        let name = self.tag.split(' ').next().unwrap_or(&self.tag);
        format!("<{}>\n{}\n</{name}>", self.tag, escape::xml(text))
    }
}

/// Returns what a prompt shows, in order; `None` where some of it was redacted.
pub(super) fn parts(visible: &Visible) -> Option<Vec<Part>> {
    let Subject { problem, context } = visible.problem.as_ref()?;
    let mut parts = vec![Part::subject("problem", problem)];
    if !context.trim().is_empty() {
        parts.push(Part::subject("context", context));
    }
    match &visible.task {
        Task::Propose { .. } => {}
        Task::Investigate(view) => investigated(view, &mut parts)?,
        Task::Challenge { dossiers, .. } | Task::Status(dossiers) | Task::Verdict(dossiers) => {
            dossiers.iter().try_for_each(|one| dossier(one, &mut parts))?;
        }
        Task::Convey(view) => conveyed(view, &mut parts)?,
    }
    Some(parts)
}

fn investigated(view: &InvestigateView, parts: &mut Vec<Part>) -> Option<()> {
    parts.push(hypothesis(format!("hypothesis id=\"H{}\"", view.hypothesis), view.text.as_ref()?));
    said(&view.messages, &view.challenges, parts)
}

fn dossier(dossier: &Dossier, parts: &mut Vec<Part>) -> Option<()> {
    let standing = &dossier.standing;
    let tag = format!(
        "hypothesis id=\"H{}\" investigator=\"{}\" status=\"{}\" confidence=\"{}/10\" trusted=\"{}\"",
        standing.hypothesis,
        standing.investigator,
        standing.status.as_str(),
        standing.confidence,
        if standing.trusted { "yes" } else { "no" },
    );
    parts.push(hypothesis(tag, dossier.text.as_ref()?));
    said(&dossier.messages, &dossier.challenges, parts)
}

fn hypothesis(tag: String, text: &HypothesisText) -> Part {
    let HypothesisText { statement, prediction } = text;
    let text = format!("Hypothesis: {statement}\nPrediction: {prediction}");
    Part { name: "hypothesis".to_owned(), tag, text, priority: u8::MAX, tokens_min: HYPOTHESIS_TOKENS }
}

/// Adds messages and challenges round by round, in the order in which they were made.
fn said(messages: &[EvidenceReported], challenges: &[ChallengeView], parts: &mut Vec<Part>) -> Option<()> {
    let last = messages.iter().map(|message| message.round);
    let last = last.chain(challenges.iter().map(|one| one.raised.id.round)).max().unwrap_or(0);
    for round in 1..=last {
        let of = |stage| messages.iter().filter(move |one| one.round == round && one.stage == stage);
        for message in of(Stage::Report) {
            parts.push(reported(message)?);
        }
        for challenge in challenges.iter().filter(|one| one.raised.id.round == round) {
            parts.push(challenged(challenge)?);
        }
        for message in of(Stage::Respond) {
            parts.push(reported(message)?);
        }
    }
    Some(())
}

fn reported(message: &EvidenceReported) -> Option<Part> {
    let mut text = messages::report(message.prose.shown()?);
    let checks = message.evidence.iter().map(|one| {
        let ignored = if one.counts() { "" } else { ", ignored" };
        format!("H{}.E{} {}{ignored}", message.hypothesis, one.number, one.check.as_str())
    });
    let checks: Vec<String> = checks.collect();
    if !checks.is_empty() {
        text.push_str(&format!("\n({})", checks.join("; ")));
    }
    let tag = format!("message from=\"{}\" round=\"{}\"", message.investigator, message.round);
    Some(Part::message("message", tag, text, message.round))
}

fn challenged(challenge: &ChallengeView) -> Option<Part> {
    let raised = &challenge.raised;
    let state = if challenge.is_open { "open" } else { "closed" };
    let tag = format!("challenge id=\"{}\" state=\"{state}\"", raised.id);
    let text = messages::challenge(raised.prose.shown()?);
    Some(Part::message("challenge", tag, text, raised.id.round))
}

fn conveyed(view: &ConveyView, parts: &mut Vec<Part>) -> Option<()> {
    view.dossiers.iter().try_for_each(|one| dossier(one, parts))?;
    match &view.verdict {
        Some(verdict) => {
            let mut said = verdict.prose.shown()?.clone();
            said.hypothesis = Some(verdict.hypothesis);
            parts.push(Part::message("verdict", "verdict".to_owned(), messages::verdict(&said), u32::MAX));
        }
        None => {
            let strongest = view.strongest.map_or_else(String::new, |number| format!("strongest: H{number}"));
            parts.push(Part::message("verdict", "verdict by=\"standing\"".to_owned(), strongest, u32::MAX));
        }
    }
    if !view.violations.is_empty() {
        let lines: Vec<String> = view.violations.iter().map(|found| violation_line(found, true)).collect();
        parts.push(Part::message("violations", "violations".to_owned(), lines.join("\n"), u32::MAX));
    }
    Some(())
}

/// Returns a violation as a line, in the terms of the log.
fn violation_line(found: &ViolationFound, with_name: bool) -> String {
    let mut text = if with_name { format!("{}: ", found.by) } else { String::new() };
    text.push_str(found.violation.as_str());
    if let Some(act) = found.act {
        text.push_str(&format!(" ({})", act.as_str()));
    }
    if let Some(challenge) = found.challenge {
        text.push_str(&format!(" {challenge}"));
    }
    text.push_str(&format!(" in round {}: {}", found.shown_by.call.round, found.consequence.as_str()));
    text
}

/// Returns the violations of a role as its prompt shows them; empty if there are none.
pub(super) fn corrections(found: &[ViolationFound], language: Language) -> String {
    let lines: Vec<String> = found.iter().map(|found| violation_line(found, false)).collect();
    let separator = match language {
        Language::En => "; ",
        Language::Zh => "；",
    };
    lines.join(separator)
}

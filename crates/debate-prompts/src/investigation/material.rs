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

/// Messages are shortened, the oldest first, down to so many tokens each.
const MESSAGE_TOKENS_MIN: u32 = 80;
/// The subject is shortened last, down to so many tokens each part.
const SUBJECT_TOKENS_MIN: u32 = 400;

/// A piece of a prompt that may be shortened.
pub(super) struct Part {
    name: String,
    /// The tag with its attributes.
    tag: String,
    text: String,
    priority: u8,
    tokens_min: u32,
}

impl Part {
    fn subject(tag: &str, text: &str) -> Self {
        let (name, text) = (tag.to_owned(), text.to_owned());
        Self { tag: name.clone(), name, text, priority: u8::MAX, tokens_min: SUBJECT_TOKENS_MIN }
    }

    fn message(name: &str, tag: String, text: String, round: u32) -> Self {
        let priority = u8::try_from(round).unwrap_or(u8::MAX - 1);
        Self { name: name.to_owned(), tag, text, priority, tokens_min: MESSAGE_TOKENS_MIN }
    }

    /// Returns what may be shortened.
    pub(super) fn section(&self) -> Section<'_> {
        Section { name: &self.name, text: &self.text, priority: self.priority, tokens_min: self.tokens_min }
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
    let language = visible.language;
    let mut parts = vec![Part::subject("problem", problem)];
    if !context.trim().is_empty() {
        parts.push(Part::subject("context", context));
    }
    match &visible.task {
        Task::Propose { .. } => {}
        Task::Investigate(view) => investigated(view, language, &mut parts)?,
        Task::Challenge { dossiers, .. } | Task::Status(dossiers) | Task::Verdict(dossiers) => {
            dossiers.iter().try_for_each(|one| dossier(one, language, &mut parts))?;
        }
        Task::Convey(view) => conveyed(view, language, &mut parts)?,
    }
    Some(parts)
}

fn investigated(view: &InvestigateView, language: Language, parts: &mut Vec<Part>) -> Option<()> {
    parts.push(hypothesis(format!("hypothesis id=\"H{}\"", view.hypothesis), view.text.as_ref()?, language));
    said(&view.messages, &view.challenges, language, parts)
}

fn dossier(dossier: &Dossier, language: Language, parts: &mut Vec<Part>) -> Option<()> {
    let standing = &dossier.standing;
    let tag = format!(
        "hypothesis id=\"H{}\" investigator=\"{}\" status=\"{}\" confidence=\"{}/10\" trusted=\"{}\"",
        standing.hypothesis,
        standing.investigator,
        standing.status.as_str(),
        standing.confidence,
        if standing.trusted { "yes" } else { "no" },
    );
    parts.push(hypothesis(tag, dossier.text.as_ref()?, language));
    said(&dossier.messages, &dossier.challenges, language, parts)
}

fn hypothesis(tag: String, text: &HypothesisText, language: Language) -> Part {
    let text = messages::hypothesis(text, language);
    Part { name: "hypothesis".to_owned(), tag, text, priority: u8::MAX, tokens_min: MESSAGE_TOKENS_MIN }
}

/// Adds messages and challenges round by round, in the order in which they were made.
fn said(
    messages: &[EvidenceReported],
    challenges: &[ChallengeView],
    language: Language,
    parts: &mut Vec<Part>,
) -> Option<()> {
    let last = messages.iter().map(|message| message.round);
    let last = last.chain(challenges.iter().map(|one| one.raised.id.round)).max().unwrap_or(0);
    for round in 1..=last {
        let of = |stage| messages.iter().filter(move |one| one.round == round && one.stage == stage);
        for message in of(Stage::Report) {
            parts.push(reported(message, language)?);
        }
        for challenge in challenges.iter().filter(|one| one.raised.id.round == round) {
            parts.push(challenged(challenge, language)?);
        }
        for message in of(Stage::Respond) {
            parts.push(reported(message, language)?);
        }
    }
    Some(())
}

fn reported(message: &EvidenceReported, language: Language) -> Option<Part> {
    let mut text = messages::report(message.prose.shown()?, language);
    let checks = message.evidence.iter().map(|one| {
        let ignored = if one.counts() { String::new() } else { format!(", {}", named("ignored", language)) };
        format!("H{}.E{} {}{ignored}", message.hypothesis, one.number, named(one.check.as_str(), language))
    });
    let checks: Vec<String> = checks.collect();
    if !checks.is_empty() {
        text.push_str(&format!("\n({})", checks.join("; ")));
    }
    let tag = format!("message from=\"{}\" round=\"{}\"", message.investigator, message.round);
    Some(Part::message("message", tag, text, message.round))
}

fn challenged(challenge: &ChallengeView, language: Language) -> Option<Part> {
    let raised = &challenge.raised;
    let state = if challenge.is_open { "open" } else { "closed" };
    let tag = format!("challenge id=\"{}\" state=\"{state}\"", raised.id);
    let text = messages::challenge(raised.prose.shown()?, language);
    Some(Part::message("challenge", tag, text, raised.id.round))
}

fn conveyed(view: &ConveyView, language: Language, parts: &mut Vec<Part>) -> Option<()> {
    view.dossiers.iter().try_for_each(|one| dossier(one, language, parts))?;
    match &view.verdict {
        Some(verdict) => {
            let mut said = verdict.prose.shown()?.clone();
            said.hypothesis = Some(verdict.hypothesis);
            parts.push(Part::message(
                "verdict",
                "verdict".to_owned(),
                messages::verdict(&said, language),
                u32::MAX,
            ));
        }
        None => {
            let strongest = view.strongest.map_or_else(String::new, |number| format!("strongest: H{number}"));
            parts.push(Part::message("verdict", "verdict by=\"standing\"".to_owned(), strongest, u32::MAX));
        }
    }
    if !view.violations.is_empty() {
        let lines: Vec<String> = view.violations.iter().map(|found| told(found, true, language)).collect();
        parts.push(Part::message("violations", "violations".to_owned(), lines.join("\n"), u32::MAX));
    }
    Some(())
}

/// Returns what a value is called in a language, given its name on every interface.
fn named(name: &'static str, language: Language) -> &'static str {
    match language {
        Language::En => name,
        Language::Zh => messages::words::chinese(name).unwrap_or(name),
    }
}

/// Tells a violation in the words of the log, or what these are in Chinese.
fn told(found: &ViolationFound, with_name: bool, language: Language) -> String {
    let mut text = if with_name { format!("{}: ", found.by) } else { String::new() };
    text.push_str(named(found.violation.as_str(), language));
    if let Some(act) = found.act {
        text.push_str(&format!(" ({})", named(act.as_str(), language)));
    }
    if let Some(challenge) = found.challenge {
        text.push_str(&format!(" {challenge}"));
    }
    let consequence = named(found.consequence.as_str(), language);
    let round = found.shown_by.call.round;
    text.push_str(&match language {
        Language::En => format!(" in round {round}: {consequence}"),
        Language::Zh => format!("（第 {round} 轮）：{consequence}"),
    });
    text
}

/// Returns what a role is told of what it broke; empty where it broke nothing.
pub(super) fn corrections(found: &[ViolationFound], language: Language) -> String {
    let told: Vec<String> = found.iter().map(|found| told(found, false, language)).collect();
    told.join(match language {
        Language::En => "; ",
        Language::Zh => "；",
    })
}

//! Writes messages, in the language of the debate.

use std::fmt::Write as _;

use debate_core::formats::investigation::answer::{
    Act, Challenge, ChallengeKind, Conclusion, Convergence, Expected, HypothesisText, Report, Response,
    Status, StatusUpdate, Verdict,
};
use debate_core::formats::investigation::config::Language;
use debate_core::formats::investigation::evidence::Evidence;

use super::labels::{Label, header};
use super::words;

/// A message in the making.
struct Page {
    text: String,
    language: Language,
}

impl Page {
    fn of(act: Act, language: Language) -> Self {
        Self { text: format!("[{}]", header(act).written(language)), language }
    }

    fn line(mut self, label: Label, value: &str) -> Self {
        if !value.is_empty() {
            let (name, language) = (label.name().written(self.language), self.language);
            let colon = if language == Language::Zh { "：" } else { ": " };
            let _infallible = write!(self.text, "\n{name}{colon}{value}");
        }
        self
    }

    fn list(mut self, label: Label, items: impl Iterator<Item = String>) -> Self {
        let (name, language) = (label.name().written(self.language), self.language);
        for (place, item) in items.enumerate() {
            if place == 0 {
                let colon = if language == Language::Zh { "：" } else { ":" };
                let _infallible = write!(self.text, "\n{name}{colon}");
            }
            let _infallible = write!(self.text, "\n- {item}");
        }
        self
    }
}

/// Writes hypotheses as the lead proposes them.
#[must_use]
pub fn hypotheses(hypotheses: &[HypothesisText], language: Language) -> String {
    let page = hypotheses.iter().fold(Page::of(Act::Propose, language), |page, hypothesis| {
        let page = page.line(Label::Hypothesis, &hypothesis.statement);
        page.line(Label::Prediction, &hypothesis.prediction)
    });
    page.text
}

/// Writes a report.
#[must_use]
pub fn report(report: &Report, language: Language) -> String {
    let evidence = |one: &Evidence| evidence(one, language);
    let response = |response: &Response| {
        let stance = named(response.stance.as_str(), response.stance.as_str(), language);
        format!("{} | {stance} | {}", response.challenge, escaped(&response.text))
    };
    let status = named(status_word(report.status), report.status.as_str(), language);
    Page::of(Act::Investigate, language)
        .line(Label::Hypothesis, &report.hypothesis.map(numbered).unwrap_or_default())
        .line(Label::Status, status)
        .line(Label::Confidence, &report.confidence.map(of_ten).unwrap_or_default())
        .line(Label::ConfidenceBefore, &report.confidence_before.map(of_ten).unwrap_or_default())
        .line(Label::KeyFinding, &report.key_finding)
        .list(Label::EvidenceFor, report.evidence_for.iter().map(evidence))
        .list(Label::EvidenceAgainst, report.evidence_against.iter().map(evidence))
        .list(Label::Responses, report.responses.iter().map(response))
        .text
}

/// Writes a challenge.
#[must_use]
pub fn challenge(challenge: &Challenge, language: Language) -> String {
    let evidence = |one: &Evidence| evidence(one, language);
    let kind = named(kind_words(challenge.kind), challenge.kind.as_str(), language);
    let expects = named(expected_words(challenge.expects), challenge.expects.as_str(), language);
    Page::of(Act::Challenge, language)
        .line(Label::To, &challenge.to)
        .line(Label::Hypothesis, &challenge.hypothesis.map(numbered).unwrap_or_default())
        .line(Label::ChallengeType, kind)
        .line(Label::Challenge, &challenge.challenge)
        .list(Label::EvidenceAgainst, challenge.counter_evidence.iter().map(evidence))
        .line(Label::ExpectedResponse, expects)
        .line(Label::Hidden, if challenge.hidden { yes(language) } else { "" })
        .text
}

/// Writes where things stand.
#[must_use]
pub fn status(status: &StatusUpdate, language: Language) -> String {
    let numbers: Vec<String> = status.active.iter().copied().map(numbered).collect();
    let convergence = named(convergence_word(status.convergence), status.convergence.as_str(), language);
    Page::of(Act::Assess, language)
        .line(Label::Round, &status.round.map(|round| round.to_string()).unwrap_or_default())
        .line(Label::Active, &numbers.join(", "))
        .line(Label::Leading, &status.leading.map(numbered).unwrap_or_default())
        .line(Label::Convergence, convergence)
        .line(Label::Answered, &status.answered.join(", "))
        .line(Label::Open, &status.open.join(", "))
        .line(Label::Summary, &status.summary)
        .text
}

/// Writes a verdict.
#[must_use]
pub fn verdict(verdict: &Verdict, language: Language) -> String {
    let needs = if verdict.needs_more_information { yes(language) } else { no(language) };
    Page::of(Act::Judge, language)
        .line(Label::Hypothesis, &verdict.hypothesis.map(numbered).unwrap_or_default())
        .line(Label::Confidence, &verdict.confidence.map(of_ten).unwrap_or_default())
        .line(Label::EvidenceFor, &verdict.evidence_for.join(", "))
        .line(Label::EvidenceAgainst, &verdict.evidence_against.join(", "))
        .line(Label::NeedsMore, needs)
        .list(Label::Missing, verdict.missing.iter().cloned())
        .line(Label::Summary, &verdict.reasoning)
        .text
}

/// Writes a conclusion.
#[must_use]
pub fn conclusion(conclusion: &Conclusion, language: Language) -> String {
    let page = Page::of(Act::Convey, language).line(Label::Conclusion, &conclusion.text);
    page.list(Label::NextSteps, conclusion.next_steps.iter().cloned()).text
}

/// Writes a hypothesis as those who weigh it are shown it.
pub(in crate::investigation) fn hypothesis(text: &HypothesisText, language: Language) -> String {
    let written = hypotheses(std::slice::from_ref(text), language);
    written.split_once('\n').map_or(String::new(), |(_, lines)| lines.to_owned())
}

/// Returns what a value is written as, given its English words and its name on every interface.
fn named(english: &'static str, name: &str, language: Language) -> &'static str {
    match language {
        Language::En => english,
        Language::Zh => words::chinese(name).unwrap_or(english),
    }
}

const fn yes(language: Language) -> &'static str {
    match language {
        Language::En => "yes",
        Language::Zh => "是",
    }
}

const fn no(language: Language) -> &'static str {
    match language {
        Language::En => "no",
        Language::Zh => "否",
    }
}

fn numbered(hypothesis: u32) -> String {
    format!("H{hypothesis}")
}

/// Returns a confidence as the protocol writes it.
pub(super) fn of_ten(confidence: f64) -> String {
    format!("{confidence}/10")
}

fn evidence(evidence: &Evidence, language: Language) -> String {
    let kind = evidence.kind.map(|kind| named(kind.as_str(), kind.as_str(), language));
    let mut text = kind.map(|kind| format!("[{kind}] ")).unwrap_or_default();
    let quote = match escaped(&evidence.quote) {
        quote if quote.is_empty() => quote,
        quote => format!("\"{quote}\""),
    };
    let _infallible = write!(text, "{} | {quote} | {}", escaped(&evidence.pointer), escaped(&evidence.claim));
    text.trim_end().to_owned()
}

fn escaped(part: &str) -> String {
    part.replace('\\', "\\\\").replace('|', "\\|").replace('"', "\\\"")
}

fn status_word(status: Status) -> &'static str {
    match status {
        Status::Investigating => "INVESTIGATING",
        Status::Supported => "SUPPORTED",
        Status::Weakened => "WEAKENED",
        Status::Refuted => "REFUTED",
    }
}

fn kind_words(kind: ChallengeKind) -> &'static str {
    match kind {
        ChallengeKind::EvidenceQuality => "Evidence Quality",
        ChallengeKind::LogicFlaw => "Logic Flaw",
        ChallengeKind::CounterEvidence => "Counter Evidence",
        ChallengeKind::AlternativeExplanation => "Alternative Explanation",
    }
}

fn expected_words(expected: Expected) -> &'static str {
    match expected {
        Expected::NewEvidence => "New Evidence",
        Expected::Reasoning => "Reasoning",
        Expected::Experiment => "Experiment",
        Expected::Withdrawal => "Withdrawal",
    }
}

fn convergence_word(convergence: Convergence) -> &'static str {
    match convergence {
        Convergence::Strong => "Strong",
        Convergence::Weak => "Weak",
        Convergence::None => "None",
    }
}

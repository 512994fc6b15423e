//! Writes messages.

use std::fmt::Write as _;

use debate_core::formats::investigation::answer::{
    Act, Challenge, ChallengeKind, Conclusion, Convergence, Expected, HypothesisText, Report, Status,
    StatusUpdate, Verdict,
};
use debate_core::formats::investigation::evidence::Evidence;

use super::labels::{Label, headers};

/// A message in the making.
struct Page(String);

impl Page {
    fn of(act: Act) -> Self {
        Self(headers(act).0.to_owned())
    }

    fn line(mut self, label: Label, value: &str) -> Self {
        if value.is_empty() {
            return self;
        }
        let (name, _) = label.names();
        let _infallible = write!(self.0, "\n{name}: {value}");
        self
    }

    fn list(mut self, label: Label, items: impl Iterator<Item = String>) -> Self {
        let (name, _) = label.names();
        for (place, item) in items.enumerate() {
            if place == 0 {
                let _infallible = write!(self.0, "\n{name}:");
            }
            let _infallible = write!(self.0, "\n- {item}");
        }
        self
    }
}

/// Writes hypotheses as the lead proposes them.
#[must_use]
pub fn hypotheses(hypotheses: &[HypothesisText]) -> String {
    let page = hypotheses.iter().fold(Page::of(Act::Propose), |page, hypothesis| {
        let page = page.line(Label::Hypothesis, &hypothesis.statement);
        page.line(Label::Prediction, &hypothesis.prediction)
    });
    page.0
}

/// Writes a report.
#[must_use]
pub fn report(report: &Report) -> String {
    let response = |response: &debate_core::formats::investigation::answer::Response| {
        format!("{} | {} | {}", response.challenge, response.stance.as_str(), escaped(&response.text))
    };
    Page::of(Act::Investigate)
        .line(Label::Hypothesis, &report.hypothesis.map(numbered).unwrap_or_default())
        .line(Label::Status, status_word(report.status))
        .line(Label::Confidence, &report.confidence.map(of_ten).unwrap_or_default())
        .line(Label::ConfidenceBefore, &report.confidence_before.map(of_ten).unwrap_or_default())
        .line(Label::KeyFinding, &report.key_finding)
        .list(Label::EvidenceFor, report.evidence_for.iter().map(evidence))
        .list(Label::EvidenceAgainst, report.evidence_against.iter().map(evidence))
        .list(Label::Responses, report.responses.iter().map(response))
        .0
}

/// Writes a challenge.
#[must_use]
pub fn challenge(challenge: &Challenge) -> String {
    Page::of(Act::Challenge)
        .line(Label::To, &challenge.to)
        .line(Label::Hypothesis, &challenge.hypothesis.map(numbered).unwrap_or_default())
        .line(Label::ChallengeType, kind_words(challenge.kind))
        .line(Label::Challenge, &challenge.challenge)
        .list(Label::EvidenceAgainst, challenge.counter_evidence.iter().map(evidence))
        .line(Label::ExpectedResponse, expected_words(challenge.expects))
        .line(Label::Hidden, if challenge.hidden { "yes" } else { "" })
        .0
}

/// Writes where things stand.
#[must_use]
pub fn status(status: &StatusUpdate) -> String {
    let numbers: Vec<String> = status.active.iter().copied().map(numbered).collect();
    Page::of(Act::Assess)
        .line(Label::Round, &status.round.map(|round| round.to_string()).unwrap_or_default())
        .line(Label::Active, &numbers.join(", "))
        .line(Label::Leading, &status.leading.map(numbered).unwrap_or_default())
        .line(Label::Convergence, convergence_word(status.convergence))
        .line(Label::Answered, &status.answered.join(", "))
        .line(Label::Open, &status.open.join(", "))
        .line(Label::Summary, &status.summary)
        .0
}

/// Writes a verdict.
#[must_use]
pub fn verdict(verdict: &Verdict) -> String {
    Page::of(Act::Judge)
        .line(Label::Hypothesis, &verdict.hypothesis.map(numbered).unwrap_or_default())
        .line(Label::Confidence, &verdict.confidence.map(of_ten).unwrap_or_default())
        .line(Label::EvidenceFor, &verdict.evidence_for.join(", "))
        .line(Label::EvidenceAgainst, &verdict.evidence_against.join(", "))
        .line(Label::NeedsMore, if verdict.needs_more_information { "yes" } else { "no" })
        .list(Label::Missing, verdict.missing.iter().cloned())
        .line(Label::Summary, &verdict.reasoning)
        .0
}

/// Writes a conclusion.
#[must_use]
pub fn conclusion(conclusion: &Conclusion) -> String {
    let page = Page::of(Act::Convey).line(Label::Conclusion, &conclusion.text);
    page.list(Label::NextSteps, conclusion.next_steps.iter().cloned()).0
}

fn numbered(hypothesis: u32) -> String {
    format!("H{hypothesis}")
}

/// Returns a confidence as the protocol writes it.
pub(super) fn of_ten(confidence: f64) -> String {
    format!("{confidence}/10")
}

fn evidence(evidence: &Evidence) -> String {
    let mut text = evidence.kind.map(|kind| format!("[{}] ", kind.as_str())).unwrap_or_default();
    let quote = match escaped(&evidence.quote) {
        quote if quote.is_empty() => quote,
        quote => format!("\"{quote}\""),
    };
    let _infallible = write!(text, "{} | {quote} | {}", escaped(&evidence.pointer), escaped(&evidence.claim));
    text.trim_end().to_owned()
}

pub(super) fn escaped(part: &str) -> String {
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

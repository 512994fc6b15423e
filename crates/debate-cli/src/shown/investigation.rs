//! The result of an investigation, headed in the language of the debate.

mod words;

use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::investigation::config::Language;
use debate_core::formats::investigation::outcome::{
    EvidenceEntry, HypothesisEntry, InvestigationResult, VerdictEntry,
};
use debate_core::prose::Texts;

use crate::page::Page;
use crate::plain::one_line;

/// Lines of a text unless whole texts are asked for.
const LINES_SHOWN: usize = 3;

/// What stands over the parts of the page.
struct Headings {
    conclusion: &'static str,
    next_steps: &'static str,
    verdict: &'static str,
    needs: &'static str,
    hypothesis: &'static str,
    prediction: &'static str,
    met: &'static str,
    supports: &'static str,
    against: &'static str,
    challenges: &'static str,
    violations: &'static str,
    named_by: &'static str,
    confirmed: &'static str,
    untrusted: &'static str,
    ignored: &'static str,
    shown_in: &'static str,
    language: Language,
}

impl Headings {
    /// Returns what a value is called, given its name on every interface.
    fn named(&self, name: &'static str) -> &'static str {
        match self.language {
            Language::En => name,
            Language::Zh => words::chinese(name).unwrap_or(name),
        }
    }
}

const ENGLISH: Headings = Headings {
    conclusion: "Conclusion",
    next_steps: "Next steps",
    verdict: "Verdict",
    needs: "More information is needed",
    hypothesis: "Hypothesis",
    prediction: "prediction",
    met: "met by",
    supports: "for",
    against: "against",
    challenges: "Challenges",
    violations: "Violations of the protocol",
    named_by: "named by",
    confirmed: "confirmed",
    untrusted: "untrusted",
    ignored: "ignored",
    shown_in: "in",
    language: Language::En,
};

const CHINESE: Headings = Headings {
    conclusion: "结论",
    next_steps: "下一步",
    verdict: "最终判定",
    needs: "需要更多信息",
    hypothesis: "假设",
    prediction: "可验证预测",
    met: "回应",
    supports: "支持证据",
    against: "反证",
    challenges: "挑战",
    violations: "违规",
    named_by: "判定者",
    confirmed: "已确认",
    untrusted: "不可信",
    ignored: "已忽略",
    shown_in: "见于",
    language: Language::Zh,
};

/// Shows the result as it stands.
pub(super) fn show(page: &mut Page, debate: &Debate<Investigation>, full: bool) {
    let result = Investigation::outcome(debate, Texts::Shown);
    let headings = match result.language {
        Language::En => &ENGLISH,
        Language::Zh => &CHINESE,
    };
    if let Some(conclusion) = &result.conclusion {
        page.heading(headings.conclusion);
        page.paragraph(2, &conclusion.text);
        if !conclusion.next_steps.is_empty() {
            page.heading(headings.next_steps);
            conclusion.next_steps.iter().for_each(|step| page.hanging(2, "- ", &one_line(step)));
        }
    }
    if let Some(verdict) = &result.verdict {
        ruling(page, headings, verdict, full);
    }
    for hypothesis in &result.hypotheses {
        standing(page, headings, hypothesis, full);
    }
    challenges(page, headings, &result);
    violations(page, headings, &result);
}

fn ruling(page: &mut Page, headings: &Headings, verdict: &VerdictEntry, full: bool) {
    page.heading(headings.verdict);
    let mut ruled = format!("  {} {}", headings.named_by, headings.named(verdict.named_by.as_str()));
    if let Some(sure) = verdict.confidence {
        ruled.push_str(&format!(", {sure}/10"));
    }
    if verdict.confirmed {
        ruled.push_str(&format!(", {}", headings.confirmed));
    }
    page.hanging(2, "", &format!("H{}: {}", verdict.hypothesis, one_line(&verdict.statement)));
    page.line(&ruled);
    for (side, evidence) in
        [(headings.supports, &verdict.evidence_for), (headings.against, &verdict.evidence_against)]
    {
        if !evidence.is_empty() {
            page.hanging(2, &format!("{side}: "), &one_line(&evidence.join(", ")));
        }
    }
    page.excerpt(2, &verdict.reasoning, if full { usize::MAX } else { LINES_SHOWN });
    if verdict.needs_more_information {
        page.line(&format!("  {}:", headings.needs));
        verdict.missing.iter().for_each(|missing| page.hanging(4, "- ", &one_line(missing)));
    }
}

fn standing(page: &mut Page, headings: &Headings, hypothesis: &HypothesisEntry, full: bool) {
    page.heading(&format!("{} H{}", headings.hypothesis, hypothesis.hypothesis));
    page.hanging(2, "", &one_line(&hypothesis.statement));
    if full {
        page.hanging(2, &format!("{}: ", headings.prediction), &one_line(&hypothesis.prediction));
    }
    let trusted = if hypothesis.trusted { String::new() } else { format!(", {}", headings.untrusted) };
    page.line(&format!(
        "  {}: {}, {}/10{trusted}",
        hypothesis.investigator,
        headings.named(hypothesis.status.as_str()),
        hypothesis.confidence
    ));
    for report in hypothesis.reports.iter().filter(|_| full) {
        let text = format!("{}: {} -> {} ", report.round, report.before, report.confidence);
        page.hanging(4, &text, &one_line(&report.key_finding));
    }
    for evidence in &hypothesis.evidence {
        page.hanging(4, "- ", &piece(headings, evidence));
        if full && !evidence.quote.trim().is_empty() {
            page.hanging(6, "| ", &one_line(&evidence.quote));
        }
    }
}

fn piece(headings: &Headings, evidence: &EvidenceEntry) -> String {
    let side = if evidence.supports { headings.supports } else { headings.against };
    let kind = evidence.kind.map_or("?", |kind| headings.named(kind.as_str()));
    let ignored = if evidence.ignored { format!(", {}", headings.ignored) } else { String::new() };
    one_line(&format!(
        "{} {side} [{kind}, {}{ignored}] {} {}",
        evidence.id,
        headings.named(evidence.check.as_str()),
        evidence.pointer,
        evidence.claim
    ))
}

fn challenges(page: &mut Page, headings: &Headings, result: &InvestigationResult) {
    if result.challenges.is_empty() {
        return;
    }
    page.heading(headings.challenges);
    for challenge in &result.challenges {
        let whom = challenge.hypothesis.map_or_else(|| "-".to_owned(), |number| format!("H{number}"));
        let state = headings.named(challenge.state.as_str());
        let mark = format!("{} {whom} {state}: ", challenge.id);
        page.hanging(2, &mark, &one_line(&challenge.challenge));
        if let Some(stance) = challenge.stance {
            page.line(&format!("    {}: {}", headings.met, headings.named(stance.as_str())));
        }
    }
}

fn violations(page: &mut Page, headings: &Headings, result: &InvestigationResult) {
    if result.violations.is_empty() {
        return;
    }
    page.heading(headings.violations);
    for found in &result.violations {
        let act = found.act.map_or_else(String::new, |act| format!(" ({})", headings.named(act)));
        let [what, then] = [found.violation, found.consequence].map(|name| headings.named(name));
        let text = format!("{what}{act} {} {}: {then}", headings.shown_in, found.shown_by);
        page.hanging(2, "- ", &format!("{}: {text}", found.by));
    }
}

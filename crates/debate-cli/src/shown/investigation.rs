//! The result of an investigation, headed in the language of the debate.

use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::investigation::config::Language;
use debate_core::formats::investigation::evidence::EvidenceKind;
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
    let confirmed = if verdict.confirmed { ", confirmed" } else { "" };
    let sure = verdict.confidence.map_or_else(String::new, |sure| format!(", {sure}/10"));
    let named = verdict.named_by.as_str();
    page.hanging(2, "", &format!("H{}: {}", verdict.hypothesis, one_line(&verdict.statement)));
    page.line(&format!("  named by {named}{sure}{confirmed}"));
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
    let trusted = if hypothesis.trusted { "" } else { ", untrusted" };
    page.line(&format!(
        "  {}: {}, {}/10{trusted}",
        hypothesis.investigator,
        hypothesis.status.as_str(),
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
    let kind = evidence.kind.map_or("?", EvidenceKind::as_str);
    let ignored = if evidence.ignored { ", ignored" } else { "" };
    one_line(&format!(
        "{} {side} [{kind}, {}{ignored}] {} {}",
        evidence.id,
        evidence.check.as_str(),
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
        let mark = format!("{} {whom} {}: ", challenge.id, challenge.state.as_str());
        page.hanging(2, &mark, &one_line(&challenge.challenge));
        if let Some(stance) = challenge.stance {
            page.line(&format!("    {}: {}", headings.met, stance.as_str()));
        }
    }
}

fn violations(page: &mut Page, headings: &Headings, result: &InvestigationResult) {
    if result.violations.is_empty() {
        return;
    }
    page.heading(headings.violations);
    for found in &result.violations {
        let act = found.act.map_or_else(String::new, |act| format!(" ({act})"));
        let text = format!("{}{act} in {}: {}", found.violation, found.shown_by, found.consequence);
        page.hanging(2, "- ", &format!("{}: {text}", found.by));
    }
}

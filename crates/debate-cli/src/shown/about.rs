//! What results of every format have in common: how whole they are, what they are about, why they ended, what they
//! cost (rules K6, K7, K8).

use debate_core::debate::Lifecycle;
use debate_core::event::StopRuleFired;
use debate_core::formats::any::AnyDebate;
use debate_core::prose::REDACTED;
use debate_core::spend::Spend;
use debate_core::stop::{Budget, Completeness, StopRule};

use crate::failures::Failures;
use crate::page::{Page, span, thousands};
use crate::plain::one_line;
use crate::prices::{self, dollars};
use crate::terminal::Style;

/// Returns what is to be said of a debate in which a program made up replies.
pub(crate) fn simulated(debate: &AnyDebate) -> Option<&'static str> {
    if debate.is_wholly_simulated() {
        return Some("SIMULATED: a program made up every reply; this says nothing about the world");
    }
    debate
        .is_simulated()
        .then_some("SIMULATED IN PART: a program made up some replies, so do not rely on this")
}

/// Says what keeps the result from being what it looks like.
pub(super) fn warnings(page: &mut Page, debate: &AnyDebate, failures: &Failures) {
    if let Some(warning) = simulated(debate) {
        page.warning(warning);
    }
    if let Some(note) = debate.replacement_note() {
        page.warning(&format!("MODEL REPLACED: {}", one_line(&note)));
    }
    match debate.lifecycle() {
        Lifecycle::Running => page.warning("RUNNING: this is how it stands, not how it ends"),
        Lifecycle::Paused { remaining_ms } => {
            page.warning(&format!("PAUSED with {} left: this is how it stands", span(remaining_ms)));
        }
        Lifecycle::Concluded => degraded(page, debate, failures),
    }
    if debate.is_redacted() {
        page.warning("REDACTED: words of this debate were deleted");
    }
}

fn degraded(page: &mut Page, debate: &AnyDebate, failures: &Failures) {
    let (head, missing, why) = match debate.completeness() {
        Completeness::Full => return,
        Completeness::Partial { missing, why } => {
            ("PARTIAL: this result stands on what there is, with lowered confidence", missing, why)
        }
        Completeness::Void { why } => ("VOID: there is too little for a result", Vec::new(), why),
    };
    page.warning(head);
    why.iter().for_each(|why| page.hanging(2, "- ", &one_line(why)));
    if !missing.is_empty() {
        page.hanging(2, "- ", &format!("missing: {}", one_line(&missing.join(", "))));
    }
    let reasons = failures.lines();
    reasons.iter().take(3).for_each(|line| page.hanging(2, "- ", line));
}

/// Says what is debated, by which debate.
pub(super) fn title(page: &mut Page, debate: &AnyDebate) {
    page.gap();
    let title = debate.title().unwrap_or_else(|| REDACTED.to_owned());
    let terminal = page.terminal();
    page.paragraph(0, &one_line(&title));
    let dot = terminal.or("·", "-");
    let when = match debate.conclusion() {
        Some((_, at)) => format!("concluded {at}"),
        None => format!("opened {}", debate.opened_at()),
    };
    let line = format!("{} {dot} debate {} {dot} {when}", debate.format(), debate.id());
    page.inked(Style::Dim, &line);
    if let Some(forked) = debate.forked() {
        let change = one_line(&forked.change);
        page.hanging(
            0,
            "Forked ",
            &format!("from debate {} at event {}: {change}", forked.parent, forked.at),
        );
        page.line("  what came before was paid for there; what follows shows what it cost from there on");
    }
    if let Some((resolved, _)) = debate.resolved() {
        page.line(&format!("Resolved: {}", one_line(resolved.outcome.as_str())));
    }
}

/// Says why the debate ended and what it cost.
pub(super) fn end(page: &mut Page, debate: &AnyDebate, failures: &Failures) {
    page.heading("How it ended");
    let whole = debate.completeness();
    match debate.stop() {
        Some(fired) => page.line(&format!("  {}; result: {}", reason(debate, fired), whole.as_str())),
        None if debate.lifecycle() == Lifecycle::Concluded => {
            page.line(&format!("  all was said; result: {}", whole.as_str()));
        }
        None => match debate.deadline() {
            Some(deadline) => page.line(&format!("  not yet; time is up at {deadline}")),
            None => page.line("  not yet; there is no deadline"),
        },
    }
    if let Some(note) = debate.parts_cut_note() {
        page.hanging(2, "", &one_line(&note));
    }
    if let Some(confidence) = debate.confidence().filter(|_| !matches!(whole, Completeness::Void { .. })) {
        page.line(&format!("  confidence {confidence:.2}"));
    }
    page.heading("What it cost");
    let spend = debate.spend();
    let calls = if spend.calls == 1 { "call" } else { "calls" };
    page.line(&format!("  {} {calls}, {}", thousands(spend.calls), tokens(&spend)));
    page.hanging(2, "", &prices::cost_text(spend.cost, debate.unpriced_models()));
    if let Some((_, at)) = debate.conclusion() {
        page.line(&format!("  {} on the clock", span(at.since_ms(debate.opened_at()))));
    }
    let models: Vec<String> = debate.models().iter().map(|model| one_line(model)).collect();
    page.hanging(2, "model: ", &models.join(", "));
    let cut: Vec<String> = debate.calls_cut().iter().map(|call| one_line(&call.to_string())).collect();
    if !cut.is_empty() {
        page.heading("Answers from replies that were cut by their limit");
        page.hanging(2, "- ", &cut.join(", "));
    }
    let failed = failures.lines();
    if !failed.is_empty() {
        page.heading("What failed on the way");
        failed.iter().for_each(|line| page.hanging(2, "- ", line));
    }
}

/// Returns the tokens used; what no reply counted is unknown and not 0.
fn tokens(spend: &Spend) -> String {
    let (input, output) = (spend.known.input, spend.known.output);
    if !spend.complete && input == 0 && output == 0 {
        return "tokens unknown (the replies came without usage)".to_owned();
    }
    let least = if spend.complete { "" } else { " or more (some replies came without usage)" };
    format!("{} tokens in, {} out{least}", thousands(input), thousands(output))
}

fn reason(debate: &AnyDebate, fired: &StopRuleFired) -> String {
    let words = match (debate, fired.rule) {
        // Hypotheses do not move towards each other: one of them leads.
        (AnyDebate::Investigation(_), StopRule::Convergence) => "stopped: one hypothesis led clearly",
        (AnyDebate::Investigation(_), StopRule::Confidence) => {
            "stopped: one hypothesis is strong and no challenge to it is open"
        }
        (_, rule) => words(rule),
    };
    let Some(budget) = fired.budget else { return words.to_owned() };
    let (needed, max) = (fired.statistic as u64, fired.threshold as u64);
    match budget {
        Budget::CostMicros => format!("{words}: {} would exceed {}", dollars(needed), dollars(max)),
        Budget::Calls | Budget::InputTokens | Budget::OutputTokens | Budget::ThinkingTokens => {
            let of = budget.as_str().replace('_', " ");
            format!("{words}: {} {of} would exceed {}", thousands(needed), thousands(max))
        }
    }
}

fn words(rule: StopRule) -> &'static str {
    match rule {
        StopRule::Concluded => "all was said",
        StopRule::Consensus => "stopped: they agree",
        StopRule::Convergence => "stopped: they no longer move",
        StopRule::Confidence => "stopped: they are sure enough",
        StopRule::MaxRounds => "all rounds were held",
        StopRule::Deadline => "stopped: time was up",
        StopRule::Budget => "stopped: the budget was used up",
        StopRule::Cancelled => "stopped: somebody cancelled it",
        StopRule::Failed => "stopped: too little of it could be had",
    }
}

//! The kernel's events in words.

use debate_core::call::{CallKey, Cause, Ended};
use debate_core::counted::counted;
use debate_core::event::{
    AttemptFailed, CallAnswered, CallStarted, Concluded, KernelEvent, ReplyFacts, StopRuleFired,
};
use debate_core::id::Timestamp;
use debate_core::limits::NO_DEADLINE_MS;
use debate_core::prose::{Prose, REDACTED};
use debate_core::stop::{Completeness, StopRule};

use super::{EventLine, Severity, quoted};
use crate::failures;
use crate::page::{span, thousands};
use crate::prices::dollars;

/// Tells an event.
pub(super) fn tell(event: &KernelEvent) -> EventLine {
    let detail = |call: &CallKey, text: String| EventLine::new(Severity::Detail, Some(&call.role), text);
    let mark = |text: String| EventLine::new(Severity::Mark, None, text);
    match event {
        KernelEvent::PhaseOpened(opened) => mark(format!("round {}: {}", opened.round, opened.phase)),
        KernelEvent::PhaseClosed(closed) => {
            let text = format!("round {} ({}) is over", closed.round, closed.phase);
            EventLine::new(Severity::Detail, None, text)
        }
        KernelEvent::CallStarted(started) => detail(&started.call, asked(started)),
        KernelEvent::TurnAnswered(turn) => {
            let tools: Vec<&str> = turn.tools.iter().map(|tool| tool.tool.as_str()).collect();
            detail(&turn.attempt.call, format!("asks for {}", tools.join(", ")))
        }
        KernelEvent::ToolStarted(tool) => {
            detail(&tool.call, format!("tool {} of turn {} runs", tool.index + 1, tool.turn))
        }
        KernelEvent::ToolAnswered(tool) => {
            let how = match (&tool.reused, tool.ok) {
                (Some(from), _) => format!("is answered as for {}", from.call),
                (None, true) => format!("answered in {}", span(tool.latency_ms)),
                (None, false) => format!("failed in {}", span(tool.latency_ms)),
            };
            detail(&tool.call, format!("tool {} of turn {} {how}", tool.index + 1, tool.turn))
        }
        KernelEvent::CallAnswered(answered) => detail(&answered.attempt.call, replied(answered)),
        KernelEvent::AttemptFailed(failed) => {
            EventLine::new(Severity::Trouble, Some(&failed.attempt.call.role), failure(failed))
        }
        KernelEvent::AttemptAbandoned(abandoned) => {
            detail(&abandoned.attempt.call, format!("{} is given up", abandoned.attempt.call))
        }
        KernelEvent::AnswerRejected(rejected) => {
            let (rules, why) = (rejected.rules.join(", "), words(&rejected.prose));
            let text = format!("is asked again ({rules}): {why}");
            EventLine::new(Severity::Trouble, Some(&rejected.call.role), text)
        }
        KernelEvent::CallVoided(voided) => {
            detail(&voided.call, format!("{} is asked anew: what it was shown has changed", voided.call))
        }
        KernelEvent::StopRuleFired(fired) => stop(fired),
        KernelEvent::Paused(paused) => mark(format!("paused with {} left", span(paused.remaining_ms))),
        KernelEvent::Resumed(resumed) => mark(format!("resumed{}", until(resumed.deadline_at))),
        KernelEvent::DrivingResumed(resumed) => {
            let idle = span(resumed.idle_ms);
            mark(format!("driven again after {idle}{}", until(resumed.deadline_at)))
        }
        KernelEvent::Reopened(reopened) => {
            mark(format!("void, and asked again{}", until(reopened.deadline_at)))
        }
        KernelEvent::ModelReplaced(replaced) => {
            mark(format!("all that follows is put to {}", quoted(&replaced.model.to_string())))
        }
        KernelEvent::Cancelled(cancelled) => mark(format!("cancelled: {}", words(&cancelled.prose))),
        KernelEvent::Concluded(concluded) => mark(conclusion(concluded)),
        KernelEvent::Continued(continued) => {
            let rounds = counted(continued.rounds, "round", "rounds");
            mark(format!("continued by {rounds}{}", until(continued.deadline_at)))
        }
        KernelEvent::Forked(forked) => {
            mark(format!("forked from {} at {}: {}", forked.parent, forked.at, quoted(&forked.change)))
        }
        KernelEvent::Resolved(resolved) => {
            let on = resolved.happened_at.map(|at| format!(", on {at}")).unwrap_or_default();
            mark(format!("resolved: {}{on}", resolved.outcome))
        }
        KernelEvent::Redacted(redacted) => mark(format!("the words of event {} were deleted", redacted.seq)),
    }
}

/// Names a deadline, unless it is so far that there is none.
fn until(deadline: Timestamp) -> String {
    let is_none = deadline.0 >= i64::try_from(NO_DEADLINE_MS).unwrap_or(i64::MAX);
    if is_none { String::new() } else { format!(", until {deadline}") }
}

fn words(prose: &Prose<String>) -> String {
    quoted(prose.shown().map_or(REDACTED, String::as_str))
}

fn asked(started: &CallStarted) -> String {
    let mut text = format!("{} is asked", started.call);
    let again = match started.cause {
        Cause::First => None,
        Cause::Lost => Some("the attempt before was lost"),
        Cause::Reask => Some("again"),
        Cause::Hedge => Some("in parallel with the open attempt"),
        Cause::Void => Some("anew"),
    };
    if let Some(again) = again {
        text.push_str(&format!(", {again} (revision {}, attempt {})", started.revision, started.attempt));
    }
    text.push_str(&format!(", {} tokens to {}", thousands(started.prompt.tokens.into()), started.model));
    if !started.prompt.omitted.is_empty() {
        text.push_str(&format!(", {} parts left out", started.prompt.omitted.len()));
    }
    text
}

fn replied(answered: &CallAnswered) -> String {
    let (reply, call) = (&answered.reply, &answered.attempt.call);
    let count = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), thousands);
    let (input, output) = (count(reply.usage.input), count(reply.usage.output));
    let mut text = format!("{call} answered in {}, {input} tokens in, {output} out", span(reply.latency_ms));
    if let Some(cost_micros) = reply.cost_micros {
        text.push_str(&format!(", {}", dollars(cost_micros)));
    }
    if reply.wire_retries > 0 {
        text.push_str(&format!(", after {} tries on the wire", reply.wire_retries + 1));
    }
    text.push_str(&ending(reply));
    if !reply.repairs.is_empty() {
        text.push_str(&format!(", mended: {}", quoted(&reply.repairs.join(", "))));
    }
    text
}

/// Returns how a reply ended, unless it ended as it should, with the provider's word for it (rule K18).
fn ending(reply: &ReplyFacts) -> String {
    let Some(ended) = reply.ended.filter(|ended| !matches!(ended, Ended::Complete | Ended::ToolCalls)) else {
        return String::new();
    };
    let word = reply.stop_reason.as_ref().map(|word| format!(" ({})", quoted(word))).unwrap_or_default();
    format!(", ended: {}{word}", ended.as_str())
}

fn failure(failed: &AttemptFailed) -> String {
    let call = &failed.attempt.call;
    let message = failed.prose.shown().map_or(REDACTED, |prose| prose.message.as_str());
    let last = if failed.last { ", for good" } else { "" };
    let (kind, attempt) = (failures::name(failed.failure), failed.attempt.attempt);
    format!(
        "{call} failed at attempt {attempt}{last} ({kind}){}: {}",
        ending(&failed.reply),
        quoted(failures::bare(message, failed.failure))
    )
}

fn stop(fired: &StopRuleFired) -> EventLine {
    let rule = fired.name();
    let numbers = format!("{} against {}", fired.statistic, fired.threshold);
    match (fired.shadow, fired.rule) {
        (true, _) => {
            EventLine::new(Severity::Detail, None, format!("{rule} would stop the debate ({numbers})"))
        }
        (false, StopRule::Concluded | StopRule::MaxRounds) => {
            EventLine::new(Severity::Detail, None, format!("the last round is over ({rule})"))
        }
        (
            false,
            StopRule::Consensus
            | StopRule::Convergence
            | StopRule::Confidence
            | StopRule::Deadline
            | StopRule::Budget
            | StopRule::Cancelled
            | StopRule::Failed,
        ) => {
            let closing = if fired.closing { "; the closing synthesis follows" } else { "" };
            EventLine::new(Severity::Mark, None, format!("stopped by {rule} ({numbers}){closing}"))
        }
    }
}

fn conclusion(concluded: &Concluded) -> String {
    let again =
        if concluded.revision > 1 { format!(" (revision {})", concluded.revision) } else { String::new() };
    let rule = concluded.rule.as_str();
    match &concluded.completeness {
        Completeness::Full => format!("concluded{again}, full"),
        Completeness::Partial { missing, .. } => {
            format!("ended by {rule}{again}, PARTIAL; missing: {}", quoted(&missing.join(", ")))
        }
        Completeness::Void { why } => format!("ended by {rule}{again}, VOID: {}", quoted(&why.join("; "))),
    }
}

//! Every request of a debate to a model, with its prompt as far as the log names it and the reply as it came.

use std::collections::BTreeMap;

use debate_core::call::{CallKey, Cause, InputRef, Thinking};
use debate_core::envelope::Envelope;
use debate_core::event::{AttemptRef, CallStarted, KernelEvent, PromptRef, ReplyFacts};
use debate_core::id::Seq;
use debate_core::record::Record as _;
use debate_engine::fitting;
use serde::Serialize;
use serde_json::Value;

use crate::log::Log;
use crate::wording::dollars;

/// The most requests of one page.
pub(crate) const CALLS_MAX: usize = 200;

/// Requests right behind a place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CallPage {
    calls: Vec<CallShown>,
    /// Whether others began behind them.
    more: bool,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct CallShown {
    /// The event that began it.
    seq: u64,
    at: String,
    call: CallKey,
    revision: u32,
    attempt: u32,
    turn: u32,
    cause: Cause,
    model: String,
    /// How much the model was asked to think, and the room for it; absent where the log does not say.
    #[serde(skip_serializing_if = "Thinking::is_unset")]
    thinking: Thinking,
    /// The answers that it was shown.
    sees: Vec<InputRef>,
    /// The template, what was sent by its digest, how long it was, and what did not fit.
    prompt: PromptRef,
    /// How it ended; null while it is under way.
    end: Option<CallEnd>,
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct CallEnd {
    seq: u64,
    at: String,
    /// The kind of the event: answered, failed, or given up.
    kind: String,
    /// Why, where it failed or was given up.
    why: Option<Value>,
    /// What came with the reply: tokens, those of thinking among them, time, and how the answer ended.
    reply: Option<ReplyFacts>,
    /// What it cost, in words; null where that is not known.
    cost: Option<String>,
    /// The reply, raw, and what came with it, or a failed one as far as it came with why it failed; null where there is none or it was redacted.
    words: Option<Value>,
    redacted: bool,
}

/// Returns at most `limit` requests of the debate's own stream, those begun behind `after`; fewer where they are long.
pub(crate) fn calls(log: &Log, after: Seq, limit: usize) -> CallPage {
    let (mut shown, mut bytes): (Vec<CallShown>, Vec<usize>) = Default::default();
    let mut open: BTreeMap<(CallKey, u32, u32, u32), usize> = BTreeMap::new();
    let mut more = false;
    for event in log.own().iter().filter(|event| event.seq > after) {
        let Some(Ok(kernel)) = KernelEvent::decode(&event.kind, event.version, &event.body, None) else {
            continue;
        };
        if let KernelEvent::CallStarted(started) = kernel {
            if shown.len() < limit.clamp(1, CALLS_MAX) {
                let key = (started.call.clone(), started.revision, started.attempt, started.turn);
                open.insert(key, shown.len());
                shown.push(begun(event, started));
                bytes.push(event.text_bytes());
            } else {
                more = true;
            }
        } else if let Some((attempt, why, reply)) = ended(kernel) {
            let AttemptRef { call, revision, attempt, turn } = attempt;
            if let Some(place) = open.remove(&(call, revision, attempt, turn)) {
                shown[place].end = Some(end(event, why, reply));
                bytes[place] += event.text_bytes();
            }
        }
    }
    let fits = fitting(bytes);
    more |= fits < shown.len();
    shown.truncate(fits);
    CallPage { calls: shown, more }
}

fn begun(event: &Envelope, started: CallStarted) -> CallShown {
    let CallStarted { call, revision, attempt, turn, cause, model, sees, prompt, reserved: _, thinking } =
        started;
    let (seq, at) = (event.seq.0, event.at.to_string());
    CallShown { seq, at, call, revision, attempt, turn, cause, model, thinking, sees, prompt, end: None }
}

fn end(event: &Envelope, why: Option<Value>, reply: Option<ReplyFacts>) -> CallEnd {
    CallEnd {
        seq: event.seq.0,
        at: event.at.to_string(),
        kind: event.kind.clone(),
        why,
        cost: reply.as_ref().and_then(|reply| reply.cost_micros).map(dollars),
        reply,
        words: event.prose.as_ref().and_then(|prose| serde_json::from_str(&prose.text).ok()),
        redacted: event.is_redacted(),
    }
}

/// Returns which request an event ends, why where it brought nothing, and what came with the reply.
fn ended(event: KernelEvent) -> Option<(AttemptRef, Option<Value>, Option<ReplyFacts>)> {
    match event {
        KernelEvent::CallAnswered(answered) => Some((answered.attempt, None, Some(answered.reply))),
        KernelEvent::TurnAnswered(turn) => Some((turn.attempt, None, Some(turn.reply))),
        KernelEvent::AttemptFailed(failed) => {
            Some((failed.attempt, serde_json::to_value(failed.failure).ok(), Some(failed.reply)))
        }
        KernelEvent::AttemptAbandoned(abandoned) => {
            Some((abandoned.attempt, serde_json::to_value(abandoned.reason).ok(), None))
        }
        KernelEvent::PhaseOpened(_)
        | KernelEvent::PhaseClosed(_)
        | KernelEvent::CallStarted(_)
        | KernelEvent::ToolStarted(_)
        | KernelEvent::ToolAnswered(_)
        | KernelEvent::AnswerRejected(_)
        | KernelEvent::CallVoided(_)
        | KernelEvent::StopRuleFired(_)
        | KernelEvent::Paused(_)
        | KernelEvent::Resumed(_)
        | KernelEvent::DrivingResumed(_)
        | KernelEvent::Reopened(_)
        | KernelEvent::ModelReplaced(_)
        | KernelEvent::Cancelled(_)
        | KernelEvent::Concluded(_)
        | KernelEvent::Continued(_)
        | KernelEvent::Forked(_)
        | KernelEvent::Resolved(_)
        | KernelEvent::Redacted(_) => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

    use std::sync::Arc;
    use std::time::Duration;

    use debate_engine::{Engine, Watched};
    use debate_llm::{ChatReply, Ending, ScriptedAnswer, ScriptedModel, Usage};
    use debate_prompts::roundtable::RoundtablePrompts;
    use debate_store::MemoryStore;
    use futures::StreamExt as _;
    use serde_json::json;

    use super::*;
    use crate::log_cache::tests::started;

    #[tokio::test]
    async fn k18_calls_show_how_an_answer_ended_and_its_partial_text() {
        let cut = ChatReply {
            usage: Usage { output: Some(900), reasoning: Some(700), ..Usage::default() },
            ending: Ending::CutInText,
            stop_reason: Some("length".to_owned()),
            ..ChatReply::new("scripted", "Half of an ans")
        };
        let model = ScriptedModel::by(move |_| ScriptedAnswer::Reply(Box::new(cut.clone())));
        let engine = Engine::builder(Arc::new(MemoryStore::new()), Arc::new(model)).format(RoundtablePrompts);
        let engine = engine.build();
        let debate = started(&engine, "T").await;
        assert!(engine.concluded(debate, Duration::from_secs(60)).await.unwrap());
        let mut history = engine.history(debate, None).await.unwrap();
        let begun = history.iter_mut().find(|event| event.kind == "call_started").unwrap();
        begun.body = begun.body.replacen('{', r#"{"thinking":{"effort":"low","tokens":4096},"#, 1);
        let log = Log::fold(debate, history).unwrap();
        let page = serde_json::to_value(calls(&log, Seq::START, CALLS_MAX)).unwrap();
        let (call, end) = (&page["calls"][0], &page["calls"][0]["end"]);
        assert_eq!((&end["why"], &end["words"]["text"]), (&json!("truncated"), &json!("Half of an ans")));
        let reply = &end["reply"];
        assert_eq!((&reply["ended"], &reply["stop_reason"]), (&json!("cut_in_text"), &json!("length")));
        assert_eq!(reply["usage"]["reasoning"], json!(700));
        assert_eq!(call["thinking"], json!({ "effort": "low", "tokens": 4_096 }));
    }

    #[tokio::test]
    async fn a_page_of_requests_ends_before_2_mib_of_what_began_them_too() {
        let model = ScriptedModel::by(|_| ScriptedAnswer::Hang);
        let engine = Engine::builder(Arc::new(MemoryStore::new()), Arc::new(model)).format(RoundtablePrompts);
        let engine = engine.build();
        let debate = started(&engine, "T").await;
        let mut begun = Box::pin(engine.watch(debate, Seq::START, false).await.unwrap());
        let mut seen = 0;
        while seen < 2 {
            let event = begun.next().await.unwrap().unwrap();
            seen += usize::from(matches!(event, Watched::Event(event) if event.kind == "call_started"));
        }
        let mut history = engine.history(debate, None).await.unwrap();
        for event in history.iter_mut().filter(|event| event.kind == "call_started") {
            event.body = event.body.replace("\"scripted\"", &format!("{:?}", "x".repeat(1_200_000)));
        }
        let log = Log::fold(debate, history).unwrap();
        let page = calls(&log, Seq::START, CALLS_MAX);
        assert_eq!((page.calls.len(), page.more), (1, true));
        let rest = calls(&log, Seq(page.calls[0].seq), CALLS_MAX);
        assert_eq!((rest.calls.len(), rest.more), (1, false));
    }
}

//! What chunks of a chat completion, or a whole one, say.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::CODES;
use crate::http::{Answer, Events, error_event, keep, malformed, read_json};
use crate::{ChunkSink, Ending, ModelError, Usage};

/// Reads chunks; all that lasts from one to the next is in the answer.
#[derive(Debug)]
pub(super) struct Chunks;

impl Events for Chunks {
    fn event(
        &mut self,
        data: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        if data == b"[DONE]" {
            answer.is_done = true;
            return Ok(());
        }
        let body = Body::read(data)?;
        take(answer, body, |choice| choice.delta, chunks);
        Ok(())
    }

    fn whole(
        &mut self,
        body: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        let body = Body::read(body)?;
        if !body.choices.iter().flatten().any(|choice| choice.message.is_some()) {
            return Err(malformed("the response holds no choices"));
        }
        answer.is_done = true;
        take(answer, body, |choice| choice.message, chunks);
        Ok(())
    }
}

/// Takes what a body says; some providers repeat the whole message beside each delta, so `words` picks one.
fn take(
    answer: &mut Answer,
    body: Body<'_>,
    words: impl for<'a> Fn(Choice<'a>) -> Option<Delta<'a>>,
    chunks: &mut dyn ChunkSink,
) {
    keep(&mut answer.model, body.model.as_deref());
    keep(&mut answer.id, body.id.as_deref());
    for mut choice in body.choices.into_iter().flatten() {
        if choice.index.unwrap_or(0) != 0 {
            continue;
        }
        if let Some(reason) = choice.finish_reason.take() {
            answer.end(&reason, ending);
        }
        let Some(delta) = words(choice) else { continue };
        answer.refusal.push_str(delta.refusal.as_deref().unwrap_or_default());
        let thought = delta.reasoning_content.or(delta.reasoning);
        answer.reasoning.push_str(thought.as_deref().unwrap_or_default());
        match delta.content {
            Some(Value::String(text)) => answer.say(&text, chunks),
            Some(Value::Array(parts)) => parts.iter().for_each(|part| take_part(answer, part, chunks)),
            Some(_) | None => {}
        }
        for call in delta.tool_calls.into_iter().flatten() {
            take_call(answer, call);
        }
    }
    // Some providers count in every chunk; the one that has the reason for the end, or comes behind it, counts all.
    if let Some(usage) = body.usage.or(body.x_groq.and_then(|groq| groq.usage)) {
        answer.count(read_usage(&usage));
    }
}

/// Takes one part of a content that is a list: text, or thoughts that hold texts themselves.
fn take_part(answer: &mut Answer, part: &Value, chunks: &mut dyn ChunkSink) {
    let text = |part: &Value| part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    match part.get("type").and_then(Value::as_str) {
        Some("text") | None => answer.say(&text(part), chunks),
        Some("thinking") => {
            for thought in part.get("thinking").and_then(Value::as_array).into_iter().flatten() {
                answer.reasoning.push_str(&text(thought));
            }
        }
        Some(_) => {}
    }
}

/// Takes a piece of a tool call; without a number it belongs to the last one, unless it brings an id of its own.
fn take_call(answer: &mut Answer, piece: CallPiece) {
    let id = piece.id.filter(|id| !id.is_empty());
    let last = answer.last_call_number();
    let number = match (piece.index, &id) {
        (Some(index), _) => index,
        (None, Some(_)) | (None, None) if last.is_none() => 0,
        (None, Some(_)) => last.map_or(0, |last| last.saturating_add(1)),
        (None, None) => last.unwrap_or(0),
    };
    let call = answer.call(number);
    if let (true, Some(id)) = (call.id.is_empty(), id) {
        call.id = id;
    }
    let Some(function) = piece.function else { return };
    call.name.push_str(function.name.as_deref().unwrap_or_default());
    match function.arguments {
        Some(Value::String(text)) => call.arguments.push_str(&text),
        // Some servers send the arguments as JSON instead of as text.
        Some(Value::Null) | None => {}
        Some(json) => call.arguments.push_str(&json.to_string()),
    }
}

/// A chunk of a stream, or a whole response; unknown fields are left alone.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow)]
    id: Option<Words<'a>>,
    #[serde(borrow)]
    model: Option<Words<'a>>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Value>,
    x_groq: Option<Groq>,
    error: Option<Value>,
}

impl<'a> Body<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, ModelError> {
        let body: Self = read_json(bytes)?;
        match body.error.as_ref().filter(|error| !error.is_null()) {
            Some(error) => Err(error_event(error, CODES)),
            None => Ok(body),
        }
    }
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Words<'a>>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    content: Option<Value>,
    #[serde(borrow)]
    reasoning_content: Option<Words<'a>>,
    #[serde(borrow)]
    reasoning: Option<Words<'a>>,
    #[serde(borrow)]
    refusal: Option<Words<'a>>,
    tool_calls: Option<Vec<CallPiece>>,
}

/// A text, where it stands in the event; serde borrows none that is optional without a type of its own.
#[derive(Deserialize)]
struct Words<'a>(#[serde(borrow)] Cow<'a, str>);

impl std::ops::Deref for Words<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

#[derive(Deserialize)]
struct CallPiece {
    index: Option<u64>,
    id: Option<String>,
    function: Option<FunctionPiece>,
}

#[derive(Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
struct Groq {
    usage: Option<Value>,
}

/// Reads what a usage object says; whatever is no whole number stays unknown (K3).
///
/// Some servers count thoughts apart from what was written; their total shows it, and they are added.
fn read_usage(usage: &Value) -> Usage {
    let tokens = |name| usage.get(name).and_then(Value::as_u64);
    let detail = |of, name| usage.get(of)?.get(name)?.as_u64();
    let (input, written) = (tokens("prompt_tokens"), tokens("completion_tokens"));
    let reasoning = detail("completion_tokens_details", "reasoning_tokens");
    let apart = match (input, written, reasoning, tokens("total_tokens")) {
        (Some(input), Some(written), Some(thoughts), Some(total))
            if total == input.saturating_add(written).saturating_add(thoughts) =>
        {
            thoughts
        }
        _ => 0,
    };
    Usage {
        input,
        output: written.map(|written| written.saturating_add(apart)),
        cached: detail("prompt_tokens_details", "cached_tokens").or(tokens("prompt_cache_hit_tokens")),
        cache_written: detail("prompt_tokens_details", "cache_write_tokens"),
        reasoning,
    }
}

fn ending(reason: &str) -> Ending {
    match reason {
        "stop" | "eos" | "end_turn" => Ending::Complete,
        "length" | "max_tokens" | "model_length" => Ending::CutInText,
        "content_filter" => Ending::Refused,
        "tool_calls" | "function_call" => Ending::ToolCalls,
        _ => Ending::Unknown,
    }
}

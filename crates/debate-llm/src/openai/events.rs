//! What chunks of a chat completion, or a whole one, say.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use super::CODES;
use crate::http::{Answer, Events, error_event, keep, malformed, read_json, text};
use crate::{ChunkSink, ModelError, Usage};

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
        body.fail()?;
        take(answer, body, |choice| choice.delta.take(), chunks)
    }

    fn whole(
        &mut self,
        body: &[u8],
        answer: &mut Answer,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        let body = Body::read(body)?;
        body.fail()?;
        if !body.choices.iter().flatten().any(|choice| choice.message.is_some()) {
            return Err(malformed("the response holds no choices"));
        }
        answer.is_done = true;
        take(answer, body, |choice| choice.message.take(), chunks)
    }
}

/// Takes what a body says. Some providers repeat the whole message next to each delta, so `words` picks one.
///
/// # Errors
/// What a choice says of an error in its place.
fn take(
    answer: &mut Answer,
    body: Body<'_>,
    words: impl for<'a> Fn(&mut Choice<'a>) -> Option<Delta<'a>>,
    chunks: &mut dyn ChunkSink,
) -> Result<(), ModelError> {
    keep(&mut answer.model, &body.model);
    keep(&mut answer.id, &body.id);
    let mut broken = None;
    for mut choice in body.choices.into_iter().flatten() {
        if choice.index.unwrap_or(0) != 0 {
            continue;
        }
        if let Some(delta) = words(&mut choice) {
            take_delta(answer, delta, chunks);
        }
        answer.end(&choice.finish_reason);
        broken = broken.or(choice.error.filter(|error| !error.is_null()));
    }
    // Some providers count in every chunk; the one that has the reason for the end, or comes behind it,
    // counts all.
    if let Some(usage) = body.usage.or(body.x_groq.and_then(|groq| groq.usage)).filter(Value::is_object) {
        answer.count(read_usage(&usage));
    }
    broken.map_or(Ok(()), |error| Err(error_event(&error, CODES)))
}

fn take_delta(answer: &mut Answer, delta: Delta<'_>, chunks: &mut dyn ChunkSink) {
    answer.decline(&delta.refusal);
    // Servers name the thoughts in one of three ways; those that use several say the same in each.
    let named = [delta.reasoning_content, delta.reasoning, delta.reasoning_details].into_iter().flatten();
    let thoughts = named.map(|thought| prose_of(&thought)).find(|thought| !thought.is_empty());
    answer.think(&thoughts.unwrap_or_default());
    match delta.content {
        Some(Value::Array(parts)) => parts.iter().for_each(|part| take_part(answer, part, chunks)),
        Some(part) => take_part(answer, &part, chunks),
        None => {}
    }
    for call in delta.tool_calls.into_iter().flatten() {
        take_call(answer, call);
    }
}

/// Takes a content, or one part of it: text, thoughts, or the words of a refusal.
fn take_part(answer: &mut Answer, part: &Value, chunks: &mut dyn ChunkSink) {
    let said = part.get("text").or(part.get("output")).unwrap_or(part);
    match part.get("type").and_then(Value::as_str) {
        Some("text" | "output_text" | "output") | None => {
            answer.say(said.as_str().unwrap_or_default(), chunks);
        }
        Some("refusal") => answer.decline(part.get("refusal").and_then(Value::as_str).unwrap_or_default()),
        Some(kind) if is_thought(kind) => answer.think(&prose_of(part)),
        Some(_) => {}
    }
}

fn is_thought(kind: &str) -> bool {
    ["reasoning", "thinking", "thought", "summary"].iter().any(|word| kind.starts_with(word))
}

/// Returns the text in thoughts: they are one, or a list, or have it in a field that is either.
fn prose_of(thoughts: &Value) -> String {
    match thoughts {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(prose_of).collect(),
        Value::Object(fields) => {
            let named = ["text", "thinking", "reasoning", "summary", "content"].iter();
            let said = named.filter_map(|name| fields.get(*name)).map(prose_of);
            said.into_iter().find(|text| !text.is_empty()).unwrap_or_default()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Takes a piece of a tool call; without a number it belongs to the last one, unless it brings an id of its
/// own.
fn take_call(answer: &mut Answer, piece: CallPiece<'_>) {
    let function = piece.function.unwrap_or_default();
    let arguments = match function.arguments {
        Some(Value::String(text)) => text,
        // Some servers send the arguments as JSON instead of as text.
        Some(Value::Null) | None => String::new(),
        Some(json) => json.to_string(),
    };
    if piece.id.is_empty() && function.name.is_empty() && arguments.is_empty() {
        return;
    }
    answer.go_on();
    let last = answer.last_call_number();
    let number = match (piece.index, last) {
        (Some(index), _) => index,
        (None, None) => 0,
        (None, Some(last)) => last.saturating_add(u64::from(!piece.id.is_empty())),
    };
    let call = answer.call(number);
    if call.id.is_empty() {
        call.id = piece.id.into_owned();
    }
    call.name.push_str(&function.name);
    call.arguments.push_str(&arguments);
}

/// A chunk of a stream, or a whole response; unknown fields are left alone.
#[derive(Deserialize)]
struct Body<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    id: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "text")]
    model: Cow<'a, str>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Value>,
    x_groq: Option<Groq>,
    error: Option<Value>,
}

impl<'a> Body<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, ModelError> {
        read_json(bytes)
    }

    /// Says what the body says of an error in the place of an answer, or after a part of it.
    fn fail(&self) -> Result<(), ModelError> {
        match self.error.as_ref().filter(|error| !error.is_null()) {
            Some(error) => Err(error_event(error, CODES)),
            None => Ok(()),
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
    #[serde(borrow, default, deserialize_with = "text")]
    finish_reason: Cow<'a, str>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    reasoning_details: Option<Value>,
    #[serde(borrow, default, deserialize_with = "text")]
    refusal: Cow<'a, str>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
struct CallPiece<'a> {
    index: Option<u64>,
    #[serde(borrow, default, deserialize_with = "text")]
    id: Cow<'a, str>,
    #[serde(borrow)]
    function: Option<FunctionPiece<'a>>,
}

#[derive(Deserialize, Default)]
struct FunctionPiece<'a> {
    #[serde(borrow, default, deserialize_with = "text")]
    name: Cow<'a, str>,
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

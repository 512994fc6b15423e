//! From the bytes of a response to an answer, streamed or whole, wherever the bytes are split.

use serde::Deserialize;
use serde_json::Value;

use super::failure;
use super::sse::EventData;
use crate::{ChunkSink, FinishReason, ModelError, ModelErrorKind, Usage};

/// Reads one response body; never more than its limit of bytes.
#[derive(Debug)]
pub(super) struct Decoder {
    shape: Shape,
    answer: Answer,
    bytes: usize,
    bytes_max: usize,
}

/// What the body turned out to be; its first byte tells.
#[derive(Debug)]
enum Shape {
    Unknown,
    Events(EventData),
    Whole(Vec<u8>),
}

/// An answer as far as it has arrived.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) usage: Usage,
    pub(super) finish: Option<FinishReason>,
    pub(super) model: Option<String>,
    pub(super) id: Option<String>,
    refusal: String,
    is_done: bool,
    has_events: bool,
}

impl Decoder {
    /// Makes a decoder that reads at most `bytes_max` bytes.
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { shape: Shape::Unknown, answer: Answer::default(), bytes: 0, bytes_max }
    }

    /// Takes the next bytes; tells `chunks` the text in them.
    ///
    /// # Errors
    /// `TooLarge`, `Malformed`, or what an error event says.
    pub(super) fn push(&mut self, bytes: &[u8], chunks: &mut dyn ChunkSink) -> Result<(), ModelError> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > self.bytes_max {
            let message = format!("the response is longer than {} bytes", self.bytes_max);
            return Err(ModelError::new(ModelErrorKind::TooLarge, &message));
        }
        if let Shape::Unknown = self.shape {
            match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None => return Ok(()),
                Some(b'{' | b'[' | b'"') => self.shape = Shape::Whole(Vec::new()),
                Some(b'<') => return Err(malformed("the response is markup, not JSON")),
                Some(_) => self.shape = Shape::Events(EventData::default()),
            }
        }
        let answer = &mut self.answer;
        match &mut self.shape {
            Shape::Unknown => Ok(()),
            Shape::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
            Shape::Events(events) => events.push(bytes, &mut |data| answer.event(data, chunks)),
        }
    }

    /// Returns whether the end mark of the stream has come.
    pub(super) fn is_done(&self) -> bool {
        self.answer.is_done
    }

    /// Returns whether the answer is whole, though the stream may go on with its usage.
    pub(super) fn is_complete(&self) -> bool {
        self.answer.is_done || self.answer.finish.is_some()
    }

    /// Returns the usage told so far.
    pub(super) fn usage(&self) -> Usage {
        self.answer.usage
    }

    /// Ends the body.
    ///
    /// # Errors
    /// `Truncated` when the stream ended before the answer; `Malformed` when there was none; `Refused`.
    pub(super) fn finish(mut self, chunks: &mut dyn ChunkSink) -> Result<Answer, ModelError> {
        let answer = &mut self.answer;
        match &mut self.shape {
            Shape::Unknown => return Err(malformed("the response is empty")),
            Shape::Whole(body) => answer.whole(body, chunks)?,
            Shape::Events(events) => {
                let mut last_is_cut = false;
                let rest = events.finish(&mut |data| match answer.event(data, chunks) {
                    Err(error) if error.kind == ModelErrorKind::Malformed => {
                        last_is_cut = true;
                        Ok(())
                    }
                    other => other,
                });
                rest?;
                if !answer.has_events && !last_is_cut {
                    return Err(malformed("the response holds no events"));
                }
            }
        }
        self.answer.judge()
    }
}

impl Answer {
    /// Takes one event of a stream.
    fn event(&mut self, data: &[u8], chunks: &mut dyn ChunkSink) -> Result<(), ModelError> {
        let data = data.trim_ascii();
        if data.is_empty() || self.is_done {
            return Ok(());
        }
        if data == b"[DONE]" {
            (self.is_done, self.has_events) = (true, true);
            return Ok(());
        }
        let body = Body::read(data)?;
        self.has_events = true;
        if let Some(error) = body.error.as_ref().filter(|error| !error.is_null()) {
            return Err(failure::from_error_value(error));
        }
        self.take(body, |choice| choice.delta, chunks);
        Ok(())
    }

    /// Takes a response that is one JSON body.
    fn whole(&mut self, bytes: &[u8], chunks: &mut dyn ChunkSink) -> Result<(), ModelError> {
        let body = Body::read(bytes)?;
        if let Some(error) = body.error.as_ref().filter(|error| !error.is_null()) {
            return Err(failure::from_error_value(error));
        }
        if !body.choices.iter().flatten().any(|choice| choice.message.is_some()) {
            return Err(malformed("the response holds no choices"));
        }
        self.take(body, |choice| choice.message, chunks);
        self.is_done = true;
        Ok(())
    }

    /// Takes what a body says; some providers repeat the whole message beside each delta, so `words` picks one.
    fn take(&mut self, body: Body, words: impl Fn(Choice) -> Option<Delta>, chunks: &mut dyn ChunkSink) {
        if let Some(usage) = body.usage.or(body.x_groq.and_then(|groq| groq.usage)) {
            self.usage = read_usage(&usage);
        }
        keep(&mut self.model, body.model);
        keep(&mut self.id, body.id);
        for mut choice in body.choices.into_iter().flatten() {
            if choice.index.unwrap_or(0) != 0 {
                continue;
            }
            if let Some(reason) = choice.finish_reason.take() {
                self.finish = Some(finish_reason(reason));
            }
            let Some(delta) = words(choice) else { continue };
            self.refusal.push_str(delta.refusal.as_deref().unwrap_or_default());
            let thought = delta.reasoning_content.or(delta.reasoning);
            self.reasoning.push_str(thought.as_deref().unwrap_or_default());
            let start = self.text.len();
            match delta.content {
                Some(Value::String(text)) => self.text.push_str(&text),
                Some(Value::Array(parts)) => parts.iter().for_each(|part| self.part(part)),
                Some(_) | None => {}
            }
            if self.text.len() > start {
                chunks.push(&self.text[start..]);
            }
        }
    }

    /// Takes one part of a content that is a list: text, or thoughts that hold texts themselves.
    fn part(&mut self, part: &Value) {
        let text = |part: &Value| part.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        match part.get("type").and_then(Value::as_str) {
            Some("text") | None => self.text.push_str(&text(part)),
            Some("thinking") => {
                for thought in part.get("thinking").and_then(Value::as_array).into_iter().flatten() {
                    self.reasoning.push_str(&text(thought));
                }
            }
            Some(_) => {}
        }
    }

    /// Says whether what has arrived is an answer.
    fn judge(mut self) -> Result<Self, ModelError> {
        if !self.refusal.is_empty() {
            return Err(ModelError::new(ModelErrorKind::Refused, &self.refusal));
        }
        if !self.is_done && self.finish.is_none() {
            return Err(ModelError::new(ModelErrorKind::Truncated, "the stream ended before the answer"));
        }
        if self.text.is_empty() && self.finish == Some(FinishReason::ContentFilter) {
            return Err(ModelError::new(ModelErrorKind::Refused, "the provider's filter stopped the answer"));
        }
        self.finish.get_or_insert(FinishReason::Other(String::new()));
        Ok(self)
    }
}

/// A chunk of a stream, or a whole response; unknown fields are left alone.
#[derive(Deserialize)]
struct Body {
    id: Option<String>,
    model: Option<String>,
    choices: Option<Vec<Choice>>,
    usage: Option<Value>,
    x_groq: Option<Groq>,
    error: Option<Value>,
}

impl Body {
    fn read(bytes: &[u8]) -> Result<Self, ModelError> {
        serde_json::from_slice(bytes).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => malformed("the JSON has not the shape of the protocol"),
            serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof
            | serde_json::error::Category::Io => malformed("the response is not JSON"),
        })
    }
}

#[derive(Deserialize)]
struct Choice {
    index: Option<u64>,
    delta: Option<Delta>,
    message: Option<Delta>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<Value>,
    reasoning_content: Option<String>,
    reasoning: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Groq {
    usage: Option<Value>,
}

/// Reads what a usage object says; whatever is no whole number stays unknown (K3).
fn read_usage(usage: &Value) -> Usage {
    let tokens = |pointer| usage.pointer(pointer).and_then(Value::as_u64);
    Usage {
        input: tokens("/prompt_tokens"),
        output: tokens("/completion_tokens"),
        cached: tokens("/prompt_tokens_details/cached_tokens").or(tokens("/prompt_cache_hit_tokens")),
        reasoning: tokens("/completion_tokens_details/reasoning_tokens"),
    }
}

fn finish_reason(reason: String) -> FinishReason {
    match reason.as_str() {
        "stop" | "eos" | "end_turn" => FinishReason::Stop,
        "length" | "max_tokens" | "model_length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "tool_calls" | "function_call" => FinishReason::ToolCalls,
        _ => FinishReason::Other(reason),
    }
}

/// Keeps the first value that says something.
fn keep(kept: &mut Option<String>, value: Option<String>) {
    if kept.is_none() {
        *kept = value.filter(|text| !text.is_empty());
    }
}

fn malformed(message: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, message)
}

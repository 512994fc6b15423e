//! What a provider for tests reads and says in each protocol.

use serde_json::{Value, json};

use super::ThinkingTokens;
use crate::Provider;

/// The protocol of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spoken(Provider);

/// Why a request is refused.
pub(super) enum Refusal {
    /// An effort that the model does not take.
    Effort { model: String, effort: String, taken: Vec<&'static str> },
    /// Too large a limit of tokens.
    Cap { model: String, cap: u32, most: u32 },
    /// Too long a question.
    Window { input: u32, window: u32 },
}

impl Refusal {
    /// Returns the status of HTTP for it.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Effort { .. } | Self::Cap { .. } | Self::Window { .. } => 400,
        }
    }
}

/// How an answer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Complete,
    Cut,
}

/// What an event of a stream holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    Thought,
    Text { is_first: bool },
}

/// How much a request asks to be thought.
pub(super) enum Asked {
    Nothing,
    Word(String),
    Tokens(u32),
}

impl Asked {
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Nothing | Self::Tokens(_) => None,
        }
    }

    pub(super) fn tokens(&self, thinking: &ThinkingTokens) -> u32 {
        match self {
            Self::Nothing => thinking.unset,
            Self::Tokens(0) => thinking.none,
            Self::Tokens(tokens) => *tokens,
            Self::Word(word) => match word.as_str() {
                "none" => thinking.none,
                "minimal" => thinking.low / 4,
                "low" => thinking.low,
                "medium" => thinking.medium,
                _ => thinking.high,
            },
        }
    }
}

impl Spoken {
    /// Returns the protocol that has this path.
    pub(super) fn of(path: &str) -> Option<Self> {
        let is = |end: &str| path.ends_with(end);
        let provider = if is("/chat/completions") {
            Provider::OpenAi
        } else if is("/responses") {
            Provider::OpenAiResponses
        } else if is("/messages") {
            Provider::Anthropic
        } else if is(":streamGenerateContent") {
            Provider::Gemini
        } else {
            return None;
        };
        Some(Self(provider))
    }

    /// Returns the limit of tokens of a request.
    pub(super) fn cap(self, body: &Value) -> Option<u32> {
        let cap = match self.0 {
            Provider::OpenAi => body.get("max_tokens").or(body.get("max_completion_tokens")),
            Provider::OpenAiResponses => body.get("max_output_tokens"),
            Provider::Anthropic => body.get("max_tokens"),
            Provider::Gemini => body.pointer("/generationConfig/maxOutputTokens"),
        };
        cap.and_then(Value::as_u64).and_then(|cap| u32::try_from(cap).ok())
    }

    /// Returns how much is to be thought.
    pub(super) fn effort(self, body: &Value) -> Asked {
        let at = |pointer: &str| body.pointer(pointer);
        let word = |pointer: &str| at(pointer).and_then(Value::as_str);
        let is_off = |pointer: &str| at(pointer) == Some(&Value::Bool(false));
        let none = |is_none: bool| is_none.then_some("none");
        let tokens = match self.0 {
            Provider::Anthropic => at("/thinking/budget_tokens"),
            Provider::Gemini => at("/generationConfig/thinkingConfig/thinkingBudget"),
            Provider::OpenAi | Provider::OpenAiResponses => None,
        };
        if let Some(tokens) = tokens.and_then(Value::as_u64).and_then(|tokens| u32::try_from(tokens).ok()) {
            return Asked::Tokens(tokens);
        }
        let word = match self.0 {
            Provider::OpenAi => word("/reasoning_effort")
                .or(word("/reasoning/effort"))
                .or(none(is_off("/reasoning/enabled") || is_off("/chat_template_kwargs/enable_thinking"))),
            Provider::OpenAiResponses => word("/reasoning/effort"),
            Provider::Anthropic => {
                none(word("/thinking/type") == Some("disabled")).or(word("/output_config/effort"))
            }
            Provider::Gemini => word("/generationConfig/thinkingConfig/thinkingLevel"),
        };
        word.map_or(Asked::Nothing, |word| Asked::Word(word.to_owned()))
    }

    /// Returns the bytes of all texts of a question.
    pub(super) fn prompt_bytes(self, body: &Value) -> usize {
        fn bytes(value: &Value) -> usize {
            match value {
                Value::String(text) => text.len(),
                Value::Array(list) => list.iter().map(bytes).sum(),
                Value::Object(fields) => {
                    ["content", "text", "parts"].iter().filter_map(|name| fields.get(*name)).map(bytes).sum()
                }
                Value::Null | Value::Bool(_) | Value::Number(_) => 0,
            }
        }
        let parts = ["messages", "input", "system", "systemInstruction", "contents"];
        parts.iter().filter_map(|name| body.get(*name)).map(bytes).sum()
    }

    /// Returns the body of a refusal, in the words of the protocol's own provider.
    pub(super) fn refusal(self, refusal: &Refusal) -> Value {
        let (message, param) = match refusal {
            Refusal::Effort { model, effort, taken } => self.effort_refused(model, effort, taken),
            Refusal::Cap { model, cap, most } => (self.cap_refused(model, *cap, *most), None),
            Refusal::Window { input, window } => (self.window_refused(*input, *window), None),
        };
        match self.0 {
            Provider::OpenAi | Provider::OpenAiResponses => json!({"error":
                {"message": message, "type": "invalid_request_error", "param": param, "code": null}}),
            Provider::Anthropic => {
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
            }
            Provider::Gemini => {
                json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})
            }
        }
    }

    fn effort_refused(self, model: &str, effort: &str, taken: &[&str]) -> (String, Option<&'static str>) {
        let param = match self.0 {
            Provider::OpenAi => Some("reasoning_effort"),
            Provider::OpenAiResponses => Some("reasoning.effort"),
            Provider::Anthropic | Provider::Gemini => None,
        };
        let message = match (self.0, taken.is_empty(), effort) {
            (Provider::OpenAi, true, _) => {
                "Unrecognized request argument supplied: reasoning_effort".to_owned()
            }
            (Provider::OpenAiResponses, true, _) => {
                "Unsupported parameter: 'reasoning.effort' is not supported with this model.".to_owned()
            }
            (Provider::OpenAi | Provider::OpenAiResponses, false, _) => format!(
                "Unsupported value: '{effort}' is not supported with the '{model}' model. Supported values are: '{}'.",
                taken.join("', '")
            ),
            (Provider::Anthropic, true, _) => "adaptive thinking is not supported on this model".to_owned(),
            (Provider::Anthropic, false, "none") => {
                "\"thinking.type.disabled\" is not supported for this model.".to_owned()
            }
            (Provider::Anthropic, false, _) => format!("output_config.effort: invalid value '{effort}'"),
            (Provider::Gemini, true, _) => "Thinking level is not supported for this model.".to_owned(),
            (Provider::Gemini, false, _) => {
                format!("Thinking level {} is not supported for this model.", effort.to_uppercase())
            }
        };
        (message, param)
    }

    fn cap_refused(self, model: &str, cap: u32, most: u32) -> String {
        match self.0 {
            Provider::OpenAi | Provider::OpenAiResponses => format!(
                "max_tokens is too large: {cap}. This model supports at most {most} completion tokens, whereas you provided {cap}."
            ),
            Provider::Anthropic => format!(
                "max_tokens: {cap} > {most}, which is the maximum allowed number of output tokens for {model}"
            ),
            Provider::Gemini => format!(
                "Unable to submit request because it has a maxOutputTokens value of {cap} but the supported range is from 1 (inclusive) to {} (exclusive).",
                most + 1
            ),
        }
    }

    fn window_refused(self, input: u32, window: u32) -> String {
        match self.0 {
            Provider::OpenAi => format!(
                "request ({input} tokens) exceeds the available context size ({window} tokens), try increasing it"
            ),
            Provider::OpenAiResponses => format!(
                "This model's maximum context length is {window} tokens. However, your messages resulted in {input} tokens."
            ),
            Provider::Anthropic => format!("prompt is too long: {input} tokens > {window} maximum"),
            Provider::Gemini => format!(
                "The input token count ({input}) exceeds the maximum number of tokens allowed ({window})."
            ),
        }
    }

    /// Returns the usage of an answer; what was written has the thoughts in it.
    pub(super) fn usage(self, input: u32, thinking: u32, written: u32) -> Value {
        match self.0 {
            Provider::OpenAi => json!({"prompt_tokens": input, "completion_tokens": written,
                "total_tokens": input + written, "completion_tokens_details": {"reasoning_tokens": thinking}}),
            Provider::OpenAiResponses => json!({"input_tokens": input, "output_tokens": written,
                "output_tokens_details": {"reasoning_tokens": thinking}}),
            Provider::Anthropic => json!({"input_tokens": input, "output_tokens": written,
                "output_tokens_details": {"thinking_tokens": thinking}}),
            Provider::Gemini => json!({"promptTokenCount": input, "candidatesTokenCount": written - thinking,
                "thoughtsTokenCount": thinking, "totalTokenCount": input + written}),
        }
    }

    /// Returns the events before the first token.
    pub(super) fn begin(self, model: &str, input: u32) -> String {
        match self.0 {
            Provider::OpenAi => events(&[json!({"id": "fake-1", "model": model,
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})]),
            Provider::OpenAiResponses => events(&[json!({"type": "response.created",
                "response": {"id": "fake-1", "model": model, "status": "in_progress", "output": []}})]),
            Provider::Anthropic => events(&[
                json!({"type": "message_start", "message": {"id": "fake-1", "model": model, "content": [],
                    "usage": {"input_tokens": input, "output_tokens": 1}}}),
                json!({"type": "content_block_start", "index": 0,
                    "content_block": {"type": "thinking", "thinking": ""}}),
                json!({"type": "ping"}),
            ]),
            Provider::Gemini => String::new(),
        }
    }

    /// Returns the events of a few tokens.
    pub(super) fn piece(self, piece: Piece, text: &str) -> String {
        let is_thought = piece == Piece::Thought;
        match self.0 {
            Provider::OpenAi => {
                let field = if is_thought { "reasoning_content" } else { "content" };
                events(&[json!({"id": "fake-1", "choices": [{"index": 0, "delta": {field: text}}]})])
            }
            Provider::OpenAiResponses => {
                let kind = if is_thought { "reasoning_summary_text" } else { "output_text" };
                events(&[json!({"type": format!("response.{kind}.delta"), "output_index": 0, "delta": text})])
            }
            Provider::Anthropic if is_thought => events(&[json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "thinking_delta", "thinking": text}})]),
            Provider::Anthropic => {
                let first = json!({"type": "content_block_start", "index": 1,
                    "content_block": {"type": "text", "text": ""}});
                let delta = json!({"type": "content_block_delta", "index": 1,
                    "delta": {"type": "text_delta", "text": text}});
                match piece {
                    Piece::Text { is_first: true } => events(&[first, delta]),
                    Piece::Text { is_first: false } | Piece::Thought => events(&[delta]),
                }
            }
            Provider::Gemini => events(&[json!({"candidates": [{"index": 0,
                "content": {"parts": [{"text": text, "thought": is_thought}]}}]})]),
        }
    }

    /// Returns the events after the last token.
    pub(super) fn end(self, ended: Ended, usage: &Value, model: &str) -> String {
        let is_cut = ended == Ended::Cut;
        match self.0 {
            Provider::OpenAi => {
                let reason = if is_cut { "length" } else { "stop" };
                let last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
                format!("{}data: [DONE]\n\n", events(&[last, json!({"choices": [], "usage": usage})]))
            }
            Provider::OpenAiResponses => {
                let status = if is_cut { "incomplete" } else { "completed" };
                let details = is_cut.then(|| json!({"reason": "max_output_tokens"}));
                events(&[
                    json!({"type": format!("response.{status}"), "response": {"id": "fake-1", "model": model,
                    "status": status, "incomplete_details": details, "output": [], "usage": usage}}),
                ])
            }
            Provider::Anthropic => {
                let reason = if is_cut { "max_tokens" } else { "end_turn" };
                events(&[
                    json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}),
                    json!({"type": "message_stop"}),
                ])
            }
            Provider::Gemini => {
                let reason = if is_cut { "MAX_TOKENS" } else { "STOP" };
                events(&[json!({"candidates": [{"index": 0, "finishReason": reason}],
                    "modelVersion": model, "usageMetadata": usage})])
            }
        }
    }
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

//! What must come out of a recorded body: as the official SDK has it, or as the test reads the body itself.

use serde_json::{Value, json};

use super::*;
use crate::Usage;

/// What an answer must hold.
pub(super) enum Expected {
    Answer(Box<Reading>),
    Error { kind: &'static str, message: String },
}

/// An answer as another reader has it; what that reader does not tell is absent.
#[derive(Default)]
pub(super) struct Reading {
    text: Option<String>,
    finish: Option<Ending>,
    /// Names and arguments, in order.
    calls: Vec<(String, Value)>,
    thought_chars: Option<usize>,
    /// Tokens read and written.
    usage: Option<Usage>,
    /// Tokens read from a cache, put into it, and of thoughts, as the body tells them: what it does not tell is not known.
    details: Option<[Option<u64>; 3]>,
}

/// Where a protocol tells of tokens that were read from a cache, put into it, and of thoughts.
const fn details_in(provider: Provider) -> [&'static [&'static str]; 3] {
    match provider {
        Provider::Anthropic => [
            &["/message/usage/cache_read_input_tokens", "/usage/cache_read_input_tokens"],
            &["/message/usage/cache_creation_input_tokens", "/usage/cache_creation_input_tokens"],
            &[
                "/message/usage/output_tokens_details/thinking_tokens",
                "/usage/output_tokens_details/thinking_tokens",
            ],
        ],
        Provider::Gemini => {
            [&["/usageMetadata/cachedContentTokenCount"], &[], &["/usageMetadata/thoughtsTokenCount"]]
        }
        Provider::OpenAi => [
            &["/usage/prompt_cache_hit_tokens", "/usage/prompt_tokens_details/cached_tokens"],
            &["/usage/prompt_tokens_details/cache_write_tokens"],
            &["/usage/completion_tokens_details/reasoning_tokens"],
        ],
        Provider::OpenAiResponses => [
            &[
                "/response/usage/input_tokens_details/cached_tokens",
                "/usage/input_tokens_details/cached_tokens",
            ],
            &[],
            &[
                "/response/usage/output_tokens_details/reasoning_tokens",
                "/usage/output_tokens_details/reasoning_tokens",
            ],
        ],
    }
}

/// Returns the last counts of these tokens in the events.
fn details(provider: Provider, events: &[&str]) -> [Option<u64>; 3] {
    let events: Vec<Value> = events.iter().filter_map(|data| serde_json::from_str(data).ok()).collect();
    details_in(provider).map(|places| {
        let count = |event: &Value| places.iter().rev().find_map(|place| event.pointer(place)?.as_u64());
        events.iter().rev().find_map(count)
    })
}

impl Expected {
    pub(super) fn of(record: &Record, provider: Provider) -> Self {
        let details = details(provider, &record.events());
        match Self::read(record, provider) {
            Self::Answer(reading) => Self::Answer(Box::new(Reading { details: Some(details), ..*reading })),
            error @ Self::Error { .. } => error,
        }
    }

    fn read(record: &Record, provider: Provider) -> Self {
        let sdk = &record.index["derived_by_sdk"];
        match provider {
            Provider::OpenAi if sdk.is_null() => chat_whole(record),
            // The SDK only says that there is an error; the body says that it is the model's reply that is bad.
            Provider::OpenAi if String::from_utf8_lossy(&record.body).contains("\"failed_generation\"") => {
                error("malformed_response")
            }
            Provider::OpenAi => chat_by_sdk(sdk),
            // A second message begins within the first: the SDK mixes the two, and so there is no answer.
            Provider::Anthropic if record.text("name") == "spliced-message-start.chunks.txt" => {
                error("malformed_response")
            }
            Provider::Anthropic if sdk.is_null() => message_whole(record),
            Provider::Anthropic => message_by_sdk(sdk),
            Provider::Gemini => content(record),
            Provider::OpenAiResponses => response(record),
        }
    }

    pub(super) fn check(&self, answer: Result<Answer, ModelError>, streamed: &str, place: &str) {
        let want = match self {
            Self::Answer(reading) => reading,
            Self::Error { kind, message } => {
                let error = answer.err().unwrap_or_else(|| panic!("{place}: no error"));
                assert_eq!(error.kind.label(), *kind, "{place}: {error}");
                assert!(
                    message.starts_with(error.message.trim_end_matches('…')) || message.is_empty(),
                    "{place}"
                );
                return;
            }
        };
        let answer = answer.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(answer.text, streamed, "{place}");
        if let Some(text) = &want.text {
            assert_eq!(&answer.text, text, "{place}");
        }
        if let Some(finish) = want.finish {
            // No SDK says that nothing but thoughts came.
            let is_silent = answer.text.is_empty() && want.calls.is_empty();
            let finish = if finish.is_cut() && is_silent { Ending::CutInThinking } else { finish };
            assert_eq!(answer.ending, Some(finish), "{place}");
        }
        let got = answer.tool_calls.iter().zip(&want.calls);
        let calls: Vec<_> =
            got.map(|(call, want)| (call.name.clone(), as_in(&call.arguments, &want.1))).collect();
        assert_eq!((answer.tool_calls.len(), &calls), (want.calls.len(), &want.calls), "{place}");
        if let Some(chars) = want.thought_chars {
            assert_eq!(answer.reasoning.chars().count(), chars, "{place}");
        }
        if let Some(usage) = want.usage {
            let Usage { input, output, .. } = answer.usage;
            // An SDK believes a 0; where a prompt or an answer exists, a 0 means that it was not counted (K3).
            let counted = |tokens: Option<u64>, is_there: bool| tokens.filter(|n| *n > 0 || !is_there);
            let is_written =
                !answer.text.is_empty() || !want.calls.is_empty() || !answer.reasoning.is_empty();
            let want = (counted(usage.input, true), counted(usage.output, is_written));
            assert_eq!((input, output), want, "{place}");
        }
        if let Some(details) = want.details {
            let Usage { cached, cache_written, reasoning, .. } = answer.usage;
            assert_eq!([cached, cache_written, reasoning], details, "{place}");
        }
    }
}

/// Reads arguments as the other reader does: as text, as JSON, or as what is left of JSON that was cut short.
fn as_in(arguments: &str, other: &Value) -> Value {
    match other {
        Value::String(_) => json!(arguments),
        _ => serde_json::from_str(arguments).unwrap_or_else(|_| mended(arguments)),
    }
}

/// Reads the whole values at the beginning of JSON that was cut short.
fn mended(json: &str) -> Value {
    let ends = (0..=json.len()).rev().filter(|end| json.is_char_boundary(*end));
    let mut mended = ends.filter_map(|end| {
        let beginning = json[..end].trim_end().trim_end_matches(',');
        let (mut open, mut is_text, mut is_escaped) = (Vec::new(), false, false);
        for c in beginning.chars() {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' if is_text => is_escaped = true,
                '"' => is_text = !is_text,
                '{' | '[' if !is_text => open.push(if c == '{' { '}' } else { ']' }),
                '}' | ']' if !is_text => drop(open.pop()),
                _ => {}
            }
        }
        let closed: String = beginning.chars().chain(open.into_iter().rev()).collect();
        serde_json::from_str(&closed).ok()
    });
    mended.next().unwrap()
}

fn error(kind: &'static str) -> Expected {
    Expected::Error { kind, message: String::new() }
}

fn chat_by_sdk(sdk: &Value) -> Expected {
    if sdk.get("sdk_error").is_some() {
        return Expected::Error {
            kind: "stream_error",
            message: sdk["message"].as_str().unwrap().to_owned(),
        };
    }
    if sdk["refusal"].is_string() {
        return error("refused");
    }
    // One record is filed under chat but holds a realtime session; it has no choices at all.
    let Some(finish) = sdk["finish_reasons"].as_array().unwrap().last() else { return error("truncated") };
    let chars = sdk["reasoning_content_chars"].as_u64().unwrap() as usize;
    Expected::Answer(Box::new(Reading {
        text: sdk["text"].as_str().map(str::to_owned),
        finish: finish.as_str().map(chat_finish),
        calls: chat_calls(&sdk["tool_calls"]),
        // The SDK tells one of the two fields in which servers put thoughts.
        thought_chars: Some(chars).filter(|chars| *chars > 0),
        usage: chat_usage(&sdk["usage"]),
        details: None,
    }))
}

fn chat_calls(calls: &Value) -> Vec<(String, Value)> {
    let call = |call: &Value| {
        let function = if call["function"].is_object() { &call["function"] } else { call };
        (function["name"].as_str().unwrap().to_owned(), function["arguments"].clone())
    };
    calls.as_array().into_iter().flatten().map(call).collect()
}

/// Reads usage so that input and output are the total, where there is one: some servers count thoughts apart.
fn chat_usage(usage: &Value) -> Option<Usage> {
    let (input, written) = (usage["prompt_tokens"].as_u64()?, usage["completion_tokens"].as_u64()?);
    // Mistral counts sound in the total alone.
    let is_total = usage.get("prompt_audio_seconds").is_none();
    let total = usage["total_tokens"].as_u64().filter(|_| is_total).unwrap_or(input + written);
    Some(Usage { input: Some(input), output: Some(total - input), ..Usage::default() })
}

fn chat_finish(reason: &str) -> Ending {
    match reason {
        "stop" => Ending::Complete,
        "length" => Ending::CutInText,
        "tool_calls" => Ending::ToolCalls,
        "content_filter" => Ending::Refused,
        other => panic!("what is {other}?"),
    }
}

fn chat_whole(record: &Record) -> Expected {
    let body: Value = serde_json::from_slice(&record.body).unwrap();
    let Some(choice) = body["choices"].get(0) else { return error("malformed_response") };
    let message = &choice["message"];
    if message["refusal"].is_string() {
        return error("refused");
    }
    let text = match &message["content"] {
        Value::Array(parts) => parts
            .iter()
            .filter(|part| part["type"] == "text")
            .filter_map(|part| part["text"].as_str())
            .collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    Expected::Answer(Box::new(Reading {
        text: Some(text),
        finish: choice["finish_reason"].as_str().map(chat_finish),
        calls: chat_calls(&message["tool_calls"]),
        thought_chars: None,
        usage: chat_usage(&body["usage"]),
        details: None,
    }))
}

fn message_by_sdk(sdk: &Value) -> Expected {
    // The official SDK takes an error before the first message for a defect of its caller.
    if sdk.get("sdk_error").is_some() {
        return error("overloaded");
    }
    // A refusal that says nothing is no answer.
    if sdk["stop_reason"] == "refusal" && sdk["text"] == "" {
        return error("refused");
    }
    let call = |call: &Value| (call["name"].as_str().unwrap().to_owned(), call["input"].clone());
    Expected::Answer(Box::new(Reading {
        text: sdk["text"].as_str().map(str::to_owned),
        finish: sdk["stop_reason"].as_str().map(message_finish),
        calls: sdk["tool_inputs"].as_array().unwrap().iter().map(call).collect(),
        thought_chars: Some(sdk["thinking_chars"].as_u64().unwrap() as usize),
        usage: message_usage(&sdk["usage"]),
        details: None,
    }))
}

/// Reads one of several responses that a file holds; of the SDK's reading of them all only the end is that of one.
pub(super) fn message_among_others(events: &[&str], is_last: bool, sdk: &Value) -> Expected {
    let details = details(Provider::Anthropic, events);
    let events: Vec<Value> = events.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    let said = |kind: &str, field: &str, index: Option<&Value>| -> String {
        let deltas = events.iter().filter(|event| event["delta"]["type"] == kind);
        let deltas = deltas.filter(|event| index.is_none_or(|index| event["index"] == *index));
        deltas.filter_map(|event| event["delta"][field].as_str()).collect()
    };
    let is_call = |block: &Value| block["type"] == "tool_use" || block["type"] == "server_tool_use";
    let begun = events.iter().filter(|event| is_call(&event["content_block"]));
    let call = |event: &Value| {
        let pieces = said("input_json_delta", "partial_json", Some(&event["index"]));
        let input = serde_json::from_str(&pieces).unwrap_or_else(|_| event["content_block"]["input"].clone());
        (event["content_block"]["name"].as_str().unwrap().to_owned(), input)
    };
    // Some of them come whole with their first event.
    let whole = events.iter().filter_map(|event| event["message"]["content"].as_array()).flatten();
    let whole = whole.filter(|block| is_call(block));
    let whole = whole.map(|block| (block["name"].as_str().unwrap().to_owned(), block["input"].clone()));
    Expected::Answer(Box::new(Reading {
        text: Some(said("text_delta", "text", None)),
        finish: sdk["stop_reason"].as_str().filter(|_| is_last).map(message_finish),
        calls: whole.chain(begun.map(call)).collect(),
        thought_chars: Some(said("thinking_delta", "thinking", None).chars().count()),
        usage: message_usage(&sdk["usage"]).filter(|_| is_last),
        details: Some(details),
    }))
}

fn message_finish(reason: &str) -> Ending {
    match reason {
        "end_turn" | "stop_sequence" => Ending::Complete,
        "max_tokens" => Ending::CutInText,
        "tool_use" => Ending::ToolCalls,
        "refusal" => Ending::Refused,
        _ => Ending::Unknown,
    }
}

fn message_usage(usage: &Value) -> Option<Usage> {
    let tokens = |field: &str| usage[field].as_u64();
    let cached = tokens("cache_read_input_tokens");
    let created = tokens("cache_creation_input_tokens").unwrap_or(0);
    let input = tokens("input_tokens")? + created + cached.unwrap_or(0);
    Some(Usage { input: Some(input), output: tokens("output_tokens"), ..Usage::default() })
}

fn message_whole(record: &Record) -> Expected {
    let body: Value = serde_json::from_slice(&record.body).unwrap();
    let Some(blocks) = body["content"].as_array() else { return error("malformed_response") };
    let all = |kind: &str, field: &str| -> String {
        let blocks = blocks.iter().filter(|block| block["type"] == kind);
        blocks.filter_map(|block| block[field].as_str()).collect()
    };
    if body["stop_reason"] == "refusal" && all("text", "text").is_empty() {
        return error("refused");
    }
    let is_call = |block: &&Value| block["type"] == "tool_use" || block["type"] == "server_tool_use";
    let call = |block: &Value| (block["name"].as_str().unwrap().to_owned(), block["input"].clone());
    Expected::Answer(Box::new(Reading {
        text: Some(all("text", "text")),
        finish: body["stop_reason"].as_str().map(message_finish),
        calls: blocks.iter().filter(is_call).map(call).collect(),
        thought_chars: Some(all("thinking", "thinking").chars().count()),
        usage: message_usage(&body["usage"]),
        details: None,
    }))
}

/// Reads the items from the events that contain them whole; the adapter reads them from pieces.
fn response(record: &Record) -> Expected {
    let events = record.events().into_iter().filter(|data| *data != "[DONE]");
    let Ok(events) = events.map(serde_json::from_str).collect::<Result<Vec<Value>, _>>() else {
        // One file holds lines that are no JSON.
        return error("malformed_response");
    };
    if events.iter().any(|event| event["type"] == "error" || event["error"].is_object()) {
        return error("quota_exhausted");
    }
    let (items, end): (Vec<&Value>, &Value) = if record.is_stream() {
        let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
        (done.map(|event| &event["item"]).collect(), &events.last().unwrap()["response"])
    } else {
        (events[0]["output"].as_array().unwrap().iter().collect(), &events[0])
    };
    let messages = items.iter().filter(|item| item["type"] == "message");
    let parts = messages.filter_map(|item| item["content"].as_array()).flatten();
    let texts = parts.filter(|part| part["type"] == "output_text").filter_map(|part| part["text"].as_str());
    let action = |item: &Value| item.get("action").cloned().unwrap_or_else(|| json!({}));
    let calls = items.iter().filter_map(|item| match item["type"].as_str() {
        Some("function_call") => Some((item["name"].as_str().unwrap().to_owned(), item["arguments"].clone())),
        Some("web_search_call") => Some(("web_search".to_owned(), action(item))),
        _ => None,
    });
    let asks = items.iter().any(|item| item["type"] == "function_call");
    let finish = match (&end["incomplete_details"]["reason"], end["status"].as_str().unwrap()) {
        (Value::Null, "completed") if asks => Ending::ToolCalls,
        (Value::Null, "completed") => Ending::Complete,
        (reason, "incomplete") if reason == "max_output_tokens" => Ending::CutInText,
        other => panic!("what is {other:?}?"),
    };
    let usage = &end["usage"];
    let pieces = events.iter().filter(|event| event["type"] == "response.output_text.delta");
    // One file was written by hand, and its pieces say less than its whole.
    let text = match record.text("name") {
        "openai-shell-container.1.chunks.txt" => pieces.filter_map(|event| event["delta"].as_str()).collect(),
        _ => texts.collect(),
    };
    Expected::Answer(Box::new(Reading {
        text: Some(text),
        finish: Some(finish),
        calls: calls.collect(),
        thought_chars: None,
        usage: Some(Usage {
            input: usage["input_tokens"].as_u64(),
            output: usage["output_tokens"].as_u64(),
            ..Usage::default()
        }),
        details: None,
    }))
}

/// Reads all bodies of a stream, or the one there is.
fn content(record: &Record) -> Expected {
    let bodies: Vec<Value> =
        record.events().into_iter().map(|data| serde_json::from_str(data).unwrap()).collect();
    let parts: Vec<&Value> = bodies
        .iter()
        .filter_map(|body| body["candidates"][0]["content"]["parts"].as_array())
        .flatten()
        .collect();
    let said = |is_thought: bool| -> String {
        let parts = parts.iter().filter(|part| (part["thought"] == true) == is_thought);
        parts.filter_map(|part| part["text"].as_str()).collect()
    };
    let mut calls: Vec<(String, Value)> = Vec::new();
    for body in &bodies {
        let candidate = &body["candidates"][0];
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            let Some(call) = part.get("functionCall") else { continue };
            if let Some(name) = call["name"].as_str() {
                calls.push((name.to_owned(), call.get("args").cloned().unwrap_or_else(|| json!({}))));
            }
            // The recorded pieces are texts at the top.
            for piece in call["partialArgs"].as_array().into_iter().flatten() {
                let field = piece["jsonPath"].as_str().unwrap().strip_prefix("$.").unwrap();
                let args = &mut calls.last_mut().unwrap().1;
                let text = args[field].as_str().unwrap_or_default().to_owned();
                args[field] = json!(text + piece["stringValue"].as_str().unwrap());
            }
        }
        for query in candidate["groundingMetadata"]["webSearchQueries"].as_array().into_iter().flatten() {
            calls.push(("google_search".to_owned(), json!({ "query": query })));
        }
    }
    let reason = bodies.iter().rev().find_map(|body| body["candidates"][0]["finishReason"].as_str());
    let asks = parts.iter().any(|part| part.get("functionCall").is_some());
    let finish = match reason {
        Some("STOP") if asks => Ending::ToolCalls,
        Some("STOP") => Ending::Complete,
        other => panic!("what is {other:?}?"),
    };
    let counts = bodies.iter().rev().map(|body| &body["usageMetadata"]).find(|counts| counts.is_object());
    Expected::Answer(Box::new(Reading {
        text: Some(said(false)),
        finish: Some(finish),
        calls,
        thought_chars: Some(said(true).chars().count()),
        usage: counts.map(content_usage),
        details: None,
    }))
}

/// Reads the counts so that input and output are the total.
fn content_usage(counts: &Value) -> Usage {
    let tokens = |field: &str| counts[field].as_u64().unwrap_or(0);
    let input = tokens("promptTokenCount") + tokens("toolUsePromptTokenCount");
    let output = tokens("totalTokenCount") - input;
    Usage { input: Some(input), output: Some(output).filter(|output| *output > 0), ..Usage::default() }
}

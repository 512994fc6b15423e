//! What servers say in each protocol as they do something wrong.

use debate_llm::{Ending, Provider};
use serde_json::{Value, json};

use crate::speech::{delta, end_mark, events, part, used};

/// Returns what ends an answer with this word, and counts all.
pub(crate) fn ended_by(provider: Provider, word: &str) -> String {
    let usage = used(provider, 4);
    events(&[match provider {
        Provider::Anthropic => {
            json!({"type": "message_delta", "delta": {"stop_reason": word}, "usage": usage})
        }
        Provider::Gemini => {
            json!({"candidates": [{"finishReason": word, "index": 0}], "usageMetadata": usage})
        }
        Provider::OpenAi => {
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}], "usage": usage})
        }
        Provider::OpenAiResponses if word == "error" => {
            json!({"type": "response.failed", "response": {"status": "failed", "usage": usage}})
        }
        Provider::OpenAiResponses => json!({"type": "response.incomplete", "response": {
            "status": "incomplete", "incomplete_details": {"reason": word}, "usage": usage}}),
    }])
}

/// Returns what ends an answer in the protocol's own word.
pub(crate) fn ended(provider: Provider, ending: Ending) -> String {
    let word = match (ending, provider) {
        (Ending::CutInText, Provider::Anthropic) => "max_tokens",
        (Ending::CutInText, Provider::Gemini) => "MAX_TOKENS",
        (Ending::CutInText, Provider::OpenAi) => "length",
        (Ending::CutInText, Provider::OpenAiResponses) => "max_output_tokens",
        (Ending::Complete, Provider::Anthropic) => "end_turn",
        (Ending::Complete, Provider::Gemini) => "STOP",
        (Ending::Complete, Provider::OpenAi) => "stop",
        (ending, _) => panic!("{ending:?} has no word here"),
    };
    format!("{}{}", ended_by(provider, word), end_mark(provider))
}

/// Returns a stream that thinks and says nothing.
pub(crate) fn thought(provider: Provider) -> String {
    let thought = match provider {
        Provider::Anthropic => json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        Provider::Gemini => {
            json!({"candidates": [{"content": {"parts": [{"text": "hm", "thought": true}]}}]})
        }
        Provider::OpenAi => json!({"choices": [{"index": 0, "delta": {"reasoning": "hm"}}]}),
        Provider::OpenAiResponses => {
            json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "hm"})
        }
    };
    format!("{}{}", part(provider, &[]), events(&[thought]))
}

/// Returns an error that stands where the answer would go on.
pub(crate) fn error_within(provider: Provider) -> String {
    let error = json!({"code": 502, "message": "upstream is gone"});
    events(&[match provider {
        Provider::Anthropic => {
            json!({"type": "message_delta", "delta": {}, "error": {"type": "api_error", "message": "gone"}})
        }
        Provider::Gemini => json!({"candidates": [{"index": 0, "finishReason": "STOP", "error": error}]}),
        Provider::OpenAi => {
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "error", "error": error}]})
        }
        Provider::OpenAiResponses => {
            json!({"type": "response.completed", "response": {"status": "completed", "error": error}})
        }
    }])
}

/// Returns a whole stream with null wherever a text, a list or a number belongs.
pub(crate) fn nulls(provider: Provider) -> String {
    let said = match provider {
        Provider::Anthropic => vec![
            json!({"type": "message_start", "message": {"id": null, "model": null, "content": null, "usage": null}}),
            json!({"type": "content_block_start", "index": null, "content_block": {"type": "thinking",
                "thinking": null, "signature": null}}),
            json!({"type": "content_block_delta", "index": null, "delta": {"type": "thinking_delta", "thinking": null}}),
            json!({"type": "content_block_stop", "index": null}),
            json!({"type": "content_block_start", "index": null, "content_block": {"type": "text", "text": null,
                "citations": null}}),
            json!({"type": "content_block_delta", "index": null, "delta": {"type": "text_delta", "text": null}}),
            json!({"type": "content_block_delta", "index": null, "delta": {"type": "citations_delta", "citation": null}}),
            json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": null}),
        ],
        Provider::Gemini => {
            vec![json!({"candidates": [{"index": null, "finishReason": null, "groundingMetadata": null,
            "content": {"parts": [{"text": null, "thought": null, "thoughtSignature": null, "functionCall": null}]}}],
            "modelVersion": null, "responseId": null, "usageMetadata": null, "promptFeedback": null, "error": null})]
        }
        Provider::OpenAi => vec![
            json!({"id": null, "model": null, "usage": null, "error": null, "choices": [{"index": null,
            "finish_reason": null, "error": null, "message": null, "delta": {"content": null, "reasoning": null,
            "reasoning_content": null, "reasoning_details": null, "refusal": null, "tool_calls": null}}]}),
            json!({"choices": [{"delta": {"content": [{"type": "text", "text": null}, {"type": "reasoning",
            "summary": null}], "tool_calls": [{"index": null, "id": null, "function": null}]}}]}),
            json!({"choices": null}),
        ],
        Provider::OpenAiResponses => vec![
            json!({"type": "response.output_text.delta", "output_index": null, "delta": null}),
            json!({"type": "response.refusal.delta", "delta": null}),
            json!({"type": "response.output_item.done", "output_index": 7, "item": {"type": "message",
            "content": [{"type": "output_text", "text": null, "annotations": null}]}}),
            json!({"type": "response.output_item.done", "output_index": 8, "item": {"type": "message",
            "content": null}}),
        ],
    };
    let end = match provider {
        Provider::OpenAiResponses => events(&[json!({"type": "response.completed", "response": {"id": null,
            "model": null, "status": null, "error": null, "incomplete_details": null,
            "usage": used(provider, 4)}})]),
        _ => ended(provider, Ending::Complete),
    };
    format!("{}{}{end}", events(&said), delta(provider, "hé"))
}

/// Returns what a server says that has found the model's reply not to keep to the schema.
pub(crate) fn bad_reply() -> Value {
    json!({"error": {"message": "Failed to validate JSON. See 'failed_generation' for more details.",
        "type": "invalid_request_error", "code": "json_validate_failed", "failed_generation": "{\"a"}})
}

/// Returns what a gateway says of a model that it does not know.
pub(crate) fn wrong_model() -> Value {
    let message = "/chat/completions: Invalid model name passed in model=x. Call `/v1/models` to view models";
    json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": "400"}})
}

/// Returns what a gateway says of a wrong key.
pub(crate) fn wrong_key() -> Value {
    json!({"error": {"message": "Authentication Error, Invalid proxy server token passed", "code": "400"}})
}

/// Returns what a gateway says that passes on an error.
pub(crate) fn gateway(inner: &Value) -> Value {
    json!({"error": {"code": 502, "message": "Provider returned error",
        "metadata": {"raw": inner.to_string(), "provider_name": "some"}}})
}

/// Returns a whole stream with these names for the model, the answer and the tool that is asked for.
pub(crate) fn long_names(provider: Provider, name: &str) -> String {
    let said = match provider {
        Provider::Anthropic => vec![
            json!({"type": "message_start", "message": {"id": name, "model": name}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": name,
                "name": name, "input": {}}}),
            json!({"type": "content_block_stop", "index": 0}),
        ],
        Provider::Gemini => {
            vec![json!({"modelVersion": name, "responseId": name, "candidates": [{"content": {
            "parts": [{"functionCall": {"id": name, "name": name, "args": {}}}]}}]})]
        }
        Provider::OpenAi => vec![json!({"id": name, "model": name, "choices": [{"delta": {"tool_calls": [
            {"index": 0, "id": name, "function": {"name": name, "arguments": "{}"}}]}}]})],
        Provider::OpenAiResponses => vec![
            json!({"type": "response.output_item.done", "output_index": 0, "item": {"type": "function_call",
                "call_id": name, "name": name, "arguments": "{}"}}),
            json!({"type": "response.completed", "response": {"id": name, "model": name, "status": "completed"}}),
        ],
    };
    let end = match provider {
        Provider::OpenAiResponses => String::new(),
        _ => ended(provider, Ending::Complete),
    };
    format!("{}{end}", events(&said))
}

/// Returns a whole stream that counts as it begins, or not, and at its end so many tokens read and written.
pub(crate) fn counted(provider: Provider, is_begun: bool, [read, written]: [u64; 2]) -> String {
    let begun = if is_begun { 9 } else { 0 };
    let count = |read: u64, written: u64| match provider {
        Provider::Anthropic | Provider::OpenAiResponses => {
            json!({"input_tokens": read, "output_tokens": written})
        }
        Provider::Gemini => json!({"promptTokenCount": read, "candidatesTokenCount": written}),
        Provider::OpenAi => json!({"prompt_tokens": read, "completion_tokens": written}),
    };
    let (first, last) = (count(begun, 1), count(read, written));
    let said = match provider {
        Provider::Anthropic => vec![
            json!({"type": "message_start", "message": {"usage": first}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hé"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": last}),
        ],
        Provider::Gemini => vec![
            json!({"usageMetadata": count(begun, 0), "candidates": [{"content": {"parts": [{"text": "hé"}]}}]}),
            json!({"usageMetadata": last, "candidates": [{"finishReason": "STOP"}]}),
        ],
        Provider::OpenAi => vec![
            json!({"usage": count(begun, 0), "choices": [{"delta": {"content": "hé"}}]}),
            json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
            json!({"usage": last, "choices": []}),
        ],
        Provider::OpenAiResponses => vec![
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "hé"}),
            json!({"type": "response.completed", "response": {"status": "completed", "usage": last}}),
        ],
    };
    events(&said)
}

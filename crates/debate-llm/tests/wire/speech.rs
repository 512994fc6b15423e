//! What servers say in each protocol.

use debate_llm::Provider;
use serde_json::{Value, json};

use crate::KEY;
use crate::fault_server::Response;

/// What a server has against a request.
#[derive(Clone, Copy)]
pub(crate) enum Trouble {
    WrongKey,
    UnknownModel,
    NoCredit,
    TooFast,
    Overloaded,
    BadRequest,
    RefusedSchema,
    RefusedTemperature,
}

/// Writes events as a server sends them.
pub(crate) fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Returns how a provider counts 9 tokens read, 8 of them from its cache, and so many written.
pub(crate) fn used(provider: Provider, output: u64) -> Value {
    match provider {
        Provider::Anthropic => {
            json!({"input_tokens": 1, "cache_read_input_tokens": 8, "output_tokens": output})
        }
        Provider::Gemini => {
            json!({"promptTokenCount": 9, "cachedContentTokenCount": 8, "candidatesTokenCount": output})
        }
        Provider::OpenAi => json!({"prompt_tokens": 9, "completion_tokens": output,
            "prompt_tokens_details": {"cached_tokens": 8}}),
        Provider::OpenAiResponses => json!({"input_tokens": 9, "output_tokens": output,
            "input_tokens_details": {"cached_tokens": 8}}),
    }
}

/// Returns the event that says `text`.
pub(crate) fn delta(provider: Provider, text: &str) -> String {
    let delta = match provider {
        Provider::Anthropic => {
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}})
        }
        Provider::Gemini => json!({"candidates": [{"content": {"parts": [{"text": text}]}, "index": 0}],
            "responseId": "c1", "modelVersion": "test-model-01", "usageMetadata": used(provider, 1)}),
        // Some that speak like it count in every chunk.
        Provider::OpenAi => json!({"id": "c1", "model": "test-model-01",
            "choices": [{"index": 0, "delta": {"content": text}}], "usage": used(provider, 1)}),
        Provider::OpenAiResponses => {
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": text})
        }
    };
    events(&[delta])
}

/// Returns a stream that says `texts` and goes no further.
pub(crate) fn part(provider: Provider, texts: &[&str]) -> String {
    let start = json!({"type": "message_start", "message": {"id": "c1", "model": "test-model-01", "content": [],
        "usage": used(Provider::Anthropic, 1)}});
    let deltas: String = texts.iter().map(|text| delta(provider, text)).collect();
    let first = match provider {
        Provider::Anthropic => events(&[start, json!({"type": "ping"})]),
        Provider::Gemini | Provider::OpenAi | Provider::OpenAiResponses => String::new(),
    };
    format!(": keep-alive\n\n{first}{deltas}")
}

/// Returns what ends the answer of a stream.
pub(crate) fn stop(provider: Provider) -> String {
    match provider {
        Provider::Anthropic => {
            events(&[json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 4}})])
        }
        Provider::Gemini => events(&[json!({"candidates": [{"finishReason": "STOP", "index": 0}],
            "usageMetadata": used(provider, 4)})]),
        Provider::OpenAi => events(&[
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": used(provider, 4)}),
        ]),
        Provider::OpenAiResponses => events(&[json!({"type": "response.completed", "response": {
            "id": "c1", "model": "test-model-01", "status": "completed", "output": [],
            "usage": used(provider, 4)}})]),
    }
}

/// Returns the mark after the answer, where the protocol has one.
pub(crate) fn end_mark(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "data: {\"type\": \"message_stop\"}\n\n",
        Provider::Gemini | Provider::OpenAiResponses => "",
        Provider::OpenAi => "data: [DONE]\n\n",
    }
}

/// Returns a whole stream of `texts`.
pub(crate) fn stream(provider: Provider, texts: &[&str]) -> String {
    format!("{}{}{}", part(provider, texts), stop(provider), end_mark(provider))
}

/// Returns a good answer.
pub(crate) fn ok(provider: Provider) -> Response {
    Response::events(&stream(provider, &["hé", "llo"]))
}

/// Returns an answer that comes as one body.
pub(crate) fn whole(provider: Provider) -> Response {
    let body = match provider {
        Provider::Anthropic => {
            json!({"type": "message", "content": [{"type": "text", "text": "whole"}], "stop_reason": "end_turn"})
        }
        Provider::Gemini => {
            json!({"candidates": [{"content": {"parts": [{"text": "whole"}]}, "finishReason": "STOP"}]})
        }
        Provider::OpenAi => json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]}),
        Provider::OpenAiResponses => json!({"status": "completed", "output": [{"type": "message",
            "content": [{"type": "output_text", "text": "whole"}]}]}),
    };
    Response::json(200, &body)
}

/// Returns an answer that is none, and what it has used.
pub(crate) fn refusal(provider: Provider) -> Response {
    let usage = used(provider, 4);
    let body = match provider {
        Provider::Anthropic => {
            json!({"type": "message", "content": [], "stop_reason": "refusal", "usage": usage})
        }
        Provider::Gemini => {
            json!({"candidates": [{"finishReason": "PROHIBITED_CONTENT"}], "usageMetadata": usage})
        }
        Provider::OpenAi => json!({"choices": [{"message": {"content": null, "refusal": "no"},
            "finish_reason": "stop"}], "usage": usage}),
        Provider::OpenAiResponses => json!({"status": "completed", "output": [{"type": "message",
            "content": [{"type": "refusal", "refusal": "no"}]}], "usage": usage}),
    };
    Response::json(200, &body)
}

/// Returns a stream that a filter stops before it says anything.
pub(crate) fn filtered(provider: Provider) -> Response {
    let usage = used(provider, 4);
    let stop = match provider {
        Provider::Anthropic => {
            json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}, "usage": usage})
        }
        Provider::Gemini => json!({"candidates": [{"finishReason": "SAFETY"}], "usageMetadata": usage}),
        Provider::OpenAi => {
            json!({"choices": [{"delta": {}, "finish_reason": "content_filter"}], "usage": usage})
        }
        Provider::OpenAiResponses => {
            let why = json!({"reason": "content_filter"});
            let response = json!({"status": "incomplete", "incomplete_details": why, "usage": usage});
            json!({"type": "response.incomplete", "response": response})
        }
    };
    Response::events(&format!("{}{}", part(provider, &[]), events(&[stop])))
}

/// Returns the event that tells of an error.
fn error(provider: Provider) -> Value {
    match provider {
        Provider::Anthropic => json!({"type": "error", "error": {"type": "new_error", "message": "broke"}}),
        Provider::Gemini | Provider::OpenAi => json!({"error": {"message": "broke"}}),
        Provider::OpenAiResponses => json!({"type": "error", "message": "broke", "code": null}),
    }
}

/// Returns a stream that begins well and then tells of an error.
pub(crate) fn failing(provider: Provider) -> Response {
    Response::events(&format!("{}{}", part(provider, &["hé"]), events(&[error(provider)])))
}

/// Returns the response that failed as a whole, of the protocol that has such.
fn failed() -> Value {
    let error = json!({"code": "new_error", "message": "broke"});
    json!({"status": "failed", "error": error, "usage": used(Provider::OpenAiResponses, 4)})
}

/// Returns an error in the place of an answer that comes as one body.
pub(crate) fn failed_whole(provider: Provider) -> Response {
    let body = match provider {
        Provider::Anthropic | Provider::Gemini | Provider::OpenAi => error(provider),
        Provider::OpenAiResponses => failed(),
    };
    Response::json(200, &body)
}

/// Returns a stream that reports its whole usage and then an error.
pub(crate) fn failing_at_its_end(provider: Provider) -> Response {
    let end = match provider {
        Provider::Anthropic | Provider::Gemini | Provider::OpenAi => {
            format!("{}{}", stop(provider), events(&[error(provider)]))
        }
        Provider::OpenAiResponses => events(&[json!({"type": "response.failed", "response": failed()})]),
    };
    Response::events(&format!("{}{end}", part(provider, &["hé"])))
}

/// Returns the status, the kind and the message that the provider sends for an error.
fn error_parts(provider: Provider, trouble: Trouble) -> (u16, &'static str, &'static str) {
    match provider {
        Provider::Anthropic => match trouble {
            Trouble::WrongKey => (401, "authentication_error", "invalid x-api-key"),
            Trouble::UnknownModel => (404, "not_found_error", "model: test-model"),
            Trouble::NoCredit => {
                (400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")
            }
            Trouble::TooFast => (429, "rate_limit_error", "slow down"),
            Trouble::Overloaded => (529, "overloaded_error", "Overloaded"),
            Trouble::BadRequest => (400, "invalid_request_error", "messages: at least one is needed"),
            Trouble::RefusedSchema => {
                (400, "invalid_request_error", "output_config: Extra inputs are not permitted")
            }
            Trouble::RefusedTemperature => {
                (400, "invalid_request_error", "`temperature` is deprecated for this model.")
            }
        },
        Provider::Gemini => match trouble {
            Trouble::WrongKey => (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
            Trouble::UnknownModel => (404, "NOT_FOUND", "models/test-model is not found"),
            Trouble::NoCredit => (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota"),
            Trouble::TooFast => (429, "RESOURCE_EXHAUSTED", "too many requests"),
            Trouble::Overloaded => (503, "UNAVAILABLE", "The model is overloaded."),
            Trouble::BadRequest => (400, "INVALID_ARGUMENT", "contents is not specified"),
            Trouble::RefusedSchema => (400, "INVALID_ARGUMENT", "JSON mode is not enabled for this model"),
            Trouble::RefusedTemperature => (400, "INVALID_ARGUMENT", "temperature is not supported"),
        },
        Provider::OpenAi | Provider::OpenAiResponses => match trouble {
            Trouble::WrongKey => (401, "invalid_api_key", "Incorrect API key provided"),
            Trouble::UnknownModel => (404, "model_not_found", "no such model"),
            Trouble::NoCredit => (429, "insufficient_quota", "You exceeded your current quota"),
            Trouble::TooFast => (429, "rate_limit_exceeded", "slow down"),
            Trouble::Overloaded => (529, "overloaded", "busy"),
            Trouble::BadRequest => (400, "nonsense", "no"),
            Trouble::RefusedSchema => (400, "", "response_format json_schema is not available"),
            Trouble::RefusedTemperature => (400, "", "Unsupported parameter: 'temperature'"),
        },
    }
}

/// Returns the message as the adapter shows it to people, with the key redacted.
pub(crate) fn redacted_message(provider: Provider, trouble: Trouble) -> String {
    let (status, _, message) = error_parts(provider, trouble);
    format!("HTTP {status}: {message} ([key])")
}

/// Returns how the provider says what troubles it; it repeats the key, as some do.
pub(crate) fn trouble(provider: Provider, trouble: Trouble) -> Response {
    let (status, kind, message) = error_parts(provider, trouble);
    let message = format!("{message} ({KEY})");
    let details = json!([{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]);
    let error = match (provider, trouble) {
        (Provider::Gemini, Trouble::NoCredit) => {
            json!({"code": status, "status": kind, "message": message, "details": details})
        }
        (Provider::Gemini, _) => json!({"code": status, "status": kind, "message": message}),
        (Provider::Anthropic, _) => json!({"type": kind, "message": message}),
        (Provider::OpenAi | Provider::OpenAiResponses, _) => json!({"code": kind, "message": message}),
    };
    Response::json(status, &json!({ "error": error }))
}

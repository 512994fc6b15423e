//! What a response that is no answer means.

use std::time::{Duration, SystemTime};

use http::header::{CONTENT_TYPE, HeaderMap, LOCATION};
use serde_json::Value;
use url::Url;

use super::dialect::Parameter;
use super::limit;
use super::protocol::Protocol;
use super::provider_error::ProviderError;
use super::retry;
use crate::{ModelError, ModelErrorKind, TimeoutStage};

/// A provider's error codes and what they mean; one with a space in it is a part of the message instead.
pub(crate) type Codes = &'static [(&'static str, Meaning)];

/// Replaces a provider's message about the key, because providers quote a part of the key there.
const KEY_MESSAGE_HIDDEN: &str = "the provider's message about the key is not shown";

/// What an error code means, where the status alone does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Credit, not speed, has run out.
    Quota,
    /// The model is unknown.
    Model,
    /// A filter in front of the model declines.
    Filter,
    /// The key is wrong.
    Key,
    /// Too much was asked in too short a time.
    Speed,
    /// The provider has no capacity.
    Load,
    /// The provider failed.
    Server,
    /// The model's reply was not what the schema demands; the request is good.
    Reply,
}

impl Meaning {
    fn kind(self, retry_after: Option<Duration>) -> ModelErrorKind {
        match self {
            Self::Quota => ModelErrorKind::QuotaExhausted,
            Self::Model => ModelErrorKind::UnknownModel,
            Self::Filter => ModelErrorKind::Refused,
            Self::Key => ModelErrorKind::Auth,
            Self::Speed => ModelErrorKind::RateLimited { retry_after },
            Self::Load => ModelErrorKind::Overloaded { retry_after },
            Self::Server => ModelErrorKind::Server { retry_after },
            Self::Reply => ModelErrorKind::Malformed,
        }
    }
}

/// A response that is no answer.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Box<ModelError>,
    /// The parameter that the server does not take, when it says so.
    pub(super) blames: Option<Parameter>,
    /// Whether the server says that the model's reply did not keep to the schema.
    pub(super) is_bad_reply: bool,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self { error: Box::new(error), blames: None, is_bad_reply: false }
    }
}

/// Reads a response whose status is not a success; the key is still in what it says.
pub(super) fn from_response(
    protocol: &dyn Protocol,
    status: u16,
    headers: &HeaderMap,
    body: &[u8],
) -> Failure {
    if let 300..400 = status {
        return redirected(protocol, status, headers);
    }
    let parsed = ProviderError::read(body);
    let retry_after = retry::retry_after(headers, SystemTime::now()).or(parsed.retry_after);
    let meaning = parsed.meaning(protocol.facts().codes);
    let kind = classify(parsed.status_of(status, meaning), meaning, retry_after);
    let kind = kind.or_window_exceeded(&String::from_utf8_lossy(body));
    let content = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let content = content.and_then(|kind| kind.split(';').next()).unwrap_or("nothing").trim();
    let message = match (&kind, parsed.message.as_str()) {
        // A page is a proxy's or a portal's, which knows nothing of keys.
        (ModelErrorKind::Auth, _) if content.eq_ignore_ascii_case("text/html") => {
            format!("HTTP {status} with a web page instead of an answer")
        }
        // Providers quote a part of the key here.
        (ModelErrorKind::Auth, _) => format!("the provider refused the key (HTTP {status})"),
        (_, _) if parsed.is_about_key() => format!("HTTP {status}: {KEY_MESSAGE_HIDDEN}"),
        (_, "") => format!("HTTP {status} with {content}"),
        (_, text) => format!("HTTP {status}: {text}"),
    };
    let is_refusal = matches!(status, 400 | 422) && meaning.is_none();
    let blames = is_refusal.then(|| blamed(&parsed, protocol.facts().parameters)).flatten();
    let error = ModelError { status: Some(status), ..ModelError::with_message(kind, &message) };
    Failure {
        error: Box::new(parsed.add_reply(meaning, error)),
        blames,
        is_bad_reply: meaning == Some(Meaning::Reply),
    }
}

/// Says where a server sends its callers instead of answering; it is not followed, as the key would go there too.
fn redirected(protocol: &dyn Protocol, status: u16, headers: &HeaderMap) -> Failure {
    let target = headers.get(LOCATION).and_then(|target| target.to_str().ok()).unwrap_or_default();
    let variable = protocol.facts().base_url_variable;
    let (message, advice) = match Url::parse(target).map(|url| url.origin().ascii_serialization()) {
        Ok(origin) => (
            format!("HTTP {status}: the server redirects to {origin}"),
            format!("if that is the right server, set {variable} to its address"),
        ),
        Err(_) => (
            format!("HTTP {status}: the server redirects to another address of its own"),
            format!("set {variable} to the address that answers"),
        ),
    };
    let error = ModelError::with_message(ModelErrorKind::BadRequest, &message);
    ModelError { status: Some(status), advice: advice.into(), ..error }.into()
}

/// Reads the `error` of a body or an event that came with a success status; the key is still in what it says.
pub(crate) fn error_event(error: &Value, codes: Codes) -> ModelError {
    let parsed = ProviderError::from_value(error);
    let meaning = parsed.meaning(codes);
    let status = parsed.status.or(parsed.inner_status).map(|status| parsed.status_of(status, meaning));
    let kind = match (status, meaning) {
        (_, Some(Meaning::Quota)) => ModelErrorKind::QuotaExhausted,
        (Some(status), meaning) => classify(status, meaning, parsed.retry_after),
        (None, Some(meaning)) => meaning.kind(parsed.retry_after),
        (None, None) => ModelErrorKind::StreamError,
    };
    let kind = kind.or_window_exceeded(&error.to_string());
    let message = match kind {
        ModelErrorKind::Auth => "the provider refused the key",
        _ if parsed.is_about_key() => KEY_MESSAGE_HIDDEN,
        _ => &parsed.message,
    };
    let error = ModelError::with_message(kind, message);
    parsed.add_reply(meaning, error)
}

impl ModelErrorKind {
    /// Returns that the window is exceeded where the words of a refusal say so.
    fn or_window_exceeded(self, body: &str) -> Self {
        let is_open = matches!(self, Self::BadRequest | Self::Server { .. } | Self::StreamError);
        let exceeded = is_open.then(|| limit::window_exceeded(body)).flatten();
        exceeded.map_or(self, |window| Self::WindowExceeded { window })
    }
}

/// The one table from status and code to kind.
fn classify(status: u16, meaning: Option<Meaning>, retry_after: Option<Duration>) -> ModelErrorKind {
    match (status, meaning) {
        (_, Some(Meaning::Key)) | (401 | 403, None) => ModelErrorKind::Auth,
        (_, Some(Meaning::Reply)) => ModelErrorKind::Malformed,
        (402, _) => ModelErrorKind::QuotaExhausted,
        (400..=499, Some(meaning)) => meaning.kind(retry_after),
        (404, None) => ModelErrorKind::UnknownModel,
        (408, None) => ModelErrorKind::Timeout(TimeoutStage::FirstByte),
        (429, None) => ModelErrorKind::RateLimited { retry_after },
        (503 | 529, _) => ModelErrorKind::Overloaded { retry_after },
        (500..=599, _) => ModelErrorKind::Server { retry_after },
        (_, _) => ModelErrorKind::BadRequest,
    }
}

/// Finds the parameter that a refusal is about.
fn blamed(
    parsed: &ProviderError,
    parameters: &'static [(Parameter, &'static [&'static str])],
) -> Option<Parameter> {
    if !parsed.param.is_empty() {
        let root = parsed.param.split(['.', '[']).next().unwrap_or_default();
        let is_named = |word: &&str| *word == root || word.contains('.') && parsed.param.starts_with(word);
        let named = parameters.iter().find(|(_, words)| words.iter().any(is_named));
        return named.map(|(parameter, _)| *parameter);
    }
    let message = parsed.message.to_lowercase();
    let names = |name: &str| {
        let mut words = message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        if name.contains(' ') { message.contains(name) } else { words.any(|word| word == name) }
    };
    let hints = ["support", "unknown", "unrecognized", "not permitted", "unexpected", "extra", "deprecated"];
    let is_unsupported = hints.iter().any(|hint| message.contains(hint));
    let blamed = parameters.iter().find(|(parameter, words)| {
        // Of a schema and an effort nothing but that they are refused is ever said.
        (is_unsupported || matches!(parameter, Parameter::Schema | Parameter::Effort))
            && words.iter().any(|name| names(name))
    });
    blamed.map(|(parameter, _)| *parameter)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Provider;

    fn check(provider: Provider, status: u16, body: &str, label: &str, blames: Option<Parameter>) {
        let failure = from_response(provider.protocol(), status, &HeaderMap::new(), body.as_bytes());
        let got = (failure.error.kind.label(), failure.blames);
        assert_eq!(got, (label, blames), "{provider}: {status} {body}");
        assert_eq!(failure.error.status, Some(status));
    }

    #[test]
    fn every_status_has_its_kind_with_every_provider() {
        for provider in Provider::ALL {
            for (status, body, label) in [
                (401, r#"{"detail":"Invalid API Key"}"#, "unauthorised"),
                (403, "", "unauthorised"),
                (402, "{}", "quota_exhausted"),
                (400, r#"[{"error":{"code":400,"message":"no"}}]"#, "bad_request"),
                (404, "", "unknown_model"),
                (413, "too large", "bad_request"),
                (302, "", "bad_request"),
                (408, "", "timeout_first_byte"),
                (429, "{}", "rate_limited"),
                (500, "", "server_error"),
                (502, "<html>bad gateway</html>", "server_error"),
                (503, "", "overloaded"),
                (504, "", "server_error"),
                (529, r#"{"type":"error"}"#, "overloaded"),
            ] {
                check(provider, status, body, label, None);
            }
        }
    }

    #[test]
    fn what_a_status_does_not_tell_a_code_does() {
        use Provider::{Anthropic, Gemini, OpenAi};
        let day = r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}"#;
        for (provider, status, body, label) in [
            (OpenAi, 429, r#"{"error":{"code":"insufficient_quota"}}"#, "quota_exhausted"),
            (OpenAi, 429, r#"{"error":{"type":"tokens","code":"rate_limit_exceeded"}}"#, "rate_limited"),
            (OpenAi, 404, r#"{"error":{"code":"model_not_found","message":"no"}}"#, "unknown_model"),
            (OpenAi, 400, r#"{"error":{"code":"model_not_found"}}"#, "unknown_model"),
            (OpenAi, 400, r#"{"error":{"code":"content_filter"}}"#, "refused"),
            (Anthropic, 404, r#"{"error":{"type":"not_found_error","message":"model: x"}}"#, "unknown_model"),
            (
                Anthropic,
                400,
                r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
                "quota_exhausted",
            ),
            (
                Gemini,
                400,
                r#"{"error":{"status":"INVALID_ARGUMENT","message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}"#,
                "unauthorised",
            ),
            (Gemini, 429, r#"{"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}"#, "rate_limited"),
            (Gemini, 429, day, "quota_exhausted"),
            (Gemini, 404, r#"{"error":{"code":404,"status":"NOT_FOUND"}}"#, "unknown_model"),
        ] {
            check(provider, status, body, label, None);
        }
    }

    #[test]
    fn a_wait_that_the_body_asks_for_is_kept_too() {
        let body = r#"{"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"31.5s"}]}}"#;
        let failure = from_response(Provider::Gemini.protocol(), 429, &HeaderMap::new(), body.as_bytes());
        assert_eq!(failure.error.retry_after(), Some(Duration::from_millis(31_500)));
    }

    #[test]
    fn the_refused_parameter_is_found() {
        use Parameter::{CacheMarks, MaxTokens, Schema, Seed, StreamOptions, Temperature, WebSearch};
        use Provider::{Anthropic, Gemini, OpenAi, OpenAiResponses};
        let error_body =
            |message: &str, param: &str| format!(r#"{{"error":{{"message":"{message}","param":{param}}}}}"#);
        for (provider, message, param, want) in [
            (OpenAi, "Unsupported: use 'max_completion_tokens'", r#""max_tokens""#, Some(MaxTokens)),
            (OpenAi, "Invalid schema", r#""response_format.json_schema.schema""#, Some(Schema)),
            (OpenAi, "This response_format type is unavailable now", "null", Some(Schema)),
            (OpenAi, "failed to parse grammar", "null", Some(Schema)),
            (OpenAi, "This model does not support structured outputs", "null", Some(Schema)),
            (OpenAi, "Unknown field 'stream_options'", "null", Some(StreamOptions)),
            (OpenAi, "temperature is not supported with this model", "null", Some(Temperature)),
            (OpenAi, "unrecognized request argument: seed", "null", Some(Seed)),
            (OpenAi, "web_search_options not supported", "null", Some(WebSearch)),
            (OpenAi, "temperature must be a number", "null", None),
            (OpenAi, "request exceeds the length", "null", None),
            (OpenAi, "messages[0].role is not supported", r#""messages[0].role""#, None),
            (OpenAiResponses, "Invalid schema for 'answer'", r#""text.format.schema""#, Some(Schema)),
            (OpenAiResponses, "text is wrong", r#""text.verbosity""#, None),
            (OpenAiResponses, "Unsupported parameter: 'temperature'", "null", Some(Temperature)),
            (Anthropic, "output_config: Extra inputs are not permitted", "null", Some(Schema)),
            (Anthropic, "output_config.format.schema: too complex", "null", Some(Schema)),
            (Anthropic, "Schema is too complex for compilation", "null", Some(Schema)),
            (Anthropic, "`temperature` is deprecated for this model", "null", Some(Temperature)),
            (Anthropic, "system.0.cache_control: Extra inputs", "null", Some(CacheMarks)),
            (Anthropic, "max_tokens: 9 > 8, which is the maximum", "null", None),
            (Gemini, "Unknown name 'responseJsonSchema'", "null", Some(Schema)),
            (Gemini, "The specified schema has too many states for serving", "null", Some(Schema)),
            (Gemini, "Tool use with a response mime type is unsupported", "null", Some(Schema)),
            (Gemini, "Search Grounding is not supported", "null", Some(WebSearch)),
        ] {
            check(provider, 400, &error_body(message, param), "bad_request", want);
        }
    }

    #[test]
    fn a_message_never_repeats_html_or_what_the_provider_says_of_a_key() {
        let message = |status, body: &str| {
            let protocol = Provider::OpenAi.protocol();
            from_response(protocol, status, &HeaderMap::new(), body.as_bytes()).error.message
        };
        assert_eq!(&*message(502, "<html>secret</html>"), "HTTP 502 with nothing");
        for (status, words) in [(401, "Incorrect API key provided"), (401, "Incorrect"), (403, "Incorrect")] {
            let body = json!({"error": {"message": format!("{words}: sk-ab**cd")}}).to_string();
            assert_eq!(&*message(status, &body), format!("the provider refused the key (HTTP {status})"));
        }
        for status in [402, 500, 502, 503] {
            let shown =
                message(status, r#"{"error":{"code":"invalid_api_key","message":"Incorrect: sk-ab**cd"}}"#);
            assert!(!shown.contains("sk-"), "{shown}");
        }
        // Not every provider has a status or a code for it.
        for (status, words, label) in [
            (400, "Incorrect API key provided: sk***cd.", "unauthorised"),
            (400, "Invalid API Key: sk***cd", "unauthorised"),
            (400, "api_key sk***cd may not ask for this", "bad_request"),
            (402, "the API key sk***cd has no credit left", "quota_exhausted"),
            (429, "too many requests with the api-key sk***cd", "rate_limited"),
            (503, "APIKey sk***cd has to wait", "overloaded"),
        ] {
            let body = json!({"code": "Client specified an invalid argument", "error": words}).to_string();
            for provider in Provider::ALL {
                let failure = from_response(provider.protocol(), status, &HeaderMap::new(), body.as_bytes());
                let shown = format!("{failure:?} {}", failure.error);
                assert_eq!(failure.error.kind.label(), label, "{provider}: {shown}");
                assert!(!shown.contains("sk*"), "{provider}: {shown}");
            }
        }
        // An error in a stream has no status: a code says what failed, or else the message does.
        let (coded, worded) = ("Incorrect: sk-ab**cd", "Incorrect API key provided: sk-ab**cd");
        for (provider, error) in [
            (Provider::OpenAi, json!({"code": "invalid_api_key", "message": coded})),
            (Provider::OpenAi, json!({"code": 401, "message": coded})),
            (Provider::OpenAi, json!({"code": 500, "message": worded})),
            (Provider::OpenAi, json!(worded)),
            (Provider::OpenAiResponses, json!({"code": "invalid_api_key", "message": coded})),
            (Provider::Anthropic, json!({"type": "authentication_error", "message": coded})),
            (Provider::Anthropic, json!({"type": "permission_error", "message": coded})),
            (Provider::Anthropic, json!({"type": "new_error", "message": worded})),
            (Provider::Gemini, json!({"status": "UNAUTHENTICATED", "message": coded})),
            (Provider::Gemini, json!({"status": "PERMISSION_DENIED", "message": coded})),
            (Provider::Gemini, json!({"details": [{"reason": "API_KEY_INVALID"}], "message": coded})),
            (Provider::Gemini, json!({"status": "INVALID_ARGUMENT", "message": worded})),
        ] {
            let failed = error_event(&error, provider.protocol().facts().codes);
            assert_eq!(failed.kind, ModelErrorKind::Auth, "{provider}: {error}");
            assert!(!format!("{failed:?} {failed}").contains("sk-"), "{provider}: {failed:?}");
        }
        let failed = error_event(&json!("the API key sk-ab**cd has to wait"), &[]);
        assert_eq!(failed.to_string(), "stream_error: the provider's message about the key is not shown");
    }

    #[test]
    fn error_keeps_text_that_only_mentions_keys_or_an_api() {
        for words in [
            "messages.0: unknown key 'foo'",
            "Your credit is too low for this API; add some",
            "the API limits keys of an object",
        ] {
            for provider in Provider::ALL {
                let body = json!({"error": {"message": words}}).to_string();
                let failure = from_response(provider.protocol(), 422, &HeaderMap::new(), body.as_bytes());
                assert_eq!(failure.error.kind, ModelErrorKind::BadRequest, "{provider}: {words}");
                assert_eq!(&*failure.error.message, format!("HTTP 422: {words}"), "{provider}");
            }
        }
    }
}

//! What a response that is no answer means.

use std::time::{Duration, SystemTime};

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde::Deserialize;
use serde_json::Value;

use super::body::Parameter;
use crate::{ModelError, ModelErrorKind, TimeoutStage, retry};

/// Codes and types with which providers say that credit, not speed, has run out.
const QUOTA_CODES: [&str; 7] = [
    "insufficient_quota",
    "insufficient_credits",
    "insufficient_balance",
    "billing_hard_limit_reached",
    "billing_not_active",
    "exceeded_current_quota_error",
    "enforced_spend_limit_reached",
];

/// Codes with which providers say that the model is unknown.
const MODEL_CODES: [&str; 3] = ["model_not_found", "model_not_available", "invalid_model"];

/// Codes with which a filter in front of the model declines.
const FILTER_CODES: [&str; 3] = ["content_filter", "content_policy_violation", "moderation_blocked"];

/// A response that is no answer.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) error: Box<ModelError>,
    /// The parameter that the server does not take, when it says so.
    pub(super) blames: Option<Parameter>,
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        Self { error: Box::new(error), blames: None }
    }
}

/// Reads a response whose status is not a success.
pub(super) fn from_response(status: u16, headers: &HeaderMap, body: &[u8]) -> Failure {
    let told = ProviderError::read(body);
    let retry_after = retry::retry_after(headers, SystemTime::now());
    let kind = classify(status, &told, retry_after);
    let message = match (&kind, told.message.as_str()) {
        // Providers quote a part of the key here.
        (ModelErrorKind::Auth, _) => format!("the provider refused the key (HTTP {status})"),
        (_, "") => {
            let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or("nothing");
            format!("HTTP {status} with {kind}")
        }
        (_, told) => format!("HTTP {status}: {told}"),
    };
    let blames = matches!(status, 400 | 422).then(|| blamed(&told)).flatten();
    let error = ModelError { status: Some(status), ..ModelError::new(kind, &message) };
    Failure { error: Box::new(error), blames }
}

/// Reads the `error` of a body or an event that came with a success status.
pub(super) fn from_error_value(error: &Value) -> ModelError {
    let told = ProviderError::from_value(error);
    let status = told.code.parse::<u16>().ok().filter(|status| (400..600).contains(status));
    let quota = QUOTA_CODES.iter().any(|code| told.is(code));
    let kind = match status {
        _ if quota => ModelErrorKind::QuotaExhausted,
        Some(status) => classify(status, &told, None),
        None => ModelErrorKind::StreamError,
    };
    let message = if kind == ModelErrorKind::Auth { "the provider refused the key" } else { &told.message };
    ModelError::new(kind, message)
}

/// The one table from status and code to kind.
fn classify(status: u16, told: &ProviderError, retry_after: Option<Duration>) -> ModelErrorKind {
    let is_any = |codes: &[&str]| codes.iter().any(|code| told.is(code));
    match status {
        402 => ModelErrorKind::QuotaExhausted,
        400..=499 if is_any(&QUOTA_CODES) => ModelErrorKind::QuotaExhausted,
        400..=499 if is_any(&MODEL_CODES) => ModelErrorKind::UnknownModel,
        400..=499 if is_any(&FILTER_CODES) => ModelErrorKind::Refused,
        401 | 403 => ModelErrorKind::Auth,
        404 => ModelErrorKind::UnknownModel,
        408 => ModelErrorKind::Timeout(TimeoutStage::FirstByte),
        429 => ModelErrorKind::RateLimited { retry_after },
        503 | 529 => ModelErrorKind::Overloaded { retry_after },
        500..=599 => ModelErrorKind::Server { retry_after },
        _ => ModelErrorKind::BadRequest,
    }
}

/// Finds the parameter that a refusal is about.
fn blamed(told: &ProviderError) -> Option<Parameter> {
    let all = [
        Parameter::ResponseFormat,
        Parameter::StreamOptions,
        Parameter::MaxTokens,
        Parameter::Temperature,
        Parameter::Seed,
    ];
    if !told.param.is_empty() {
        let root = told.param.split(['.', '[']).next().unwrap_or_default();
        return all.into_iter().find(|parameter| parameter.name() == root);
    }
    let message = told.message.to_lowercase();
    let names =
        |name: &str| message.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == name);
    if names("response_format") || names("json_schema") {
        return Some(Parameter::ResponseFormat);
    }
    let is_unsupported = ["support", "unknown", "unrecognized", "not permitted", "unexpected", "extra"]
        .iter()
        .any(|hint| message.contains(hint));
    all.into_iter().find(|parameter| is_unsupported && names(parameter.name()))
}

/// What the provider says about a failure, in whichever shape it says it.
#[derive(Debug, Default)]
struct ProviderError {
    message: String,
    code: String,
    kind: String,
    param: String,
}

impl ProviderError {
    /// Reads `{"error": {…}}`, `{"error": "…"}`, `{"message": …}`, `{"detail": …}`, or a list of one of these.
    fn read(body: &[u8]) -> Self {
        #[derive(Deserialize)]
        struct Wrapped {
            error: Value,
        }
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return Self::default() };
        let value = match value {
            Value::Array(mut list) if !list.is_empty() => list.swap_remove(0),
            other => other,
        };
        match Wrapped::deserialize(&value) {
            Ok(wrapped) => Self::from_value(&wrapped.error),
            Err(_) => Self::from_value(&value),
        }
    }

    fn from_value(value: &Value) -> Self {
        let field = |name: &str| match value.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::Array(list)) => {
                list.first().and_then(|item| item.get("msg")?.as_str()).unwrap_or_default().to_owned()
            }
            Some(Value::Null | Value::Bool(_) | Value::Object(_)) | None => String::new(),
        };
        let message = match (value.as_str(), field("message")) {
            (Some(text), _) => text.to_owned(),
            (None, message) if message.is_empty() => field("detail"),
            (None, message) => message,
        };
        Self { message, code: field("code"), kind: field("type"), param: field("param") }
    }

    fn is(&self, code: &str) -> bool {
        self.code == code || self.kind == code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, body: &str, label: &str, blames: Option<Parameter>) {
        let failure = from_response(status, &HeaderMap::new(), body.as_bytes());
        assert_eq!((failure.error.kind.label(), failure.blames), (label, blames), "{status} {body}");
        assert_eq!(failure.error.status, Some(status));
    }

    #[test]
    fn every_status_and_code_has_its_kind() {
        check(401, r#"{"detail":"Invalid API Key"}"#, "unauthorised", None);
        check(403, "", "unauthorised", None);
        check(402, "{}", "quota_exhausted", None);
        check(429, r#"{"error":{"code":"insufficient_quota"}}"#, "quota_exhausted", None);
        check(429, r#"{"error":{"type":"tokens","code":"rate_limit_exceeded"}}"#, "rate_limited", None);
        check(404, r#"{"error":{"code":"model_not_found","message":"no"}}"#, "unknown_model", None);
        check(400, r#"{"error":{"code":"model_not_found"}}"#, "unknown_model", None);
        check(400, r#"{"error":{"code":"content_filter"}}"#, "refused", None);
        check(400, r#"[{"error":{"code":400,"message":"no"}}]"#, "bad_request", None);
        check(413, "too large", "bad_request", None);
        check(302, "", "bad_request", None);
        check(408, "", "timeout_first_byte", None);
        check(500, "", "server_error", None);
        check(502, "<html>bad gateway</html>", "server_error", None);
        check(503, "", "overloaded", None);
        check(504, "", "server_error", None);
        check(529, r#"{"type":"error"}"#, "overloaded", None);
    }

    #[test]
    fn the_refused_parameter_is_found() {
        use Parameter::{MaxTokens, ResponseFormat, Seed, StreamOptions, Temperature};
        let told =
            |message: &str, param: &str| format!(r#"{{"error":{{"message":"{message}","param":{param}}}}}"#);
        for (body, want) in [
            (told("Unsupported parameter: use 'max_completion_tokens'", r#""max_tokens""#), Some(MaxTokens)),
            (told("Invalid schema", r#""response_format.json_schema.schema""#), Some(ResponseFormat)),
            (told("This response_format type is unavailable now", "null"), Some(ResponseFormat)),
            (told("Unknown field 'stream_options'", "null"), Some(StreamOptions)),
            (told("temperature is not supported with this model", "null"), Some(Temperature)),
            (told("unrecognized request argument: seed", "null"), Some(Seed)),
            (told("temperature must be a number", "null"), None),
            (told("request exceeds the context size", "null"), None),
            (told("messages[0].role is not supported", r#""messages[0].role""#), None),
        ] {
            check(400, &body, "bad_request", want);
        }
    }

    #[test]
    fn a_message_never_repeats_html_or_what_the_provider_says_of_a_key() {
        let message =
            |status, body: &str| from_response(status, &HeaderMap::new(), body.as_bytes()).error.message;
        assert_eq!(&*message(502, "<html>secret</html>"), "HTTP 502 with nothing");
        let auth = message(401, r#"{"error":{"message":"Incorrect API key provided: sk-ab**cd"}}"#);
        assert!(!auth.contains("sk-"), "{auth}");
    }
}

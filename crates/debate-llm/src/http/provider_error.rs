//! What providers, and gateways before them, say of a failure, in whichever shape they say it.

use std::time::Duration;

use serde_json::Value;

use super::failure::{Codes, Meaning};
use crate::ModelError;

/// How messages say, over whichever protocol, that the key is wrong, lower-cased: xAI has neither a status
/// nor a code for it.
const WRONG_KEY: [&str; 3] = ["incorrect api key", "invalid api key", "api key not valid"];

/// What gateways and servers say in their messages, over whichever protocol, lower-cased, where their status
/// or code does not tell, or tells something else.
const WORDS: [(&str, Meaning); 15] = [
    ("litellm.authenticationerror", Meaning::Key),
    ("litellm.permissiondeniederror", Meaning::Key),
    ("authentication error", Meaning::Key),
    ("litellm.notfounderror", Meaning::Model),
    ("invalid model name passed in", Meaning::Model),
    ("llm provider not provided", Meaning::Model),
    ("is not a valid model id", Meaning::Model),
    ("litellm.ratelimiterror", Meaning::Speed),
    ("litellm.serviceunavailableerror", Meaning::Load),
    ("litellm.internalservererror", Meaning::Server),
    ("litellm.contentpolicyviolationerror", Meaning::Filter),
    ("failed to validate json", Meaning::Reply),
    ("failed to generate json", Meaning::Reply),
    ("generated output that could not be parsed", Meaning::Reply),
    ("failed_generation", Meaning::Reply),
];

/// The codes with which servers say that the model's reply, not the request, is bad.
const BAD_REPLY: [&str; 3] = ["json_validate_failed", "output_parse_failed", "tool_use_failed"];

/// How deep errors are looked for within errors: a gateway wraps what another one wrapped.
const WRAPS_MAX: u32 = 3;

/// What the provider says about a failure, in whichever shape it says it.
#[derive(Debug, Default)]
pub(super) struct ProviderError {
    pub(super) message: String,
    code: String,
    pub(super) param: String,
    /// All by which the provider names the error, from the coarsest to the finest.
    marks: Vec<String>,
    /// How long to wait, where the body says it.
    pub(super) retry_after: Option<Duration>,
    /// The status that the error names.
    pub(super) status: Option<u16>,
    /// The status of the error that a gateway passes on.
    pub(super) inner_status: Option<u16>,
    /// Whether a gateway passes on an error.
    has_inner: bool,
    /// What the model wrote, where the server found it to be no good reply.
    reply: String,
}

impl ProviderError {
    /// Reads `{"error": {…}}`, `{"error": "…"}`, `{"message": …}`, `{"detail": …}`, or a list of one of
    /// these.
    pub(super) fn read(body: &[u8]) -> Self {
        let Ok(value) = serde_json::from_slice::<Value>(body) else { return Self::default() };
        Self::unwrap(&value, WRAPS_MAX)
    }

    pub(super) fn from_value(value: &Value) -> Self {
        Self::read_within(value, WRAPS_MAX)
    }

    fn unwrap(value: &Value, wraps: u32) -> Self {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        Self::read_within(value.get("error").unwrap_or(value), wraps)
    }

    fn read_within(value: &Value, wraps: u32) -> Self {
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
        let mut error = Self { message, code: field("code"), param: field("param"), ..Self::default() };
        error.marks = [field("type"), field("status"), error.code.clone()].into();
        error.status = error.code.parse::<u16>().ok().filter(|status| (400..600).contains(status));
        error.reply = match value.get("failed_generation") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(json) => json.to_string(),
        };
        for detail in value.get("details").and_then(Value::as_array).into_iter().flatten() {
            error.detail(detail);
        }
        if wraps > 0 {
            error.take_inner(value.pointer("/metadata/raw"), wraps - 1);
        }
        error
    }

    /// Takes the error that a gateway passes on: as it came, or as JSON within its own message.
    fn take_inner(&mut self, raw: Option<&Value>, wraps: u32) {
        let at = self.message.find('{').filter(|_| raw.is_none());
        let (inner, before) = match (raw, at.map(|at| self.message.split_at(at))) {
            (Some(Value::String(text)), _) => match serde_json::from_str::<Value>(text) {
                Ok(value) => (Self::unwrap(&value, wraps), &*self.message),
                Err(_) => (Self::read_within(&Value::String(text.clone()), wraps), &*self.message),
            },
            (Some(value), _) => (Self::unwrap(value, wraps), &*self.message),
            (None, Some((before, json))) => {
                let mut values = serde_json::Deserializer::from_str(json).into_iter::<Value>();
                let Some(Ok(value)) = values.next() else { return };
                (Self::unwrap(&value, wraps), before)
            }
            (None, None) => return,
        };
        if inner.message.is_empty() && inner.code.is_empty() {
            return;
        }
        let before = before.trim_end_matches([' ', '-', ':', ',', '.']);
        self.message =
            if inner.message.is_empty() { before.to_owned() } else { format!("{before}: {}", inner.message) };
        self.has_inner = true;
        self.marks.extend(inner.marks);
        self.retry_after = self.retry_after.or(inner.retry_after);
        self.inner_status = inner.inner_status.or(inner.status);
        if self.param.is_empty() {
            self.param = inner.param;
        }
        if self.reply.is_empty() {
            self.reply = inner.reply;
        }
    }

    /// Returns the status that counts: that of the error within, where the outer one only says that a gateway
    /// passes it on.
    pub(super) fn status_of(&self, outer: u16, meaning: Option<Meaning>) -> u16 {
        match (outer, self.inner_status) {
            (400 | 422 | 500..=599, Some(inner)) => inner,
            // The error within has a code that is known, and a gateway's own failure has none.
            (500..=599, None) if self.has_inner && meaning.is_some() => 400,
            _ => outer,
        }
    }

    /// Adds what the model wrote, where the server found that to be no good reply.
    pub(super) fn add_reply(self, meaning: Option<Meaning>, error: ModelError) -> ModelError {
        if meaning != Some(Meaning::Reply) {
            return error;
        }
        let advice = "the model does not keep to the schema; if that stays, use another one".into();
        ModelError { text: self.reply.into(), advice, ..error }
    }

    /// Takes one of the details that Google adds to an error.
    fn detail(&mut self, detail: &Value) {
        if let Some(reason) = detail.get("reason").and_then(Value::as_str) {
            self.marks.push(reason.to_owned());
        }
        let seconds =
            detail.get("retryDelay").and_then(Value::as_str).and_then(|text| text.strip_suffix('s'));
        if let Some(seconds) = seconds.and_then(|seconds| seconds.parse().ok()) {
            self.retry_after = Duration::try_from_secs_f64(seconds).ok();
        }
        for violation in detail.get("violations").and_then(Value::as_array).into_iter().flatten() {
            // A day is longer than any debate waits.
            if violation.get("quotaId").and_then(Value::as_str).is_some_and(|id| id.contains("PerDay")) {
                self.marks.push("PerDay".to_owned());
            }
        }
    }

    pub(super) fn meaning(&self, codes: Codes) -> Option<Meaning> {
        let has_code = |code: &str| match code.contains(' ') {
            true => self.message.contains(code),
            false => self.marks.iter().any(|mark| mark == code),
        };
        let message = self.message.to_lowercase();
        let is_bad_reply = !self.reply.is_empty() || BAD_REPLY.iter().any(|code| has_code(code));
        if is_bad_reply {
            return Some(Meaning::Reply);
        }
        let is_wrong_key = || WRONG_KEY.iter().any(|words| message.contains(words));
        let coded = codes.iter().find(|(code, _)| has_code(code)).map(|(_, meaning)| *meaning);
        let worded = || WORDS.iter().find(|(words, _)| message.contains(words)).map(|(_, meaning)| *meaning);
        coded.or_else(|| is_wrong_key().then_some(Meaning::Key)).or_else(worded)
    }

    /// Returns whether the message speaks of an API key, however that is spelt, wrong or not.
    pub(super) fn is_about_key(&self) -> bool {
        let letters = self.message.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|c| c.to_ascii_lowercase()).collect::<String>().contains("apikey")
    }
}

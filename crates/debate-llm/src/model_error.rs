//! What can go wrong between a question and its answer, and the one table that says what may be tried again.

use std::time::Duration;

use crate::{Ending, Usage};

/// The longest provider message that is kept, in characters.
const MESSAGE_CHARS_MAX: usize = 200;

/// A call that brought no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{}{}", kind.label(), suffix(": ", message), suffix("; ", advice))]
pub struct ModelError {
    /// What happened.
    pub kind: ModelErrorKind,
    /// The HTTP status, when there was a response.
    pub status: Option<u16>,
    /// What a person may read about it: one line, at most 200 characters and the address that was asked,
    /// never a key, never a whole provider body.
    pub message: Box<str>,
    /// What a person can do about it, in a few words; empty if unknown.
    pub advice: Box<str>,
    /// Whether a part of an answer had arrived before.
    pub received_any: bool,
    /// The answer's text as far as it arrived (rule K22), or what the provider says the model wrote.
    pub text: Box<str>,
    /// How the answer ended, where one had begun.
    pub ending: Option<Ending>,
    /// The provider's word for how it ended, at most 64 characters.
    pub stop_reason: Option<Box<str>>,
    /// The tokens spent on the failed call, as far as the provider says: those written only where it has
    /// counted them all.
    pub usage: Box<Usage>,
    /// How many times the wire was tried again before this was returned (K5).
    pub wire_retries: u16,
    /// The provider's id of the request.
    pub request_id: Option<Box<str>>,
}

impl ModelError {
    /// Makes an error whose `message` is cut to one line of 200 characters.
    #[must_use]
    pub fn new(kind: ModelErrorKind, message: &str) -> Self {
        Self {
            kind,
            status: None,
            message: cut(&one_line(message)),
            advice: Box::default(),
            received_any: false,
            text: Box::default(),
            ending: None,
            stop_reason: None,
            usage: Box::default(),
            wire_retries: 0,
            request_id: None,
        }
    }

    /// Makes an error with a provider's message, as one line of any length. A caller that knows the key
    /// redacts it and then truncates the message, with [`Self::safe`]. Truncating first could leave a part of
    /// the key.
    #[cfg(feature = "http")]
    pub(crate) fn with_message(kind: ModelErrorKind, message: &str) -> Self {
        Self { message: one_line(message).into(), ..Self::new(kind, "") }
    }

    /// Returns the error with a `message` that may be shown: what `redact` leaves of it, cut to 200
    /// characters.
    #[cfg(feature = "http")]
    pub(crate) fn safe(self, redact: impl Fn(&str) -> Box<str>) -> Self {
        let stop_reason = self.stop_reason.as_deref().map(&redact);
        Self { message: cut(&redact(&self.message)), stop_reason, ..self }
    }

    /// Makes an error of a call that was never sent: nothing was spent on it, and that is known.
    #[must_use]
    pub fn unsent(kind: ModelErrorKind, message: &str) -> Self {
        Self { usage: Box::new(Usage::of_nothing()), ..Self::new(kind, message) }
    }

    /// Returns whether the adapter sends the same request once more, time and tries permitting (K5).
    ///
    /// Never after the first byte of an answer: that is the next attempt, and the caller's.
    #[must_use]
    pub fn should_retry_wire(&self) -> bool {
        !self.received_any && self.kind.row().retry_wire
    }

    /// Returns whether asking the question again can help; a wrong key or an unknown model stays wrong.
    #[must_use]
    pub fn should_ask_again(&self) -> bool {
        self.kind.row().ask_again
    }

    /// Returns how long the provider asks to wait, or how long an open circuit stays open.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match &self.kind {
            ModelErrorKind::RateLimited { retry_after }
            | ModelErrorKind::Overloaded { retry_after }
            | ModelErrorKind::Server { retry_after } => *retry_after,
            ModelErrorKind::CircuitOpen { retry_after } => Some(*retry_after),
            ModelErrorKind::Timeout(_)
            | ModelErrorKind::Connection
            | ModelErrorKind::Auth
            | ModelErrorKind::UnknownModel
            | ModelErrorKind::QuotaExhausted
            | ModelErrorKind::BadRequest
            | ModelErrorKind::WindowExceeded { .. }
            | ModelErrorKind::Malformed
            | ModelErrorKind::TooLarge
            | ModelErrorKind::Truncated
            | ModelErrorKind::StreamError
            | ModelErrorKind::Refused
            | ModelErrorKind::Cancelled => None,
        }
    }
}

/// What kind of failure it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// Too many requests or tokens a minute (429).
    RateLimited {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider has no capacity (503, 529).
    Overloaded {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The provider failed (other 5xx).
    Server {
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
    },
    /// The model failed too often of late and is left alone for a while; nothing was sent.
    CircuitOpen {
        /// How long it is left alone yet.
        retry_after: Duration,
    },
    /// Time was up.
    Timeout(TimeoutStage),
    /// The connection was refused, reset, or could not be secured.
    Connection,
    /// The key is missing, wrong, or not allowed to do this (401, 403).
    Auth,
    /// There is no such model or no such address (404).
    UnknownModel,
    /// The account has no credit left; waiting does not help.
    QuotaExhausted,
    /// The provider refuses the request as it is (400 and other 4xx).
    BadRequest,
    /// Question and answer do not fit into the model's context window.
    WindowExceeded {
        /// The window in tokens, where the server names it.
        window: Option<u32>,
    },
    /// The response is not what the protocol says: HTML, not JSON, wrong shape.
    Malformed,
    /// The response is longer than allowed.
    TooLarge,
    /// The stream ended before the answer did.
    Truncated,
    /// The provider reported an error in the middle of the stream.
    StreamError,
    /// The model declined to answer.
    Refused,
    /// The caller gave up.
    Cancelled,
}

/// Which limit of time was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeoutStage {
    /// No turn in time under the limits set for the provider; nothing was sent.
    Turn,
    /// No connection in time.
    Connect,
    /// No first byte of a response in time.
    FirstByte,
    /// Nothing for too long in the middle of an answer.
    Idle,
    /// The whole call took too long.
    Total,
}

/// A row of the one table of failures.
struct Row {
    label: &'static str,
    retry_wire: bool,
    ask_again: bool,
}

impl ModelErrorKind {
    /// Returns the stable name under which the failure is recorded, such as `rate_limited`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.row().label
    }

    /// The table: label, whether the adapter tries the wire again, whether asking again can help.
    fn row(&self) -> Row {
        let (label, retry_wire, ask_again) = match self {
            Self::RateLimited { .. } => ("rate_limited", true, true),
            Self::Overloaded { .. } => ("overloaded", true, true),
            Self::Server { .. } => ("server_error", true, true),
            Self::Connection => ("connection_failed", true, true),
            Self::CircuitOpen { .. } => ("circuit_open", false, true),
            Self::Timeout(TimeoutStage::Turn) => ("timeout_turn", false, true),
            Self::Timeout(TimeoutStage::Connect) => ("timeout_connect", true, true),
            Self::Timeout(TimeoutStage::FirstByte) => ("timeout_first_byte", false, true),
            Self::Timeout(TimeoutStage::Idle) => ("timeout_idle", false, true),
            Self::Timeout(TimeoutStage::Total) => ("timeout_total", false, true),
            Self::Malformed => ("malformed_response", false, true),
            Self::WindowExceeded { .. } => ("window_exceeded", false, true),
            Self::TooLarge => ("response_too_large", false, true),
            Self::Truncated => ("truncated", false, true),
            Self::StreamError => ("stream_error", false, true),
            Self::Refused => ("refused", false, true),
            Self::Auth => ("unauthorised", false, false),
            Self::UnknownModel => ("unknown_model", false, false),
            Self::QuotaExhausted => ("quota_exhausted", false, false),
            Self::BadRequest => ("bad_request", false, false),
            Self::Cancelled => ("cancelled", false, false),
        };
        Row { label, retry_wire, ask_again }
    }
}

fn suffix(mark: &str, text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{mark}{text}") }
}

/// Returns words as one line without control characters.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().filter(|c| !c.is_control()));
    }
    line
}

/// Cuts a line to what is kept of it, and says so at its end.
fn cut(line: &str) -> Box<str> {
    match line.char_indices().nth(MESSAGE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()).into(),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k5_nothing_is_retried_on_the_wire_after_the_first_byte() {
        let error = ModelError::new(ModelErrorKind::Connection, "reset");
        assert!(error.should_retry_wire());
        assert!(!ModelError { received_any: true, ..error }.should_retry_wire());
    }

    #[test]
    fn a_message_is_one_line_of_bounded_length() {
        let error = ModelError::new(ModelErrorKind::Malformed, &format!("a\n\u{7}b {}", "x".repeat(500)));
        assert!(error.message.starts_with("a b x"), "{}", error.message);
        assert_eq!(error.message.chars().count(), MESSAGE_CHARS_MAX + 1);
        assert!(error.to_string().starts_with("malformed_response: a b"));
    }
}

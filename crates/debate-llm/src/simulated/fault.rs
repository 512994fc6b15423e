//! What goes wrong with a simulated call, and what it then looks like.

use super::config::FaultRates;
use super::draw::Draw;
use crate::{Ending as Ended, ModelError, ModelErrorKind, TimeoutStage, speech};

/// How many wire retries a simulated failure of the wire has behind it (K5).
const WIRE_RETRIES: u16 = 3;

/// What a model says when it forgets the shape it was asked for; no lenient reader finds an answer in it.
const RAMBLINGS: [&str; 4] = [
    "Let me think about this step by step. There are good reasons on both sides and I could go either way.",
    "Sure! Here is the answer you asked for:",
    "{\"note\": \"see above\"}",
    "As a language model I answer in prose, and my answer is that it depends.",
];

/// One thing that goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    RateLimited,
    ServerError,
    Timeout,
    Truncated,
    Malformed,
    Refused,
}

/// How an answer ends once its text is said.
#[derive(Debug)]
pub(super) enum Ending {
    Finished(Ended),
    Broken(ModelError),
}

impl Fault {
    /// Draws at most one fault; the rates share the unit interval.
    pub(super) fn draw(rates: &FaultRates, draw: &mut Draw) -> Option<Self> {
        let mut left = draw.unit();
        let table = [
            (Self::RateLimited, rates.rate_limited),
            (Self::ServerError, rates.server_error),
            (Self::Timeout, rates.timeout),
            (Self::Truncated, rates.truncated),
            (Self::Malformed, rates.malformed),
            (Self::Refused, rates.refused),
        ];
        for (fault, rate) in table {
            if left < rate {
                return Some(fault);
            }
            left -= rate;
        }
        None
    }

    /// Returns the error when the fault comes before any answer.
    pub(super) fn before_the_answer(self) -> Option<ModelError> {
        let (kind, status, wire_retries) = match self {
            Self::RateLimited => (ModelErrorKind::RateLimited { retry_after: None }, Some(429), WIRE_RETRIES),
            Self::ServerError => (ModelErrorKind::Server { retry_after: None }, Some(500), WIRE_RETRIES),
            Self::Timeout => (ModelErrorKind::Timeout(TimeoutStage::Total), None, 0),
            Self::Refused => (ModelErrorKind::Refused, Some(200), 0),
            Self::Truncated | Self::Malformed => return None,
        };
        Some(ModelError { status, wire_retries, ..ModelError::new(kind, "simulated") })
    }
}

/// Returns the text as the fault leaves it, and how it ends.
pub(super) fn spoil(fault: Option<Fault>, mut text: String, draw: &mut Draw) -> (String, Ending) {
    match fault {
        Some(Fault::Truncated) => {
            let kept = draw.between(0.1, 0.8) * text.len() as f64;
            text.truncate(speech::beginning(&text, kept as usize).len());
            if draw.chance(0.5) {
                return (text, Ending::Finished(Ended::CutInText));
            }
            let error = ModelError {
                received_any: !text.is_empty(),
                status: Some(200),
                ..ModelError::new(ModelErrorKind::Truncated, "simulated")
            };
            (text, Ending::Broken(error))
        }
        Some(Fault::Malformed) => {
            let said = draw.pick(&RAMBLINGS).copied().unwrap_or_default();
            (said.to_owned(), Ending::Finished(Ended::Complete))
        }
        Some(Fault::RateLimited | Fault::ServerError | Fault::Timeout | Fault::Refused) | None => {
            (text, Ending::Finished(Ended::Complete))
        }
    }
}

//! What a person can do about a call that failed: the end of the one line that is read of it.

use crate::{ModelErrorKind, Provider, TimeoutStage};

/// Returns what to do, in a few words; empty where trying again is all, or nothing helps.
pub(super) fn advice(kind: &ModelErrorKind, provider: Provider) -> String {
    let (key, address) = (provider.key_variable(), provider.base_url_variable());
    match kind {
        ModelErrorKind::Auth => format!("check {key}, and {address} if it is set"),
        ModelErrorKind::UnknownModel => format!("check the model's name, and {address} if it is set"),
        ModelErrorKind::QuotaExhausted => format!("top up the account of {key}, or use another key"),
        ModelErrorKind::BadRequest => "another model, or a newer server, may take this request".to_owned(),
        ModelErrorKind::WindowExceeded { .. } => {
            "give the server a larger context window, or ask for shorter prompts".to_owned()
        }
        ModelErrorKind::RateLimited { .. } => "ask less often: set lower limits for this provider".to_owned(),
        ModelErrorKind::Overloaded { .. } | ModelErrorKind::Server { .. } => {
            "try again later, or use another model".to_owned()
        }
        ModelErrorKind::Connection | ModelErrorKind::Timeout(TimeoutStage::Connect) => {
            format!("check the network, its proxy, and {address} if it is set")
        }
        ModelErrorKind::Malformed => {
            format!("something else than {provider} may be answering: check {address} and any proxy")
        }
        ModelErrorKind::Truncated => {
            "try again; if it stays, something on the way cuts long answers".to_owned()
        }
        ModelErrorKind::Timeout(TimeoutStage::FirstByte | TimeoutStage::Idle | TimeoutStage::Total)
        | ModelErrorKind::TooLarge => "try again, or use another model".to_owned(),
        ModelErrorKind::StreamError => "try again later".to_owned(),
        ModelErrorKind::CircuitOpen { .. }
        | ModelErrorKind::Timeout(TimeoutStage::Turn)
        | ModelErrorKind::Refused
        | ModelErrorKind::Cancelled => String::new(),
    }
}

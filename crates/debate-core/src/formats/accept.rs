//! The one way in: a request's JSON becomes what a debate is opened with, whatever its format (rule K12).

use serde_json::Value;

use super::any::FORMATS;
use super::deliberation::Deliberation;
use super::investigation::Investigation;
use super::prediction::Prediction;
use super::{deliberation, investigation, prediction};
use crate::format::Format;
use crate::id::Digest;
use crate::limits::Limits;
use crate::request::{self, Violation, Violations, meaning_digest};

/// A valid request: what its debate is opened with.
#[derive(Debug, Clone, PartialEq)]
pub enum AcceptedRequest {
    /// A prediction debate.
    Prediction(Box<Accepted<Prediction>>),
    /// A deliberation.
    Deliberation(Box<Accepted<Deliberation>>),
    /// An investigation.
    Investigation(Box<Accepted<Investigation>>),
}

/// A valid request of one format.
#[derive(Debug, Clone, PartialEq)]
pub struct Accepted<F: Format> {
    /// The rules.
    pub config: F::Config,
    /// The subject.
    pub brief: F::Brief,
    /// What the debate may spend.
    pub limits: Limits,
    /// The digest of what the request asks for (rule K11).
    pub digest: Digest,
}

impl AcceptedRequest {
    /// Returns the digest of what the request asks for, equal for two that differ in spelling only.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self {
            Self::Prediction(accepted) => accepted.digest,
            Self::Deliberation(accepted) => accepted.digest,
            Self::Investigation(accepted) => accepted.digest,
        }
    }

    /// Returns the format's name.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self {
            Self::Prediction(_) => Prediction::NAME,
            Self::Deliberation(_) => Deliberation::NAME,
            Self::Investigation(_) => Investigation::NAME,
        }
    }
}

/// Reads a request. Its field `format` names the format; without one it is the contract's prediction request.
///
/// # Errors
/// Everything that is wrong with it; nothing is to be recorded.
pub fn accept(json: &str) -> Result<AcceptedRequest, Violations> {
    let value = request::parse(json)?;
    match format_of(&value)? {
        Prediction::NAME => {
            let (config, brief, limits) = prediction::request::accept(json, &value)?;
            let digest = prediction::request::digest(&config, &brief, &limits);
            Ok(AcceptedRequest::Prediction(Box::new(Accepted { config, brief, limits, digest })))
        }
        Deliberation::NAME => {
            let (config, brief, limits) = deliberation::request::accept(&value)?;
            let digest = meaning_digest(Deliberation::NAME, &config, &brief, &limits);
            Ok(AcceptedRequest::Deliberation(Box::new(Accepted { config, brief, limits, digest })))
        }
        Investigation::NAME => {
            let (config, brief, limits) = investigation::request::accept(&value)?;
            let digest = meaning_digest(Investigation::NAME, &config, &brief, &limits);
            Ok(AcceptedRequest::Investigation(Box::new(Accepted { config, brief, limits, digest })))
        }
        other => Err(unknown(&format!("{other:?}"))),
    }
}

/// Reads a request from bytes that may be anything.
///
/// # Errors
/// As [`accept`]; bytes that are no UTF-8 are named with their place.
pub fn accept_bytes(bytes: &[u8]) -> Result<AcceptedRequest, Violations> {
    let json = str::from_utf8(bytes)
        .map_err(|error| Violation::whole(format!("is not UTF-8 from byte {} on", error.valid_up_to())))?;
    accept(json)
}

fn format_of(request: &Value) -> Result<&str, Violations> {
    match request.get("format") {
        None | Some(Value::Null) => Ok(Prediction::NAME),
        Some(Value::String(name)) => Ok(name),
        Some(other) => Err(unknown(&other.to_string())),
    }
}

fn unknown(found: &str) -> Violations {
    let formats = FORMATS.join(", ");
    let reason = format!("{found} is not a format; there are {formats}");
    Violation { field: "format".to_owned(), reason }.into()
}

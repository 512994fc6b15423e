//! The one way in: a request's JSON becomes what a debate is opened with, whatever its format (rule K12).

use std::fmt::Display;

use serde_json::Value;

use super::any::FORMATS;
use super::deliberation::Deliberation;
use super::investigation::Investigation;
use super::prediction::Prediction;
use super::review::Review;
use super::roundtable::Roundtable;
use super::{deliberation, investigation, prediction, review, roundtable};
use crate::format::Format;
use crate::id::Digest;
use crate::limits::Limits;
use crate::models::ModelPlan;
use crate::request::{self, Complaints, Violation, Violations, WHOLE, meaning_digest};

/// A valid request: what its debate is opened with.
#[derive(Debug, Clone, PartialEq)]
pub enum AcceptedRequest {
    /// A prediction debate.
    Prediction(Box<Accepted<Prediction>>),
    /// A deliberation.
    Deliberation(Box<Accepted<Deliberation>>),
    /// A roundtable.
    Roundtable(Box<Accepted<Roundtable>>),
    /// A review debate.
    Review(Box<Accepted<Review>>),
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
    /// Whether the request says a deadline.
    pub says_deadline: bool,
}

impl AcceptedRequest {
    /// Returns the digest of what the request asks for, equal for two that differ in spelling only.
    #[must_use]
    pub fn digest(&self) -> Digest {
        match self {
            Self::Prediction(accepted) => accepted.digest,
            Self::Deliberation(accepted) => accepted.digest,
            Self::Roundtable(accepted) => accepted.digest,
            Self::Review(accepted) => accepted.digest,
            Self::Investigation(accepted) => accepted.digest,
        }
    }

    /// Returns what the debate may spend, for a caller that sets the final limits.
    pub fn limits_mut(&mut self) -> &mut Limits {
        match self {
            Self::Prediction(accepted) => &mut accepted.limits,
            Self::Deliberation(accepted) => &mut accepted.limits,
            Self::Roundtable(accepted) => &mut accepted.limits,
            Self::Review(accepted) => &mut accepted.limits,
            Self::Investigation(accepted) => &mut accepted.limits,
        }
    }

    /// Returns which models are asked and how, for the one who has the last word on it.
    pub fn models_mut(&mut self) -> &mut ModelPlan {
        match self {
            Self::Prediction(accepted) => &mut accepted.config.models,
            Self::Deliberation(accepted) => &mut accepted.config.models,
            Self::Roundtable(accepted) => &mut accepted.config.models,
            Self::Review(accepted) => &mut accepted.config.models,
            Self::Investigation(accepted) => &mut accepted.config.models,
        }
    }

    /// Returns the models that the request names, each with the field that names it.
    #[must_use]
    pub fn models_named(&self) -> Vec<(String, String)> {
        match self {
            Self::Prediction(accepted) => Prediction::models_named(&accepted.config),
            Self::Deliberation(accepted) => Deliberation::models_named(&accepted.config),
            Self::Roundtable(accepted) => Roundtable::models_named(&accepted.config),
            Self::Review(accepted) => Review::models_named(&accepted.config),
            Self::Investigation(accepted) => Investigation::models_named(&accepted.config),
        }
    }

    /// Returns what the debate may spend.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        match self {
            Self::Prediction(accepted) => &accepted.limits,
            Self::Deliberation(accepted) => &accepted.limits,
            Self::Roundtable(accepted) => &accepted.limits,
            Self::Review(accepted) => &accepted.limits,
            Self::Investigation(accepted) => &accepted.limits,
        }
    }

    /// Returns whether the request says a deadline.
    #[must_use]
    pub fn says_deadline(&self) -> bool {
        match self {
            Self::Prediction(accepted) => accepted.says_deadline,
            Self::Deliberation(accepted) => accepted.says_deadline,
            Self::Roundtable(accepted) => accepted.says_deadline,
            Self::Review(accepted) => accepted.says_deadline,
            Self::Investigation(accepted) => accepted.says_deadline,
        }
    }

    /// Returns the format's name.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self {
            Self::Prediction(_) => Prediction::NAME,
            Self::Deliberation(_) => Deliberation::NAME,
            Self::Roundtable(_) => Roundtable::NAME,
            Self::Review(_) => Review::NAME,
            Self::Investigation(_) => Investigation::NAME,
        }
    }
}

/// Reads a request. Its field `format` names the format; without one it is the contract's prediction request.
///
/// # Errors
/// Everything that is wrong with it; nothing is to be recorded.
pub fn accept(json: &str) -> Result<AcceptedRequest, Violations> {
    accept_as(Prediction::NAME, json, Complaints::default())
}

/// Reads a request from bytes that may be anything, and reports `earlier` violations together with its own.
///
/// # Errors
/// The earlier violations, then those of [`accept_bytes`].
pub fn accept_bytes_with(
    earlier: impl IntoIterator<Item = Violation>,
    bytes: &[u8],
) -> Result<AcceptedRequest, Violations> {
    accept_text(Prediction::NAME, bytes, earlier.into_iter().collect())
}

fn accept_text(unnamed: &str, bytes: &[u8], complaints: Complaints) -> Result<AcceptedRequest, Violations> {
    match str::from_utf8(bytes) {
        Ok(json) => accept_as(unnamed, json, complaints),
        Err(error) => {
            complaints.add(WHOLE, format_args!("is not UTF-8 from byte {} on", error.valid_up_to()));
            Err(complaints.refused())
        }
    }
}

fn accept_as(unnamed: &str, json: &str, complaints: Complaints) -> Result<AcceptedRequest, Violations> {
    request::parse(json, complaints, |value, complaints| accept_value(unnamed, json, value, complaints))
}

fn accept_value(
    unnamed: &str,
    json: &str,
    value: &Value,
    complaints: Complaints,
) -> Result<AcceptedRequest, Violations> {
    let says_deadline = says_deadline(value);
    let format = match value.get("format") {
        None | Some(Value::Null) => unnamed,
        Some(Value::String(name)) => name,
        Some(other) => return Err(unknown(other, complaints)),
    };
    match format {
        Prediction::NAME => {
            let (config, brief, limits) = prediction::request::accept(json, value, complaints)?;
            let digest = prediction::request::digest(&config, &brief, &limits);
            Ok(AcceptedRequest::Prediction(Box::new(Accepted {
                config,
                brief,
                limits,
                digest,
                says_deadline,
            })))
        }
        Deliberation::NAME => {
            let (config, brief, limits) = deliberation::request::accept(value, complaints)?;
            let digest = meaning_digest(Deliberation::NAME, &config, &brief, &limits);
            Ok(AcceptedRequest::Deliberation(Box::new(Accepted {
                config,
                brief,
                limits,
                digest,
                says_deadline,
            })))
        }
        Roundtable::NAME => {
            let (config, brief, limits) = roundtable::request::accept(value, complaints)?;
            let digest = meaning_digest(Roundtable::NAME, &config, &brief, &limits);
            Ok(AcceptedRequest::Roundtable(Box::new(Accepted {
                config,
                brief,
                limits,
                digest,
                says_deadline,
            })))
        }
        Review::NAME => {
            let (config, brief, limits) = review::request::accept(json, value, complaints)?;
            let digest = review::request::digest(&config, &brief, &limits);
            Ok(AcceptedRequest::Review(Box::new(Accepted { config, brief, limits, digest, says_deadline })))
        }
        Investigation::NAME => {
            let (config, brief, limits) = investigation::request::accept(value, complaints)?;
            let digest = meaning_digest(Investigation::NAME, &config, &brief, &limits);
            Ok(AcceptedRequest::Investigation(Box::new(Accepted {
                config,
                brief,
                limits,
                digest,
                says_deadline,
            })))
        }
        other => Err(unknown(&format_args!("{other:?}"), complaints)),
    }
}

/// Reads a request from bytes that may be anything.
///
/// # Errors
/// As [`accept`]; bytes that are no UTF-8 are named with their place.
pub fn accept_bytes(bytes: &[u8]) -> Result<AcceptedRequest, Violations> {
    accept_bytes_as(Prediction::NAME, bytes)
}

/// Reads a request from bytes that may be anything; it is of the format `unnamed` where it names none.
///
/// # Errors
/// As [`accept_bytes`].
pub fn accept_bytes_as(unnamed: &str, bytes: &[u8]) -> Result<AcceptedRequest, Violations> {
    accept_text(unnamed, bytes, Complaints::default())
}

/// Returns whether a request says a deadline: in the limits of its options, or as the timeout of a deliberation.
fn says_deadline(value: &Value) -> bool {
    let limit = value.pointer("/options/limits/deadline_ms").or_else(|| value.get("timeout"));
    limit.is_some_and(|limit| !limit.is_null())
}

fn unknown(found: &dyn Display, complaints: Complaints) -> Violations {
    complaints.add("format", format_args!("{found} is not a format; there are {}", FORMATS.join(", ")));
    complaints.refused()
}

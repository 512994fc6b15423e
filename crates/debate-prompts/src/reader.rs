//! Reads the JSON object of a model's reply, leniently, and says what it had to repair.
//!
//! Strict JSON is taken as it is. Otherwise private thinking, code fences and prose around the
//! object are left aside, and what is broken inside is repaired: quotes, commas, brackets, comments,
//! closing brackets that are missing. Values are never guessed and keys never invented: every key of a
//! result stands in the text. Time and depth are bounded for any input.
//!
//! Of a reply that was cut, or that ends within a text, only what is written completely is taken (rule K18): closed
//! texts, numbers with something behind them, whole literals, whole objects. A list that is a field of the object has
//! the entries that are complete; any other value that is not complete is left out.
//!
//! When a reply holds several objects, the one with most of the known keys is read; among equals a
//! complete one before one cut off, and then the last, because models draft before they answer.
//! Objects inside private thinking are never read.

mod candidates;
mod lenient;
mod lookahead;
mod prefix;
mod repair;
mod strict;
mod strings;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use repair::Repair;

use crate::prompts::Received;
use candidates::{Candidate, candidates};
use strict::Strict;

/// Longest reply that is read, in bytes.
pub const REPLY_BYTES_MAX: usize = 4 << 20;

/// Deepest nesting that is read, as in strict parsing.
pub const DEPTH_MAX: usize = 127;

/// A JSON object that was read, and what was repaired to read it.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The object.
    pub value: Map<String, Value>,
    /// What was repaired, each kind once, in order of appearance; empty for strict JSON.
    pub repairs: Vec<Repair>,
}

/// No object of the wanted shape could be read from a reply.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The reply is longer than is read.
    #[error("reply has {bytes} bytes, at most {REPLY_BYTES_MAX} are read")]
    TooLong {
        /// Length of the reply.
        bytes: usize,
    },
    /// The reply has no text other than private thinking.
    #[error("reply is empty")]
    Empty,
    /// The reply has no JSON object.
    #[error("reply has no JSON object")]
    NoObject,
    /// The object is nested too deeply.
    #[error("object is nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// Repairing took too many steps.
    #[error("object is too broken to be repaired")]
    TooBroken,
    /// The reply was cut before a field that is needed.
    #[error("the reply {} before `{before}`; write a shorter one", if *reached_limit { "reached its limit" } else { "ends" })]
    Cut {
        /// The first field that is missing or not complete.
        before: String,
        /// Whether the provider said that it was cut.
        reached_limit: bool,
    },
    /// An object was read, but it is not of the wanted shape.
    #[error("object is not of the expected shape: {source}")]
    Shape {
        /// What was repaired before the shape was looked at.
        repairs: Vec<Repair>,
        /// What is missing or wrong.
        #[source]
        source: serde_json::Error,
    },
}

/// Reads the JSON object of `reply`; `known_keys` tell it from other objects in the text and may be
/// empty.
///
/// # Errors
///
/// Every [`ReadError`] except [`ReadError::Cut`] and [`ReadError::Shape`].
pub fn read_object(reply: Received<'_>, known_keys: &[&str]) -> Result<Reading, ReadError> {
    let found = find(reply, known_keys)?;
    let first = found.into_iter().next().map(Candidate::into_reading);
    first.filter(|reading| !reply.is_cut || !reading.value.is_empty()).ok_or(ReadError::NoObject)
}

/// Reads the object of `reply` that has the shape `T`; see [`read_object`]. If the object was cut, it must have all
/// fields that are `needed`.
///
/// Where the preferred object is not of that shape, the next one is tried.
///
/// # Errors
///
/// Every [`ReadError`]; [`ReadError::Shape`] is about the preferred object.
pub fn read<T: DeserializeOwned>(
    reply: Received<'_>,
    known_keys: &[&str],
    needed: &[&str],
) -> Result<(T, Vec<Repair>), ReadError> {
    let cut = |before: &str| {
        let (before, reached_limit) = (before.to_owned(), reply.is_cut);
        ReadError::Cut { before, reached_limit }
    };
    let first = needed.first().or(known_keys.first()).filter(|_| reply.is_cut);
    let found = find(reply, known_keys).map_err(|error| match (&error, first) {
        (ReadError::Empty | ReadError::NoObject, Some(first)) => cut(first),
        _ => error,
    })?;
    let mut error = None;
    for candidate in found {
        if let Some(before) = candidate.cut_before(needed) {
            return Err(error.unwrap_or_else(|| cut(before)));
        }
        let Reading { value, repairs } = candidate.into_reading();
        match serde_json::from_value(Value::Object(value)) {
            Ok(shaped) => return Ok((shaped, repairs)),
            Err(source) => {
                error.get_or_insert(ReadError::Shape { repairs, source });
            }
        }
    }
    Err(error.unwrap_or(ReadError::NoObject))
}

/// Returns the objects of `reply`, the preferred one first; at least one.
fn find(reply: Received<'_>, known_keys: &[&str]) -> Result<Vec<Candidate>, ReadError> {
    let mut found = objects(reply, known_keys)?;
    if reply.is_cut {
        found.iter_mut().for_each(|candidate| candidate.repairs.push(Repair::Cut));
    }
    if found.is_empty() { Err(ReadError::NoObject) } else { Ok(found) }
}

fn objects(reply: Received<'_>, known_keys: &[&str]) -> Result<Vec<Candidate>, ReadError> {
    let Received { text, is_cut, .. } = reply;
    if text.len() > REPLY_BYTES_MAX {
        return Err(ReadError::TooLong { bytes: text.len() });
    }
    let strict = text.trim_matches([' ', '\t', '\n', '\r']);
    // A blank behind a number says that it is complete.
    let untrimmed = text.trim_start_matches(lookahead::is_blank);
    let text = text.trim_matches(lookahead::is_blank);
    let quoted = match serde_json::from_str::<Strict>(text) {
        Ok(Strict { value: Value::Object(value), mut repairs }) => {
            if text.len() < strict.len() {
                repairs.insert(0, Repair::Blank);
            }
            return Ok(vec![Candidate::whole(value, repairs)]);
        }
        Ok(Strict { value: Value::String(quoted), .. }) => Some(quoted),
        Ok(_) | Err(_) => None,
    };
    if crate::tags::public_ranges(text).iter().all(|range| text[range.clone()].trim().is_empty()) {
        return Err(ReadError::Empty);
    }
    if let Some(quoted) = quoted {
        return unescaped(&quoted, known_keys, is_cut);
    }
    if begins_escaped(text) {
        let plain = text.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\");
        return unescaped(&plain, known_keys, is_cut);
    }
    candidates(if is_cut { untrimmed } else { text }, known_keys, is_cut)
}

/// Tells whether the first key of `text` has an escaped quote.
fn begins_escaped(text: &str) -> bool {
    text.split_once('{').is_some_and(|(_, first)| {
        let first = first.trim_start();
        first.strip_prefix("\\n").unwrap_or(first).trim_start().starts_with("\\\"")
    })
}

/// Reads a reply that was JSON inside a JSON string.
fn unescaped(text: &str, known_keys: &[&str], is_cut: bool) -> Result<Vec<Candidate>, ReadError> {
    let mut found = candidates(text.trim(), known_keys, is_cut)?;
    for candidate in &mut found {
        candidate.repairs.insert(0, Repair::Unescaped);
    }
    Ok(found)
}

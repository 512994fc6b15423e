//! The bounds within which what a log claims of a debate's size, and the names in it, are read: those of requests (rules K12,
//! K13).
//!
//! Code that folds or shows a debate counts up to its rounds and iterates over its participants. A forged log
//! could make it count to billions, so an event that claims more than a request may ask for is invalid.

use std::ops::RangeInclusive;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::id::is_name;

/// Phases or rounds of one debate, as an upper bound.
pub const ROUNDS: RangeInclusive<u64> = 1..=100;

/// Reads a number of rounds, phases, passes or pairs, or which one it is: 1 to 100, whatever the format.
///
/// # Errors
/// It is another number.
pub(crate) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    counted(u32::deserialize(from)?)
}

/// Returns a number of rounds, phases, passes or pairs, or which one it is, where a debate may have it.
///
/// # Errors
/// It may not.
pub(crate) fn counted<E: serde::de::Error>(number: u32) -> Result<u32, E> {
    if ROUNDS.contains(&u64::from(number)) {
        return Ok(number);
    }
    Err(E::custom(format_args!("{number} where {} to {} may be", ROUNDS.start(), ROUNDS.end())))
}

/// Returns whether a number is 0, the default that logs leave out.
pub(crate) fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Reads a name that a request may give: of a criterion, an operation, a skill (rule K13).
///
/// # Errors
/// No request may give it.
pub(crate) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    named(String::deserialize(from)?)
}

/// Reads a list of names.
///
/// # Errors
/// One is none.
pub(crate) fn names<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Vec::deserialize(from)?.into_iter().map(named).collect()
}

fn named<E: serde::de::Error>(text: String) -> Result<String, E> {
    if is_name(&text) { Ok(text) } else { Err(E::custom(format_args!("{text:?} is no name"))) }
}

/// Reads a list of at most `MAX` entries.
///
/// # Errors
/// There are more, or one cannot be read.
pub(crate) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MAX: usize>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let entries = Vec::deserialize(from)?;
    if entries.len() <= MAX {
        return Ok(entries);
    }
    Err(D::Error::custom(format_args!("{} entries where {MAX} may be", entries.len())))
}

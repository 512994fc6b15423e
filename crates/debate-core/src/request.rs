//! What every format's request has in common at the edge: limits on every size, and violations that are collected
//! until every field was looked at (rule K12). Nothing behind this module sees raw input.

pub mod added;
pub(crate) mod alike;
pub mod entries;
pub(crate) mod fields;
mod json;
pub mod limits;
pub mod models;
mod path;
pub mod sizes;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::counted::counted;
use crate::id::Digest;
use crate::limits::Limits;

pub(crate) use fields::{Complaints, Field, Fields};
pub(crate) use json::{parse, raw_field, raw_member};

/// The path of a violation that concerns the request as a whole.
pub const WHOLE: &str = "request";

/// One thing that is wrong with a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Violation {
    /// The path of the field, such as `prediction_context.outcomes[2].id`; [`WHOLE`] for the request itself.
    pub field: String,
    /// What is wrong with it, for people.
    pub reason: String,
}

impl Violation {
    /// States what is wrong with a field. Both texts are cut to their maximum length, since they may repeat
    /// long texts of the request.
    pub fn new(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            field: cut(field.into(), sizes::PATH_BYTES_MAX),
            reason: cut(reason.into(), sizes::REASON_BYTES_MAX),
        }
    }

    /// Says what is wrong with the request as a whole.
    pub fn whole(reason: impl Into<String>) -> Self {
        Self::new(WHOLE, reason)
    }
}

/// Returns a text, or its beginning where it is longer.
fn cut(mut text: String, bytes_max: usize) -> String {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
    }
    text
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

/// A request was refused: everything that is wrong with it, in the order of the request (rule K12).
///
/// There is at least one; after [`sizes::VIOLATIONS_MAX`] the rest is counted, not listed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}{}", self.summary(), Lines(.0))]
pub struct Violations(pub Vec<Violation>);

impl Violations {
    /// Says in one line how much is wrong.
    #[must_use]
    pub fn summary(&self) -> String {
        if self.0.len() > sizes::VIOLATIONS_MAX {
            return format!("the request breaks more than {} rules", sizes::VIOLATIONS_MAX);
        }
        format!("the request breaks {}", counted(self.0.len(), "rule", "rules"))
    }
}

/// After [`sizes::VIOLATIONS_MAX`] the rest is counted, not listed.
impl FromIterator<Violation> for Violations {
    fn from_iter<T: IntoIterator<Item = Violation>>(found: T) -> Self {
        found.into_iter().collect::<Complaints>().refused()
    }
}

impl From<Violation> for Violations {
    fn from(violation: Violation) -> Self {
        Self(vec![violation])
    }
}

struct Lines<'a>(&'a [Violation]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
    }
}

/// Returns the digest of what a request asks for (rule K11): equal for two that differ only in their spelling, such as
/// the order of keys, a default written out, or the wire they came over. No request names the version of its rules, so that
/// counts for nothing.
#[must_use]
pub(crate) fn meaning_digest(
    format: &str,
    config: &impl Serialize,
    subject: &impl Serialize,
    limits: &Limits,
) -> Digest {
    let meaning = serde_json::to_value((format, config, subject, limits));
    let mut meaning = meaning.expect("valid requests have string keys and finite numbers");
    if let Some(config) = meaning[1].as_object_mut() {
        config.remove("rules");
    }
    request_digest(&meaning)
}

/// Returns the digest of JSON: equal for two that differ only in the order of keys, in white space or in how a number
/// is written.
#[must_use]
pub fn request_digest(request: &Value) -> Digest {
    let mut text = String::new();
    write_canonical(request, &mut text);
    Digest::of_text(&text)
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            text.push('{');
            for (place, (key, value)) in entries.into_iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                text.push_str(if place == 0 { "" } else { "," });
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::Number(number) => match fields::whole_number(number) {
            Some(whole) => text.push_str(&whole.to_string()),
            None => text.push_str(&number.to_string()),
        },
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(json: &str) -> Digest {
        request_digest(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn k11_the_digest_of_a_request_ignores_order_white_space_and_spelling_of_numbers() {
        let one = digest(r#"{"a": [1, {"x": 2.0, "y": "z"}], "b": null}"#);
        assert_eq!(one, digest(r#"{"b":null,"a":[1.0,{"y":"z","x":2}]}"#));
        assert_ne!(one, digest(r#"{"b":null,"a":[{"y":"z","x":2},1]}"#));
        assert_ne!(one, digest(r#"{"b":null,"a":[1.5,{"y":"z","x":2}]}"#));
        assert_ne!(one, digest(r#"{"b":null,"a":[1,{"y":"z","x":"2"}]}"#));
    }

    #[test]
    fn k11_the_version_of_the_rules_counts_for_nothing() {
        use crate::formats::accept::{AcceptedRequest, accept};
        let json = include_str!("../../../examples/roundtable-collaborative.json");
        let AcceptedRequest::Roundtable(accepted) = accept(json).unwrap() else { panic!("no roundtable") };
        let mut config = serde_json::to_value(&accepted.config).unwrap();
        assert_eq!(config["rules"], 1);
        config["rules"] = Value::from(0);
        let digest = meaning_digest("roundtable", &config, &accepted.brief, &accepted.limits);
        assert_eq!(digest, accepted.digest);
    }

    #[test]
    fn violations_read_as_one_line_each() {
        let violations = Violations(vec![
            Violation { field: "config.rounds".to_owned(), reason: "must be from 1 to 10".to_owned() },
            Violation::whole("is too long"),
        ]);
        assert_eq!(
            violations.to_string(),
            "the request breaks 2 rules\n  config.rounds: must be from 1 to 10\n  request: is too long"
        );
    }

    #[test]
    fn violations_that_are_counted_and_not_listed_are_not_summed_up_as_one() {
        let broken = |rules: usize| (0..rules).map(|_| Violation::whole("is wrong")).collect::<Violations>();
        assert_eq!(broken(100).summary(), "the request breaks 100 rules");
        let many = broken(107);
        assert_eq!(many.summary(), "the request breaks more than 100 rules");
        assert_eq!(many.0.last().unwrap().reason, "breaks 7 more rules");
    }
}

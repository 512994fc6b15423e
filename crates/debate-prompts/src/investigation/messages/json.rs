//! Messages as one JSON object, for models that keep to a schema: its fields are the labels of the message.
//!
//! It is written as blocks and read as such, so that a message means the same in both forms (rule I8).

use debate_core::formats::investigation::answer::Act;
use serde_json::{Map, Value};

use super::block::one_line;
use super::labels::headers;
use super::write::escaped;
use crate::prompts::{CUT, ParseError, Received};
use crate::tags;

/// The fields that identify such an object in a text.
const KEYS: [&str; 8] = [
    "hypotheses",
    "key_finding",
    "challenges",
    "leading_hypothesis",
    "hypothesis",
    "summary",
    "conclusion",
    "next_steps",
];

/// Returns a JSON reply as blocks; `None` where the reply is not a JSON object. A reply that was cut must have the needed fields,
/// or one entry of its list, and only what is written completely is taken (rule K18).
///
/// # Errors
/// The reply is a JSON object, but cannot be read, or was cut before a needed field.
pub(crate) fn blocks(reply: Received<'_>, asked: Act) -> Result<Option<(String, Vec<String>)>, ParseError> {
    let text = tags::without_thinking(reply.text);
    let text = text.trim_start().trim_start_matches("```json").trim_start_matches("```").trim_start();
    if !text.starts_with('{') {
        return Ok(None);
    }
    let (object, repairs): (Map<String, Value>, _) =
        crate::prediction::replies::read(reply, &KEYS, needed(asked))?;
    let name = list_name(asked);
    let list = name.and_then(|name| object.get(name)?.as_array());
    let is_cut = repairs.iter().any(|repair| repair == CUT || repair == "truncated");
    if let Some(name) = name.filter(|_| is_cut && list.is_none_or(Vec::is_empty))
        && let Some(error) = crate::prediction::replies::missing(&[(name, true)], &repairs)
    {
        return Err(error);
    }
    let messages = match list {
        Some(items) => items.iter().filter_map(Value::as_object).collect(),
        None => vec![&object],
    };
    let header = headers(asked).0;
    let none = if asked == Act::Challenge { "[NO CHALLENGE]" } else { header };
    let written = messages.into_iter().map(|message| format!("{header}\n{}", lines(message)));
    let written = written.collect::<Vec<_>>().join("\n");
    Ok(Some((if written.is_empty() { none.to_owned() } else { written }, repairs)))
}

/// Returns the name of the field that lists the messages, where a reply may have several.
fn list_name(asked: Act) -> Option<&'static str> {
    match asked {
        Act::Propose => Some("hypotheses"),
        Act::Challenge => Some("challenges"),
        Act::Investigate | Act::Assess | Act::Judge | Act::Convey => None,
    }
}

/// Returns the fields without which a message that was cut is asked for again.
fn needed(asked: Act) -> &'static [&'static str] {
    match asked {
        Act::Propose | Act::Challenge => &[],
        Act::Investigate => &["key_finding", "status", "confidence"],
        Act::Assess => &["summary", "leading_hypothesis"],
        Act::Judge => &["summary", "hypothesis", "confidence"],
        Act::Convey => &["conclusion"],
    }
}

fn lines(message: &Map<String, Value>) -> String {
    let mut lines = Vec::new();
    for (field, value) in message {
        let label = field.replace('_', " ");
        match value {
            Value::Array(items) => {
                lines.push(format!("{label}:"));
                lines.extend(items.iter().map(|item| format!("- {}", self::item(item))));
            }
            Value::Null => {}
            value => lines.push(format!("{label}: {}", plain(value))),
        }
    }
    lines.join("\n")
}

/// Writes an item of a list: a piece of evidence, a response, or a text.
fn item(item: &Value) -> String {
    let part = |name: &str| item.get(name).map(plain).unwrap_or_default();
    let escaped = |name: &str| self::escaped(&part(name));
    match item {
        Value::Object(fields) if fields.contains_key("pointer") => {
            let quote = Some(escaped("quote")).filter(|quote| !quote.is_empty());
            let quote = quote.map(|quote| format!("\"{quote}\"")).unwrap_or_default();
            format!("[{}] {} | {quote} | {}", part("kind"), escaped("pointer"), escaped("shows"))
        }
        Value::Object(_) => {
            format!("{} | {} | {}", part("challenge"), part("answer"), escaped("words"))
        }
        text => plain(text),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => one_line(text),
        other => other.to_string(),
    }
}

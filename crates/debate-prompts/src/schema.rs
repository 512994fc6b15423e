//! The parts of which schemas of replies are made, with the bounds of rule P28.
//!
//! They keep to what all providers take: every field is required and nothing else is allowed. A provider that takes no
//! bounds is sent none, so a reader never relies on them.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use serde_json::{Map, Value, json};

use crate::prompts::ReplyShape;

/// The most names of a list in a schema; providers refuse long ones.
const NAMES_MAX: usize = 100;

/// The fewest characters of what is more than a word.
const PROSE_CHARS_MIN: u32 = 12;

/// Characters of a name that is not bound to a list.
const NAME_CHARS_MAX: u32 = 60;

/// Schemas remembered at most; beyond it the memory starts anew.
const MADE_MAX: usize = 1_024;

/// Schemas made so far, by the name of their shape and what they were made for.
static MADE: LazyLock<RwLock<Made>> = LazyLock::new(RwLock::default);

type Made = BTreeMap<(&'static str, String), Arc<Value>>;

/// Returns a shape whose schema depends on its name and `key` alone, as it was made the first time.
pub(crate) fn shape(name: &'static str, key: String, make: impl FnOnce() -> Value) -> ReplyShape {
    let key = (name, key);
    let known = MADE.read().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
    let schema = known.unwrap_or_else(|| {
        let schema = Arc::new(make());
        let mut all = MADE.write().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MADE_MAX {
            all.clear();
        }
        all.entry(key).or_insert(schema).clone()
    });
    ReplyShape { name, schema }
}

/// Returns a text of at most so many characters.
pub(crate) fn text(chars_max: u32) -> Value {
    json!({ "type": "string", "maxLength": chars_max })
}

/// Returns a text of some sentences, of at most so many characters.
pub(crate) fn prose(chars_max: u32) -> Value {
    json!({ "type": "string", "minLength": PROSE_CHARS_MIN, "maxLength": chars_max })
}

/// Returns a number from 0 to `maximum`.
pub(crate) fn number(maximum: u32) -> Value {
    json!({ "type": "number", "minimum": 0, "maximum": maximum })
}

/// Returns a text that is one of some.
pub(crate) fn one_of<T: AsRef<str>>(names: &[T]) -> Value {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    json!({ "type": "string", "enum": names })
}

/// Returns a text that is one of some names, or any short one where there are none or very many.
pub(crate) fn named<T: AsRef<str>>(names: &[T]) -> Value {
    if names.is_empty() || names.len() > NAMES_MAX { text(NAME_CHARS_MAX) } else { one_of(names) }
}

/// Returns a list of `min` to `max` items.
pub(crate) fn list(items: Value, min: usize, max: usize) -> Value {
    let mut list = Map::from_iter([("type".to_owned(), json!("array")), ("items".to_owned(), items)]);
    list.insert("maxItems".to_owned(), max.into());
    if min > 0 {
        list.insert("minItems".to_owned(), min.into());
    }
    Value::Object(list)
}

/// Returns an object with these fields, in this order.
pub(crate) fn object<N: AsRef<str>>(fields: impl IntoIterator<Item = (N, Value)>) -> Value {
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.as_ref().to_owned(), schema)).collect();
    let required: Vec<&String> = properties.keys().collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

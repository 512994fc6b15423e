//! Reads the values of a reply as kindly as their meaning allows; a value that means nothing is left out.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A number as a model stated it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stated {
    /// The number, without its percent sign.
    pub(crate) number: f64,
    /// Whether it has a percent sign.
    pub(crate) percent: bool,
}

impl Stated {
    /// Reads a number, or a text that is one: `0.65`, `"0.65"`, `"65%"`, `"65 %"`.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(Self { number: number.as_f64()?, percent: false }),
            Value::String(text) => {
                let text = text.trim().trim_start_matches('~').trim();
                let (text, percent) =
                    text.strip_suffix('%').map_or((text, false), |text| (text.trim(), true));
                let number: f64 = text.parse().ok()?;
                number.is_finite().then_some(Self { number, percent })
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Returns a share that is meant to be in [0, 1]: a percentage is one where it says so or cannot be anything else.
    pub(super) fn share(self) -> f64 {
        if self.percent || (2.0..=100.0).contains(&self.number) { self.number / 100.0 } else { self.number }
    }
}

/// Numbers by name: an object of numbers, or a list of named ones.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Numbers {
    /// The names with their numbers, in the order of the reply.
    pub(super) named: Vec<(String, Stated)>,
    /// Whether they came as a list.
    pub(super) listed: bool,
}

/// Keys under which a list of named numbers has the name, and the number.
const NAMES: [&str; 6] = ["outcome", "outcome_id", "id", "letter", "label", "name"];
const NUMBERS: [&str; 4] = ["probability", "p", "value", "score"];

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Object(map) => {
                let number = |value: &Value| match value {
                    Value::Object(inner) => NUMBERS.iter().find_map(|key| Stated::of(inner.get(*key)?)),
                    plain => Stated::of(plain),
                };
                let named = map.iter().filter_map(|(name, value)| Some((name.clone(), number(value)?)));
                Self { named: named.collect(), listed: false }
            }
            Value::Array(items) => {
                let item = |item: &Value| {
                    let name = NAMES.iter().find_map(|key| Some(text_of(item.get(*key)?)))?;
                    Some((name, NUMBERS.iter().find_map(|key| Stated::of(item.get(*key)?))?))
                };
                Self { named: items.iter().filter_map(item).collect(), listed: true }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Self::default(),
        })
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Reads a text; what is none becomes its JSON, null nothing.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(text) => text,
        other => text_of(&other),
    })
}

/// Reads a list of texts; a single text is a list of one, blank ones are left out.
pub(crate) fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let texts = match Value::deserialize(deserializer)? {
        Value::Array(items) => items.iter().map(text_of).collect(),
        other => vec![text_of(&other)],
    };
    Ok(texts.into_iter().filter(|text| !text.trim().is_empty()).collect())
}

/// Reads a share that is meant to be in [0, 1]; nothing where there is no number.
pub(crate) fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Stated::of(&Value::deserialize(deserializer)?).map(Stated::share))
}

/// Reads a whole number, 0 where there is none.
pub(super) fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let stated = Stated::of(&Value::deserialize(deserializer)?);
    Ok(stated.map_or(0, |stated| stated.number.clamp(0.0, 1e6) as u32))
}

/// Reads a yes or no; what is neither is a no.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(flag) => flag,
        Value::String(word) => matches!(word.trim().to_ascii_lowercase().as_str(), "true" | "yes"),
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
    })
}

/// Reads a list of shaped items; a single one is a list of one, items of another shape are left out.
pub(crate) fn items<'de, T: DeserializeOwned, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let values = match Value::deserialize(deserializer)? {
        Value::Array(values) => values,
        Value::Null => Vec::new(),
        single => vec![single],
    };
    Ok(values.into_iter().filter_map(|value| serde_json::from_value(value).ok()).collect())
}

//! Strict JSON that notices keys which come twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::repair::{Repair, Repairs, quoted_key};

/// A strict JSON value, equal to what `serde_json` reads, and its doubled keys.
pub(super) struct Strict {
    pub(super) value: Value,
    pub(super) repairs: Vec<Repair>,
}

impl Strict {
    fn plain(value: impl Into<Value>) -> Self {
        Self { value: value.into(), repairs: Vec::new() }
    }
}

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict::plain(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict::plain(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict::plain(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Strict, E> {
        Ok(Strict::plain(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict::plain(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Strict, E> {
        Ok(Strict::plain(value))
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict::plain(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        let mut values = Vec::new();
        let mut repairs = Repairs::default();
        while let Some(item) = items.next_element::<Strict>()? {
            values.push(item.value);
            item.repairs.into_iter().for_each(|repair| repairs.note(repair));
        }
        Ok(Strict { value: Value::Array(values), repairs: repairs.into_vec() })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Strict, A::Error> {
        let mut map = Map::new();
        let mut repairs = Repairs::default();
        while let Some((key, member)) = members.next_entry::<String, Strict>()? {
            member.repairs.into_iter().for_each(|repair| repairs.note(repair));
            if map.contains_key(&key) {
                repairs.note(Repair::DuplicateKey { key: quoted_key(&key) });
            }
            map.insert(key, member.value);
        }
        Ok(Strict { value: Value::Object(map), repairs: repairs.into_vec() })
    }
}

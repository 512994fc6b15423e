//! Reading JSON strictly: a repeated key, over which readers disagree, is refused instead of guessed at.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

use super::entries;
use super::path::Path;
use super::sizes::{NESTING_MAX, REQUEST_BYTES_MAX};
use super::{Complaints, Violations, WHOLE};

/// Reads a request as a tree, and what stands in it with `read`, which goes on noting what is wrong.
///
/// # Errors
/// What is wrong already, and behind it: it is too long, no JSON, or nested too deep; or the keys that it repeats, and
/// everything that `read` finds.
pub(crate) fn parse<T>(
    json: &str,
    complaints: Complaints,
    read: impl FnOnce(&Value, Complaints) -> Result<T, Violations>,
) -> Result<T, Violations> {
    match tree(json) {
        Ok((value, repeated)) => {
            complaints.add_all(repeated);
            read(&value, complaints)
        }
        Err(reason) => {
            complaints.add(WHOLE, reason);
            Err(complaints.refused())
        }
    }
}

/// Reads JSON, and which of its keys are repeated.
fn tree(json: &str) -> Result<(Value, Complaints), String> {
    if json.len() > REQUEST_BYTES_MAX {
        return Err(format!("has {} bytes; {REQUEST_BYTES_MAX} are allowed", json.len()));
    }
    entries::check(json.as_bytes())?;
    let repeated = Complaints::default();
    let mut reader = serde_json::Deserializer::from_str(json);
    let tree = Tree { path: Path::default(), depth: 0, complaints: &repeated };
    let value = tree.deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    Ok((value.map_err(|error| format!("is not JSON: {error}"))?, repeated))
}

/// Returns the text of one member of one object of a request, exactly as it stands there.
pub(crate) fn raw_member(json: &str, object: &str, member: &str) -> Option<String> {
    let outer = raw_field(json, object)?;
    raw_field(outer.get(), member).map(|raw| raw.get().to_owned())
}

/// Returns one member of an object, exactly as it stands in its text.
pub(crate) fn raw_field<'a>(json: &'a str, name: &str) -> Option<&'a RawValue> {
    let mut reader = serde_json::Deserializer::from_str(json);
    reader.deserialize_map(Member(name)).ok().flatten()
}

struct Member<'n>(&'n str);

impl<'de> Visitor<'de> for Member<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            let raw = map.next_value::<&'de RawValue>()?;
            if key == self.0 {
                found = Some(raw);
            }
        }
        Ok(found)
    }
}

#[derive(Clone)]
struct Tree<'c> {
    path: Path,
    depth: usize,
    complaints: &'c Complaints,
}

impl Tree<'_> {
    fn inside<E: serde::de::Error>(&self, path: Path) -> Result<Self, E> {
        if self.depth == NESTING_MAX {
            return Err(E::custom(format!("nested deeper than {NESTING_MAX}")));
        }
        Ok(Self { path, depth: self.depth + 1, complaints: self.complaints })
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::from(number))
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        Number::from_f64(number).map(Value::Number).ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let item = self.inside(self.path.item(list.len()))?;
            match items.next_element_seed(item)? {
                Some(value) => list.push(value),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let path = self.path.field(&key);
            let value = entries.next_value_seed(self.inside::<A::Error>(path.clone())?)?;
            if map.insert(key, value).is_some() {
                self.complaints.add(path.as_str(), "is given more than once");
            }
        }
        Ok(Value::Object(map))
    }
}

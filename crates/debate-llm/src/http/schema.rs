//! JSON schemas, cut to what a provider takes.
//!
//! A provider refuses a whole request for one keyword that it does not know. What is cut off here is checked when the
//! answer is read, by the one who asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

use super::protocol::Protocol;
use crate::ReplySchema;
use crate::reply_schema::BOUNDS;

/// Cut schemas kept; far more than a program has.
const SCHEMAS_MAX: usize = 256;

/// The digest of a schema, and whether it has its bounds.
type Key = ([u8; 32], bool);

/// The schemas cut so far, written once each.
#[derive(Debug, Default)]
pub(super) struct Schemas {
    cut: Mutex<HashMap<Key, Arc<RawValue>>>,
}

impl Schemas {
    /// Returns the schema as the provider takes it, with its bounds where the server takes those (rule P28).
    ///
    /// # Errors
    /// When the schema has no JSON.
    pub(super) fn cut(
        &self,
        schema: &ReplySchema,
        protocol: &dyn Protocol,
        bounds: bool,
    ) -> Result<Arc<RawValue>, serde_json::Error> {
        let mut all = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (*schema.digest(), bounds);
        if let Some(known) = all.get(&key) {
            return Ok(Arc::clone(known));
        }
        let written: Arc<RawValue> =
            to_raw_value(&cut(schema.json(), &protocol.facts().subset, bounds))?.into();
        if all.len() >= SCHEMAS_MAX {
            all.clear();
        }
        all.insert(key, Arc::clone(&written));
        Ok(written)
    }
}

/// What a provider accepts of JSON Schema in addition to `type`, `properties`, `required`, `items`, `enum`,
/// `anyOf`, `$ref`, `$defs` and `description`.
#[derive(Debug)]
pub(crate) struct Subset {
    /// Further keywords.
    pub(crate) keywords: &'static [&'static str],
    /// The values of `format`; none where the keyword is unknown.
    pub(crate) formats: &'static [&'static str],
    /// The largest `minItems`.
    pub(crate) min_items_max: u64,
    /// Whether every object must say that it has no other properties.
    pub(crate) is_closed: bool,
    /// Whether every property must be required; one that was not may be null.
    pub(crate) is_total: bool,
}

impl Subset {
    fn takes(&self, keyword: &str, value: &Value) -> bool {
        match keyword {
            "type" | "required" | "enum" | "$ref" | "description" => true,
            "format" => value.as_str().is_some_and(|format| self.formats.contains(&format)),
            "minItems" => value.as_u64().is_some_and(|items| items <= self.min_items_max),
            other => self.keywords.contains(&other),
        }
    }
}

/// Cuts a schema, at every depth.
///
/// `oneOf` becomes `anyOf`, `const` an `enum` of one and `allOf` one schema where the provider has no such keyword.
fn cut(schema: &Value, subset: &Subset, bounds: bool) -> Value {
    let Value::Object(schema) = schema else { return schema.clone() };
    let mut kept = Map::new();
    for (keyword, value) in schema {
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(named)) => {
                let named = named.iter().map(|(name, schema)| (name.clone(), cut(schema, subset, bounds)));
                kept.insert(keyword.clone(), Value::Object(named.collect()));
            }
            ("items", value) => {
                kept.insert(keyword.clone(), cut(value, subset, bounds));
            }
            ("anyOf", Value::Array(list)) => {
                kept.insert(keyword.clone(), list.iter().map(|schema| cut(schema, subset, bounds)).collect());
            }
            ("oneOf" | "allOf" | "prefixItems", Value::Array(list))
                if subset.keywords.contains(&keyword.as_str()) =>
            {
                kept.insert(keyword.clone(), list.iter().map(|schema| cut(schema, subset, bounds)).collect());
            }
            ("oneOf", Value::Array(list)) => {
                kept.insert(
                    "anyOf".to_owned(),
                    list.iter().map(|schema| cut(schema, subset, bounds)).collect(),
                );
            }
            ("allOf", Value::Array(list)) => merge(&mut kept, list, subset, bounds),
            ("const", value) if !subset.keywords.contains(&"const") => {
                kept.insert("enum".to_owned(), json!([value]));
            }
            ("additionalProperties", Value::Object(_)) if subset.takes(keyword, value) => {
                kept.insert(keyword.clone(), cut(value, subset, bounds));
            }
            (bound, value) if BOUNDS.contains(&bound) && value.is_number() && !bounds => {}
            _ if subset.takes(keyword, value) => {
                kept.insert(keyword.clone(), value.clone());
            }
            _ => {}
        }
    }
    if kept.contains_key("properties") || kept.get("type").is_some_and(|kind| kind == "object") {
        close(&mut kept, subset);
    }
    Value::Object(kept)
}

/// Puts what several schemas demand into one; what came first stays.
fn merge(kept: &mut Map<String, Value>, list: &[Value], subset: &Subset, bounds: bool) {
    for schema in list {
        if let Value::Object(more) = cut(schema, subset, bounds) {
            for (keyword, value) in more {
                kept.entry(keyword).or_insert(value);
            }
        }
    }
}

/// Makes an object as strict as the provider wants it.
fn close(object: &mut Map<String, Value>, subset: &Subset) {
    if subset.is_total {
        let required = object.get("required").cloned().unwrap_or_else(|| json!([]));
        let is_required =
            |name: &str| required.as_array().is_some_and(|names| names.iter().any(|known| known == name));
        let properties = object.entry("properties").or_insert_with(|| json!({}));
        let mut names = Vec::new();
        for (name, property) in properties.as_object_mut().into_iter().flatten() {
            if !is_required(name) {
                *property = json!({ "anyOf": [property.take(), { "type": "null" }] });
            }
            names.push(Value::String(name.clone()));
        }
        object.insert("required".to_owned(), Value::Array(names));
    }
    if subset.is_closed {
        object.insert("additionalProperties".to_owned(), json!(false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Provider;

    /// A schema with something of everything.
    fn rich() -> Value {
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Rich",
            "type": "object",
            "properties": {
                "claim": {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^x", "description": "why"},
                "when": {"type": "string", "format": "date"},
                "odd": {"type": "string", "format": "regex"},
                "share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
                "points": {"type": "array", "minItems": 3, "maxItems": 5, "uniqueItems": true,
                    "items": {"oneOf": [{"const": "a"}, {"$ref": "#/$defs/other"}]}}
            },
            "required": ["claim"],
            "$defs": {"other": {"type": "object", "properties": {"n": {"allOf": [{"type": "integer"}]}}}}
        })
    }

    fn cut_for(provider: Provider) -> Value {
        cut(&rich(), &provider.protocol().facts().subset, true)
    }

    #[test]
    fn openai_demands_closed_objects_and_all_properties() {
        let maybe = |schema: Value| json!({"anyOf": [schema, {"type": "null"}]});
        let want = json!({
            "title": "Rich",
            "type": "object",
            "properties": {
                "claim": {"type": "string", "minLength": 1, "maxLength": 9, "description": "why"},
                "when": maybe(json!({"type": "string", "format": "date"})),
                "odd": maybe(json!({"type": "string"})),
                "share": maybe(json!({"type": "number", "minimum": 0, "maximum": 1})),
                "points": maybe(json!({"type": "array", "minItems": 3, "maxItems": 5,
                    "items": {"anyOf": [{"const": "a"}, {"$ref": "#/$defs/other"}]}}))
            },
            "required": ["claim", "when", "odd", "share", "points"],
            "$defs": {"other": {"type": "object", "properties": {"n": maybe(json!({"type": "integer"}))},
                "required": ["n"], "additionalProperties": false}},
            "additionalProperties": false
        });
        assert_eq!(cut_for(Provider::OpenAi), want);
    }

    #[test]
    fn anthropic_demands_closed_objects_and_takes_no_bounds() {
        let want = json!({
            "title": "Rich",
            "type": "object",
            "properties": {
                "claim": {"type": "string", "description": "why"},
                "when": {"type": "string", "format": "date"},
                "odd": {"type": "string"},
                "share": {"type": "number"},
                "points": {"type": "array", "items": {"anyOf": [{"const": "a"}, {"$ref": "#/$defs/other"}]}}
            },
            "required": ["claim"],
            "$defs": {"other": {"type": "object", "properties": {"n": {"allOf": [{"type": "integer"}]}},
                "additionalProperties": false}},
            "additionalProperties": false
        });
        assert_eq!(cut_for(Provider::Anthropic), want);
    }

    #[test]
    fn gemini_takes_bounds_of_numbers_and_lists_alone() {
        let want = json!({
            "title": "Rich",
            "type": "object",
            "properties": {
                "claim": {"type": "string", "description": "why"},
                "when": {"type": "string", "format": "date"},
                "odd": {"type": "string"},
                "share": {"type": "number", "minimum": 0, "maximum": 1},
                "points": {"type": "array", "minItems": 3, "maxItems": 5,
                    "items": {"oneOf": [{"enum": ["a"]}, {"$ref": "#/$defs/other"}]}}
            },
            "required": ["claim"],
            "$defs": {"other": {"type": "object", "properties": {"n": {"type": "integer"}}}}
        });
        assert_eq!(cut_for(Provider::Gemini), want);
    }

    #[test]
    fn cutting_what_was_cut_changes_nothing() {
        for provider in Provider::ALL {
            let once = cut_for(provider);
            assert_eq!(cut(&once, &provider.protocol().facts().subset, true), once, "{provider}");
        }
    }

    #[test]
    fn a_schema_is_cut_once() {
        let schemas = Schemas::default();
        let schema = ReplySchema::new("a", rich());
        let protocol = Provider::OpenAi.protocol();
        let first = schemas.cut(&schema, protocol, true).unwrap();
        assert!(Arc::ptr_eq(&first, &schemas.cut(&schema.clone(), protocol, true).unwrap()));
    }
}

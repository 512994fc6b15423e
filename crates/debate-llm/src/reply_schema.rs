//! The shape that an answer must have.

use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// The keywords that bound lengths, counts and numbers.
pub(crate) const BOUNDS: [&str; 6] = ["minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"];

/// A named JSON schema for an answer; cheap to clone.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplySchema {
    name: Arc<str>,
    json: Arc<Value>,
    digest: [u8; 32],
    is_bounded: bool,
}

impl ReplySchema {
    /// Makes a schema and digests it once; build it once and clone it.
    ///
    /// `name` holds letters, digits, `_` and `-` only, at most 64 of them, as providers demand.
    pub fn new(name: impl Into<Arc<str>>, json: Value) -> Self {
        let name = name.into();
        let mut hash = Sha256::new();
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name.as_bytes());
        hash.update(json.to_string().as_bytes());
        let is_bounded = has_bounds(&json);
        Self { name, json: Arc::new(json), digest: hash.finalize().into(), is_bounded }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the JSON schema.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Returns whether it bounds lengths, counts or numbers.
    #[cfg(feature = "http")]
    pub(crate) fn is_bounded(&self) -> bool {
        self.is_bounded
    }

    /// Returns the SHA-256 of name and schema.
    pub(crate) fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

fn has_bounds(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(keyword, value)| {
            BOUNDS.contains(&keyword.as_str()) && value.is_number() || has_bounds(value)
        }),
        Value::Array(list) => list.iter().any(has_bounds),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

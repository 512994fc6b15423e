//! Reply schemas as models take them, made once for each shape: a shape is shared by every call of its kind.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use debate_llm::ReplySchema;
use debate_prompts::prompts::ReplyShape;
use serde_json::Value;

/// Schemas kept; far more than there are kinds of call.
const SCHEMAS_MAX: usize = 1_024;

/// The schemas made so far, by the address of their shape, which is kept so that no other can take it.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    made: Mutex<HashMap<usize, (Arc<Value>, ReplySchema)>>,
}

impl Schemas {
    /// Returns the schema of a shape.
    pub(crate) fn of(&self, shape: &ReplyShape) -> ReplySchema {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if made.len() >= SCHEMAS_MAX {
            made.clear();
        }
        let address = Arc::as_ptr(&shape.schema) as usize;
        let (_, schema) = made.entry(address).or_insert_with(|| {
            let schema = ReplySchema::new(shape.name, (*shape.schema).clone());
            (Arc::clone(&shape.schema), schema)
        });
        schema.clone()
    }
}

//! The blocks of a message as they came: a provider that pauses its turn wants to read them again.

use serde_json::{Value, json};

use super::events::Delta;

/// The blocks so far, each with all of its pieces.
#[derive(Debug, Default)]
pub(super) struct Received {
    blocks: Vec<Value>,
    /// The input of the last block, which comes as pieces of JSON.
    input: String,
}

impl Received {
    /// Takes a block as it began, or all of it.
    pub(super) fn begin(&mut self, block: Value) {
        self.end_input();
        self.blocks.push(block);
    }

    /// Adds a piece to the last block: blocks come one after another.
    pub(super) fn add(&mut self, delta: &Delta<'_>) {
        self.input.push_str(&delta.partial_json);
        let Some(Value::Object(block)) = self.blocks.last_mut() else { return };
        let pieces = [("text", &delta.text), ("thinking", &delta.thinking), ("signature", &delta.signature)];
        for (name, piece) in pieces.into_iter().filter(|(_, piece)| !piece.is_empty()) {
            match block.get_mut(name) {
                Some(Value::String(text)) => text.push_str(piece),
                Some(_) | None => drop(block.insert(name.to_owned(), json!(piece))),
            }
        }
        let citation = delta.citation.and_then(|citation| serde_json::from_str::<Value>(citation.get()).ok());
        if let Some(citation) = citation {
            match block.get_mut("citations") {
                Some(Value::Array(citations)) => citations.push(citation),
                Some(_) | None => drop(block.insert("citations".to_owned(), json!([citation]))),
            }
        }
    }

    /// Hands over the blocks; those of no text may not be sent.
    pub(super) fn take(&mut self) -> Vec<Value> {
        self.end_input();
        let mut blocks = std::mem::take(&mut self.blocks);
        let says_nothing = |block: &Value| block["text"].as_str().is_none_or(str::is_empty);
        blocks.retain(|block| block["type"] != "text" || !says_nothing(block));
        blocks
    }

    fn end_input(&mut self) {
        let input = std::mem::take(&mut self.input);
        if let (Ok(input), Some(Value::Object(block))) =
            (serde_json::from_str::<Value>(&input), self.blocks.last_mut())
        {
            block.insert("input".to_owned(), input);
        }
    }
}

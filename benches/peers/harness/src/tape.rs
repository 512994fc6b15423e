//! The requests of one debate of the engine, recorded; every peer sends these, with the debate's number in them.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::calls::Call;

/// What stands in every prompt in the place of a debate's number; it is as long as every number.
pub const NUMBER: &str = "Debate 000000";

/// Returns the words that stand for [`NUMBER`] in the prompts of a debate.
pub fn numbered(debate: u32) -> String {
    format!("Debate {debate:06}")
}

/// Returns a recorded text with the number of a debate.
pub fn with_number(text: &str, number: &str) -> String {
    text.replacen(NUMBER, number, 1)
}

/// One recorded request.
#[derive(Debug, Deserialize)]
pub struct Recorded {
    /// Who the model is.
    pub system: String,
    /// What it is asked, with [`NUMBER`] in it.
    pub user: String,
    /// The most tokens of a reply.
    pub max_tokens: u32,
    /// The shape of the reply, as the protocol writes it.
    pub response_format: Box<RawValue>,
}

/// The requests of a debate, by place of their call.
#[derive(Debug)]
pub struct Tape(Vec<Recorded>);

impl Tape {
    /// Reads what the model server recorded.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or a call is missing in it.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let mut tape: Value = serde_json::from_str(&text).context("the tape is not JSON")?;
        let read = |call: Call| {
            let recorded = tape[call.to_string()].take().to_string();
            serde_json::from_str(&recorded).with_context(|| format!("the tape lacks {call}"))
        };
        Ok(Self(Call::all().map(read).collect::<Result<_>>()?))
    }

    /// Returns the request of the call at a place.
    pub fn at(&self, place: usize) -> &Recorded {
        &self.0[place]
    }
}

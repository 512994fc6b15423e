//! The message with which prompts of one kind begin: what is the same in all of them, so that a provider which keeps
//! the beginnings of prompts reads it once.

use std::sync::Arc;

use super::blocks::{Block, Slot};
use super::measure;

/// The first user message, or none where its text is empty.
#[derive(Debug, Clone, Default)]
pub(super) struct Head {
    /// The words, the same for every prompt that has them.
    pub(super) text: Arc<str>,
    /// Their tokens.
    pub(super) tokens: u32,
    /// How many blocks of the prompt, from the first on, stand in it whole.
    pub(super) blocks: usize,
    /// Whether the block of outcomes stands in it.
    pub(super) has_outcomes: bool,
}

impl Head {
    /// Returns a head of fixed words alone.
    pub(super) fn of_words(words: &str) -> Self {
        Self::written(words.to_owned(), 0, false)
    }

    /// Returns a head of the question, the outcomes if any, and fixed words.
    ///
    /// `None` where the question is longer than its floor: it may have to be cut, and is then cut as each prompt allows.
    pub(super) fn of_question(blocks: &[Block], outcomes: Option<&str>, words: &str) -> Option<Self> {
        let question = blocks.first().filter(|block| block.slot == Slot::Question)?;
        if question.body_tokens() > question.share.floor {
            return None;
        }
        let mut text = String::new();
        question.write(Some(question.body_tokens()), &mut text);
        text.push_str(outcomes.unwrap_or_default());
        if !words.is_empty() {
            text.extend(["\n", words]);
        }
        Some(Self::written(text, 1, outcomes.is_some()))
    }

    fn written(mut text: String, blocks: usize, has_outcomes: bool) -> Self {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Self { tokens: measure::count(&text), text: text.into(), blocks, has_outcomes }
    }
}

//! The message with which prompts of one kind begin: what is the same in all of them, so that a provider which keeps
//! the beginnings of prompts reads it once.

use std::sync::Arc;

use super::blocks::{Block, Slot};
use super::{budget, measure};

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
    /// What was cut or left out of it.
    pub(super) omitted: Vec<String>,
}

/// The longest question that stands in a head, in tokens: one that is longer may have to be cut.
const QUESTION_TOKENS_MAX: u32 = 60;

impl Head {
    /// Returns a head of fixed words alone.
    pub(super) fn of_words(words: &str) -> Self {
        Self::written(words.to_owned(), 0, false)
    }

    /// Returns a head of the question, the outcomes if any, and fixed words.
    ///
    /// `None` where the question is long: it may have to be cut, and is then cut as each prompt allows.
    pub(super) fn of_question(blocks: &[Block], outcomes: Option<&str>, words: &str) -> Option<Self> {
        let question = blocks.first().filter(|block| block.slot == Slot::Question)?;
        if question.body_tokens() > QUESTION_TOKENS_MAX {
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

    /// Returns a head of the whole material within so many tokens: question and criteria, the outcomes, then the rest.
    ///
    /// `None` where not even the question, the criteria and the outcomes fit uncut.
    pub(super) fn of_brief(blocks: &[Block], outcomes: &str, tokens_max: u32) -> Option<Self> {
        let room = tokens_max.checked_sub(measure::count(outcomes))?;
        let shares = budget::share(blocks, room).ok()?;
        let (mut text, mut rest, mut omitted) = (String::new(), String::new(), Vec::new());
        for (block, share) in blocks.iter().zip(shares) {
            let is_first = matches!(block.slot, Slot::Question | Slot::Criteria);
            if is_first && share != Some(block.body_tokens()) {
                return None;
            }
            omitted.extend(block.write(share, if is_first { &mut text } else { &mut rest }));
        }
        text.extend([outcomes, &rest]);
        Some(Self { omitted, ..Self::written(text, blocks.len(), true) })
    }

    fn written(mut text: String, blocks: usize, has_outcomes: bool) -> Self {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Self { tokens: measure::count(&text), text: text.into(), blocks, has_outcomes, omitted: Vec::new() }
    }
}

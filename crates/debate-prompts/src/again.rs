//! Asking again: the reason for which a model is asked once more (rules K5, K18).

use std::sync::Arc;

use crate::prompts::{Message, Prompt, Speaker};
use crate::roundtable::structure;
use crate::tokens;

/// Tokens that mark a message, at most.
const MESSAGE_TOKENS: u32 = 8;

/// The longest reason that is given, in characters.
const REASON_CHARS_MAX: usize = 300;

/// Returns the tokens that a prompt takes more with the reason why the last reply could not be used.
#[must_use]
pub fn tokens(why: &str) -> u32 {
    tokens::count(&text(why)).saturating_add(MESSAGE_TOKENS)
}

/// Adds to a prompt why the last reply to it could not be used. A fixed text that shows a sample gives way to words, because
/// small models copy samples (rule P27).
pub fn ask_again(prompt: &mut Prompt, why: &str) {
    for message in prompt.messages.iter_mut().filter(|message| message.speaker == Speaker::User) {
        if let Some(words) = structure::without_sample(&message.text) {
            message.text = Arc::from(words);
        }
    }
    prompt.tokens = prompt.tokens.saturating_add(self::tokens(why));
    prompt.messages.push(Message { speaker: Speaker::User, text: Arc::from(text(why)) });
}

/// Returns the words with which a model is asked again.
pub(crate) fn text(why: &str) -> String {
    let reason: String = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
    format!(
        "Your last reply to this could not be used: {reason}. Reply again, complete, and in the form asked for above."
    )
}

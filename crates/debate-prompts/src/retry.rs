//! Asking a model once more, with the reason (rules K5, K18).

use std::sync::Arc;

use crate::again;
use crate::prompts::{Message, Prompt, Speaker};
use crate::roundtable::structure;

/// Adds to a prompt why the last reply to it could not be used. A fixed text that shows a sample gives way to words, because
/// small models copy samples (rule P27).
pub fn ask_again(prompt: &mut Prompt, why: &str) {
    for message in prompt.messages.iter_mut().filter(|message| message.speaker == Speaker::User) {
        if let Some(words) = structure::without_sample(&message.text) {
            message.text = Arc::from(words);
        }
    }
    prompt.tokens = prompt.tokens.saturating_add(again::tokens(why));
    prompt.messages.push(Message { speaker: Speaker::User, text: Arc::from(again::text(why)) });
}

//! The text that tells a model why its last reply could not be used (rules K5, K18).

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

/// Returns the words with which a model is asked again.
pub(crate) fn text(why: &str) -> String {
    let reason: String = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason: String = reason.chars().take(REASON_CHARS_MAX).collect();
    format!(
        "Your last reply to this could not be used: {reason}. Reply again, complete, and in the form asked for above."
    )
}

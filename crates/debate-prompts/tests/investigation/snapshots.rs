//! Every prompt of an investigation in both languages, as it was when somebody last looked at it.

use std::collections::BTreeSet;

use crate::played::{Asked, INVESTIGATORS, play};

/// The rounds shown: in the second, something had been said before.
const ROUNDS: u32 = 2;

/// Returns the prompts of one investigator and of all other roles, in the order of asking; what was shown is not repeated.
fn prompts(language: &str) -> String {
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    let is_shown = |asked: &Asked| {
        let who = asked.want.call.role.as_str();
        asked.want.call.round <= ROUNDS && (who == INVESTIGATORS[0] || !INVESTIGATORS.contains(&who))
    };
    for asked in play(language, true).1.into_iter().filter(is_shown) {
        text.push_str(&format!("=== {}\n", asked.want.call));
        for message in asked.messages {
            if seen.insert(message.clone()) {
                text.push_str(&format!("---\n{message}\n"));
            } else {
                text.push_str("--- as above\n");
            }
        }
    }
    text
}

#[test]
fn i8_prompts_of_every_role_and_round_in_both_languages() {
    for language in ["en", "zh"] {
        insta::assert_snapshot!(language, prompts(language));
    }
}

//! Whether a speaker says that they have changed their mind (D6). It matches phrases, it does not understand.

/// The phrases that tell a change of position, lower-cased, as the legacy quality rules list them (D6).
pub const PHRASES: [&str; 7] = [
    "i have revised",
    "i now agree",
    "i changed my position",
    "reconsidering",
    "after reviewing",
    "i must acknowledge",
    "my position has evolved",
];

/// Returns the phrases of a change of position that stand in a revised text, in the order of [`PHRASES`]; none where
/// the speaker held on (D6). Letter case does not matter, anything else does.
#[must_use]
pub fn phrases_of_change(revised: &str) -> Vec<&'static str> {
    let revised = revised.to_lowercase();
    PHRASES.into_iter().filter(|phrase| revised.contains(phrase)).collect()
}

/// Tells whether a revised text says that its speaker changed position (D6).
#[must_use]
pub fn tells_change(revised: &str) -> bool {
    !phrases_of_change(revised).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d6_each_phrase_tells_a_change_in_any_case() {
        for phrase in PHRASES {
            for text in [phrase.to_owned(), phrase.to_uppercase(), format!("Well: {phrase}, in part.")] {
                assert_eq!(phrases_of_change(&text), [phrase], "{text}");
                assert!(tells_change(&text));
            }
        }
    }

    #[test]
    fn d6_other_words_for_a_change_do_not_count() {
        for text in
            ["", "I maintain my position.", "I changed my mind.", "I  now agree", "I have been revised"]
        {
            assert!(!tells_change(text), "{text}");
        }
    }
}

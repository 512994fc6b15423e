//! How much two texts share: word by word, or by runs of characters.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A way to measure how alike two texts are; one stands in for another wherever texts are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Similarity {
    /// The share of words that both have among those that either has.
    #[default]
    WordOverlap,
    /// The share of runs of three characters, so that forms of one word count as alike in any language.
    TrigramOverlap,
}

impl Similarity {
    /// Every measure, the default first.
    pub const ALL: [Self; 2] = [Self::WordOverlap, Self::TrigramOverlap];

    /// Returns the name used in requests and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WordOverlap => "word-overlap",
            Self::TrigramOverlap => "trigram-overlap",
        }
    }

    /// Returns how alike two texts are, in [0, 1], by their words of at least so many characters.
    #[must_use]
    pub fn between(self, a: &str, b: &str, chars_min: usize) -> f64 {
        let (a, b) = (words(a, chars_min), words(b, chars_min));
        match self {
            Self::WordOverlap => jaccard(&a, &b),
            Self::TrigramOverlap => jaccard(&trigrams(&a), &trigrams(&b)),
        }
    }
}

/// Returns the distinct runs of three characters of words, each word with a blank at both ends.
fn trigrams(words: &BTreeSet<String>) -> BTreeSet<String> {
    let padded = words.iter().map(|word| format!(" {word} ").chars().collect::<Vec<char>>());
    padded.flat_map(|word| word.windows(3).map(String::from_iter).collect::<Vec<_>>()).collect()
}

/// Returns the distinct words of at least so many characters: lower-cased letters and digits, in alphabetical order.
///
/// Apostrophes are dropped (`don't` is `dont`); everything else that is neither letter nor digit separates words.
#[must_use]
pub fn words(text: &str, chars_min: usize) -> BTreeSet<String> {
    let spoken = text.to_lowercase().replace(['\'', '\u{2019}'], "");
    spoken
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && word.chars().count() >= chars_min)
        .map(str::to_owned)
        .collect()
}

/// Returns the share of words that both have among those that either has (Jaccard): 0 for nothing in common, 1 for the
/// same words. Two texts without words are the same.
#[must_use]
pub fn jaccard(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    let either = a.len() + b.len() - shared;
    if either == 0 { 1.0 } else { shared as f64 / either as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(a: &str, b: &str, expected: f64) {
        assert_eq!(jaccard(&words(a, 1), &words(b, 1)), expected, "{a:?} {b:?}");
        assert_eq!(jaccard(&words(b, 1), &words(a, 1)), expected, "{b:?} {a:?}");
    }

    #[test]
    fn case_punctuation_and_repetition_do_not_count() {
        check("Rates rise.", "rates, RISE; rates!", 1.0);
        check("It won’t hold", "it won't hold", 1.0);
        check("one two three", "three four five", 0.2);
        check("all of it", "none here", 0.0);
        check("", "…", 1.0);
        check("", "word", 0.0);
    }

    #[test]
    fn t5_runs_of_characters_see_one_word_in_two_forms() {
        let (a, b) = ("migrating the databases", "migrate a database");
        assert_eq!(Similarity::WordOverlap.between(a, b, 3), 0.0);
        let alike = Similarity::TrigramOverlap.between(a, b, 3);
        assert!((0.5..0.6).contains(&alike), "{alike}");
        for measure in Similarity::ALL {
            assert_eq!((measure.between(a, a, 1), measure.between(a, "кот", 1)), (1.0, 0.0));
        }
    }

    #[test]
    fn short_words_are_left_out_by_characters_not_bytes() {
        let kept: Vec<String> = words("Ein Öl-Preis über 90", 3).into_iter().collect();
        assert_eq!(kept, ["ein", "preis", "über"]);
    }
}

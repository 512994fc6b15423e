//! How much two texts share, word by word.

use std::collections::BTreeSet;

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
    fn short_words_are_left_out_by_characters_not_bytes() {
        let kept: Vec<String> = words("Ein Öl-Preis über 90", 3).into_iter().collect();
        assert_eq!(kept, ["ein", "preis", "über"]);
    }
}

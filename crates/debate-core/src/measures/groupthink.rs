//! Signs that a group agrees too easily (rule T6).

use std::collections::BTreeSet;

use super::negation::is_key_term;
use super::similarity::{jaccard, words};
use super::{TOLERANCE, summary};

/// Everybody is at least so sure …
pub const CONFIDENCE_MIN: f64 = 0.8;
/// … and all together at least so sure.
pub const MEAN_CONFIDENCE_MIN: f64 = 0.85;
/// The least mean overlap of words that is a sign, where overlap is what is looked at.
pub const OVERLAP_MIN: f64 = 0.5;
/// So many signs make groupthink.
pub const SIGNS_MIN: usize = 2;
/// So many speakers make a group.
pub const GROUP_MIN: usize = 2;

/// Returns whether all are sure: each at least 0.8, on average at least 0.85.
#[must_use]
pub fn all_are_sure(confidences: &[f64]) -> bool {
    let sure = |least: f64, confidence: f64| confidence >= least - TOLERANCE;
    confidences.iter().all(|confidence| sure(CONFIDENCE_MIN, *confidence))
        && summary::mean(confidences).is_some_and(|mean| sure(MEAN_CONFIDENCE_MIN, mean))
}

/// Returns whether all members that take a stance take the same one; false if no member takes one.
#[must_use]
pub fn all_take_one_stance<T: Ord>(stances: impl IntoIterator<Item = T>) -> bool {
    stances.into_iter().collect::<BTreeSet<T>>().len() == 1
}

/// Returns the mean overlap of all pairs of texts, in [0, 1], by words of at least four letters without stop words; 0
/// of fewer than two.
#[must_use]
pub fn mean_overlap(texts: &[&str]) -> f64 {
    let terms: Vec<BTreeSet<String>> = texts
        .iter()
        .map(|text| words(text, 1).into_iter().filter(|word| is_key_term(word)).collect())
        .collect();
    let pairs =
        terms.iter().enumerate().flat_map(|(place, a)| terms[place + 1..].iter().map(move |b| jaccard(a, b)));
    summary::mean(&pairs.collect::<Vec<f64>>()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t6_confidence_is_a_sign_when_each_and_all_are_sure() {
        assert!(all_are_sure(&[0.8, 0.9]));
        assert!(!all_are_sure(&[0.79, 0.99]));
        assert!(!all_are_sure(&[0.8, 0.8]));
        assert!(!all_are_sure(&[]));
    }

    #[test]
    fn t6_one_stance_of_all_who_take_one_is_a_sign() {
        assert!(all_take_one_stance(["yes", "yes"]));
        assert!(!all_take_one_stance(["yes", "no"]));
        assert!(!all_take_one_stance(Vec::<u8>::new()));
    }

    #[test]
    fn t6_overlap_is_the_mean_over_pairs_of_words_that_mean_something() {
        assert_eq!(mean_overlap(&["move the office", "the office should move", "office move it is"]), 1.0);
        assert_eq!(mean_overlap(&["move office", "move harbour", "stay"]), (1.0 / 3.0) / 3.0);
        assert_eq!(mean_overlap(&["alone"]), 0.0);
    }
}

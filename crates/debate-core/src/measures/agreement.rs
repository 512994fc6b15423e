//! How far positions agree, and whether they still move (rule T5).

use super::negation::contradict;
use super::similarity::Similarity;
use super::{TOLERANCE, summary};

/// The least likeness with a camp's first member that joins it.
pub const CAMP_SIMILARITY_MIN: f64 = 0.35;
/// The least likeness of two positions of one speaker that count as the same.
pub const STEADY_SIMILARITY_MIN: f64 = 0.7;
/// The share of the camps in the level of agreement; the rest is the confidences'.
const POSITION_WEIGHT: f64 = 0.7;
const CONFIDENCE_WEIGHT: f64 = 0.3;
/// The largest variance of numbers in [0, 1].
const VARIANCE_MAX: f64 = 0.25;
/// The minimum length, in characters, of the words that steadiness is measured by.
const STEADY_CHARS_MIN: usize = 3;

/// How far positions agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Agreement {
    /// The level, in [0, 1]: 0.7 × position score + 0.3 × confidence score; 1 for one position, 0 for none.
    pub level: f64,
    /// 1 if all are in one camp, 0 if every camp has one member, else the share of the largest camp.
    pub position_score: f64,
    /// 1 − variance / 0.25 of the confidences, at least 0.
    pub confidence_score: f64,
    /// The camps by the places of their members, in the order in which they were founded.
    pub camps: Vec<Vec<usize>>,
}

/// Returns how far positions agree that are held with these confidences, both in the speakers' order.
///
/// In order, each position joins the first camp whose first member is similar enough. It does not join a camp
/// whose first member it contradicts, be it in words or because `are_opposed` says so of their places.
#[must_use]
pub fn agreement(
    measure: Similarity,
    positions: &[&str],
    confidences: &[f64],
    are_opposed: impl Fn(usize, usize) -> bool,
) -> Agreement {
    let camps = camps(measure, positions, are_opposed);
    let (speakers, largest) = (positions.len(), camps.iter().map(Vec::len).max().unwrap_or_default());
    let position_score = match camps.len() {
        0 => 0.0,
        1 => 1.0,
        apart if apart == speakers => 0.0,
        _ => largest as f64 / speakers as f64,
    };
    let sd = summary::population_sd(confidences).unwrap_or_default();
    let confidence_score = (1.0 - sd * sd / VARIANCE_MAX).max(0.0);
    let level = match speakers {
        0 => 0.0,
        1 => 1.0,
        _ => (POSITION_WEIGHT * position_score + CONFIDENCE_WEIGHT * confidence_score).clamp(0.0, 1.0),
    };
    Agreement { level, position_score, confidence_score, camps }
}

fn camps(
    measure: Similarity,
    positions: &[&str],
    are_opposed: impl Fn(usize, usize) -> bool,
) -> Vec<Vec<usize>> {
    let mut camps: Vec<Vec<usize>> = Vec::new();
    for (place, position) in positions.iter().enumerate() {
        let is_home = |camp: &Vec<usize>| {
            !are_opposed(camp[0], place) && is_alike(measure, positions[camp[0]], position)
        };
        let own = camps.iter_mut().find(|camp| is_home(camp));
        match own {
            Some(camp) => camp.push(place),
            None => camps.push(vec![place]),
        }
    }
    camps
}

fn is_alike(measure: Similarity, a: &str, b: &str) -> bool {
    measure.between(a, b, 1) >= CAMP_SIMILARITY_MIN - TOLERANCE && !contradict(a, b)
}

/// Returns whether a speaker's position is the one of before: the same words, or alike by words of three or more
/// characters.
#[must_use]
pub fn is_steady(measure: Similarity, before: &str, after: &str) -> bool {
    plain(before) == plain(after)
        || measure.between(before, after, STEADY_CHARS_MIN) >= STEADY_SIMILARITY_MIN - TOLERANCE
}

/// Lower-cases a text and strips its punctuation.
pub(crate) fn plain(text: &str) -> String {
    let kept = text.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' });
    kept.collect::<String>().to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(positions: &[&str], confidences: &[f64]) -> f64 {
        agreement(Similarity::WordOverlap, positions, confidences, |_, _| false).level
    }

    #[test]
    fn t5_the_level_is_seven_parts_camps_and_three_parts_confidence() {
        let same = ["move the office", "move the office", "move the office"];
        assert_eq!(level(&same, &[0.8, 0.8, 0.8]), 1.0);
        let split = ["move the office", "move the office", "stay where we are today"];
        assert!((level(&split, &[0.5, 0.5, 0.5]) - (0.7 * 2.0 / 3.0 + 0.3)).abs() < 1e-12);
        let apart = ["move the office", "stay where we are", "sell it all"];
        assert!((level(&apart, &[0.5, 0.5, 0.5]) - 0.3).abs() < 1e-12);
        // Two at the ends of the scale: the largest variance there is.
        assert!((level(&same[..2], &[0.0, 1.0]) - 0.7).abs() < 1e-12);
    }

    #[test]
    fn t5_level_is_zero_for_no_position_and_one_for_one() {
        assert_eq!((level(&[], &[]), level(&["alone"], &[0.1])), (0.0, 1.0));
    }

    #[test]
    fn t5_camps_form_around_their_first_member_and_denial_keeps_out() {
        let positions =
            ["adopt microservices now", "do not adopt microservices now", "adopt microservices soon"];
        let found = agreement(Similarity::WordOverlap, &positions, &[0.5; 3], |_, _| false);
        assert_eq!(found.camps, [vec![0, 2], vec![1]]);
        assert_eq!(found.position_score, 2.0 / 3.0);
    }

    #[test]
    fn t5_the_same_words_under_opposed_stances_are_two_camps() {
        let same = ["ban cars in the centre"; 3];
        let opposed = |a: usize, b: usize| (a == 1) != (b == 1);
        let found = agreement(Similarity::WordOverlap, &same, &[0.9; 3], opposed);
        assert_eq!((found.camps, found.position_score), (vec![vec![0, 2], vec![1]], 2.0 / 3.0));
    }

    #[test]
    fn t5_a_position_is_steady_in_other_spelling_but_not_in_other_words() {
        let steady = |a: &str, b: &str| is_steady(Similarity::WordOverlap, a, b);
        assert!(steady("Move, now!", "move now"));
        assert!(steady(
            "We should move the whole office in May",
            "We should move the whole office in spring, May"
        ));
        assert!(!steady("We should move in May", "We should stay until next year"));
        assert!(steady("", "…"));
    }
}

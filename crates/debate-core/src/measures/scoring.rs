//! The composite score of an argument, and what follows from it (P5, P6). A score that is missing is never a 0.

use super::TOLERANCE;

/// The criteria scored by default and their weights, in the order in which they are reported (P5).
pub const DEFAULT_CRITERIA: [(&str, f64); 3] =
    [("logical_strength", 0.4), ("evidence_quality", 0.4), ("novelty", 0.2)];

/// An argument whose composite is below this is asked again (P6).
pub const REJECT_BELOW: f64 = 0.2;

/// An argument whose composite is above this is a good one (P6).
pub const GOOD_ABOVE: f64 = 0.4;

/// A share of good arguments under this is flagged (P6).
pub const GOOD_SHARE_MIN: f64 = 0.8;

/// Returns the weight of a criterion that the contract knows, in (0, 1]; `None` of any other (P5).
#[must_use]
pub fn default_weight(criterion: &str) -> Option<f64> {
    DEFAULT_CRITERIA.iter().find(|(name, _)| *name == criterion).map(|(_, weight)| *weight)
}

/// Returns Σ wᵢ sᵢ / Σ wᵢ over the scores that are there, in the given order (P5).
///
/// Takes pairs of weight (finite, not negative) and score (in [0, 1], or `None` where it could not be had); the result
/// is in [0, 1]. It is `None` where no score is there or those that are weigh nothing.
pub fn composite(weighted: impl IntoIterator<Item = (f64, Option<f64>)>) -> Option<f64> {
    let (mut total, mut weights) = (0.0, 0.0);
    for (weight, score) in weighted {
        if let Some(score) = score {
            total += weight * score;
            weights += weight;
        }
    }
    (weights > 0.0).then(|| total / weights)
}

/// Tells whether an argument must be asked again for its low composite: below 0.2, rounding aside (P6).
#[must_use]
pub fn should_ask_again(composite: f64) -> bool {
    composite < REJECT_BELOW - TOLERANCE
}

/// Returns the share of arguments with a composite above 0.4, rounding aside, in [0, 1]; `None` of no arguments (P6).
#[must_use]
pub fn good_share(composites: &[f64]) -> Option<f64> {
    let good = composites.iter().filter(|composite| **composite > GOOD_ABOVE + TOLERANCE).count();
    (!composites.is_empty()).then(|| good as f64 / composites.len() as f64)
}

/// Tells whether a share of good arguments must be flagged: under 0.8 (P6).
#[must_use]
pub fn should_flag_share(good_share: f64) -> bool {
    good_share < GOOD_SHARE_MIN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_default(scores: [Option<f64>; 3]) -> Option<f64> {
        composite(DEFAULT_CRITERIA.iter().zip(scores).map(|((_, weight), score)| (*weight, score)))
    }

    #[test]
    fn p5_the_contract_weighs_logic_and_evidence_twice_novelty() {
        let all = by_default([Some(0.9), Some(0.5), Some(0.25)]).unwrap();
        assert!((all - 0.61).abs() < 1e-12, "{all}");
        assert_eq!(default_weight("novelty"), Some(0.2));
        assert_eq!(default_weight("charm"), None);
    }

    #[test]
    fn p5_a_missing_score_is_left_out_and_not_zero() {
        let without = by_default([Some(0.9), None, Some(0.3)]).unwrap();
        assert!((without - 0.7).abs() < 1e-12, "{without}");
        assert_eq!(by_default([None; 3]), None);
        assert_eq!(composite([(0.0, Some(1.0))]), None);
    }

    #[test]
    fn p6_a_composite_on_the_threshold_is_neither_rejected_nor_good() {
        // 0.4·0.3 + 0.4·0.05 + 0.2·0.3 is 0.2, but not in binary.
        for scores in [[0.2, 0.2, 0.2], [0.3, 0.05, 0.3], [0.1, 0.3, 0.2], [0.15, 0.15, 0.4]] {
            assert!(!should_ask_again(by_default(scores.map(Some)).unwrap()), "{scores:?}");
        }
        assert!(should_ask_again(0.199));
        assert_eq!(good_share(&[0.4, 0.1 + 0.3, 0.41, 0.9]), Some(0.5));
        assert_eq!(good_share(&[]), None);
    }

    #[test]
    fn p6_a_share_of_four_in_five_is_not_flagged() {
        assert!(!should_flag_share(good_share(&[0.5, 0.5, 0.5, 0.5, 0.1]).unwrap()));
        assert!(should_flag_share(good_share(&[0.5, 0.5, 0.5, 0.1]).unwrap()));
    }
}

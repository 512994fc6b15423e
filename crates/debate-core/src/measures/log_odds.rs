//! Probabilities as log-odds, in nats: how far a role moved, and whether it moved without a reason (P17).

use super::TOLERANCE;
use super::distribution::{Distribution, clip};

/// A move of this many nats or more without a newly cited point counts as conformity (P17).
pub const CONFORMITY_MOVE: f64 = 0.1;

/// Returns ln(p / (1 − p)) with p kept in [1e-6, 1 − 1e-6], so in ±13.8155….
#[must_use]
pub fn logit(probability: f64) -> f64 {
    let probability = clip(probability);
    libm::log(probability / (1.0 - probability))
}

/// Returns the probability of log-odds, in [0, 1].
#[must_use]
pub fn expit(log_odds: f64) -> f64 {
    if log_odds >= 0.0 {
        1.0 / (1.0 + libm::exp(-log_odds))
    } else {
        // Does not lose the smallest probabilities, nor overflow.
        let odds = libm::exp(log_odds);
        odds / (1.0 + odds)
    }
}

/// Returns how far each outcome moved in log-odds; positive where it became more probable (P17).
///
/// An outcome that only one of the two has is left out.
#[must_use]
pub fn moves(before: &Distribution, now: &Distribution) -> Vec<f64> {
    before.as_slice().iter().zip(now.as_slice()).map(|(before, now)| logit(*now) - logit(*before)).collect()
}

/// Tells whether a role's moves count as conformity: one of 0.1 or more, rounding aside, and no newly cited point (P17).
#[must_use]
pub fn counts_as_conformity(moves: &[f64], cites_new_point: bool) -> bool {
    !cites_new_point && moves.iter().any(|log_odds| log_odds.abs() >= CONFORMITY_MOVE - TOLERANCE)
}

/// Tells whether a role came nearer to the mean of what others said, by the sum of absolute differences (P17); never
/// where there are no others.
#[must_use]
pub fn nears(before: &Distribution, now: &Distribution, others: &[&Distribution]) -> bool {
    let given = |from: &Distribution, place: usize| from.as_slice().get(place).copied().unwrap_or_default();
    let mean =
        |place: usize| others.iter().map(|other| given(other, place)).sum::<f64>() / others.len() as f64;
    let distance = |from: &Distribution| -> f64 {
        (0..from.len()).map(|place| (given(from, place) - mean(place)).abs()).sum()
    };
    !others.is_empty() && distance(now) < distance(before) - TOLERANCE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_odds_are_zero_and_certainty_stays_finite() {
        assert_eq!((logit(0.5), expit(0.0)), (0.0, 0.5));
        assert!((logit(0.75) - 1.098_612_288_668_109_8).abs() < 1e-15);
        assert_eq!(logit(1.0), logit(1.0 - 1e-6));
        assert!((logit(0.0) + 13.815_509_557_963_8).abs() < 1e-9);
        assert_eq!((expit(-800.0), expit(800.0)), (0.0, 1.0));
    }

    #[test]
    fn p17_a_move_without_a_new_point_is_conformity() {
        let at = |p: f64| Distribution::new(vec![p, 1.0 - p]).unwrap();
        let moved = moves(&at(0.5), &at(expit(0.1)));
        assert!((moved[0] - 0.1).abs() < 1e-12 && (moved[1] + 0.1).abs() < 1e-12, "{moved:?}");
        assert!(counts_as_conformity(&moved, false));
        assert!(!counts_as_conformity(&moved, true));
        assert!(!counts_as_conformity(&moves(&at(0.5), &at(expit(0.099))), false));
    }

    #[test]
    fn s15_who_nears_the_mean_of_the_others_conforms_and_who_leaves_it_does_not() {
        let at = |p: f64| Distribution::new(vec![p, 1.0 - p]).unwrap();
        let others = [at(0.6), at(0.8)];
        let others: Vec<&Distribution> = others.iter().collect();
        assert!(nears(&at(0.4), &at(0.6), &others) && nears(&at(0.9), &at(0.7), &others));
        assert!(!nears(&at(0.6), &at(0.4), &others) && !nears(&at(0.6), &at(0.8), &others));
        assert!(!nears(&at(0.4), &at(0.6), &[]));
    }
}

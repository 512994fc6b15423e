//! How good a forecast was, once the world has answered (K16). Both scores are losses: smaller is better.

use serde::{Deserialize, Serialize};

use super::distribution::{Distribution, clip};

/// The losses of one forecast.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ProperScores {
    /// ½ Σ (p − o)² over the outcomes, in [0, 1].
    pub brier: f64,
    /// −log₂ of the probability given to what happened, in bits, in [0, 20).
    pub log_bits: f64,
}

/// What one forecast gained over another: its loss − theirs, positive where it was better.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Uplift {
    /// The gain in Brier score, in [−1, 1].
    pub brier: f64,
    /// The gain in log score, in bits.
    pub log_bits: f64,
}

/// What happened is not among the outcomes of the forecast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("outcome {outcome} is not among the {outcomes} of the forecast")]
pub struct UnknownOutcome {
    /// The place of what happened, from 0.
    pub outcome: usize,
    /// How many outcomes the forecast has.
    pub outcomes: usize,
}

impl ProperScores {
    /// Scores a forecast against the place of what happened.
    ///
    /// # Errors
    ///
    /// [`UnknownOutcome`] where the forecast has no such outcome.
    pub fn of(forecast: &Distribution, outcome: usize) -> Result<Self, UnknownOutcome> {
        Ok(Self { brier: brier(forecast, outcome)?, log_bits: log_score_bits(forecast, outcome)? })
    }

    /// Returns what `now` gained over these scores.
    #[must_use]
    pub fn uplift_of(&self, now: &Self) -> Uplift {
        Uplift { brier: self.brier - now.brier, log_bits: self.log_bits - now.log_bits }
    }
}

/// Returns ½ Σ (p − o)² over the outcomes, o being 1 for what happened and 0 for the rest; in [0, 1].
///
/// Of two outcomes this is (p − o)² of either.
///
/// # Errors
///
/// [`UnknownOutcome`] where the forecast has no such outcome.
pub fn brier(forecast: &Distribution, outcome: usize) -> Result<f64, UnknownOutcome> {
    known(forecast, outcome)?;
    let mut sum = 0.0;
    for (place, probability) in forecast.as_slice().iter().enumerate() {
        let miss = if place == outcome { 1.0 - probability } else { *probability };
        sum += miss * miss;
    }
    Ok(sum / 2.0)
}

/// Returns −log₂ of the probability given to what happened, in bits, after clipping to [1e-6, 1 − 1e-6] and renormalising.
///
/// It stays finite (under 20 bits for up to 50 outcomes) however sure the forecast was.
///
/// # Errors
///
/// [`UnknownOutcome`] where the forecast has no such outcome.
pub fn log_score_bits(forecast: &Distribution, outcome: usize) -> Result<f64, UnknownOutcome> {
    let happened = known(forecast, outcome)?;
    let total: f64 = forecast.as_slice().iter().map(|probability| clip(*probability)).sum();
    // Rounding must not make it negative, nor a negative zero.
    Ok((-libm::log2(clip(happened) / total)).max(0.0) + 0.0)
}

fn known(forecast: &Distribution, outcome: usize) -> Result<f64, UnknownOutcome> {
    let outcomes = forecast.len();
    forecast.as_slice().get(outcome).copied().ok_or(UnknownOutcome { outcome, outcomes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(probabilities: &[f64], outcome: usize) -> ProperScores {
        ProperScores::of(&Distribution::new(probabilities.to_vec()).unwrap(), outcome).unwrap()
    }

    #[test]
    fn k16_even_odds_cost_a_quarter_and_one_bit() {
        assert_eq!(score(&[0.5, 0.5], 1), ProperScores { brier: 0.25, log_bits: 1.0 });
    }

    #[test]
    fn k16_brier_of_many_outcomes_is_half_the_sum_of_squares() {
        // ½ (0.5² + 0.3² + 0.2²) with 0.5 on what happened.
        assert!((score(&[0.5, 0.3, 0.2], 0).brier - 0.19).abs() < 1e-15);
        assert_eq!(score(&[0.0, 1.0], 0).brier, 1.0);
        assert_eq!(score(&[0.0, 1.0], 1).brier, 0.0);
    }

    #[test]
    fn k16_a_certain_miss_is_expensive_and_finite() {
        let missed = score(&[0.0, 1.0], 0).log_bits;
        assert!((missed - 19.931_568_569_324_174).abs() < 1e-9, "{missed}");
        let hit = score(&[0.0, 1.0], 1).log_bits;
        assert!(hit > 0.0 && hit < 2e-6, "{hit}");
        assert!(score(&[1.0], 0).log_bits.to_bits() == 0);
    }

    #[test]
    fn k16_a_gain_is_positive_where_the_later_forecast_is_better() {
        let (blind, debated) = (score(&[0.5, 0.5], 0), score(&[0.75, 0.25], 0));
        let uplift = blind.uplift_of(&debated);
        assert!((uplift.brier - 0.1875).abs() < 1e-15, "{uplift:?}");
        assert!((uplift.log_bits - 0.584_962_500_721_156).abs() < 1e-12, "{uplift:?}");
        assert!(debated.uplift_of(&blind).brier < 0.0);
    }

    #[test]
    fn an_outcome_that_the_forecast_has_not_is_refused() {
        let forecast = Distribution::uniform(2).unwrap();
        assert_eq!(ProperScores::of(&forecast, 2), Err(UnknownOutcome { outcome: 2, outcomes: 2 }));
    }
}

//! Probabilities over a question's outcomes, and the repair of those that a model got wrong (P7).
//!
//! A [`Distribution`] cannot be wrong: whatever builds one checks or repairs it first.

use serde::{Deserialize, Serialize};

use super::TOLERANCE;

/// The smallest probability that enters a logarithm (K16); the largest is 1 minus this.
pub const CLIP: f64 = 1e-6;

/// How far from 1 the sum of stated probabilities may be to be repaired, and how much negative mass may be dropped (P29).
pub const REPAIRED_MAX: f64 = 0.05;

/// Probabilities over outcomes in the question's order: at least one, none negative, together 1 ± 1e-9 (P7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>")]
pub struct Distribution(Vec<f64>);

/// What had to be changed to make a distribution of a reply (P7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Repair {
    /// A negative probability became 0.
    NegativeClipped,
    /// An outcome without a probability got its share of what the others had left.
    MissingFilled,
    /// The sum was not 1 ± 1e-9, and every probability was divided by it.
    Normalised,
}

impl Repair {
    /// Returns the name used in results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NegativeClipped => "negative_clipped",
            Self::MissingFilled => "completed",
            Self::Normalised => "normalized",
        }
    }
}

/// Numbers that are not a distribution.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// There is no outcome.
    #[error("a distribution needs at least one outcome")]
    Empty,
    /// A probability is negative or not finite.
    #[error("the probability of outcome {outcome} is {probability}")]
    OutOfRange {
        /// The place of the outcome, from 0.
        outcome: usize,
        /// What stands there.
        probability: f64,
    },
    /// The probabilities do not add up.
    #[error("the probabilities sum to {sum}, not to 1")]
    Sum {
        /// What they sum to.
        sum: f64,
    },
}

/// Numbers that cannot be repaired; the question has to be asked again (P7, P29).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RepairError {
    /// No outcome has a probability, so there is nothing to repair.
    #[error("no outcome has a probability")]
    NothingStated,
    /// A probability is infinite or not a number, or the sum is too large to be one.
    #[error("a probability is not a finite number")]
    NotFinite,
    /// After clipping and filling, nothing is left to divide by.
    #[error("the probabilities sum to 0")]
    NoMass,
    /// The sum is too far from 1 for a slip.
    #[error("the probabilities must be from 0 to 1 and sum to 1; they sum to {}", short(*sum))]
    SumOff {
        /// The sum, negative probabilities counted as 0 and missing ones filled in.
        sum: f64,
    },
    /// A probability is too far below 0 for a slip.
    #[error("each probability must be from 0 to 1; one is {}", short(*probability))]
    Negative {
        /// The smallest of them.
        probability: f64,
    },
}

impl Distribution {
    /// Takes probabilities that are already a distribution, unchanged.
    ///
    /// # Errors
    ///
    /// [`DistributionError`] where there is no outcome, one is negative or not finite, or the sum is not 1 ± 1e-9.
    pub fn new(probabilities: Vec<f64>) -> Result<Self, DistributionError> {
        if probabilities.is_empty() {
            return Err(DistributionError::Empty);
        }
        let out_of_range = |probability: &f64| !probability.is_finite() || *probability < 0.0;
        if let Some(outcome) = probabilities.iter().position(out_of_range) {
            return Err(DistributionError::OutOfRange { outcome, probability: probabilities[outcome] });
        }
        let sum: f64 = probabilities.iter().sum();
        if (sum - 1.0).abs() > TOLERANCE {
            return Err(DistributionError::Sum { sum });
        }
        Ok(Self(probabilities))
    }

    /// Makes a distribution of what a model stated, `None` where it left an outcome out, and tells what was changed (P7).
    ///
    /// In this order: negative becomes 0; the missing share max(0, 1 − sum) equally; all are divided by the sum unless
    /// it is 1 ± 1e-9 already. A repair is named only where it changed something, and changes a sum by at most
    /// [`REPAIRED_MAX`] (P29).
    ///
    /// # Errors
    ///
    /// [`RepairError`] where nothing is stated at all, a number is not finite, the sum is 0 or farther than
    /// [`REPAIRED_MAX`] from 1, or the negative ones sum to less than −[`REPAIRED_MAX`].
    pub fn repair(stated: &[Option<f64>]) -> Result<(Self, Vec<Repair>), RepairError> {
        if stated.iter().flatten().next().is_none() {
            return Err(RepairError::NothingStated);
        }
        if stated.iter().flatten().any(|probability| !probability.is_finite()) {
            return Err(RepairError::NotFinite);
        }
        let mut repairs = Vec::new();
        if stated.iter().flatten().any(|probability| *probability < 0.0) {
            repairs.push(Repair::NegativeClipped);
        }
        let missing = stated.iter().filter(|probability| probability.is_none()).count();
        if missing > 0 {
            repairs.push(Repair::MissingFilled);
        }
        let sum_stated: f64 = stated.iter().flatten().map(|probability| without_sign(*probability)).sum();
        let share = if missing == 0 { 0.0 } else { without_sign(1.0 - sum_stated) / missing as f64 };
        let filled: Vec<f64> =
            stated.iter().map(|probability| probability.map_or(share, without_sign)).collect();
        let sum: f64 = filled.iter().sum();
        if !sum.is_finite() {
            return Err(RepairError::NotFinite);
        }
        if sum <= 0.0 {
            return Err(RepairError::NoMass);
        }
        let negative: f64 = stated.iter().flatten().map(|probability| probability.min(0.0)).sum();
        if negative < -REPAIRED_MAX - TOLERANCE {
            let probability = stated.iter().flatten().copied().fold(0.0, f64::min);
            return Err(RepairError::Negative { probability });
        }
        if (sum - 1.0).abs() > REPAIRED_MAX + TOLERANCE {
            return Err(RepairError::SumOff { sum });
        }
        if (sum - 1.0).abs() > TOLERANCE {
            repairs.push(Repair::Normalised);
        }
        // What a sum may be off by must not make a probability larger than 1.
        let masses = Self::from_masses(filled).0.into_iter().map(|probability| probability.min(1.0));
        Ok((Self(masses.collect()), repairs))
    }

    /// Returns the distribution that prefers no outcome; `None` of no outcomes.
    #[must_use]
    pub fn uniform(outcomes: usize) -> Option<Self> {
        (outcomes > 0).then(|| Self(vec![1.0 / outcomes as f64; outcomes]))
    }

    /// Returns the probabilities in the question's order of outcomes.
    #[must_use]
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }

    /// Returns how many outcomes there are, at least 1.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a distribution is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the place of the most probable outcome, the first of several.
    #[must_use]
    pub fn argmax(&self) -> usize {
        let mut best = 0;
        for (outcome, probability) in self.0.iter().enumerate() {
            if *probability > self.0[best] {
                best = outcome;
            }
        }
        best
    }

    /// Returns the distribution with every probability in [1e-6, 1 − 1e-6] before it is renormalised, for logarithms
    /// (K16).
    ///
    /// Of one outcome it is 1 again.
    #[must_use]
    pub fn clipped(&self) -> Self {
        let mut clipped: Vec<f64> = self.0.iter().map(|probability| clip(*probability)).collect();
        divide_by_sum(&mut clipped);
        Self(clipped)
    }

    /// Takes masses that are not negative, finite, and not all 0, and divides them by their sum unless it is 1 ± 1e-9.
    pub(super) fn from_masses(mut masses: Vec<f64>) -> Self {
        let sum: f64 = masses.iter().sum();
        if (sum - 1.0).abs() > TOLERANCE {
            divide_by_sum(&mut masses);
        }
        debug_assert!(Self::new(masses.clone()).is_ok(), "not a distribution: {masses:?}");
        Self(masses)
    }
}

impl TryFrom<Vec<f64>> for Distribution {
    type Error = DistributionError;

    fn try_from(probabilities: Vec<f64>) -> Result<Self, Self::Error> {
        Self::new(probabilities)
    }
}

/// Returns half the sum of absolute differences: 0 for the same distribution, 1 where no outcome is shared.
///
/// An outcome that only one of the two has counts as impossible in the other.
#[must_use]
pub fn total_variation(a: &Distribution, b: &Distribution) -> f64 {
    let (longer, shorter) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let (shared, extra) = longer.0.split_at(shorter.len());
    let shared: f64 = shared.iter().zip(&shorter.0).map(|(p, q)| (p - q).abs()).sum();
    ((shared + extra.iter().sum::<f64>()) / 2.0).min(1.0)
}

/// Returns a probability that a logarithm can take: in [1e-6, 1 − 1e-6] (K16).
pub(super) fn clip(probability: f64) -> f64 {
    probability.clamp(CLIP, 1.0 - CLIP)
}

/// Returns 0 for what is negative (−0 too), anything else as it is.
fn without_sign(probability: f64) -> f64 {
    if probability > 0.0 { probability } else { 0.0 }
}

/// Returns a number with at most four places.
fn short(number: f64) -> String {
    let shown = format!("{number:.4}");
    shown.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn divide_by_sum(masses: &mut [f64]) {
    let sum: f64 = masses.iter().sum();
    for mass in masses {
        *mass /= sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(stated: &[Option<f64>], expected: &[f64], repairs: &[Repair]) {
        let (repaired, made) = Distribution::repair(stated).unwrap();
        assert_eq!(made, repairs, "{stated:?}");
        assert_eq!(repaired.len(), expected.len());
        for (got, want) in repaired.as_slice().iter().zip(expected) {
            assert!((got - want).abs() < 1e-12, "{stated:?} gave {repaired:?}");
        }
    }

    #[test]
    fn p7_repairs_are_made_in_order_and_named() {
        use Repair::{MissingFilled, NegativeClipped, Normalised};
        check(&[Some(0.7), Some(0.3)], &[0.7, 0.3], &[]);
        check(&[Some(0.7), Some(0.3 + 5e-10)], &[0.7, 0.3 + 5e-10], &[]);
        check(&[Some(1.0 + 9e-10), Some(0.0)], &[1.0, 0.0], &[]);
        check(&[Some(0.6), Some(0.36)], &[0.625, 0.375], &[Normalised]);
        check(&[Some(0.63), Some(0.42)], &[0.6, 0.4], &[Normalised]);
        check(&[Some(1.0), Some(-0.05)], &[1.0, 0.0], &[NegativeClipped]);
        check(&[Some(0.6), Some(-0.02), Some(0.36)], &[0.625, 0.0, 0.375], &[NegativeClipped, Normalised]);
        check(&[Some(0.4), None, None], &[0.4, 0.3, 0.3], &[MissingFilled]);
        check(&[Some(0.63), Some(0.42), None], &[0.6, 0.4, 0.0], &[MissingFilled, Normalised]);
        check(&[Some(-0.01), None], &[0.0, 1.0], &[NegativeClipped, MissingFilled]);
    }

    #[test]
    fn p7_what_cannot_be_repaired_is_refused() {
        for (stated, error) in [
            (vec![], RepairError::NothingStated),
            (vec![None, None], RepairError::NothingStated),
            (vec![Some(0.0), Some(0.0)], RepairError::NoMass),
            (vec![Some(-0.5), Some(-0.5)], RepairError::NoMass),
            (vec![Some(f64::NAN), Some(0.5)], RepairError::NotFinite),
            (vec![Some(f64::INFINITY), None], RepairError::NotFinite),
            (vec![Some(f64::MAX), Some(f64::MAX)], RepairError::NotFinite),
            (vec![Some(2.0), Some(0.25)], RepairError::SumOff { sum: 2.25 }),
            (vec![Some(100.0), Some(100.0)], RepairError::SumOff { sum: 200.0 }),
            (vec![Some(0.5), Some(0.25)], RepairError::SumOff { sum: 0.75 }),
            (vec![Some(1.25), None], RepairError::SumOff { sum: 1.25 }),
            (vec![Some(1.0), Some(-0.2)], RepairError::Negative { probability: -0.2 }),
            (vec![Some(-1.0), None], RepairError::Negative { probability: -1.0 }),
        ] {
            assert_eq!(Distribution::repair(&stated), Err(error), "{stated:?}");
        }
    }

    #[test]
    fn p7_negative_zero_is_zero_and_no_repair() {
        let (repaired, repairs) = Distribution::repair(&[Some(1.0), Some(-0.0)]).unwrap();
        assert!(repairs.is_empty());
        assert!(repaired.as_slice()[1].is_sign_positive());
    }

    #[test]
    fn what_is_read_back_is_checked() {
        let read = |text: &str| serde_json::from_str::<Distribution>(text);
        assert_eq!(serde_json::to_string(&read("[0.25,0.75]").unwrap()).unwrap(), "[0.25,0.75]");
        for wrong in ["[]", "[0.5,0.6]", "[1.5,-0.5]", "[null]", "{}"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_first_of_equally_probable_outcomes_leads() {
        assert_eq!(Distribution::new(vec![0.2, 0.4, 0.4]).unwrap().argmax(), 1);
        assert_eq!(Distribution::uniform(3).unwrap().argmax(), 0);
        assert_eq!(Distribution::uniform(0), None);
    }

    #[test]
    fn k16_clipping_leaves_no_zero_and_a_sum_of_one() {
        let clipped = Distribution::new(vec![1.0, 0.0]).unwrap().clipped();
        assert_eq!(clipped.as_slice(), [1.0 - 1e-6, 1e-6]);
        assert_eq!(Distribution::uniform(1).unwrap().clipped().as_slice(), [1.0]);
    }

    #[test]
    fn total_variation_counts_what_only_one_side_has() {
        let two = Distribution::new(vec![0.5, 0.5]).unwrap();
        let three = Distribution::new(vec![0.5, 0.25, 0.25]).unwrap();
        assert_eq!(total_variation(&two, &three), 0.25);
        assert_eq!(total_variation(&three, &two), 0.25);
        let (yes, no) =
            (Distribution::new(vec![1.0, 0.0]).unwrap(), Distribution::new(vec![0.0, 1.0]).unwrap());
        assert_eq!(total_variation(&yes, &no), 1.0);
    }
}

//! How far the roles agree, per outcome and over all, and whether they came closer (P8, P9, P13).

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};

use super::TOLERANCE;
use super::distribution::Distribution;
use super::panel::Panel;
use super::pooling::linear;

/// From this standard deviation of the roles' probabilities on, an outcome counts as disputed (P13).
pub const DISPUTED_SD: f64 = 0.1;

/// How far a panel agrees; lists have one entry per outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consensus {
    /// The mean over all members (P7).
    pub probability: Distribution,
    /// The population standard deviation of the members' probabilities, in [0, 0.5] (P8).
    pub sd: Vec<f64>,
    /// 1 − sd/sd_max, in [0, 1]: 1 where all say the same (P8).
    pub scores: Vec<f64>,
    /// The scores' mean, weighted by `probability` unless by other ones, in [0, 1] (P8).
    pub overall: f64,
}

/// Where the roles are heading on one outcome (P9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Their standard deviation fell.
    Toward,
    /// Their standard deviation rose.
    Away,
}

impl Consensus {
    /// Measures a panel.
    #[must_use]
    pub fn of<D: Borrow<Distribution>>(panel: &Panel<'_, D>) -> Self {
        let probability = linear(panel);
        let sd = spreads(panel);
        let sd_max = sd_max(panel.members());
        let scores: Vec<f64> = sd.iter().map(|sd| score(*sd, sd_max)).collect();
        let overall = overall(&scores, probability.as_slice());
        Self { probability, sd, scores, overall }
    }

    /// Weighs the outcomes by other probabilities: those of the consensus as it was pooled (P8, P18).
    #[must_use]
    pub fn weighted_by(self, pooled: &Distribution) -> Self {
        Self { overall: overall(&self.scores, pooled.as_slice()), ..self }
    }
}

/// Returns √(⌊n/2⌋·⌈n/2⌉)/n, the largest population standard deviation that n values in [0, 1] can have (P8).
///
/// It is 0 for one value and for none.
#[must_use]
pub fn sd_max(members: usize) -> f64 {
    if members < 2 {
        return 0.0;
    }
    let (low, high) = ((members / 2) as f64, members.div_ceil(2) as f64);
    libm::sqrt(low * high) / members as f64
}

/// Returns 1 − sd/sd_max, kept in [0, 1]; 1 where no spread is possible, as with one role (P8).
#[must_use]
pub fn score(sd: f64, sd_max: f64) -> f64 {
    if sd_max > 0.0 { (1.0 - sd / sd_max).clamp(0.0, 1.0) } else { 1.0 }
}

/// Returns the mean of per-outcome scores, weighted by the outcomes' consensus probabilities, in [0, 1] (P8).
///
/// So many unlikely outcomes, on which agreeing is easy, do not drown a disagreement.
#[must_use]
pub fn overall(scores: &[f64], weights: &[f64]) -> f64 {
    let (mut total, mut sum) = (0.0, 0.0);
    for (score, weight) in scores.iter().zip(weights) {
        total += weight * score;
        sum += weight;
    }
    if sum > 0.0 { total / sum } else { 1.0 }
}

/// Returns the population standard deviation of the members' probabilities, one per outcome.
#[must_use]
pub fn spreads<D: Borrow<Distribution>>(panel: &Panel<'_, D>) -> Vec<f64> {
    let means = panel.means_of(|probability| probability);
    let mut spreads = vec![0.0; panel.outcomes()];
    for row in panel.rows() {
        for ((spread, mean), probability) in spreads.iter_mut().zip(&means).zip(row) {
            *spread += (probability - mean) * (probability - mean);
        }
    }
    let members = panel.members() as f64;
    for spread in &mut spreads {
        *spread = libm::sqrt(*spread / members);
    }
    spreads
}

/// Tells whether an outcome with this standard deviation must be listed as disputed: 0.1 or more, rounding aside (P13).
#[must_use]
pub fn is_disputed(sd: f64) -> bool {
    sd >= DISPUTED_SD - TOLERANCE
}

/// Returns where the roles are heading, from the standard deviations of the round before and of this one; `None` where
/// they differ by less than 1e-9 (P9).
#[must_use]
pub fn direction(sd_before: f64, sd_now: f64) -> Option<Direction> {
    let change = sd_now - sd_before;
    if change.abs() < TOLERANCE {
        return None;
    }
    Some(if change < 0.0 { Direction::Toward } else { Direction::Away })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rows: &[&[f64]]) -> Consensus {
        let members: Vec<Distribution> =
            rows.iter().map(|row| Distribution::new(row.to_vec()).unwrap()).collect();
        Consensus::of(&Panel::new(&members).unwrap())
    }

    #[test]
    fn p8_one_role_gives_consensus_one() {
        let alone = of(&[&[0.3, 0.7]]);
        assert_eq!((alone.scores, alone.overall), (vec![1.0, 1.0], 1.0));
    }

    #[test]
    fn p8_roles_split_in_two_certain_camps_give_consensus_zero() {
        for members in 2..=9_usize {
            let rows: Vec<&[f64]> =
                (0..members).map(|i| if i % 2 == 0 { &[1.0, 0.0][..] } else { &[0.0, 1.0][..] }).collect();
            let split = of(&rows);
            assert!(split.overall < 1e-12, "{members}: {split:?}");
        }
    }

    #[test]
    fn p8_a_disagreement_is_not_drowned_by_unlikely_outcomes() {
        let rows: [&[f64]; 2] = [&[0.9, 0.1, 0.0, 0.0, 0.0, 0.0], &[0.1, 0.9, 0.0, 0.0, 0.0, 0.0]];
        let split = of(&rows);
        assert!((split.overall - 0.2).abs() < 1e-12, "{split:?}");
    }

    #[test]
    fn p8_the_largest_spread_of_five_is_that_of_two_against_three() {
        assert!((sd_max(5) - 0.489_897_948_556_635_6).abs() < 1e-15);
        assert_eq!((sd_max(0), sd_max(1), sd_max(2), sd_max(4)), (0.0, 0.0, 0.5, 0.5));
    }

    #[test]
    fn p9_a_change_too_small_to_matter_has_no_direction() {
        assert_eq!(direction(0.2, 0.1), Some(Direction::Toward));
        assert_eq!(direction(0.1, 0.2), Some(Direction::Away));
        assert_eq!(direction(0.1, 0.1 + 9e-10), None);
        assert_eq!(direction(0.0, 1.1e-9), Some(Direction::Away));
        assert_eq!(serde_json::to_string(&Direction::Toward).unwrap(), "\"toward\"");
    }

    #[test]
    fn p13_a_spread_of_a_tenth_is_disputed_however_it_rounds() {
        for (a, b) in [(0.4, 0.6), (0.1, 0.3), (0.7, 0.9), (0.55, 0.75)] {
            assert!(is_disputed(of(&[&[a, 1.0 - a], &[b, 1.0 - b]]).sd[0]), "{a} {b}");
        }
        assert!(!is_disputed(0.0999));
    }
}

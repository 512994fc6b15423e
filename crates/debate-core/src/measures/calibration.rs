//! Whether what is given a probability happens as often as that: the reliability table of many forecasts, and how far
//! being right about that, and telling cases apart, makes up their losses (K16).
//!
//! A question with two outcomes is one probability, that of one of them: the other says the same again. Of more outcomes
//! each is a probability that came true or did not. Losses are taken apart as Murphy does (1973, "A new vector
//! partition of the probability score"), the log score as Weijs et al. do (2010, "Kullback–Leibler divergence as a forecast
//! skill score"), both for questions with two outcomes alone: Murphy's classes are whole vectors of probabilities, which
//! bins of single ones are only there. Both are exact for forecasts that take few values; of those in bins, what differs
//! inside of a bin is a term of its own (Stephenson et al., 2008, "Two extra components in the Brier score decomposition").

use serde::Serialize;

use super::TOLERANCE;
use super::distribution::{Distribution, clip};
use super::intervals::{Interval, share_95};
use super::proper_scores::{brier, log_score_bits};

/// How many bins there are, each a tenth wide.
const BINS: usize = 10;

/// Forecast probabilities by tenths, with how often they came true.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Calibration {
    bins: [Sums; BINS],
    /// Of forecasts with two outcomes alone, each with its weight.
    binary: [Weighted; BINS],
    binary_forecasts: u64,
    binary_brier: f64,
    binary_bits: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Weighted {
    weight: f64,
    probability: f64,
    happened: f64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    count: u64,
    probability: f64,
    happened: u64,
}

/// The probabilities of one tenth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bin {
    /// The smallest probability in it.
    pub from: f64,
    /// Where the next one begins; the last one holds 1 as well.
    pub to: f64,
    /// How many probabilities fell into it: of two outcomes that of one, of more each.
    pub count: u64,
    /// Their mean; null without any.
    pub mean_probability: Option<f64>,
    /// The share of them that came true; null without any.
    pub share_happened: Option<f64>,
    /// Its 95 % interval, the probabilities taken as independent; null without any.
    pub share_interval: Option<Interval>,
}

/// A mean loss and what it is made of: loss = reliability − resolution + uncertainty + within bins.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Decomposition {
    /// How many forecasts there are.
    pub forecasts: u64,
    /// How many questions these are about: their weights' sum, each question having one in all.
    pub questions: u64,
    /// Their mean loss, each with its weight.
    pub loss: f64,
    /// How far probabilities are from how often they came true; 0 is best.
    pub reliability: f64,
    /// How far what came true differs between bins; more is better.
    pub resolution: f64,
    /// The loss of always giving the share that came true overall, which is no merit or fault of the forecasts.
    pub uncertainty: f64,
    /// What differs inside of bins.
    pub within_bins: f64,
}

impl Sums {
    fn add(&mut self, probability: f64, happened: bool) {
        self.count += 1;
        self.probability += probability;
        self.happened += u64::from(happened);
    }

    fn mean(&self, sum: f64) -> Option<f64> {
        (self.count > 0).then(|| sum / self.count as f64)
    }
}

impl Weighted {
    fn add(&mut self, probability: f64, happened: bool, weight: f64) {
        self.weight += weight;
        self.probability += weight * probability;
        self.happened += if happened { weight } else { 0.0 };
    }

    /// Returns the weight, the mean probability and the share that came true; `None` without any.
    fn means(&self) -> Option<(f64, f64, f64)> {
        (self.weight > 0.0)
            .then(|| (self.weight, self.probability / self.weight, self.happened / self.weight))
    }
}

impl Calibration {
    /// Counts a forecast in, given the place of what happened, that of the one of two outcomes that is counted, and the
    /// forecast's weight among those of the same question; a place that it has not counts nothing. Bins count every forecast
    /// as one.
    pub fn add(&mut self, forecast: &Distribution, happened: usize, of_two: usize, weight: f64) {
        let (Ok(brier), Ok(bits)) = (brier(forecast, happened), log_score_bits(forecast, happened)) else {
            return;
        };
        let is_binary = forecast.len() == 2;
        if is_binary {
            self.binary_forecasts += 1;
            self.binary_brier += weight * brier;
            self.binary_bits += weight * bits;
        }
        let is_counted = |place: usize| !is_binary || place == of_two;
        let counted = forecast.as_slice().iter().enumerate().filter(|(place, _)| is_counted(*place));
        for (place, probability) in counted {
            // Truncation picks the tenth, and rounding must not: 1 - 0.2 belongs to the bin from 0.8.
            let bin = (((probability + TOLERANCE) * BINS as f64) as usize).min(BINS - 1);
            self.bins[bin].add(*probability, place == happened);
            if is_binary {
                self.binary[bin].add(*probability, place == happened, weight);
            }
        }
    }

    /// Returns the bins from 0 to 1, empty ones included.
    #[must_use]
    pub fn bins(&self) -> Vec<Bin> {
        let bins = self.bins.iter().enumerate();
        bins.map(|(place, sums)| Bin {
            from: place as f64 / BINS as f64,
            to: (place + 1) as f64 / BINS as f64,
            count: sums.count,
            mean_probability: sums.mean(sums.probability),
            share_happened: sums.mean(sums.happened as f64),
            share_interval: share_95(sums.happened, sums.count),
        })
        .collect()
    }

    /// Takes the mean Brier score of the forecasts with two outcomes apart; `None` without any.
    #[must_use]
    pub fn brier(&self) -> Option<Decomposition> {
        let square = |one: f64, other: f64| (one - other) * (one - other);
        self.decomposed(self.binary_brier, square, |share| share * (1.0 - share))
    }

    /// Takes their mean log score, in bits, apart; `None` without any.
    #[must_use]
    pub fn log_bits(&self) -> Option<Decomposition> {
        self.decomposed(self.binary_bits, divergence, |share| {
            part(share, share) + part(1.0 - share, 1.0 - share)
        })
    }

    /// Sums the terms over bins, `distance` telling how far the first is from the second, `entropy` what a share costs.
    fn decomposed(
        &self,
        losses: f64,
        distance: impl Fn(f64, f64) -> f64,
        entropy: impl Fn(f64) -> f64,
    ) -> Option<Decomposition> {
        let (forecasts, weights) =
            (self.binary_forecasts, self.binary.iter().map(|bin| bin.weight).sum::<f64>());
        if forecasts == 0 || weights <= 0.0 {
            return None;
        }
        let filled: Vec<(f64, f64, f64)> = self.binary.iter().filter_map(Weighted::means).collect();
        let mean_of = |of: &dyn Fn(f64, f64) -> f64| {
            filled.iter().map(|(weight, mean, share)| weight * of(*mean, *share)).sum::<f64>() / weights
        };
        let overall = mean_of(&|_, share| share);
        let loss = losses / weights;
        let questions = weights.round() as u64;
        let reliability = mean_of(&|mean, share| distance(share, mean));
        let resolution = mean_of(&|_, share| distance(share, overall));
        let uncertainty = entropy(overall);
        let within_bins = loss - (reliability - resolution + uncertainty);
        Some(Decomposition { forecasts, questions, loss, reliability, resolution, uncertainty, within_bins })
    }
}

/// Returns what it costs to give `given` where `share` holds, in bits, above the least possible.
fn divergence(share: f64, given: f64) -> f64 {
    let extra = |share: f64, given: f64| part(share, given) - part(share, share);
    extra(share, given) + extra(1.0 - share, 1.0 - given)
}

/// Returns −share · log₂ of what is given, clipped as the log score is.
fn part(share: f64, given: f64) -> f64 {
    if share == 0.0 { 0.0 } else { -share * libm::log2(clip(given)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(forecasts: &[(&[f64], usize)]) -> Calibration {
        let mut calibration = Calibration::default();
        for (probabilities, happened) in forecasts {
            calibration.add(&Distribution::new(probabilities.to_vec()).unwrap(), *happened, 0, 1.0);
        }
        calibration
    }

    fn close_to(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
    }

    #[test]
    fn k16_every_probability_is_counted_in_its_tenth_and_of_two_the_first() {
        let bins =
            counted(&[(&[0.7, 0.3], 0), (&[0.75, 0.25], 1), (&[1.0, 0.0], 0), (&[0.1, 0.2, 0.7], 2)]).bins();
        let counts: Vec<u64> = bins.iter().map(|bin| bin.count).collect();
        assert_eq!(counts, [0, 1, 1, 0, 0, 0, 0, 3, 0, 1]);
        assert_eq!(bins[2].share_happened, Some(0.0));
        assert_eq!(bins[7].share_happened, Some(2.0 / 3.0));
        assert_eq!((bins[9].from, bins[9].to, bins[9].share_happened), (0.9, 1.0, Some(1.0)));
        assert_eq!((bins[0].mean_probability, bins[0].share_happened), (None, None));
    }

    #[test]
    fn k16_who_always_says_the_same_tells_no_cases_apart() {
        // 30 % always, and three of ten come true: calibrated, and without any resolution.
        let always: &[f64] = &[0.3, 0.7];
        let cases: Vec<(&[f64], usize)> = (0..10).map(|case| (always, usize::from(case >= 3))).collect();
        for found in [counted(&cases).brier().unwrap(), counted(&cases).log_bits().unwrap()] {
            close_to(found.reliability, 0.0);
            close_to(found.resolution, 0.0);
            close_to(found.loss, found.uncertainty);
        }
        close_to(counted(&cases).brier().unwrap().uncertainty, 0.21);
    }

    #[test]
    fn k16_a_loss_is_reliability_less_resolution_plus_uncertainty() {
        // 0.8 comes true in three of four cases, 0.2 in one of four.
        let (sure, doubtful): (&[f64], &[f64]) = (&[0.8, 0.2], &[0.2, 0.8]);
        let calibration = counted(&[
            (sure, 0),
            (sure, 0),
            (doubtful, 1),
            (doubtful, 1),
            (sure, 0),
            (doubtful, 1),
            (sure, 1),
            (doubtful, 0),
        ]);
        let found = calibration.brier().unwrap();
        assert_eq!(found.forecasts, 8);
        close_to(found.loss, (3.0 * 0.04 + 0.64) / 4.0);
        close_to(found.reliability, 0.05 * 0.05);
        close_to(found.resolution, 0.25 * 0.25);
        close_to(found.uncertainty, 0.25);
        close_to(found.within_bins, 0.0);
        let bits = calibration.log_bits().unwrap();
        close_to(bits.loss, -(3.0 * libm::log2(0.8) + libm::log2(0.2)) / 4.0);
        let entropy = -(0.75 * libm::log2(0.75) + 0.25 * libm::log2(0.25));
        close_to(bits.uncertainty, 1.0);
        close_to(bits.resolution, 1.0 - entropy);
        close_to(bits.reliability, bits.loss - entropy);
        close_to(bits.within_bins, 0.0);
    }

    #[test]
    fn k16_differences_within_a_bin_are_a_separate_term() {
        // Within-bin variance less covariance, by hand: two forecasts in the bin [0.8, 0.9).
        let found = counted(&[(&[0.85, 0.15], 0), (&[0.81, 0.19], 1)]).brier().unwrap();
        let (variance, covariance) = (0.02 * 0.02, 0.5 * 0.02 * 2.0);
        close_to(found.within_bins, variance - covariance);
        close_to(found.loss, f64::midpoint(0.15 * 0.15, 0.81 * 0.81));
    }

    #[test]
    fn k16_questions_with_many_outcomes_are_not_taken_apart() {
        let many: (&[f64], usize) = (&[0.5, 0.3, 0.2], 0);
        let calibration = counted(&[many, (&[1.0, 0.0, 0.0], 0)]);
        assert_eq!((calibration.brier(), calibration.log_bits()), (None, None));
        let mixed = counted(&[many, (&[0.6, 0.4], 0)]).brier().unwrap();
        assert_eq!(mixed.forecasts, 1);
        close_to(mixed.loss, 0.16);
        assert_eq!(counted(&[]).brier(), None);
        assert_eq!(counted(&[(&[0.5, 0.5], 7)]).brier(), None);
    }

    #[test]
    fn s4_a_question_counts_once_however_often_it_was_forecast() {
        let (sure, doubtful) =
            (Distribution::new(vec![0.8, 0.2]).unwrap(), Distribution::new(vec![0.2, 0.8]).unwrap());
        let mut often = Calibration::default();
        (0..31).for_each(|_| often.add(&sure, 0, 0, 1.0 / 31.0));
        often.add(&doubtful, 0, 0, 1.0);
        let found = often.brier().unwrap();
        assert_eq!((found.forecasts, found.questions), (32, 2));
        let once = counted(&[(&[0.8, 0.2], 0), (&[0.2, 0.8], 0)]).brier().unwrap();
        close_to(found.loss, once.loss);
        close_to(found.resolution, once.resolution);
        close_to(found.reliability, once.reliability);
    }

    #[test]
    fn s14_the_order_of_two_outcomes_changes_nothing() {
        let cases = [(0.3, true), (0.35, false), (0.8, true), (0.2, false)];
        let [one, other] = [0, 1].map(|place| {
            let mut calibration = Calibration::default();
            for (probability, came_true) in cases {
                let both = if place == 0 {
                    vec![probability, 1.0 - probability]
                } else {
                    vec![1.0 - probability, probability]
                };
                let happened = if came_true { place } else { 1 - place };
                calibration.add(&Distribution::new(both).unwrap(), happened, place, 1.0);
            }
            calibration
        });
        assert_eq!(
            (one.bins(), one.brier(), one.log_bits()),
            (other.bins(), other.brier(), other.log_bits())
        );
    }

    #[test]
    fn s20_rounding_moves_no_probability_into_another_bin() {
        // 0.1 + 0.7 is a little less than 0.8.
        let found = counted(&[(&[0.1 + 0.7, 1.0 - (0.1 + 0.7)], 0)]);
        assert_eq!((found.bins()[7].count, found.bins()[8].count), (0, 1));
    }

    #[test]
    fn k16_certain_misses_stay_finite() {
        let found = counted(&[(&[1.0, 0.0], 1)]).log_bits().unwrap();
        assert!(
            found.loss > 19.0 && found.reliability.is_finite() && found.within_bins.abs() < 1e-5,
            "{found:?}"
        );
    }
}

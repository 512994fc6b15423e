//! How far a mean could have come out otherwise, without a belief in how its values are distributed: the bootstrap (Efron
//! and Tibshirani, 1993, "An Introduction to the Bootstrap").

use super::intervals::Interval;
use super::shuffle::SplitMix64;
use super::summary;

/// How often values are drawn anew. A percentile interval wants one or two thousand.
const DRAWS: usize = 2_000;
/// What is cut off at either end, so that 95 % remain.
const TAIL: f64 = 0.025;

/// Returns the mean of values and its 95 % percentile interval; `None` without any. Equal values and seeds have equal
/// intervals.
///
/// Each value is one case, such as a debate's gain over its own baseline, so that cases are drawn as pairs.
#[must_use]
pub fn mean_95(values: &[f64], seed: u64) -> Option<Interval> {
    let mean = summary::mean(values)?;
    let mut generator = SplitMix64::new(seed);
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = (0..values.len()).map(|_| values[generator.below(values.len())]);
            drawn.sum::<f64>() / values.len() as f64
        })
        .collect();
    means.sort_unstable_by(f64::total_cmp);
    let cut = (DRAWS as f64 * TAIL) as usize;
    Some(Interval { mean, low: means[cut], high: means[DRAWS - 1 - cut] })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::intervals;

    #[test]
    fn an_interval_holds_the_mean_and_is_the_same_every_time() {
        let values: Vec<f64> = (0..40).map(|place| f64::from(place % 7) - 2.0).collect();
        let found = mean_95(&values, 1).unwrap();
        assert_eq!(Some(found), mean_95(&values, 1));
        assert!(found.low < found.mean && found.mean < found.high, "{found:?}");
        // Of forty values it is close to Student's.
        let students = intervals::mean_95(&values).unwrap();
        assert!(
            (found.low - students.low).abs() < 0.1 && (found.high - students.high).abs() < 0.1,
            "{found:?}"
        );
    }

    #[test]
    fn values_that_are_all_the_same_leave_no_doubt_and_none_at_all_no_interval() {
        assert_eq!(mean_95(&[0.5; 9], 3), Some(Interval { mean: 0.5, low: 0.5, high: 0.5 }));
        assert_eq!(mean_95(&[], 3), None);
    }
}

//! How far a mean could have come out otherwise, without a belief in how its values are distributed: the bootstrap (Efron
//! and Tibshirani, 1993, "An Introduction to the Bootstrap").

use super::intervals::Interval;
use super::shuffle::SplitMix64;
use super::summary;

/// How often values are drawn anew. A percentile interval wants one or two thousand.
const DRAWS: usize = 2_000;
/// What is cut off at either end, so that 95 % remain.
const TAIL: f64 = 0.025;

/// Returns the mean of the values of all cases and its 95 % percentile interval; `None` without any. Equal values and
/// seeds have equal intervals.
///
/// Cases are drawn whole: what is not independent, such as the gains of debates over the same question, is one of them
/// (Davison and Hinkley, 1997, "Bootstrap Methods and their Application", §3.8). Each value is a gain over the baseline of
/// its own debate, so that these are drawn as pairs.
#[must_use]
pub fn mean_95(cases: &[Vec<f64>], seed: u64) -> Option<Interval> {
    let all: Vec<f64> = cases.iter().flatten().copied().collect();
    let mean = summary::mean(&all)?;
    let sums: Vec<(f64, usize)> =
        cases.iter().filter(|case| !case.is_empty()).map(|case| (case.iter().sum(), case.len())).collect();
    let mut generator = SplitMix64::new(seed);
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let (sum, count) = (0..sums.len())
                .map(|_| sums[generator.below(sums.len())])
                .fold((0.0, 0), |(sum, count), (more, values)| (sum + more, count + values));
            sum / count as f64
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
        let cases: Vec<Vec<f64>> = values.iter().map(|value| vec![*value]).collect();
        let found = mean_95(&cases, 1).unwrap();
        assert_eq!(Some(found), mean_95(&cases, 1));
        assert!(found.low < found.mean && found.mean < found.high, "{found:?}");
        // Of forty values it is close to Student's.
        let students = intervals::mean_95(&values).unwrap();
        assert!(
            (found.low - students.low).abs() < 0.1 && (found.high - students.high).abs() < 0.1,
            "{found:?}"
        );
    }

    #[test]
    fn repeating_a_case_does_not_narrow_the_interval() {
        let cases = |times: usize| -> Vec<Vec<f64>> {
            (0..20).map(|place| vec![f64::from(place % 5) - 2.0; times]).collect()
        };
        assert_eq!(mean_95(&cases(10), 1), mean_95(&cases(1), 1));
        let apart: Vec<Vec<f64>> = cases(10).into_iter().flatten().map(|value| vec![value]).collect();
        let (whole, apart) = (mean_95(&cases(10), 1).unwrap(), mean_95(&apart, 1).unwrap());
        assert!(apart.high - apart.low < 0.5 * (whole.high - whole.low), "{apart:?} {whole:?}");
    }

    #[test]
    fn values_that_are_all_the_same_leave_no_doubt_and_none_at_all_no_interval() {
        assert_eq!(mean_95(&vec![vec![0.5]; 9], 3), Some(Interval { mean: 0.5, low: 0.5, high: 0.5 }));
        assert_eq!(mean_95(&[], 3), None);
    }
}

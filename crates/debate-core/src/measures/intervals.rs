//! The mean of a sample, or a share of cases, with the interval in which that of what they were drawn from lies (rules V7,
//! V8, K16).

use serde::Serialize;

use super::summary;

/// A mean with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The arithmetic mean.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom.
const T_95: [f64; 30] = [
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788, 2.1604,
    2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555,
    2.0518, 2.0484, 2.0452, 2.0423,
];

/// The same quantile of the normal distribution.
const Z_95: f64 = 1.959_964;

/// Returns the mean of values and its 95 % interval by Student's t; `None` of fewer than two values.
///
/// Values are taken as independent. The mean ± t · s / √n, s with n − 1.
#[must_use]
pub fn mean_95(values: &[f64]) -> Option<Interval> {
    let mean = summary::mean(values)?;
    let freedom = values.len().checked_sub(1).filter(|freedom| *freedom > 0)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    let error = libm::sqrt(squares / freedom as f64 / values.len() as f64);
    let reach = t_95(freedom) * error;
    Some(Interval { mean, low: mean - reach, high: mean + reach })
}

/// Returns the share of cases that came true and its 95 % interval by Wilson's score (1927, "Probable inference, the law of
/// succession, and statistical inference"); `None` without any cases.
///
/// Cases are taken as independent. Unlike mean ± error it stays in [0, 1], and is not empty at the ends of it.
#[must_use]
pub fn share_95(came_true: u64, cases: u64) -> Option<Interval> {
    let count = (cases > 0).then_some(cases as f64)?;
    let share = came_true as f64 / count;
    let square = Z_95 * Z_95;
    let middle = share + square / (2.0 * count);
    let reach = Z_95 * libm::sqrt(share * (1.0 - share) / count + square / (4.0 * count * count));
    let whole = 1.0 + square / count;
    Some(Interval {
        mean: share,
        low: ((middle - reach) / whole).max(0.0),
        high: ((middle + reach) / whole).min(1.0),
    })
}

/// Returns the two-sided 95 % quantile of Student's t: from the table, beyond it by the first terms of its expansion in
/// 1 / degrees of freedom, which are right to four digits there.
fn t_95(freedom: usize) -> f64 {
    let listed = freedom.checked_sub(1).and_then(|place| T_95.get(place));
    listed.copied().unwrap_or_else(|| {
        let (z, v) = (Z_95, freedom as f64);
        let (z3, z5) = (z * z * z, z * z * z * z * z);
        z + (z3 + z) / (4.0 * v) + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * v * v)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v8_a_mean_has_the_interval_of_students_t() {
        // Five values: mean 6, s = √2.5, t = 2.7764: 6 ± 1.9632.
        let found = mean_95(&[4.0, 5.0, 6.0, 7.0, 8.0]).unwrap();
        assert!((found.mean - 6.0).abs() < 1e-12);
        assert!((found.high - 7.9632).abs() < 1e-4 && (found.low - 4.0368).abs() < 1e-4, "{found:?}");
        assert_eq!(mean_95(&[]), None);
        assert_eq!(mean_95(&[5.0]), None, "one value says nothing of its spread");
        let same = mean_95(&[3.0, 3.0]).unwrap();
        assert_eq!((same.low, same.high), (3.0, 3.0));
    }

    #[test]
    fn k16_a_share_has_the_interval_of_wilson() {
        // Published for 81 of 263 (Newcombe, 1998, table I): 0.2553 to 0.3662; for 0 of 20: 0 to 0.1611.
        let found = share_95(81, 263).unwrap();
        assert!((found.low - 0.2553).abs() < 5e-5 && (found.high - 0.3662).abs() < 5e-5, "{found:?}");
        let none = share_95(0, 20).unwrap();
        assert!(none.low < 1e-12 && (none.high - 0.1611).abs() < 5e-5, "{none:?}");
        let all = share_95(20, 20).unwrap();
        assert!((all.low - (1.0 - none.high)).abs() < 1e-12 && all.high > 1.0 - 1e-12, "{all:?}");
        assert_eq!(share_95(0, 0), None);
    }

    #[test]
    fn the_table_goes_on_where_it_ends() {
        for (freedom, published) in [(40, 2.0211), (60, 2.0003), (120, 1.9799)] {
            assert!((t_95(freedom) - published).abs() < 2e-4, "{freedom}");
        }
        assert!((1..200).all(|freedom| t_95(freedom) > t_95(freedom + 1)));
    }
}

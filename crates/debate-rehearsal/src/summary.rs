//! What many debates come to.

use std::time::Duration;

use debate_core::call::Tokens;

use crate::stage::Held;

/// Quantiles and shares of debates that were run in one way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// How many there were.
    pub debates: usize,
    /// Half of them took no longer.
    pub p50: Duration,
    /// Of twenty, nineteen took no longer.
    pub p95: Duration,
    /// Of a hundred, all but one took no longer.
    pub p99: Duration,
    /// Requests beyond those that are needed where nothing goes wrong, as a share of these.
    pub extra_calls: f64,
    /// The most tokens that second requests could have used, as a share of those of all other requests.
    pub extra_tokens: f64,
    /// The share that took longer than the deadline.
    pub over_deadline: f64,
    /// The share in whose outcome nothing is missing.
    pub full: f64,
}

impl Summary {
    /// Sums debates up; `calls_expected` are those of one where nothing goes wrong. All zero where there are none.
    #[must_use]
    pub fn of(held: &[Held], calls_expected: u64, deadline: Duration) -> Self {
        let mut walls: Vec<Duration> = held.iter().map(|held| held.wall).collect();
        walls.sort_unstable();
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| percentile(&walls, share));
        let count = held.len().max(1) as f64;
        let share =
            |is_it: &dyn Fn(&Held) -> bool| held.iter().filter(|held| is_it(held)).count() as f64 / count;
        let calls: u64 = held.iter().map(|held| held.calls).sum();
        let tokens = |of: &dyn Fn(&Held) -> Tokens| -> u64 {
            held.iter().map(|held| of(held).input + of(held).output).sum()
        };
        let (reserved, raced) = (tokens(&|held| held.reserved), tokens(&|held| held.raced));
        let extra_calls = calls as f64 / (calls_expected as f64 * count) - 1.0;
        Self {
            debates: held.len(),
            p50,
            p95,
            p99,
            extra_calls: if held.is_empty() { 0.0 } else { extra_calls },
            extra_tokens: raced as f64 / (reserved - raced).max(1) as f64,
            over_deadline: share(&|held| held.wall > deadline),
            full: share(&|held| held.is_full),
        }
    }
}

/// Returns a quantile of sorted values, by nearest rank; zero where there are none.
#[must_use]
pub fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).or(sorted.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(seconds: u64, calls: u64) -> Held {
        Held { wall: Duration::from_secs(seconds), calls, is_full: seconds < 100, ..Held::default() }
    }

    #[test]
    fn quantiles_are_those_of_the_nearest_rank() {
        let all: Vec<Held> = (1..=100).rev().map(|seconds| held(seconds, 11)).collect();
        let summary = Summary::of(&all, 10, Duration::from_secs(90));
        assert_eq!([summary.p50, summary.p95, summary.p99].map(|wall| wall.as_secs()), [50, 95, 99]);
        assert!((summary.extra_calls - 0.1).abs() < 1e-12);
        assert_eq!((summary.over_deadline, summary.full, summary.debates), (0.1, 0.99, 100));
    }

    #[test]
    fn of_no_debates_nothing_is_said() {
        let summary = Summary::of(&[], 31, Duration::ZERO);
        assert_eq!((summary.p99, summary.extra_calls, summary.full), (Duration::ZERO, 0.0, 0.0));
        assert_eq!(percentile(&[Duration::from_secs(7)], 0.0), Duration::from_secs(7));
    }
}

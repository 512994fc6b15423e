//! The latest durations of one kind, some of which are only known to be longer than what was seen of them.

use std::collections::VecDeque;
use std::time::Duration;

/// Durations remembered.
const SAMPLES_MAX: usize = 256;

/// Durations that must be known before they tell anything.
const SAMPLES_MIN: usize = 20;

/// One duration; one that was cut short says how long it took at least. Ordered so that, of two that are alike, the
/// one that was not cut short comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Sample {
    lasted: Duration,
    is_cut: bool,
}

/// The latest durations, oldest first and shortest first.
#[derive(Debug, Default)]
pub(super) struct Durations {
    latest: VecDeque<Sample>,
    sorted: Vec<Sample>,
}

impl Durations {
    /// Adds one, and forgets the oldest where there are too many.
    pub(super) fn add(&mut self, lasted: Duration, is_cut: bool) {
        if self.latest.len() >= SAMPLES_MAX
            && let Some(oldest) = self.latest.pop_front()
            && let Ok(place) = self.sorted.binary_search(&oldest)
        {
            self.sorted.remove(place);
        }
        let sample = Sample { lasted, is_cut };
        self.latest.push_back(sample);
        let (Ok(place) | Err(place)) = self.sorted.binary_search(&sample);
        self.sorted.insert(place, sample);
    }

    /// Returns the duration that a share of all stays within, in [0, 1], by the product-limit estimator (Kaplan and
    /// Meier, 1958), which is nearest rank where nothing was cut short. `None` while too few are known.
    pub(super) fn quantile(&self, share: f64) -> Option<Duration> {
        if self.sorted.len() < SAMPLES_MIN {
            return None;
        }
        let mut longer = 1.0;
        for (place, sample) in self.sorted.iter().enumerate().filter(|(_, sample)| !sample.is_cut) {
            longer *= 1.0 - 1.0 / (self.sorted.len() - place) as f64;
            if 1.0 - longer >= share - 1e-9 {
                return Some(sample.lasted);
            }
        }
        self.sorted.last().map(|longest| longest.lasted)
    }

    /// Returns the share of durations that are shorter, in [0, 1]. `None` while too few are known.
    pub(super) fn rank(&self, lasted: Duration) -> Option<f64> {
        let shorter = self.sorted.partition_point(|sample| sample.lasted < lasted);
        (self.sorted.len() >= SAMPLES_MIN).then(|| shorter as f64 / self.sorted.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn whole(until: u64) -> Durations {
        let mut durations = Durations::default();
        (1..=until).for_each(|ms| durations.add(MS(ms), false));
        durations
    }

    #[test]
    fn a_quantile_of_whole_durations_is_the_nearest_rank() {
        let quantile = |share| whole(100).quantile(share);
        assert_eq!([0.0, 0.005, 0.75, 0.951, 1.0].map(quantile), [1, 1, 75, 96, 100].map(|ms| Some(MS(ms))));
        assert_eq!((whole(19).quantile(0.5), whole(19).rank(MS(5))), (None, None));
    }

    #[test]
    fn what_was_cut_short_counts_as_longer_than_what_was_seen_of_it() {
        // Of 100 latencies 1..=100 all above 60 are given up at 60: what is below stays where it was.
        let mut durations = whole(60);
        (61..=100).for_each(|_| durations.add(MS(60), true));
        assert_eq!(
            [0.25, 0.5, 0.6].map(|share| durations.quantile(share)),
            [25, 50, 60].map(|ms| Some(MS(ms)))
        );
        // Half of them are given up at once and say nothing of the others.
        let mut durations = whole(100);
        (0..100).for_each(|_| durations.add(Duration::ZERO, true));
        assert_eq!([0.5, 0.95].map(|share| durations.quantile(share)), [50, 95].map(|ms| Some(MS(ms))));
    }

    #[test]
    fn old_durations_are_forgotten() {
        assert_eq!(whole(1_000).quantile(0.75), Some(MS(744 + 192)));
        assert_eq!(whole(1_000).rank(MS(744 + 129)), Some(0.5));
    }
}

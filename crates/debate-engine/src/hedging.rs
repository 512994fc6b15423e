//! When a second request races one that takes long (Dean and Barroso, The Tail at Scale, 2013): how long that is, is
//! learned from the latest replies of the same model to the same kind of question.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Latencies remembered for each model and kind of question.
const SAMPLES_MAX: usize = 256;

/// Latencies that must be known before anything is raced.
const SAMPLES_MIN: usize = 20;

/// Second requests that a process may send before it has sent many first ones.
const BURST: f64 = 1.0;

/// After which quantile of the usual latency a request that others wait for is raced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Hedge {
    /// Never.
    Off,
    /// After the 95th percentile.
    #[default]
    P95,
    /// After the 75th percentile.
    P75,
    /// After the 95th percentile, and after the 75th where it is the last one that the others wait for.
    Adaptive,
}

/// How requests are raced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hedging {
    /// When.
    pub after: Hedge,
    /// The most second requests as a share of first ones, in [0, 1], over all debates of the process.
    pub share_max: f64,
    /// Requests younger than this are never raced.
    pub patience: Duration,
}

impl Default for Hedging {
    fn default() -> Self {
        Self { after: Hedge::default(), share_max: 0.08, patience: Duration::from_millis(500) }
    }
}

/// What one process has learned of its models, and what it has spent on races.
#[derive(Debug, Default)]
pub(crate) struct Races {
    learned: Mutex<Learned>,
}

#[derive(Debug, Default)]
struct Learned {
    /// By model and kind of question.
    known: BTreeMap<String, BTreeMap<String, Known>>,
    first: u64,
    second: u64,
}

/// The latest latencies, with the quantiles that are asked for again and again.
#[derive(Debug, Default)]
struct Known {
    latest: VecDeque<Duration>,
    p75: Option<Duration>,
    p95: Option<Duration>,
}

impl Races {
    fn learned(&self) -> std::sync::MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns how long a model took for a kind of question, or at least took before it was given up.
    pub(crate) fn learn(&self, model: &str, kind: &str, latency: Duration) {
        let mut learned = self.learned();
        let known = learned.known.entry(model.to_owned()).or_default().entry(kind.to_owned()).or_default();
        if known.latest.len() >= SAMPLES_MAX {
            known.latest.pop_front();
        }
        known.latest.push_back(latency);
        known.p75 = nearest_rank(&known.latest, 0.75);
        known.p95 = nearest_rank(&known.latest, 0.95);
    }

    /// Counts a first request.
    pub(crate) fn count_first(&self) {
        self.learned().first += 1;
    }

    /// Takes the right to send a second request, if there is one left.
    pub(crate) fn take(&self, hedging: &Hedging) -> bool {
        let mut learned = self.learned();
        let allowed = hedging.share_max * learned.first as f64 + BURST;
        let granted = (learned.second + 1) as f64 <= allowed;
        learned.second += u64::from(granted);
        granted
    }

    /// Returns the age at which a request of a kind is raced; `alone` where no other is waited for.
    pub(crate) fn age(&self, hedging: &Hedging, model: &str, kind: &str, alone: bool) -> Option<Duration> {
        let learned = self.learned();
        let known = learned.known.get(model)?.get(kind)?;
        let quantile = match hedging.after {
            Hedge::Off => None,
            Hedge::P75 => known.p75,
            Hedge::P95 => known.p95,
            Hedge::Adaptive => {
                if alone {
                    known.p75
                } else {
                    known.p95
                }
            }
        };
        Some(quantile?.max(hedging.patience))
    }
}

/// Returns the quantile of enough latencies, by nearest rank.
fn nearest_rank(latencies: &VecDeque<Duration>, quantile: f64) -> Option<Duration> {
    if latencies.len() < SAMPLES_MIN {
        return None;
    }
    let mut sorted: Vec<Duration> = latencies.iter().copied().collect();
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    let (_, found, _) = sorted.select_nth_unstable(rank.clamp(1, latencies.len()) - 1);
    Some(*found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Hedging = Hedging { after: Hedge::Adaptive, share_max: 0.1, patience: Duration::ZERO };

    fn learned(count: u64) -> Races {
        let races = Races::default();
        (1..=count).for_each(|ms| races.learn("m", "argue", Duration::from_millis(ms)));
        races
    }

    #[test]
    fn a_request_is_raced_after_the_quantile_of_its_own_kind() {
        let races = learned(100);
        let age = |after, alone| races.age(&Hedging { after, ..NOW }, "m", "argue", alone);
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!([age(Hedge::P95, false), age(Hedge::P75, false)], [ms(95), ms(75)]);
        assert_eq!([age(Hedge::Adaptive, false), age(Hedge::Adaptive, true)], [ms(95), ms(75)]);
        assert_eq!(age(Hedge::Off, true), None);
        assert_eq!(races.age(&NOW, "m", "score", true), None);
        assert_eq!(races.age(&NOW, "other", "argue", true), None);
    }

    #[test]
    fn nothing_is_raced_before_enough_is_known_and_never_before_patience_ends() {
        assert_eq!(learned(19).age(&NOW, "m", "argue", false), None);
        let patient = Hedging { patience: Duration::from_secs(1), ..NOW };
        assert_eq!(learned(20).age(&patient, "m", "argue", false), Some(Duration::from_secs(1)));
    }

    #[test]
    fn old_latencies_are_forgotten() {
        let races = learned(1_000);
        let age = races.age(&Hedging { after: Hedge::P75, ..NOW }, "m", "argue", false).unwrap();
        assert_eq!(age, Duration::from_millis(744 + 192));
    }

    #[test]
    fn second_requests_stay_a_share_of_the_first() {
        let races = Races::default();
        let mut granted = 0;
        for _ in 0..1_000 {
            races.count_first();
            granted += u32::from(races.take(&NOW));
        }
        assert_eq!(granted, 101);
    }
}

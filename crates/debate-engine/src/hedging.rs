//! When a second request races one that takes long (Dean and Barroso, The Tail at Scale, 2013): how long that is, is
//! learned from the latest replies of the same model to the same kind of question.

mod durations;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use debate_core::call::{CallKey, Reserved};

use self::durations::Durations;

/// Questions whose usual beginning is remembered; when there are more, all are forgotten.
const QUESTIONS_MAX: usize = 1_024;

/// How late a debate counts as while nothing is known of others: neither early nor very late.
const LATENESS_UNKNOWN: f64 = 0.6;

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
    /// The sooner, the later the debate is: if a share `r` of the latest debates had come this far in less time, after
    /// the quantile 1 − r⁴ where it is the only request waited for, and 1 − r⁴⁄2 where others are waited for too. So
    /// second requests go where they shorten the longest debates.
    Adaptive,
}

/// How requests are raced.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hedging {
    /// When.
    pub after: Hedge,
    /// The most second requests as a share of first ones, in [0, 1], over all debates of the process: by their number, by
    /// the tokens that they can use, and by the money where they have a price.
    pub share_max: f64,
    /// Requests younger than this are never raced.
    pub patience: Duration,
}

impl Default for Hedging {
    fn default() -> Self {
        Self { after: Hedge::default(), share_max: 0.08, patience: Duration::from_millis(500) }
    }
}

/// The ages at which a request is raced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RaceAges {
    /// Where it is the only one that is waited for.
    pub(crate) alone: Duration,
    /// Where others are waited for too.
    pub(crate) among: Duration,
}

/// What one process has learned of its models and debates, and what it has spent on races.
#[derive(Debug, Default)]
pub(crate) struct Races {
    learned: Mutex<Learned>,
}

#[derive(Debug, Default)]
struct Learned {
    /// How long answers take, by model and kind of question.
    latencies: BTreeMap<String, BTreeMap<String, Durations>>,
    /// How old debates are when they put a question.
    beginnings: BTreeMap<CallKey, Durations>,
    first: Sent,
    second: Sent,
}

/// Requests that were sent, with the most that they can use.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    requests: u64,
    tokens: u64,
    cost_micros: u64,
}

impl Sent {
    fn plus(self, reserved: Reserved) -> Self {
        let Reserved { input, output, cost_micros } = reserved;
        Self {
            requests: self.requests + 1,
            tokens: self.tokens.saturating_add(input).saturating_add(output),
            cost_micros: self.cost_micros.saturating_add(cost_micros.unwrap_or(0)),
        }
    }

    /// Returns whether it is at most a share of others, by each of its measures.
    fn is_within(self, share: f64, of: Self) -> bool {
        let pairs =
            [(self.requests, of.requests), (self.tokens, of.tokens), (self.cost_micros, of.cost_micros)];
        pairs.into_iter().all(|(part, whole)| part as f64 <= share * whole as f64)
    }
}

impl Races {
    fn learned(&self) -> std::sync::MutexGuard<'_, Learned> {
        self.learned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Learns how long a model took for a kind of question, or took at least where it was given up.
    pub(crate) fn learn(&self, model: &str, kind: &str, latency: Duration, was_given_up: bool) {
        let mut learned = self.learned();
        if !learned.latencies.contains_key(model) {
            learned.latencies.insert(model.to_owned(), BTreeMap::new());
        }
        let Some(kinds) = learned.latencies.get_mut(model) else { return };
        match kinds.get_mut(kind) {
            Some(known) => known.add(latency, was_given_up),
            None => kinds.entry(kind.to_owned()).or_default().add(latency, was_given_up),
        }
    }

    /// Learns from a debate that has concluded how old it was when it put its questions.
    pub(crate) fn learn_beginnings(&self, beginnings: BTreeMap<CallKey, Duration>) {
        let mut learned = self.learned();
        if learned.beginnings.len() > QUESTIONS_MAX {
            learned.beginnings.clear();
        }
        for (question, age) in beginnings {
            learned.beginnings.entry(question).or_default().add(age, false);
        }
    }

    /// Counts a first request, and the most that it can use.
    pub(crate) fn count_first(&self, reserved: Reserved) {
        let mut learned = self.learned();
        learned.first = learned.first.plus(reserved);
    }

    /// Takes the right to send a second request that can use so much, if that much is left.
    pub(crate) fn take(&self, hedging: &Hedging, reserved: Reserved) -> bool {
        let mut learned = self.learned();
        let second = learned.second.plus(reserved);
        let is_granted = second.is_within(hedging.share_max, learned.first);
        if is_granted {
            learned.second = second;
        }
        is_granted
    }

    /// Returns the ages at which a request is raced that a debate of an age puts to a model; `None` where it never is.
    pub(crate) fn ages(
        &self,
        hedging: &Hedging,
        model: &str,
        question: &CallKey,
        debate: Duration,
    ) -> Option<RaceAges> {
        let learned = self.learned();
        let known = learned.latencies.get(model)?.get(&*question.kind)?;
        let (alone, among) = match hedging.after {
            Hedge::Off => return None,
            Hedge::P75 => (0.75, 0.75),
            Hedge::P95 => (0.95, 0.95),
            Hedge::Adaptive => {
                let lateness = learned.beginnings.get(question).and_then(|known| known.rank(debate));
                let weight = lateness.unwrap_or(LATENESS_UNKNOWN).powi(4);
                (1.0 - weight, 1.0 - weight / 2.0)
            }
        };
        let age = |share| Some(known.quantile(share)?.max(hedging.patience));
        Some(RaceAges { alone: age(alone)?, among: age(among)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use debate_core::id::Role;

    const NOW: Hedging = Hedging { after: Hedge::Adaptive, share_max: 0.1, patience: Duration::ZERO };
    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn argue() -> CallKey {
        CallKey::new("argue", 2, Role::from("judge"))
    }

    fn learned(count: u64) -> Races {
        let races = Races::default();
        (1..=count).for_each(|ms| races.learn("m", "argue", MS(ms), false));
        races
    }

    fn ages(races: &Races, after: Hedge, debate: u64) -> Option<[u64; 2]> {
        let ages = races.ages(&Hedging { after, ..NOW }, "m", &argue(), MS(debate))?;
        Some([ages.alone, ages.among].map(|age| u64::try_from(age.as_millis()).unwrap()))
    }

    #[test]
    fn a_request_is_raced_after_the_quantile_of_its_own_kind() {
        let races = learned(100);
        assert_eq!(ages(&races, Hedge::P95, 0), Some([95, 95]));
        assert_eq!(ages(&races, Hedge::P75, 0), Some([75, 75]));
        assert_eq!(ages(&races, Hedge::Off, 0), None);
        let score = CallKey::new("score", 2, Role::from("judge"));
        assert_eq!(races.ages(&NOW, "m", &score, MS(0)), None);
        assert_eq!(races.ages(&NOW, "other", &argue(), MS(0)), None);
    }

    #[test]
    fn the_later_a_debate_is_the_sooner_its_requests_are_raced() {
        let races = learned(100);
        assert_eq!(ages(&races, Hedge::Adaptive, 7), Some([88, 94]), "nothing is known of other debates");
        for age in 1..=100 {
            races.learn_beginnings(BTreeMap::from([(argue(), MS(age))]));
        }
        let at = |debate| ages(&races, Hedge::Adaptive, debate).unwrap();
        assert_eq!([at(0), at(51), at(81), at(1_000)], [[100, 100], [94, 97], [60, 80], [1, 50]]);
    }

    #[test]
    fn nothing_is_raced_before_enough_is_known_and_never_before_patience_ends() {
        assert_eq!(ages(&learned(19), Hedge::P95, 0), None);
        let patient = Hedging { patience: MS(1_000), ..NOW };
        let ages = learned(20).ages(&patient, "m", &argue(), MS(0)).unwrap();
        assert_eq!(ages, RaceAges { alone: MS(1_000), among: MS(1_000) });
    }

    #[test]
    fn second_requests_stay_a_share_of_the_first() {
        let races = Races::default();
        let mut granted = 0;
        for _ in 0..1_000 {
            races.count_first(Reserved::NOTHING);
            granted += u32::from(races.take(&NOW, Reserved::NOTHING));
        }
        assert_eq!(granted, 100);
    }

    /// A hundred first requests of 1,000 tokens and 10 millionths of a dollar; returns how many second ones are granted.
    fn granted(second: Reserved) -> usize {
        let races = Races::default();
        let first = Reserved { input: 900, output: 100, cost_micros: Some(10) };
        (0..100).for_each(|_| races.count_first(first));
        (0..100).filter(|_| races.take(&NOW, second)).count()
    }

    #[test]
    fn second_requests_stay_a_share_of_the_first_by_tokens_and_money_too() {
        let second = |tokens, cost_micros| Reserved { input: 0, output: tokens, cost_micros };
        let all = [(1_000, Some(10)), (2_500, Some(10)), (1_000, Some(50)), (100, None), (20_000, Some(0))];
        assert_eq!(all.map(|(tokens, cost)| granted(second(tokens, cost))), [10, 4, 2, 10, 0]);
    }
}

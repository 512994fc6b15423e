//! A circuit breaker: when a model is left alone for a while, and when it is tried again.
//!
//! Written here because `recloser`, the library that is well kept, reads the clock itself, lets every call through
//! while half open, and knows shares of failures, not a window of time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// When a model is left alone, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// How many failures in a row open the circuit; 0 for never.
    pub failures_max: u32,
    /// The time within which they must fall.
    pub window: Duration,
    /// How long nothing is sent then; after it one call is let through, and its outcome decides.
    pub pause: Duration,
}

impl Default for BreakerPolicy {
    fn default() -> Self {
        Self { failures_max: 10, window: Duration::from_secs(60), pause: Duration::from_secs(10) }
    }
}

/// What became of a call that was let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The provider did its work, if only to refuse.
    Alive,
    /// The provider failed.
    Failed,
    /// The outcome is unknown: the caller went away.
    Unknown,
}

/// How the circuit changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// Too many failures, or the trial failed: nothing is sent for a while.
    Opened,
    /// The pause is over: one call is tried.
    HalfOpened,
    /// The trial went well: all calls are sent.
    Closed,
}

/// The right to send one call; it is handed back with the outcome.
///
/// It counts only while the circuit is as it was when the call began: what fails late, after the circuit has
/// changed, says nothing new.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ticket {
    changes: u64,
}

#[derive(Debug)]
enum State {
    /// All calls are sent; the failures since the last answer, oldest first, at most as many as open the circuit.
    Closed { failures: VecDeque<Instant> },
    /// Nothing is sent.
    Open { until: Instant },
    /// One call is sent, or none yet.
    HalfOpen { is_trying: bool },
}

/// The state machine. It reads no clock: callers pass the time.
#[derive(Debug)]
pub(crate) struct Breaker {
    policy: BreakerPolicy,
    state: State,
    changes: u64,
}

impl Breaker {
    /// Makes a closed circuit.
    pub(crate) fn new(policy: BreakerPolicy) -> Self {
        Self { policy, state: State::Closed { failures: VecDeque::new() }, changes: 0 }
    }

    /// Returns how long a call would be refused, if it would; changes nothing.
    pub(crate) fn refuses(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Closed { .. } | State::HalfOpen { is_trying: false } => None,
            State::Open { until } => {
                Some(until.saturating_duration_since(now)).filter(|wait| !wait.is_zero())
            }
            State::HalfOpen { is_trying: true } => Some(self.policy.pause),
        }
    }

    /// Lets a call through, or says how long none will be.
    ///
    /// # Errors
    /// The time that is left.
    pub(crate) fn enter(&mut self, now: Instant) -> Result<(Ticket, Option<Change>), Duration> {
        if let Some(wait) = self.refuses(now) {
            return Err(wait);
        }
        let change = match &mut self.state {
            State::Closed { .. } => None,
            State::HalfOpen { is_trying } => {
                *is_trying = true;
                None
            }
            State::Open { .. } => Some(self.become_(State::HalfOpen { is_trying: true }, Change::HalfOpened)),
        };
        Ok((Ticket { changes: self.changes }, change))
    }

    /// Takes a ticket back.
    pub(crate) fn leave(&mut self, now: Instant, ticket: Ticket, outcome: Outcome) -> Option<Change> {
        if ticket.changes != self.changes || self.policy.failures_max == 0 {
            return None;
        }
        let open = State::Open { until: now + self.policy.pause };
        match (&mut self.state, outcome) {
            (State::Open { .. }, _) | (State::Closed { .. }, Outcome::Unknown) => None,
            (State::Closed { failures }, Outcome::Alive) => {
                failures.clear();
                None
            }
            (State::Closed { failures }, Outcome::Failed) => {
                failures.push_back(now);
                while failures.front().is_some_and(|first| now.duration_since(*first) > self.policy.window) {
                    failures.pop_front();
                }
                let is_too_many = failures.len() >= self.policy.failures_max as usize;
                is_too_many.then(|| self.become_(open, Change::Opened))
            }
            (State::HalfOpen { is_trying }, Outcome::Unknown) => {
                *is_trying = false;
                None
            }
            (State::HalfOpen { .. }, Outcome::Failed) => Some(self.become_(open, Change::Opened)),
            (State::HalfOpen { .. }, Outcome::Alive) => {
                Some(self.become_(State::Closed { failures: VecDeque::new() }, Change::Closed))
            }
        }
    }

    fn become_(&mut self, state: State, change: Change) -> Change {
        self.state = state;
        self.changes += 1;
        change
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Outcome::{Alive, Failed};
    use super::*;

    const POLICY: BreakerPolicy = BreakerPolicy {
        failures_max: 3,
        window: Duration::from_millis(100),
        pause: Duration::from_millis(50),
    };

    /// What is done next: time passes, a call asks to be sent, or one of those under way ends.
    #[derive(Debug, Clone)]
    enum Step {
        Pass(u64),
        Enter,
        Leave(usize, Outcome),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let outcome = prop_oneof![
            1 => Just(Outcome::Alive),
            4 => Just(Outcome::Failed),
            1 => Just(Outcome::Unknown)
        ];
        let step = prop_oneof![
            2 => (0_u64..70).prop_map(Step::Pass),
            4 => Just(Step::Enter),
            4 => (any::<usize>(), outcome).prop_map(|(which, outcome)| Step::Leave(which, outcome)),
        ];
        proptest::collection::vec(step, 0..200)
    }

    fn enter(breaker: &mut Breaker, now: Instant) -> Option<Ticket> {
        breaker.enter(now).ok().map(|(ticket, _)| ticket)
    }

    fn is_closed(breaker: &Breaker) -> bool {
        matches!(breaker.state, State::Closed { .. })
    }

    proptest! {
        #[test]
        fn whatever_happens_the_circuit_keeps_its_word(steps in steps()) {
            let mut now = Instant::now();
            let mut breaker = Breaker::new(POLICY);
            let mut under_way: Vec<Ticket> = Vec::new();
            let mut opened_at: Option<Instant> = None;
            let mut trials: Vec<Ticket> = Vec::new();
            let mut failures_in_a_row = 0;
            for step in steps {
                match step {
                    Step::Pass(ms) => now += Duration::from_millis(ms),
                    Step::Enter => match breaker.enter(now) {
                        Ok((ticket, change)) => {
                            let is_pause_over = opened_at.is_none_or(|at| now >= at + POLICY.pause);
                            prop_assert!(is_pause_over, "a call was sent while the circuit was open");
                            prop_assert_eq!(change == Some(Change::HalfOpened), opened_at.take().is_some());
                            if matches!(breaker.state, State::HalfOpen { .. }) {
                                prop_assert!(!trials.contains(&ticket), "two trials at once");
                                trials.push(ticket);
                            }
                            under_way.push(ticket);
                        }
                        Err(wait) => {
                            prop_assert!(!wait.is_zero() && wait <= POLICY.pause);
                            prop_assert!(!is_closed(&breaker));
                        }
                    },
                    Step::Leave(which, outcome) if !under_way.is_empty() => {
                        let ticket = under_way.swap_remove(which % under_way.len());
                        let was_closed = is_closed(&breaker);
                        let is_trial = trials.contains(&ticket);
                        if was_closed && ticket.changes == breaker.changes {
                            match outcome {
                                Outcome::Alive => failures_in_a_row = 0,
                                Outcome::Failed => failures_in_a_row += 1,
                                Outcome::Unknown => {}
                            }
                        }
                        trials.retain(|trial| *trial != ticket);
                        match breaker.leave(now, ticket, outcome) {
                            Some(Change::Opened) => {
                                prop_assert_eq!(outcome, Outcome::Failed);
                                prop_assert!(is_trial || failures_in_a_row >= POLICY.failures_max);
                                opened_at = Some(now);
                                failures_in_a_row = 0;
                            }
                            Some(Change::Closed) => prop_assert!(is_trial && outcome == Outcome::Alive),
                            Some(Change::HalfOpened) => prop_assert!(false, "an end opened half"),
                            None => {}
                        }
                    }
                    Step::Leave(..) => {}
                }
            }
            // Whatever state it is in: once all calls have ended and the pause is over, a good call closes it.
            for ticket in under_way {
                breaker.leave(now, ticket, Outcome::Unknown);
            }
            now += POLICY.pause;
            let ticket = enter(&mut breaker, now);
            prop_assert!(ticket.is_some());
            breaker.leave(now, ticket.unwrap(), Outcome::Alive);
            prop_assert!(is_closed(&breaker));
        }
    }

    #[test]
    fn failures_in_a_row_within_the_window_open_it_and_one_good_trial_closes_it() {
        let mut now = Instant::now();
        let mut breaker = Breaker::new(POLICY);
        let end = |breaker: &mut Breaker, now, outcome| {
            let ticket = enter(breaker, now).unwrap();
            breaker.leave(now, ticket, outcome)
        };
        for outcome in [Failed, Failed, Alive, Failed, Failed] {
            assert_eq!(end(&mut breaker, now, outcome), None);
        }
        now += Duration::from_millis(101);
        assert_eq!(end(&mut breaker, now, Failed), None, "the older ones are out of the window");
        assert_eq!(end(&mut breaker, now, Failed), None);
        let late = enter(&mut breaker, now).unwrap();
        assert_eq!(end(&mut breaker, now, Failed), Some(Change::Opened));
        assert_eq!(breaker.enter(now), Err(POLICY.pause));
        assert_eq!(breaker.leave(now, late, Alive), None, "what began before says nothing");
        now += POLICY.pause;
        let (trial, change) = breaker.enter(now).unwrap();
        assert_eq!(change, Some(Change::HalfOpened));
        assert_eq!(breaker.enter(now), Err(POLICY.pause), "one trial at a time");
        assert_eq!(breaker.leave(now, trial, Failed), Some(Change::Opened));
        now += POLICY.pause;
        let (trial, _) = breaker.enter(now).unwrap();
        assert_eq!(breaker.leave(now, trial, Alive), Some(Change::Closed));
        assert!(breaker.enter(now).is_ok() && breaker.enter(now).is_ok());
    }

    #[test]
    fn a_policy_of_no_failures_never_opens() {
        let now = Instant::now();
        let mut breaker = Breaker::new(BreakerPolicy { failures_max: 0, ..POLICY });
        for _ in 0..100 {
            let ticket = enter(&mut breaker, now).unwrap();
            assert_eq!(breaker.leave(now, ticket, Outcome::Failed), None);
        }
    }
}

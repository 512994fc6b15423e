//! Which call waits for which, under each schedule; and how long a debate must take at least.

use std::fmt;
use std::str::FromStr;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

use crate::calls::{CALLS, Call, ROLES, ROUNDS};

/// When a call may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// All of a phase, then the next: eight steps.
    Barrier,
    /// Scores share a step with the arguments of the next round: six steps.
    Superstep,
    /// As soon as all that the call reads is there.
    Pipelined,
}

impl Schedule {
    /// Every schedule.
    pub const ALL: [Self; 3] = [Self::Barrier, Self::Superstep, Self::Pipelined];
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|schedule| schedule.to_string() == text);
        known.ok_or_else(|| format!("no schedule is called {text:?}"))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Barrier => "barrier",
            Self::Superstep => "superstep",
            Self::Pipelined => "pipelined",
        })
    }
}

/// For each call, the calls that wait for it and how many it waits for itself.
#[derive(Debug, Clone)]
pub struct Plan {
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
}

impl Plan {
    /// Makes the plan of a schedule.
    pub fn new(schedule: Schedule) -> Self {
        let before: Vec<Vec<usize>> = match schedule {
            Schedule::Barrier => stepwise(&barrier_steps()),
            Schedule::Superstep => stepwise(&supersteps()),
            Schedule::Pipelined => Call::all().map(pipelined).collect(),
        };
        let mut after = vec![Vec::new(); CALLS];
        for (place, needs) in before.iter().enumerate() {
            for need in needs {
                after[*need].push(place);
            }
        }
        Self { before, after }
    }

    /// Runs a debate: `ask` is called with the place of each call as soon as it may begin.
    ///
    /// # Errors
    ///
    /// The first error of a call; the others are dropped.
    pub async fn run<T, E, F>(&self, ask: impl Fn(usize) -> F) -> Result<Vec<T>, E>
    where
        F: Future<Output = Result<T, E>>,
    {
        let ask = |place: usize| {
            let asked = ask(place);
            async move { (place, asked.await) }
        };
        let mut open: Vec<usize> = self.before.iter().map(Vec::len).collect();
        let first = (0..CALLS).filter(|place| open[*place] == 0);
        let mut running: FuturesUnordered<_> = first.map(ask).collect();
        let mut replies: Vec<Option<T>> = (0..CALLS).map(|_| None).collect();
        while let Some((place, reply)) = running.next().await {
            replies[place] = Some(reply?);
            for next in &self.after[place] {
                open[*next] -= 1;
                if open[*next] == 0 {
                    running.push(ask(*next));
                }
            }
        }
        Ok(replies.into_iter().flatten().collect())
    }

    /// Returns the length of the longest chain of calls that take this long each.
    pub fn critical_path(&self, latency: impl Fn(usize) -> f64) -> f64 {
        let mut ends: Vec<Option<f64>> = vec![None; CALLS];
        (0..CALLS).map(|place| self.end(place, &latency, &mut ends)).fold(0.0, f64::max)
    }

    fn end(&self, place: usize, latency: &impl Fn(usize) -> f64, ends: &mut [Option<f64>]) -> f64 {
        if let Some(end) = ends[place] {
            return end;
        }
        let begin = self.before[place].iter().map(|need| self.end(*need, latency, ends)).fold(0.0, f64::max);
        let end = begin + latency(place);
        ends[place] = Some(end);
        end
    }
}

const JUDGE: usize = ROLES.len() - 1;
const LAST: usize = ROUNDS - 1;

fn pipelined(call: Call) -> Vec<usize> {
    match call {
        Call::Argue(LAST, JUDGE) => (0..JUDGE).map(|role| Call::Argue(LAST, role).place()).collect(),
        Call::Argue(0, _) => Vec::new(),
        Call::Argue(round, _) => (0..=JUDGE).map(|role| Call::Argue(round - 1, role).place()).collect(),
        Call::Score(round, role) => vec![Call::Argue(round, role).place()],
        Call::Synthesise => {
            Call::all().filter(|call| matches!(call, Call::Score(..))).map(Call::place).collect()
        }
    }
}

/// Returns for each call all calls of the step before its own.
fn stepwise(steps: &[Vec<Call>]) -> Vec<Vec<usize>> {
    let mut before = vec![Vec::new(); CALLS];
    for pair in steps.windows(2) {
        for call in &pair[1] {
            before[call.place()] = pair[0].iter().map(|need| need.place()).collect();
        }
    }
    before
}

fn barrier_steps() -> Vec<Vec<Call>> {
    let mut steps = Vec::new();
    for round in 0..ROUNDS {
        let speak = (0..=JUDGE).map(|role| Call::Argue(round, role));
        let (judge, others): (Vec<_>, Vec<_>) = speak.partition(|call| *call == Call::Argue(LAST, JUDGE));
        steps.push(others);
        if !judge.is_empty() {
            steps.push(judge);
        }
        steps.push((0..=JUDGE).map(|role| Call::Score(round, role)).collect());
    }
    steps.push(vec![Call::Synthesise]);
    steps
}

fn supersteps() -> Vec<Vec<Call>> {
    let argue = |round: usize, roles: std::ops::Range<usize>| roles.map(move |role| Call::Argue(round, role));
    let score = |round: usize, roles: std::ops::Range<usize>| roles.map(move |role| Call::Score(round, role));
    let all = 0..ROLES.len();
    vec![
        argue(0, all.clone()).collect(),
        argue(1, all.clone()).chain(score(0, all.clone())).collect(),
        argue(LAST, 0..JUDGE).chain(score(1, all)).collect(),
        std::iter::once(Call::Argue(LAST, JUDGE)).chain(score(LAST, 0..JUDGE)).collect(),
        vec![Call::Score(LAST, JUDGE)],
        vec![Call::Synthesise],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_equal_latency_a_debate_takes_eight_or_six_calls() {
        for (schedule, steps) in
            [(Schedule::Barrier, 8.0), (Schedule::Superstep, 6.0), (Schedule::Pipelined, 6.0)]
        {
            assert_eq!(Plan::new(schedule).critical_path(|_| 1.0), steps, "{schedule}");
        }
    }

    #[test]
    fn a_slow_score_holds_up_a_step_but_not_the_next_round() {
        let slow = Call::Score(0, 0).place();
        let latency = |place: usize| if place == slow { 3.0 } else { 1.0 };
        let length = |schedule| Plan::new(schedule).critical_path(latency);
        assert_eq!(Schedule::ALL.map(length), [10.0, 8.0, 6.0]);
    }

    #[tokio::test]
    async fn every_call_is_asked_once_and_after_what_it_waits_for() {
        for schedule in Schedule::ALL {
            let plan = Plan::new(schedule);
            let asked = std::cell::RefCell::new(Vec::new());
            let replies = plan
                .run(|place| {
                    let known = asked.borrow().clone();
                    assert!(plan.before[place].iter().all(|need| known.contains(need)));
                    asked.borrow_mut().push(place);
                    async move { Ok::<_, ()>(place) }
                })
                .await;
            assert_eq!(replies, Ok((0..CALLS).collect::<Vec<_>>()), "{schedule}");
            assert_eq!(asked.borrow().len(), CALLS, "{schedule}");
        }
    }
}

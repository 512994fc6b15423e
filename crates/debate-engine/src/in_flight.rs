//! What is under way for one debate: requests to models and runs of tools, each with the way to call it back.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use debate_core::call::Work;
use debate_core::command::Command;
use debate_core::event::AttemptRef;
use debate_core::format::Format;
use futures::FutureExt as _;
use futures::future::{AbortHandle, Abortable, Aborted};
use futures::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::Instant;

use crate::hedging::RaceAges;
use crate::send_time::SendTime;
use crate::turn::Question;

/// What comes of a flight: which work it was for, which of its legs, and the command that its result is.
pub(crate) type Completion<F> = (Work, u64, Result<Command<F>, Aborted>);

type Flight<F> = Pin<Box<dyn Future<Output = Completion<F>> + Send>>;

/// Everything under way.
pub(crate) struct InFlight<F: Format> {
    landings: FuturesUnordered<Flight<F>>,
    in_flight: BTreeMap<Work, Aloft<F>>,
    legs: u64,
}

/// A piece of work under way: one leg, or two that race.
pub(crate) struct Aloft<F: Format> {
    /// What was asked, where it is a request to a model.
    pub(crate) question: Option<Arc<Question<F>>>,
    /// When it is raced, once enough is known to say.
    pub(crate) race_ages: Option<RaceAges>,
    /// Whether it was considered for a race already.
    pub(crate) raced: bool,
    legs: Vec<Leg>,
}

struct Leg {
    id: u64,
    send_time: SendTime,
    abort: AbortHandle,
    attempt: Option<AttemptRef>,
}

/// A leg that was called back before it landed.
pub(crate) struct GivenUp<F: Format> {
    pub(crate) attempt: AttemptRef,
    /// What was asked, where it was a request to a model.
    pub(crate) question: Option<Arc<Question<F>>>,
    /// How long it had been on its way; none where it still waited for its turn.
    pub(crate) age: Option<Duration>,
}

impl<F: Format> Aloft<F> {
    /// Returns when the request left that is under way longest; none while it waits for its turn.
    pub(crate) fn departed_at(&self) -> Option<Instant> {
        self.legs.first().and_then(|leg| leg.send_time.at())
    }
}

impl<F: Format> Default for InFlight<F> {
    fn default() -> Self {
        Self { landings: FuturesUnordered::new(), in_flight: BTreeMap::new(), legs: 0 }
    }
}

impl<F: Format> InFlight<F> {
    /// Returns whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Returns whether work is under way.
    pub(crate) fn has(&self, work: &Work) -> bool {
        self.in_flight.contains_key(work)
    }

    /// Returns what is under way, in the order of work.
    pub(crate) fn in_flight(&mut self) -> impl Iterator<Item = (&Work, &mut Aloft<F>)> {
        self.in_flight.iter_mut()
    }

    /// Returns a piece of work that is under way.
    pub(crate) fn find(&mut self, work: &Work) -> Option<&mut Aloft<F>> {
        self.in_flight.get_mut(work)
    }

    /// Starts a flight, also if one of the same work is in flight. A request to a model comes with its question and its
    /// send time.
    pub(crate) fn launch(
        &mut self,
        work: &Work,
        attempt: Option<AttemptRef>,
        (question, send_time): (Option<Arc<Question<F>>>, SendTime),
        flight: impl Future<Output = Command<F>> + Send + 'static,
    ) {
        self.legs += 1;
        let id = self.legs;
        let (abort, registration) = AbortHandle::new_pair();
        let flight = Abortable::new(flight, registration);
        let landing = work.clone();
        self.landings.push(Box::pin(async move { (landing, id, flight.await) }));
        let in_flight = self.in_flight.entry(work.clone()).or_insert_with(|| Aloft {
            question,
            race_ages: None,
            raced: false,
            legs: Vec::new(),
        });
        in_flight.legs.push(Leg { id, send_time, abort, attempt });
    }

    /// Waits for the next landing; `None` when nothing is under way.
    pub(crate) async fn next(&mut self) -> Option<Completion<F>> {
        self.landings.next().await
    }

    /// Returns the next landing if there is one already.
    pub(crate) fn next_ready(&mut self) -> Option<Completion<F>> {
        self.landings.next().now_or_never().flatten()
    }

    /// Takes a leg that has landed off the list.
    pub(crate) fn landed(&mut self, work: &Work, leg: u64) {
        let Some(in_flight) = self.in_flight.get_mut(work) else { return };
        in_flight.legs.retain(|other| other.id != leg);
        if in_flight.legs.is_empty() {
            self.in_flight.remove(work);
        }
    }

    /// Calls back all work that is not to go on; returns what was given up.
    pub(crate) fn recall(&mut self, goes_on: impl Fn(&Work) -> bool) -> Vec<GivenUp<F>> {
        let unwanted: Vec<Work> = self.in_flight.keys().filter(|work| !goes_on(work)).cloned().collect();
        let mut given_up = Vec::new();
        for in_flight in unwanted.into_iter().filter_map(|work| self.in_flight.remove(&work)) {
            for leg in in_flight.legs {
                leg.abort.abort();
                let Some(attempt) = leg.attempt else { continue };
                let (question, age) = (in_flight.question.clone(), leg.send_time.age());
                given_up.push(GivenUp { attempt, question, age });
            }
        }
        given_up
    }
}

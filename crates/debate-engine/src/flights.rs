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

use crate::departure::Departure;
use crate::hedging::RaceAges;
use crate::turn::Question;

/// What comes of a flight: which work it was for, which of its legs, and the command that its result is.
pub(crate) type Landing<F> = (Work, u64, Result<Command<F>, Aborted>);

type Flight<F> = Pin<Box<dyn Future<Output = Landing<F>> + Send>>;

/// Everything under way.
pub(crate) struct Flights<F: Format> {
    landings: FuturesUnordered<Flight<F>>,
    aloft: BTreeMap<Work, Aloft<F>>,
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
    departure: Departure,
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
        self.legs.first().and_then(|leg| leg.departure.at())
    }
}

impl<F: Format> Default for Flights<F> {
    fn default() -> Self {
        Self { landings: FuturesUnordered::new(), aloft: BTreeMap::new(), legs: 0 }
    }
}

impl<F: Format> Flights<F> {
    /// Returns whether nothing is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.aloft.is_empty()
    }

    /// Returns whether work is under way.
    pub(crate) fn has(&self, work: &Work) -> bool {
        self.aloft.contains_key(work)
    }

    /// Returns what is under way, in the order of work.
    pub(crate) fn aloft(&mut self) -> impl Iterator<Item = (&Work, &mut Aloft<F>)> {
        self.aloft.iter_mut()
    }

    /// Returns a piece of work that is under way.
    pub(crate) fn find(&mut self, work: &Work) -> Option<&mut Aloft<F>> {
        self.aloft.get_mut(work)
    }

    /// Starts a flight, beside another one of the same work where there is one; of a request to a model with what is asked
    /// and when it leaves.
    pub(crate) fn launch(
        &mut self,
        work: &Work,
        attempt: Option<AttemptRef>,
        (question, departure): (Option<Arc<Question<F>>>, Departure),
        flight: impl Future<Output = Command<F>> + Send + 'static,
    ) {
        self.legs += 1;
        let id = self.legs;
        let (abort, registration) = AbortHandle::new_pair();
        let flight = Abortable::new(flight, registration);
        let landing = work.clone();
        self.landings.push(Box::pin(async move { (landing, id, flight.await) }));
        let aloft = self.aloft.entry(work.clone()).or_insert_with(|| Aloft {
            question,
            race_ages: None,
            raced: false,
            legs: Vec::new(),
        });
        aloft.legs.push(Leg { id, departure, abort, attempt });
    }

    /// Waits for the next landing; `None` when nothing is under way.
    pub(crate) async fn next(&mut self) -> Option<Landing<F>> {
        self.landings.next().await
    }

    /// Returns the next landing if there is one already.
    pub(crate) fn next_ready(&mut self) -> Option<Landing<F>> {
        self.landings.next().now_or_never().flatten()
    }

    /// Takes a leg that has landed off the list.
    pub(crate) fn landed(&mut self, work: &Work, leg: u64) {
        let Some(aloft) = self.aloft.get_mut(work) else { return };
        aloft.legs.retain(|other| other.id != leg);
        if aloft.legs.is_empty() {
            self.aloft.remove(work);
        }
    }

    /// Calls back all work that is not to go on; returns what was given up.
    pub(crate) fn recall(&mut self, goes_on: impl Fn(&Work) -> bool) -> Vec<GivenUp<F>> {
        let unwanted: Vec<Work> = self.aloft.keys().filter(|work| !goes_on(work)).cloned().collect();
        let mut given_up = Vec::new();
        for aloft in unwanted.into_iter().filter_map(|work| self.aloft.remove(&work)) {
            for leg in aloft.legs {
                leg.abort.abort();
                let Some(attempt) = leg.attempt else { continue };
                let (question, age) = (aloft.question.clone(), leg.departure.age());
                given_up.push(GivenUp { attempt, question, age });
            }
        }
        given_up
    }
}

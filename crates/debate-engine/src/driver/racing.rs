//! Racing requests that are late: when it is time, sending the second one, and learning how long answers take.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use debate_core::call::{CallKey, Work};
use debate_core::command::{Command, DecideError};
use debate_core::decide::Draft;
use debate_core::format::Format;
use debate_prompts::prompts::Prompts;
use tokio::time::Instant;

use super::{DriveError, Driver, PendingCall};
use crate::hedging::{Hedge, RaceAges};
use crate::pricing;

impl<P: Prompts> Driver<P> {
    /// Returns a future that is ready with a request that others wait for and that is slow enough to be raced.
    pub(super) fn race_due(&mut self) -> impl Future<Output = Work> + use<P> {
        let due = self.next_race();
        async move {
            match due {
                Some((at, work)) => {
                    tokio::time::sleep_until(at).await;
                    work
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Returns when the next request is raced as things are now, and which. One that waits for its turn is not raced: a second
    /// one would wait behind it. It is looked at again once it has left, with whatever wakes the driver next.
    fn next_race(&mut self) -> Option<(Instant, Work)> {
        let hedging = &self.shared.settings.hedging;
        if hedging.after == Hedge::Off {
            return None;
        }
        let (debate, races, beginnings) = (&self.journal.debate, &self.shared.races, &self.beginnings);
        let mut awaited = 0;
        let mut waiting = Vec::new();
        for (work, in_flight) in self.in_flight.in_flight() {
            let Some(question) = &in_flight.question else { continue };
            let call = &work.want().call;
            if !P::Format::is_critical(debate, call) {
                continue;
            }
            awaited += 1;
            if in_flight.race_ages.is_none() {
                let age = beginnings.get(call).copied().unwrap_or_default();
                in_flight.race_ages = races.ages(hedging, question.model.name(), call, age);
            }
            let (ages, departed) =
                (in_flight.race_ages.filter(|_| !in_flight.raced), in_flight.departed_at());
            waiting.extend(departed.zip(ages).map(|(departed, ages)| (departed, ages, work)));
        }
        let age = |ages: RaceAges| if awaited == 1 { ages.alone } else { ages.among };
        let first = waiting.into_iter().map(|(departed, ages, work)| (departed + age(ages), work)).min();
        first.map(|(due, work)| (due, work.clone()))
    }

    /// Sends a second request for an answer that is late, if the limits of races and of the debate allow it.
    pub(super) fn race(&mut self, work: &Work) -> Result<Draft<P::Format>, DriveError> {
        let shared = Arc::clone(&self.shared);
        let mut draft = self.draft();
        let Some(in_flight) = self.in_flight.find(work) else { return Ok(draft) };
        in_flight.raced = true;
        let Some(question) = in_flight.question.clone() else { return Ok(draft) };
        let question = Arc::new(question.raced());
        let reserved = question.reserved();
        let spared = pricing::spared(&shared, draft.debate(), reserved);
        match draft.decide(Command::BeginCall(question.begin(work, Some(spared)))) {
            // No place is taken for a race that its debate does not allow.
            Ok(()) if shared.races.take(&shared.settings.hedging, reserved) => {
                self.raced.push(PendingCall::Turn(work.clone(), question));
                Ok(draft)
            }
            Ok(()) => Ok(self.draft()),
            // Its debate has no budget for a second request.
            Err(DecideError::NotWanted(_)) => Ok(draft),
            Err(error) => Err(DriveError::Plan(error)),
        }
    }

    /// Learns how long a readable answer took.
    pub(super) fn learn(&mut self, work: &Work, command: &Command<P::Format>) {
        let (Command::FinishCall { reply, .. } | Command::AnswerTurn { reply, .. }) = command else { return };
        let Some(question) = self.in_flight.find(work).and_then(|in_flight| in_flight.question.as_ref())
        else {
            return;
        };
        let latency = Duration::from_millis(reply.latency_ms);
        let model = question.model.name();
        self.shared.races.learn(model, &question.want.call.kind, latency, false);
        self.shared.paces.learn(model, &reply.usage, reply.latency_ms, question.thinking.effort);
    }

    /// Remembers how old the debate is when it first puts a question.
    pub(super) fn note_beginning(&mut self, call: &CallKey) {
        if self.shared.settings.hedging.after != Hedge::Off && !self.beginnings.contains_key(call) {
            let age = self.shared.env.now().since_ms(self.journal.debate.opened_at());
            self.beginnings.insert(call.clone(), Duration::from_millis(age));
        }
    }
}

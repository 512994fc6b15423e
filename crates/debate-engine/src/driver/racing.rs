//! Racing requests that are late: when it is time, sending the second one, and learning how long answers take.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use debate_core::call::Work;
use debate_core::command::{Command, DecideError};
use debate_core::decide::Draft;
use debate_core::format::Format;
use debate_prompts::prompts::Prompts;

use super::{DriveError, Driver, Takeoff};
use crate::hedging::{Hedge, RaceAges};
use crate::pricing;
use crate::turn::Question;

impl<P: Prompts> Driver<P> {
    /// Returns a future that is ready with a request that others wait for and that is slow enough to be raced.
    pub(super) fn race_due(&self) -> impl Future<Output = Work> + use<P> {
        let debate = self.debate();
        let is_awaited = |work: &Work| P::Format::is_critical(debate, &work.want().call);
        let asked = self.flights.aloft().filter(|(_, aloft)| aloft.question.is_some());
        let due = (self.house.settings.hedging.after != Hedge::Off).then(|| {
            let awaited: Vec<_> = asked.filter(|(work, _)| is_awaited(work)).collect();
            let alone = awaited.len() == 1;
            let waiting = awaited.into_iter().filter(|(_, aloft)| !aloft.raced);
            let due = waiting.filter_map(|(work, aloft)| {
                let ages = aloft.race_ages?;
                Some((aloft.since + if alone { ages.alone } else { ages.among }, work.clone()))
            });
            due.min()
        });
        async move {
            match due.flatten() {
                Some((at, work)) => {
                    tokio::time::sleep_until(at).await;
                    work
                }
                None => std::future::pending().await,
            }
        }
    }

    /// Sends a second request for an answer that is late, if the limits of races and of the debate allow it.
    pub(super) fn race(&mut self, work: &Work) -> Result<Draft<P::Format>, DriveError> {
        let house = Arc::clone(&self.house);
        let mut draft = self.draft();
        let Some(aloft) = self.flights.find(work) else { return Ok(draft) };
        aloft.raced = true;
        let Some(question) = aloft.question.clone().filter(|_| house.races.take(&house.settings.hedging))
        else {
            return Ok(draft);
        };
        let question = Arc::new(question.raced());
        let spared = pricing::spared(&house, draft.debate(), question.reserved());
        match draft.decide(Command::BeginCall(question.begin(work, Some(spared)))) {
            Ok(()) => self.raced.push(Takeoff::Turn(work.clone(), question)),
            // Its debate has no budget for a second request.
            Err(DecideError::NotWanted(_)) => {}
            Err(error) => return Err(DriveError::Plan(error)),
        }
        Ok(draft)
    }

    /// Learns how long a readable answer took.
    pub(super) fn learn(&mut self, work: &Work, command: &Command<P::Format>) {
        let (Command::FinishCall { reply, .. } | Command::AnswerTurn { reply, .. }) = command else { return };
        let Some(question) = self.flights.find(work).and_then(|aloft| aloft.question.as_ref()) else {
            return;
        };
        let latency = Duration::from_millis(reply.latency_ms);
        self.house.races.learn(question.model.name(), &question.want.call.kind, latency, false);
    }

    /// Returns the ages at which a question is raced that is put now, and remembers when it is put.
    pub(super) fn race_ages(&mut self, question: &Question<P::Format>) -> Option<RaceAges> {
        let house = &self.house;
        if house.settings.hedging.after == Hedge::Off {
            return None;
        }
        let call = &question.want.call;
        let age = house.surroundings.now().since_ms(self.journal.debate.opened_at());
        let age = Duration::from_millis(age);
        if !self.beginnings.contains_key(call) {
            self.beginnings.insert(call.clone(), age);
        }
        house.races.ages(&house.settings.hedging, question.model.name(), call, age)
    }
}

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
use crate::hedging::Hedge;
use crate::pricing;

impl<P: Prompts> Driver<P> {
    /// Returns a future that is ready with a request that others wait for and that is slow enough to be raced.
    pub(super) fn race_due(&self) -> impl Future<Output = Work> + use<P> {
        let hedging = &self.house.settings.hedging;
        let debate = self.debate();
        let is_awaited = |work: &Work| P::Format::is_critical(debate, &work.want().call);
        let asked =
            self.flights.aloft().filter_map(|(work, aloft)| Some((work, aloft, aloft.question.as_ref()?)));
        let due = (hedging.after != Hedge::Off).then(|| {
            let awaited: Vec<_> = asked.filter(|(work, _, _)| is_awaited(work)).collect();
            let alone = awaited.len() == 1;
            let waiting = awaited.into_iter().filter(|(_, aloft, _)| !aloft.raced);
            let due = waiting.filter_map(|(work, aloft, question)| {
                let kind = &question.want.call.kind;
                let age = self.house.races.age(hedging, question.model.name(), kind, alone)?;
                Some((aloft.since + age, work.clone()))
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
        self.house.races.learn(question.model.name(), &question.want.call.kind, latency);
    }
}

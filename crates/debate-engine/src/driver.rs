//! The loop that drives one debate: start the wanted work that is not in flight, turn each result into a command,
//! append what is decided, fold it, and round again. There is no other path: after a crash nothing is in flight,
//! so the same loop starts whatever is still wanted.

mod asking;
mod pending_call;
mod racing;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use debate_core::call::{CallKey, Reserved, Thinking, Work};
use debate_core::codec::Author;
use debate_core::command::{BeginCall, Command, DecideError};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::decide::Draft;
use debate_core::event::{AttemptRef, PromptRef};
use debate_core::format::Format;
use debate_core::id::{DebateId, Seq, Timestamp};
use debate_prompts::prompts::Prompts;
use debate_store::{AppendError, ReadError};
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tracing::Instrument as _;

use crate::binding;
use crate::control::{Control, ControlError};
use crate::engine_shared::EngineShared;
use crate::in_flight::{Completion, GivenUp, InFlight};
use crate::journal::{Journal, LoadError};
use crate::live::Live;
use crate::send_time::SendTime;
use crate::telemetry::{self, Driven, Spans};
use crate::turn;
use pending_call::{PendingCall, attempts_of, run_tool, unaskable};

/// How often a driver looks whether another process wrote to its debate.
const FOREIGN_WRITES_EVERY: Duration = Duration::from_secs(1);

/// Failures of the store in a row before a driver gives its debate up; it can be taken up again.
const STORE_FAILURES_MAX: u32 = 100;

/// The longest wait before a store that failed is tried again.
const STORE_WAIT_MAX: Duration = Duration::from_secs(5);

/// What other tasks may say to a driver.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) control: Control,
    pub(crate) actor: String,
    pub(crate) reply: oneshot::Sender<Result<(), ControlError>>,
}

/// How a driver came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The debate has concluded.
    Concluded,
    /// It is paused and nothing is in flight; it can be taken up again.
    Resting,
    /// Another writer drives it.
    ClaimLost,
    /// This process is shutting down; the debate can be taken up again.
    ShutDown,
    /// The debate may not use the models of this process, which leaves it alone (rule K23).
    Unoffered,
}

/// A debate could not be driven on. Nothing is lost: it can be taken up again.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The log cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store kept failing.
    #[error("the store kept failing")]
    Store(#[source] AppendError),
    /// A decision was refused that must not be: a defect of this program.
    #[error("the kernel refused its own plan")]
    Plan(#[source] DecideError),
}

impl DriveError {
    /// Returns whether trying again can help.
    fn may_pass(&self) -> bool {
        match self {
            Self::Load(LoadError::Read(ReadError::Backend { .. })) | Self::Store(_) => true,
            Self::Load(_) | Self::Plan(_) => false,
        }
    }
}

/// Everything that drives one debate.
pub(crate) struct Driver<P: Prompts> {
    shared: Arc<EngineShared>,
    prompts: Arc<P>,
    journal: Journal<P::Format>,
    author: Author,
    live: Live,
    spans: Spans,
    in_flight: InFlight<P::Format>,
    /// Second requests that are decided and not yet sent.
    raced: Vec<PendingCall<P::Format>>,
    /// How old the debate was when it first put each question.
    beginnings: BTreeMap<CallKey, Duration>,
}

impl<P: Prompts> std::fmt::Debug for Driver<P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("debate", &self.journal.debate.id()).finish_non_exhaustive()
    }
}

/// Drives a debate until it concludes, rests, is lost to another writer, or the process shuts down.
///
/// # Errors
/// The log is corrupt, or the store kept failing.
pub(crate) async fn drive<P: Prompts>(
    shared: Arc<EngineShared>,
    prompts: Arc<P>,
    debate: DebateId,
    live: Live,
    orders: &mut mpsc::Receiver<Order>,
) -> Result<Ended, DriveError> {
    let mut failures = 0;
    let mut reached = Seq::START;
    loop {
        let before = reached;
        let error = match drive_on(&shared, &prompts, debate, &live, orders, &mut reached).await {
            Ok(ended) => return Ok(ended),
            Err(error) => error,
        };
        failures = if reached > before { 1 } else { failures + 1 };
        if !error.may_pass() || failures > STORE_FAILURES_MAX {
            return Err(error);
        }
        // Whether events are stored may be unknown: replaying says so without guessing.
        tracing::warn!(%debate, error = &error as &dyn std::error::Error, "the store failed; replaying");
        tokio::select! {
            () = shared.shutdown.cancelled() => return Ok(Ended::ShutDown),
            () = tokio::time::sleep(Duration::from_millis(20 << failures.min(10)).min(STORE_WAIT_MAX)) => {}
        }
    }
}

/// Takes a debate up from the log and drives it as far as the store lets it; says how far the log reached.
async fn drive_on<P: Prompts>(
    shared: &Arc<EngineShared>,
    prompts: &Arc<P>,
    debate: DebateId,
    live: &Live,
    orders: &mut mpsc::Receiver<Order>,
    reached: &mut Seq,
) -> Result<Ended, DriveError> {
    // Appends are announced from before the log is read, so that a follower that reads it too misses nothing in
    // between.
    let _driven = live.tail.drive();
    let journal: Journal<P::Format> = Journal::load(&*shared.store, debate, None).await?;
    if let Some(why) = binding::missing(shared, &journal.debate) {
        tracing::warn!(%debate, %why, "left alone");
        return Ok(Ended::Unoffered);
    }
    let author = Author { tenant: journal.tenant.clone(), actor: shared.actor.clone(), trace: None };
    let spans = Spans::open(&*shared.store, &journal.debate, &journal.tenant).await;
    let span = spans.debate();
    let _counted = Driven::begin::<P::Format>();
    let mut driver = Driver {
        shared: Arc::clone(shared),
        prompts: Arc::clone(prompts),
        journal,
        author,
        live: live.clone(),
        spans,
        in_flight: InFlight::default(),
        raced: Vec::new(),
        beginnings: BTreeMap::new(),
    };
    let ended = driver.run(orders).instrument(span).await;
    *reached = driver.journal.head.seq.max(*reached);
    let ended = ended?;
    if ended != Ended::ClaimLost {
        return Ok(ended);
    }
    // A claim stays lost, whatever the store says next.
    let journal: Option<Journal<P::Format>> = Journal::load(&*shared.store, debate, None).await.ok();
    let concluded = journal.is_some_and(|journal| journal.debate.lifecycle() == Lifecycle::Concluded);
    Ok(if concluded { Ended::Concluded } else { Ended::ClaimLost })
}

/// Returns whether a deadline is due that was not acted upon.
fn is_due<F: Format>(debate: &Debate<F>, now: Timestamp) -> bool {
    debate.due_at().is_some_and(|due| due <= now)
}

impl<P: Prompts> Driver<P> {
    async fn run(&mut self, orders: &mut mpsc::Receiver<Order>) -> Result<Ended, DriveError> {
        let mut foreign = tokio::time::interval(FOREIGN_WRITES_EVERY);
        foreign.tick().await;
        let mut draft = self.draft();
        loop {
            if !self.start_wanted(draft).await? {
                return Ok(Ended::ClaimLost);
            }
            if is_due(self.debate(), self.shared.env.now()) {
                // The store took until now: what it has begun, or was given its turn meanwhile, is not to leave any more.
                draft = self.draft();
                continue;
            }
            match self.debate().lifecycle() {
                Lifecycle::Concluded => {
                    self.spans.conclude(self.debate());
                    self.shared.races.learn_beginnings(std::mem::take(&mut self.beginnings));
                    return Ok(Ended::Concluded);
                }
                Lifecycle::Paused { .. } if self.in_flight.is_empty() => return Ok(Ended::Resting),
                Lifecycle::Paused { .. } | Lifecycle::Running => {}
            }
            let deadline = self.deadline();
            let race = self.race_due();
            let kept = tokio::select! {
                biased;
                () = self.shared.shutdown.cancelled() => return Ok(Ended::ShutDown),
                Some(order) = orders.recv() => self.handle_control(order).await?,
                Some(landing) = self.in_flight.next() => {
                    let landings = self.landings(landing).await;
                    draft = self.land(landings)?;
                    continue;
                }
                work = race => {
                    draft = self.race(&work)?;
                    continue;
                }
                // What is due is decided before anything else is started.
                () = deadline => true,
                _ = foreign.tick() => !self.has_foreign_writes().await || self.takes_in_foreign_writes().await?,
            };
            if !kept {
                return Ok(Ended::ClaimLost);
            }
            draft = self.draft();
        }
    }

    fn debate(&self) -> &Debate<P::Format> {
        &self.journal.debate
    }

    fn draft(&self) -> Draft<P::Format> {
        self.debate().draft(self.shared.env.now())
    }

    /// Cancels calls that are no longer wanted and starts those that are, in one append with what was decided before;
    /// `false` when the claim is lost.
    ///
    /// A deadline that is due goes first, so that nothing is paid for after it (rule K9).
    async fn start_wanted(&mut self, mut draft: Draft<P::Format>) -> Result<bool, DriveError> {
        if is_due(draft.debate(), draft.at()) {
            draft.decide(Command::CheckDeadline).map_err(DriveError::Plan)?;
        }
        self.cancel_unwanted(&mut draft)?;
        let mut started = self.begin(&mut draft)?;
        started.append(&mut self.raced);
        let attempts = attempts_of(draft.events());
        if !self.record(draft).await? {
            return Ok(false);
        }
        for pending_call in started {
            self.take_off(pending_call, &attempts);
        }
        Ok(true)
    }

    fn cancel_unwanted(&mut self, draft: &mut Draft<P::Format>) -> Result<(), DriveError> {
        if self.in_flight.is_empty() && self.spans.are_closed() {
            return Ok(());
        }
        let running = draft.debate().running_work();
        self.spans.close_all_but(&running);
        for GivenUp { attempt, question, age } in self.in_flight.recall(|work| running.contains(work)) {
            if let Some((question, age)) = question.zip(age) {
                // It took at least so long; without it the slow ones would be forgotten.
                self.shared.races.learn(question.model.name(), &question.want.call.kind, age, true);
            }
            match draft.decide(Command::AbandonCall(attempt)) {
                // An attempt that the kernel has closed already needs no second end.
                Ok(()) | Err(DecideError::NotOpen(_) | DecideError::Concluded) => {}
                Err(error) => return Err(DriveError::Plan(error)),
            }
        }
        Ok(())
    }

    /// Begins all that is wanted and not under way; beginning may use up a budget, after which other work is wanted.
    fn begin(&self, draft: &mut Draft<P::Format>) -> Result<Vec<PendingCall<P::Format>>, DriveError> {
        let mut started: Vec<PendingCall<P::Format>> = Vec::new();
        loop {
            let is_under_way = |work: &Work| {
                self.in_flight.has(work) || started.iter().any(|pending_call| pending_call.work() == work)
            };
            let idle = draft.wanted_work().iter().find(|work| !is_under_way(work)).cloned();
            let Some(work) = idle else { return Ok(started) };
            let (command, pending_call) = self.prepare(draft.debate(), work);
            draft.decide(command).map_err(DriveError::Plan)?;
            started.push(pending_call);
        }
    }

    fn prepare(
        &self,
        debate: &Debate<P::Format>,
        work: Work,
    ) -> (Command<P::Format>, PendingCall<P::Format>) {
        let Work::Turn { want, .. } = &work else {
            return (Command::BeginTool(work.clone()), PendingCall::Tool(work));
        };
        match self.question(debate, want) {
            Ok(question) => {
                (Command::BeginCall(question.begin(&work, None)), PendingCall::Turn(work, Arc::new(question)))
            }
            Err(why) => {
                let begin = BeginCall {
                    work: work.clone(),
                    hedge: None,
                    model: String::new(),
                    prompt: PromptRef::default(),
                    reserved: Reserved::NOTHING,
                    thinking: Thinking::default(),
                };
                (Command::BeginCall(begin), PendingCall::Unaskable(work, why))
            }
        }
    }

    fn take_off(&mut self, pending_call: PendingCall<P::Format>, attempts: &[AttemptRef]) {
        let work = pending_call.work().clone();
        let started = attempts.iter().find(|attempt| attempt.want() == *work.want()).cloned();
        let mut asked = None;
        let send_time = SendTime::default();
        let flight: BoxFuture<'static, Command<P::Format>> = match (pending_call, &started) {
            // The kernel gave it up instead of starting it.
            (PendingCall::Tool(work), _) if !self.debate().running_work().contains(&work) => return,
            (PendingCall::Tool(work), _) => {
                let (name, arguments) = self.tool(&work);
                let span = self.spans.tool(&work, &name);
                let (shared, as_of) = (Arc::clone(&self.shared), self.debate().as_of());
                Box::pin(run_tool(shared, (name, arguments), as_of, work).instrument(span))
            }
            // The kernel chose not to start it.
            (PendingCall::Turn(..) | PendingCall::Unaskable(..), None) => return,
            (PendingCall::Turn(_, question), Some(attempt)) => {
                self.note_beginning(&question.want.call);
                asked = Some(Arc::clone(&question));
                if question.request.race == 0 {
                    self.shared.races.count_first(question.reserved());
                }
                let (shared, prompts) = (Arc::clone(&self.shared), Arc::clone(&self.prompts));
                let (attempt, live, send_time) = (attempt.clone(), self.live.clone(), send_time.clone());
                let span = self.spans.attempt(&attempt, &question);
                let asking = async move {
                    let _turn = shared.calls.take(&question.request.tenant).await;
                    send_time.leaves();
                    let to = (&live, &send_time);
                    let command = turn::ask(&*prompts, &question, attempt, to, &shared.windows).await;
                    telemetry::attempt_ended(&command);
                    command
                };
                Box::pin(asking.instrument(span))
            }
            (PendingCall::Unaskable(_, why), Some(attempt)) => {
                let command = unaskable(attempt.clone(), why);
                Box::pin(async move { command })
            }
        };
        self.in_flight.launch(&work, started, (asked, send_time), flight);
    }

    fn tool(&self, work: &Work) -> (String, String) {
        let Work::Tool { want, turn, index } = work else { return Default::default() };
        let turns = self.debate().call(&want.call).map_or(&[][..], |call| &call.turns);
        let asked = turns.get((*turn as usize).wrapping_sub(1));
        let name = asked.and_then(|turn| turn.tools.get(*index as usize)).map(|tool| tool.tool.clone());
        let prose = asked.and_then(|turn| turn.prose.shown());
        let arguments = prose.and_then(|prose| prose.arguments.get(*index as usize)).cloned();
        (name.unwrap_or_default(), arguments.unwrap_or_default())
    }

    /// Waits for as long as results keep coming that are here already: they go into one append with the first. Where little
    /// is going on that is no time at all.
    async fn landings(&mut self, first: Completion<P::Format>) -> Vec<Completion<P::Format>> {
        let mut landings = vec![first];
        loop {
            tokio::task::yield_now().await;
            let known = landings.len();
            landings.extend(std::iter::from_fn(|| self.in_flight.next_ready()));
            if landings.len() == known {
                return landings;
            }
        }
    }

    /// Takes in results.
    fn land(&mut self, landings: Vec<Completion<P::Format>>) -> Result<Draft<P::Format>, DriveError> {
        let mut draft = self.draft();
        for (work, leg, command) in landings {
            let Ok(command) = command else { continue };
            self.learn(&work, &command);
            self.in_flight.landed(&work, leg);
            match draft.decide(command) {
                // The answer came after its question was settled or withdrawn.
                Ok(())
                | Err(DecideError::NotOpen(_) | DecideError::Concluded | DecideError::NotWanted(_)) => {}
                Err(error) => return Err(DriveError::Plan(error)),
            }
        }
        Ok(draft)
    }

    async fn handle_control(&mut self, order: Order) -> Result<bool, DriveError> {
        let command = order.control.command();
        let mut draft = self.draft();
        if let Err(error) = draft.decide(command) {
            // What was refused here may fit the state that another writer made of it.
            let is_lost = self.has_foreign_writes().await;
            let unsettled = ControlError::Unsettled(self.debate().id());
            let reply = if is_lost { unsettled } else { ControlError::Refused(error) };
            // The caller may be gone; the debate does not depend on it.
            let _unheard = order.reply.send(Err(reply));
            return Ok(!is_lost);
        }
        let engine = std::mem::replace(&mut self.author.actor, order.actor);
        let recorded = self.record(draft).await;
        self.author.actor = engine;
        let reply = match &recorded {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(ControlError::Unsettled(self.debate().id())),
        };
        let _unheard = order.reply.send(reply);
        recorded
    }

    /// Appends and takes over what was decided; `false` when another writer came first.
    async fn record(&mut self, draft: Draft<P::Format>) -> Result<bool, DriveError> {
        let shared = &self.shared;
        match self.journal.record(&*shared.store, &shared.env, &self.author, draft).await {
            Ok(appended) => {
                self.live.tail.appended(appended);
                Ok(true)
            }
            Err(AppendError::Conflict { .. }) => Ok(false),
            Err(error) => Err(DriveError::Store(error)),
        }
    }

    /// Returns a future that is ready when a deadline is due; never while the debate does not run.
    fn deadline(&self) -> impl Future<Output = ()> + use<P> {
        let wait = self.debate().due_at().map(|due| self.shared.env.until(due));
        async move {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        }
    }

    /// Takes in what others wrote while this replica has the lease: controls. Without leases it is a rival who writes.
    async fn takes_in_foreign_writes(&mut self) -> Result<bool, DriveError> {
        if self.shared.leasing.is_some() {
            self.journal.catch_up(&*self.shared.store).await?;
        }
        Ok(self.shared.leasing.is_some())
    }

    /// Returns whether somebody else wrote to this debate.
    fn has_foreign_writes(&self) -> impl Future<Output = bool> + use<P> {
        let (shared, debate, known) = (Arc::clone(&self.shared), self.debate().id(), self.journal.head.seq);
        async move {
            let head = shared.store.head(debate.into()).await;
            matches!(head, Ok(Some(head)) if head.seq > known)
        }
    }
}

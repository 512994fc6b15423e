//! The state of one debate: the fold of its events, nothing else (rule K1).
//!
//! [`Debate::apply`] records and never chooses; [`crate::decide`] chooses, [`crate::plan`] says what should be
//! running. Nothing here reads a clock or a store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::bound::{BoundModels, ModelIdentity};
use crate::call::{CallKey, Effort, InputRef, Want};
use crate::calls::{CallState, OpenAttempt};
use crate::event::{
    CallStarted, Concluded, Event, Forked, KernelEvent, Opened, Recorded, ReplyFacts, Resolved,
    StopRuleFired, ToolAnswered, ToolStarted,
};
use crate::format::Format;
use crate::id::{DebateId, Seq, Timestamp};
pub use crate::lifecycle::Lifecycle;
use crate::limits::Limits;
use crate::prose::Prose;
use crate::spend::Spend;

/// One debate of format `F`, folded up to [`Debate::head`].
///
/// Cheap to clone: what is large is shared until it changes.
#[derive(Debug, Clone)]
pub struct Debate<F: Format> {
    pub(crate) id: DebateId,
    pub(crate) head: Seq,
    pub(crate) limits: Limits,
    pub(crate) config: Arc<F::Config>,
    pub(crate) brief: Prose<F::Brief>,
    pub(crate) opened_at: Timestamp,
    /// When the debate was opened from which this one stems; its own opening where it is no fork.
    began_at: Timestamp,
    pub(crate) deadline_at: Timestamp,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) stop: Option<StopRuleFired>,
    pub(crate) shadows: Vec<StopRuleFired>,
    pub(crate) calls: BTreeMap<CallKey, Arc<CallState>>,
    pub(crate) revised: bool,
    /// The time of the last event.
    pub(crate) last_at: Timestamp,
    /// The longest time of an answer that does not close the debate, in milliseconds.
    pub(crate) slowest_ms: Option<u64>,
    /// The least effort that was asked of a model so far (rule P23).
    pub(crate) least_effort: Option<Effort>,
    pub(crate) phases: Vec<(String, u32)>,
    pub(crate) spend: Spend,
    /// The models that it may use; none where its log does not say (rule K23).
    pub(crate) bound: Option<BoundModels>,
    /// The model that all is put to instead, and after which event.
    pub(crate) replacement: Option<(ModelIdentity, Seq)>,
    pub(crate) models: BTreeSet<String>,
    pub(crate) unpriced_models: BTreeSet<String>,
    pub(crate) conclusion: Option<(Concluded, Timestamp)>,
    pub(crate) resolved: Option<(Resolved, Timestamp)>,
    /// The debate as it was when the world first answered: its forecast is the one that is scored (rule K16).
    pub(crate) scored: Option<Arc<Self>>,
    pub(crate) redacted: BTreeSet<Seq>,
    pub(crate) inherits_redaction: bool,
    /// The forks that led here, the last one last.
    pub(crate) lineage: Vec<Forked>,
    pub(crate) state: F::State,
}

/// An event does not fit the state it was folded into: the log is corrupt, or code that wrote it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} ({kind}) cannot have happened here: {why}")]
pub struct ApplyError {
    /// The event's sequence number.
    pub seq: Seq,
    /// Its kind.
    pub kind: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// A log is not the log of a debate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There are no events.
    #[error("the log is empty")]
    Empty,
    /// The first event is not `Opened`.
    #[error("the log begins with {0}, not with opened")]
    NotOpened(&'static str),
    /// An event does not fit.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

impl<F: Format> Debate<F> {
    /// Begins the fold with the first event.
    #[must_use]
    pub fn opened(opened: &Opened<F>, at: Timestamp) -> Self {
        Self {
            id: opened.debate,
            head: Seq(1),
            limits: opened.limits,
            config: Arc::new(opened.config.clone()),
            brief: opened.prose.clone(),
            opened_at: at,
            began_at: at,
            deadline_at: at.plus_ms(opened.limits.deadline_ms),
            lifecycle: Lifecycle::Running,
            stop: None,
            shadows: Vec::new(),
            calls: BTreeMap::new(),
            revised: false,
            last_at: at,
            slowest_ms: None,
            least_effort: None,
            phases: Vec::new(),
            spend: Spend::NONE,
            bound: opened.models.clone(),
            replacement: None,
            models: BTreeSet::new(),
            unpriced_models: BTreeSet::new(),
            conclusion: None,
            resolved: None,
            scored: None,
            redacted: BTreeSet::new(),
            inherits_redaction: false,
            lineage: Vec::new(),
            state: F::open(&opened.config),
        }
    }

    /// Folds a whole log, or the prefix of one.
    ///
    /// # Errors
    /// The log is empty, does not begin with `Opened`, or holds an event that cannot have happened.
    pub fn replay<'a>(log: impl IntoIterator<Item = &'a Recorded<F>>) -> Result<Self, ReplayError> {
        let mut log = log.into_iter();
        let first = log.next().ok_or(ReplayError::Empty)?;
        let Event::Opened(opened) = &first.event else {
            return Err(ReplayError::NotOpened(first.event.kind()));
        };
        let mut debate = Self::opened(opened, first.at);
        for recorded in log {
            debate.apply(recorded.at, &recorded.event)?;
        }
        Ok(debate)
    }

    /// Folds the next event.
    ///
    /// # Errors
    /// The event cannot have happened in this state; the state is then of no further use.
    pub fn apply(&mut self, at: Timestamp, event: &Event<F>) -> Result<(), ApplyError> {
        let seq = self.head.next();
        let error = |why: String| ApplyError { seq, kind: event.kind(), why };
        if !self.lifecycle.admits(event) {
            return Err(error(format!("the debate is {}", self.lifecycle.as_str())));
        }
        match event {
            Event::Opened(_) => return Err(error("the debate is open already".to_owned())),
            Event::Fact(fact) => F::apply(&mut self.state, fact),
            Event::Kernel(kernel) => self.apply_kernel(at, kernel).map_err(error)?,
        }
        self.last_at = at;
        // A fork counts from its own beginning.
        self.head = self.head.next();
        Ok(())
    }

    fn apply_kernel(&mut self, at: Timestamp, event: &KernelEvent) -> Result<(), String> {
        match event {
            KernelEvent::PhaseOpened(opened) => self.phases.push((opened.phase.clone(), opened.round)),
            KernelEvent::PhaseClosed(closed) => {
                self.phases.retain(|(phase, round)| *phase != closed.phase || *round != closed.round);
            }
            KernelEvent::CallStarted(started) => self.apply_started(started)?,
            KernelEvent::TurnAnswered(turn) => {
                let open = self.call_mut(&turn.attempt.call)?.land(&turn.attempt)?;
                self.settle(Some(&turn.reply), &open);
                self.call_mut(&turn.attempt.call)?.ask_tools(turn);
            }
            KernelEvent::ToolStarted(started) => {
                let ToolStarted { call, revision, turn, index, attempt, .. } = started;
                self.call_mut(call)?.tool_at(*revision, *turn, *index)?.start(*attempt)?;
            }
            KernelEvent::ToolAnswered(answered) => {
                self.check_reused(answered)?;
                let ToolAnswered { call, revision, turn, index, .. } = answered;
                self.call_mut(call)?.tool_at(*revision, *turn, *index)?.answer(answered)?;
            }
            KernelEvent::CallAnswered(answered) => {
                let open = self.call_mut(&answered.attempt.call)?.land(&answered.attempt)?;
                self.settle(Some(&answered.reply), &open);
                self.call_mut(&answered.attempt.call)?.answer(answered);
                if !F::is_closing(&answered.attempt.call) {
                    self.slowest_ms = self.slowest_ms.max(Some(answered.reply.latency_ms));
                }
            }
            KernelEvent::AttemptFailed(failed) if failed.failure.is_never_sent() => {
                let call = self.calls.entry(failed.attempt.call.clone()).or_default();
                Arc::make_mut(call).fail_unsent(failed)?;
            }
            KernelEvent::AttemptFailed(failed) => {
                let open = self.call_mut(&failed.attempt.call)?.land(&failed.attempt)?;
                if failed.may_be_charged() {
                    self.settle(Some(&failed.reply), &open);
                }
                self.call_mut(&failed.attempt.call)?.fail(failed);
            }
            KernelEvent::AttemptAbandoned(abandoned) => {
                let open = self.call_mut(&abandoned.attempt.call)?.close(&abandoned.attempt)?;
                self.settle(None, &open);
            }
            KernelEvent::AnswerRejected(rejected) => {
                self.revised = true;
                self.call_mut(&rejected.call)?.reject(rejected)?;
            }
            KernelEvent::CallVoided(voided) => {
                self.revised = true;
                self.call_mut(&voided.call)?.void(voided.revision)?;
                F::void(&mut self.state, &Want { call: voided.call.clone(), revision: voided.revision });
            }
            KernelEvent::Forked(forked) => self.apply_forked(at, forked)?,
            KernelEvent::StopRuleFired(_)
            | KernelEvent::Paused(_)
            | KernelEvent::Resumed(_)
            | KernelEvent::DrivingResumed(_)
            | KernelEvent::Reopened(_)
            | KernelEvent::ModelReplaced(_)
            | KernelEvent::Cancelled(_)
            | KernelEvent::Concluded(_)
            | KernelEvent::Continued(_)
            | KernelEvent::Resolved(_)
            | KernelEvent::Redacted(_) => self.apply_life(at, event)?,
        }
        Ok(())
    }

    fn apply_life(&mut self, at: Timestamp, event: &KernelEvent) -> Result<(), String> {
        match event {
            KernelEvent::StopRuleFired(fired) => {
                if fired.shadow {
                    self.shadows.push(fired.clone());
                } else {
                    self.stop = Some(fired.clone());
                }
            }
            KernelEvent::Paused(paused) => {
                self.lifecycle = Lifecycle::Paused { remaining_ms: paused.remaining_ms };
            }
            KernelEvent::Resumed(resumed) => {
                self.lifecycle = Lifecycle::Running;
                self.deadline_at = resumed.deadline_at;
            }
            KernelEvent::DrivingResumed(resumed) => self.deadline_at = resumed.deadline_at,
            KernelEvent::Reopened(reopened) => {
                let unanswered = self.calls.values_mut().filter(|call| !call.is_answered());
                unanswered.for_each(|call| Arc::make_mut(call).reopen());
                self.go_on();
                self.deadline_at = reopened.deadline_at;
            }
            KernelEvent::ModelReplaced(replaced) => {
                self.replacement = Some((replaced.model.clone(), self.head.next()));
            }
            KernelEvent::Concluded(concluded) => {
                self.lifecycle = Lifecycle::Concluded;
                self.conclusion = Some((concluded.clone(), at));
            }
            KernelEvent::Continued(continued) => {
                let config = F::continued(&self.config, continued.rounds);
                self.config = Arc::new(config.ok_or("the format does not allow more rounds")?);
                F::reopen(&mut self.state, &self.config, continued.focus());
                self.lifecycle = Lifecycle::Running;
                self.stop = None;
                self.deadline_at = continued.deadline_at;
            }
            KernelEvent::Resolved(resolved) => {
                if self.scored.is_none() {
                    self.scored = Some(Arc::new(self.clone()));
                }
                self.resolved = Some((resolved.clone(), at));
            }
            KernelEvent::Redacted(redacted) if redacted.seq == Seq::START || redacted.seq > self.head => {
                return Err(format!("event {} is redacted before it is there", redacted.seq));
            }
            KernelEvent::Redacted(redacted) => drop(self.redacted.insert(redacted.seq)),
            KernelEvent::Cancelled(_)
            | KernelEvent::Forked(_)
            | KernelEvent::PhaseOpened(_)
            | KernelEvent::PhaseClosed(_)
            | KernelEvent::CallStarted(_)
            | KernelEvent::TurnAnswered(_)
            | KernelEvent::ToolStarted(_)
            | KernelEvent::ToolAnswered(_)
            | KernelEvent::CallAnswered(_)
            | KernelEvent::AttemptFailed(_)
            | KernelEvent::AttemptAbandoned(_)
            | KernelEvent::AnswerRejected(_)
            | KernelEvent::CallVoided(_) => {}
        }
        Ok(())
    }

    /// Goes on after a conclusion: what follows from answers alone is decided anew.
    pub(crate) fn go_on(&mut self) {
        F::forked(&mut self.state);
        self.lifecycle = Lifecycle::Running;
        self.stop = None;
        // What calls were shown is compared with what they would be shown now.
        self.revised = true;
        self.phases.clear();
    }

    fn apply_started(&mut self, started: &CallStarted) -> Result<(), String> {
        let call = Arc::make_mut(self.calls.entry(started.call.clone()).or_default());
        let lost = call.start(started)?;
        lost.iter().for_each(|open| self.settle(None, open));
        self.spend.calls += 1;
        self.models.insert(started.model.clone());
        self.least_effort = [self.least_effort, started.thinking.effort].into_iter().flatten().min();
        if started.reserved.cost_micros.is_none() {
            self.unpriced_models.insert(started.model.clone());
        }
        Ok(())
    }

    pub(crate) fn call_mut(&mut self, key: &CallKey) -> Result<&mut CallState, String> {
        self.calls.get_mut(key).map(Arc::make_mut).ok_or_else(|| format!("call {key} was never begun"))
    }

    /// Accounts for an attempt that has ended; one that a fork's parent sent is not its own to pay.
    fn settle(&mut self, reply: Option<&ReplyFacts>, ended: &OpenAttempt) {
        if !ended.is_parents {
            self.spend.settle(reply, ended.reserved, ended.thinking);
        }
    }
}

/// What the fold knows, for formats, the engine and readers.
impl<F: Format> Debate<F> {
    /// Returns which debate this is.
    #[must_use]
    pub fn id(&self) -> DebateId {
        self.id
    }

    /// Returns the sequence number of the last event folded.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Returns the rules in force.
    #[must_use]
    pub fn config(&self) -> &F::Config {
        &self.config
    }

    /// Returns the limits in force.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns the subject, unless it was redacted.
    #[must_use]
    pub fn brief(&self) -> &Prose<F::Brief> {
        &self.brief
    }

    /// Returns what the format's facts folded into.
    #[must_use]
    pub fn state(&self) -> &F::State {
        &self.state
    }

    /// Returns when the debate was opened.
    #[must_use]
    pub fn opened_at(&self) -> Timestamp {
        self.opened_at
    }

    /// Returns when the first event was recorded; for a fork, the first event of its parent.
    #[must_use]
    pub fn began_at(&self) -> Timestamp {
        self.began_at
    }

    /// Returns the moment that prompts state and tools receive: that of the request, or else when the debate began
    /// (rule K19).
    #[must_use]
    pub fn as_of(&self) -> Timestamp {
        F::as_of(&self.config).unwrap_or(self.began_at)
    }

    /// Returns where the debate is in its life.
    #[must_use]
    pub fn lifecycle(&self) -> Lifecycle {
        self.lifecycle
    }

    /// Returns the stop rule that is being obeyed.
    #[must_use]
    pub fn stop(&self) -> Option<&StopRuleFired> {
        self.stop.as_ref()
    }

    /// Returns the stop rules that fired in shadow so far, in order, so that a format need not fire one twice.
    #[must_use]
    pub fn shadows(&self) -> &[StopRuleFired] {
        &self.shadows
    }

    /// Returns whether the debate must conclude without asking anything more.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| !stop.closing)
    }

    /// Returns the phase that was opened last and is still open, with its number.
    ///
    /// Several are open where a format goes on to the next while something of the one before is outstanding.
    #[must_use]
    pub fn phase(&self) -> Option<(&str, u32)> {
        self.phases.last().map(|(name, round)| (name.as_str(), *round))
    }

    /// Returns whether a phase is open.
    #[must_use]
    pub fn is_open(&self, round: u32) -> bool {
        self.phases.iter().any(|(_, open)| *open == round)
    }

    /// Returns what was spent.
    #[must_use]
    pub fn spend(&self) -> Spend {
        self.spend
    }

    /// Returns the conclusion that stands and when it was reached.
    #[must_use]
    pub fn conclusion(&self) -> Option<(&Concluded, Timestamp)> {
        self.conclusion.as_ref().map(|(concluded, at)| (concluded, *at))
    }

    /// Returns whether prose of this debate was deleted.
    #[must_use]
    pub fn is_redacted(&self) -> bool {
        self.inherits_redaction || !self.redacted.is_empty()
    }

    /// Returns the events of its own log whose prose was deleted, as far as the log says so (rule K15).
    #[must_use]
    pub fn redacted(&self) -> &BTreeSet<Seq> {
        &self.redacted
    }

    /// Returns a call's state, if it was ever begun.
    #[must_use]
    pub fn call(&self, key: &CallKey) -> Option<&CallState> {
        self.calls.get(key).map(Arc::as_ref)
    }

    /// Returns every call ever begun, in key order.
    pub fn calls(&self) -> impl Iterator<Item = (&CallKey, &CallState)> {
        self.calls.iter().map(|(key, call)| (key, call.as_ref()))
    }

    /// Returns the revision of a call that is asked for now.
    #[must_use]
    pub fn revision(&self, key: &CallKey) -> u32 {
        self.calls.get(key).map_or(0, |call| call.revision)
    }

    /// Returns whether a revision of a call has its answer.
    #[must_use]
    pub fn is_answered(&self, key: &CallKey, revision: u32) -> bool {
        self.calls.get(key).is_some_and(|call| call.answered == Some(revision))
    }

    /// Returns whether a revision of a call has its answer from a reply that was cut (rule K18).
    #[must_use]
    pub fn is_cut(&self, key: &CallKey, revision: u32) -> bool {
        self.calls.get(key).is_some_and(|call| call.answered == Some(revision) && call.is_cut())
    }

    /// Returns whether a revision of a call has failed for good.
    #[must_use]
    pub fn is_failed(&self, key: &CallKey, revision: u32) -> bool {
        self.calls.get(key).is_some_and(|call| call.revision == revision && call.failed)
    }

    /// Returns the inputs recorded when a call last started.
    #[must_use]
    pub fn seen(&self, key: &CallKey) -> &[InputRef] {
        self.calls.get(key).map_or(&[], |call| call.sees.as_slice())
    }
}

//! Choosing events: what a command means in a given state. Nothing is folded here that was not also decided; the
//! list that comes out applies cleanly to the state it was decided on.

mod fork;
mod life;
mod resolve;

use crate::call::{Cause, Work};
use crate::calls::CallState;
use crate::command::{BeginCall, Command, DecideError};
use crate::debate::{Debate, Lifecycle};
use crate::event::{
    AbandonReason, AnswerRejected, AttemptAbandoned, AttemptFailed, AttemptRef, CallAnswered, CallStarted,
    CallVoided, Cancelled, Event, FailureKind, FailureProse, KernelEvent, ModelReplaced, Opened, PhaseClosed,
    PhaseOpened, ReplyFacts, StopRuleFired, ToolAnswered, ToolStarted, TurnAnswered, TurnProse,
};
use crate::format::{Format, Step};
use crate::id::{Digest, Timestamp};
use crate::prose::{Prose, Texts};
use crate::stop::StopRule;

/// Steps that may follow from one command before something is plainly wrong.
const STEPS_MAX: usize = 10_000;

impl<F: Format> Opened<F> {
    /// Returns the events that open a debate: this one and what follows from it at once.
    ///
    /// # Errors
    /// [`DecideError::Defect`] when the format's first steps do not apply.
    pub fn decide(self, at: Timestamp) -> Result<Vec<Event<F>>, DecideError> {
        let mut draft = Draft::of(Debate::opened(&self, at), at);
        draft.settle()?;
        let mut events = vec![Event::Opened(self)];
        events.append(&mut draft.events);
        Ok(events)
    }
}

impl<F: Format> Debate<F> {
    /// Begins a list of events that are decided together at one moment.
    #[must_use]
    pub fn draft(&self, at: Timestamp) -> Draft<F> {
        Draft::of(self.clone(), at)
    }

    /// Returns the events that a command causes.
    ///
    /// # Errors
    /// The command does not fit the state; nothing is to be appended.
    pub fn decide(&self, at: Timestamp, command: Command<F>) -> Result<Vec<Event<F>>, DecideError> {
        let mut draft = self.draft(at);
        draft.decide(command)?;
        Ok(draft.into_events())
    }

    /// Returns when a check of the deadline next decides something; `None` while the debate does not run.
    #[must_use]
    pub fn due_at(&self) -> Option<Timestamp> {
        let due = if self.stop.is_none() { self.closing_at() } else { self.deadline_at };
        (self.lifecycle == Lifecycle::Running).then_some(due)
    }

    /// Returns the digest of the outcome as it stands, prose withheld (rules K4, K15).
    #[must_use]
    pub fn outcome_digest(&self) -> Digest {
        let outcome = F::outcome(self, Texts::Withheld);
        let text = serde_json::to_string(&outcome).expect("outcomes have string keys and finite numbers");
        Digest::of_text(&text)
    }
}

/// Events decided on a state, with the state as it will be once they are appended.
#[derive(Debug)]
pub struct Draft<F: Format> {
    debate: Debate<F>,
    at: Timestamp,
    events: Vec<Event<F>>,
    /// The work wanted, as long as nothing but starts was decided since it was asked for.
    wanted: Option<Vec<Work>>,
}

impl<F: Format> Draft<F> {
    fn of(debate: Debate<F>, at: Timestamp) -> Self {
        Self { debate, at, events: Vec::new(), wanted: None }
    }

    /// Returns the state as it will be.
    #[must_use]
    pub fn debate(&self) -> &Debate<F> {
        &self.debate
    }

    /// Returns all work that is wanted once the events are appended, as [`Debate::wanted_work`] does.
    ///
    /// Work stays wanted until it is answered, so starting it does not change the list.
    pub fn wanted_work(&mut self) -> &[Work] {
        self.wanted.get_or_insert_with(|| self.debate.wanted_work())
    }

    /// Returns when they are decided.
    #[must_use]
    pub fn at(&self) -> Timestamp {
        self.at
    }

    /// Returns the events decided so far, in order.
    #[must_use]
    pub fn events(&self) -> &[Event<F>] {
        &self.events
    }

    /// Returns the events decided so far, in order.
    #[must_use]
    pub fn into_events(self) -> Vec<Event<F>> {
        self.events
    }

    /// Returns the state that the events lead to, for the one who has appended them.
    #[must_use]
    pub fn into_debate(self) -> Debate<F> {
        self.debate
    }

    /// Adds what a command causes.
    ///
    /// # Errors
    /// The command does not fit the state; the draft is as it was.
    pub fn decide(&mut self, command: Command<F>) -> Result<(), DecideError> {
        match command {
            Command::BeginCall(begin) => {
                if self.begin_call(begin)? {
                    // Starting a request adds no information: no other event follows from it.
                    return Ok(());
                }
            }
            Command::FinishCall { attempt, reply, prose, answer } => {
                self.unsettled_attempt(&attempt)?;
                match F::facts(&self.debate, &attempt.want(), &answer) {
                    Ok(facts) => {
                        self.push(CallAnswered {
                            attempt: attempt.clone(),
                            reply,
                            prose: Prose::new(prose),
                        })?;
                        self.abandon_open(Some(&attempt), AbandonReason::Outrun)?;
                        self.push_facts(facts)?;
                    }
                    Err(message) => {
                        self.fail(attempt, FailureKind::Unusable, reply, message, Some(prose.text))?;
                    }
                }
            }
            Command::AnswerTurn { attempt, reply, prose, tools } => {
                self.unsettled_attempt(&attempt)?;
                let (tools, arguments) = tools.into_iter().unzip();
                let prose = Prose::new(TurnProse { reply: prose, arguments });
                self.push(TurnAnswered { attempt: attempt.clone(), tools, reply, prose })?;
                self.abandon_open(Some(&attempt), AbandonReason::Outrun)?;
            }
            Command::FailCall { attempt, failure, reply, message, text } => {
                self.unsettled_attempt(&attempt)?;
                self.fail(attempt, failure, reply, message, text)?;
            }
            Command::AbandonCall(attempt) => {
                self.open_attempt(&attempt)?;
                self.push(AttemptAbandoned { attempt, reason: AbandonReason::Unwanted })?;
            }
            Command::BeginTool(work) => self.begin_tool(&work)?,
            Command::FinishTool { work, ok, latency_ms, result } => {
                self.finish_tool(&work, ok, latency_ms, result)?;
            }
            Command::CheckDeadline => self.check_deadline()?,
            Command::Pause => self.pause()?,
            Command::Resume => self.resume()?,
            Command::ResumeDriving => self.resume_driving()?,
            Command::ReplaceModel(model) => self.push(ModelReplaced { model })?,
            Command::Cancel { reason } => {
                self.not_concluded()?;
                self.push(Cancelled { prose: Prose::new(reason) })?;
                self.stop(StopRule::Cancelled, 1.0, 1.0, false)?;
            }
            Command::Continue { rounds, focus } => self.continue_debate(rounds, focus)?,
            Command::Resolve(resolved) => self.resolve(resolved)?,
            Command::Redact { seq } => self.redact(seq)?,
        }
        self.settle()
    }

    fn push(&mut self, event: impl Into<Event<F>>) -> Result<(), DecideError> {
        let event = event.into();
        self.debate.apply(self.at, &event).map_err(|error| DecideError::Defect(error.to_string()))?;
        if !matches!(event, Event::Kernel(KernelEvent::CallStarted(_))) {
            self.wanted = None;
        }
        self.events.push(event);
        Ok(())
    }

    fn push_facts(&mut self, facts: Vec<F::Fact>) -> Result<(), DecideError> {
        facts.into_iter().try_for_each(|fact| self.push(Event::Fact(fact)))
    }

    fn not_concluded(&self) -> Result<(), DecideError> {
        match self.debate.lifecycle {
            Lifecycle::Running | Lifecycle::Paused { .. } => Ok(()),
            Lifecycle::Concluded => Err(DecideError::Concluded),
        }
    }

    fn open_attempt(&self, attempt: &AttemptRef) -> Result<(), DecideError> {
        self.not_concluded()?;
        let call = self.debate.call(&attempt.call).filter(|call| call.revision == attempt.revision);
        call.and_then(|call| call.open_at(attempt))
            .map(|_| ())
            .ok_or_else(|| DecideError::NotOpen(attempt.clone()))
    }

    /// An attempt may be open whose question was given up: it was lost, and could not be sent once more.
    fn unsettled_attempt(&self, attempt: &AttemptRef) -> Result<(), DecideError> {
        self.open_attempt(attempt)?;
        let call = self.debate.call(&attempt.call).filter(|call| !call.is_settled());
        call.map(|_| ()).ok_or_else(|| DecideError::NotOpen(attempt.clone()))
    }

    /// Begins a call and says whether it did; other events follow where limits do not allow it.
    fn begin_call(&mut self, begin: BeginCall) -> Result<bool, DecideError> {
        let Work::Turn { want, turn } = &begin.work else {
            return Err(DecideError::NotWanted(begin.work));
        };
        if !self.wanted_work().contains(&begin.work) {
            return Err(DecideError::NotWanted(begin.work));
        }
        let fresh = CallState::default();
        let call = self.debate.call(&want.call);
        let state = call.filter(|call| call.revision == want.revision).unwrap_or(&fresh);
        let cause = cause_of(state, *turn, begin.hedge.is_some());
        let attempt = AttemptRef {
            call: want.call.clone(),
            revision: want.revision,
            attempt: state.next_attempt(*turn),
            turn: *turn,
        };
        let exhausted = call.is_some_and(|call| call.starts >= self.debate.limits.starts_max);
        let unaffordable = self.debate.unaffordable(&begin, F::is_closing(&want.call));
        if cause == Cause::Hedge && (exhausted || unaffordable.is_some()) {
            return Err(DecideError::NotWanted(begin.work));
        }
        if exhausted {
            let message = format!("it was begun {} times", self.debate.limits.starts_max);
            return self.fail_unsent(attempt, FailureKind::StartsExhausted, message).map(|()| false);
        }
        if let Some(why) = unaffordable {
            return match why.fired().filter(|_| !F::is_closing(&want.call)) {
                Some(fired) => self.push(fired),
                None => self.fail_unsent(attempt, FailureKind::BudgetExhausted, why.to_string()),
            }
            .map(|()| false);
        }
        let sees = F::inputs(&self.debate, want);
        let AttemptRef { call, revision, attempt, turn } = attempt;
        self.push(CallStarted {
            call,
            revision,
            attempt,
            turn,
            cause,
            model: begin.model,
            sees,
            prompt: begin.prompt,
            reserved: begin.reserved,
            thinking: begin.thinking,
        })?;
        Ok(true)
    }

    fn fail(
        &mut self,
        attempt: AttemptRef,
        failure: FailureKind,
        reply: ReplyFacts,
        message: String,
        text: Option<String>,
    ) -> Result<(), DecideError> {
        let call = self.debate.call(&attempt.call);
        let failures = call.map_or(0, |call| call.failures) + 1;
        let others_open = call.is_some_and(|call| call.open.len() > 1);
        let moves = call.map_or(0, |call| call.moves as usize) + 1;
        let is_last_model = moves >= F::models(&self.debate.config, &attempt.call).len();
        let hopeless =
            failures >= self.debate.limits.attempts_max || (failure == FailureKind::Denied && is_last_model);
        let prose = Prose::new(FailureProse { message, text });
        self.push(AttemptFailed { attempt, failure, last: hopeless && !others_open, reply, prose })
    }

    fn fail_unsent(
        &mut self,
        attempt: AttemptRef,
        failure: FailureKind,
        message: String,
    ) -> Result<(), DecideError> {
        let prose = Prose::new(FailureProse { message, text: None });
        self.push(AttemptFailed { attempt, failure, last: true, reply: ReplyFacts::default(), prose })
    }

    fn begin_tool(&mut self, work: &Work) -> Result<(), DecideError> {
        let Work::Tool { want, turn, index } = work else {
            return Err(DecideError::NotWanted(work.clone()));
        };
        if !self.wanted_work().contains(work) {
            return Err(DecideError::NotWanted(work.clone()));
        }
        if let Some(answered) = self.debate.tool_answer_at_hand(want, *turn, *index) {
            return self.push(answered);
        }
        let call = self.debate.call_mut(&want.call).map_err(DecideError::Defect)?;
        let starts = call.tool_at(want.revision, *turn, *index).map_err(DecideError::Defect)?.starts;
        let starts_max = self.debate.limits.starts_max;
        if starts >= starts_max {
            return self.finish_tool(work, false, 0, format!("it was begun {starts_max} times"));
        }
        self.push(ToolStarted {
            call: want.call.clone(),
            revision: want.revision,
            turn: *turn,
            index: *index,
            attempt: starts + 1,
            cause: if starts == 0 { Cause::First } else { Cause::Lost },
        })
    }

    fn finish_tool(
        &mut self,
        work: &Work,
        ok: bool,
        latency_ms: u64,
        result: String,
    ) -> Result<(), DecideError> {
        let Work::Tool { want, turn, index } = work else {
            return Err(DecideError::NotWanted(work.clone()));
        };
        if !self.debate.running_work().contains(work) {
            return Err(DecideError::NotWanted(work.clone()));
        }
        self.push(ToolAnswered {
            call: want.call.clone(),
            revision: want.revision,
            turn: *turn,
            index: *index,
            ok,
            latency_ms,
            reused: None,
            prose: Prose::new(result),
        })
    }

    fn check_deadline(&mut self) -> Result<(), DecideError> {
        if self.debate.lifecycle != Lifecycle::Running {
            return Ok(());
        }
        let elapsed = self.at.since_ms(self.debate.opened_at) as f64;
        if self.at >= self.debate.deadline_at {
            let limit = self.debate.deadline_at.since_ms(self.debate.opened_at) as f64;
            return self.stop(StopRule::Deadline, elapsed, limit, false);
        }
        let closing_at = self.debate.closing_at();
        if self.at >= closing_at && self.debate.stop.is_none() {
            let limit = closing_at.since_ms(self.debate.opened_at) as f64;
            return self.stop(StopRule::Deadline, elapsed, limit, true);
        }
        Ok(())
    }

    fn stop(
        &mut self,
        rule: StopRule,
        statistic: f64,
        threshold: f64,
        closing: bool,
    ) -> Result<(), DecideError> {
        self.push(StopRuleFired { rule, budget: None, statistic, threshold, shadow: false, closing })
    }

    /// Adds what follows from the state without asking anybody, until nothing does.
    fn settle(&mut self) -> Result<(), DecideError> {
        for _ in 0..STEPS_MAX {
            if self.debate.lifecycle == Lifecycle::Concluded {
                return Ok(());
            }
            if self.void_stale()? {
                continue;
            }
            match F::advance(&self.debate) {
                Some(step) => self.take(step)?,
                None if self.debate.is_stopped() => self.conclude()?,
                None => return Ok(()),
            }
        }
        Err(DecideError::Defect(format!("{STEPS_MAX} steps followed from one command")))
    }

    fn take(&mut self, step: Step<F::Fact>) -> Result<(), DecideError> {
        match step {
            Step::OpenPhase { phase, round } => self.push(PhaseOpened { phase: phase.to_owned(), round }),
            Step::ClosePhase { phase, round } => self.push(PhaseClosed { phase: phase.to_owned(), round }),
            Step::Record(facts) => self.push_facts(facts),
            Step::Reject { want, rules, reason } => {
                let prose = Prose::new(reason);
                self.push(AnswerRejected { call: want.call, revision: want.revision, rules, prose })
            }
            Step::Stop(fired) => self.push(fired),
            Step::Conclude => self.conclude(),
        }
    }

    /// Voids the first call that was built on an answer which no longer stands; says whether there was one.
    fn void_stale(&mut self) -> Result<bool, DecideError> {
        if !self.debate.revised {
            return Ok(false);
        }
        let stale = self.debate.calls.iter().find_map(|(key, call)| {
            // Failures and rejections count too: they may be because of what was shown.
            let was_shown = call.attempt > 0 || call.revised == Some(Cause::Reask);
            let want = crate::call::Want { call: key.clone(), revision: call.revision };
            let sees = was_shown.then(|| F::inputs(&self.debate, &want))?;
            (sees != call.sees).then_some((want, sees))
        });
        let Some((want, sees)) = stale else {
            return Ok(false);
        };
        self.abandon_call(&want.call, AbandonReason::Unwanted)?;
        self.push(CallVoided { call: want.call, revision: want.revision, sees })?;
        Ok(true)
    }

    fn abandon_call(&mut self, key: &crate::call::CallKey, reason: AbandonReason) -> Result<(), DecideError> {
        let open = self.debate.call(key).map(|call| call.open_attempts(key)).unwrap_or_default();
        open.into_iter().try_for_each(|attempt| self.push(AttemptAbandoned { attempt, reason }))
    }

    /// Gives up open attempts: those of the same call where `of` is given, else all of them.
    fn abandon_open(&mut self, of: Option<&AttemptRef>, reason: AbandonReason) -> Result<(), DecideError> {
        let keys: Vec<_> = match of {
            Some(attempt) => vec![attempt.call.clone()],
            None => self.debate.calls.keys().cloned().collect(),
        };
        keys.iter().try_for_each(|key| self.abandon_call(key, reason))
    }

    fn conclude(&mut self) -> Result<(), DecideError> {
        self.abandon_open(None, AbandonReason::Stopped)?;
        let mut concluded = self.debate.conclusion_now();
        let mut after = self.debate.clone();
        after
            .apply(self.at, &Event::from(concluded.clone()))
            .map_err(|error| DecideError::Defect(error.to_string()))?;
        concluded.outcome_digest = after.outcome_digest();
        self.push(concluded)
    }
}

/// Returns why a turn of a call is asked, from what the log says of it.
fn cause_of(call: &CallState, turn: u32, hedge: bool) -> Cause {
    if !call.open.is_empty() {
        return if hedge { Cause::Hedge } else { Cause::Lost };
    }
    if call.failures > 0 {
        return Cause::Reask;
    }
    match call.attempt {
        0 => call.revised.unwrap_or(Cause::First),
        _ if turn > call.turn_started => Cause::First,
        // Its last attempt was given up because what it would have seen was about to change.
        _ => Cause::Void,
    }
}

//! The books of one debate, kept from its stored events alone and by other means than the kernel's fold.

use std::collections::{BTreeMap, BTreeSet};

use debate_core::call::{CallKey, Cause};
use debate_core::envelope::Envelope;
use debate_core::event::{
    AttemptFailed, AttemptRef, CallStarted, FailureKind, KernelEvent, ReplyFacts, StopRuleFired, ToolStarted,
    TurnAnswered,
};
use debate_core::id::{Digest, Seq};
use debate_core::limits::Limits;
use debate_core::record::Record;

use crate::writer::Writer;

/// Where a debate is in its life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Life {
    /// Calls are made.
    #[default]
    Running,
    /// Nothing new may start.
    Paused,
    /// The outcome stands.
    Concluded,
}

/// The books of one debate.
#[derive(Debug, Default)]
pub struct Account {
    head: Seq,
    life: Life,
    limits: Option<Limits>,
    kinds: BTreeMap<String, u64>,
    starts: Vec<Start>,
    starts_of: BTreeMap<CallKey, u32>,
    failures: BTreeMap<(CallKey, u32), u32>,
    settled: BTreeSet<(CallKey, u32)>,
    answered: BTreeSet<(CallKey, u32, u32)>,
    tools: Vec<Tool>,
    stopped: bool,
    /// What settled requests cost as far as is known, and may have cost, in millionths.
    cost_micros: (u64, u64),
    writers: Vec<Writer>,
}

#[derive(Debug)]
struct Start {
    attempt: AttemptRef,
    digest: Digest,
    writer: Writer,
    is_asked: bool,
    is_open: bool,
    cost_micros: u64,
}

#[derive(Debug)]
struct Tool {
    call: CallKey,
    place: (u32, u32, u32),
    tool: String,
    arguments: String,
    /// Who started it and whether it ran for that.
    starts: Vec<(Writer, bool)>,
    is_answered: bool,
}

impl Account {
    /// Returns the last sequence number.
    #[must_use]
    pub fn head(&self) -> Seq {
        self.head
    }

    /// Returns where the debate is in its life.
    #[must_use]
    pub fn life(&self) -> Life {
        self.life
    }

    /// Returns how many events of a kind there are.
    #[must_use]
    pub fn count(&self, kind: &str) -> u64 {
        self.kinds.get(kind).copied().unwrap_or(0)
    }

    /// Returns the engines that wrote, in the order of their first writing after another's.
    #[must_use]
    pub fn writers(&self) -> &[Writer] {
        &self.writers
    }

    /// Returns what was spent, in millionths: as far as is known, and at most (rule K8).
    #[must_use]
    pub fn cost_micros(&self) -> (u64, u64) {
        self.cost_micros
    }

    /// Enters the next event.
    pub(super) fn enter(&mut self, writer: Writer, envelope: &Envelope) -> Result<(), String> {
        if envelope.seq != self.head.next() {
            return Err(format!("it follows event {}", self.head));
        }
        self.head = envelope.seq;
        *self.kinds.entry(envelope.kind.clone()).or_default() += 1;
        if self.writers.last() != Some(&writer) {
            self.writers.push(writer);
        }
        if envelope.kind == "opened" {
            let body: serde_json::Value =
                serde_json::from_str(&envelope.body).map_err(|error| error.to_string())?;
            let limits = serde_json::from_value(body["limits"].clone()).map_err(|error| error.to_string())?;
            self.limits = Some(limits);
            return Ok(());
        }
        let prose = envelope.prose.as_ref().map(|prose| prose.text.as_str());
        match KernelEvent::decode(&envelope.kind, envelope.version, &envelope.body, prose) {
            Some(event) => self.enter_kernel(writer, event.map_err(|error| error.to_string())?),
            None => Ok(()),
        }
    }

    fn enter_kernel(&mut self, writer: Writer, event: KernelEvent) -> Result<(), String> {
        match event {
            KernelEvent::CallStarted(started) => self.start(writer, started),
            KernelEvent::TurnAnswered(turn) => {
                self.answer(&turn.attempt, &turn.reply)?;
                self.ask_tools(&turn);
                Ok(())
            }
            KernelEvent::CallAnswered(answered) => {
                self.answer(&answered.attempt, &answered.reply)?;
                let settled = (answered.attempt.call, answered.attempt.revision);
                let is_new = self.settled.insert(settled);
                is_new.then_some(()).ok_or_else(|| "the question was settled already".to_owned())
            }
            KernelEvent::AttemptFailed(failed) => self.fail(&failed),
            KernelEvent::AttemptAbandoned(abandoned) => self.end(&abandoned.attempt, true, None),
            KernelEvent::AnswerRejected(rejected) => {
                let question = (rejected.call, rejected.revision);
                let is_answered = self.settled.contains(&question);
                is_answered.then_some(()).ok_or_else(|| format!("{} had no answer to reject", question.0))
            }
            KernelEvent::ToolStarted(started) => self.start_tool(writer, &started),
            KernelEvent::ToolAnswered(answered) => {
                let place = (answered.revision, answered.turn, answered.index);
                let tool = self.tool(&answered.call, place)?;
                let is_first = !std::mem::replace(&mut tool.is_answered, true);
                is_first.then_some(()).ok_or_else(|| "the tool had answered already".to_owned())
            }
            KernelEvent::StopRuleFired(StopRuleFired { shadow, closing, .. }) => {
                self.stopped |= !shadow && !closing;
                Ok(())
            }
            KernelEvent::Paused(_) => self.turn_to(Life::Running, Life::Paused),
            KernelEvent::Resumed(_) => self.turn_to(Life::Paused, Life::Running),
            KernelEvent::Reopened(_) => {
                self.stopped = false;
                self.failures.clear();
                self.turn_to(Life::Concluded, Life::Running)
            }
            KernelEvent::Continued(_) => {
                self.stopped = false;
                self.turn_to(Life::Concluded, Life::Running)
            }
            KernelEvent::Concluded(_) => {
                let was_concluded = self.life == Life::Concluded;
                self.life = Life::Concluded;
                let open = self.starts.iter().find(|start| start.is_open);
                match open {
                    _ if was_concluded => Err("it had concluded already".to_owned()),
                    Some(start) => Err(format!("attempt {:?} is still open", start.attempt)),
                    None => Ok(()),
                }
            }
            KernelEvent::PhaseOpened(_)
            | KernelEvent::PhaseClosed(_)
            | KernelEvent::CallVoided(_)
            | KernelEvent::DrivingResumed(_)
            | KernelEvent::ModelReplaced(_)
            | KernelEvent::Cancelled(_)
            | KernelEvent::Forked(_)
            | KernelEvent::Resolved(_)
            | KernelEvent::Redacted(_) => Ok(()),
        }
    }

    fn fail(&mut self, failed: &AttemptFailed) -> Result<(), String> {
        let question = (failed.attempt.call.clone(), failed.attempt.revision);
        if !failed.failure.is_never_sent() {
            self.end(&failed.attempt, may_be_charged(failed), failed.reply.cost_micros)?;
        }
        let mut of_call = self.starts.iter().filter(|start| start.attempt.call == question.0);
        let is_raced = of_call.any(|start| start.is_open);
        let failures = self.failures.entry(question.clone()).or_default();
        *failures += u32::from(!is_raced);
        if self.limits.is_some_and(|limits| *failures > limits.attempts_max) {
            return Err(format!("{failures} failures of {} are too many", failed.attempt.call));
        }
        if failed.last {
            self.settled.insert(question);
        }
        Ok(())
    }

    fn turn_to(&mut self, from: Life, to: Life) -> Result<(), String> {
        let was = std::mem::replace(&mut self.life, to);
        if was == from { Ok(()) } else { Err(format!("the debate was {was:?}")) }
    }

    fn may_start(&self) -> Result<(), String> {
        match self.life {
            Life::Running if self.stopped => Err("work begins after the debate was stopped".to_owned()),
            Life::Running => Ok(()),
            Life::Paused | Life::Concluded => Err(format!("work begins while {:?}", self.life)),
        }
    }

    fn start(&mut self, writer: Writer, started: CallStarted) -> Result<(), String> {
        let CallStarted { call, revision, attempt, turn, cause, prompt, reserved, .. } = started;
        let starts = self.starts_of.entry(call.clone()).or_default();
        *starts += 1;
        let is_over = self.limits.is_some_and(|limits| *starts > limits.starts_max);
        let same_call = self.starts.iter_mut().filter(|start| start.attempt.call == call);
        let (mut was_open, mut lost) = (false, 0);
        for start in same_call {
            was_open |= start.is_open;
            if start.is_open && cause != Cause::Hedge {
                start.is_open = false;
                lost += start.cost_micros;
            }
        }
        self.cost_micros.1 += lost;
        let unpriced = "a request left without a price (K8)";
        let cost_micros = reserved.cost_micros.ok_or(unpriced)?;
        let is_known = self.answered.contains(&(call.clone(), revision, turn));
        let is_settled = self.settled.contains(&(call.clone(), revision));
        let attempt = AttemptRef { call, revision, attempt, turn };
        let text = format!("{attempt:?}");
        let digest = prompt.digest;
        self.starts.push(Start { attempt, digest, writer, is_asked: false, is_open: true, cost_micros });
        self.may_start()?;
        self.may_spend()?;
        match cause {
            _ if is_known => Err(format!("{text} has its answer in the log (K2)")),
            _ if is_settled => Err(format!("{text} is settled")),
            _ if is_over => Err(format!("{text} was begun too often (K2)")),
            Cause::Lost | Cause::Hedge if !was_open => Err(format!("{text} is {cause:?}, but none was open")),
            Cause::First | Cause::Reask | Cause::Void | Cause::Lost | Cause::Hedge => Ok(()),
        }
    }

    /// Checks that all that was spent and all that is under way is within the limit on money (rule K8).
    fn may_spend(&self) -> Result<(), String> {
        let open = self.starts.iter().filter(|start| start.is_open);
        let needed = self.cost_micros.1 + open.map(|start| start.cost_micros).sum::<u64>();
        let max = self.limits.and_then(|limits| limits.cost_micros_max).unwrap_or(u64::MAX);
        let is_within = needed <= max;
        is_within
            .then_some(())
            .ok_or_else(|| format!("{needed} millionths may be spent, {max} are allowed (K8)"))
    }

    /// Ends an attempt that must be open and enters what it cost, or may have cost, where it is charged for.
    fn end(&mut self, attempt: &AttemptRef, is_charged: bool, cost: Option<u64>) -> Result<(), String> {
        let start = self.starts.iter_mut().find(|start| start.is_open && start.attempt == *attempt);
        let start = start.ok_or_else(|| format!("{attempt:?} is not open"))?;
        start.is_open = false;
        if is_charged {
            self.cost_micros.0 += cost.unwrap_or(0);
            self.cost_micros.1 += cost.unwrap_or(start.cost_micros);
        }
        Ok(())
    }

    fn answer(&mut self, attempt: &AttemptRef, reply: &ReplyFacts) -> Result<(), String> {
        self.end(attempt, true, reply.cost_micros)?;
        let answer = (attempt.call.clone(), attempt.revision, attempt.turn);
        let is_new = self.answered.insert(answer);
        is_new.then_some(()).ok_or_else(|| format!("{attempt:?} was answered twice"))
    }

    fn ask_tools(&mut self, turn: &TurnAnswered) {
        let arguments = turn.prose.shown().map(|prose| prose.arguments.clone()).unwrap_or_default();
        for (index, (used, arguments)) in (0..).zip(turn.tools.iter().zip(arguments)) {
            self.tools.push(Tool {
                call: turn.attempt.call.clone(),
                place: (turn.attempt.revision, turn.attempt.turn, index),
                tool: used.tool.clone(),
                arguments,
                starts: Vec::new(),
                is_answered: false,
            });
        }
    }

    fn tool(&mut self, call: &CallKey, place: (u32, u32, u32)) -> Result<&mut Tool, String> {
        let tool = self.tools.iter_mut().find(|tool| tool.call == *call && tool.place == place);
        tool.ok_or_else(|| format!("this tool was not requested: {call} {place:?}"))
    }

    fn start_tool(&mut self, writer: Writer, started: &ToolStarted) -> Result<(), String> {
        self.may_start()?;
        let starts_max = self.limits.map_or(u32::MAX, |limits| limits.starts_max);
        let tool = self.tool(&started.call, (started.revision, started.turn, started.index))?;
        if tool.is_answered {
            return Err("the tool has answered already (K2)".to_owned());
        }
        tool.starts.push((writer, false));
        let is_bounded = tool.starts.len() <= starts_max as usize;
        is_bounded.then_some(()).ok_or_else(|| "the tool was begun too often (K2)".to_owned())
    }

    pub(super) fn ask(&mut self, writer: Writer, digest: Digest) -> bool {
        let start = self
            .starts
            .iter_mut()
            .find(|start| start.writer == writer && start.digest == digest && !start.is_asked);
        start.is_some_and(|start| {
            start.is_asked = true;
            true
        })
    }

    pub(super) fn run_tool(&mut self, writer: Writer, tool: &str, arguments: &str) -> bool {
        let asked = self.tools.iter_mut().filter(|asked| asked.tool == tool && asked.arguments == arguments);
        let mut starts = asked.flat_map(|asked| &mut asked.starts);
        starts.find(|(by, ran)| *by == writer && !*ran).is_some_and(|(_, ran)| {
            *ran = true;
            true
        })
    }
}

/// Returns whether the provider may have counted what it was sent: it took the request, or had begun to answer (rule K8).
fn may_be_charged(failed: &AttemptFailed) -> bool {
    let was_taken = match failed.failure {
        FailureKind::Unreadable
        | FailureKind::Unusable
        | FailureKind::Refused
        | FailureKind::Truncated
        | FailureKind::Timeout => true,
        FailureKind::Overloaded
        | FailureKind::Unavailable
        | FailureKind::Denied
        | FailureKind::StartsExhausted
        | FailureKind::BudgetExhausted => false,
    };
    was_taken || failed.reply.begun
}

//! Choosing events of a debate's life: pause and resumption, driving again, continuation and redaction (rules K15, K17).

use super::Draft;
use crate::command::DecideError;
use crate::debate::Lifecycle;
use crate::event::{Continued, DrivingResumed, Paused, Redacted, Reopened, Resumed};
use crate::format::Format;
use crate::id::Seq;
use crate::prose::Prose;
use crate::stop::Completeness;

/// The shortest time without a driver that is recorded, in milliseconds.
const IDLE_MS_MIN: u64 = 1_000;

impl<F: Format> Draft<F> {
    pub(super) fn pause(&mut self) -> Result<(), DecideError> {
        match self.debate.lifecycle {
            Lifecycle::Running => {
                self.push(Paused { remaining_ms: self.debate.deadline_at.since_ms(self.at) })
            }
            Lifecycle::Paused { .. } => Err(DecideError::Paused),
            Lifecycle::Concluded => Err(DecideError::Concluded),
        }
    }

    pub(super) fn resume(&mut self) -> Result<(), DecideError> {
        match self.debate.lifecycle {
            Lifecycle::Paused { remaining_ms } => {
                self.push(Resumed { deadline_at: self.at.plus_ms(remaining_ms) })
            }
            Lifecycle::Running => Err(DecideError::NotPaused),
            Lifecycle::Concluded if self.is_void() => {
                let deadline_at = self.at.plus_ms(self.debate.limits.deadline_ms);
                self.push(Reopened { deadline_at })
            }
            Lifecycle::Concluded => Err(DecideError::NotVoid),
        }
    }

    fn is_void(&self) -> bool {
        let concluded = self.debate.conclusion.as_ref().map(|(concluded, _)| &concluded.completeness);
        matches!(concluded, Some(Completeness::Void { .. }))
    }

    /// Moves the deadline by the time in which no process drove; nothing where wall time counts, or it was too short to
    /// matter.
    pub(super) fn resume_driving(&mut self) -> Result<(), DecideError> {
        let idle_ms = self.at.since_ms(self.debate.last_at);
        let counts = self.debate.limits.driven_time && self.debate.lifecycle == Lifecycle::Running;
        if !counts || idle_ms < IDLE_MS_MIN {
            return Ok(());
        }
        self.push(DrivingResumed { idle_ms, deadline_at: self.debate.deadline_at.plus_ms(idle_ms) })
    }

    pub(super) fn continue_debate(&mut self, rounds: u32, focus: Option<String>) -> Result<(), DecideError> {
        if self.debate.lifecycle != Lifecycle::Concluded {
            return Err(DecideError::NotConcluded);
        }
        if rounds == 0 || F::continued(&self.debate.config, rounds).is_none() {
            return Err(DecideError::NotContinuable(rounds));
        }
        if focus.is_some() && !F::TAKES_FOCUS {
            return Err(DecideError::NotFocusable);
        }
        self.push(Continued {
            rounds,
            deadline_at: self.at.plus_ms(self.debate.limits.deadline_ms),
            focused: focus.is_some(),
            prose: focus.map(Prose::new).unwrap_or_default(),
        })
    }

    /// A debate that still runs has its words in the prompts to come, so it must have ended first.
    pub(super) fn redact(&mut self, seq: Seq) -> Result<(), DecideError> {
        if self.debate.lifecycle != Lifecycle::Concluded {
            return Err(DecideError::NotConcluded);
        }
        if seq == Seq::START || seq > self.debate.head {
            return Err(DecideError::NoEvent(seq));
        }
        if self.debate.redacted.contains(&seq) {
            return Err(DecideError::Redacted(seq));
        }
        self.push(Redacted { seq })
    }
}

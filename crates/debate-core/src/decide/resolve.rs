//! What the world's answer means for a debate (rule K16).

use super::Draft;
use crate::command::DecideError;
use crate::debate::Lifecycle;
use crate::event::Resolved;
use crate::format::Format;
use crate::id::{OutcomeId, Timestamp};

impl<F: Format> Draft<F> {
    /// Records what happened; another answer than the one on record corrects it.
    pub(super) fn resolve(
        &mut self,
        outcome: OutcomeId,
        happened_at: Option<Timestamp>,
    ) -> Result<(), DecideError> {
        if self.debate.lifecycle != Lifecycle::Concluded {
            return Err(DecideError::NotConcluded);
        }
        if !F::outcomes(&self.debate.config).contains(&outcome) {
            return Err(DecideError::UnknownOutcome(outcome));
        }
        if let Some(happened_at) = happened_at.filter(|happened_at| *happened_at > self.at) {
            return Err(DecideError::StillToCome(happened_at));
        }
        let resolved = Resolved { outcome, happened_at };
        if self.debate.resolved.as_ref().is_some_and(|(before, _)| *before == resolved) {
            return Err(DecideError::Resolved(resolved.outcome));
        }
        self.push(resolved)
    }
}

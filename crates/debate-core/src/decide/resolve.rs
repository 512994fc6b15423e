//! What the world's answer means for a debate (rule K16).

use super::Draft;
use crate::command::DecideError;
use crate::debate::{Debate, Lifecycle};
use crate::event::Resolved;
use crate::format::Format;
use crate::id::Timestamp;
use crate::measures::distribution::Distribution;

impl<F: Format> Debate<F> {
    /// Returns what happened in the world, once known, and when that was recorded (rule K16).
    #[must_use]
    pub fn resolved(&self) -> Option<(&Resolved, Timestamp)> {
        self.resolved.as_ref().map(|(resolved, at)| (resolved, *at))
    }

    /// Returns the debate whose forecast is scored: as it was when the world first answered, or as it is (rule K16).
    #[must_use]
    pub fn scored(&self) -> &Self {
        self.scored.as_deref().unwrap_or(self)
    }
}

impl<F: Format> Draft<F> {
    /// Records what happened; another answer than the one on record corrects it, and keeps its market's forecast where it
    /// brings none, and the moment where it is the same answer.
    pub(super) fn resolve(&mut self, mut resolved: Resolved) -> Result<(), DecideError> {
        if self.debate.lifecycle != Lifecycle::Concluded {
            return Err(DecideError::NotConcluded);
        }
        let outcomes = F::outcomes(&self.debate.config);
        if !outcomes.contains(&resolved.outcome) {
            return Err(DecideError::UnknownOutcome(resolved.outcome));
        }
        if let Some(happened_at) = resolved.happened_at.filter(|happened_at| *happened_at > self.at) {
            return Err(DecideError::StillToCome(happened_at));
        }
        let given = resolved.market.as_ref().map_or(outcomes.len(), Distribution::len);
        if given != outcomes.len() {
            return Err(DecideError::Market { given, outcomes: outcomes.len() });
        }
        let before = self.debate.resolved.as_ref().map(|(before, _)| before);
        resolved.market = resolved.market.or_else(|| before?.market.clone());
        let same = before.filter(|before| before.outcome == resolved.outcome);
        resolved.happened_at = resolved.happened_at.or_else(|| same?.happened_at);
        if before == Some(&resolved) {
            return Err(DecideError::Resolved(resolved.outcome));
        }
        self.push(resolved)
    }
}

//! The time of a debate: its deadline, and what is kept back for its closing (rules K9, K22).

use crate::call::Effort;
use crate::debate::Debate;
use crate::format::Format;
use crate::id::Timestamp;
use crate::limits::CLOSING_MS_MIN;

impl<F: Format> Debate<F> {
    /// Returns when time is up; none where there is no deadline.
    #[must_use]
    pub fn deadline(&self) -> Option<Timestamp> {
        self.limits.has_deadline().then_some(self.deadline_at)
    }

    /// Returns when time is up.
    #[must_use]
    pub fn deadline_at(&self) -> Timestamp {
        self.deadline_at
    }

    /// Returns when argument must give way to the closing synthesis: twice the longest answer seen so far before the
    /// deadline, at most half of the debate's time; before the first answer, the reserve of the limits (rule K22).
    #[must_use]
    pub fn closing_at(&self) -> Timestamp {
        let (reserve, most) = (self.limits.closing_ms, self.limits.deadline_ms / 2);
        let seen = self.slowest_ms.map(|ms| ms.saturating_mul(2).clamp(CLOSING_MS_MIN.min(reserve), most));
        // Nothing is kept back where nothing closes the debate.
        let closing = seen.filter(|_| reserve > 0).unwrap_or(reserve);
        Timestamp(self.deadline_at.0.saturating_sub(i64::try_from(closing).unwrap_or(i64::MAX)))
    }

    /// Returns when the last event was recorded.
    #[must_use]
    pub fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// Returns the longest time of an answer so far that does not close the debate, in milliseconds.
    #[must_use]
    pub fn slowest_ms(&self) -> Option<u64> {
        self.slowest_ms
    }

    /// Returns the least effort that was asked of a model so far, where one was (rule P23).
    #[must_use]
    pub fn least_effort(&self) -> Option<Effort> {
        self.least_effort
    }
}

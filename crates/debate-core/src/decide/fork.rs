//! How a fork opens (rule K14).

use super::Draft;
use crate::command::DecideError;
use crate::debate::Debate;
use crate::event::{Event, Forked};
use crate::format::Format;
use crate::id::Timestamp;

impl<F: Format> Debate<F> {
    /// Returns the events that open a fork of this debate, which is folded up to where they part: the fork itself,
    /// what becomes void by its change, and what follows from that at once.
    ///
    /// # Errors
    /// [`DecideError::NotForkable`] where the format cannot be changed so, or forks lie too deep.
    pub fn fork(&self, at: Timestamp, forked: Forked) -> Result<Draft<F>, DecideError> {
        let mut draft = self.draft(at);
        let event = Event::from(forked);
        draft.debate.apply(at, &event).map_err(|error| DecideError::NotForkable(error.why))?;
        draft.events.push(event);
        draft.settle()?;
        Ok(draft)
    }
}

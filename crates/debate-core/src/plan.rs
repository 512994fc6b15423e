//! What should be under way, read from the state alone (rule K2). The planner looks at where things stand, not at
//! what just happened, so that after a crash the same question gives the work that is left.

use crate::call::{Want, Work};
use crate::debate::{Debate, Lifecycle};
use crate::format::Format;

impl<F: Format> Debate<F> {
    /// Returns all work that should be started unless it is running already, in the format's order.
    ///
    /// Work stays wanted until it is answered; a paused or concluded debate wants nothing new.
    #[must_use]
    pub fn wanted_work(&self) -> Vec<Work> {
        match self.lifecycle {
            Lifecycle::Running => self.unanswered_work(),
            Lifecycle::Paused { .. } | Lifecycle::Concluded => Vec::new(),
        }
    }

    /// Returns all work that may go on where it is running: more than [`Debate::wanted_work`] only while paused,
    /// when calls in flight finish (rule K17).
    #[must_use]
    pub fn running_work(&self) -> Vec<Work> {
        match self.lifecycle {
            Lifecycle::Running | Lifecycle::Paused { .. } => self.unanswered_work(),
            Lifecycle::Concluded => Vec::new(),
        }
    }

    fn unanswered_work(&self) -> Vec<Work> {
        if self.is_stopped() {
            return Vec::new();
        }
        let mut work = Vec::new();
        for want in F::wanted(self) {
            self.work_of(want, &mut work);
        }
        if F::shares_tools(&self.config) { self.without_twins(work) } else { work }
    }

    fn work_of(&self, want: Want, work: &mut Vec<Work>) {
        let Some(call) = self.calls.get(&want.call).filter(|call| call.revision >= want.revision) else {
            work.push(Work::Turn { want, turn: 1 });
            return;
        };
        if call.revision > want.revision || call.is_settled() {
            return;
        }
        match call.turns.last().filter(|turn| !turn.is_done()) {
            Some(turn) => {
                let number = call.next_turn() - 1;
                let open = turn.tools.iter().enumerate().filter(|(_, tool)| tool.answered.is_none());
                work.extend(open.map(|(index, _)| Work::Tool {
                    want: want.clone(),
                    turn: number,
                    index: u32::try_from(index).expect("a turn's tool uses are few"),
                }));
            }
            None => work.push(Work::Turn { want, turn: call.next_turn() }),
        }
    }
}

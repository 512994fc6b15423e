//! Lists of debates, derived from their events.

use debate_core::envelope::Envelope;
use debate_core::id::{Seq, Timestamp};

use crate::position::Position;

/// Which debates to list. The default asks for the newest of all tenants and formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListFilter {
    /// Only this tenant's debates.
    pub tenant: Option<String>,
    /// Only debates whose first event's body has this text in its field `format`.
    pub format: Option<String>,
    /// The kinds of events that tell a debate's status, such as `opened`, `paused`, `concluded`.
    pub lifecycle: Vec<String>,
    /// Only debates whose latest lifecycle event is of one of these kinds; any when `None`.
    pub status: Option<Vec<String>>,
    /// Only debates whose latest lifecycle event is no older than this.
    pub touched_since: Option<Timestamp>,
    /// Only debates opened before this position: the `position` of the last one on the page before.
    pub before: Option<Position>,
    /// The most debates to return.
    pub limit: u32,
}

impl Default for ListFilter {
    fn default() -> Self {
        let (tenant, format, lifecycle, status) = Default::default();
        Self { tenant, format, lifecycle, status, touched_since: None, before: None, limit: 100 }
    }
}

impl ListFilter {
    /// Returns whether a debate belongs on the list, given its latest lifecycle event's kind.
    pub(crate) fn takes_status(&self, kind: Option<&str>) -> bool {
        self.status.as_ref().is_none_or(|wanted| kind.is_some_and(|kind| wanted.iter().any(|it| it == kind)))
    }

    /// Returns whether a debate belongs on the list, given when its latest lifecycle event was.
    pub(crate) fn takes_time(&self, at: Option<Timestamp>) -> bool {
        self.touched_since.is_none_or(|since| at.is_some_and(|at| at >= since))
    }
}

/// One debate on a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its first event.
    pub first: Envelope,
    /// The latest of its lifecycle events; `None` when it has none of the kinds asked for.
    pub last_of_kinds: Option<Envelope>,
    /// The sequence number of its last event.
    pub head: Seq,
    /// Where its first event stands in the store; newer debates have higher ones.
    pub position: Position,
}

//! Where a debate is between its first call and the outcome that stands.

use crate::event::KernelEvent;

/// Where a debate is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifecycle {
    /// Calls are made.
    Running,
    /// Nothing new starts; so many milliseconds are left to the deadline.
    Paused {
        /// Milliseconds left.
        remaining_ms: u64,
    },
    /// The outcome stands.
    Concluded,
}

impl Lifecycle {
    /// Returns the name used on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused { .. } => "paused",
            Self::Concluded => "concluded",
        }
    }

    /// Returns whether an event can happen to a debate that is so: one that runs can rest, one that rests go on, one that has
    /// not ended end, and one that has ended get more rounds.
    pub(crate) fn admits(self, event: &KernelEvent) -> bool {
        let is_out_of_turn = matches!(
            (event, self),
            (KernelEvent::Paused(_), Self::Paused { .. } | Self::Concluded)
                | (KernelEvent::Resumed(_), Self::Running | Self::Concluded)
                | (KernelEvent::Concluded(_), Self::Concluded)
                | (KernelEvent::Continued(_), Self::Running | Self::Paused { .. })
        );
        !is_out_of_turn
    }
}

//! Where a debate is between its first call and the outcome that stands.

use crate::event::{Event, KernelEvent};
use crate::format::Format;

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

    /// Returns whether an event can happen to a debate that is so: one that runs can rest, one that rests go on without asking
    /// anything, one that has not ended end. One that has ended can get more rounds, be driven again where it is void, be put to another model, or lead to a fork; the world answers it
    /// and its words are deleted then and not before; nothing else follows a conclusion.
    pub(crate) fn admits<F: Format>(self, event: &Event<F>) -> bool {
        use KernelEvent::{
            CallStarted, Continued, DrivingResumed, Forked, ModelReplaced, Paused, Redacted, Reopened,
            Resolved, Resumed, ToolStarted,
        };
        let Event::Kernel(event) = event else { return self != Self::Concluded };
        match self {
            Self::Running => {
                !matches!(event, Resumed(_) | Reopened(_) | Continued(_) | Resolved(_) | Redacted(_))
            }
            Self::Paused { .. } => !matches!(
                event,
                Paused(_)
                    | DrivingResumed(_)
                    | Reopened(_)
                    | CallStarted(_)
                    | ToolStarted(_)
                    | Continued(_)
                    | Resolved(_)
                    | Redacted(_)
            ),
            Self::Concluded => {
                matches!(
                    event,
                    Continued(_) | Reopened(_) | ModelReplaced(_) | Forked(_) | Resolved(_) | Redacted(_)
                )
            }
        }
    }
}

//! What people can do to a debate while it runs or rests.

use debate_core::command::{Command, DecideError};
use debate_core::event::Resolved;
use debate_core::format::Format;
use debate_core::id::DebateId;
use debate_store::AppendError;

use crate::binding::Unoffered;
use crate::journal::LoadError;

/// Something that people tell a debate to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Start nothing new; calls in flight finish (rule K17).
    Pause,
    /// Go on.
    Resume,
    /// End now with what there is (rule K9).
    Cancel {
        /// Why.
        reason: String,
    },
    /// Hold more rounds after a conclusion (rule K17).
    Continue {
        /// How many.
        rounds: u32,
        /// What they are to deal with, where the topic alone does not say it.
        focus: Option<String>,
    },
    /// Record what happened in the world (rule K16).
    Resolve(Resolved),
}

impl Control {
    /// Returns whether it has a debate that rests driven again, which takes a place.
    pub(crate) fn sets_going(&self) -> bool {
        match self {
            Self::Resume | Self::Continue { .. } => true,
            Self::Pause | Self::Cancel { .. } | Self::Resolve(_) => false,
        }
    }

    pub(crate) fn command<F: Format>(&self) -> Command<F> {
        match self {
            Self::Pause => Command::Pause,
            Self::Resume => Command::Resume,
            Self::Cancel { reason } => Command::Cancel { reason: reason.clone() },
            Self::Continue { rounds, focus } => Command::Continue { rounds: *rounds, focus: focus.clone() },
            Self::Resolve(resolved) => Command::Resolve(resolved.clone()),
        }
    }
}

/// A control was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The debate is not in a state for it.
    #[error(transparent)]
    Refused(DecideError),
    /// The debate cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The debate may not use the models of this process; nothing was recorded (rule K23).
    #[error("{0}")]
    Unoffered(Unoffered),
    /// The process holds as many debates as it may; nothing was recorded.
    #[error("{held} debates are held here already")]
    Busy {
        /// How many.
        held: usize,
    },
    /// The store failed; whether it was recorded is unknown.
    #[error(transparent)]
    Record(#[from] AppendError),
    /// The debate's driver went away; whether it was recorded shows in the log.
    #[error("debate {0} is changing hands; look at its log and try again")]
    Unsettled(DebateId),
}

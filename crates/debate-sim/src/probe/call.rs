//! The five kinds of question that a probe asks.

use debate_core::call::CallKey;
use debate_core::id::Role;

/// One question of a probe.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    /// A seat says a number; tools may be used.
    Say { round: u32, role: Role },
    /// A saying is weighed.
    Weigh { round: u32, role: Role },
    /// The chair looks at all sayings of a round; tools may be used.
    Tally { round: u32 },
    /// The chair looks at its tally.
    Note { round: u32 },
    /// The chair closes the debate.
    Close { round: u32 },
}

/// Who tallies, notes and closes.
const CHAIR: &str = "chair";

const SAY: &str = "say";
const WEIGH: &str = "weigh";
const TALLY: &str = "tally";
const NOTE: &str = "note";
const CLOSE: &str = "close";

impl Call {
    /// Returns the kernel's key of this question.
    pub(super) fn key(&self) -> CallKey {
        match self {
            Self::Say { round, role } => CallKey::new(SAY, *round, role.clone()),
            Self::Weigh { round, role } => CallKey::new(WEIGH, *round, role.clone()),
            Self::Tally { round } => CallKey::new(TALLY, *round, CHAIR.into()),
            Self::Note { round } => CallKey::new(NOTE, *round, CHAIR.into()),
            Self::Close { round } => CallKey::new(CLOSE, *round, CHAIR.into()),
        }
    }

    /// Reads a kernel key; `None` when it is not of this format.
    pub(super) fn of(key: &CallKey) -> Option<Self> {
        let (round, role) = (key.round, key.role.clone());
        match &*key.kind {
            SAY => Some(Self::Say { round, role }),
            WEIGH => Some(Self::Weigh { round, role }),
            TALLY => Some(Self::Tally { round }),
            NOTE => Some(Self::Note { round }),
            CLOSE => Some(Self::Close { round }),
            _ => None,
        }
    }

    /// Returns whether tools may be used before the answer.
    pub(super) fn has_tools(&self) -> bool {
        match self {
            Self::Say { .. } | Self::Tally { .. } => true,
            Self::Weigh { .. } | Self::Note { .. } | Self::Close { .. } => false,
        }
    }
}

/// Returns the key of a seat's saying in a round.
pub(super) fn say(round: u32, role: &Role) -> CallKey {
    Call::Say { round, role: role.clone() }.key()
}

/// Returns the key of the weight of a seat's saying in a round.
pub(super) fn weigh(round: u32, role: &Role) -> CallKey {
    Call::Weigh { round, role: role.clone() }.key()
}

//! The three kinds of question that a prediction debate asks (rule P3).

use crate::call::CallKey;
use crate::id::Role;

/// One question of a prediction debate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Call {
    /// A role argues in a round.
    Argue {
        /// The round, from 1.
        round: u32,
        /// Who argues.
        role: Role,
    },
    /// An argument is scored.
    Score {
        /// The argument's round, from 1.
        round: u32,
        /// Who made the argument.
        role: Role,
    },
    /// The judge gives the final distribution.
    Synthesise {
        /// The last round that it covers.
        round: u32,
        /// Which of the judge's passes, from 1 (rule P19).
        pass: u32,
    },
}

/// The role that gives the synthesis.
pub const JUDGE: &str = "judge";
/// The role that must bring precedents (rule P12).
pub const HISTORIAN: &str = "historian";

const ARGUE: &str = "argue";
const SCORE: &str = "score";
const SYNTHESISE: &str = "synthesise";

impl Call {
    /// The kinds of question, as keys spell them.
    pub const KINDS: [&'static str; 3] = [ARGUE, SCORE, SYNTHESISE];

    /// Returns the kernel's key of this question.
    #[must_use]
    pub fn key(&self) -> CallKey {
        match self {
            Self::Argue { round, role } => CallKey::new(ARGUE, *round, role.clone()),
            Self::Score { round, role } => CallKey::new(SCORE, *round, role.clone()),
            Self::Synthesise { round, pass } => {
                CallKey { pass: *pass, ..CallKey::new(SYNTHESISE, *round, JUDGE.into()) }
            }
        }
    }

    /// Reads a kernel key; `None` when it is not of this format.
    #[must_use]
    pub fn of(key: &CallKey) -> Option<Self> {
        let (round, role) = (key.round, key.role.clone());
        match &*key.kind {
            ARGUE => Some(Self::Argue { round, role }),
            SCORE => Some(Self::Score { round, role }),
            SYNTHESISE => Some(Self::Synthesise { round, pass: key.pass }),
            _ => None,
        }
    }
}

/// Returns the key of a role's argument in a round.
pub(super) fn argue(round: u32, role: &Role) -> CallKey {
    Call::Argue { round, role: role.clone() }.key()
}

/// Returns the key of the score of a role's argument in a round.
pub(super) fn score(round: u32, role: &Role) -> CallKey {
    Call::Score { round, role: role.clone() }.key()
}

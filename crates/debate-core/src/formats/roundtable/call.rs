//! The questions that a roundtable asks: a response of each agent in each round, and once more, blind, where they agree
//! too easily (rule T6).

use serde::{Deserialize, Serialize};

use crate::call::CallKey;
use crate::id::Role;

/// The kinds of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// What an agent says in a round.
    Respond,
    /// What it says when asked again without seeing anybody.
    Repoll,
}

impl Kind {
    /// Every kind, in the order in which they are asked.
    pub const ALL: [Self; 2] = [Self::Respond, Self::Repoll];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Respond => "respond",
            Self::Repoll => "repoll",
        }
    }
}

/// One question of a roundtable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The kind of question.
    pub kind: Kind,
    /// The round, from 1.
    pub round: u32,
    /// Who answers.
    pub agent: Role,
}

impl Call {
    /// Returns the kernel's key of this question.
    #[must_use]
    pub fn key(&self) -> CallKey {
        CallKey::new(self.kind.as_str(), self.round, self.agent.clone())
    }

    /// Reads a kernel key; `None` when it is not of this format.
    #[must_use]
    pub fn of(key: &CallKey) -> Option<Self> {
        let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == key.kind)?;
        Some(Self { kind, round: key.round, agent: key.role.clone() })
    }
}

/// Returns the key of what an agent is asked in a round.
pub(super) fn key(kind: Kind, round: u32, agent: &Role) -> CallKey {
    Call { kind, round, agent: agent.clone() }.key()
}

//! The questions that a deliberation asks: one of each participant in each phase, one of the orchestrator (rule D2).

use crate::call::CallKey;
use crate::id::Role;

use super::config::Phase;

/// One question of a deliberation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The phase, which is the kind of question.
    pub phase: Phase,
    /// The phase's number, from 1.
    pub number: u32,
    /// Who answers.
    pub speaker: Role,
}

impl Call {
    /// Returns the kernel's key of this question.
    #[must_use]
    pub fn key(&self) -> CallKey {
        CallKey::new(self.phase.as_str(), self.number, self.speaker.clone())
    }

    /// Reads a kernel key; `None` when it is not of this format.
    #[must_use]
    pub fn of(key: &CallKey) -> Option<Self> {
        let phase = Phase::from_name(&key.kind)?;
        Some(Self { phase, number: key.round, speaker: key.role.clone() })
    }
}

/// Returns the key of what a speaker is asked in a phase.
pub(super) fn key(phase: Phase, number: u32, speaker: &Role) -> CallKey {
    Call { phase, number, speaker: speaker.clone() }.key()
}

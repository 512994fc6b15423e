//! The seven modes of a roundtable (rule T1), and how their agents can be run (rule T4).

use serde::{Deserialize, Serialize};

/// How the agents of a roundtable meet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// They build on each other.
    #[default]
    Collaborative,
    /// They attack each other's arguments.
    Adversarial,
    /// They ask and answer.
    Socratic,
    /// Each speaks from a perspective of its own (rule T7).
    ExpertPanel,
    /// One argues for, one against, the others judge (rule T3).
    DevilsAdvocate,
    /// They answer under other names and see the statistics of the round before (rule T2).
    Delphi,
    /// One team attacks, the other defends.
    RedTeamBlueTeam,
}

impl Mode {
    /// Every mode, the default first.
    pub const ALL: [Self; 7] = [
        Self::Collaborative,
        Self::Adversarial,
        Self::Socratic,
        Self::ExpertPanel,
        Self::DevilsAdvocate,
        Self::Delphi,
        Self::RedTeamBlueTeam,
    ];

    /// Returns the name used in requests and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Collaborative => "collaborative",
            Self::Adversarial => "adversarial",
            Self::Socratic => "socratic",
            Self::ExpertPanel => "expert-panel",
            Self::DevilsAdvocate => "devils-advocate",
            Self::Delphi => "delphi",
            Self::RedTeamBlueTeam => "red-team-blue-team",
        }
    }
}

/// Whether the agents of a round wait for each other, as their mode means it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// Side by side.
    Parallel,
    /// One after another.
    Sequential,
}

impl Pattern {
    /// Returns the most tool calls of a response unless a flag says otherwise (rule T4).
    #[must_use]
    pub const fn tool_calls_max(self) -> u32 {
        match self {
            Self::Parallel => 6,
            Self::Sequential => 2,
        }
    }

    /// Returns the name used in results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Parallel => "parallel",
            Self::Sequential => "sequential",
        }
    }
}

/// How much of a round runs side by side, the least first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Parallelization {
    /// Nothing: each agent hears those before.
    #[default]
    None,
    /// All but the last, who then hears them all.
    LastOnly,
    /// Everything: no agent hears the others of the round.
    Full,
}

impl Parallelization {
    /// Every level, the default first.
    pub const ALL: [Self; 3] = [Self::None, Self::LastOnly, Self::Full];

    /// Returns the name used in flags and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::LastOnly => "last-only",
            Self::Full => "full",
        }
    }
}

//! Who sits at the table: agents, their parts, the stances they take and the perspectives they speak from.

use serde::{Deserialize, Serialize};

use crate::id::Role;

/// One agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The name, unique at the table.
    pub name: Role,
    /// The number by which it goes where names are hidden, from 1, the same through all rounds (rule T2).
    pub number: u32,
    /// The part it plays, where its mode has parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
}

/// What an agent is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Argues for.
    Primary,
    /// Argues against.
    Opposition,
    /// Weighs both.
    Evaluator,
    /// Attacks, with the other agents of even index.
    RedTeam,
    /// Defends, with the other agents of odd index.
    BlueTeam,
    /// Speaks from one perspective.
    Expert(Perspective),
}

impl Part {
    /// Returns the name used in prompts and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Opposition => "opposition",
            Self::Evaluator => "evaluator",
            Self::RedTeam => "red_team",
            Self::BlueTeam => "blue_team",
            Self::Expert(perspective) => perspective.as_str(),
        }
    }

    /// Returns the stance that the part has to take (rule T3).
    #[must_use]
    pub const fn stance(self) -> Option<Stance> {
        match self {
            Self::Primary => Some(Stance::Yes),
            Self::Opposition => Some(Stance::No),
            Self::Evaluator => Some(Stance::Neutral),
            Self::RedTeam | Self::BlueTeam | Self::Expert(_) => None,
        }
    }
}

/// From where an expert looks at the topic (rule T7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Perspective {
    /// Technical feasibility, implementation challenges.
    Technical,
    /// Cost, return on investment, market impact.
    Economic,
    /// Moral implications, fairness, bias.
    Ethical,
    /// User impact, accessibility, societal effects.
    Social,
}

impl Perspective {
    /// Every perspective, in the order in which they are assigned.
    pub const ALL: [Self; 4] = [Self::Technical, Self::Economic, Self::Ethical, Self::Social];

    /// Returns the name used in requests and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Technical => "technical",
            Self::Economic => "economic",
            Self::Ethical => "ethical",
            Self::Social => "social",
        }
    }
}

/// How perspectives are given to agents (rule T7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Assignment {
    /// In order, from the first again where there are more agents.
    #[default]
    RoundRobin,
    /// In an order drawn from the seed.
    Random,
    /// As each agent says.
    Explicit,
}

impl Assignment {
    /// Every way, the default first.
    pub const ALL: [Self; 3] = [Self::RoundRobin, Self::Random, Self::Explicit];

    /// Returns the name used in requests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RoundRobin => "round-robin",
            Self::Random => "random",
            Self::Explicit => "explicit",
        }
    }
}

/// Where an agent stands on a question that can be answered so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Stance {
    /// For.
    Yes,
    /// Against.
    No,
    /// Neither.
    Neutral,
}

impl Stance {
    /// Every stance.
    pub const ALL: [Self; 3] = [Self::Yes, Self::No, Self::Neutral];

    /// Returns the name used in prompts, replies and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "YES",
            Self::No => "NO",
            Self::Neutral => "NEUTRAL",
        }
    }

    /// Returns whether one is for what the other is against.
    #[must_use]
    pub const fn opposes(self, other: Self) -> bool {
        matches!((self, other), (Self::Yes, Self::No) | (Self::No, Self::Yes))
    }
}

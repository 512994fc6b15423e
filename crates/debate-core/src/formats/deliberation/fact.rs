//! What a deliberation adds to the log: contributions and the consensus.

use serde::{Deserialize, Serialize};

use super::config::Phase;
use crate::id::Role;
use crate::measures::{disagreements::disagreements, position_change::tells_change};
use crate::prose::Prose;
use crate::{body, bounds, records};

records! {
    /// The domain facts of a deliberation.
    pub enum Fact {
        /// A participant spoke.
        ContributionMade(ContributionMade),
        /// The orchestrator summed up.
        ConsensusReached(ConsensusReached),
    }
}

/// A participant spoke.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContributionMade {
    /// The phase.
    pub phase: Phase,
    /// Its number, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// Who spoke.
    pub participant: Role,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// Whether the text says that its speaker changed position; known for revised positions alone (rule D6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_position: Option<bool>,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<ContributionProse>,
}
body!(ContributionMade, "contribution_made", prose: ContributionProse);

/// The words of a contribution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContributionProse {
    /// What was said.
    pub content: String,
}

impl ContributionMade {
    /// Returns what a text means that a participant gives in a phase (rule D6).
    pub(super) fn of(phase: Phase, round: u32, participant: Role, revision: u32, content: String) -> Self {
        let changed_position = match phase {
            Phase::Revised => Some(tells_change(&content)),
            Phase::Initial | Phase::Rebuttal | Phase::Consensus => None,
        };
        let prose = Prose::new(ContributionProse { content });
        Self { phase, round, participant, revision, changed_position, prose }
    }
}

/// The orchestrator summed up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConsensusReached {
    /// The number of the consensus phase.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// How many disagreements it leaves (rule D7).
    pub disagreements: u32,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<ConsensusProse>,
}
body!(ConsensusReached, "consensus_reached", prose: ConsensusProse);

/// The words of a consensus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsensusProse {
    /// The whole text.
    pub content: String,
    /// The disagreements that it leaves, as it words them (rule D7).
    #[serde(default)]
    pub disagreements: Vec<String>,
}

impl ConsensusReached {
    /// Returns what a text of the orchestrator means (rule D7).
    pub(super) fn of(round: u32, revision: u32, content: String) -> Self {
        let found: Vec<String> = disagreements(&content).into_iter().map(str::to_owned).collect();
        Self {
            round,
            revision,
            disagreements: u32::try_from(found.len()).unwrap_or(u32::MAX),
            prose: Prose::new(ConsensusProse { content, disagreements: found }),
        }
    }
}

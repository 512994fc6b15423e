//! The rules and the subject of one probe.

use debate_core::id::{OutcomeId, Role};
use serde::{Deserialize, Serialize};

/// The most rounds of a probe.
pub const ROUNDS_MAX: u32 = 6;

/// The rules of one probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Who speaks, in order.
    pub seats: Vec<Role>,
    /// How many rounds, 1–6.
    pub rounds: u32,
    /// Rounds held when the debate was last continued, 0 before.
    #[serde(default)]
    pub continued_after: u32,
    /// Whether the tally waits for sayings that are asked for again.
    pub patient: bool,
    /// The spread of a round's numbers, 0–100, at or under which the seats agree.
    pub consensus_spread_max: u32,
    /// Possible answers, for resolution.
    pub outcomes: Vec<OutcomeId>,
}

/// The subject of one probe.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// What it is about.
    pub topic: String,
}

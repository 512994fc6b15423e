//! The facts that a probe adds to the log.

use debate_core::id::Role;
use debate_core::prose::Prose;
use debate_core::{body, records};
use serde::{Deserialize, Serialize};

records! {
    /// A fact of a probe.
    pub enum Fact {
        /// A seat said a number.
        Said(Said),
        /// A saying was weighed.
        Weighed(Weighed),
        /// The chair tallied a round.
        Tallied(Tallied),
        /// The chair noted something about its tally.
        Noted(Noted),
        /// A round came to rest.
        Rested(Rested),
        /// The chair closed.
        Closed(Closed),
    }
}

/// A seat said a number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// The round, from 1.
    pub round: u32,
    /// Who.
    pub role: Role,
    /// The revision of the question.
    pub revision: u32,
    /// The number, 0–100.
    pub value: u32,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(Said, "said", prose: String);

/// A saying was weighed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weighed {
    /// The round, from 1.
    pub round: u32,
    /// Whose saying.
    pub role: Role,
    /// The revision that was weighed.
    pub revision: u32,
    /// The weight, 0–100.
    pub weight: u32,
}
body!(Weighed, "weighed");

/// The chair tallied a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tallied {
    /// The round, from 1.
    pub round: u32,
    /// The revision of the question.
    pub revision: u32,
    /// The number, 0–100.
    pub value: u32,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(Tallied, "tallied", prose: String);

/// The chair noted something about its tally.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noted {
    /// The round, from 1.
    pub round: u32,
    /// The revision of the question.
    pub revision: u32,
    /// The number, 0–100.
    pub value: u32,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(Noted, "noted", prose: String);

/// A round came to rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rested {
    /// The round, from 1.
    pub round: u32,
    /// The largest current number minus the smallest; 0 if no seat spoke.
    pub spread: u32,
}
body!(Rested, "rested");

/// The chair closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Closed {
    /// The last round that the closing covers.
    pub round: u32,
    /// The number, 0–100.
    pub value: u32,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(Closed, "closed", prose: String);

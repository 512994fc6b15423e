//! What a roundtable adds to the log: responses, and what a round comes to.

use serde::{Deserialize, Serialize};

use super::agent::Stance;
use super::call::Kind;
use crate::id::Role;
use crate::prose::Prose;
use crate::{body, bounds, records};

records! {
    /// The domain facts of a roundtable.
    pub enum Fact {
        /// An agent responded.
        ResponseGiven(ResponseGiven),
        /// A round was looked at as a whole.
        RoundJudged(RoundJudged),
    }
}

/// An agent responded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseGiven {
    /// Which question it answers.
    pub kind: Kind,
    /// The round, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// Who responded.
    pub agent: Role,
    /// The revision of the question, from 0.
    pub revision: u32,
    /// The stance that counts, if any is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
    /// Whether that stance is the one that the agent's part has to take and not the one it gave (rule T3).
    #[serde(default, skip_serializing_if = "is_false")]
    pub forced: bool,
    /// The stance it gave where another one is forced; none where it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_stance: Option<Stance>,
    /// The confidence, in [0, 1].
    pub confidence: f64,
    /// The confidence as stated, where that is outside [0, 1] (rule T2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated_confidence: Option<f64>,
    /// The other agents that position or reasoning name, in the table's order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refers_to: Vec<Role>,
    /// Whether it refers to others by a phrase.
    #[serde(default, skip_serializing_if = "is_false")]
    pub refers_by_phrase: bool,
    /// How many questions it puts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub questions: u32,
    /// How many questions of others in the round before it takes up, at most 3.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub questions_taken_up: u32,
    /// How many sources it names.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub citations: u32,
    /// How many of these tools had found for the agent by then, or for anybody in an earlier round (rule T10).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub citations_found: u32,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<ResponseProse>,
}
body!(ResponseGiven, "response_given", prose: ResponseProse);

/// The words of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseProse {
    /// The position in a sentence or two.
    pub position: String,
    /// The reasons for it.
    pub reasoning: String,
    /// The sources it names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub citations: Vec<String>,
}

impl ResponseGiven {
    /// Returns whether it refers to anybody.
    #[must_use]
    pub fn refers(&self) -> bool {
        self.refers_by_phrase || !self.refers_to.is_empty()
    }
}

/// A round was looked at as a whole: what follows from its words is recorded, so that it stays when they go (rules K15,
/// T5, T6).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundJudged {
    /// The round, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// Which answers were looked at.
    pub kind: Kind,
    /// The level of agreement, in [0, 1].
    pub agreement: f64,
    /// The part of it that positions have, in [0, 1].
    pub position_score: f64,
    /// The part of it that confidences have, in [0, 1].
    pub confidence_score: f64,
    /// The agents by camp: each with the first whose position is alike, in the table's order.
    pub camps: Vec<Vec<Role>>,
    /// The mean overlap of words of all pairs of positions, in [0, 1].
    pub overlap: f64,
    /// The agents that spoke in the round before too and whose position is the one they had there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steady: Vec<Role>,
    /// Signs of agreeing too easily; absent if they were not looked for (rule T6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groupthink: Option<Groupthink>,
    /// Agents who gave the same answer, reasons included, word for word: groups of two or more (rule P27).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub identical: Vec<Vec<Role>>,
}
body!(RoundJudged, "round_judged");

/// Signs of agreeing too easily.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groupthink {
    /// Whether the signs are enough.
    pub detected: bool,
    /// Which signs there are.
    pub signs: Vec<Sign>,
}

/// A sign of agreeing too easily.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// All are sure.
    Confidence,
    /// No agent takes another stance.
    Stance,
    /// Positions are alike.
    Position,
}

impl Sign {
    /// Returns the name used in the log and in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confidence => "confidence",
            Self::Stance => "stance",
            Self::Position => "position",
        }
    }

    /// Returns the words in which the sign is reported.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confidence => "All agents show high confidence (≥80%)",
            Self::Stance => "No dissenting stances detected",
            Self::Position => "Positions are too similar",
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}

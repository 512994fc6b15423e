//! What a prediction debate adds to the log: arguments, scores, round summaries, the judgement.

use serde::{Deserialize, Serialize};

use super::answer::Precedent;
use super::point::PointId;
use crate::id::{OutcomeId, Role};
use crate::measures::consensus::Direction;
use crate::measures::distribution::{Distribution, Repair};
use crate::prose::Prose;
use crate::{body, bounds, records};

records! {
    /// The domain facts of a prediction debate.
    pub enum Fact {
        /// A role made an argument.
        ArgumentMade(ArgumentMade),
        /// An argument was scored.
        ArgumentScored(ArgumentScored),
        /// A round was summed up.
        RoundSummarised(RoundSummarised),
        /// The judge gave the final assessment.
        JudgementRendered(JudgementRendered),
    }
}

/// A role made an argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArgumentMade {
    /// The round, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// Who spoke.
    pub role: Role,
    /// The revision: 0, or 1 where it was asked again.
    pub revision: u32,
    /// The outcome it speaks for.
    pub outcome_supported: OutcomeId,
    /// The role's distribution, in the order of the request's outcomes.
    pub probabilities: Distribution,
    /// What had to be mended in the distribution (rule P7).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
    /// How sure the role is, in [0, 1].
    pub confidence: f64,
    /// Whom it rebuts (rule P10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rebuts: Vec<Role>,
    /// Earlier points whose quoted words really stand there (rule P11).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cites: Vec<PointId>,
    /// How many complete precedents it brings (rule P12).
    #[serde(default)]
    pub precedents: u32,
    /// The rules it breaks, such as `P11`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<Rule>,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<ArgumentProse>,
}
body!(ArgumentMade, "argument_made", prose: ArgumentProse);

/// The words of an argument.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ArgumentProse {
    /// What it claims, in one sentence; empty where none was asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub claim: String,
    /// The public argument.
    pub argument: String,
    /// What it rests on.
    #[serde(default)]
    pub evidence_cited: Vec<String>,
    /// Precedents, complete ones only, similarity in [0, 1].
    #[serde(default)]
    pub precedents: Vec<Precedent>,
}

/// A rule that an answer can break and still be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rule {
    /// It names an outcome that is none of the question's.
    P3,
    /// Its composite score is below 0.2.
    P6,
    /// It rebuts no role that can be rebutted.
    P10,
    /// It cites no earlier point in words that stand there.
    P11,
    /// It brings fewer than two complete precedents.
    P12,
}

impl Rule {
    /// Returns the rule's number.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P3 => "P3",
            Self::P6 => "P6",
            Self::P10 => "P10",
            Self::P11 => "P11",
            Self::P12 => "P12",
        }
    }
}

/// An argument was scored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArgumentScored {
    /// The argument's round.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// Who made it.
    pub role: Role,
    /// The argument's revision.
    pub revision: u32,
    /// A score in [0, 1] for each criterion in the order of the configuration; none where it cannot be had.
    pub scores: Vec<Option<f64>>,
    /// The weighted mean of the scores there are (rule P5).
    pub composite: Option<f64>,
    /// The scorer's reason.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(ArgumentScored, "argument_scored", prose: String);

/// A round was summed up (rule P9).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoundSummarised {
    /// The round.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// The role with the highest composite; none where no argument was scored.
    pub dominant_argument: Option<Role>,
    /// Who differs from whom, in words made of role names and outcome ids.
    pub key_disagreements: Vec<String>,
    /// Where the roles are heading, for outcomes on which they moved.
    pub emerging_consensus: Vec<Emerging>,
}
body!(RoundSummarised, "round_summarised");

/// Where the roles are heading on one outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Emerging {
    /// The outcome.
    pub outcome_id: OutcomeId,
    /// Closer together or further apart than a round before.
    pub direction: Direction,
}

/// The judge gave the final assessment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgementRendered {
    /// The last round that it covers.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// Which of the judge's passes, from 1 (rule P19).
    #[serde(
        default = "first_pass",
        skip_serializing_if = "is_first_pass",
        deserialize_with = "bounds::count"
    )]
    pub pass: u32,
    /// The judge's own distribution.
    pub probabilities: Distribution,
    /// What had to be mended in it (rule P7).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
    /// How sure the judge is, in [0, 1].
    pub confidence: f64,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<JudgementProse>,
}
fn first_pass() -> u32 {
    1
}

fn is_first_pass(pass: &u32) -> bool {
    *pass == 1
}

body!(JudgementRendered, "judgement_rendered", prose: JudgementProse);

/// The words of the final assessment, checked against the debate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JudgementProse {
    /// The reasoning.
    pub reasoning: String,
    /// Where the roles differ (rule P13).
    #[serde(default)]
    pub disagreements: Vec<Disagreement>,
    /// What the debate brought to light (rule P14).
    #[serde(default)]
    pub insights: Vec<KeyInsight>,
}

/// A disagreement between roles.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disagreement {
    /// What about.
    pub topic: String,
    /// Who stands where.
    pub positions: Vec<Position>,
    /// Whether the debate settled it.
    pub resolved: bool,
}

/// Where one role stands in a disagreement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Position {
    /// The role.
    pub role: Role,
    /// What it holds.
    pub stance: String,
    /// How firmly, in [0, 1].
    pub strength: f64,
}

/// Something that the debate brought to light.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyInsight {
    /// In words.
    pub insight: String,
    /// Who brought it.
    pub source_role: Role,
    /// In which round.
    #[serde(deserialize_with = "bounds::count")]
    pub round: u32,
    /// How much it matters.
    pub impact: Impact,
    /// Which outcomes it touches.
    pub affected_outcomes: Vec<OutcomeId>,
}

/// How much an insight matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Impact {
    /// It moves the answer.
    High,
    /// It colours the answer.
    Medium,
    /// It is good to know.
    Low,
}

impl Impact {
    /// Returns the name used in the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

//! The rules and the subject of one review debate, already valid: what the edge makes of a request.

use serde::{Deserialize, Serialize};

use super::conflict::{Conflict, Direction, Operation};
use crate::bounds;
use crate::call::Tokens;
use crate::id::Role;
use crate::limits::Limits;
use crate::models::ModelPlan;
use crate::request::sizes::{PAIRS, PARTICIPANTS_MAX};

/// The most pairs of any log.
const PAIRS_MAX: usize = *PAIRS.end() as usize;
/// The most pairs that debate, unless the request says otherwise (rule V2).
pub const MAX_PAIRS_DEFAULT: u32 = 2;
/// The fewest conflicts that start a debate, unless the request says otherwise (rule V1).
pub const MIN_CONFLICTS_DEFAULT: u32 = 1;
/// The model that argues where the request names none and the process offers it (rule V1).
pub const MODEL_DEFAULT: &str = "anthropic:claude-haiku-4-5";
/// The model that judges where the request names none and the process offers it (rule V1).
pub const JUDGE_MODEL_DEFAULT: &str = "anthropic:claude-sonnet-4-6";
/// Input tokens of the prompt of a speech.
pub const SPEECH_INPUT_TOKENS: u32 = 8_000;
/// Output tokens of a speech of two to three sentences (rule V3).
pub const SPEECH_OUTPUT_TOKENS: u32 = 400;
/// Input tokens of the prompt of the judge.
pub const JUDGE_INPUT_TOKENS: u32 = 8_000;
/// Output tokens of the judge.
pub const JUDGE_OUTPUT_TOKENS: u32 = 1_000;

/// One of the two reviewers of a pair, in the order in which they speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Side {
    /// The one who adds, and speaks first.
    #[serde(rename = "role_a")]
    A,
    /// The one who removes.
    #[serde(rename = "role_b")]
    B,
}

impl Side {
    /// Both sides, in order of speaking.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// Returns the other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// What a reviewer does in a speech (rule V3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speech {
    /// Argues for its own operation.
    Argue,
    /// Answers the other's argument.
    Rebut,
}

impl Speech {
    /// The four speeches of a pair, in order (rule V3).
    pub const ORDER: [(Self, Side); 4] =
        [(Self::Argue, Side::A), (Self::Argue, Side::B), (Self::Rebut, Side::A), (Self::Rebut, Side::B)];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Argue => "argue",
            Self::Rebut => "rebut",
        }
    }
}

/// Two reviewers who contradict each other (rule V2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The reviewer who adds.
    pub role_a: Role,
    /// The reviewer who removes.
    pub role_b: Role,
}

impl Pair {
    /// Returns the reviewer on a side.
    #[must_use]
    pub const fn role(&self, side: Side) -> &Role {
        match side {
            Side::A => &self.role_a,
            Side::B => &self.role_b,
        }
    }
}

/// Why no pair debates (rule V1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Skip {
    /// The request does not enable debates.
    Disabled,
    /// There are fewer conflicts than start a debate.
    TooFewConflicts,
    /// There are conflicts, and in none of them one reviewer adds what another removes.
    NoPair,
}

impl Skip {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::TooFewConflicts => "too_few_conflicts",
            Self::NoPair => "no_pair",
        }
    }
}

/// The rules of one review debate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Whether reviewers debate at all (rule V1).
    pub enabled: bool,
    /// The most pairs that debate (rule V2).
    pub max_pairs: u32,
    /// The fewest conflicts that start a debate (rule V1).
    pub min_conflicts_to_trigger: u32,
    /// How many conflicts there are.
    pub conflicts: u32,
    /// Whether the caller named them; else they were found in the critiques (rule V2).
    pub conflicts_given: bool,
    /// The pairs that debate, each about a conflict of its own; empty if none does.
    #[serde(deserialize_with = "bounds::list::<_, _, PAIRS_MAX>")]
    pub pairs: Vec<Pair>,
    /// How often the judge looks at a pair; in the second pass it sees the sides the other way round (rule V4).
    #[serde(deserialize_with = "bounds::count")]
    pub judge_passes: u32,
    /// From what the order is drawn in which the judge sees the sides of each pair.
    pub seed: u64,
    /// Whether those orders are all reversed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_reversed: bool,
    /// Which models are asked; empty where the choice is left to the process.
    #[serde(default, skip_serializing_if = "ModelPlan::is_empty")]
    pub models: ModelPlan,
}

impl Config {
    /// Returns why no pair debates, if none does (rule V1).
    #[must_use]
    pub fn skip(&self) -> Option<Skip> {
        if !self.enabled {
            Some(Skip::Disabled)
        } else if self.conflicts < self.min_conflicts_to_trigger {
            Some(Skip::TooFewConflicts)
        } else {
            self.pairs.is_empty().then_some(Skip::NoPair)
        }
    }

    /// Returns the pairs with their numbers, from 1.
    pub fn numbered_pairs(&self) -> impl DoubleEndedIterator<Item = (u32, &Pair)> + Clone {
        let numbered = self.pairs.iter().enumerate();
        numbered.map(|(place, pair)| (u32::try_from(place + 1).unwrap_or(u32::MAX), pair))
    }

    /// Returns the pair with a number, from 1.
    #[must_use]
    pub fn pair(&self, number: u32) -> Option<&Pair> {
        self.pairs.get((number as usize).checked_sub(1)?)
    }

    /// Returns the calls of a debate in which nothing goes wrong.
    #[must_use]
    pub fn calls_expected(&self) -> u64 {
        self.pairs.len() as u64 * (Speech::ORDER.len() as u64 + u64::from(self.judge_passes))
    }

    /// Puts the models of rule V1 in the place of those that the request leaves open, as far as they are offered here.
    pub fn prefer_default_models(&mut self, is_offered: impl Fn(&str) -> bool) {
        let models = &mut self.models;
        if models.default.is_empty() && is_offered(MODEL_DEFAULT) {
            models.default = vec![MODEL_DEFAULT.to_owned()];
        }
        if !models.purposes.contains_key(super::call::JUDGE) && is_offered(JUDGE_MODEL_DEFAULT) {
            models.purposes.insert(super::call::JUDGE.to_owned(), vec![JUDGE_MODEL_DEFAULT.to_owned()]);
        }
    }

    /// Returns what the debate may spend, unless the request says otherwise: enough for every prompt at its longest.
    #[must_use]
    pub fn limits(&self, deadline_ms: u64) -> Limits {
        let pairs = self.pairs.len() as u64;
        let judging = Tokens { input: JUDGE_INPUT_TOKENS.into(), output: JUDGE_OUTPUT_TOKENS.into() }
            .times(pairs * u64::from(self.judge_passes));
        let speaking = Tokens { input: SPEECH_INPUT_TOKENS.into(), output: SPEECH_OUTPUT_TOKENS.into() }
            .times(pairs * Speech::ORDER.len() as u64);
        Limits::for_calls(self.calls_expected(), speaking.plus(judging), judging, deadline_ms)
    }
}

/// What a reviewer said about a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Critique {
    /// The reviewer.
    pub role: Role,
    /// The reviewer's own instructions; empty where the request has none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub system_prompt: String,
    /// What it wants done, in order: as the request states it, then what follows from findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub operations: Vec<Operation>,
    /// What it found, in its own words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

/// What a pair debates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dispute {
    /// What both speak about.
    pub target: String,
    /// The conflict in words: both roles, their operations, the target.
    pub conflict_description: String,
    /// The operation of the reviewer who adds.
    pub op_a: Operation,
    /// The operation of the reviewer who removes.
    pub op_b: Operation,
}

impl Dispute {
    /// Returns the operation of a side.
    #[must_use]
    pub const fn op(&self, side: Side) -> &Operation {
        match side {
            Side::A => &self.op_a,
            Side::B => &self.op_b,
        }
    }

    /// Returns the conflict as the audit log names it (rule V5).
    #[must_use]
    pub fn audit_line(&self) -> String {
        let (add, remove) = (Direction::Add.as_str(), Direction::Remove.as_str());
        format!("{add} vs {remove} on '{}'", self.target)
    }
}

/// The subject of a review debate, in people's words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// What was reviewed: the prompt or change that the critiques are about.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub original_prompt: String,
    /// What else reviewers should know.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub context: String,
    /// The critiques.
    #[serde(deserialize_with = "bounds::list::<_, _, PARTICIPANTS_MAX>")]
    pub critiques: Vec<Critique>,
    /// The conflicts between them, given or found (rule V2).
    pub conflicts: Vec<Conflict>,
    /// What the pairs debate, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disputes: Vec<Dispute>,
    /// The caller's critiques, the JSON exactly as it came (rule V6).
    pub critiques_json: String,
    /// The caller's conflicts, the JSON exactly as it came (rule V6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflicts_json: Option<String>,
}

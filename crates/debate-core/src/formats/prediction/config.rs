//! The rules and the subject of one prediction debate, already valid: what the edge makes of a request.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::preset::{InputTokens, Preset};
use crate::bounds;
use crate::id::{OutcomeId, Role, Timestamp};
use crate::measures::pooling::{PoolSettings, Pooling};
use crate::models::ModelPlan;
use crate::request::sizes::{CRITERIA_MAX, OUTCOMES_MAX, PARTICIPANTS_MAX};

/// The five roles of the contract, in the order in which they are listed everywhere (rule P1).
pub const ROLES: [&str; 5] = ["optimist", "pessimist", "contrarian", "historian", "judge"];
/// Rounds, unless the request says otherwise (rule P2).
pub const ROUNDS_DEFAULT: u32 = 3;
/// The most rounds (rule P2).
pub const ROUNDS_MAX: u32 = 10;
/// Tokens of one reply to an argument call, unless the request says otherwise (rule P15).
pub const ARGUMENT_TOKENS_DEFAULT: u32 = 500;
/// Output tokens of a score reply.
pub const SCORE_OUTPUT_TOKENS: u32 = 200;
/// Output tokens of the synthesis reply.
pub const SYNTHESIS_OUTPUT_TOKENS: u32 = 2_000;

/// The version of the rules of results that debates opened now follow; see [`Config::rules`].
pub const RULES: u32 = 3;

/// A criterion by which arguments are scored, with its weight in the composite (rule P5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Criterion {
    /// The name, in snake case.
    #[serde(deserialize_with = "bounds::name")]
    pub name: String,
    /// The weight, above 0; the composite divides by the sum of weights.
    pub weight: f64,
}

/// The rules of one prediction debate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// The caller's id of the task.
    pub task_id: String,
    /// The possible answers, in the caller's order; 1 or more.
    #[serde(deserialize_with = "bounds::list::<_, _, OUTCOMES_MAX>")]
    pub outcomes: Vec<OutcomeId>,
    /// Who argues, in order.
    #[serde(deserialize_with = "bounds::list::<_, _, PARTICIPANTS_MAX>")]
    pub roles: Vec<Role>,
    /// How many rounds, 1–10.
    #[serde(deserialize_with = "bounds::count")]
    pub rounds: u32,
    /// Rounds that were the last ones when they were held, before the debate was continued (rule K17).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub continued_after: Vec<u32>,
    /// The most tokens of one reply to an argument call.
    pub max_argument_length: u32,
    /// The scoring criteria, in order.
    #[serde(deserialize_with = "bounds::list::<_, _, CRITERIA_MAX>")]
    pub criteria: Vec<Criterion>,
    /// The judge's weight against the consensus, in [0, 1] (rule P7).
    pub judge_weight: f64,
    /// Seeds every choice that is not the models': the judge's order, say (rule P19).
    pub seed: u64,
    /// Whether the judge sees arguments in the reverse of the order that is drawn, as in a fork (rules K14, P19).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub judge_reversed: bool,
    /// How roles are pooled into the consensus (rule P18).
    pub pooling: Pooling,
    /// The numbers that the pools need.
    pub pool_settings: PoolSettings,
    /// Which models are asked.
    #[serde(default, skip_serializing_if = "ModelPlan::is_empty")]
    pub models: ModelPlan,
    /// How often the judge gives the synthesis, each time with the arguments in another order: 1 or 2 (rule P19).
    #[serde(default = "one_pass", skip_serializing_if = "is_one_pass", deserialize_with = "bounds::count")]
    pub judge_passes: u32,
    /// When a round begins (rule P21).
    #[serde(default, skip_serializing_if = "Schedule::is_strict")]
    pub schedule: Schedule,
    /// The moments that the question depends on.
    #[serde(default, skip_serializing_if = "Dates::is_none")]
    pub dates: Dates,
    /// How much prompts show; as `contract` where it is absent (rule P15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preset: Option<Preset>,
    /// The most input tokens of a prompt by kind of call, where the request sets its own numbers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub input_tokens: BTreeMap<String, u32>,
    /// The version of the rules by which the log folds into a result, so that an older log keeps its outcome.
    ///
    /// 0 is what logs without a version mean. From 1 on, roles that failed count with their last distribution, the
    /// confidence falls with missing scores and passes too (rule P16), and the result lists repairs (rules K18, P29)
    /// and notes on equal distributions (rule P27). From 2 on, a note says what prompts did not show whole (rule K20).
    /// From 3 on, the consensus score of a void debate is null, outcomes are weighted in it by their pooled probabilities (rule
    /// P8), and a partial result gives a reason for a missing synthesis.
    #[serde(default, skip_serializing_if = "bounds::is_zero")]
    pub rules: u32,
}

/// The moments that a question depends on, as the request states them (rule K19).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dates {
    /// The moment as of which roles forecast; the opening of the debate where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// When the question closes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closes_at: Option<Timestamp>,
    /// When its answer is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolves_at: Option<Timestamp>,
}

impl Dates {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

fn one_pass() -> u32 {
    1
}

fn is_one_pass(passes: &u32) -> bool {
    *passes == 1
}

impl Config {
    /// Returns the index of an outcome.
    #[must_use]
    pub fn outcome_index(&self, id: &OutcomeId) -> Option<usize> {
        self.outcomes.iter().position(|outcome| outcome == id)
    }

    /// Returns the name of a round's phase (rule P2): `opening`, `rebuttal` or `closing`.
    #[must_use]
    pub fn phase(&self, round: u32) -> Phase {
        match round {
            0 | 1 => Phase::Opening,
            _ if round >= self.rounds || self.continued_after.contains(&round) => Phase::Closing,
            _ => Phase::Rebuttal,
        }
    }

    /// Returns whether results follow P16, P27 and P29 as they were revised.
    #[must_use]
    pub fn has_revised_rules(&self) -> bool {
        self.rules >= 1
    }

    /// Returns whether results say what prompts did not show whole.
    #[must_use]
    pub fn tells_what_was_shown(&self) -> bool {
        self.rules >= 2
    }

    /// Returns whether the consensus score is weighted by what is pooled, and null of void debates; and a missing synthesis
    /// is a reason.
    #[must_use]
    pub fn scores_what_is_pooled(&self) -> bool {
        self.rules >= 3
    }

    /// Returns whether a move counts as conformity only where it nears what the others said, and a role's own points are no
    /// reason for it (rule P17).
    #[must_use]
    pub fn conforms_to_others(&self) -> bool {
        self.rules >= 3
    }

    /// Returns whether the judge changed its mind between two passes only where no outcome is the most probable of both.
    #[must_use]
    pub fn flips_without_ties(&self) -> bool {
        self.rules >= 3
    }

    /// Returns how much prompts show.
    #[must_use]
    pub fn preset(&self) -> Preset {
        self.preset.unwrap_or(Preset::Contract)
    }

    /// Returns the most input tokens of a prompt, by kind of call (rule P15).
    #[must_use]
    pub fn input_tokens(&self) -> InputTokens {
        self.preset().input_tokens(&self.input_tokens)
    }

    /// Returns the calls of a debate in which nothing goes wrong: 31 for five roles and three rounds (rule P3).
    #[must_use]
    pub fn calls_expected(&self) -> u64 {
        self.roles.len() as u64 * u64::from(self.rounds) * 2 + u64::from(self.judge_passes)
    }
}

/// When the next round begins. The result is the same either way for the same replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Schedule {
    /// As soon as the arguments of the round before are there; what a score then makes void runs again.
    Pipelined,
    /// When the round before is scored as well. Debates recorded without a schedule ran so.
    #[default]
    Strict,
}

impl Schedule {
    fn is_strict(&self) -> bool {
        *self == Self::Strict
    }

    /// Returns the name used in requests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pipelined => "pipelined",
            Self::Strict => "strict",
        }
    }
}

/// What a round is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Everybody speaks blind.
    Opening,
    /// Everybody answers the others.
    Rebuttal,
    /// Everybody sums up, citing earlier points.
    Closing,
}

impl Phase {
    /// Returns the name used in the contract.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Rebuttal => "rebuttal",
            Self::Closing => "closing",
        }
    }
}

/// The subject of a prediction debate, in people's words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Brief {
    /// The question as it is put to the roles.
    pub question: String,
    /// The caller's task, the JSON exactly as it came.
    pub task: String,
    /// Words for the outcomes, in the order of [`Config::outcomes`].
    #[serde(deserialize_with = "bounds::list::<_, _, OUTCOMES_MAX>")]
    pub outcomes: Vec<OutcomeText>,
    /// What matters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_variables: Vec<KeyVariable>,
    /// What a simulation found.
    #[serde(default)]
    pub simulation_summary: SimulationSummary,
    /// What the data say.
    #[serde(default)]
    pub data_summary: DataSummary,
    /// Personas for roles beyond the contract's five, and the request's own words for those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub personas: Vec<Persona>,
    /// Rubrics of criteria beyond the contract's three.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rubrics: Vec<Rubric>,
}

/// Words for one outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeText {
    /// A short name.
    pub label: String,
    /// What it means, possibly empty.
    #[serde(default)]
    pub description: String,
}

/// Something that matters for the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KeyVariable {
    /// Its name.
    pub name: String,
    /// What kind of thing it is.
    #[serde(default)]
    pub category: String,
    /// How much it matters: a word or a number, as the caller has it.
    #[serde(default)]
    pub importance: Value,
    /// Where it stands: a word or a number, as the caller has it.
    #[serde(default)]
    pub current_value: Value,
}

/// What a simulation found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SimulationSummary {
    /// A probability for each outcome that it has one for.
    #[serde(default)]
    pub final_distribution: Vec<Prior>,
    /// In words.
    #[serde(default)]
    pub key_findings: Vec<String>,
}

/// A probability that the caller brings along.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prior {
    /// The outcome.
    pub outcome_id: OutcomeId,
    /// In [0, 1].
    pub probability: f64,
}

/// What the data say.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSummary {
    /// Where.
    #[serde(default)]
    pub region: String,
    /// When.
    #[serde(default)]
    pub timeframe: Timeframe,
    /// Economy.
    #[serde(default)]
    pub economic_highlights: Vec<String>,
    /// Mood.
    #[serde(default)]
    pub sentiment_highlights: Vec<String>,
    /// What is not known.
    #[serde(default)]
    pub data_gaps: Vec<String>,
}

/// A span of time, as the caller writes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeframe {
    /// Its start.
    #[serde(default)]
    pub start: String,
    /// Its end.
    #[serde(default)]
    pub end: String,
}

/// Who a role is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Persona {
    /// The role.
    pub role: Role,
    /// The system prompt.
    pub system_prompt: String,
    /// Where it leans.
    #[serde(default)]
    pub bias_direction: String,
    /// What it looks for.
    #[serde(default)]
    pub evidence_preference: String,
}

/// How a criterion is scored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rubric {
    /// The criterion's name.
    #[serde(deserialize_with = "bounds::name")]
    pub criterion: String,
    /// Bands such as `0.0-0.3`, each with what it means.
    pub bands: Vec<RubricBand>,
}

/// One band of a rubric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RubricBand {
    /// Such as `0.0-0.3`.
    pub range: String,
    /// What a score in this band means.
    pub meaning: String,
}

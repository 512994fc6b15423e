//! The rules and the subject of one investigation, already valid: what the edge makes of a request.

use serde::{Deserialize, Serialize};

use super::answer::HypothesisText;
use crate::bounds;
use crate::call::Tokens;
use crate::id::Role;
use crate::limits::Limits;
use crate::models::ModelPlan;
use crate::request::sizes::PARTICIPANTS_MAX;

/// The role that sets up hypotheses and conveys the conclusion (rule I1).
pub const LEAD: &str = "lead";
/// The role that challenges (rule I1).
pub const DEVILS_ADVOCATE: &str = "devils_advocate";
/// The role that weighs and rules (rule I1).
pub const SYNTHESIZER: &str = "synthesizer";
/// The roles that are not investigators.
pub const RESERVED: [&str; 3] = [LEAD, DEVILS_ADVOCATE, SYNTHESIZER];

/// The most rounds, whatever is asked for (rule I7).
pub const ROUNDS_MAX: u32 = 3;
/// The fewest hypotheses.
pub const HYPOTHESES_MIN: usize = 2;
/// The most hypotheses.
pub const HYPOTHESES_MAX: usize = 8;
/// How many hypotheses the lead proposes at most, unless the request says otherwise.
pub const INVESTIGATORS_DEFAULT: usize = 3;
/// Wall time unless the request says otherwise, in milliseconds.
pub const DEADLINE_MS_DEFAULT: u64 = 600_000;
/// Model turns of one question that may ask for tools (rule I10); after them it must be answered.
pub const TOOL_TURNS_MAX: u32 = 6;
/// Input tokens of any prompt; what was said is shortened, the oldest first.
pub const INPUT_TOKENS: u32 = 40_000;
/// Output tokens of any reply.
pub const OUTPUT_TOKENS: u32 = 2_500;

/// The confidence from which a hypothesis is strong, of 10 (rule I7).
pub const STRONG_MIN: f64 = 8.0;
/// The lead from which one round more is enough, of 10 (rule I7).
pub const LEAD_MIN: f64 = 3.0;
/// What a round in which a valid challenge is refused costs its hypothesis, of 10 (rule I9).
pub const REFUSAL_COST: f64 = 1.0;

/// The language in which the roles speak.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Language {
    /// Every language, the default first.
    pub const ALL: [Self; 2] = [Self::En, Self::Zh];

    /// Returns the name used in requests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
        }
    }
}

/// An investigator with the one hypothesis that is its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// The name, unique and none of [`RESERVED`].
    pub investigator: Role,
    /// The number of the hypothesis, from 1.
    pub hypothesis: u32,
}

/// The rules of one investigation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The language in which the roles speak.
    pub language: Language,
    /// The most rounds, 1 to [`ROUNDS_MAX`].
    #[serde(deserialize_with = "bounds::count")]
    pub rounds: u32,
    /// Who investigates what, in order; a seat whose hypothesis the lead does not propose stays empty.
    #[serde(deserialize_with = "bounds::list::<_, _, PARTICIPANTS_MAX>")]
    pub seats: Vec<Seat>,
    /// How many hypotheses came with the request; none where the lead proposes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypotheses: Option<u32>,
    /// Whether a folder is there in which investigators may look things up (rule I10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub workspace: bool,
    /// Which models are asked: by kind of question, by role.
    #[serde(default, skip_serializing_if = "ModelPlan::is_empty")]
    pub models: ModelPlan,
}

impl Config {
    /// Returns the seat of an investigator.
    #[must_use]
    pub fn seat(&self, investigator: &Role) -> Option<&Seat> {
        self.seats.iter().find(|seat| seat.investigator == *investigator)
    }

    /// Returns whether somebody of this name takes part.
    #[must_use]
    pub fn has_role(&self, name: &str) -> bool {
        RESERVED.contains(&name) || self.seats.iter().any(|seat| seat.investigator.as_str() == name)
    }

    /// Returns the questions of a debate in which nothing goes wrong, all rounds are held and everybody is challenged.
    #[must_use]
    pub fn calls_expected(&self) -> u64 {
        let each_round = 2 * self.seats.len() as u64 + 2;
        u64::from(self.hypotheses.is_none()) + u64::from(self.rounds) * each_round + 2
    }

    /// Returns what the debate may spend, unless the request says otherwise: enough for every prompt at its longest and
    /// for every look at a workspace.
    #[must_use]
    pub fn limits(&self, deadline_ms: u64) -> Limits {
        // Investigators look twice in a round, the devil's advocate once.
        let lookers = 2 * self.seats.len() as u64 + 1;
        let looks = u64::from(self.rounds) * lookers * u64::from(TOOL_TURNS_MAX);
        let calls = self.calls_expected() + looks;
        let each = Tokens { input: u64::from(INPUT_TOKENS), output: u64::from(OUTPUT_TOKENS) };
        Limits::for_calls(calls, each.times(calls), each.times(2), deadline_ms)
    }
}

/// The subject of an investigation, in people's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// What goes wrong.
    pub problem: String,
    /// What is known of it; may be empty.
    #[serde(default)]
    pub context: String,
    /// The hypotheses that came with the request, by number; empty where the lead proposes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hypotheses: Vec<HypothesisText>,
}

//! The rules and the subject of one deliberation, already valid: what the edge makes of a request.

use serde::{Deserialize, Serialize};

use crate::bounds;
use crate::call::Tokens;
use crate::id::Role;
use crate::limits::Limits;
use crate::models::ModelPlan;
use crate::request::sizes::PARTICIPANTS_MAX;

/// The most phases that are run, unless the request says otherwise (rule D1).
pub const MAX_ROUNDS_DEFAULT: u32 = 10;
/// Wall time unless the request says otherwise, in milliseconds (rule D1).
pub const TIMEOUT_MS_DEFAULT: u64 = 300_000;
/// The fewest participants (rule D2).
pub const PARTICIPANTS_MIN: usize = 2;
/// Input tokens of any prompt; a longer history is shortened, the oldest contributions first.
pub const INPUT_TOKENS: u32 = 60_000;
/// Output tokens of a contribution.
pub const CONTRIBUTION_OUTPUT_TOKENS: u32 = 2_000;
/// Output tokens of the consensus.
pub const CONSENSUS_OUTPUT_TOKENS: u32 = 4_000;

/// What participants do in one part of the debate (rule D2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Everybody takes a position.
    Initial,
    /// Everybody criticises the others.
    Rebuttal,
    /// Everybody gives a final position.
    Revised,
    /// The orchestrator sums up.
    Consensus,
}

impl Phase {
    /// Every phase, in order.
    pub const ALL: [Self; 4] = [Self::Initial, Self::Rebuttal, Self::Revised, Self::Consensus];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Rebuttal => "rebuttal",
            Self::Revised => "revised",
            Self::Consensus => "consensus",
        }
    }

    /// Reads a name back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| phase.as_str() == name)
    }
}

/// How thoroughly a topic is debated (rule D2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Initial, rebuttal, revised, consensus.
    #[default]
    Strong,
    /// Initial, consensus.
    Weak,
}

impl Mode {
    /// Every mode, the default first.
    pub const ALL: [Self; 2] = [Self::Strong, Self::Weak];

    /// Returns the name used in requests and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
        }
    }

    /// Returns the mode's phases, in order; the consensus is the last.
    #[must_use]
    pub const fn phases(self) -> &'static [Phase] {
        match self {
            Self::Strong => &Phase::ALL,
            Self::Weak => &[Phase::Initial, Phase::Consensus],
        }
    }
}

/// Whether participants of one phase wait for each other (rule D4).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concurrency {
    /// One after another, each hearing those before.
    #[default]
    Sequential,
    /// Side by side, each hearing the phases before.
    Parallel,
}

impl Concurrency {
    /// Every way, the default first.
    pub const ALL: [Self; 2] = [Self::Sequential, Self::Parallel];

    /// Returns the name used in requests.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sequential => "sequential",
            Self::Parallel => "parallel",
        }
    }
}

/// Somebody who speaks: an expert, or the orchestrator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speaker {
    /// The name, unique among participants.
    pub name: Role,
    /// The names of the skills they are given, resolved (rule D8).
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounds::names")]
    pub skills: Vec<String>,
}

/// The rules of one deliberation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// Which phases there are.
    pub mode: Mode,
    /// The most phases that are run, from 1; fewer than the mode has cut the debate short (rule D1).
    #[serde(deserialize_with = "bounds::count")]
    pub max_rounds: u32,
    /// Who speaks, in order; two or more.
    #[serde(deserialize_with = "bounds::list::<_, _, PARTICIPANTS_MAX>")]
    pub participants: Vec<Speaker>,
    /// Who sums up; without one the debate ends before its consensus (rule D2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orchestrator: Option<Speaker>,
    /// The phases in which tools are on (rule D9).
    pub tool_phases: Vec<Phase>,
    /// Whether the provider's own web search is a tool (rule D9).
    pub native_web_search: bool,
    /// Whether participants of one phase wait for each other.
    pub concurrency: Concurrency,
    /// Skills that were asked for and could not be loaded (rule D8).
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounds::names")]
    pub skills_missing: Vec<String>,
    /// Which models are asked: by phase, by speaker.
    #[serde(default, skip_serializing_if = "ModelPlan::is_empty")]
    pub models: ModelPlan,
}

impl Config {
    /// Returns the phases of a debate in which nothing goes wrong, in order (rules D1, D2).
    #[must_use]
    pub fn phases(&self) -> &'static [Phase] {
        let planned = self.phases_of_mode();
        &planned[..planned.len().min(self.max_rounds as usize)]
    }

    /// Returns whether fewer phases are run than there would be.
    #[must_use]
    pub fn is_cut_short(&self) -> bool {
        self.phases().len() < self.phases_of_mode().len()
    }

    fn phases_of_mode(&self) -> &'static [Phase] {
        let phases = self.mode.phases();
        if self.orchestrator.is_some() { phases } else { &phases[..phases.len() - 1] }
    }

    /// Returns the number of a phase, from 1, if it is run.
    #[must_use]
    pub fn number(&self, phase: Phase) -> Option<u32> {
        let place = self.phases().iter().position(|run| *run == phase)?;
        u32::try_from(place + 1).ok()
    }

    /// Returns the phase with a number, from 1.
    #[must_use]
    pub fn phase(&self, number: u32) -> Option<Phase> {
        self.phases().get((number as usize).checked_sub(1)?).copied()
    }

    /// Returns the orchestrator with the number of the consensus, if there is to be one.
    #[must_use]
    pub fn consensus(&self) -> Option<(u32, &Speaker)> {
        Some((self.number(Phase::Consensus)?, self.orchestrator.as_ref()?))
    }

    /// Returns the place of a participant in the order of speaking.
    #[must_use]
    pub fn place(&self, participant: &Role) -> Option<usize> {
        self.participants.iter().position(|speaker| speaker.name == *participant)
    }

    /// Returns whether the provider's own web search is on in a phase (rule D9).
    #[must_use]
    pub fn searches_web(&self, phase: Phase) -> bool {
        self.native_web_search && self.tool_phases.contains(&phase)
    }

    /// Returns every skill that some speaker is given, each once, in the order in which they are first named.
    #[must_use]
    pub fn skills_wanted(&self) -> Vec<&str> {
        let mut wanted: Vec<&str> = Vec::new();
        for name in self.participants.iter().chain(&self.orchestrator).flat_map(|speaker| &speaker.skills) {
            if !wanted.contains(&name.as_str()) {
                wanted.push(name);
            }
        }
        wanted
    }

    /// Returns the calls of a debate in which nothing goes wrong.
    #[must_use]
    pub fn calls_expected(&self) -> u64 {
        let consensus = usize::from(self.consensus().is_some());
        let contributions = (self.phases().len() - consensus) * self.participants.len();
        (contributions + consensus) as u64
    }

    /// Returns what the debate may spend, unless the request says otherwise: enough for every prompt at its longest.
    ///
    /// Without a consensus nothing is kept back for closing.
    #[must_use]
    pub fn limits(&self, deadline_ms: u64) -> Limits {
        let calls = self.calls_expected();
        let closing = match self.consensus() {
            Some(_) => Tokens { input: u64::from(INPUT_TOKENS), output: u64::from(CONSENSUS_OUTPUT_TOKENS) },
            None => Tokens::default(),
        };
        let tokens = Tokens {
            input: calls * u64::from(INPUT_TOKENS),
            output: calls * u64::from(CONTRIBUTION_OUTPUT_TOKENS) + closing.output,
        };
        let limits = Limits::for_calls(calls, tokens, closing, deadline_ms);
        match self.consensus() {
            Some(_) => limits,
            None => Limits { closing_ms: 0, ..limits },
        }
    }
}

/// The subject of a deliberation, in people's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// What is debated.
    pub topic: String,
    /// The skills that could be loaded, each once, in the order in which they were asked for (rule D8).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<LoadedSkill>,
}

/// A skill as its file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedSkill {
    /// The name by which it is asked for.
    #[serde(deserialize_with = "bounds::name")]
    pub name: String,
    /// What it is for, in a line.
    #[serde(default)]
    pub description: String,
    /// What it says.
    pub content: String,
}

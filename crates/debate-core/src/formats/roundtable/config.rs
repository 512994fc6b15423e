//! The rules and the subject of one roundtable, already valid: what the edge makes of a request.

use serde::{Deserialize, Serialize};

use super::agent::Agent;
use super::flags::{Enforcement, Flags};
use super::mode::{Mode, Parallelization, Pattern};
use super::tool::Tool;
use crate::bounds;
use crate::call::{CallKey, Tokens};
use crate::id::Role;
use crate::limits::Limits;
use crate::measures::similarity::Similarity;
use crate::models::ModelPlan;
use crate::request::sizes::PARTICIPANTS_MAX;

/// Rounds unless the request says otherwise.
pub const ROUNDS_DEFAULT: u32 = 3;
/// Wall time unless the request says otherwise, in milliseconds.
pub const DEADLINE_MS_DEFAULT: u64 = 600_000;
/// The fewest agents.
pub const AGENTS_MIN: usize = 2;
/// Input tokens of any prompt; a longer history is shortened, the oldest responses first.
pub const INPUT_TOKENS: u32 = 60_000;
/// Output tokens of a response where agents speak side by side (rule T8).
pub const OUTPUT_TOKENS_PARALLEL: u32 = 4_096;
/// Output tokens of a response where agents wait for each other (rule T8).
pub const OUTPUT_TOKENS_SEQUENTIAL: u32 = 2_048;
/// The kind under which a request names the lighter model of sequential modes (rule T8).
pub const LIGHT: &str = "light";

/// The version of the rules of results that roundtables opened now follow; see [`Config::rules`].
pub const RULES: u32 = 1;
/// The least mean confidence of a decision to proceed, from rules 1 on.
pub const PROCEED_CONFIDENCE_MIN: f64 = 0.5;

/// The rules of one roundtable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// How agents meet.
    pub mode: Mode,
    /// Who sits at the table, in the order of speaking; two or more.
    #[serde(deserialize_with = "bounds::list::<_, _, PARTICIPANTS_MAX>")]
    pub agents: Vec<Agent>,
    /// The most rounds, from 1.
    #[serde(deserialize_with = "bounds::count")]
    pub rounds: u32,
    /// The flags, each with where it came from (rule T9).
    pub flags: Flags,
    /// What shortens sequential modes (rule T8).
    #[serde(default, skip_serializing_if = "Haste::is_none")]
    pub sequential: Haste,
    /// By what positions are compared (rule T5).
    pub similarity: Similarity,
    /// Whether the provider's own web search is a tool (rule D9).
    pub native_web_search: bool,
    /// The tools that agents may ask for, run by the process that runs the debate (rule T4).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// The tools that the request names and that this process cannot run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_missing: Vec<Tool>,
    /// Which models are asked: by kind of question, by agent.
    #[serde(default, skip_serializing_if = "ModelPlan::is_empty")]
    pub models: ModelPlan,
    /// The version of the rules by which the log folds into a result, so that an older log keeps its outcome.
    ///
    /// 0 is what logs without a version mean. From 1 on, equal answers are recorded and speak against proceeding
    /// (rule P27), and so does a mean confidence below [`PROCEED_CONFIDENCE_MIN`].
    #[serde(default, skip_serializing_if = "bounds::is_zero")]
    pub rules: u32,
}

impl Config {
    /// Leaves out all tools, which cannot be run here; results say so. Returns their names.
    pub fn lose_tools(&mut self) -> Vec<&'static str> {
        self.tools_missing.append(&mut self.tools);
        self.tools_missing.iter().map(|tool| tool.as_str()).collect()
    }
}

/// What shortens modes in which agents wait for each other (rule T8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Haste {
    /// Whether the lighter model is asked, where one is named.
    #[serde(default)]
    pub use_light_model: bool,
    /// Output tokens of a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Whether a tool that was asked the same before answers by what it said then; so unless somebody says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_tool_results: Option<bool>,
}

impl Haste {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// How tools may be used in one response (rule T4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPolicy {
    /// The fewest calls that are asked for.
    pub min_calls: u32,
    /// The most calls, 1 or more.
    pub max_calls: u32,
    /// How strictly they are asked for.
    pub level: Enforcement,
    /// The guidance on it that agents are shown.
    pub guidance: &'static str,
}

impl Config {
    /// Returns whether equal answers and a low confidence speak against proceeding.
    #[must_use]
    pub fn has_revised_rules(&self) -> bool {
        self.rules >= 1
    }

    /// Returns how much of a round runs side by side (rule T4).
    #[must_use]
    pub fn parallelization(&self) -> Parallelization {
        self.flags.parallelization(self.mode)
    }

    /// Returns whether agents of a round can hear each other, as rounds are really run.
    #[must_use]
    pub fn pattern(&self) -> Pattern {
        self.flags.pattern(self.mode)
    }

    /// Returns how tools may be used; none if there are none, none may be called, or tools are disabled (rule
    /// T4).
    #[must_use]
    pub fn tool_policy(&self) -> Option<ToolPolicy> {
        let max_calls = self.flags.tool_calls_max(self.mode);
        let policy = ToolPolicy {
            min_calls: self.flags.tool_calls_min(self.mode),
            max_calls,
            level: self.flags.tools_level.value,
            guidance: match self.pattern() {
                Pattern::Parallel => "Use tools freely to gather comprehensive evidence.",
                Pattern::Sequential if max_calls <= Pattern::Sequential.tool_calls_max() => {
                    "Leverage previous responses; limit to 1-2 essential tool calls."
                }
                Pattern::Sequential => "Leverage previous responses.",
            },
        };
        let has_tools = self.native_web_search || !self.tools.is_empty();
        (has_tools && self.flags.tools_enabled.value && max_calls > 0).then_some(policy)
    }

    /// Returns how often one response may ask for tools that are run here; 0 where there are none.
    #[must_use]
    pub fn tool_calls_max(&self) -> u32 {
        self.tool_policy().filter(|_| !self.tools.is_empty()).map_or(0, |policy| policy.max_calls)
    }

    /// Returns whether equal questions to a tool are answered once for all (rule T8).
    #[must_use]
    pub fn shares_tools(&self) -> bool {
        match self.pattern() {
            Pattern::Parallel => true,
            Pattern::Sequential => self.sequential.cache_tool_results.unwrap_or(true),
        }
    }

    /// Returns the output tokens of a response (rule T8).
    #[must_use]
    pub fn output_tokens(&self) -> u32 {
        match self.pattern() {
            Pattern::Parallel => OUTPUT_TOKENS_PARALLEL,
            Pattern::Sequential => self.sequential.max_tokens.unwrap_or(OUTPUT_TOKENS_SEQUENTIAL),
        }
    }

    /// Returns the models that a call is put to (rule T8): an agent's own, else the lighter one where it is wanted.
    #[must_use]
    pub fn models(&self, call: &CallKey) -> &[String] {
        let is_light = self.sequential.use_light_model && self.pattern() == Pattern::Sequential;
        let kind = if is_light && self.models.purposes.contains_key(LIGHT) { LIGHT } else { &*call.kind };
        self.models.of(kind, Some(&call.role))
    }

    /// Returns an agent by its name.
    #[must_use]
    pub fn agent(&self, name: &Role) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == *name)
    }

    /// Returns the place of an agent in the order of speaking, from 0.
    #[must_use]
    pub fn place(&self, name: &Role) -> Option<usize> {
        self.agents.iter().position(|agent| agent.name == *name)
    }

    /// Returns whether an agent hears those of its own round that speak before it.
    #[must_use]
    pub fn hears_its_round(&self, name: &Role) -> bool {
        match self.parallelization() {
            Parallelization::None => true,
            Parallelization::LastOnly => self.agents.last().is_some_and(|last| last.name == *name),
            Parallelization::Full => false,
        }
    }

    /// Returns the calls of a debate in which nothing goes wrong and no exit rule ends it.
    #[must_use]
    pub fn calls_expected(&self) -> u64 {
        u64::from(self.rounds) * self.agents.len() as u64
    }

    /// Returns what the debate may spend, unless the request says otherwise: enough for every prompt at its longest, and
    /// for a turn of its own for every use of a tool.
    ///
    /// Nothing is asked to close a roundtable, so nothing is kept back for it.
    #[must_use]
    pub fn limits(&self, deadline_ms: u64) -> Limits {
        let calls = self.calls_expected() * u64::from(1 + self.tool_calls_max());
        let tokens = Tokens { input: u64::from(INPUT_TOKENS), output: u64::from(self.output_tokens()) };
        let limits = Limits::for_calls(calls, tokens.times(calls), Tokens::default(), deadline_ms);
        Limits { closing_ms: 0, ..limits }
    }
}

/// The subject of a roundtable, in people's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brief {
    /// What is debated.
    pub topic: String,
}

//! The result of a roundtable, in four layers (rule T10): decision, agent responses, evidence, metadata.

use serde::Serialize;

use super::agent::{Part, Stance};
use super::call::Kind;
use super::fact::{Sign, is_zero};
use super::flags::{Action, FlagEntry};
use super::mode::{Mode, Parallelization, Pattern};
use crate::call::Tokens;
use crate::event::WebSource;
use crate::id::{DebateId, Role};
use crate::measures::similarity::Similarity;
use crate::spend::Cost;
use crate::stop::Completeness;

/// The result of a roundtable.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundtableResult {
    /// The debate, a UUID v4.
    pub debate_id: DebateId,
    /// What was debated.
    pub topic: String,
    /// How.
    pub mode: Mode,
    /// When the outcome was reached, ISO 8601 in UTC; empty while the debate runs.
    pub completed_at: String,
    /// First layer: what it came to, and what to do with that.
    pub decision: Decision,
    /// Second layer: where each agent stands, in the table's order; who never spoke is left out.
    pub agent_responses: Vec<AgentResponse>,
    /// Third layer: what the decision rests on.
    pub evidence: Evidence,
    /// Fourth layer: how it was reached.
    pub metadata: Metadata,
    /// Whether anything is missing (rule K6).
    pub completeness: Completeness,
    /// Why it stopped (rule K7); empty while it runs.
    pub stop_reason: String,
    /// Whether any reply came from a simulated model.
    pub simulated: bool,
    /// Whether every request's token usage is known.
    pub usage_complete: bool,
    /// Tokens of thinking among those written: what providers reported, and the room for it where one reported nothing
    /// (rule P23).
    #[serde(skip_serializing_if = "crate::spend::is_zero")]
    pub thinking_tokens: u64,
    /// What it cost, as far as models have prices (rule K8); absent if the cost is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Models that were asked and have no price, where others have one (rule K8).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unpriced_models: Vec<String>,
    /// Whether prose of this debate was deleted.
    pub redacted: bool,
}

/// What the agents came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decision {
    /// How far they agree, in a word.
    pub consensus: Consensus,
    /// How far they agree, in [0, 1].
    pub agreement_level: f64,
    /// What to do with it.
    pub action: NextStep,
    /// The position of the largest camp, in the words of its first member; null if no agent spoke.
    pub position: Option<String>,
    /// Who is in that camp, in the table's order.
    pub supporters: Vec<Role>,
    /// Who is in another one, in the table's order.
    pub dissenters: Vec<Role>,
    /// Who said nothing in the round that it stands on, and is in none (rule K6).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Role>,
    /// The mean of where everybody stands, in [0, 1].
    pub confidence: f64,
    /// What speaks against trusting the decision, one line each.
    pub cautions: Vec<String>,
}

/// How far agents agree, in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Consensus {
    /// The level is at least [`Consensus::HIGH_MIN`].
    High,
    /// The level is at least [`Consensus::MEDIUM_MIN`].
    Medium,
    /// The level is below that.
    Low,
}

impl Consensus {
    /// The least level of a high consensus.
    pub const HIGH_MIN: f64 = 0.7;
    /// The least level of a medium consensus.
    pub const MEDIUM_MIN: f64 = 0.4;

    /// Returns the name used in results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// What to do with a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NextStep {
    /// Act on it.
    Proceed,
    /// Check it first.
    Verify,
    /// Look at who holds what and why.
    QueryDetail,
}

impl NextStep {
    /// Returns the name used in results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proceed => "proceed",
            Self::Verify => "verify",
            Self::QueryDetail => "query_detail",
        }
    }
}

/// Where one agent stands in the end.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AgentResponse {
    /// Who.
    pub agent: Role,
    /// The part it plays, or the perspective it speaks from (rule T7); null where its mode has none.
    pub role: Option<&'static str>,
    /// The name under which others saw it, where names were hidden; else null.
    pub shown_as: Option<String>,
    /// The last round in which it spoke.
    pub round: u32,
    /// What it said there.
    #[serde(flatten)]
    pub response: ResponseEntry,
}

/// One response.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ResponseEntry {
    /// `respond`, or `repoll` where it was asked again without seeing anybody (rule T6).
    pub kind: Kind,
    /// The stance that counts; null where none is taken.
    pub stance: Option<Stance>,
    /// Whether that is not the stance it gave (rule T3).
    pub stance_forced: bool,
    /// The stance it gave where another one is forced; null where it gave none.
    pub stated_stance: Option<Stance>,
    /// The position.
    pub position: String,
    /// The reasons.
    pub reasoning: String,
    /// How sure it is, in [0, 1].
    pub confidence: f64,
    /// The sources it names.
    pub citations: Vec<String>,
    /// The other agents it refers to by name.
    pub refers_to: Vec<Role>,
}

/// What a decision rests on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// What was said and what it came to, by round.
    pub rounds: Vec<RoundEntry>,
    /// Whether the agents agreed too easily (rule T6); null if this was not checked, or only in shadow.
    pub groupthink: Option<GroupthinkWarning>,
    /// How agents dealt with each other (rule T11).
    pub interaction: Interaction,
    /// The first round after which no agent moved; null if one moved until the end.
    pub convergence_round: Option<u32>,
    /// Every source that was named, once each, in the order of first mention.
    pub citations: Vec<CitationEntry>,
    /// How many sources were named, known even where their words are gone.
    pub citation_count: u32,
    /// How many of these tools had found for the agent by then, or for anybody in an earlier round (rule T10).
    #[serde(skip_serializing_if = "is_zero")]
    pub citations_found: u32,
    /// What tools were asked, by round (rule T4); absent where they were asked nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_runs: Vec<ToolRunEntry>,
    /// The pages that providers' own searches brought, by response (rule D9); absent where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub web_sources: Vec<WebSourceEntry>,
}

/// A page that a provider's own search brought for one response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WebSourceEntry {
    /// Who was answering.
    pub agent: Role,
    /// In which round.
    pub round: u32,
    /// Which question.
    pub kind: Kind,
    /// The page, with what is cited of it.
    #[serde(flatten)]
    pub page: WebSource,
}

/// One use of a tool; what it found is in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolRunEntry {
    /// Who asked.
    pub agent: Role,
    /// In which round.
    pub round: u32,
    /// For which question.
    pub kind: Kind,
    /// Which tool.
    pub tool: String,
    /// What it was asked, as JSON.
    pub arguments: String,
    /// Whether it did what it was asked.
    pub ok: bool,
    /// Wall time in milliseconds; 0 where it did not run again.
    pub latency_ms: u64,
    /// Who had asked the same before, where the answer given then served again (rule T8).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reused_from: Option<Reused>,
    /// Why it failed, where it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Where an answer of a tool came from that served again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reused {
    /// Who had asked.
    pub agent: Role,
    /// In which round.
    pub round: u32,
}

/// One round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoundEntry {
    /// Its number, from 1.
    pub round: u32,
    /// The question it was added to deal with; absent where there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub focus: Option<String>,
    /// What was said, each with who said it: answers when asked again behind the others.
    pub responses: Vec<SpokenEntry>,
    /// What it came to: by the answers, and by those when asked again.
    pub judgements: Vec<JudgementEntry>,
}

/// What one agent said in a round.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SpokenEntry {
    /// Who.
    pub agent: Role,
    /// What.
    #[serde(flatten)]
    pub response: ResponseEntry,
}

/// What the answers of a round came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgementEntry {
    /// Which answers.
    pub kind: Kind,
    /// The level of agreement, in [0, 1] (rule T5).
    pub agreement_level: f64,
    /// The agents by camp.
    pub camps: Vec<Vec<Role>>,
    /// The mean overlap of words of all pairs of positions, in [0, 1].
    pub overlap: f64,
    /// Agents whose position is the one of the round before.
    pub steady: Vec<Role>,
    /// Signs of agreeing too easily; null if they were not looked for.
    pub groupthink_signs: Option<Vec<Sign>>,
}

/// Whether agents agreed too easily.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GroupthinkWarning {
    /// Whether they did in any round, by what they said at first.
    pub detected: bool,
    /// The rounds in which they did.
    pub rounds: Vec<u32>,
    /// The signs of those rounds, in words.
    pub indicators: Vec<String>,
    /// What to do about it; empty where nothing was detected.
    pub recommendation: String,
    /// What was done about it.
    pub action: Action,
    /// Whether the signs were still there when all were asked once more, blind; null if they were not.
    pub after_repoll: Option<bool>,
}

/// How agents dealt with each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Interaction {
    /// Responses that refer to others.
    pub cross_references: u32,
    /// The longest run of rounds with such responses.
    pub rebuttal_depth: u32,
    /// Questions of one round that somebody else took up in the next.
    pub question_response_pairs: u32,
}

/// A source with who named it first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CitationEntry {
    /// The source, as named.
    pub source: String,
    /// Who named it.
    pub agent: Role,
    /// In which round.
    pub round: u32,
}

/// How a result was reached.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metadata {
    /// Rounds in which somebody spoke.
    pub rounds_held: u32,
    /// Rounds that were allowed.
    pub rounds_max: u32,
    /// Whether agents of a round hear each other, as the mode means it; how rounds were run is in
    /// [`Metadata::parallelization`].
    pub execution_pattern: Pattern,
    /// How much of a round ran side by side (rule T4).
    pub parallelization: Parallelization,
    /// By what positions were compared (rule T5).
    pub similarity: Similarity,
    /// The rule that ended it, with its numbers (rule K7); null while it runs.
    pub exit: Option<ExitEntry>,
    /// Rules that would have ended it, in shadow.
    pub shadow_exits: Vec<ExitEntry>,
    /// Every flag as it was in force, with where it came from (rule T9).
    pub flags: Vec<FlagEntry>,
    /// Tokens that providers reported; see [`RoundtableResult::usage_complete`].
    pub tokens: Tokens,
    /// Requests sent to models, every cause counted.
    pub calls: u64,
    /// From opening to outcome, in milliseconds.
    pub wall_clock_time_ms: u64,
    /// The models asked, joined by a comma.
    pub model: String,
}

/// A rule that ended a roundtable, or would have.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExitEntry {
    /// Which rule.
    pub reason: &'static str,
    /// In words.
    pub details: String,
    /// What it measured.
    pub statistic: f64,
    /// What it measured it against.
    pub threshold: f64,
}

/// Returns the name of a part.
pub(super) fn role(part: Option<Part>) -> Option<&'static str> {
    part.map(Part::as_str)
}

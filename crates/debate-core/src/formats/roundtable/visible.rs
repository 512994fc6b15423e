//! What one call of a roundtable may see. A prompt is rendered from this and cannot show more.

use super::agent::{Part, Stance};
use super::call::Kind;
use super::config::{Brief, ToolPolicy};
use super::mode::{Mode, Pattern};
use super::tool::Tool;
use crate::id::Timestamp;
use crate::prose::Prose;

/// What one call may see.
#[derive(Debug, Clone)]
pub struct Visible {
    /// The subject in people's words.
    pub brief: Prose<Brief>,
    /// What the round is to deal with in addition to the topic, if it was added with a question of its own
    /// (rule K17).
    pub focus: Option<Prose<String>>,
    /// The mode.
    pub mode: Mode,
    /// How a round is run, as far as it matters to who speaks in it.
    pub pattern: Pattern,
    /// Which of the two questions this is.
    pub kind: Kind,
    /// The round, from 1.
    pub round: u32,
    /// How many rounds there are at most.
    pub rounds_max: u32,
    /// The part that the agent plays.
    pub part: Option<Part>,
    /// How tools may be used; none where there are none.
    pub policy: Option<ToolPolicy>,
    /// The tools that may be asked for, run by the process that runs the debate.
    pub tools: Vec<Tool>,
    /// How often they may still be asked for in this response.
    pub tool_calls_left: u32,
    /// Whether the provider's own web search may be used (rule D9).
    pub native_web_search: bool,
    /// Output tokens of the reply, at most.
    pub output_tokens: u32,
    /// Who speaks and what has been said, as the mode lets it be seen.
    pub context: Context,
    /// Why the answer before was rejected, where one was.
    pub rejection: Prose<String>,
    /// The moment whose day prompts state (rule K19).
    pub as_of: Timestamp,
    /// The language of answers, a BCP 47 tag; that of the topic where it is absent.
    pub language: Option<String>,
}

/// Who speaks and what has been said: what processors change (rule T2).
#[derive(Debug, Clone, PartialEq)]
pub struct Context {
    /// The name of the one who speaks.
    pub name: String,
    /// What has been said, oldest first.
    pub responses: Vec<Shown>,
    /// The statistics of the round before, where the mode shows them.
    pub statistics: Option<Statistics>,
}

/// A response as others see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// The round.
    pub round: u32,
    /// Which question it answers.
    pub kind: Kind,
    /// The name of the one who gave it.
    pub name: String,
    /// Whether that is the one who is to speak.
    pub is_own: bool,
    /// The part that its agent plays.
    pub part: Option<Part>,
    /// The stance it takes.
    pub stance: Option<Stance>,
    /// The confidence, in [0, 1].
    pub confidence: f64,
    /// The words, unless they were redacted.
    pub words: Option<Words>,
}

/// The words of a response as others see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The position in a sentence or two.
    pub position: String,
    /// The reasons for it.
    pub reasoning: String,
}

/// What a round came to, in numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// The round.
    pub round: u32,
    /// How many responses there were.
    pub responses: usize,
    /// The mean of their confidences.
    pub mean_confidence: f64,
    /// The population standard deviation of their confidences.
    pub confidence_sd: f64,
    /// The smallest and the largest of their confidences.
    pub confidence_range: (f64, f64),
    /// How many agents took each stance, in the stances' order; stances that no agent took are left out.
    pub stances: Vec<(Stance, usize)>,
    /// How many camps there are, by the words of their positions.
    pub camps: usize,
    /// The level of agreement, in [0, 1].
    pub agreement: f64,
}

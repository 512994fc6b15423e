//! The port between a format and the words that models are given: render what a call may see, read what comes
//! back. One implementation per format; everything in it is pure.

use std::sync::Arc;

pub use debate_core::call::CUT;
use debate_core::call::Want;
use debate_core::calls::TurnState;
use debate_core::event::ToolUse;
use debate_core::format::Format;

use crate::room::Room;

/// Who speaks a message of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// Standing instructions.
    System,
    /// The question.
    User,
    /// What the model said in an earlier turn.
    Assistant,
}

impl Speaker {
    /// Returns the name used on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub speaker: Speaker,
    /// The words.
    pub text: Arc<str>,
}

/// The shape that a reply must have.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyShape {
    /// Its name, such as `argument`.
    pub name: &'static str,
    /// A JSON schema in the subset that providers share.
    pub schema: Arc<serde_json::Value>,
}

/// What of a streamed reply may be shown live (rule K10).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicPart {
    /// The text of one top-level string field of a JSON reply.
    Field(&'static str),
    /// The whole reply, hidden thinking aside.
    Whole,
    /// Nothing.
    Nothing,
}

/// A request to a model, ready to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The template's name and version, such as `prediction/argue@1`.
    pub version: &'static str,
    /// The messages, in order.
    pub messages: Vec<Message>,
    /// The shape of the reply; none for free text.
    pub shape: Option<ReplyShape>,
    /// The most tokens of the reply.
    pub output_tokens_max: u32,
    /// Input tokens, counted.
    pub tokens: u32,
    /// Parts that did not fit the budget, one line each (rule P15).
    pub omitted: Vec<String>,
    /// What of the reply may be shown live.
    pub public: PublicPart,
    /// Whether the provider's own web search may be used (rule D9).
    pub web_search: bool,
    /// How often it may search for the answer, where somebody says so; providers that take no bound are not bounded.
    pub web_searches_max: Option<u32>,
}

/// A prompt cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The smallest form of the prompt is over its budget (rule P15).
    #[error("{version} takes at least {tokens} tokens; {budget} are allowed")]
    OverBudget {
        /// The template.
        version: &'static str,
        /// What its smallest form takes.
        tokens: u32,
        /// What is allowed.
        budget: u32,
    },
    /// The smallest form of the prompt and of its answer is larger than the model's context window.
    #[error(
        "{version} takes at least {tokens} tokens and its answer {answer}; the model's context window has {window}"
    )]
    OverWindow {
        /// The template.
        version: &'static str,
        /// What its smallest form takes.
        tokens: u32,
        /// What its answer takes at least.
        answer: u32,
        /// The tokens of the window.
        window: u32,
    },
    /// Text that it needs was redacted.
    #[error("{version} needs text that was redacted")]
    Redacted {
        /// The template.
        version: &'static str,
    },
    /// The template is broken: a defect of this program.
    #[error("template {version} does not render: {why}")]
    Template {
        /// The template.
        version: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

/// The text of a reply as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received<'a> {
    /// The text.
    pub text: &'a str,
    /// Whether it is incomplete: the output limit cut it, or it ended before its end.
    pub is_cut: bool,
    /// Whether the question is not asked again, so that free text is used although it was cut (rule K18).
    pub is_last: bool,
}

impl<'a> Received<'a> {
    /// A reply that its model finished.
    #[must_use]
    pub const fn whole(text: &'a str) -> Self {
        Self { text, is_cut: false, is_last: false }
    }

    /// A reply whose end is missing.
    #[must_use]
    pub const fn cut(text: &'a str) -> Self {
        Self { text, is_cut: true, is_last: false }
    }

    /// The same reply to the last attempt at its question.
    #[must_use]
    pub const fn last(self) -> Self {
        Self { is_last: true, ..self }
    }

    /// Returns the repairs of an answer in free text.
    ///
    /// # Errors
    /// The text was cut, and the question can be asked again.
    pub(crate) fn free_text_repairs(self) -> Result<Vec<String>, ParseError> {
        match (self.is_cut, self.is_last) {
            (false, _) => Ok(Vec::new()),
            (true, true) => Ok(vec![CUT.to_owned()]),
            (true, false) => {
                Err(ParseError { why: "the reply reached its limit; write a shorter one".to_owned() })
            }
        }
    }
}

/// A reply, read.
#[derive(Debug, Clone, PartialEq)]
pub enum Reading<Answer> {
    /// It answers the question.
    Answer {
        /// The answer.
        answer: Answer,
        /// What had to be mended, one word each.
        repairs: Vec<String>,
    },
    /// It asks for tools first.
    Tools(Vec<(ToolUse, String)>),
}

/// A reply that does not have the shape asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct ParseError {
    /// What is wrong, for people and for the one who is asked again.
    pub why: String,
}

/// A prompt that cannot be made again cannot be compared with its reply either.
impl From<RenderError> for ParseError {
    fn from(error: RenderError) -> Self {
        Self { why: error.to_string() }
    }
}

/// The words of one format.
pub trait Prompts: Send + Sync + 'static {
    /// The format.
    type Format: Format;

    /// Makes the prompt for one turn of a call: `turns` are the earlier ones, which asked for tools.
    ///
    /// # Errors
    /// The prompt does not fit its budget, or needs text that is gone.
    fn render(
        &self,
        visible: &<Self::Format as Format>::Visible,
        want: &Want,
        turns: &[TurnState],
    ) -> Result<Prompt, RenderError> {
        self.render_within(visible, want, turns, Room::default())
    }

    /// Makes the prompt as [`Prompts::render`] does, within the room that its model's context window leaves.
    ///
    /// The same room gives the same prompt; without limits it is the one of [`Prompts::render`].
    ///
    /// # Errors
    /// The prompt does not fit its budget or its room, or needs text that is gone.
    fn render_within(
        &self,
        visible: &<Self::Format as Format>::Visible,
        want: &Want,
        turns: &[TurnState],
        room: Room,
    ) -> Result<Prompt, RenderError>;

    /// Reads a reply to a prompt that was rendered from the same `visible`.
    ///
    /// Of a reply that was cut only values that are written completely are taken; it answers the question where all that
    /// is needed is among them, with the repair [`CUT`] (rule K18). Free text that was cut answers the last attempt alone.
    ///
    /// # Errors
    /// The reply does not have the shape asked for.
    fn parse(
        &self,
        visible: &<Self::Format as Format>::Visible,
        want: &Want,
        reply: Received<'_>,
    ) -> Result<Reading<<Self::Format as Format>::Answer>, ParseError>;
}

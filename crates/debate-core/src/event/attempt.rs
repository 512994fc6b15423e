//! Events of calls: requests, turns, tools, answers, failures (rules K2, K3, K5).

use serde::{Deserialize, Serialize};

use crate::body;
use crate::bounds;
use crate::call::{CallKey, Cause, Ended, InputRef, Reserved, Thinking, Usage, Want};
use crate::id::Digest;
use crate::prose::Prose;

/// Which prompt was sent: enough to render it again and to see that it is the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptRef {
    /// The template's name and version, such as `prediction/argue@1`.
    pub version: String,
    /// The digest of the request's messages.
    pub digest: Digest,
    /// Input tokens, as counted before sending.
    pub tokens: u32,
    /// Parts of the material that did not fit the token budget (rule P15).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub omitted: Vec<String>,
    /// The input tokens that its model's context window left to it; none where it was not shortened for a window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_max: Option<u32>,
    /// The tokens of the visible answer that the window left; none where it left all that are allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_max: Option<u32>,
}

/// A request is about to leave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallStarted {
    /// The question.
    pub call: CallKey,
    /// Its revision, from 0.
    pub revision: u32,
    /// The attempt at this revision, from 1.
    pub attempt: u32,
    /// The turn of the conversation with tools, from 1.
    pub turn: u32,
    /// Why it is asked.
    pub cause: Cause,
    /// The model asked, as `provider:name`.
    pub model: String,
    /// The answers it is shown, in the order shown.
    pub sees: Vec<InputRef>,
    /// The prompt.
    pub prompt: PromptRef,
    /// What was set aside for it (rule K8).
    pub reserved: Reserved,
    /// What of it is left to thinking (rule P23).
    #[serde(default, skip_serializing_if = "Thinking::is_unset")]
    pub thinking: Thinking,
}
body!(CallStarted, "call_started");

/// Names one attempt at one turn of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptRef {
    /// The question.
    pub call: CallKey,
    /// Its revision, from 0.
    pub revision: u32,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The turn, from 1.
    pub turn: u32,
}

impl AttemptRef {
    /// Returns the question and revision that this attempt is at.
    #[must_use]
    pub fn want(&self) -> Want {
        Want { call: self.call.clone(), revision: self.revision }
    }
}

/// What a reply has in addition to its text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyFacts {
    /// What the provider charged for.
    pub usage: Usage,
    /// What it charged, in millionths of a US dollar; none where the usage is not known or the model has no price
    /// (rule K8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// From sending to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// Requests repeated on the wire before an answer began (rule K5).
    #[serde(default)]
    pub wire_retries: u32,
    /// How often the provider used tools of its own, such as its web search (rule D9).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub provider_tool_runs: u32,
    /// How many pages that search brought, as far as the provider tells; they stand with the reply's words.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub web_sources: u32,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The digest of the reply's text.
    pub digest: Digest,
    /// How the answer ended (rule K18); logs did not always say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// The provider's word for how it ended, at most 64 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// What the lenient reader mended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
    /// Whether it had begun to come when its attempt failed on the wire.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begun: bool,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// The words of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyProse {
    /// The reply, raw.
    pub text: String,
    /// Thinking that the provider sent apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// The pages that the provider's own web search brought, each once (rule D9).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub web_sources: Vec<WebSource>,
}

/// A page that a provider's own web search brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebSource {
    /// Its address.
    pub url: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What is cited of it or rests on it, as the provider tells it; none where it was only found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cited_text: Option<String>,
}

/// A tool that a model asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool's name: 1 to 64 letters, digits, `_`, `-` or `.`, all ASCII.
    #[serde(deserialize_with = "bounds::name")]
    pub tool: String,
    /// The provider's id of this use.
    pub id: String,
}

/// A model asked for tools instead of answering.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnAnswered {
    /// Which attempt and turn.
    #[serde(flatten)]
    pub attempt: AttemptRef,
    /// The tools asked for, in order.
    pub tools: Vec<ToolUse>,
    /// What came with the reply.
    #[serde(flatten)]
    pub reply: ReplyFacts,
    /// The reply and the arguments of the tools.
    #[serde(skip)]
    pub prose: Prose<TurnProse>,
}
body!(TurnAnswered, "turn_answered", prose: TurnProse);

/// The words of a turn that asks for tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnProse {
    /// The reply.
    #[serde(flatten)]
    pub reply: ReplyProse,
    /// The arguments of each tool use as JSON, in order.
    pub arguments: Vec<String>,
}

/// A tool is about to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolStarted {
    /// The question.
    pub call: CallKey,
    /// Its revision.
    pub revision: u32,
    /// The turn that asked.
    pub turn: u32,
    /// Which tool use of that turn, from 0.
    pub index: u32,
    /// The run of this tool use, from 1.
    pub attempt: u32,
    /// Why it runs.
    pub cause: Cause,
}
body!(ToolStarted, "tool_started");

/// Names one use of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolRef {
    /// The question.
    pub call: CallKey,
    /// Its revision.
    pub revision: u32,
    /// The turn that asked.
    pub turn: u32,
    /// Which tool use of that turn, from 0.
    pub index: u32,
}

/// A tool answered, or failed for good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolAnswered {
    /// The question.
    pub call: CallKey,
    /// Its revision.
    pub revision: u32,
    /// The turn that asked.
    pub turn: u32,
    /// Which tool use of that turn, from 0.
    pub index: u32,
    /// Whether the tool did what it was asked.
    pub ok: bool,
    /// Wall time in milliseconds.
    pub latency_ms: u64,
    /// The equal use whose answer this is, where the tool did not run again (rule T8).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reused: Option<ToolRef>,
    /// What it said.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(ToolAnswered, "tool_answered", prose: String);

/// A model answered, readably. What the answer means follows as facts of the format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallAnswered {
    /// Which attempt and turn.
    #[serde(flatten)]
    pub attempt: AttemptRef,
    /// What came with the reply.
    #[serde(flatten)]
    pub reply: ReplyFacts,
    /// The reply, raw.
    #[serde(skip)]
    pub prose: Prose<ReplyProse>,
}
body!(CallAnswered, "call_answered", prose: ReplyProse);

/// Why an attempt brought nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// The reply is not of the shape asked for.
    Unreadable,
    /// The reply is readable and cannot be used at all, such as probabilities that sum to 0.
    Unusable,
    /// The model declined.
    Refused,
    /// The reply stopped in the middle.
    Truncated,
    /// No reply in time.
    Timeout,
    /// The provider is limiting the rate, or has no capacity.
    Overloaded,
    /// The provider failed, or the connection did.
    Unavailable,
    /// The provider will never accept this request: key, model, quota or shape.
    Denied,
    /// The call was begun as often as is allowed; nothing was sent.
    StartsExhausted,
    /// Not even the reserve for closing is left; nothing was sent.
    BudgetExhausted,
}

impl FailureKind {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Unusable => "unusable",
            Self::Refused => "refused",
            Self::Truncated => "truncated",
            Self::Timeout => "timeout",
            Self::Overloaded => "overloaded",
            Self::Unavailable => "unavailable",
            Self::Denied => "denied",
            Self::StartsExhausted => "starts_exhausted",
            Self::BudgetExhausted => "budget_exhausted",
        }
    }

    /// Returns whether a provider may charge for an attempt that failed so, though no reply had begun.
    #[must_use]
    const fn may_be_charged(self) -> bool {
        match self {
            Self::Unreadable | Self::Unusable | Self::Refused | Self::Truncated | Self::Timeout => true,
            Self::Overloaded
            | Self::Unavailable
            | Self::Denied
            | Self::StartsExhausted
            | Self::BudgetExhausted => false,
        }
    }

    /// Returns whether another model is to be asked next: this one cannot be had, or does not want to.
    #[must_use]
    pub const fn moves_on(self) -> bool {
        match self {
            Self::Refused | Self::Timeout | Self::Overloaded | Self::Unavailable | Self::Denied => true,
            Self::Unreadable
            | Self::Unusable
            | Self::Truncated
            | Self::StartsExhausted
            | Self::BudgetExhausted => false,
        }
    }

    /// Returns whether an answer came whose fault its author can mend, so that it is asked again with the reason.
    #[must_use]
    pub const fn says_why(self) -> bool {
        matches!(self, Self::Unreadable | Self::Unusable | Self::Truncated)
    }

    /// Returns whether nothing was sent at all.
    #[must_use]
    pub const fn is_never_sent(self) -> bool {
        matches!(self, Self::StartsExhausted | Self::BudgetExhausted)
    }
}

/// An attempt brought nothing that can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptFailed {
    /// Which attempt and turn.
    #[serde(flatten)]
    pub attempt: AttemptRef,
    /// What went wrong.
    pub failure: FailureKind,
    /// Whether the question has failed for good.
    pub last: bool,
    /// What came with the reply, as far as there was one.
    #[serde(flatten)]
    pub reply: ReplyFacts,
    /// The error for people, and the reply as far as it came.
    #[serde(skip)]
    pub prose: Prose<FailureProse>,
}
body!(AttemptFailed, "attempt_failed", prose: FailureProse);

impl AttemptFailed {
    /// Returns whether the provider may charge for it (rule K8).
    #[must_use]
    pub const fn may_be_charged(&self) -> bool {
        self.reply.begun || self.failure.may_be_charged()
    }
}

/// The words of a failed attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureProse {
    /// What went wrong, for people. Never holds keys.
    pub message: String,
    /// The reply as far as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Why an attempt was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AbandonReason {
    /// The state no longer asks for it.
    Unwanted,
    /// The debate was stopped.
    Stopped,
    /// Another attempt answered first.
    Outrun,
}

/// An attempt was given up before it answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptAbandoned {
    /// Which attempt and turn.
    #[serde(flatten)]
    pub attempt: AttemptRef,
    /// Why.
    pub reason: AbandonReason,
}
body!(AttemptAbandoned, "attempt_abandoned");

/// A readable answer broke a rule and is asked for again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerRejected {
    /// The question.
    pub call: CallKey,
    /// The revision that was rejected; the next one is asked for.
    pub revision: u32,
    /// The rules it broke, such as `P6`.
    pub rules: Vec<String>,
    /// The reason, as shown to the role that is asked again.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(AnswerRejected, "answer_rejected", prose: String);

/// What a call was built on has changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallVoided {
    /// The question.
    pub call: CallKey,
    /// The revision that is void; the next one is asked for.
    pub revision: u32,
    /// The answers it would see now.
    pub sees: Vec<InputRef>,
}
body!(CallVoided, "call_voided");

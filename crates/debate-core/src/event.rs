//! What can have happened in a debate. The log holds these and nothing else; state is their fold (rule K1).
//!
//! The kernel's own events are [`KernelEvent`]; what a format adds is its [`Format::Fact`]. An event, once
//! written, is never edited: a new shape gets a new version.

use serde::{Deserialize, Serialize};

use crate::call::{CallKey, Cause, Sight, Tokens, Usage, Want};
use crate::format::Format;
use crate::id::{DebateId, Digest, OutcomeId, Seq, Timestamp};
use crate::limits::Limits;
use crate::prose::Prose;
use crate::record::{self, Body, Record, RecordError};
use crate::stop::{Completeness, StopRule};
use crate::{body, records};

/// One event of a debate of format `F`.
#[derive(Debug, Clone, PartialEq)]
pub enum Event<F: Format> {
    /// The debate began.
    Opened(Opened<F>),
    /// Something that every format shares.
    Kernel(KernelEvent),
    /// Something that only this format knows.
    Fact(F::Fact),
}

/// The first event: what is asked, by which rules, within which limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct Opened<F: Format> {
    /// The format's name, such as `prediction`.
    pub format: String,
    /// Which debate this is.
    pub debate: DebateId,
    /// The digest of the request, for idempotent starts (rule K11).
    pub request_digest: Digest,
    /// What the debate may spend.
    pub limits: Limits,
    /// The format's rules for this debate.
    pub config: F::Config,
    /// The subject, in people's words.
    #[serde(skip)]
    pub prose: Prose<F::Brief>,
}

impl<F: Format> Body for Opened<F> {
    const KIND: &'static str = "opened";
    type Prose = F::Brief;

    fn prose(&self) -> Option<&F::Brief> {
        self.prose.shown()
    }

    fn set_prose(&mut self, prose: Prose<F::Brief>) {
        self.prose = prose;
    }
}

impl<F: Format> Event<F> {
    /// Returns the stored name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Opened(_) => Opened::<F>::KIND,
            Self::Kernel(event) => event.kind(),
            Self::Fact(fact) => fact.kind(),
        }
    }

    /// Returns the version of the shape.
    pub fn version(&self) -> u16 {
        match self {
            Self::Opened(_) => Opened::<F>::VERSION,
            Self::Kernel(event) => event.version(),
            Self::Fact(fact) => fact.version(),
        }
    }

    /// Returns the facts as a JSON object.
    pub fn body(&self) -> String {
        match self {
            Self::Opened(opened) => record::encode_body(opened),
            Self::Kernel(event) => event.body(),
            Self::Fact(fact) => fact.body(),
        }
    }

    /// Returns the prose as a JSON object, where there is any.
    pub fn prose(&self) -> Option<String> {
        match self {
            Self::Opened(opened) => record::encode_prose(opened),
            Self::Kernel(event) => event.prose(),
            Self::Fact(fact) => fact.prose(),
        }
    }

    /// Reads an event back; `None` when neither kernel nor format knows the kind.
    pub fn decode(
        kind: &str,
        version: u16,
        body: &str,
        prose: Option<&str>,
    ) -> Option<Result<Self, RecordError>> {
        if kind == Opened::<F>::KIND {
            return Some(record::decode_body(version, body, prose).map(Self::Opened));
        }
        KernelEvent::decode(kind, version, body, prose)
            .map(|event| event.map(Self::Kernel))
            .or_else(|| F::Fact::decode(kind, version, body, prose).map(|fact| fact.map(Self::Fact)))
    }
}

impl<F: Format, E: Into<KernelEvent>> From<E> for Event<F> {
    fn from(event: E) -> Self {
        Self::Kernel(event.into())
    }
}

/// An event with its place in the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded<F: Format> {
    /// Its sequence number.
    pub seq: Seq,
    /// When it was decided.
    pub at: Timestamp,
    /// What happened.
    pub event: Event<F>,
}

records! {
    /// The events that every format shares.
    pub enum KernelEvent {
        /// A phase or round began.
        PhaseOpened(PhaseOpened),
        /// A phase or round ended.
        PhaseClosed(PhaseClosed),
        /// A request is about to leave (rule K3).
        CallStarted(CallStarted),
        /// A model asked for tools.
        TurnAnswered(TurnAnswered),
        /// A tool is about to run.
        ToolStarted(ToolStarted),
        /// A tool answered.
        ToolAnswered(ToolAnswered),
        /// A model answered, readably.
        CallAnswered(CallAnswered),
        /// An attempt brought nothing that can be used.
        AttemptFailed(AttemptFailed),
        /// An attempt was given up before it answered.
        AttemptAbandoned(AttemptAbandoned),
        /// A readable answer broke a rule and is asked for again.
        AnswerRejected(AnswerRejected),
        /// What a call was built on has changed; it runs again.
        CallVoided(CallVoided),
        /// A rule that ends debates fired (rule K7).
        StopRuleFired(StopRuleFired),
        /// Nothing new starts until `Resumed`.
        Paused(Paused),
        /// A paused debate goes on.
        Resumed(Resumed),
        /// Somebody ended the debate.
        Cancelled(Cancelled),
        /// The outcome stands.
        Concluded(Concluded),
        /// A concluded debate got more rounds.
        Continued(Continued),
        /// This debate goes on from another's prefix (rule K14).
        Forked(Forked),
        /// The world answered (rule K16).
        Resolved(Resolved),
        /// The prose of an event was deleted (rule K15).
        Redacted(Redacted),
    }
}

/// A phase or round began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseOpened {
    /// The phase's name, such as `opening`.
    pub phase: String,
    /// Its number, from 1.
    pub round: u32,
}
body!(PhaseOpened, "phase_opened");

/// A phase or round ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseClosed {
    /// The phase's name.
    pub phase: String,
    /// Its number, from 1.
    pub round: u32,
}
body!(PhaseClosed, "phase_closed");

/// Which prompt was sent: enough to render it again and to see that it is the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    pub sees: Vec<Sight>,
    /// The prompt.
    pub prompt: PromptRef,
    /// What was set aside for it (rule K8).
    pub reserved: Tokens,
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

/// What came with a reply besides its words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyFacts {
    /// What the provider charged for.
    pub usage: Usage,
    /// From sending to the last byte, in milliseconds.
    pub latency_ms: u64,
    /// Requests repeated on the wire before an answer began (rule K5).
    #[serde(default)]
    pub wire_retries: u32,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// The digest of the reply's text.
    pub digest: Digest,
    /// What the lenient reader mended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<String>,
}

/// The words of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyProse {
    /// The reply, raw.
    pub text: String,
    /// Thinking that the provider sent apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
}

/// A tool that a model asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The tool's name.
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
    /// The reason as it is told to the one who is asked again.
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
    pub sees: Vec<Sight>,
}
body!(CallVoided, "call_voided");

/// A rule that ends debates fired (rule K7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StopRuleFired {
    /// Which rule.
    pub rule: StopRule,
    /// The number it looked at.
    pub statistic: f64,
    /// The number it compared with.
    pub threshold: f64,
    /// Recorded, not obeyed.
    #[serde(default)]
    pub shadow: bool,
    /// Whether the closing synthesis may still be asked for.
    pub closing: bool,
}
body!(StopRuleFired, "stop_rule_fired");

/// Nothing new starts; the deadline stands still.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Paused {
    /// Milliseconds left to the deadline.
    pub remaining_ms: u64,
}
body!(Paused, "paused");

/// A paused debate goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// The new deadline.
    pub deadline_at: Timestamp,
}
body!(Resumed, "resumed");

/// Somebody ended the debate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cancelled {
    /// Why, in their words.
    #[serde(skip)]
    pub prose: Prose<String>,
}
body!(Cancelled, "cancelled", prose: String);

/// The outcome stands. Not necessarily the last event: resolution, redaction, continuation follow it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Concluded {
    /// Which conclusion of this debate, from 1.
    pub revision: u32,
    /// The rule that ended it.
    pub rule: StopRule,
    /// Whether anything is missing (rule K6).
    pub completeness: Completeness,
    /// The digest of the outcome with prose withheld (rules K4, K15).
    pub outcome_digest: Digest,
}
body!(Concluded, "concluded");

/// A concluded debate got more rounds (rule K17).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Continued {
    /// How many more.
    pub rounds: u32,
    /// The new deadline.
    pub deadline_at: Timestamp,
}
body!(Continued, "continued");

/// This debate goes on from another's prefix (rule K14).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Forked {
    /// The debate it comes from.
    pub parent: DebateId,
    /// The last sequence number they share.
    pub at: Seq,
    /// The parent's hash there.
    pub parent_hash: Digest,
    /// What differs, as `field=value`.
    pub change: String,
}
body!(Forked, "forked");

/// The world answered (rule K16).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// What happened.
    pub outcome: OutcomeId,
}
body!(Resolved, "resolved");

/// The prose of an event was deleted (rule K15).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Redacted {
    /// Which event lost its prose.
    pub seq: Seq,
}
body!(Redacted, "redacted");

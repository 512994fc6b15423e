//! Commands to a debate. They are imperative; [`crate::decide`] decides which events follow from one.

use crate::bound::ModelIdentity;
use crate::call::{Reserved, Thinking, Work};
use crate::event::{AttemptRef, FailureKind, PromptRef, ReplyFacts, ReplyProse, Resolved, ToolUse};
use crate::format::Format;
use crate::id::{OutcomeId, Seq, Timestamp};

/// A command to a debate.
#[derive(Debug, Clone)]
pub enum Command<F: Format> {
    /// A request to a model is about to leave.
    BeginCall(BeginCall),
    /// A model answered, readably.
    FinishCall {
        /// Which attempt.
        attempt: AttemptRef,
        /// What came with the reply.
        reply: ReplyFacts,
        /// The reply, raw.
        prose: ReplyProse,
        /// The reply, read.
        answer: F::Answer,
    },
    /// A model asked for tools.
    AnswerTurn {
        /// Which attempt.
        attempt: AttemptRef,
        /// What came with the reply.
        reply: ReplyFacts,
        /// The reply, raw.
        prose: ReplyProse,
        /// The tools asked for, each with its arguments as JSON.
        tools: Vec<(ToolUse, String)>,
    },
    /// An attempt brought nothing that can be used.
    FailCall {
        /// Which attempt.
        attempt: AttemptRef,
        /// What went wrong.
        failure: FailureKind,
        /// What came with the reply, as far as there was one.
        reply: ReplyFacts,
        /// The error for people.
        message: String,
        /// The reply as far as it came.
        text: Option<String>,
    },
    /// An attempt that is no longer wanted was given up.
    AbandonCall(AttemptRef),
    /// A tool is about to run.
    BeginTool(Work),
    /// A tool answered.
    FinishTool {
        /// Which tool use.
        work: Work,
        /// Whether it did what it was asked.
        ok: bool,
        /// Wall time in milliseconds.
        latency_ms: u64,
        /// What it said.
        result: String,
    },
    /// A moment has come at which a deadline may be due.
    CheckDeadline,
    /// Start nothing new.
    Pause,
    /// Go on after a pause, or drive a void debate again (rule K24).
    Resume,
    /// A process drives the debate now, and none did since its last event (rule K24).
    ResumeDriving,
    /// Put all that is asked from here on to another model (rule K23).
    ReplaceModel(ModelIdentity),
    /// End now.
    Cancel {
        /// The reason, as the caller states it.
        reason: String,
    },
    /// Hold more rounds after a conclusion.
    Continue {
        /// How many.
        rounds: u32,
        /// What they are to deal with, where the topic alone does not say it.
        focus: Option<String>,
    },
    /// Record what happened in the world, or correct what was recorded.
    Resolve(Resolved),
    /// Record that the prose of an event is to be deleted.
    Redact {
        /// Which event.
        seq: Seq,
    },
}

/// A request to a model is about to leave.
#[derive(Debug, Clone)]
pub struct BeginCall {
    /// The turn, as [`crate::debate::Debate::wanted_work`] gave it.
    pub work: Work,
    /// Set where this races an attempt that is still open: what must then be left for each question not asked yet.
    pub hedge: Option<Reserved>,
    /// The model, as `provider:name`.
    pub model: String,
    /// The prompt.
    pub prompt: PromptRef,
    /// The most it can use.
    pub reserved: Reserved,
    /// What of it is left to thinking (rule P23).
    pub thinking: Thinking,
}

/// A command was refused; nothing changes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecideError {
    /// The debate has concluded.
    #[error("the debate has concluded")]
    Concluded,
    /// The debate has not concluded.
    #[error("the debate has not concluded")]
    NotConcluded,
    /// The debate is paused already.
    #[error("the debate is paused")]
    Paused,
    /// The debate runs already.
    #[error("the debate is not paused")]
    NotPaused,
    /// The debate has a result; only a void one is driven again.
    #[error("the debate has concluded with a result; continue it, or fork it to ask again")]
    NotVoid,
    /// The work is not asked for.
    #[error("{0:?} is not wanted")]
    NotWanted(Work),
    /// The attempt was never begun, or has ended.
    #[error("attempt {} of {} is not open", .0.attempt, .0.call)]
    NotOpen(AttemptRef),
    /// The outcome is not one of the question's.
    #[error("{0} is not an outcome of this debate")]
    UnknownOutcome(OutcomeId),
    /// This very resolution is recorded already.
    #[error("the debate is resolved as {0}")]
    Resolved(OutcomeId),
    /// What has not happened yet resolves nothing.
    #[error("{0} is still to come")]
    StillToCome(Timestamp),
    /// A market's forecast is not one of this question.
    #[error("the market gives {given} outcomes a probability, and the question has {outcomes}")]
    Market {
        /// How many it has.
        given: usize,
        /// How many there are.
        outcomes: usize,
    },
    /// The format, or its limits, do not allow so many more rounds.
    #[error("{0} more rounds are not allowed")]
    NotContinuable(u32),
    /// The format's rounds take no question in addition to the debate's own.
    #[error("rounds of this format take no focus")]
    NotFocusable,
    /// The debate cannot be forked so (rule K14).
    #[error("{0}")]
    NotForkable(String),
    /// There is no such event.
    #[error("the debate has no event {0}")]
    NoEvent(Seq),
    /// The redaction of that event is recorded already.
    #[error("event {0} is redacted")]
    Redacted(Seq),
    /// An event that was decided does not apply: a defect of this program.
    #[error("a decided event does not apply: {0}")]
    Defect(String),
}

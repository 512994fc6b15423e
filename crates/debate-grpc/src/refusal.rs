//! What a client receives when something cannot be done: one table for gRPC and REST alike. Internal causes
//! are logged here and never sent.

#[cfg(test)]
mod tests;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use debate_core::command::DecideError;
use debate_core::formats::any::AnyReplayError;
use debate_core::id::{DebateId, Seq};
use debate_core::request::{Violation, Violations};
use debate_engine::{ControlError, ForkError, LoadError, RedactionError, StartError, WatchError};
use debate_store::{AppendError, Position, ReadError};
use futures::FutureExt as _;

use crate::unread::Resume;

/// When a client may try again, unless it is known better.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// When a client may try again whose money is spent: the hours pass one by one.
const SPENT_RETRY_AFTER: Duration = Duration::from_secs(600);

/// A request that was not carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// The request is wrong; everything that is wrong with it (rule K12).
    #[error("{0}")]
    Invalid(Violations),
    /// There is no such debate.
    #[error("there is no debate {0}")]
    NotFound(String),
    /// The debate has no such part.
    #[error("debate {debate} has no {part}")]
    NoPart {
        /// Which debate.
        debate: DebateId,
        /// What it has not, such as `round 4`.
        part: String,
    },
    /// The debate was moved into an archive.
    #[error("debate {debate} is archived in {bundle}; an operator can restore it with `debate restore`")]
    Archived {
        /// Which debate.
        debate: String,
        /// The bundle's name.
        bundle: String,
    },
    /// The request id was used for another request (rule K11).
    #[error("request id {request_id:?} was used for another request, which opened debate {debate}")]
    RequestTaken {
        /// The request id.
        request_id: String,
        /// The debate that it opened.
        debate: DebateId,
    },
    /// The process holds as many debates as it may.
    #[error("{held} debates are held here already; try again later")]
    Busy {
        /// How many.
        held: usize,
    },
    /// The client claims to know events that do not exist.
    #[error("debate {debate} is at event {head}; there is no event {asked} yet")]
    BeyondHead {
        /// Which debate.
        debate: DebateId,
        /// The event asked for.
        asked: Seq,
        /// Where the debate is.
        head: Seq,
    },
    /// The debate is not in a state for this.
    #[error("debate {debate}: {why}")]
    State {
        /// Which debate.
        debate: DebateId,
        /// What stands against it.
        why: String,
    },
    /// Too little was said for an outcome (rule P16).
    #[error("debate {debate} is void: {}", .why.join("; "))]
    Void {
        /// Which debate.
        debate: DebateId,
        /// Why, one line each.
        why: Vec<String>,
    },
    /// What was asked about a reviewer's prompt cannot be done as things stand (rules V7, V8).
    #[error("{0}")]
    Policy(String),
    /// Another process changed the proposals for a reviewer's prompt meanwhile.
    #[error("{0}")]
    PolicyRaced(String),
    /// There is no such proposal.
    #[error("{0}")]
    NoProposal(String),
    /// There is no prompt text with this name (rule P24).
    #[error("there is no prompt text {0:?}; ListPrompts and GET /api/v1/prompts return the names")]
    NoPrompt(String),
    /// The format is not served here.
    #[error("format {0:?} is not served here")]
    Unserved(String),
    /// The token is missing or wrong.
    #[error("a valid bearer token is needed")]
    Unauthenticated,
    /// The token does not reach so far.
    #[error("the token does not have {what}")]
    Forbidden {
        /// What it would need, such as `the scope write`.
        what: String,
    },
    /// The token's requests come faster than it may send them.
    #[error("too many requests; the next may come in {} ms", .wait.as_millis())]
    TooFast {
        /// How long it is until the next may come.
        wait: Duration,
    },
    /// The token has as many requests under way as it may.
    #[error("too many requests at one time")]
    TooManyAtOnce,
    /// The token has as many debates running as it may.
    #[error("too many debates at one time; this token may have {max}")]
    TooManyDebates {
        /// How many it may have.
        max: u32,
    },
    /// The token's debates may not cost more.
    #[error("the debates of the last 24 hours may cost {day} millionths of a dollar, and {left} are left")]
    Spent {
        /// What they may cost.
        day: u64,
        /// What is left of it.
        left: u64,
    },
    /// The request's body is longer than is allowed.
    #[error("the request has more than {0} bytes")]
    TooLong(usize),
    /// The request's body does not come to its end.
    #[error("the request's body took too long to arrive")]
    TooSlow,
    /// The request's body could not be read to its end.
    #[error("the request's body cannot be read")]
    Unreadable,
    /// The request's message is none of its kind.
    #[error("the request's message cannot be decoded: {0}")]
    Undecodable(String),
    /// The request's body is of another type than JSON.
    #[error("the body must be application/json")]
    NotJson,
    /// The request for a method of gRPC says that it is something else.
    #[error("the content-type must be application/grpc")]
    NotGrpc,
    /// There is nothing at this address.
    #[error("there is nothing here; see POST /api/v1/reasoning/debate")]
    NoRoute,
    /// The address does not know this method.
    #[error("this method is not served here")]
    NoMethod,
    /// The process is shutting down; debates go on when it is back.
    #[error("the server is shutting down; try again")]
    ShuttingDown,
    /// The store or the debate's owner is not to be had just now.
    #[error("the debate cannot be reached just now; try again")]
    Unavailable,
    /// The client did not read what it asked for; where it can go on, if it was a stream.
    #[error("what was sent was not read for too long; {}", if .0.is_some() { "go on where it ended" } else { "ask again" })]
    Unread(Option<Resume>),
    /// The client's deadline has passed.
    #[error("the deadline has passed")]
    DeadlineExceeded,
    /// The stored log does not hold together; a person must look at it.
    #[error("the log of debate {0} is corrupt; verify it")]
    Corrupt(String),
    /// An event of the store cannot be read; a person must look at it.
    #[error("the event at position {0} of the store is corrupt; verify the store")]
    CorruptEvent(Position),
    /// A defect of this program.
    #[error("something went wrong here; it is logged")]
    Defect,
}

impl Refusal {
    /// Refuses one field.
    pub fn field(field: &str, reason: impl Into<String>) -> Self {
        Self::Invalid(Violation::new(field, reason).into())
    }

    /// Returns the reason as a word for programs.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "INVALID_REQUEST",
            Self::NotFound(_) => "DEBATE_NOT_FOUND",
            Self::Archived { .. } => "DEBATE_ARCHIVED",
            Self::NoPart { .. } => "PART_NOT_FOUND",
            Self::RequestTaken { .. } => "REQUEST_ID_TAKEN",
            Self::Busy { .. } => "TOO_MANY_DEBATES",
            Self::BeyondHead { .. } => "BEYOND_HEAD",
            Self::State { .. } => "WRONG_STATE",
            Self::Void { .. } => "DEBATE_VOID",
            Self::Policy(_) => "POLICY_REFUSED",
            Self::PolicyRaced(_) => "PROPOSALS_CHANGED",
            Self::NoProposal(_) => "PROPOSAL_NOT_FOUND",
            Self::NoPrompt(_) => "PROMPT_NOT_FOUND",
            Self::Unserved(_) => "FORMAT_NOT_SERVED",
            Self::Unauthenticated => "TOKEN_NEEDED",
            Self::Forbidden { .. } => "FORBIDDEN",
            Self::TooFast { .. } => "TOO_MANY_REQUESTS",
            Self::TooManyAtOnce => "TOO_MANY_REQUESTS_AT_ONCE",
            Self::TooManyDebates { .. } => "TOO_MANY_DEBATES_AT_ONCE",
            Self::Spent { .. } => "MONEY_SPENT",
            Self::TooLong(_) => "REQUEST_TOO_LONG",
            Self::TooSlow => "REQUEST_TOO_SLOW",
            Self::Unreadable => "REQUEST_UNREADABLE",
            Self::Undecodable(_) => "REQUEST_UNDECODABLE",
            Self::NotJson => "NOT_JSON",
            Self::NotGrpc => "NOT_GRPC",
            Self::NoRoute => "NO_ROUTE",
            Self::NoMethod => "NO_METHOD",
            Self::ShuttingDown => "SHUTTING_DOWN",
            Self::Unavailable => "UNAVAILABLE",
            Self::Unread(_) => "STREAM_NOT_READ",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::Corrupt(_) | Self::CorruptEvent(_) => "LOG_CORRUPT",
            Self::Defect => "INTERNAL",
        }
    }

    /// Returns the debate that it is about, where there is one.
    #[must_use]
    pub fn debate(&self) -> Option<String> {
        match self {
            Self::NotFound(debate) | Self::Archived { debate, .. } | Self::Corrupt(debate) => {
                Some(debate.clone())
            }
            Self::Unread(Some(Resume::Debate { debate, .. })) => Some(debate.clone()),
            Self::NoPart { debate, .. }
            | Self::RequestTaken { debate, .. }
            | Self::BeyondHead { debate, .. }
            | Self::State { debate, .. }
            | Self::Void { debate, .. } => Some(debate.to_string()),
            Self::Invalid(_)
            | Self::Busy { .. }
            | Self::Policy(_)
            | Self::PolicyRaced(_)
            | Self::NoProposal(_)
            | Self::NoPrompt(_)
            | Self::Unserved(_)
            | Self::Unauthenticated
            | Self::Forbidden { .. }
            | Self::TooFast { .. }
            | Self::TooManyAtOnce
            | Self::TooManyDebates { .. }
            | Self::Spent { .. }
            | Self::TooLong(_)
            | Self::TooSlow
            | Self::Unreadable
            | Self::Undecodable(_)
            | Self::NotJson
            | Self::NotGrpc
            | Self::NoRoute
            | Self::NoMethod
            | Self::ShuttingDown
            | Self::Unavailable
            | Self::Unread(_)
            | Self::DeadlineExceeded
            | Self::CorruptEvent(_)
            | Self::Defect => None,
        }
    }

    /// Returns what a program needs to know in addition to the reason, by name.
    #[must_use]
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts: Vec<_> = self.debate().map(|debate| ("debate_id", debate)).into_iter().collect();
        if let Self::Unread(Some(resume)) = self {
            facts.push(match resume {
                Resume::Debate { after, .. } => ("resume_after_seq", after.to_string()),
                Resume::Feed { cursor } => ("resume_cursor", cursor.clone()),
            });
        }
        facts
    }

    /// Returns when the same request may succeed, if a little later it may.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::TooFast { wait } => Some(*wait),
            Self::Spent { .. } => Some(SPENT_RETRY_AFTER),
            Self::Busy { .. }
            | Self::PolicyRaced(_)
            | Self::TooManyAtOnce
            | Self::TooManyDebates { .. }
            | Self::ShuttingDown
            | Self::Unavailable
            | Self::Unread(_) => Some(RETRY_AFTER),
            Self::Invalid(_)
            | Self::NotFound(_)
            | Self::NoPart { .. }
            | Self::RequestTaken { .. }
            | Self::BeyondHead { .. }
            | Self::State { .. }
            | Self::Void { .. }
            | Self::Policy(_)
            | Self::Archived { .. }
            | Self::NoProposal(_)
            | Self::NoPrompt(_)
            | Self::Unserved(_)
            | Self::Unauthenticated
            | Self::Forbidden { .. }
            | Self::TooLong(_)
            | Self::TooSlow
            | Self::Unreadable
            | Self::Undecodable(_)
            | Self::NotJson
            | Self::NotGrpc
            | Self::NoRoute
            | Self::NoMethod
            | Self::DeadlineExceeded
            | Self::Corrupt(_)
            | Self::CorruptEvent(_)
            | Self::Defect => None,
        }
    }

    /// Refuses a control that a debate did not take.
    pub fn of_control(debate: DebateId, error: ControlError) -> Self {
        match error {
            ControlError::Refused(DecideError::Defect(why)) => Self::defect(&why),
            ControlError::Refused(refused) => Self::State { debate, why: refused.to_string() },
            ControlError::Load(error) => error.into(),
            ControlError::Unoffered(why) => Self::State { debate, why: why.to_string() },
            ControlError::Busy { held } => Self::Busy { held },
            ControlError::Record(error) => error.into(),
            ControlError::Unsettled(_) => Self::Unavailable,
        }
    }

    /// Refuses a redaction that a debate did not take.
    pub fn of_redaction(debate: DebateId, error: RedactionError) -> Self {
        match error {
            RedactionError::Load(error) => error.into(),
            RedactionError::Refused(DecideError::Defect(why)) => Self::defect(&why),
            RedactionError::Refused(refused) => Self::State { debate, why: refused.to_string() },
            error @ RedactionError::NoProse(_) => Self::State { debate, why: error.to_string() },
            RedactionError::Record(error) => error.into(),
            RedactionError::Delete(error) => {
                tracing::error!(%debate, error = &error as &dyn std::error::Error, "words were not deleted");
                Self::Unavailable
            }
        }
    }

    /// Refuses a fork of a debate.
    pub fn of_fork(parent: DebateId, error: ForkError) -> Self {
        match error {
            ForkError::Load(error) => error.into(),
            ForkError::NoEvent { debate, at, head } => Self::BeyondHead { debate, asked: at, head },
            error @ ForkError::Redacted(_) => Self::State { debate: parent, why: error.to_string() },
            ForkError::Refused(DecideError::Defect(why)) => Self::defect(&why),
            ForkError::Refused(refused) => Self::State { debate: parent, why: refused.to_string() },
            ForkError::Invalid(violations) => Self::Invalid(violations),
            ForkError::Busy { held } => Self::Busy { held },
            ForkError::Leases(error) => ReadError::backend(error).into(),
            ForkError::ShutDown => Self::ShuttingDown,
            ForkError::Store(error) => error.into(),
        }
    }

    /// Refuses a log that was read and does not fold.
    pub fn of_replay(debate: DebateId, error: &AnyReplayError) -> Self {
        match error {
            AnyReplayError::Empty => Self::NotFound(debate.to_string()),
            AnyReplayError::Format { .. } | AnyReplayError::Decode(_) | AnyReplayError::Replay(_) => {
                tracing::error!(%debate, error = error as &dyn std::error::Error, "a log does not fold");
                Self::Corrupt(debate.to_string())
            }
        }
    }

    /// Has a handler do its work; one that panics is refused as a defect.
    ///
    /// # Errors
    /// What the handler refuses; [`Refusal::Defect`] where it panics.
    pub async fn instead_of_panic<T>(handler: impl Future<Output = Result<T, Self>>) -> Result<T, Self> {
        AssertUnwindSafe(handler).catch_unwind().await.unwrap_or_else(|_panic| Err(Self::panicked()))
    }

    /// Answers for a handler that panicked; the program's panic hook has logged where.
    pub(crate) fn panicked() -> Self {
        tracing::error!("a handler panicked");
        Self::Defect
    }

    /// Refuses what only a defect of this program can have brought about.
    pub fn defect(why: &dyn std::fmt::Display) -> Self {
        tracing::error!(why = %why, "a defect of this program");
        Self::Defect
    }
}

impl From<Violations> for Refusal {
    fn from(violations: Violations) -> Self {
        Self::Invalid(violations)
    }
}

impl From<StartError> for Refusal {
    fn from(error: StartError) -> Self {
        match error {
            StartError::RequestTaken { request_id, debate } => Self::RequestTaken { request_id, debate },
            StartError::Invalid(violations) => Self::Invalid(violations),
            StartError::Busy { held } => Self::Busy { held },
            StartError::Format(format) => Self::Unserved(format.to_owned()),
            StartError::Open(error) => Self::defect(&error),
            StartError::Store(error) => error.into(),
            StartError::Leases(error) => ReadError::backend(error).into(),
            StartError::ShutDown => Self::ShuttingDown,
        }
    }
}

impl From<LoadError> for Refusal {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::NotFound(debate) => Self::NotFound(debate.to_string()),
            LoadError::Archived { debate, bundle } => Self::Archived { debate: debate.to_string(), bundle },
            LoadError::Format { format, .. } => Self::Unserved(format),
            LoadError::Read(error) => error.into(),
            LoadError::Decode { debate, .. }
            | LoadError::Replay { debate, .. }
            | LoadError::Parent { debate, .. }
            | LoadError::TooDeep(debate) => {
                tracing::error!(%debate, error = &error as &dyn std::error::Error, "a log does not fold");
                Self::Corrupt(debate.to_string())
            }
        }
    }
}

impl From<WatchError> for Refusal {
    fn from(error: WatchError) -> Self {
        match error {
            WatchError::NotFound(debate) => Self::NotFound(debate.to_string()),
            WatchError::Archived { debate, bundle } => Self::Archived { debate: debate.to_string(), bundle },
            WatchError::BeyondHead { debate, after, head } => Self::BeyondHead { debate, asked: after, head },
            WatchError::Read(error) => error.into(),
        }
    }
}

impl From<ReadError> for Refusal {
    fn from(error: ReadError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "the store cannot be read");
        match error {
            ReadError::Corrupt { position, .. } => Self::CorruptEvent(position),
            ReadError::Backend { .. } | ReadError::Closed => Self::Unavailable,
        }
    }
}

impl From<AppendError> for Refusal {
    fn from(error: AppendError) -> Self {
        tracing::error!(error = &error as &dyn std::error::Error, "the store did not take events");
        Self::Unavailable
    }
}

//! What it takes to open a debate, and why one may not be opened.

use debate_core::codec::Author;
use debate_core::command::DecideError;
use debate_core::format::Format;
use debate_core::id::{DebateId, Digest};
use debate_core::limits::Limits;
use debate_core::request::Violations;
use debate_store::{AppendError, LeaseError};

/// A valid request to open a debate of format `F`.
#[derive(Debug, Clone)]
pub struct Start<F: Format> {
    /// The format's rules.
    pub config: F::Config,
    /// The subject.
    pub brief: F::Brief,
    /// What it may spend.
    pub limits: Limits,
    /// The digest of the request's body.
    pub request_digest: Digest,
    /// The caller's id of the request, for idempotent starts (rule K11).
    pub request_id: Option<String>,
    /// Who asks, and for whom.
    pub author: Author,
}

/// A debate was opened, or had been by the same request before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Started {
    /// Which debate.
    pub debate: DebateId,
    /// Whether the same request opened it earlier.
    pub existing: bool,
}

/// A debate was not opened; nothing is recorded.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The request id was used for another request (rule K11).
    #[error("request id {request_id:?} was used for another request, which opened debate {debate}")]
    RequestTaken {
        /// The request id.
        request_id: String,
        /// The debate that it opened.
        debate: DebateId,
    },
    /// The request names what is not to be had here (rule K12).
    #[error(transparent)]
    Invalid(Violations),
    /// The process holds as many debates as it may.
    #[error("{held} debates are held here already")]
    Busy {
        /// How many.
        held: usize,
    },
    /// The format is not served here.
    #[error("format {0:?} is not served here")]
    Format(&'static str),
    /// The format's first step failed: a defect of this program.
    #[error("the debate cannot open")]
    Open(#[source] DecideError),
    /// The store failed.
    #[error("the debate cannot be recorded")]
    Store(#[source] AppendError),
    /// The debate cannot be leased.
    #[error("the debate cannot be leased")]
    Leases(#[source] LeaseError),
    /// The process is shutting down.
    #[error("the engine is shutting down")]
    ShutDown,
}

//! What can have happened in a debate. The log holds these and nothing else; state is their fold (rule K1).
//!
//! The kernel's own events are [`KernelEvent`]; what a format adds is its [`Format::Fact`]. An event, once
//! written, is never edited: a new shape gets a new version.

mod attempt;
mod life;

pub use attempt::*;
pub use life::*;

use serde::{Deserialize, Serialize};

use crate::bound::BoundModels;
use crate::format::Format;
use crate::id::{DebateId, Digest, Seq, Timestamp};
use crate::limits::Limits;
use crate::prose::Prose;
use crate::record::{self, Body, Record, RecordError};
use crate::records;

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
    /// The models that the debate may use; logs did not always say (rule K23).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<BoundModels>,
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
    /// Returns every kind of event that this format's logs may hold, with the version that is written today.
    pub fn kinds() -> impl Iterator<Item = (&'static str, u16)> {
        let opened = (Opened::<F>::KIND, Opened::<F>::VERSION);
        let others = KernelEvent::KINDS.iter().chain(F::Fact::KINDS).copied();
        std::iter::once(opened).chain(others)
    }

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
        /// A process drives the debate again after none did (rule K24).
        DrivingResumed(DrivingResumed),
        /// A void debate is driven again (rule K24).
        Reopened(Reopened),
        /// All that is asked from here on is put to another model (rule K23).
        ModelReplaced(ModelReplaced),
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

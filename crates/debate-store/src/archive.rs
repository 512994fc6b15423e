//! Taking finished streams out of a store, and putting them back.
//!
//! Where the events go is the caller's business, and theirs to be sure of before: a store keeps only that a stream is
//! archived, where, and how it ended. Positions of other events do not move, request ids stay taken.

use std::fmt;

use async_trait::async_trait;
use debate_core::chain::{ChainBreak, ChainCheck};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Seq, Timestamp};

use crate::position::{BoxError, Head, Position};

/// The kinds of events that a finished stream ends with; the schemas of the databases name them too.
pub(crate) const LAST_KINDS: [&str; 3] = ["concluded", "resolved", "redacted"];

/// A stream whose events are in an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archived {
    /// The stream.
    pub stream: StreamId,
    /// Its last event.
    pub head: Head,
    /// The name of the bundle that holds it.
    pub bundle: String,
    /// When it was put there.
    pub at: Timestamp,
    /// Where its first event stood among all events.
    pub position: Position,
    /// Whose it is.
    pub tenant: String,
    /// The text in the field `format` of its first event's body.
    pub format: Option<String>,
    /// When it was opened.
    pub opened_at: Timestamp,
}

/// Takes finished streams out of a store and puts them back, each in one transaction.
#[async_trait]
pub trait Archive: Send + Sync + fmt::Debug {
    /// Records that a stream, which ends with `head`, is in a bundle, and removes its events. Doing so again does nothing.
    ///
    /// # Errors
    /// The stream goes on behind `head`, is not finished or not there; or the backend failed, and then the stream is
    /// archived or as before, never in between.
    async fn archive(
        &self,
        stream: StreamId,
        head: Head,
        bundle: &str,
        at: Timestamp,
    ) -> Result<(), ArchiveError>;

    /// Puts all events of an archived stream back, behind the last position, and forgets that it was archived. Doing so
    /// again does nothing.
    ///
    /// # Errors
    /// They are not the events that were archived, the stream is not archived; or the backend failed, and then the stream
    /// is back or as before, never in between.
    async fn restore(&self, stream: StreamId, events: Vec<Envelope>) -> Result<(), ArchiveError>;
}

/// A stream was not archived or not restored.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// There is no such stream.
    #[error("there is no {0}")]
    NotFound(StreamId),
    /// The stream does not end where the caller believes.
    #[error("{stream} does not end with the event {head} that was archived")]
    Moved {
        /// The stream.
        stream: StreamId,
        /// The event that should be its last one.
        head: Seq,
    },
    /// The stream's last event is not one that ends it.
    #[error("{0} is not finished")]
    Unfinished(StreamId),
    /// The stream is archived already, in another bundle.
    #[error("{stream} is archived in {bundle}")]
    Elsewhere {
        /// The stream.
        stream: StreamId,
        /// The bundle.
        bundle: String,
    },
    /// The stream is in the store with other events, or not archived at all.
    #[error("{0} is not archived")]
    NotArchived(StreamId),
    /// The events are not those that were archived.
    #[error("these are not the events of {0} that were archived")]
    OtherEvents(StreamId),
    /// The events do not chain.
    #[error("the events do not chain")]
    Chain(#[from] ChainBreak),
    /// The backend failed.
    #[error("cannot archive or restore {stream}")]
    Backend {
        /// The stream.
        stream: StreamId,
        /// What the backend said.
        #[source]
        source: BoxError,
    },
    /// The store was closed in this process; nothing was done.
    #[error("the store is closed")]
    Closed,
}

impl ArchiveError {
    /// Wraps a backend's error.
    pub(crate) fn backend(stream: StreamId, source: impl Into<BoxError>) -> Self {
        Self::Backend { stream, source: source.into() }
    }
}

/// What is to be done.
pub(crate) enum Step {
    /// The stream is as it should be.
    Done,
    /// It is to be archived, or put back.
    Go,
}

/// Decides an archiving on what is known: whether the stream is archived, where it ends, and with which kind of event.
pub(crate) fn decide_archive(
    stream: StreamId,
    head: Head,
    bundle: &str,
    archived: Option<Archived>,
    last: Option<(Head, String)>,
) -> Result<Step, ArchiveError> {
    if let Some(archived) = archived {
        let is_it = archived.head == head && archived.bundle == bundle;
        return if is_it {
            Ok(Step::Done)
        } else {
            Err(ArchiveError::Elsewhere { stream, bundle: archived.bundle })
        };
    }
    let (last, kind) = last.ok_or(ArchiveError::NotFound(stream))?;
    if last != head {
        return Err(ArchiveError::Moved { stream, head: head.seq });
    }
    if LAST_KINDS.contains(&kind.as_str()) { Ok(Step::Go) } else { Err(ArchiveError::Unfinished(stream)) }
}

/// Returns where the events of a stream end, if they are all of it and chain.
pub(crate) fn check_whole(stream: StreamId, events: &[Envelope]) -> Result<Head, ArchiveError> {
    let mut chain = ChainCheck::new(stream);
    for event in events {
        chain.push(event)?;
    }
    let (seq, hash) = chain.head();
    Ok(Head { seq, hash })
}

/// Decides a restoring of events that end with `head`: on whether the stream is archived, and whether the store has an
/// event with that number and hash.
pub(crate) fn decide_restore(
    stream: StreamId,
    head: Head,
    archived: Option<&Archived>,
    is_there: bool,
) -> Result<Step, ArchiveError> {
    match archived {
        Some(archived) if archived.head == head => Ok(Step::Go),
        Some(_) => Err(ArchiveError::OtherEvents(stream)),
        None if is_there => Ok(Step::Done),
        None => Err(ArchiveError::NotArchived(stream)),
    }
}

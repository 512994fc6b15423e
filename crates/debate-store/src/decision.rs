//! What becomes of an append, given what is stored: the same on every backend with transactions.

use crate::append::{Append, AppendError};
use crate::port::{Head, Position, RequestOwner};

/// What is to be done with one append.
pub(crate) enum Decision {
    /// Its events follow the stream's last one.
    Write,
    /// Its events are there already.
    Stored {
        /// Where the last of them stands.
        last: Position,
        /// Whether its request is still to be recorded.
        record_request: bool,
    },
    /// It can never be written.
    Refuse(AppendError),
}

impl Decision {
    /// Decides on the owner of the append's request id, the stream's last event, and where the last of these very
    /// events stands, if all of them are already there; and on whether the stream was moved into an archive.
    pub(crate) fn of(
        append: &Append,
        owner: Option<&RequestOwner>,
        head: &Head,
        stored: Option<Position>,
        is_archived: bool,
    ) -> Self {
        if let Some(owner) = owner {
            return Self::of_repeated(append, owner, stored);
        }
        if let Some(last) = stored {
            return Self::Stored { last, record_request: true };
        }
        if is_archived {
            return Self::Refuse(AppendError::Archived(append.stream));
        }
        if head.seq != append.expected {
            return Self::Refuse(append.conflict(head.seq));
        }
        append.check_follows(&head.hash).map_or_else(Self::Refuse, |()| Self::Write)
    }

    /// Decides an append whose request id is known: it must be the very same append.
    fn of_repeated(append: &Append, owner: &RequestOwner, stored: Option<Position>) -> Self {
        let same_body = append.request.as_ref().is_some_and(|it| it.body_hash == owner.body_hash);
        match stored {
            Some(last) if same_body && owner.stream == append.stream => {
                Self::Stored { last, record_request: false }
            }
            Some(_) | None => Self::Refuse(AppendError::RequestTaken { stream: owner.stream, same_body }),
        }
    }
}

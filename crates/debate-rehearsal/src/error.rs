//! Why a rehearsal breaks off.

use debate_core::id::DebateId;
use debate_core::record::RecordError;
use debate_engine::{LoadError, StartError, WatchError};

/// A rehearsal broke off.
#[derive(Debug, thiserror::Error)]
pub enum RehearsalError {
    /// A debate cannot be opened.
    #[error("a debate cannot be opened")]
    Start(#[from] StartError),
    /// A debate cannot be followed.
    #[error("a debate cannot be followed")]
    Watch(#[from] WatchError),
    /// A debate's log cannot be read.
    #[error("a debate's log cannot be read")]
    Load(#[from] LoadError),
    /// An event cannot be read.
    #[error("an event of a debate cannot be read")]
    Record(#[from] RecordError),
    /// A debate does not end.
    #[error("debate {debate} does not end")]
    Endless {
        /// Which one.
        debate: DebateId,
    },
    /// There is no runtime.
    #[error("no runtime can be made")]
    Runtime(#[source] std::io::Error),
}

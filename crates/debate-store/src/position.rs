//! Places in a store, and what a backend says when it fails.

use std::error::Error;
use std::fmt;

use debate_core::id::{Digest, Seq};

/// The cause of a backend's failure, in the backend's own words.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The place of an event among all events of a store: later ones are greater, and nothing else is said. In SQLite and
/// in memory they are 1, 2, 3 …; in PostgreSQL they have gaps. 0 stands for "before the first".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

impl Position {
    /// The position before the first event of a store.
    pub const START: Self = Self(0);
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The last event of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Its sequence number.
    pub seq: Seq,
    /// Its hash, which the next event must chain to.
    pub hash: Digest,
}

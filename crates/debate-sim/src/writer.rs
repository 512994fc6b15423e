//! Who writes and asks in a world.

/// One life of one engine; identifies what it writes and asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer(pub(crate) u32);

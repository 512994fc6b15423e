//! Bundles: debates exact to the byte, with what proves them, for a machine that has neither store nor network.
//!
//! A bundle is lines of JSON, each in one spelling only: a start; where it is signed, a checkpoint; in a bundle of a whole
//! store, every leaf of it; then each stream with its events; and an end that counts them. Compressing them is the
//! caller's business.

mod check;
mod line;

pub use check::{BundleCheck, BundleFault, BundleReport, StreamFault, StreamReport};
pub use line::{Consistency, End, EventLine, Inclusion, Line, LineError, Signed, Start, StreamStart};

/// The version of the format that is written here and the only one that is read.
pub const VERSION: u32 = 1;

/// The most bytes of one line.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most events of one stream.
pub const EVENTS_MAX: u64 = 1_000_000;

/// The most bytes of the events of one stream, as they stand in their lines: who reads a stream may keep all of it.
pub const STREAM_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The most bytes of the id of a request, as of those that are asked for.
pub const REQUEST_ID_BYTES_MAX: usize = 128;

/// A bundle cannot be read on: from here on nothing can be said about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the bundle: {what}")]
pub struct BundleError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong there.
    #[source]
    pub what: LineError,
}

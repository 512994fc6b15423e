//! What investigators are shown, held against the real kernel.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod independence;
mod played;
mod snapshots;

//! The words of roundtables as agents get them: whole debates are played, and every prompt is looked at.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod played;
mod sights;
mod snapshots;

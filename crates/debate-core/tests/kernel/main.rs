//! The kernel driven through its public interface: scenarios as tables, for every format.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod benchmarks;
mod deliberation;
mod denied;
mod envelopes;
mod golden;
mod investigating;
mod investigation;
mod kernel;
mod money;
mod names;
mod playing;
mod resume;
mod review;
mod roundtable;
mod roundtable_results;
mod scenario;
mod tools;

//! The words of the prediction debate, as they are promised to models, kernel and readers.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod debate;
mod grammar;
mod limits;
mod prefixes;
mod questions;
mod replies;
mod rules;
mod standard;
mod untrusted;

//! Replies that were cut, and what is taken of them (rules K18, P27).

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod debates;
mod formats;
mod material;
mod outcomes;
mod partial;
mod reader;

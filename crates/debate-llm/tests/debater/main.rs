//! What the simulated model that debates promises, held against the real prompts and the real kernel.

#![allow(clippy::unwrap_used)]

mod deliberations;
mod flaws;
mod investigations;
mod predictions;
mod questions;
mod reviews;
mod roundtables;
mod stage;

//! The rules of the prediction debate, shown on whole debates with canned answers.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod forks;
mod hindsight;
mod honest;
mod passes;
mod rules;
mod schedule;
mod stage;

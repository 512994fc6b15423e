//! The real binary, run as people run it: on example requests, on bad input, on broken stores.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod archiving;
mod backtesting;
mod bad_input;
mod benching;
mod client;
mod concluding;
mod configuring;
mod continuing;
mod doctor;
mod driving;
mod forking;
mod help;
mod hindsight;
mod hostile;
mod investigating;
mod models;
mod names;
mod naming;
#[cfg(unix)]
mod postgres;
mod prices;
mod program;
mod prompts;
mod provider;
mod proving;
mod reading;
mod reporting;
mod resuming;
mod reviewing;
mod running;
mod searching;
mod server;
mod serving;
mod steering;
mod stores;
mod tokens;
mod upgrading;
mod verifying;

//! The pure kernel of structured debates: what can happen, what follows from it, what should be running.
//!
//! A debate is a list of events. [`decide`] turns a command into events, [`debate`] folds them into state,
//! [`plan`] reads from the state which work should be under way. The crate does no IO, reads no clock, draws no
//! random number and is not async; time, seeds and ids are handed to it.

mod account;
pub mod bound;
mod bounds;
mod budget;
pub mod call;
pub mod calls;
pub mod chain;
pub mod codec;
pub mod command;
pub mod counted;
mod deadline;
pub mod debate;
pub mod decide;
pub mod diff;
pub mod envelope;
pub mod event;
pub mod fork;
pub mod format;
pub mod formats;
pub mod id;
mod lifecycle;
pub mod limits;
pub mod markdown;
pub mod measures;
pub mod models;
pub mod plan;
pub mod policy;
pub mod prices;
pub mod prose;
pub mod record;
pub mod request;
pub mod spend;
pub mod steering;
pub mod stop;
pub mod tools;

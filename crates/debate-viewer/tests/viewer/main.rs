//! The viewer as a server and as a page, over real engines.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod browser;
mod door;
mod faults;
mod house;
mod long_logs;
#[path = "../../../debate-engine/tests/engine/moody_store.rs"]
#[allow(dead_code, reason = "the engine's tests have it in moods, too")]
mod moody_store;
mod routes;

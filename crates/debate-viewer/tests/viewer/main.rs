//! The viewer as a server and as a page, over real engines.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod browser;
mod door;
mod house;
mod long_logs;
mod routes;

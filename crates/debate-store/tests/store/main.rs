//! What every store promises, run on every store; then what is particular to each backend.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod conformance;
#[cfg(unix)]
mod postgres_faults;
#[cfg(unix)]
mod postgres_feed;
#[cfg(unix)]
mod postgres_guard;
#[cfg(unix)]
mod proxy;
mod sqlite_file;
mod sqlite_open;
mod sqlite_tamper;
mod stream_writer;

//! What every store promises, run on every store; then what is particular to SQLite.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod conformance;
mod sqlite_file;
mod sqlite_open;
mod sqlite_tamper;
mod stream_writer;

//! What every store and every keeper of leases promises, run on each; then what is particular to each backend.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

mod archive_guard;
mod conformance;
mod leases;
#[cfg(unix)]
mod postgres_disk;
#[cfg(unix)]
mod postgres_failover;
#[cfg(unix)]
mod postgres_faults;
#[cfg(unix)]
mod postgres_feed;
#[cfg(unix)]
mod postgres_guard;
mod sqlite_faults;
mod sqlite_file;
mod sqlite_killed;
mod sqlite_open;
mod sqlite_tamper;
mod sqlite_torn;
mod stream_writer;

//! The append-only log: the [`EventStore`] port and its backends.
//!
//! A store keeps [envelopes](debate_core::envelope::Envelope) in streams and knows no rules of debates. What
//! was appended is never edited or removed; only the prose of an event can be deleted (rule K15).

#![cfg_attr(
    not(all(feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "what serves a backend idles without it")
)]

mod append;
mod archive;
mod decision;
mod group;
mod leases;
mod list;
mod memory;
mod port;
mod position;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod wake;

pub use append::{Append, AppendError, EVENTS_PER_APPEND_MAX, RequestKey};
pub use archive::{Archive, ArchiveError, Archived};
pub use leases::{LEFT_FOR, Lease, LeaseError, Leases, MemoryLeases, Release};
pub use list::{ListFilter, Listed};
pub use memory::MemoryStore;
pub use port::{BoxError, EventStore, Head, Position, ReadError, RedactError, RequestOwner};
#[cfg(feature = "postgres")]
pub use postgres::{ConnectError, Holder, Horizon, MaskedAddress, PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sqlite::{CloseError, Durability, OpenError, SqliteOptions, SqliteStore};

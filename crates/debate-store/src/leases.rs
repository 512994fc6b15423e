//! Who drives what: a stream is leased to one process at a time, for a while, by one clock (rule K23).
//!
//! A lease keeps processes from asking models the same question twice. What protects the log is the key of a stream's
//! events: of two that append after the same event, one is refused, whatever either believes of its lease.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use debate_core::envelope::StreamId;
use tokio::time::Instant;

use crate::port::BoxError;

/// A stream, leased to the owner of this value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The stream.
    pub stream: StreamId,
    /// Grows with every change of hands, so that the lease of a former holder is known from this one.
    pub fence: u64,
}

/// How a lease is given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// No work is left; no holder may adopt the stream.
    Finished,
    /// Work is left; any holder may adopt the stream at once.
    HandedBack,
    /// Work is left, but this holder cannot do it: the stream has no holder and cannot be adopted for [`LEFT_FOR`].
    Left,
}

/// How long a stream that its holder left cannot be adopted.
pub const LEFT_FOR: Duration = Duration::from_secs(60);

/// Leases could not be read or changed; whether they were changed is unknown.
#[derive(Debug, thiserror::Error)]
#[error("cannot reach the leases")]
pub struct LeaseError(#[source] pub BoxError);

/// Keeps leases. All times are by the keeper's clock.
#[async_trait]
pub trait Leases: Send + Sync + fmt::Debug {
    /// Leases a stream, which need not exist yet, to `holder` for `ttl`; `None` while somebody has it.
    ///
    /// # Errors
    /// When the leases cannot be reached.
    async fn acquire(
        &self,
        stream: StreamId,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, LeaseError>;

    /// Extends leases to `ttl` from now, and returns those that no other holder took; the others are lost.
    ///
    /// # Errors
    /// When the leases cannot be reached.
    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>, LeaseError>;

    /// Gives a lease back. One that is lost already stays as it is.
    ///
    /// # Errors
    /// When the leases cannot be reached; it then runs out by itself.
    async fn release(&self, lease: Lease, release: Release) -> Result<(), LeaseError>;

    /// Leases to `holder` at most `leases_max` streams that were handed back or whose lease ran out, those first that
    /// have waited longest.
    ///
    /// # Errors
    /// When the leases cannot be reached.
    async fn adopt(&self, holder: &str, ttl: Duration, leases_max: u32) -> Result<Vec<Lease>, LeaseError>;

    /// Returns those of some streams that are leased now, each with its holder, in no order.
    ///
    /// # Errors
    /// When the leases cannot be reached.
    async fn held(&self, streams: &[StreamId]) -> Result<Vec<(StreamId, String)>, LeaseError>;
}

/// Keeps leases in memory, for replicas within one process: trials and simulations.
#[derive(Debug, Default)]
pub struct MemoryLeases {
    rows: Mutex<HashMap<StreamId, Row>>,
}

#[derive(Debug, Clone)]
struct Row {
    fence: u64,
    until: Instant,
    holder: String,
}

impl MemoryLeases {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<StreamId, Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Leases for MemoryLeases {
    async fn acquire(
        &self,
        stream: StreamId,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, LeaseError> {
        let now = Instant::now();
        let mut rows = self.rows();
        let row = rows.entry(stream).or_insert(Row { fence: 0, until: now, holder: String::new() });
        if row.until > now && !row.holder.is_empty() {
            return Ok(None);
        }
        *row = Row { fence: row.fence + 1, until: now + ttl, holder: holder.to_owned() };
        Ok(Some(Lease { stream, fence: row.fence }))
    }

    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>, LeaseError> {
        let now = Instant::now();
        let mut rows = self.rows();
        let mut standing = Vec::new();
        for lease in leases {
            if let Some(row) = rows.get_mut(&lease.stream)
                && row.fence == lease.fence
                && !row.holder.is_empty()
            {
                row.until = now + ttl;
                standing.push(*lease);
            }
        }
        Ok(standing)
    }

    async fn release(&self, lease: Lease, release: Release) -> Result<(), LeaseError> {
        let mut rows = self.rows();
        if let Some(row) = rows.get_mut(&lease.stream).filter(|row| row.fence == lease.fence) {
            match release {
                Release::Finished => drop(rows.remove(&lease.stream)),
                Release::HandedBack => row.until = Instant::now(),
                Release::Left => {
                    row.until = Instant::now() + LEFT_FOR;
                    row.holder.clear();
                }
            }
        }
        Ok(())
    }

    async fn adopt(&self, holder: &str, ttl: Duration, leases_max: u32) -> Result<Vec<Lease>, LeaseError> {
        let now = Instant::now();
        let mut rows = self.rows();
        let mut free: Vec<(Instant, StreamId)> = rows
            .iter()
            .filter(|(_, row)| row.until <= now)
            .map(|(stream, row)| (row.until, *stream))
            .collect();
        free.sort_unstable();
        free.truncate(leases_max as usize);
        let mut adopted = Vec::with_capacity(free.len());
        for (_, stream) in free {
            if let Some(row) = rows.get_mut(&stream) {
                *row = Row { fence: row.fence + 1, until: now + ttl, holder: holder.to_owned() };
                adopted.push(Lease { stream, fence: row.fence });
            }
        }
        Ok(adopted)
    }

    async fn held(&self, streams: &[StreamId]) -> Result<Vec<(StreamId, String)>, LeaseError> {
        let (now, rows) = (Instant::now(), self.rows());
        let holder = |stream: &StreamId| {
            let row = rows.get(stream).filter(|row| row.until > now && !row.holder.is_empty())?;
            Some((*stream, row.holder.clone()))
        };
        Ok(streams.iter().filter_map(holder).collect())
    }
}

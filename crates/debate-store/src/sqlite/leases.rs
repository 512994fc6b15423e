//! Leases of a file: locks of the system (rule K23). A process that ends lets go of them at once, and no clock decides
//! about others; its own leases run out where it does not renew them.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use debate_core::envelope::StreamId;
use tokio::time::Instant;

use super::{FileLock, SqliteStore, read};
use crate::leases::{Lease, LeaseError, Leases, Release};
use crate::port::Position;

/// Streams looked at per query.
const PAGE: u32 = 1_000;

/// The leases of one opening of a file.
#[derive(Debug)]
pub(super) struct FileLeases {
    lock: Arc<FileLock>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    held: HashMap<StreamId, Held>,
    /// Streams that others have or that were left, each with a number that grows: they may have to be adopted.
    others: HashMap<StreamId, u64>,
    /// Counts changes of hands.
    counter: u64,
    /// Streams opened up to here are known.
    seen: Position,
}

#[derive(Debug)]
struct Held {
    fence: u64,
    until: Instant,
    holder: String,
}

impl FileLeases {
    /// Makes leases of a file of which the last event stands at a position.
    pub(super) fn new(lock: Arc<FileLock>, seen: Position) -> Self {
        Self { lock, state: Mutex::new(State { seen, ..State::default() }) }
    }

    /// Returns whether a path leads to the file.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.lock.is_at(path)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a stream that has no holder.
    fn take(
        &self,
        state: &mut State,
        stream: StreamId,
        holder: &str,
        ttl: Duration,
    ) -> io::Result<Option<Lease>> {
        let now = Instant::now();
        if state.held.get(&stream).is_some_and(|held| held.until > now) {
            return Ok(None);
        }
        state.counter += 1;
        let fence = state.counter;
        if !self.lock.try_lock(stream)? {
            state.others.entry(stream).or_insert(fence);
            return Ok(None);
        }
        state.others.remove(&stream);
        state.held.insert(stream, Held { fence, until: now + ttl, holder: holder.to_owned() });
        Ok(Some(Lease { stream, fence }))
    }

    /// Lets go of leases that ran out.
    fn sweep(&self, state: &mut State) {
        let now = Instant::now();
        let State { held, others, counter, .. } = state;
        held.retain(|stream, held| {
            let stands = held.until > now;
            if !stands {
                self.lock.unlock(*stream);
                *counter += 1;
                others.insert(*stream, *counter);
            }
            stands
        });
    }
}

#[async_trait]
impl Leases for SqliteStore {
    async fn acquire(
        &self,
        stream: StreamId,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, LeaseError> {
        let leases = &self.leases;
        leases.take(&mut leases.state(), stream, holder, ttl).map_err(unlocked)
    }

    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>, LeaseError> {
        let until = Instant::now() + ttl;
        let mut state = self.leases.state();
        let mut standing = Vec::with_capacity(leases.len());
        for lease in leases {
            if let Some(held) = state.held.get_mut(&lease.stream).filter(|held| held.fence == lease.fence) {
                held.until = until;
                standing.push(*lease);
            }
        }
        self.leases.sweep(&mut state);
        Ok(standing)
    }

    async fn release(&self, lease: Lease, release: Release) -> Result<(), LeaseError> {
        let mut state = self.leases.state();
        if state.held.get(&lease.stream).is_none_or(|held| held.fence != lease.fence) {
            return Ok(());
        }
        state.held.remove(&lease.stream);
        self.leases.lock.unlock(lease.stream);
        if release == Release::HandedBack {
            state.counter += 1;
            let left = state.counter;
            state.others.insert(lease.stream, left);
        }
        Ok(())
    }

    async fn adopt(&self, holder: &str, ttl: Duration, leases_max: u32) -> Result<Vec<Lease>, LeaseError> {
        let seen = self.leases.state().seen;
        let opened =
            read::opened(&self.readers, seen, PAGE).await.map_err(|error| LeaseError(error.into()))?;
        let mut state = self.leases.state();
        self.leases.sweep(&mut state);
        for (position, stream) in opened {
            state.seen = state.seen.max(position);
            if !state.held.contains_key(&stream) {
                state.counter += 1;
                let left = state.counter;
                state.others.entry(stream).or_insert(left);
            }
        }
        let mut waiting: Vec<(u64, StreamId)> =
            state.others.iter().map(|(stream, since)| (*since, *stream)).collect();
        waiting.sort_unstable();
        let mut adopted = Vec::new();
        for (_, stream) in waiting {
            if adopted.len() == leases_max as usize {
                break;
            }
            adopted.extend(self.leases.take(&mut state, stream, holder, ttl).map_err(unlocked)?);
        }
        Ok(adopted)
    }

    async fn held(&self, streams: &[StreamId]) -> Result<Vec<(StreamId, String)>, LeaseError> {
        let mut state = self.leases.state();
        self.leases.sweep(&mut state);
        let mut held = Vec::new();
        for stream in streams {
            let holder = match state.held.get(stream) {
                Some(own) => Some(own.holder.clone()),
                None => self.leases.lock.holder(*stream).map_err(unlocked)?.map(process),
            };
            held.extend(holder.map(|holder| (*stream, holder)));
        }
        Ok(held)
    }
}

fn process(id: u32) -> String {
    if id == 0 { "another process".to_owned() } else { format!("process {id}") }
}

fn unlocked(error: io::Error) -> LeaseError {
    LeaseError(error.into())
}

//! When a request left for its provider. Before that it waits for its turn, here or before its provider's limits, and
//! how long that takes says nothing of the model.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use debate_llm::ChunkSink;
use tokio::time::Instant;

use crate::live::PublicTextFilter;

/// The moment at which one request left; none yet while it waits. Clones are of the same request.
#[derive(Debug, Clone, Default)]
pub(crate) struct SendTime(Arc<Mutex<Option<Instant>>>);

impl SendTime {
    /// Says that the request leaves now.
    pub(crate) fn leaves(&self) {
        *self.moment() = Some(Instant::now());
    }

    /// Returns when it left.
    pub(crate) fn at(&self) -> Option<Instant> {
        *self.moment()
    }

    /// Returns how long it has been on its way.
    pub(crate) fn age(&self) -> Option<Duration> {
        self.at().map(|left| left.elapsed())
    }

    fn moment(&self) -> MutexGuard<'_, Option<Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What hears a request: its text goes to the voice, its leaving is noted.
pub(crate) struct ChunkForwarder<'a> {
    pub(crate) voice: &'a mut PublicTextFilter,
    pub(crate) send_time: &'a SendTime,
}

impl ChunkSink for ChunkForwarder<'_> {
    fn push(&mut self, delta: &str) {
        self.voice.push(delta);
    }

    fn waits(&mut self) {
        *self.send_time.moment() = None;
    }

    fn leaves(&mut self) {
        self.send_time.leaves();
    }
}

//! Serializes changes in this process to the proposals for one reviewer's prompt.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use debate_core::formats::review::reviewer::ReviewerName;
use tokio::sync::OwnedMutexGuard;

/// One semaphore for each reviewer; those that are neither taken nor waited for are dropped.
#[derive(Debug, Default)]
pub(crate) struct OneAtATime(Mutex<BTreeMap<ReviewerName, Arc<tokio::sync::Mutex<()>>>>);

impl OneAtATime {
    /// Waits for the turn at a reviewer's proposals, which lasts as long as what is returned.
    pub(crate) async fn wait(&self, reviewer: &ReviewerName) -> OwnedMutexGuard<()> {
        self.turn(reviewer).lock_owned().await
    }

    fn turn(&self, reviewer: &ReviewerName) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        Arc::clone(turns.entry(reviewer.clone()).or_default())
    }
}

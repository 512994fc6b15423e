//! Finds the events of other processes for callers that wait: one small query per interval for all of them, and none
//! while no caller waits.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use debate_core::envelope::StreamId;
use debate_core::id::Seq;
use sqlx::SqlitePool;
use tokio::task::AbortHandle;

use crate::port::{Position, ReadError};
use crate::sqlite::read;
use crate::wake::Wakes;

/// Events looked at per query.
const PAGE: u32 = 1_000;

/// The position up to which all callers that wait were notified.
#[derive(Debug)]
pub(super) struct Cursor(AtomicU64);

impl Cursor {
    /// Starts at the last event.
    pub(super) fn new(last: Position) -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(last.0)))
    }

    /// Moves past events that this process wrote and announced itself, unless events of other processes precede them.
    pub(super) fn skip_own(&self, first: Position, last: Position) {
        let before = first.0.saturating_sub(1);
        // A failure means that others wrote as well; the next poll then reads both.
        let _ = self.0.compare_exchange(before, last.0, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Starts to poll in the background.
pub(super) fn spawn(
    readers: SqlitePool,
    wakes: Arc<Wakes>,
    cursor: Arc<Cursor>,
    interval: Duration,
) -> AbortHandle {
    let task = async move {
        let mut waiting = wakes.waiting();
        while waiting.wait_for(|count| *count > 0).await.is_ok() {
            tokio::time::sleep(interval).await;
            match poll(&readers, &wakes, &cursor).await {
                Ok(()) => {}
                Err(ReadError::Closed) => return,
                Err(error) => tracing::warn!(%error, "cannot look for events of other processes"),
            }
        }
    };
    tokio::spawn(task).abort_handle()
}

async fn poll(readers: &SqlitePool, wakes: &Wakes, cursor: &Cursor) -> Result<(), ReadError> {
    loop {
        let after = Position(cursor.0.load(Ordering::Acquire));
        let page = read::places(readers, after, PAGE).await?;
        let Some(&(last, ..)) = page.last() else { return Ok(()) };
        let mut heads: HashMap<StreamId, Seq> = HashMap::new();
        heads.extend(page.iter().map(|&(_, stream, seq)| (stream, seq)));
        wakes.committed(&heads.into_iter().collect::<Vec<_>>(), last);
        cursor.0.fetch_max(last.0, Ordering::AcqRel);
    }
}

//! TLS handshakes that fail: told in the log, and not so often that strangers fill it.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How far apart two lines in the log are at least.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Handshakes that failed.
#[derive(Debug, Default)]
pub(crate) struct Handshakes(Mutex<Failed>);

#[derive(Debug, Default)]
struct Failed {
    told_at: Option<Instant>,
    /// How many failed since.
    untold: u64,
}

impl Handshakes {
    /// Notes one that failed.
    pub(crate) fn failed(&self, address: SocketAddr, why: &dyn Display) {
        if let Some(untold) = self.count() {
            tracing::warn!(%address, %why, untold, "a TLS handshake failed");
        }
    }

    /// Counts one; returns how many were not told of before, where it is time to tell again.
    fn count(&self) -> Option<u64> {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if failed.told_at.is_some_and(|told_at| now - told_at < TOLD_EVERY) {
            failed.untold += 1;
            return None;
        }
        failed.told_at = Some(now);
        Some(std::mem::take(&mut failed.untold))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn f14_failed_handshakes_are_told_of_every_ten_seconds_and_all_are_counted() {
        let handshakes = Handshakes::default();
        assert_eq!([(); 4].map(|()| handshakes.count()), [Some(0), None, None, None]);
        tokio::time::advance(TOLD_EVERY).await;
        assert_eq!([(); 2].map(|()| handshakes.count()), [Some(3), None]);
    }
}

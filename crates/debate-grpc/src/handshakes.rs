//! TLS handshakes that fail: logged, but not so often that strangers can fill the log.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The shortest time between two lines in the log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Handshakes that failed.
#[derive(Debug, Default)]
pub(crate) struct Handshakes(Mutex<Failed>);

#[derive(Debug, Default)]
struct Failed {
    logged_at: Option<Instant>,
    /// How many failed since.
    suppressed: u64,
}

impl Handshakes {
    /// Notes one that failed.
    pub(crate) fn failed(&self, address: SocketAddr, why: &dyn Display) {
        if let Some(suppressed) = self.count() {
            tracing::warn!(%address, %why, suppressed, "a TLS handshake failed");
        }
    }

    /// Counts one. If it is time to log again, returns how many were not logged before.
    fn count(&self) -> Option<u64> {
        let mut failed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if failed.logged_at.is_some_and(|logged_at| now - logged_at < LOG_INTERVAL) {
            failed.suppressed += 1;
            return None;
        }
        failed.logged_at = Some(now);
        Some(std::mem::take(&mut failed.suppressed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn f14_failed_handshakes_are_logged_every_10_s_and_all_counted() {
        let handshakes = Handshakes::default();
        assert_eq!([(); 4].map(|()| handshakes.count()), [Some(0), None, None, None]);
        tokio::time::advance(LOG_INTERVAL).await;
        assert_eq!([(); 2].map(|()| handshakes.count()), [Some(3), None]);
    }
}

//! Who a caller is and what it may use.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use debate_core::id::Timestamp;
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::state::{InMemoryState, NotKeyed};
use governor::{Quota, RateLimiter};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::refusal::Refusal;
use crate::serve::MESSAGE_BYTES_MAX;
use crate::tokens::{Scope, TokenEntry, TokenLimits};

/// Requests in a minute, unless a token says otherwise.
const REQUESTS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(60_000).expect("not zero");
/// Requests at one time, unless a token says otherwise.
const REQUESTS_AT_ONCE: NonZeroU32 = NonZeroU32::new(10_000).expect("not zero");
/// How much of a minute's requests may come at once.
const BURST_SHARE: u32 = 6;

/// What the bearer of one token may do.
#[derive(Debug)]
pub(crate) struct Grant {
    /// The client's name; empty for who needs none.
    pub(crate) name: String,
    /// Whose debates it sees.
    pub(crate) tenant: String,
    pub(crate) limits: TokenLimits,
    /// One start at a time where the day's money or what runs at one time is limited, so that two do not take the same.
    pub(crate) spending: Arc<tokio::sync::Mutex<()>>,
    scopes: BTreeSet<Scope>,
    formats: BTreeSet<String>,
    expires_at: Option<Timestamp>,
    is_revoked: AtomicBool,
    rate: RateLimiter<NotKeyed, InMemoryState, SinceStart, NoOpMiddleware<Duration>>,
    at_once: Arc<Semaphore>,
}

impl Grant {
    /// Grants everything to the only tenant, within the limits that hold for everybody.
    pub(crate) fn everything() -> Self {
        let scopes = BTreeSet::from([Scope::Admin]);
        Self::new(String::new(), String::new(), scopes, BTreeSet::new(), TokenLimits::default(), None)
    }

    /// Grants what a token's entry says.
    pub(crate) fn of(entry: &TokenEntry) -> Self {
        Self::new(
            entry.name.clone(),
            entry.tenant.clone(),
            entry.scopes.clone(),
            entry.formats.clone(),
            entry.limits,
            entry.expires_at,
        )
    }

    fn new(
        name: String,
        tenant: String,
        scopes: BTreeSet<Scope>,
        formats: BTreeSet<String>,
        limits: TokenLimits,
        expires_at: Option<Timestamp>,
    ) -> Self {
        let per_minute = limits.requests_per_minute.unwrap_or(REQUESTS_PER_MINUTE);
        let burst = NonZeroU32::new(per_minute.get() / BURST_SHARE).unwrap_or(NonZeroU32::MIN);
        let quota = Quota::per_minute(per_minute).allow_burst(burst);
        let at_once = limits.requests_at_once.unwrap_or(REQUESTS_AT_ONCE);
        Self {
            name,
            tenant,
            limits,
            spending: Arc::default(),
            scopes,
            formats,
            expires_at,
            is_revoked: AtomicBool::new(false),
            rate: RateLimiter::direct_with_clock(quota, SinceStart(Instant::now())),
            at_once: Arc::new(Semaphore::new(at_once.get() as usize)),
        }
    }

    /// Returns whether it may do what needs a scope.
    pub(crate) fn may(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope) || self.scopes.contains(&Scope::Admin)
    }

    /// Returns whether it may start debates of a format.
    pub(crate) fn may_start(&self, format: &str) -> bool {
        self.formats.is_empty() || self.formats.contains(format)
    }

    /// Takes one request's share of what it may use, until the permit is dropped.
    ///
    /// # Errors
    /// Too many requests came, or are under way.
    pub(crate) fn enter(&self) -> Result<OwnedSemaphorePermit, Refusal> {
        self.rate.check().map_err(|not_until| Refusal::TooFast {
            wait: not_until.wait_time_from(self.rate.clock().now()),
        })?;
        Arc::clone(&self.at_once).try_acquire_owned().map_err(|_| Refusal::TooManyAtOnce)
    }

    /// Returns the bytes that one request may have.
    pub(crate) fn request_bytes_max(&self) -> usize {
        self.limits.request_bytes_max.map_or(MESSAGE_BYTES_MAX, |bytes| bytes.get() as usize)
    }

    /// Ends it, for streams that are open too.
    pub(crate) fn revoke(&self) {
        self.is_revoked.store(true, Ordering::Relaxed);
    }

    /// Returns whether it still holds.
    pub(crate) fn holds(&self) -> bool {
        !self.is_revoked.load(Ordering::Relaxed) && self.expires_at.is_none_or(|at| now() < at)
    }
}

/// Returns the time of day.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The time since the limits began to count.
#[derive(Debug, Clone)]
struct SinceStart(Instant);

impl Clock for SinceStart {
    type Instant = Duration;

    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_are_counted_by_the_minute_and_at_one_time() {
        let limits = TokenLimits {
            requests_per_minute: NonZeroU32::new(12),
            requests_at_once: NonZeroU32::new(1),
            ..TokenLimits::default()
        };
        let grant =
            Grant::new("app".to_owned(), String::new(), BTreeSet::new(), BTreeSet::new(), limits, None);
        let permit = grant.enter().unwrap();
        assert_eq!(grant.enter().unwrap_err(), Refusal::TooManyAtOnce);
        drop(permit);
        let Err(Refusal::TooFast { wait }) = grant.enter() else { panic!("two came at once") };
        assert_eq!(wait, Duration::from_secs(5));
        tokio::time::advance(wait).await;
        assert!(grant.enter().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn default_limits_are_60_000_a_minute_and_10_000_at_once() {
        let grant = Grant::everything();
        let permits: Vec<_> = (0..10_000).map(|_| grant.enter().unwrap()).collect();
        let wait = Duration::from_millis(1);
        assert_eq!(grant.enter().unwrap_err(), Refusal::TooFast { wait });
        tokio::time::advance(wait).await;
        assert_eq!(grant.enter().unwrap_err(), Refusal::TooManyAtOnce);
        drop(permits);
        tokio::time::advance(wait).await;
        assert!(grant.enter().is_ok());
    }
}

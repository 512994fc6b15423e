//! So much a minute, with a way to give back what was taken too much.
//!
//! `governor` counts by the theoretical arrival time of the next cell; giving back moves that time, and because it
//! never counts before now, a bucket is never fuller than full.

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::{NotKeyed, StateStore};
use governor::{Quota, RateLimiter};
use tokio::time::Instant;

/// A bucket that holds what may be taken in a minute, and is filled as fast.
#[derive(Debug)]
pub(super) struct Bucket {
    limiter: RateLimiter<NotKeyed, Arrival, SinceStart, NoOpMiddleware<Duration>>,
    arrival: Arrival,
    capacity: u32,
    cell_nanos: u64,
}

impl Bucket {
    /// Makes a full bucket.
    pub(super) fn new(per_minute: NonZeroU32) -> Self {
        let quota = Quota::per_minute(per_minute);
        let arrival = Arrival::default();
        let cell_nanos = u64::try_from(quota.replenish_interval().as_nanos()).unwrap_or(u64::MAX);
        Self {
            limiter: RateLimiter::new(quota, arrival.clone(), SinceStart(Instant::now())),
            arrival,
            capacity: per_minute.get(),
            cell_nanos,
        }
    }

    /// Returns as much of `wanted` as the bucket can ever give at once.
    pub(super) fn at_most(&self, wanted: u64) -> u32 {
        u32::try_from(wanted).unwrap_or(u32::MAX).min(self.capacity)
    }

    /// Takes `cells`, or nothing.
    ///
    /// # Errors
    /// The time until that many are available, if no other caller takes any.
    pub(super) fn take(&self, cells: u32) -> Result<(), Duration> {
        let Some(cells) = NonZeroU32::new(cells.min(self.capacity)) else { return Ok(()) };
        match self.limiter.check_n(cells) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(not_until)) => Err(not_until.wait_time_from(self.limiter.clock().now())),
            // No more than the capacity is ever asked for.
            Err(_) => Err(Duration::MAX),
        }
    }

    /// Puts right what was taken for a call that has used `used`: gives back what is too much, owes what is too little.
    pub(super) fn settle(&self, taken: u32, used: u64) {
        self.arrival.shift(u64::from(taken), used, self.cell_nanos);
    }
}

/// The theoretical arrival time of the next cell, in nanoseconds since the start.
#[derive(Debug, Clone, Default)]
struct Arrival(Arc<Mutex<Option<u64>>>);

impl Arrival {
    fn shift(&self, taken: u64, used: u64, cell_nanos: u64) {
        let mut arrival = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = arrival.unwrap_or_default();
        let owed = used.saturating_sub(taken).saturating_mul(cell_nanos);
        let given_back = taken.saturating_sub(used).saturating_mul(cell_nanos);
        *arrival = Some(now.saturating_add(owed).saturating_sub(given_back));
    }
}

impl StateStore for Arrival {
    type Key = NotKeyed;

    fn measure_and_replace<T, F, E>(&self, _key: &NotKeyed, decide: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let mut arrival = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (decided, next) = decide(arrival.map(Nanos::from))?;
        *arrival = Some(next.as_u64());
        Ok(decided)
    }
}

/// Tokio's clock, which tests can stop.
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

    fn bucket(per_minute: u32) -> Bucket {
        Bucket::new(NonZeroU32::new(per_minute).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_bucket_gives_a_minutes_worth_and_then_fills_as_time_passes() {
        let bucket = bucket(60);
        assert_eq!(bucket.take(60), Ok(()));
        assert_eq!(bucket.take(2), Err(Duration::from_secs(2)));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(bucket.take(2), Ok(()));
        assert_eq!(bucket.take(1), Err(Duration::from_secs(1)));
        assert_eq!((bucket.at_most(61), bucket.at_most(u64::MAX), bucket.at_most(7)), (60, 60, 7));
        assert_eq!(bucket.take(0), Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_taken_too_much_is_given_back_and_never_more_than_a_full_bucket() {
        let bucket = bucket(60);
        assert_eq!(bucket.take(60), Ok(()));
        bucket.settle(60, 10);
        assert_eq!(bucket.take(50), Ok(()));
        assert_eq!(bucket.take(1), Err(Duration::from_secs(1)));
        bucket.settle(50, 0);
        tokio::time::advance(Duration::from_secs(3600)).await;
        bucket.settle(60, 0);
        assert_eq!(bucket.take(60), Ok(()));
        assert_eq!(bucket.take(1), Err(Duration::from_secs(1)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_used_beyond_what_was_taken_is_owed() {
        let bucket = bucket(60);
        assert_eq!(bucket.take(30), Ok(()));
        bucket.settle(30, 70);
        assert_eq!(bucket.take(1), Err(Duration::from_secs(11)));
    }
}

//! When the wire is tried again (K5): how often, after how long, and what `Retry-After` says; and whether a server is
//! absent, so that it is waited for (K22).

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use http::header::{HeaderMap, RETRY_AFTER};

use crate::call_time::ABSENT_MAX;
use crate::{ModelError, ModelErrorKind, TimeoutStage};

/// How often and how patiently the wire is tried again before the first byte of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryPolicy {
    /// The most requests sent for one call, the first included; at least 1. A server that is absent is asked more often.
    pub tries_max: u32,
    /// The upper end of the first wait; it doubles with each try.
    pub backoff: Duration,
    /// The upper end of every wait.
    pub backoff_max: Duration,
    /// How long an absent server, or a provider at its limits, is waited for where the call has no end of its own (K22).
    pub absent_max: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            tries_max: 4,
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(15),
            absent_max: ABSENT_MAX,
        }
    }
}

impl RetryPolicy {
    /// Returns whether all tries are used up after `retries` of them.
    pub(super) fn is_used_up(&self, retries: u32) -> bool {
        retries.saturating_add(1) >= self.tries_max
    }

    /// Returns the wait before the next try after `retries` of them, with full jitter; never shorter than the
    /// provider asked for.
    pub(super) fn next_wait(&self, retries: u32, retry_after: Option<Duration>, jitter: f64) -> Duration {
        let ceiling = self.backoff.saturating_mul(1 << retries.min(20)).min(self.backoff_max);
        let wait = ceiling.mul_f64(jitter.clamp(0.0, 1.0));
        retry_after.map_or(wait, |asked| asked.max(wait))
    }
}

/// Returns whether the server is absent or has no room now, so that waiting for it helps (K22): no connection, no capacity,
/// too many requests, or a gateway whose server is gone.
pub(super) fn is_absent(error: &ModelError) -> bool {
    match &error.kind {
        ModelErrorKind::Connection
        | ModelErrorKind::Timeout(TimeoutStage::Connect)
        | ModelErrorKind::Overloaded { .. }
        | ModelErrorKind::RateLimited { .. } => true,
        ModelErrorKind::Server { .. } => matches!(error.status, Some(502 | 504)),
        ModelErrorKind::CircuitOpen { .. }
        | ModelErrorKind::Timeout(_)
        | ModelErrorKind::Auth
        | ModelErrorKind::UnknownModel
        | ModelErrorKind::QuotaExhausted
        | ModelErrorKind::BadRequest
        | ModelErrorKind::WindowExceeded { .. }
        | ModelErrorKind::Malformed
        | ModelErrorKind::TooLarge
        | ModelErrorKind::Truncated
        | ModelErrorKind::StreamError
        | ModelErrorKind::Refused
        | ModelErrorKind::Cancelled => false,
    }
}

/// Returns a number in [0, 1) that differs from process to process and from call to call.
pub(super) fn jitter() -> f64 {
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    let drawn = RandomState::new().hash_one(DRAWN.fetch_add(1, Ordering::Relaxed));
    (drawn >> 11) as f64 / (1_u64 << 53) as f64
}

/// Reads `retry-after-ms`, or `Retry-After` as seconds or as an HTTP date.
pub(super) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    // What cannot be used hides nothing: the other header may say it better.
    let wait =
        |name: &str, unit: f64| Duration::try_from_secs_f64(text(name)?.parse::<f64>().ok()? / unit).ok();
    if let Some(wait) = wait("retry-after-ms", 1000.0).or_else(|| wait(RETRY_AFTER.as_str(), 1.0)) {
        return Some(wait);
    }
    let date = httpdate::parse_http_date(text(RETRY_AFTER.as_str())?).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::{HeaderName, HeaderValue};

    #[test]
    fn k5_waits_double_are_capped_and_end() {
        let policy = RetryPolicy::default();
        let wait = |retries| policy.next_wait(retries, None, 1.0);
        assert_eq!(wait(0), Duration::from_millis(500));
        assert_eq!(wait(1), Duration::from_secs(1));
        assert_eq!(wait(90), Duration::from_secs(15));
        assert_eq!(policy.next_wait(90, None, 0.0), Duration::ZERO);
        assert_eq!([2, 3, u32::MAX].map(|retries| policy.is_used_up(retries)), [false, true, true]);
    }

    #[test]
    fn k5_a_wait_is_never_shorter_than_the_provider_asked_for() {
        let policy = RetryPolicy::default();
        assert_eq!(policy.next_wait(0, Some(Duration::from_secs(20)), 0.5), Duration::from_secs(20));
    }

    #[test]
    fn jitter_lies_in_the_unit_interval_and_varies() {
        let drawn: Vec<f64> = (0..100).map(|_| jitter()).collect();
        assert!(drawn.iter().all(|x| (0.0..1.0).contains(x)));
        assert!(drawn.iter().any(|x| *x < 0.5) && drawn.iter().any(|x| *x >= 0.5));
    }

    #[test]
    fn retry_after_is_read_in_every_form() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        for (name, value, want) in [
            ("retry-after", "2", Some(2000)),
            ("retry-after", "0.25", Some(250)),
            ("retry-after-ms", "35", Some(35)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT", Some(0)),
            ("retry-after", "-3", None),
            ("retry-after", "soon", None),
            ("retry-after", "inf", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
            assert_eq!(retry_after(&headers, now), want.map(Duration::from_millis), "{name}: {value}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }

    #[test]
    fn a_retry_after_ms_that_cannot_be_used_hides_no_retry_after() {
        for (ms, seconds, want) in
            [("-1", "2", 2000), ("soon", "2", 2000), ("inf", "2", 2000), ("35", "2", 35)]
        {
            let mut headers = HeaderMap::new();
            headers.insert(HeaderName::from_static("retry-after-ms"), HeaderValue::from_static(ms));
            headers.insert(RETRY_AFTER, HeaderValue::from_static(seconds));
            let waited = retry_after(&headers, SystemTime::UNIX_EPOCH);
            assert_eq!(waited, Some(Duration::from_millis(want)), "{ms} and {seconds}");
        }
    }
}

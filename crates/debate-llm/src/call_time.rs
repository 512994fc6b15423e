//! The time of one call.

use std::time::Duration;

use tokio::time::Instant;

/// A time that no call takes: a year.
pub(crate) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// How long an absent server is waited for where the call has no end of its own (rule K22).
#[cfg(feature = "http")]
pub(crate) const ABSENT_MAX: Duration = Duration::from_secs(15 * 60);

/// The time of one call (rule K22). It begins when the request leaves, not while it waits for its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallTime {
    /// The longest wait for the first token of the answer, thinking included.
    pub first_token: Duration,
    /// The longest silence within the answer.
    pub idle: Duration,
    /// The longest time for the whole call, all its tries included, its waits not; unlimited when absent.
    pub total: Option<Duration>,
    /// When the caller has no more use for an answer, the wait for a turn included; never when absent.
    pub give_up_at: Option<Instant>,
}

impl CallTime {
    /// Limits the whole call, and gives each part of it as much.
    #[must_use]
    pub const fn total(limit: Duration) -> Self {
        Self { first_token: limit, idle: limit, total: Some(limit), give_up_at: None }
    }
}

impl From<Duration> for CallTime {
    fn from(limit: Duration) -> Self {
        Self::total(limit)
    }
}

impl Default for CallTime {
    /// 600 s to the first token, then 60 s of silence; no limit of the whole (rule K22).
    fn default() -> Self {
        Self {
            first_token: Duration::from_secs(600),
            idle: Duration::from_secs(60),
            total: None,
            give_up_at: None,
        }
    }
}

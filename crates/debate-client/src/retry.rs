//! What is tried again, how often, and after which pauses.

use std::error::Error as _;
use std::time::Duration;

use tonic::{Code, Status};

/// The patience with a server that is away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// Tries in a row that bring nothing new, after which it is given up.
    pub tries_max: u32,
    /// The pause before the first of them; each further one is twice as long.
    pub pause: Duration,
    /// The longest pause.
    pub pause_max: Duration,
}

impl Default for Retry {
    /// Gives up after ten tries, about half a minute.
    fn default() -> Self {
        Self { tries_max: 10, pause: Duration::from_millis(100), pause_max: Duration::from_secs(5) }
    }
}

impl Retry {
    /// Returns the pauses before the tries, as many as there are.
    pub(crate) fn pauses(self) -> impl Iterator<Item = Duration> {
        (0..self.tries_max).map(move |nth| self.before(nth))
    }

    /// Returns the pause before a try, counted from 0.
    pub(crate) fn before(self, nth: u32) -> Duration {
        self.pause.saturating_mul(1 << nth.min(16)).min(self.pause_max)
    }
}

/// Returns whether the same may be asked again: the server ended, the way to it broke, or it gave up a stream that was not
/// read. What a server says has no cause here; whatever has one is of the connection, whichever code it was given.
pub(crate) fn is_cut(status: &Status) -> bool {
    status.source().is_some()
        || matches!(
            status.code(),
            Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled | Code::Aborted
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_end() {
        let retry =
            Retry { tries_max: 8, pause: Duration::from_millis(100), pause_max: Duration::from_secs(5) };
        let ms: Vec<u128> = retry.pauses().map(|pause| pause.as_millis()).collect();
        assert_eq!(ms, [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
        assert_eq!(retry.before(u32::MAX), Duration::from_secs(5));
    }

    #[test]
    fn k10_a_stream_that_was_not_read_goes_on_and_one_that_is_refused_does_not() {
        assert!(is_cut(&Status::aborted("the stream was not read")));
        assert!(!is_cut(&Status::not_found("there is no such debate")));
        assert!(!is_cut(&Status::permission_denied("the token lacks read")));
    }

    #[test]
    fn k10_a_connection_that_ends_after_many_streams_is_no_refusal() {
        let worn_out = Status::from_error(h2::Error::from(h2::Reason::ENHANCE_YOUR_CALM).into());
        assert_eq!(worn_out.code(), Code::ResourceExhausted);
        assert!(is_cut(&worn_out));
        assert!(!is_cut(&Status::resource_exhausted("too many requests of this token")));
    }
}

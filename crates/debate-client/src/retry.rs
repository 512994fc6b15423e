//! What is tried again, how often, and after which pauses.

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

/// Returns whether the same may be asked again: the server ended, or the way to it broke.
pub(crate) fn is_cut(status: &Status) -> bool {
    matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled)
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
}

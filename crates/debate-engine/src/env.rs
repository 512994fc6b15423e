//! The clock and the dice: the two things that the pure core is handed. A simulation brings its own.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use debate_core::id::{DebateId, Timestamp};
use rand::Rng;

/// Where time and randomness come from.
#[derive(Clone)]
pub struct Env {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    draw: Arc<dyn Fn() -> [u8; 16] + Send + Sync>,
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Env")
    }
}

impl Env {
    /// Returns the machine's clock and randomness.
    #[must_use]
    pub fn real() -> Self {
        let clock = SteadyClock::default();
        Self::new(
            move || clock.now(),
            || {
                let mut bytes = [0; 16];
                rand::rng().fill_bytes(&mut bytes);
                bytes
            },
        )
    }

    /// Takes a clock and a source of sixteen random bytes.
    pub fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        draw: impl Fn() -> [u8; 16] + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), draw: Arc::new(draw) }
    }

    /// Returns the time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.now)()
    }

    /// Returns how long it is until a time; nothing once it has come.
    #[must_use]
    pub(crate) fn until(&self, at: Timestamp) -> Duration {
        Duration::from_millis(at.since_ms(self.now()))
    }

    /// Draws the salt of one event's prose.
    #[must_use]
    pub fn salt(&self) -> [u8; 16] {
        (self.draw)()
    }

    /// Draws the id of a new debate, a UUID v4.
    #[must_use]
    pub fn debate_id(&self) -> DebateId {
        DebateId(uuid::Builder::from_random_bytes((self.draw)()).into_uuid())
    }
}

/// A wall clock without steps. Between two readings, time advances as on the machine's monotonic clock, so that no
/// deadline comes early or late because the system clock was set. It follows the system clock slowly.
#[derive(Debug, Default)]
struct SteadyClock(Mutex<Option<Anchor>>);

#[derive(Debug, Clone, Copy)]
struct Anchor {
    time: Timestamp,
    /// What the monotonic clock said then.
    at: Duration,
    /// The last time that was returned: it never goes back.
    latest: Timestamp,
}

/// How often the clock is corrected, and by how much at most each time.
const CORRECTED_EVERY: Duration = Duration::from_secs(60);
const CORRECTION_MS_MAX: i64 = 1_000;

impl SteadyClock {
    fn now(&self) -> Timestamp {
        let mut anchor = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (wall, at) = (system_time(), monotonic());
        let known = anchor.get_or_insert(Anchor { time: wall, at, latest: wall });
        known.tell(wall, at)
    }
}

impl Anchor {
    fn tell(&mut self, wall: Timestamp, at: Duration) -> Timestamp {
        let passed = at.saturating_sub(self.at);
        let mut now = self.time.plus_ms(u64::try_from(passed.as_millis()).unwrap_or(u64::MAX));
        let due = passed.as_secs() / CORRECTED_EVERY.as_secs();
        if due > 0 {
            let most = CORRECTION_MS_MAX.saturating_mul(i64::try_from(due).unwrap_or(i64::MAX));
            now = Timestamp(now.0.saturating_add(wall.0.saturating_sub(now.0).clamp(-most, most)));
            (self.time, self.at) = (now, at);
        }
        self.latest = self.latest.max(now);
        self.latest
    }
}

/// Returns the time since some moment, by a clock that cannot be set and that advances while the machine sleeps.
#[cfg(target_os = "linux")]
fn monotonic() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Returns the time since some moment, by a clock that cannot be set.
#[cfg(not(target_os = "linux"))]
fn monotonic() -> Duration {
    static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(std::time::Instant::now);
    START.elapsed()
}

fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f15_a_step_of_the_wall_clock_ends_no_debate() {
        let (start, began) = (Timestamp(1_000_000_000), Duration::from_secs(77));
        let mut anchor = Anchor { time: start, at: began, latest: start };
        let mut tell = |seconds: u64, wall_ms: i64| {
            anchor.tell(Timestamp(start.0 + wall_ms), began + Duration::from_secs(seconds)).0 - start.0
        };
        assert_eq!(tell(10, 3_610_000), 10_000, "an hour ahead");
        assert_eq!(tell(30, -3_570_000), 30_000, "an hour back");
        // It follows by a second a minute, forwards and backwards, and never goes back itself.
        assert_eq!(tell(60, 3_660_000), 61_000);
        assert_eq!(tell(90, 3_690_000), 91_000);
        assert_eq!(tell(150, -1_000), 150_000);
        assert_eq!(tell(270, 270_300), 270_300, "a little wrong is set right");
        assert_eq!(tell(330, 329_000), 329_300);
        assert_eq!(tell(330, 329_000), 329_300);
    }
}

//! The clock and the dice: the two things that the pure core is handed. A simulation brings its own.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use debate_core::id::{DebateId, Timestamp};
use rand::Rng;

/// Where time and randomness come from.
#[derive(Clone)]
pub struct Surroundings {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    draw: Arc<dyn Fn() -> [u8; 16] + Send + Sync>,
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surroundings")
    }
}

impl Surroundings {
    /// Returns the machine's clock and randomness.
    #[must_use]
    pub fn real() -> Self {
        Self::new(system_time, || {
            let mut bytes = [0; 16];
            rand::rng().fill_bytes(&mut bytes);
            bytes
        })
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

fn system_time() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

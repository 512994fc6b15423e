//! Simulated time: the runtime's paused clock within one life of a process, carried on from life to life.

use std::sync::{Mutex, MutexGuard, PoisonError};

use debate_core::id::Timestamp;
use debate_llm::simulated::Draw;
use tokio::time::Instant;

/// What the first moment of every world is called.
const EPOCH: Timestamp = Timestamp(1_800_000_000_000);

/// A clock that only moves when nothing else can, or by a tick of its own while it is read.
#[derive(Debug)]
pub struct Clock {
    hands: Mutex<Hands>,
}

#[derive(Debug)]
struct Hands {
    /// Milliseconds up to the start of this life.
    before_ms: u64,
    life: Option<Instant>,
    /// Milliseconds that passed while the clock was read.
    ticks_ms: u64,
    draw: Option<Draw>,
}

impl Clock {
    /// Creates a clock; with a seed, reading it sometimes takes a millisecond, as on a real machine.
    #[must_use]
    pub fn new(ticking: Option<u64>) -> Self {
        let draw = ticking.map(Draw::new);
        Self { hands: Mutex::new(Hands { before_ms: 0, life: None, ticks_ms: 0, draw }) }
    }

    /// Begins a life of the process; call it on the life's runtime.
    pub fn begin_life(&self) {
        self.hands().life = Some(Instant::now());
    }

    /// Ends a life; the next begins `downtime_ms` later. Call it on the life's runtime.
    pub fn end_life(&self, downtime_ms: u64) {
        let mut hands = self.hands();
        hands.before_ms = hands.elapsed_ms() + downtime_ms;
        hands.life = None;
    }

    /// Returns the milliseconds since the world began.
    #[must_use]
    pub fn elapsed_ms(&self) -> u64 {
        self.hands().elapsed_ms()
    }

    /// Reads the clock as a process does.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let mut hands = self.hands();
        if hands.draw.as_mut().is_some_and(|draw| draw.chance(0.2)) {
            hands.ticks_ms += 1;
        }
        EPOCH.plus_ms(hands.elapsed_ms() + hands.ticks_ms)
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hands {
    fn elapsed_ms(&self) -> u64 {
        let life = self.life.map_or(0, |started| started.elapsed().as_millis());
        self.before_ms + u64::try_from(life).unwrap_or(u64::MAX)
    }
}

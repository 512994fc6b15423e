//! What all parts of one world share: the true store, the clock, the ledger of what was said and done, the trace.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use debate_engine::Env;
use debate_llm::simulated::Draw;
use debate_store::MemoryStore;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::ledger::Ledger;
use crate::writer::Writer;

/// What all parts of one world share.
#[derive(Debug)]
pub struct Stage {
    /// What is really stored.
    pub store: MemoryStore,
    /// The time.
    pub clock: Clock,
    /// Notified on every write to the store.
    pub moved: Notify,
    crashed: Notify,
    frozen: AtomicBool,
    ledger: Mutex<Ledger>,
    writers: AtomicU32,
    traced: bool,
}

impl Stage {
    /// Creates an empty stage.
    #[must_use]
    pub fn new(clock: Clock, traced: bool) -> Arc<Self> {
        Arc::new(Self {
            store: MemoryStore::new(),
            clock,
            moved: Notify::new(),
            crashed: Notify::new(),
            frozen: AtomicBool::new(false),
            ledger: Mutex::default(),
            writers: AtomicU32::new(0),
            traced,
        })
    }

    /// Returns the ledger.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Names the next life of an engine.
    pub fn new_writer(&self) -> Writer {
        Writer(self.writers.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns clock and dice for one writer; its dice follow from the seed and the writer alone.
    pub fn env(self: &Arc<Self>, seed: u64, writer: Writer) -> Env {
        let stage = Arc::clone(self);
        let dice = Mutex::new(Draw::new(seed ^ u64::from(writer.0 + 1).rotate_left(40)));
        Env::new(
            move || stage.clock.now(),
            move || {
                let mut dice = dice.lock().unwrap_or_else(PoisonError::into_inner);
                let mut bytes = [0; 16];
                bytes[..8].copy_from_slice(&dice.next_u64().to_le_bytes());
                bytes[8..].copy_from_slice(&dice.next_u64().to_le_bytes());
                bytes
            },
        )
    }

    /// Begins a life of the process.
    pub fn begin_life(&self) {
        self.frozen.store(false, Ordering::Relaxed);
        self.clock.begin_life();
    }

    /// Kills the process: from here on nothing of it gets through, until the next life.
    pub fn crash(&self) {
        self.frozen.store(true, Ordering::Relaxed);
        self.crashed.notify_one();
    }

    /// Returns once the process was killed.
    pub async fn crashed(&self) {
        self.crashed.notified().await;
    }

    /// Lets a living process pass; a killed one never comes back from here.
    pub async fn alive(&self) {
        if self.frozen.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }

    /// Shows a line of the trace.
    pub fn say(&self, line: impl FnOnce() -> String) {
        if self.traced {
            let seconds = self.clock.elapsed_ms() as f64 / 1e3;
            // A reader who has seen enough ends the trace, not the run.
            let _unread = writeln!(std::io::stdout(), "{seconds:>9.3}s  {}", line());
        }
    }
}

//! A store that fails as stores do: slowly, before or after it wrote, in bursts, or together with the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::Seq;
use debate_llm::simulated::Draw;
use debate_store::{
    Append, AppendError, EventStore, Head, ListFilter, Listed, Position, ReadError, RedactError, RequestOwner,
};

use crate::stage::Stage;
use crate::writer::Writer;

/// What happens to one operation on the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// It fails, and nothing was written.
    Refused,
    /// It fails, but what was to be written is written.
    Unheard,
    /// It takes so many milliseconds.
    Slow(u64),
}

/// The process dies when the event with this sequence number is to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrashAt {
    /// The sequence number.
    pub seq: Seq,
    /// Whether the event is stored when the process dies.
    pub stored: bool,
}

/// What is to go wrong with the store of one world, in all lives of its engines.
#[derive(Debug)]
pub struct Fates {
    /// Operations so far.
    operations: u64,
    faults: BTreeMap<u64, StoreFault>,
    crashes: Vec<CrashAt>,
    slowness: Option<(Draw, u64)>,
}

impl Fates {
    /// Plans what goes wrong: faults by the number of the operation, from 1; crashes, each once; and whether
    /// appends take up to so many milliseconds, drawn from a seed.
    #[must_use]
    pub fn new(
        faults: BTreeMap<u64, StoreFault>,
        crashes: Vec<CrashAt>,
        slowness: Option<(u64, u64)>,
    ) -> Arc<Mutex<Self>> {
        let slowness = slowness.map(|(seed, ms)| (Draw::new(seed), ms));
        Arc::new(Mutex::new(Self { operations: 0, faults, crashes, slowness }))
    }

    fn next(&mut self) -> Option<StoreFault> {
        self.operations += 1;
        self.faults.remove(&self.operations)
    }

    fn crash_in(&mut self, append: &Append) -> Option<CrashAt> {
        let last = append.envelopes().last().map_or(append.expected, |last| last.seq);
        let hits = |crash: &CrashAt| crash.seq > append.expected && crash.seq <= last;
        let index = self.crashes.iter().position(hits)?;
        Some(self.crashes.remove(index))
    }

    fn slowness(&mut self) -> Option<u64> {
        let (draw, ms) = self.slowness.as_mut()?;
        draw.chance(0.3).then(|| 1 + draw.below(usize::try_from(*ms).unwrap_or(1)) as u64)
    }
}

/// The store as one engine in one life sees it.
#[derive(Debug)]
pub struct FaultyStore {
    stage: Arc<Stage>,
    fates: Arc<Mutex<Fates>>,
    writer: Writer,
}

impl FaultyStore {
    /// Puts faults before the stage's store.
    #[must_use]
    pub fn new(stage: Arc<Stage>, fates: Arc<Mutex<Fates>>, writer: Writer) -> Self {
        Self { stage, fates, writer }
    }

    fn fates(&self) -> MutexGuard<'_, Fates> {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn write(&self, append: Append) -> Result<Position, AppendError> {
        let (stream, expected, envelopes) = (append.stream, append.expected, append.envelopes().to_vec());
        let before = self.stage.store.head(stream).await.ok().flatten().map_or(Seq::START, |head| head.seq);
        let result = self.stage.store.append(append).await;
        match &result {
            Ok(_) if before == expected => {
                for envelope in &envelopes {
                    self.stage.say(|| format!("{:?} stores {}", self.writer, shown(envelope)));
                }
                self.stage.ledger().stored(self.writer, envelopes.iter().map(|envelope| &**envelope));
                self.stage.moved.notify_waiters();
            }
            Ok(_) => {}
            Err(error) => self.stage.say(|| format!("{:?} is refused: {error}", self.writer)),
        }
        result
    }

    /// Lets a read pass, or fails it.
    async fn look(&self) -> Result<(), ReadError> {
        self.stage.alive().await;
        let fault = self.fates().next();
        match fault {
            None => Ok(()),
            Some(StoreFault::Slow(ms)) => {
                tokio::time::sleep(Duration::from_millis(ms)).await;
                self.stage.alive().await;
                Ok(())
            }
            Some(StoreFault::Refused | StoreFault::Unheard) => {
                self.stage.say(|| format!("{:?} cannot read", self.writer));
                Err(ReadError::backend("the disk is elsewhere"))
            }
        }
    }
}

fn shown(envelope: &Envelope) -> String {
    let body = envelope.body.chars().take(160).collect::<String>();
    let debate = envelope.stream.id.as_fields().0 >> 16;
    format!("{debate:04x}/{:<3} {} {body}", envelope.seq, envelope.kind)
}

#[async_trait]
impl EventStore for FaultyStore {
    async fn append(&self, append: Append) -> Result<Position, AppendError> {
        self.stage.alive().await;
        let stream = append.stream;
        let failed = || AppendError::Backend { stream, source: "the disk is elsewhere".into() };
        let (fault, slowness) = {
            let mut fates = self.fates();
            (fates.next(), fates.slowness())
        };
        if let Some(ms) = slowness {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            self.stage.alive().await;
        }
        let crash = self.fates().crash_in(&append);
        if let Some(CrashAt { seq, stored }) = crash {
            if stored {
                self.write(append).await?;
            }
            self.stage.say(|| format!("crash at event {seq}, stored: {stored}"));
            self.stage.crash();
            self.stage.alive().await;
            return Err(failed());
        }
        match fault {
            None => self.write(append).await,
            Some(StoreFault::Slow(ms)) => {
                self.stage.say(|| format!("{:?} writes for {ms} ms", self.writer));
                tokio::time::sleep(Duration::from_millis(ms)).await;
                self.stage.alive().await;
                self.write(append).await
            }
            Some(StoreFault::Refused) => {
                self.stage.say(|| format!("{:?} cannot write", self.writer));
                Err(failed())
            }
            Some(StoreFault::Unheard) => {
                self.write(append).await?;
                self.stage.say(|| format!("{:?} gets no answer to its write", self.writer));
                Err(failed())
            }
        }
    }

    async fn read(&self, stream: StreamId, after: Seq, limit: u32) -> Result<Vec<Envelope>, ReadError> {
        self.look().await?;
        self.stage.store.read(stream, after, limit).await
    }

    async fn read_all(&self, after: Position, limit: u32) -> Result<Vec<(Position, Envelope)>, ReadError> {
        self.look().await?;
        self.stage.store.read_all(after, limit).await
    }

    async fn head(&self, stream: StreamId) -> Result<Option<Head>, ReadError> {
        self.look().await?;
        self.stage.store.head(stream).await
    }

    async fn find_request(&self, tenant: &str, request_id: &str) -> Result<Option<RequestOwner>, ReadError> {
        self.look().await?;
        self.stage.store.find_request(tenant, request_id).await
    }

    async fn list(&self, filter: ListFilter) -> Result<Vec<Listed>, ReadError> {
        self.look().await?;
        self.stage.store.list(filter).await
    }

    async fn redact(&self, stream: StreamId, seq: Seq) -> Result<(), RedactError> {
        self.stage.store.redact(stream, seq).await
    }

    async fn wait(&self, stream: StreamId, after: Seq) -> Result<Seq, ReadError> {
        self.stage.alive().await;
        self.stage.store.wait(stream, after).await
    }

    async fn wait_all(&self, after: Position) -> Result<Position, ReadError> {
        self.stage.alive().await;
        self.stage.store.wait_all(after).await
    }
}

//! Following a debate: appended events, live pieces between them (rule K10). A subscriber is a cursor over the store; how
//! slow it is costs the debate nothing. While the debate is driven in this process and the subscriber keeps up, its
//! events come from what the driver has just appended instead of being read again.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{DebateId, Seq};
use debate_store::{EventStore, ReadError};
use futures::stream::{self, Stream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, Sleep};

use crate::live::{Chunk, Live};
use crate::paging::Pages;
use crate::shared_reads::SharedReads;
use crate::tail::News;

/// Events read at once.
const PAGE: u32 = 64;

/// What a subscriber sees.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched {
    /// A durable event; each exactly once, in order, without holes.
    Event(Arc<Envelope>),
    /// A piece of public text; not stored, may be missed.
    Chunk(Arc<Chunk>),
    /// Nothing happened for a while; the stream is alive and this is its head.
    Heartbeat(Seq),
}

/// A subscription cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// There is no such debate.
    #[error("there is no debate {0}")]
    NotFound(DebateId),
    /// The debate's events were moved into an archive.
    #[error("debate {debate} is archived in {bundle}; restore it first")]
    Archived {
        /// Which debate.
        debate: DebateId,
        /// The bundle's name.
        bundle: String,
    },
    /// The subscriber claims to have seen events that do not exist.
    #[error("debate {debate} is at {head}; there is nothing after {after} yet")]
    BeyondHead {
        /// Which debate.
        debate: DebateId,
        /// Where the subscriber wants to go on.
        after: Seq,
        /// Where the debate is.
        head: Seq,
    },
    /// The store failed.
    #[error(transparent)]
    Read(#[from] ReadError),
}

struct Cursor {
    store: Arc<dyn EventStore>,
    reads: SharedReads,
    stream: StreamId,
    after: Seq,
    page: VecDeque<Arc<Envelope>>,
    pages: Pages,
    live: Option<Live>,
    chunks: Option<broadcast::Receiver<Arc<Chunk>>>,
    /// What the driver appends, while the debate is driven here.
    tail: Option<broadcast::Receiver<News>>,
    /// Whether the store may have events that neither the page nor the tail will bring.
    is_behind: bool,
    heartbeat: Heartbeat,
    concluded: bool,
    done: bool,
}

/// When to say that the stream is alive. One timer, which is looked at when it rings: setting it anew for every event
/// would cost more than the event.
struct Heartbeat {
    every: Duration,
    /// When something was last said.
    said_at: Instant,
    timer: Pin<Box<Sleep>>,
}

impl Heartbeat {
    fn new(every: Duration) -> Self {
        Self { every, said_at: Instant::now(), timer: Box::pin(tokio::time::sleep(every)) }
    }

    fn said(&mut self) {
        self.said_at = Instant::now();
    }

    /// Returns when nothing has been said for long enough.
    async fn is_due(&mut self) {
        loop {
            self.timer.as_mut().await;
            let due = self.said_at + self.every;
            if due <= Instant::now() {
                return;
            }
            self.timer.as_mut().reset(due);
        }
    }
}

/// Follows a debate from after `after` until it has concluded and every event was delivered. Where the debate is kept
/// here, `live` is what is heard of it, with tokens if they are wanted.
///
/// # Errors
/// There is no such debate here, or it has no event `after` yet.
pub(crate) async fn watch(
    (store, reads): (Arc<dyn EventStore>, SharedReads),
    debate: DebateId,
    after: Seq,
    (live, tokens): (Option<Live>, bool),
    heartbeat: Duration,
) -> Result<impl Stream<Item = Result<Watched, WatchError>> + Send + 'static, WatchError> {
    let stream = StreamId::from(debate);
    let chunks = live.as_ref().filter(|_| tokens).map(Live::subscribe);
    let Some(head) = store.head(stream).await? else {
        return Err(match store.find_archived(stream).await? {
            Some(archived) => WatchError::Archived { debate, bundle: archived.bundle },
            None => WatchError::NotFound(debate),
        });
    };
    if after > head.seq {
        return Err(WatchError::BeyondHead { debate, after, head: head.seq });
    }
    let concluded = after > Seq::START && was_concluded(&*store, stream, after).await?;
    let cursor = Cursor {
        store,
        reads,
        stream,
        after,
        page: VecDeque::new(),
        pages: Pages::of(PAGE),
        live,
        chunks,
        tail: None,
        is_behind: true,
        heartbeat: Heartbeat::new(heartbeat),
        concluded,
        done: false,
    };
    Ok(stream::unfold(cursor, |mut cursor| async move {
        let item = cursor.next().await?;
        cursor.heartbeat.said();
        cursor.done |= item.is_err();
        Some((item, cursor))
    }))
}

/// Returns whether there is nothing to follow after an event, which is the last one of a debate that has concluded.
pub(crate) async fn is_over(store: &dyn EventStore, stream: StreamId, after: Seq) -> Result<bool, ReadError> {
    let is_last = store.head(stream).await?.is_some_and(|head| head.seq == after);
    Ok(is_last && was_concluded(store, stream, after).await?)
}

/// Returns whether the last thing a returning subscriber saw of the debate's life was its conclusion.
async fn was_concluded(store: &dyn EventStore, stream: StreamId, after: Seq) -> Result<bool, ReadError> {
    let mut concluded = false;
    let mut from = Seq::START;
    let mut pages = Pages::of(PAGE);
    while from < after {
        let mut page = store.read(stream, from, pages.next()).await?;
        pages.cut(&mut page, |event| event);
        let Some(last) = page.last() else { break };
        from = last.seq;
        for envelope in page.iter().take_while(|envelope| envelope.seq <= after) {
            concluded = concluded_after(envelope, concluded);
        }
    }
    Ok(concluded)
}

fn concluded_after(envelope: &Envelope, before: bool) -> bool {
    match envelope.kind.as_str() {
        "concluded" => true,
        "continued" | "reopened" => false,
        _ => before,
    }
}

impl Cursor {
    async fn next(&mut self) -> Option<Result<Watched, WatchError>> {
        if self.done {
            return None;
        }
        loop {
            if let Some(envelope) = self.page.pop_front() {
                self.after = envelope.seq;
                self.concluded = concluded_after(&envelope, self.concluded);
                // Whether anything comes after a conclusion is for the driver to say, or the store.
                self.is_behind |= self.concluded && self.page.is_empty() && self.tail.is_none();
                return Some(Ok(Watched::Event(envelope)));
            }
            let waited = if self.is_behind {
                match self.catch_up().await {
                    Ok(()) if self.page.is_empty() && self.concluded => return None,
                    Ok(()) => continue,
                    Err(error) => return Some(Err(error.into())),
                }
            } else {
                self.wait().await
            };
            if self.done || waited.is_some() {
                return waited;
            }
        }
    }

    /// Reads what the store has. The tail is taken up before, so that nothing is missed between the two; only where there
    /// is none may the reading be one that somebody else has begun, for then the store says whether there is more.
    async fn catch_up(&mut self) -> Result<(), ReadError> {
        if self.tail.is_none() {
            self.tail = self.live.as_ref().and_then(|live| live.tail.follow());
        }
        self.page = if self.tail.is_some() {
            let mut events = self.store.read(self.stream, self.after, self.pages.next()).await?;
            self.pages.cut(&mut events, |event| event);
            events.into_iter().map(Arc::new).collect()
        } else {
            let (page, pages) = self.reads.read(&self.store, self.stream, self.after, self.pages).await?;
            self.pages = pages;
            page.iter().cloned().collect()
        };
        self.is_behind = self.pages.is_full();
        Ok(())
    }

    /// Waits for an event, a live piece, or the heartbeat. Of an event nothing is returned: it is on the page then, or
    /// known to be in the store.
    async fn wait(&mut self) -> Option<Result<Watched, WatchError>> {
        let Self { store, tail, chunks, heartbeat, .. } = self;
        let moved = async {
            match tail {
                Some(tail) => Ok(Some(tail.recv().await)),
                None => store.wait(self.stream, self.after).await.map(|_| None),
            }
        };
        let chunk = async {
            match chunks {
                Some(chunks) => hear(chunks).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            moved = moved => match moved {
                Ok(Some(Ok(News::Appended(envelopes)))) => self.take_over(&envelopes),
                Ok(Some(Err(RecvError::Lagged(_))) | None) => self.is_behind = true,
                Ok(Some(Ok(News::Released(last)))) => {
                    self.tail = None;
                    self.done = self.concluded && self.after >= last;
                    self.is_behind = true;
                }
                Ok(Some(Err(RecvError::Closed))) => {
                    self.tail = None;
                    self.is_behind = true;
                }
                Err(error) => return Some(Err(error.into())),
            },
            chunk = chunk => return Some(Ok(Watched::Chunk(chunk))),
            () = heartbeat.is_due() => {
                self.is_behind = true;
                return Some(Ok(Watched::Heartbeat(self.after)));
            }
        }
        None
    }

    /// Takes over those of the appended events that are new, if they follow what was seen last.
    fn take_over(&mut self, envelopes: &[Arc<Envelope>]) {
        let new = envelopes.iter().filter(|envelope| envelope.seq > self.after);
        self.page = new.cloned().collect();
        let follows = self.page.front().is_none_or(|first| first.seq == self.after.next());
        if !follows {
            self.page.clear();
            self.is_behind = true;
        }
    }
}

/// Returns the next live piece, passing over those that were missed.
async fn hear(live: &mut broadcast::Receiver<Arc<Chunk>>) -> Arc<Chunk> {
    loop {
        match live.recv().await {
            Ok(chunk) => return chunk,
            Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use debate_core::codec::{self, Author};
    use debate_core::envelope::StreamKind;
    use debate_core::event::{Cancelled, Event, KernelEvent};
    use debate_core::formats::prediction::Prediction;
    use debate_core::id::Timestamp;
    use debate_core::prose::Prose;
    use debate_store::MemoryStore;
    use futures::FutureExt as _;
    use uuid::Uuid;

    use super::*;
    use crate::tail::Tail;

    const STREAM: StreamId = StreamId { kind: StreamKind::Debate, id: Uuid::nil() };

    /// Returns a store with so many events of a debate, each with so many bytes of words, and these.
    async fn store_of(events: usize, bytes: usize) -> (Arc<dyn EventStore>, Vec<Arc<Envelope>>) {
        let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
        let prose = Prose::new("x".repeat(bytes));
        let event = Event::<Prediction>::Kernel(KernelEvent::Cancelled(Cancelled { prose }));
        let events = vec![event; events];
        let sealed = codec::seal(STREAM, codec::Head::NONE, &author, Timestamp(1), &events, || [0; 16]);
        let store = MemoryStore::new();
        store.append(sealed.clone().into()).await.unwrap();
        (Arc::new(store), sealed.into_envelopes())
    }

    fn cursor(store: &Arc<dyn EventStore>, tail: Option<broadcast::Receiver<News>>) -> Cursor {
        Cursor {
            store: Arc::clone(store),
            reads: SharedReads::default(),
            stream: STREAM,
            after: Seq::START,
            page: VecDeque::new(),
            pages: Pages::of(PAGE),
            live: None,
            chunks: None,
            is_behind: tail.is_none(),
            tail,
            heartbeat: Heartbeat::new(Duration::from_secs(15)),
            concluded: false,
            done: false,
        }
    }

    async fn event(cursor: &mut Cursor) -> Arc<Envelope> {
        match cursor.next().await {
            Some(Ok(Watched::Event(envelope))) => envelope,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn k10_of_long_events_a_subscriber_has_2_mib_in_hand_whether_the_debate_runs_or_not() {
        let (store, _) = store_of(8, 600_000).await;
        let running = Tail::default();
        let _driven = running.drive();
        for tail in [None, running.follow()] {
            let mut cursor = Cursor { is_behind: true, ..cursor(&store, tail) };
            for seq in 1..=8 {
                assert_eq!(event(&mut cursor).await.seq, Seq(seq));
                assert!(cursor.page.len() < 3, "{} wait behind event {seq}", cursor.page.len());
            }
        }
    }

    #[tokio::test]
    async fn k10_who_is_more_appends_behind_than_are_kept_reads_from_the_store_what_it_missed_and_once() {
        let (store, appended) = store_of(150, 1).await;
        let running = Tail::default();
        let _driven = running.drive();
        let mut slow = cursor(&store, running.follow());
        for envelope in &appended[..100] {
            running.appended(vec![Arc::clone(envelope)]);
        }
        for envelope in &appended[..20] {
            assert_eq!(event(&mut slow).await.seq, envelope.seq);
        }
        for envelope in &appended[100..] {
            running.appended(vec![Arc::clone(envelope)]);
        }
        for envelope in &appended[20..] {
            assert_eq!(event(&mut slow).await.seq, envelope.seq);
        }
        assert!(event(&mut slow).now_or_never().is_none(), "each comes once");
    }

    #[tokio::test]
    async fn all_who_follow_a_debate_that_runs_here_are_given_the_same_events_and_no_copies() {
        let (store, appended) = store_of(3, 1).await;
        let running = Tail::default();
        let _driven = running.drive();
        let mut followers = [cursor(&store, running.follow()), cursor(&store, running.follow())];
        running.appended(appended.clone());
        for envelope in &appended {
            for follower in &mut followers {
                assert!(Arc::ptr_eq(&event(follower).await, envelope));
            }
        }
    }
}

//! Following a debate: appended events from the store, live pieces between them (rule K10). A subscriber is a
//! cursor over the store; how slow it is costs the debate nothing.

use std::sync::Arc;
use std::time::Duration;

use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{DebateId, Seq};
use debate_store::{EventStore, ReadError};
use futures::stream::{self, Stream};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::live::Chunk;

/// Events fetched at once for a subscriber.
const PAGE: u32 = 64;

/// What a subscriber sees.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched {
    /// A durable event; each exactly once, in order, without holes.
    Event(Box<Envelope>),
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
    stream: StreamId,
    after: Seq,
    page: std::vec::IntoIter<Envelope>,
    live: Option<broadcast::Receiver<Arc<Chunk>>>,
    heartbeat: Duration,
    concluded: bool,
    done: bool,
}

/// Follows a debate from after `after` until it has concluded and every event was delivered.
///
/// # Errors
/// There is no such debate, or it has no event `after` yet.
pub(crate) async fn watch(
    store: Arc<dyn EventStore>,
    debate: DebateId,
    after: Seq,
    live: Option<broadcast::Receiver<Arc<Chunk>>>,
    heartbeat: Duration,
) -> Result<impl Stream<Item = Result<Watched, WatchError>> + Send + 'static, WatchError> {
    let stream = StreamId::from(debate);
    let head = store.head(stream).await?.ok_or(WatchError::NotFound(debate))?;
    if after > head.seq {
        return Err(WatchError::BeyondHead { debate, after, head: head.seq });
    }
    let concluded = after > Seq::START && was_concluded(&*store, stream, after).await?;
    let page = Vec::new().into_iter();
    let cursor = Cursor { store, stream, after, page, live, heartbeat, concluded, done: false };
    Ok(stream::unfold(cursor, |mut cursor| async move {
        let item = cursor.next().await?;
        cursor.done |= item.is_err();
        Some((item, cursor))
    }))
}

/// Returns whether the last thing a returning subscriber saw of the debate's life was its conclusion.
async fn was_concluded(store: &dyn EventStore, stream: StreamId, after: Seq) -> Result<bool, ReadError> {
    let mut concluded = false;
    let mut from = Seq::START;
    while from < after {
        let page = store.read(stream, from, crate::journal::PAGE).await?;
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
        "continued" => false,
        _ => before,
    }
}

impl Cursor {
    async fn next(&mut self) -> Option<Result<Watched, WatchError>> {
        if self.done {
            return None;
        }
        loop {
            if let Some(envelope) = self.page.next() {
                self.after = envelope.seq;
                self.concluded = concluded_after(&envelope, self.concluded);
                return Some(Ok(Watched::Event(Box::new(envelope))));
            }
            match self.store.read(self.stream, self.after, PAGE).await {
                Ok(page) if !page.is_empty() => self.page = page.into_iter(),
                Ok(_) if self.concluded => return None,
                Ok(_) => match self.wait().await {
                    Some(Ok(Watched::Heartbeat(seq))) if seq > self.after => {}
                    other => return other,
                },
                Err(error) => return Some(Err(error.into())),
            }
        }
    }

    /// Waits for an event (told as a heartbeat beyond the cursor), a live piece, or the heartbeat.
    async fn wait(&mut self) -> Option<Result<Watched, WatchError>> {
        let moved = self.store.wait(self.stream, self.after);
        let live = async {
            match &mut self.live {
                Some(live) => hear(live).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            seq = moved => Some(seq.map(Watched::Heartbeat).map_err(WatchError::from)),
            chunk = live => Some(Ok(Watched::Chunk(chunk))),
            () = tokio::time::sleep(self.heartbeat) => Some(Ok(Watched::Heartbeat(self.after))),
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

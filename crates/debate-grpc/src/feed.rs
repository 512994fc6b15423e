//! All events of one tenant's debates as they happen, and their way over the wire.

use std::collections::VecDeque;
use std::sync::Arc;

use debate_core::envelope::{Envelope, StreamKind};
use debate_engine::{HEARTBEAT, Pages};
use debate_proto::v1;
use debate_store::{EventStore, Position, ReadError};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::{Response, Status};

use crate::bounded::Bounded;
use crate::following::{Wanted, is_wanted};
use crate::refusal::Refusal;
use crate::unread::Reached;
use crate::{cursor, to_proto};

/// Events read at once.
const PAGE: u32 = 256;

/// A cursor over the whole log, which shows one tenant's debates.
struct Feed {
    store: Arc<dyn EventStore>,
    tenant: String,
    after: Position,
    page: VecDeque<(Position, Envelope)>,
    pages: Pages,
    shown_at: Instant,
}

/// Something of the feed: an event, or nothing new up to a position.
type Shown = (Position, Option<Envelope>);

impl Feed {
    fn new(store: Arc<dyn EventStore>, tenant: String, after: Position) -> Self {
        let (page, pages) = (VecDeque::new(), Pages::of(PAGE));
        Self { store, tenant, after, page, pages, shown_at: Instant::now() }
    }

    async fn next(&mut self, calls: bool) -> Result<Shown, ReadError> {
        loop {
            let Some((position, envelope)) = self.page.pop_front() else {
                let mut read = self.store.read_all(self.after, self.pages.next()).await?;
                self.pages.cut(&mut read, |(_, envelope)| envelope);
                self.page = read.into();
                if self.page.is_empty() && !self.wait().await? {
                    return Ok(self.shown(None));
                }
                continue;
            };
            self.after = position;
            let is_ours = envelope.tenant == self.tenant && envelope.stream.kind == StreamKind::Debate;
            if is_ours && is_wanted(&envelope.kind, calls) {
                return Ok(self.shown(Some(envelope)));
            }
            if self.shown_at.elapsed() >= HEARTBEAT {
                return Ok(self.shown(None));
            }
        }
    }

    fn shown(&mut self, event: Option<Envelope>) -> Shown {
        self.shown_at = Instant::now();
        (self.after, event)
    }

    fn response(&self, (position, event): &Shown) -> (Position, v1::WatchDebatesResponse) {
        let event = event.as_ref();
        let response = v1::WatchDebatesResponse {
            cursor: cursor::of_feed(&self.tenant, *position),
            debate_id: event.map(|event| event.stream.id.to_string()).unwrap_or_default(),
            event: event.map(to_proto::event),
        };
        (*position, response)
    }

    /// Waits for anything new; `false` where the silence has lasted too long.
    async fn wait(&self) -> Result<bool, ReadError> {
        tokio::select! {
            biased;
            moved = self.store.wait_all(self.after) => moved.map(|_| true),
            () = tokio::time::sleep_until(self.shown_at + HEARTBEAT) => Ok(false),
        }
    }
}

/// Returns where a client wants to go on.
///
/// # Errors
/// The cursor is none of its tenant's, or is given together with `only_new`.
pub(crate) async fn begin(
    store: &dyn EventStore,
    tenant: &str,
    request: &v1::WatchDebatesRequest,
) -> Result<Position, Refusal> {
    match (request.cursor.as_str(), request.only_new) {
        ("", false) => Ok(Position::START),
        ("", true) if store.read_all(Position::START, 1).await?.is_empty() => Ok(Position::START),
        ("", true) => Ok(store.wait_all(Position::START).await?),
        (_, true) => Err(Refusal::field("only_new", "does not go together with cursor")),
        (text, false) => cursor::opened(&[b"feed", tenant.as_bytes()], text)
            .ok_or_else(|| Refusal::field("cursor", "is none that this tenant was given")),
    }
}

/// Follows all debates of a tenant over the wire.
pub(crate) fn follow_all(
    store: Arc<dyn EventStore>,
    tenant: String,
    after: Position,
    wanted: Wanted,
    closing: &CancellationToken,
) -> Response<BoxStream<'static, Result<v1::WatchDebatesResponse, Status>>> {
    let reached = Reached::in_feed(&tenant, after);
    let noted = reached.clone();
    let feed = Feed::new(store, tenant, after);
    let shown = stream::unfold(feed, move |mut feed| async move {
        let response = feed.next(wanted.calls).await.map(|shown| feed.response(&shown));
        Some((response, feed))
    });
    let followed = Bounded::new(shown.boxed(), closing, wanted.deadline).map(move |shown| {
        let (position, response) = shown?;
        noted.note(position.0);
        Ok(response)
    });
    reached.on(followed.boxed())
}

#[cfg(test)]
mod tests {
    use debate_core::codec::{self, Author, Head};
    use debate_core::envelope::StreamId;
    use debate_core::event::{Cancelled, Event, KernelEvent, Paused};
    use debate_core::formats::prediction::Prediction;
    use debate_core::id::{Seq, Timestamp};
    use debate_core::prose::Prose;
    use debate_store::MemoryStore;

    use super::*;

    /// Returns a stream of all debates of a store in which one event stands so many times.
    async fn feed_of(event: KernelEvent, times: usize) -> Feed {
        let store = Arc::new(MemoryStore::new());
        let stream = StreamId { kind: StreamKind::Debate, id: uuid::Uuid::nil() };
        let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
        let events = vec![Event::<Prediction>::Kernel(event); times];
        let sealed = codec::seal(stream, Head::NONE, &author, Timestamp(1), &events, || [0; 16]);
        store.append(sealed.into()).await.unwrap();
        Feed::new(store, String::new(), Position::START)
    }

    #[tokio::test]
    async fn k10_a_stream_of_all_debates_has_at_most_256_events_in_hand() {
        let mut feed = feed_of(KernelEvent::Paused(Paused { remaining_ms: 0 }), 600).await;
        for seq in 1..=600 {
            let (_, shown) = feed.next(true).await.unwrap();
            assert_eq!(shown.map(|event| event.seq), Some(Seq(seq)));
            assert!(feed.page.len() < 256, "{} wait behind event {seq}", feed.page.len());
        }
    }

    #[tokio::test]
    async fn k10_of_long_events_a_stream_of_all_debates_has_2_mib_in_hand() {
        let prose = Prose::new("x".repeat(600_000));
        let mut feed = feed_of(KernelEvent::Cancelled(Cancelled { prose }), 8).await;
        for seq in 1..=8 {
            let (_, shown) = feed.next(true).await.unwrap();
            assert_eq!(shown.map(|event| event.seq), Some(Seq(seq)));
            assert!(feed.page.len() < 3, "{} wait behind event {seq}", feed.page.len());
        }
    }
}

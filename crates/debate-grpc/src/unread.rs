//! Answers that their clients stop reading. The server gives up what such an answer holds after a while, so that a client
//! that does not read costs no more than what is under way: the piece that was handed over and, for a stream that can be
//! resumed, the rest of its message. When the client of such a stream reads again, it learns where to resume (rule K10).

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use debate_core::id::Seq;
use debate_store::Position;
use http_body::{Frame, SizeHint};

use crate::{cursor, telemetry};

/// After how many checks the patience with a client ends. Checks are counted, not time, so that no client is blamed while
/// this process itself is stalled.
const LOOKS: u32 = 4;
/// Bytes that are handed over at once, and so the most that is sent before its client made room for any of it. A multiple of
/// three, so that pieces in base64 (gRPC-web's text) join without padding.
pub(crate) const PIECE_BYTES_MAX: usize = 48 * 1024;

/// Where a stream that was given up can be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resume {
    /// After an event of a debate.
    Debate {
        /// Which debate.
        debate: String,
        /// The last event that went out.
        after: Seq,
    },
    /// At a place in the events of all debates.
    Feed {
        /// The cursor of the last event that went out.
        cursor: String,
    },
}

/// How far a stream has come: what its client has, once it has read all that was handed over.
#[derive(Debug, Clone)]
pub(crate) struct Reached(Arc<Place>);

#[derive(Debug)]
struct Place {
    of: Of,
    at: AtomicU64,
}

#[derive(Debug)]
enum Of {
    Debate(String),
    Feed { tenant: String },
}

impl Reached {
    /// Begins after an event of a debate.
    pub(crate) fn in_debate(debate: &str, after: Seq) -> Self {
        Self(Arc::new(Place { of: Of::Debate(debate.to_owned()), at: AtomicU64::new(after.0) }))
    }

    /// Begins at a place in the events of all debates of a tenant.
    pub(crate) fn in_feed(tenant: &str, after: Position) -> Self {
        Self(Arc::new(Place { of: Of::Feed { tenant: tenant.to_owned() }, at: AtomicU64::new(after.0) }))
    }

    /// Notes the sequence number or position up to which everything was handed over.
    pub(crate) fn note(&self, at: u64) {
        self.0.at.store(at, Ordering::Relaxed);
    }

    /// Returns a stream as an answer that says how far it has come.
    pub(crate) fn on<T>(self, stream: T) -> tonic::Response<T> {
        let mut response = tonic::Response::new(stream);
        response.extensions_mut().insert(self);
        response
    }

    /// Returns where to go on.
    pub(crate) fn resume(&self) -> Resume {
        let at = self.0.at.load(Ordering::Relaxed);
        match &self.0.of {
            Of::Debate(debate) => Resume::Debate { debate: debate.clone(), after: Seq(at) },
            Of::Feed { tenant } => Resume::Feed { cursor: cursor::of_feed(tenant, Position(at)) },
        }
    }
}

/// All answers under way, each waited for no longer than the patience.
#[derive(Debug)]
pub(crate) struct Unread {
    patience: Duration,
    held: Mutex<Vec<Weak<Held>>>,
}

impl Unread {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, held: Mutex::default() }
    }

    /// Gives a body up where its client stops reading it.
    pub(crate) fn watch(&self, held: &Arc<Held>) {
        locked(&self.held).push(Arc::downgrade(held));
    }

    /// Gives up, again and again, what was not read for too long.
    pub(crate) async fn watch_over(&self) {
        let mut looks = tokio::time::interval((self.patience / LOOKS).max(Duration::from_millis(1)));
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let mut under_way = Vec::new();
            locked(&self.held).retain(|held| held.upgrade().map(|held| under_way.push(held)).is_some());
            for held in under_way {
                held.look();
            }
        }
    }
}

/// What a body says when it is asked for its next piece.
type Polled = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

/// An answer's body, until it is given up.
pub(crate) struct Held {
    waiting: Mutex<Waiting>,
    /// Whether what is given up ends with the message under way, for there is a way to go on behind it.
    is_resumable: bool,
}

struct Waiting {
    body: Option<Body>,
    /// What is left of the message under way.
    rest: Bytes,
    /// Whether the messages are static text, of which a piece keeps nothing in memory.
    is_static: bool,
    /// Whether a piece that was handed over waits for its client.
    is_waiting: bool,
    /// How often it was seen to.
    looks: u32,
}

impl Waiting {
    /// Returns the next bytes of a message: a copy, for they keep all that they are a part of in memory, unless that stays there
    /// anyway. A short message may be a part of the buffer that a long one before it needed.
    fn piece(&mut self) -> Polled {
        let piece = self.rest.split_to(self.rest.len().min(PIECE_BYTES_MAX));
        let piece = if self.is_static { piece } else { Bytes::copy_from_slice(&piece) };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn next(&mut self, context: &mut Context<'_>) -> Option<Polled> {
        if !self.rest.is_empty() {
            return Some(self.piece());
        }
        let polled = Pin::new(self.body.as_mut()?).poll_frame(context);
        let Poll::Ready(Some(Ok(frame))) = polled else { return Some(polled) };
        match frame.into_data() {
            Ok(data) => {
                self.rest = data;
                Some(self.piece())
            }
            Err(frame) => Some(Poll::Ready(Some(Ok(frame)))),
        }
    }
}

impl Held {
    pub(crate) fn new(body: Body, is_resumable: bool) -> Self {
        let waiting =
            Waiting { body: Some(body), rest: Bytes::new(), is_static: false, is_waiting: false, looks: 0 };
        Self { waiting: Mutex::new(waiting), is_resumable }
    }

    /// Begins with an answer that needs no token: as many as there are streams may be waited for, so that they are to cost
    /// nothing, and what is longer than a piece among them is static text.
    pub(crate) fn for_everybody(body: Body) -> Self {
        let mut held = Self::new(body, false);
        held.waiting.get_mut().unwrap_or_else(PoisonError::into_inner).is_static = true;
        held
    }

    /// Returns the next piece; `None` where the body was given up.
    pub(crate) fn poll_frame(&self, context: &mut Context<'_>) -> Option<Polled> {
        let mut waiting = locked(&self.waiting);
        (waiting.is_waiting, waiting.looks) = (false, 0);
        let polled = waiting.next(context)?;
        waiting.is_waiting = matches!(polled, Poll::Ready(Some(_)));
        Some(polled)
    }

    /// Returns whether a message has begun to go out and has more to come.
    pub(crate) fn is_within_message(&self) -> bool {
        !locked(&self.waiting).rest.is_empty()
    }

    /// Returns whether a body that was not given up is at its end.
    pub(crate) fn is_end_stream(&self) -> bool {
        let waiting = locked(&self.waiting);
        waiting.rest.is_empty() && waiting.body.as_ref().is_some_and(HttpBody::is_end_stream)
    }

    /// Returns how much is to come, as far as it is known.
    pub(crate) fn size_hint(&self) -> SizeHint {
        let waiting = locked(&self.waiting);
        let behind = waiting.body.as_ref().map(HttpBody::size_hint).unwrap_or_default();
        let rest = waiting.rest.len() as u64;
        let mut hint = SizeHint::new();
        hint.set_lower(behind.lower().saturating_add(rest));
        if let Some(upper) = behind.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }

    /// Lets go of the body, which then counts as given up.
    pub(crate) fn let_go(&self) {
        let gone = {
            let mut waiting = locked(&self.waiting);
            let rest = if self.is_resumable { Bytes::new() } else { std::mem::take(&mut waiting.rest) };
            (waiting.body.take(), rest)
        };
        drop(gone);
    }

    fn look(&self) {
        let is_over = {
            let mut waiting = locked(&self.waiting);
            waiting.looks += u32::from(waiting.is_waiting);
            waiting.body.is_some() && waiting.looks > LOOKS
        };
        if is_over {
            self.let_go();
            telemetry::given_up();
        }
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::extract::Request;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use futures::{FutureExt as _, StreamExt as _};
    use tower::Service as _;

    use super::*;
    use crate::access;

    #[tokio::test(start_paused = true)]
    async fn an_unread_answer_is_dropped_after_the_patience_not_before() {
        let patience = Duration::from_secs(30);
        let unread = Arc::new(Unread::new(patience));
        let held = [(); 2].map(|()| Arc::new(Held::new(Body::from("words"), false)));
        held.iter().for_each(|held| unread.watch(held));
        let watching = Arc::clone(&unread);
        tokio::spawn(async move { watching.watch_over().await });
        let is_there = |held: &Held| locked(&held.waiting).body.is_some();
        let [unread, unasked] = &held;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(next(unread), "words");
        tokio::time::sleep(patience - Duration::from_millis(1)).await;
        assert!(is_there(unread), "it still may be read");
        tokio::time::sleep(patience / LOOKS).await;
        assert!(
            !is_there(unread) && is_there(unasked),
            "only the answer that its client stopped reading is dropped"
        );
    }

    /// Returns the next piece of a body that was not given up.
    fn next(held: &Held) -> Bytes {
        let polled = std::future::poll_fn(|context| held.poll_frame(context).expect("it is there"));
        polled.now_or_never().unwrap().unwrap().unwrap().into_data().unwrap()
    }

    #[test]
    fn an_unread_piece_keeps_nothing_else_of_its_answer() {
        let answer = |text: &Arc<[u8]>| Held::new(Body::from(Bytes::from_owner(Arc::clone(text))), false);
        let text: Arc<[u8]> = vec![0; 3 * PIECE_BYTES_MAX].into();
        for pieces in 1..=3 {
            let held = answer(&text);
            let read: Vec<Bytes> = (0..pieces).map(|_| next(&held)).collect();
            held.let_go();
            assert_eq!((read.len(), Arc::strong_count(&text)), (pieces, 1));
        }
    }

    #[test]
    fn an_unread_short_message_keeps_no_long_one_before_it() {
        let text: Arc<[u8]> = vec![0; 3 * PIECE_BYTES_MAX + 5].into();
        let buffer = Bytes::from_owner(Arc::clone(&text));
        let (long, short) = (buffer.slice(..3 * PIECE_BYTES_MAX), buffer.slice(3 * PIECE_BYTES_MAX..));
        drop(buffer);
        let messages = futures::stream::iter([long, short].map(Ok::<_, std::io::Error>));
        let held = Held::new(Body::from_stream(messages), true);
        let read: Vec<usize> = (0..3).map(|_| next(&held).len()).collect();
        let last = next(&held);
        held.let_go();
        assert_eq!((read.iter().sum::<usize>(), last.len()), (3 * PIECE_BYTES_MAX, 5));
        assert_eq!(Arc::strong_count(&text), 1);
    }

    #[tokio::test]
    async fn an_unread_piece_of_a_page_is_not_copied() {
        static PAGE: &[u8] = &[b' '; 3 * PIECE_BYTES_MAX];
        let unread = Arc::new(Unread::new(Duration::from_secs(30)));
        let pages = Router::new().route("/page", get(async || PAGE));
        let mut pages = pages.layer(from_fn_with_state(unread, access::watch_over));
        let request = Request::get("/page").body(Body::empty()).unwrap();
        let mut page = pages.call(request).await.unwrap().into_body().into_data_stream();
        for piece in PAGE.chunks(PIECE_BYTES_MAX) {
            let read = page.next().await.unwrap().unwrap();
            assert_eq!((read.as_ptr(), read.len()), (piece.as_ptr(), piece.len()));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_read_slowly_is_not_let_go_however_long_it_takes() {
        let patience = Duration::from_secs(30);
        let unread = Arc::new(Unread::new(patience));
        let held = Arc::new(Held::new(Body::from("x".repeat(20 * PIECE_BYTES_MAX)), false));
        unread.watch(&held);
        tokio::spawn(async move { unread.watch_over().await });
        for piece in 0..20 {
            assert_eq!(next(&held).len(), PIECE_BYTES_MAX, "{piece}");
            tokio::time::sleep(patience - Duration::from_secs(1)).await;
        }
    }
}

//! Streams that their clients stop reading. What such a stream holds is given up after a while, so that whoever does not read
//! costs no more than the piece under way; a client that reads again is told from where to go on (rule K10).

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use debate_core::id::Seq;
use debate_store::Position;
use http_body::{Frame, SizeHint};

use crate::{feed, telemetry};

/// In how many looks the patience with a client passes. Looks are counted, not time: while this process itself stands still,
/// nobody is blamed for it.
const LOOKS: u32 = 4;

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
            Of::Feed { tenant } => Resume::Feed { cursor: feed::place(tenant, Position(at)) },
        }
    }
}

/// All streams under way that can be gone on with, each waited for no longer than the patience.
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
pub(crate) struct Held(Mutex<Waiting>);

struct Waiting {
    body: Option<Body>,
    /// Whether a piece that was handed over waits for its client.
    is_waiting: bool,
    /// How often it was seen to.
    looks: u32,
}

impl Held {
    pub(crate) fn new(body: Body) -> Self {
        Self(Mutex::new(Waiting { body: Some(body), is_waiting: false, looks: 0 }))
    }

    /// Returns the next piece; `None` where the body was given up.
    pub(crate) fn poll_frame(&self, context: &mut Context<'_>) -> Option<Polled> {
        let mut waiting = locked(&self.0);
        (waiting.is_waiting, waiting.looks) = (false, 0);
        let polled = Pin::new(waiting.body.as_mut()?).poll_frame(context);
        waiting.is_waiting = matches!(polled, Poll::Ready(Some(_)));
        Some(polled)
    }

    /// Returns whether a body that was not given up is at its end.
    pub(crate) fn is_end_stream(&self) -> bool {
        locked(&self.0).body.as_ref().is_some_and(HttpBody::is_end_stream)
    }

    /// Returns how much is to come, as far as it is known.
    pub(crate) fn size_hint(&self) -> SizeHint {
        locked(&self.0).body.as_ref().map(HttpBody::size_hint).unwrap_or_default()
    }

    /// Lets go of the body, which then counts as given up.
    pub(crate) fn let_go(&self) {
        let body = locked(&self.0).body.take();
        drop(body);
    }

    fn look(&self) {
        let is_over = {
            let mut waiting = locked(&self.0);
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

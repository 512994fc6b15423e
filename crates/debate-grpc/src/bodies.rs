//! Bodies with bounds: requests that are too long or never end, answers whose caller loses its grant or stops reading, or whose
//! making panics.

use std::future::Future as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderMap;
use http_body::{Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};
use tonic::Status;

use crate::access::Grant;
use crate::problem;
use crate::protocol::Protocol;
use crate::refusal::Refusal;
use crate::status;
use crate::telemetry::Call;
use crate::unread::{Held, Reached, Unread};

/// A request's body went beyond its bounds. tonic looks for a status among the causes, and finds it.
#[derive(Debug, thiserror::Error)]
#[error("{refusal}")]
struct Beyond {
    refusal: Refusal,
    #[source]
    status: Status,
}

impl Beyond {
    fn error(refusal: Refusal) -> BoxError {
        Self { status: refusal.clone().into(), refusal }.into()
    }
}

/// A request's body that has so many bytes and so much time, and fails beyond them.
pub(crate) struct Inbound {
    inner: Body,
    bytes_max: usize,
    bytes: usize,
    patience: Option<Pin<Box<Sleep>>>,
}

impl Inbound {
    pub(crate) fn new(inner: Body, bytes_max: usize, patience: Option<Duration>) -> Self {
        let patience = patience.filter(|_| !inner.is_end_stream()).map(|patience| Box::pin(sleep(patience)));
        Self { inner, bytes_max, bytes: 0, patience }
    }
}

impl HttpBody for Inbound {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.inner).poll_frame(context) else {
            if let Some(patience) = &mut self.patience {
                ready!(patience.as_mut().poll(context));
                return Poll::Ready(Some(Err(Beyond::error(Refusal::TooSlow))));
            }
            return Poll::Pending;
        };
        let Some(frame) = frame else { return Poll::Ready(None) };
        let frame = frame.map_err(BoxError::from);
        if let Some(data) = frame.as_ref().ok().and_then(Frame::data_ref) {
            self.bytes = self.bytes.saturating_add(data.len());
        }
        if self.bytes > self.bytes_max {
            return Poll::Ready(Some(Err(Beyond::error(Refusal::TooLong(self.bytes_max)))));
        }
        Poll::Ready(Some(frame))
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

/// Returns why a request's body cannot be read, where that is for the bounds of its size and time.
pub fn bound_of(error: &(dyn std::error::Error + 'static)) -> Option<Refusal> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(beyond) = error.downcast_ref::<Beyond>() {
            return Some(beyond.refusal.clone());
        }
        cause = error.source();
    }
    None
}

/// An answer that counts against its caller's grant until it has gone out, and ends when the grant does.
pub(crate) struct Outbound {
    inner: Arc<Held>,
    protocol: Protocol,
    grant: Arc<Grant>,
    permit: Option<OwnedSemaphorePermit>,
    reached: Option<Reached>,
    call: Option<Call>,
    is_over: bool,
}

impl Outbound {
    pub(crate) fn new(
        inner: Held,
        protocol: Protocol,
        grant: Arc<Grant>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let inner = Arc::new(inner);
        Self { inner, protocol, grant, permit, reached: None, call: None, is_over: false }
    }

    /// Tells how the call went, once the answer has gone out.
    pub(crate) fn measured(mut self, call: Call) -> Self {
        self.call = Some(call);
        self
    }

    /// Gives the answer up where its client stops reading; a stream ends with where to go on.
    pub(crate) fn watched_over(mut self, reached: Option<Reached>, unread: &Unread) -> Self {
        unread.watch(&self.inner);
        self.reached = reached;
        self
    }

    /// Says where to go on to a client that reads again what was given up.
    fn given_up(&mut self) -> Option<Result<Frame<Bytes>, BoxError>> {
        self.end(Refusal::Unread(self.reached.as_ref().map(Reached::resume)))
    }

    /// Ends the answer in the way of its protocol: server-sent events, which alone can be gone on with over HTTP, with one more;
    /// all else over HTTP has no way but to break off.
    fn end(&mut self, refusal: Refusal) -> Option<Result<Frame<Bytes>, BoxError>> {
        self.over();
        if self.protocol == Protocol::Rest && self.reached.is_some() {
            let problem = format!("event: problem\ndata: {}\n\n", problem::of_stream(&refusal));
            return Some(Ok(Frame::data(problem.into())));
        }
        let status = Status::from(refusal);
        let mut trailers = HeaderMap::new();
        match self.protocol {
            Protocol::Grpc if status.add_header(&mut trailers).is_ok() => {
                self.note(&trailers);
                Some(Ok(Frame::trailers(trailers)))
            }
            Protocol::Grpc | Protocol::Rest => Some(Err(status.into())),
        }
    }

    fn note(&mut self, trailers: &HeaderMap) {
        if let Some(call) = &mut self.call {
            call.ended(trailers);
        }
    }

    fn over(&mut self) {
        self.is_over = true;
        self.permit = None;
        self.inner.let_go();
    }
}

impl HttpBody for Outbound {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        // What has begun to go out is read with the status behind it.
        if !self.inner.is_within_message() && !self.grant.holds() {
            return Poll::Ready(self.end(Refusal::Unauthenticated));
        }
        let polled = catch_unwind(AssertUnwindSafe(|| self.inner.poll_frame(context)));
        let Ok(polled) = polled else { return Poll::Ready(self.end(Refusal::panicked())) };
        let Some(polled) = polled else { return Poll::Ready(self.given_up()) };
        let mut frame = ready!(polled);
        if let Some(Ok(frame)) = &mut frame
            && let Some(trailers) = frame.trailers_mut()
        {
            status::shorten(trailers);
            self.note(trailers);
        }
        if frame.is_none() {
            self.over();
        }
        Poll::Ready(frame.map(|frame| frame.map_err(BoxError::from)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::poll_fn;

    use debate_core::id::Timestamp;
    use futures::StreamExt as _;
    use tonic::Code;

    use super::*;
    use crate::access::now;
    use crate::tokens::{Scope, TokenFile, TokenWishes};

    fn expiring(expires_at: Option<Timestamp>) -> Arc<Grant> {
        let mut file = TokenFile::new().unwrap();
        let (name, scopes) = ("app".to_owned(), [Scope::Read].into());
        let wishes = TokenWishes { name, scopes, expires_at, ..TokenWishes::default() };
        file.create(wishes, Timestamp(0)).unwrap();
        Arc::new(Grant::of(&file.entries()[0]))
    }

    #[tokio::test]
    async fn a_stream_ends_when_its_token_expires() {
        for (expires_at, is_over) in
            [(None, false), (Some(Timestamp(i64::MAX)), false), (Some(Timestamp(1)), true)]
        {
            let held = Held::new(Body::from("an event"), true);
            let mut body = Outbound::new(held, Protocol::Grpc, expiring(expires_at), None);
            let frame = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.unwrap().unwrap();
            let code =
                frame.into_trailers().ok().map(|trailers| Status::from_header_map(&trailers).unwrap().code());
            assert_eq!(code, is_over.then_some(Code::Unauthenticated), "{expires_at:?}");
        }
    }

    #[tokio::test]
    async fn a_stream_under_way_ends_when_its_token_expires() {
        let grant = expiring(Some(Timestamp(now().0 + 300)));
        let events = Body::from_stream(futures::stream::repeat("an event").map(Ok::<_, Infallible>));
        let mut body = Outbound::new(Held::new(events, true), Protocol::Grpc, grant, None);
        let ended = async {
            loop {
                let frame =
                    poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.unwrap().unwrap();
                if let Ok(trailers) = frame.into_trailers() {
                    return Status::from_header_map(&trailers).unwrap().code();
                }
                tokio::task::yield_now().await;
            }
        };
        let code = tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it ends");
        assert_eq!(code, Code::Unauthenticated);
    }

    #[tokio::test]
    async fn a_long_message_goes_out_in_pieces_and_whole_though_its_token_is_revoked_meanwhile() {
        for long in [48 * 1024 + 1, 200_000] {
            let grant = Arc::new(Grant::everything());
            let held = Held::new(Body::from(vec![7; long]), false);
            let mut body = Outbound::new(held, Protocol::Grpc, Arc::clone(&grant), None);
            let (mut sizes, mut left) = (Vec::new(), long);
            let code = loop {
                assert_eq!(body.size_hint().exact(), Some(left as u64), "{sizes:?}");
                let frame =
                    poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await.unwrap().unwrap();
                grant.revoke();
                match frame.into_data() {
                    Ok(data) => {
                        left -= data.len();
                        sizes.push(data.len());
                    }
                    Err(frame) => {
                        break Status::from_header_map(frame.trailers_ref().unwrap()).unwrap().code();
                    }
                }
            };
            assert_eq!((left, code), (0, Code::Unauthenticated));
            assert!(sizes.iter().all(|size| (1..=48 * 1024).contains(size)), "{sizes:?}");
            assert!(body.is_end_stream());
        }
    }
}

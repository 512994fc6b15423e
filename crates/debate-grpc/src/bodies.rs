//! Bodies with bounds: requests that are too long or never end, answers whose caller loses its grant or whose making panics.

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
use crate::protocol::Protocol;
use crate::refusal::Refusal;

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

/// Returns why a request's body failed, where it was for its bounds.
pub(crate) fn bound_of(error: &(dyn std::error::Error + 'static)) -> Option<Refusal> {
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
    inner: Body,
    protocol: Protocol,
    grant: Arc<Grant>,
    permit: Option<OwnedSemaphorePermit>,
    is_over: bool,
}

impl Outbound {
    pub(crate) fn new(
        inner: Body,
        protocol: Protocol,
        grant: Arc<Grant>,
        permit: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self { inner, protocol, grant, permit, is_over: false }
    }

    /// Ends the answer in the way of its protocol: HTTP has no way but to break off.
    fn end(&mut self, refusal: Refusal) -> Option<Result<Frame<Bytes>, BoxError>> {
        self.over();
        let status = Status::from(refusal);
        let mut trailers = HeaderMap::new();
        match self.protocol {
            Protocol::Grpc if status.add_header(&mut trailers).is_ok() => Some(Ok(Frame::trailers(trailers))),
            Protocol::Grpc | Protocol::Rest => Some(Err(status.into())),
        }
    }

    fn over(&mut self) {
        self.is_over = true;
        self.permit = None;
        self.inner = Body::empty();
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
        if !self.grant.holds() {
            return Poll::Ready(self.end(Refusal::Unauthenticated));
        }
        let inner = Pin::new(&mut self.inner);
        let polled = catch_unwind(AssertUnwindSafe(|| inner.poll_frame(context)));
        let Ok(polled) = polled else { return Poll::Ready(self.end(Refusal::panicked())) };
        let frame = ready!(polled);
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

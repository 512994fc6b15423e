//! A stream that ends, with the reason, when the server does or its client stops waiting.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures::stream::{Stream, StreamExt as _};
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use crate::refusal::Refusal;

/// A stream with an end. What ends it is waited for once, not anew for every item.
pub(crate) struct Bounded<S> {
    inner: S,
    closed: Pin<Box<WaitForCancellationFutureOwned>>,
    expired: Option<Pin<Box<Sleep>>>,
    is_over: bool,
}

impl<S> Bounded<S> {
    /// Ends a stream with its first error, when `closing` is cancelled, and at the deadline.
    pub(crate) fn new(inner: S, closing: &CancellationToken, deadline: Option<Instant>) -> Self {
        // A token of its own: thousands of streams would queue for the lock of one.
        let closed = Box::pin(closing.child_token().cancelled_owned());
        let expired = deadline.map(|deadline| Box::pin(sleep_until(deadline)));
        Self { inner, closed, expired, is_over: false }
    }

    fn ended(&mut self, context: &mut Context<'_>) -> Option<Refusal> {
        if self.closed.as_mut().poll(context).is_ready() {
            return Some(Refusal::ShuttingDown);
        }
        let expired = self.expired.as_mut()?;
        expired.as_mut().poll(context).is_ready().then_some(Refusal::DeadlineExceeded)
    }
}

impl<S, T, E> Stream for Bounded<S>
where
    S: Stream<Item = Result<T, E>> + Unpin,
    E: Into<Refusal>,
{
    type Item = Result<T, Refusal>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let next = match self.ended(context) {
            Some(refusal) => Some(Err(refusal)),
            None => ready!(self.inner.poll_next_unpin(context)).map(|next| next.map_err(Into::into)),
        };
        self.is_over = !matches!(next, Some(Ok(_)));
        Poll::Ready(next)
    }
}

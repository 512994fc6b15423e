//! What a connection is written to, and whether its client takes what is written. Nothing is known here of requests.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How a client reads what is sent on its connection.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// How often something could be written.
    writes: AtomicUsize,
    /// Whether what is to be written next waits for the client.
    is_waiting: AtomicBool,
    /// Whether the connection has nothing on it but the one answer that is under way.
    is_of_one: AtomicBool,
}

impl Reading {
    /// Notes that answers come one after the other (HTTP/1.1): one that is not read keeps its connection from all others.
    pub(crate) fn of_one(&self) {
        self.is_of_one.store(true, Ordering::Relaxed);
    }

    fn wrote(&self, has_written: bool, is_waiting: bool) {
        self.writes.fetch_add(usize::from(has_written), Ordering::Relaxed);
        self.is_waiting.store(is_waiting, Ordering::Relaxed);
    }

    /// Returns when one piece has waited for longer than the patience, and before three times as long.
    pub(crate) async fn ends(&self, patience: Duration) {
        let mut waiting_since = None;
        loop {
            let is_waiting =
                self.is_of_one.load(Ordering::Relaxed) && self.is_waiting.load(Ordering::Relaxed);
            let writes = is_waiting.then(|| self.writes.load(Ordering::Relaxed));
            if writes.is_some() && writes == waiting_since {
                return;
            }
            waiting_since = writes;
            tokio::time::sleep(patience).await;
        }
    }
}

/// A connection that notes how its client reads.
pub(crate) struct Wire<S> {
    stream: S,
    reading: Arc<Reading>,
}

impl<S> Wire<S> {
    pub(crate) fn new(stream: S, reading: Arc<Reading>) -> Self {
        Self { stream, reading }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wire<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wire<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.reading.wrote(polled.is_ready(), polled.is_pending());
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.stream).poll_flush(context);
        self.reading.wrote(false, polled.is_pending());
        polled
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(context, pieces);
        self.reading.wrote(polled.is_ready(), polled.is_pending());
        polled
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

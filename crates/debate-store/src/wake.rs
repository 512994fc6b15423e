//! Wakes those who wait for events. A writer pays one lock and one lookup per stream it wrote, however many
//! wait and however slow they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use debate_core::envelope::StreamId;
use debate_core::id::Seq;
use tokio::sync::watch;

use crate::port::{Position, ReadError};

/// Who waits for what.
#[derive(Debug)]
pub(crate) struct Wakes {
    streams: Mutex<Waiters>,
    all: watch::Sender<Position>,
    waiting: watch::Sender<usize>,
}

/// The streams somebody waits for, until the store closes.
type Waiters = Option<HashMap<StreamId, watch::Sender<Seq>>>;

impl Wakes {
    /// Creates an empty list that knows of all events up to `last`.
    pub(crate) fn new(last: Position) -> Arc<Self> {
        Arc::new(Self {
            streams: Mutex::new(Some(HashMap::new())),
            all: watch::Sender::new(last),
            waiting: watch::Sender::new(0),
        })
    }

    /// Tells those who wait for these streams how far they are now.
    pub(crate) fn committed(&self, heads: &[(StreamId, Seq)], last: Position) {
        if let Some(streams) = &*self.streams() {
            for (stream, head) in heads {
                if let Some(waiters) = streams.get(stream) {
                    waiters.send_if_modified(|known| std::mem::replace(known, (*head).max(*known)) < *head);
                }
            }
        }
        self.all.send_if_modified(|known| std::mem::replace(known, last.max(*known)) < last);
    }

    /// Starts to wait for a stream. The caller then looks at the store once, so that nothing is missed.
    ///
    /// # Errors
    /// When the store was closed.
    pub(crate) fn subscribe(self: &Arc<Self>, stream: StreamId) -> Result<StreamWait, ReadError> {
        let mut streams = self.streams();
        let streams = streams.as_mut().ok_or(ReadError::Closed)?;
        let sender = streams.entry(stream).or_insert_with(|| watch::Sender::new(Seq::START));
        let receiver = sender.subscribe();
        self.waiting.send_modify(|count| *count += 1);
        Ok(StreamWait { wakes: Arc::clone(self), stream, receiver })
    }

    /// Starts to wait for any stream.
    ///
    /// # Errors
    /// When the store was closed.
    pub(crate) fn subscribe_all(self: &Arc<Self>) -> Result<AllWait, ReadError> {
        let streams = self.streams();
        streams.as_ref().ok_or(ReadError::Closed)?;
        let receiver = self.all.subscribe();
        self.waiting.send_modify(|count| *count += 1);
        Ok(AllWait { wakes: Arc::clone(self), receiver })
    }

    /// Returns a view of how many wait, for whoever polls on their behalf.
    pub(crate) fn waiting(&self) -> watch::Receiver<usize> {
        self.waiting.subscribe()
    }

    /// Returns the streams that somebody waits for.
    pub(crate) fn streams_waited_for(&self) -> Vec<StreamId> {
        self.streams().iter().flat_map(|streams| streams.keys().copied()).collect()
    }

    /// Returns whether somebody waits for any stream.
    pub(crate) fn is_all_waited_for(&self) -> bool {
        self.all.receiver_count() > 0
    }

    /// Ends every wait with [`ReadError::Closed`].
    pub(crate) fn close(&self) {
        *self.streams() = None;
        self.all.send_replace(Position(u64::MAX));
    }

    fn is_closed(&self) -> bool {
        self.streams().is_none()
    }

    fn streams(&self) -> MutexGuard<'_, Waiters> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A wait for one stream.
#[derive(Debug)]
pub(crate) struct StreamWait {
    wakes: Arc<Wakes>,
    stream: StreamId,
    receiver: watch::Receiver<Seq>,
}

impl StreamWait {
    /// Returns once the stream is known to be beyond `after`.
    pub(crate) async fn beyond(&mut self, after: Seq) -> Result<Seq, ReadError> {
        let seq = self.receiver.wait_for(|head| *head > after).await;
        seq.map(|seq| *seq).map_err(|_| ReadError::Closed)
    }
}

impl Drop for StreamWait {
    fn drop(&mut self) {
        self.wakes.waiting.send_modify(|count| *count -= 1);
        if let Some(streams) = &mut *self.wakes.streams()
            && streams.get(&self.stream).is_some_and(|sender| sender.receiver_count() == 1)
        {
            streams.remove(&self.stream);
        }
    }
}

/// A wait for any stream.
#[derive(Debug)]
pub(crate) struct AllWait {
    wakes: Arc<Wakes>,
    receiver: watch::Receiver<Position>,
}

impl AllWait {
    /// Returns once the store is known to be beyond `after`.
    pub(crate) async fn beyond(&mut self, after: Position) -> Result<Position, ReadError> {
        let position = match self.receiver.wait_for(|last| *last > after).await {
            Ok(position) => *position,
            Err(_) => return Err(ReadError::Closed),
        };
        if self.wakes.is_closed() { Err(ReadError::Closed) } else { Ok(position) }
    }
}

impl Drop for AllWait {
    fn drop(&mut self) {
        self.wakes.waiting.send_modify(|count| *count -= 1);
    }
}

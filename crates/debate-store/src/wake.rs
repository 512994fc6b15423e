//! Wakes those who wait for events. A writer pays one lock and one lookup per stream it wrote, however many
//! wait and however slow they are.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use debate_core::envelope::StreamId;
use debate_core::id::Seq;
use tokio::sync::{OnceCell, watch};

use crate::port::{Head, Position, ReadError};

/// Who waits for what.
#[derive(Debug)]
pub(crate) struct Wakes {
    streams: Mutex<Waiters>,
    all: watch::Sender<Position>,
    waiting: watch::Sender<usize>,
}

/// The streams somebody waits for, until the store closes.
type Waiters = Option<HashMap<StreamId, Waited>>;

/// How far one stream is known to be.
#[derive(Debug)]
struct Waited {
    head: watch::Sender<Seq>,
    /// Whether the store was read since the first caller began to wait; callers were notified of everything after that.
    looked: Arc<OnceCell<()>>,
}

impl Waited {
    fn new() -> Self {
        Self { head: watch::Sender::new(Seq::START), looked: Arc::default() }
    }
}

impl Wakes {
    /// Creates an empty list that knows of all events up to `last`.
    pub(crate) fn new(last: Position) -> Arc<Self> {
        Arc::new(Self {
            streams: Mutex::new(Some(HashMap::new())),
            all: watch::Sender::new(last),
            waiting: watch::Sender::new(0),
        })
    }

    /// Notifies callers that wait for these streams of their new heads.
    pub(crate) fn committed(&self, heads: &[(StreamId, Seq)], last: Position) {
        if let Some(streams) = &*self.streams() {
            for (stream, head) in heads {
                if let Some(waited) = streams.get(stream) {
                    waited
                        .head
                        .send_if_modified(|known| std::mem::replace(known, (*head).max(*known)) < *head);
                }
            }
        }
        self.all.send_if_modified(|known| std::mem::replace(known, last.max(*known)) < last);
    }

    /// Starts to wait for a stream.
    ///
    /// # Errors
    /// When the store was closed.
    pub(crate) fn subscribe(self: &Arc<Self>, stream: StreamId) -> Result<StreamWait, ReadError> {
        let mut streams = self.streams();
        let streams = streams.as_mut().ok_or(ReadError::Closed)?;
        let waited = streams.entry(stream).or_insert_with(Waited::new);
        let (receiver, looked) = (waited.head.subscribe(), Arc::clone(&waited.looked));
        self.waiting.send_modify(|count| *count += 1);
        Ok(StreamWait { wakes: Arc::clone(self), stream, receiver, looked })
    }

    /// Starts to wait for any stream. The caller then looks at the store once, so that nothing is missed.
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

    /// Returns a receiver of the number of waiting callers, for the task that polls on their behalf.
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
    looked: Arc<OnceCell<()>>,
}

impl StreamWait {
    /// Returns once the stream is known to be beyond `after`. One of the waiting callers reads the head, so that no
    /// event written before is missed; the others are notified of it, and of everything written from then on.
    pub(crate) async fn beyond(
        &mut self,
        after: Seq,
        look: impl Future<Output = Result<Option<Head>, ReadError>>,
    ) -> Result<Seq, ReadError> {
        let (wakes, stream) = (&self.wakes, self.stream);
        let looking = async {
            if let Some(head) = look.await? {
                wakes.committed(&[(stream, head.seq)], Position::START);
            }
            Ok::<(), ReadError>(())
        };
        self.looked.get_or_try_init(|| looking).await?;
        let seq = self.receiver.wait_for(|head| *head > after).await;
        seq.map(|seq| *seq).map_err(|_| ReadError::Closed)
    }
}

impl Drop for StreamWait {
    fn drop(&mut self) {
        self.wakes.waiting.send_modify(|count| *count -= 1);
        if let Some(streams) = &mut *self.wakes.streams()
            && streams.get(&self.stream).is_some_and(|waited| waited.head.receiver_count() == 1)
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

#[cfg(test)]
mod tests {
    use debate_core::envelope::StreamKind;
    use debate_core::id::Digest;
    use uuid::Uuid;

    use super::*;

    const STREAM: StreamId = StreamId { kind: StreamKind::Debate, id: Uuid::nil() };

    #[tokio::test]
    async fn one_waiting_caller_reads_the_head_and_all_are_notified() {
        let wakes = Wakes::new(Position::START);
        let looks = watch::Sender::new(0);
        let look = || async {
            looks.send_modify(|count| *count += 1);
            tokio::task::yield_now().await;
            Ok(Some(Head { seq: Seq(2), hash: Digest::default() }))
        };
        let mut waits: Vec<StreamWait> = (0..100).map(|_| wakes.subscribe(STREAM).unwrap()).collect();
        let waiting = waits.iter_mut().map(|wait| wait.beyond(Seq(1), look()));
        let seen = futures::future::join_all(waiting).await;
        assert!(seen.into_iter().all(|seen| seen.unwrap() == Seq(2)));
        assert_eq!(*looks.borrow(), 1);

        let mut late = wakes.subscribe(STREAM).unwrap();
        let waiting = futures::future::join(late.beyond(Seq(2), look()), async {
            wakes.committed(&[(STREAM, Seq(3))], Position(3));
        });
        assert_eq!(waiting.await.0.unwrap(), Seq(3));
        assert_eq!(*looks.borrow(), 1, "a later caller is notified like the others");

        drop((waits, late));
        let seen = wakes.subscribe(STREAM).unwrap().beyond(Seq(1), look()).await;
        assert_eq!((seen.unwrap(), *looks.borrow()), (Seq(2), 2), "it is read again if no caller waited");
    }

    #[tokio::test]
    async fn after_a_failed_read_the_next_caller_reads_the_head() {
        let wakes = Wakes::new(Position::START);
        let mut waits = [(); 2].map(|()| wakes.subscribe(STREAM).unwrap());
        let failing = waits[0].beyond(Seq::START, async { Err(ReadError::Closed) }).await;
        assert!(matches!(failing, Err(ReadError::Closed)));
        let head = Head { seq: Seq(1), hash: Digest::default() };
        assert_eq!(waits[1].beyond(Seq::START, async { Ok(Some(head)) }).await.unwrap(), Seq(1));
    }
}

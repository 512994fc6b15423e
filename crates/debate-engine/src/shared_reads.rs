//! One reading for all who ask for the same at once: the followers of a debate that another replica drives wake together,
//! and want the same events.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::Seq;
use debate_store::{EventStore, ReadError};
use futures::future::{BoxFuture, FutureExt as _, Shared, WeakShared};

use crate::paging::Pages;

/// Events of one stream in order; all who asked have the same ones.
pub(crate) type Page = Arc<[Arc<Envelope>]>;

/// A page, and the pages behind it.
type Answer = Result<(Page, Pages), ReadError>;
type Running = HashMap<(StreamId, Seq, u32), WeakShared<BoxFuture<'static, Answer>>>;

/// The readings that are under way in this process.
#[derive(Clone, Default)]
pub(crate) struct SharedReads {
    running: Arc<Mutex<Running>>,
}

impl fmt::Debug for SharedReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedReads").field("running", &self.running().len()).finish()
    }
}

impl SharedReads {
    /// Reads the next of some pages behind `after`, or takes what somebody is just reading who asked for the same: events
    /// that were stored since that one began may be missing. A reading goes on while anybody waits for it.
    pub(crate) async fn read(
        &self,
        store: &Arc<dyn EventStore>,
        stream: StreamId,
        after: Seq,
        pages: Pages,
    ) -> Answer {
        let key = (stream, after, pages.next());
        let reading = self.join((stream, after), pages, store);
        let answer = reading.clone().await;
        // It is over: who asks from now on begins another one.
        let mut running = self.running();
        if running.get(&key).and_then(WeakShared::upgrade).is_some_and(|known| known.ptr_eq(&reading)) {
            running.remove(&key);
        }
        answer
    }

    fn join(
        &self,
        (stream, after): (StreamId, Seq),
        mut pages: Pages,
        store: &Arc<dyn EventStore>,
    ) -> Shared<BoxFuture<'static, Answer>> {
        let key = (stream, after, pages.next());
        let mut running = self.running();
        if let Some(reading) = running.get(&key).and_then(WeakShared::upgrade) {
            return reading;
        }
        // Those whose askers have all gone away are forgotten.
        running.retain(|_, reading| reading.upgrade().is_some());
        let store = Arc::clone(store);
        let read = async move {
            let mut events = store.read(stream, after, pages.next()).await?;
            pages.cut(&mut events, |event| event);
            Ok((events.into_iter().map(Arc::new).collect(), pages))
        };
        let reading = read.boxed().shared();
        running.extend(reading.downgrade().map(|reading| (key, reading)));
        reading
    }

    fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use debate_core::codec::{self, Author, Head};
    use debate_core::envelope::StreamKind;
    use debate_core::event::{Event, KernelEvent, Paused};
    use debate_core::formats::prediction::Prediction;
    use debate_core::id::Timestamp;
    use debate_store::MemoryStore;
    use uuid::Uuid;

    use super::*;

    const STREAM: StreamId = StreamId { kind: StreamKind::Debate, id: Uuid::nil() };

    async fn store_of_one_event() -> Arc<dyn EventStore> {
        let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
        let event = Event::<Prediction>::Kernel(KernelEvent::Paused(Paused { remaining_ms: 0 }));
        let store = MemoryStore::new();
        let sealed = codec::seal(STREAM, Head::NONE, &author, Timestamp(1), &[event], || [0; 16]);
        store.append(sealed.into()).await.unwrap();
        Arc::new(store)
    }

    #[tokio::test]
    async fn who_asks_for_the_same_while_it_is_read_gets_the_same_events() {
        let (store, reads) = (store_of_one_event().await, SharedReads::default());
        let [one, other] = [(); 2].map(|()| reads.join((STREAM, Seq::START), Pages::of(64), &store));
        let elsewhere = reads.join((STREAM, Seq(1)), Pages::of(64), &store);
        let (one, other, elsewhere) =
            (one.await.unwrap().0, other.await.unwrap().0, elsewhere.await.unwrap().0);
        assert_eq!((one.len(), elsewhere.len()), (1, 0));
        assert!(Arc::ptr_eq(&one, &other));
    }

    #[tokio::test]
    async fn who_asks_after_a_reading_or_when_its_askers_left_begins_another_one() {
        let (store, reads) = (store_of_one_event().await, SharedReads::default());
        let left = reads.join((STREAM, Seq::START), Pages::of(64), &store);
        drop(left);
        let (one, _) = reads.read(&store, STREAM, Seq::START, Pages::of(64)).await.unwrap();
        let (other, _) = reads.read(&store, STREAM, Seq::START, Pages::of(64)).await.unwrap();
        assert!(!Arc::ptr_eq(&one, &other));
        assert!(reads.running().is_empty());
    }
}

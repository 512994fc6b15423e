//! What a driver has just appended, handed to those who follow its debate in the same process: they need not read
//! from the store what was written to it a moment ago. It may be missed; the store has everything.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use debate_core::envelope::Envelope;
use debate_core::id::Seq;
use tokio::sync::broadcast;

/// Appends kept for a follower that is behind; who is further behind reads them from the store.
const APPENDS_KEPT: usize = 64;

/// What a follower receives.
#[derive(Debug, Clone)]
pub(crate) enum News {
    /// These events were appended, in this order.
    Appended(Arc<[Arc<Envelope>]>),
    /// The debate is not driven here any more, and this was the last event announced: later events must be read from
    /// the store.
    Released(Seq),
}

/// The end of one debate's log, as it grows. Costs nothing until somebody follows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tail {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    sender: OnceLock<broadcast::Sender<News>>,
    is_driven: AtomicBool,
    announced: AtomicU64,
}

/// The debate is driven in this process while this value lives.
#[derive(Debug)]
pub(crate) struct Driven(Tail);

impl Drop for Driven {
    fn drop(&mut self) {
        self.0.shared.is_driven.store(false, Ordering::SeqCst);
        self.0.tell(News::Released(Seq(self.0.shared.announced.load(Ordering::SeqCst))));
    }
}

impl Tail {
    /// Declares that from now on all appends are announced here.
    pub(crate) fn drive(&self) -> Driven {
        self.shared.is_driven.store(true, Ordering::SeqCst);
        Driven(self.clone())
    }

    /// Begins to follow, if the debate is driven here.
    pub(crate) fn follow(&self) -> Option<broadcast::Receiver<News>> {
        let sender = self.shared.sender.get_or_init(|| broadcast::Sender::new(APPENDS_KEPT));
        let follower = sender.subscribe();
        // Asked after subscribing: a driver that ends now is heard to end.
        self.shared.is_driven.load(Ordering::SeqCst).then_some(follower)
    }

    /// Announces appended events.
    pub(crate) fn appended(&self, envelopes: Vec<Arc<Envelope>>) {
        if let Some(last) = envelopes.last() {
            self.shared.announced.store(last.seq.0, Ordering::SeqCst);
            self.tell(News::Appended(envelopes.into()));
        }
    }

    fn tell(&self, news: News) {
        if let Some(sender) = self.shared.sender.get().filter(|sender| sender.receiver_count() > 0) {
            // A follower may leave at any time.
            let _unheard = sender.send(news);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;

    use debate_core::codec::{self, Author, Head};
    use debate_core::envelope::{StreamId, StreamKind};
    use debate_core::event::{Event, KernelEvent, Paused};
    use debate_core::formats::prediction::Prediction;
    use debate_core::id::Timestamp;
    use tokio::sync::broadcast::error::TryRecvError;
    use uuid::Uuid;

    use super::*;

    fn envelopes(events: usize) -> Vec<Arc<Envelope>> {
        let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
        let events =
            vec![Event::<Prediction>::Kernel(KernelEvent::Paused(Paused { remaining_ms: 0 })); events];
        let stream = StreamId { kind: StreamKind::Debate, id: Uuid::nil() };
        codec::seal(stream, Head::NONE, &author, Timestamp(1), &events, || [0; 16]).into_envelopes()
    }

    #[test]
    fn last_64_appends_are_kept_once_until_all_followers_saw_them() {
        let tail = Tail::default();
        let _driven = tail.drive();
        let mut followers = [tail.follow().unwrap(), tail.follow().unwrap()];
        let kept: Vec<Weak<Envelope>> = envelopes(100)
            .into_iter()
            .map(|envelope| {
                let weak = Arc::downgrade(&envelope);
                tail.appended(vec![envelope]);
                weak
            })
            .collect();
        let is_kept = |envelope: &Weak<Envelope>| envelope.strong_count();
        let (gone, last) = kept.split_at(36);
        assert!(gone.iter().all(|envelope| is_kept(envelope) == 0));
        assert!(last.iter().all(|envelope| is_kept(envelope) == 1), "once for both");
        for follower in &mut followers {
            assert!(last.iter().all(|envelope| is_kept(envelope) == 1));
            assert!(matches!(follower.try_recv(), Err(TryRecvError::Lagged(36))));
            while follower.try_recv().is_ok() {}
        }
        assert!(kept.iter().all(|envelope| is_kept(envelope) == 0), "both have seen everything");
    }
}

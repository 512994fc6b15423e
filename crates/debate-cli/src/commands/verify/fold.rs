//! Folding streams of a bundle in a store of their own.

use std::collections::{BTreeMap, BTreeSet};

use debate_core::envelope::{Envelope, StreamId};
use debate_engine::{Fault, Verification};

use super::super::import::Batch;
use crate::app_context::AppContext;
use crate::exit::Failure;

/// How much is kept of what is wrong with one debate, in bytes.
const WHY_BYTES_MAX: usize = 1_000;

/// Streams of a bundle that are folded together. Of no other is anything kept.
pub(super) struct Fold {
    streams: BTreeSet<StreamId>,
    app: AppContext,
    batch: Batch,
}

impl Fold {
    /// Begins with an empty store.
    pub(super) async fn open(streams: BTreeSet<StreamId>) -> anyhow::Result<Self> {
        Ok(Self { streams, app: AppContext::empty().await?, batch: Batch::default() })
    }

    /// Takes the next event of a bundle.
    pub(super) async fn push(&mut self, envelope: Envelope) -> anyhow::Result<()> {
        if !self.streams.contains(&envelope.stream) {
            return Ok(());
        }
        self.batch.push(&**self.app.store.events(), envelope).await
    }

    /// Folds debates of which all events were pushed, and recomputes their outcomes. Of what is wrong with one the beginning
    /// is kept: a bundle may have many, each with a name of any length that is not known here.
    pub(super) async fn finish(
        mut self,
        debates: &[StreamId],
    ) -> anyhow::Result<BTreeMap<StreamId, Verification>> {
        let others = self.batch.flush(&**self.app.store.events()).await?;
        if let Some(other) = others.first() {
            return Err(Failure::fault(&other.why));
        }
        let mut folds = BTreeMap::new();
        for stream in debates {
            let mut found = super::verify(&self.app.engine, *stream, true).await?;
            if let Some(Fault { why, .. }) = &mut found.fault {
                why.truncate(why.floor_char_boundary(WHY_BYTES_MAX));
            }
            folds.insert(*stream, found);
        }
        Ok(folds)
    }
}

/// Streams of a bundle that are folded one after the other, each in a store of its own, of which there is one at a time.
#[derive(Default)]
pub(super) struct OneByOne {
    open: Option<(StreamId, Fold)>,
    folds: BTreeMap<StreamId, Verification>,
}

impl OneByOne {
    /// Takes the next event of a bundle, in which the events of a stream stand together: with another stream the one before
    /// it is folded, and its store is let go of.
    pub(super) async fn push(&mut self, envelope: Envelope) -> anyhow::Result<()> {
        let stream = envelope.stream;
        let mut fold = match self.open.take() {
            Some((open, fold)) if open == stream => fold,
            before => {
                self.close(before).await?;
                Fold::open(BTreeSet::from([stream])).await?
            }
        };
        fold.push(envelope).await?;
        self.open = Some((stream, fold));
        Ok(())
    }

    /// Folds the last of them; returns what was found of each.
    pub(super) async fn finish(mut self) -> anyhow::Result<BTreeMap<StreamId, Verification>> {
        let last = self.open.take();
        self.close(last).await?;
        Ok(self.folds)
    }

    async fn close(&mut self, open: Option<(StreamId, Fold)>) -> anyhow::Result<()> {
        if let Some((stream, fold)) = open {
            self.folds.extend(fold.finish(&[stream]).await?);
        }
        Ok(())
    }
}

#[cfg(test)]
pub(in crate::commands) mod tests {
    use std::sync::Arc;

    use debate_core::chain::{GENESIS, hash_of};
    use debate_core::envelope::StreamKind;
    use debate_core::id::{Digest, Seq, Timestamp};
    use uuid::Uuid;

    use super::*;

    pub(in crate::commands) fn stream(number: u128) -> StreamId {
        StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(number) }
    }

    pub(in crate::commands) fn event(stream: StreamId) -> Envelope {
        let mut event = Envelope {
            stream,
            seq: Seq(1),
            kind: "opened".to_owned(),
            version: 1,
            at: Timestamp(0),
            tenant: String::new(),
            actor: "engine".to_owned(),
            trace: None,
            body: "{}".to_owned(),
            prose: None,
            prose_digest: None,
            hash: Digest::default(),
        };
        event.hash = hash_of(&GENESIS, &event);
        event
    }

    async fn kept(fold: &mut Fold) -> Vec<StreamId> {
        let store = &**fold.app.store.events();
        fold.batch.flush(store).await.unwrap();
        store.heads(None, 10).await.unwrap().into_iter().map(|(stream, _)| stream).collect()
    }

    #[tokio::test]
    async fn of_a_bundle_no_more_is_kept_than_is_folded_together() {
        let mut fold = Fold::open(BTreeSet::from([stream(2), stream(3)])).await.unwrap();
        for number in 1..=4 {
            fold.push(event(stream(number))).await.unwrap();
        }
        assert_eq!(kept(&mut fold).await, [stream(2), stream(3)]);
    }

    #[tokio::test]
    async fn of_a_bundle_one_stream_is_kept_at_a_time() {
        let (mut folds, mut stores) = (OneByOne::default(), Vec::new());
        for number in 1..=3 {
            folds.push(event(stream(number))).await.unwrap();
            let (_, fold) = folds.open.as_mut().unwrap();
            assert_eq!(kept(fold).await, [stream(number)]);
            stores.push(Arc::downgrade(fold.app.store.events()));
            let open = stores.iter().filter(|store| store.strong_count() > 0).count();
            assert_eq!(open, 1, "stores that are open at stream {number}");
        }
        let found = folds.finish().await.unwrap();
        assert_eq!(found.into_keys().collect::<Vec<_>>(), [1, 2, 3].map(stream));
        assert!(stores.iter().all(|store| store.strong_count() == 0));
    }
}

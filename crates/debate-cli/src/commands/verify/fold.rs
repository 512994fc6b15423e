//! Folding streams of a bundle in a store of their own.

use std::collections::{BTreeMap, BTreeSet};

use debate_core::envelope::{Envelope, StreamId};
use debate_engine::{Fault, Verification};

use super::super::import::Batch;
use crate::house::House;

/// How much is kept of what is wrong with one debate, in bytes.
const WHY_BYTES_MAX: usize = 1_000;

/// Streams of a bundle that are folded together. Of no other is anything kept.
pub(super) struct Fold {
    streams: BTreeSet<StreamId>,
    house: House,
    batch: Batch,
}

impl Fold {
    /// Begins with an empty store.
    pub(super) async fn open(streams: BTreeSet<StreamId>) -> anyhow::Result<Self> {
        Ok(Self { streams, house: House::empty().await?, batch: Batch::default() })
    }

    /// Takes the next event of a bundle.
    pub(super) async fn push(&mut self, envelope: Envelope) -> anyhow::Result<()> {
        if !self.streams.contains(&envelope.stream) {
            return Ok(());
        }
        self.batch.push(&**self.house.store.events(), envelope).await
    }

    /// Folds debates of which all events were pushed, and recomputes their outcomes. Of what is wrong with one the beginning
    /// is kept: a bundle may have many, each with a name of any length that is not known here.
    pub(super) async fn finish(
        mut self,
        debates: &[StreamId],
    ) -> anyhow::Result<BTreeMap<StreamId, Verification>> {
        self.batch.flush(&**self.house.store.events()).await?;
        let mut folds = BTreeMap::new();
        for stream in debates {
            let mut found = super::verify(&self.house.engine, *stream, true).await?;
            if let Some(Fault { why, .. }) = &mut found.fault {
                why.truncate(why.floor_char_boundary(WHY_BYTES_MAX));
            }
            folds.insert(*stream, found);
        }
        Ok(folds)
    }
}

#[cfg(test)]
mod tests {
    use debate_core::chain::{GENESIS, hash_of};
    use debate_core::envelope::StreamKind;
    use debate_core::id::{Digest, Seq, Timestamp};
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn of_a_bundle_no_more_is_kept_than_is_folded_together() {
        let stream = |number| StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(number) };
        let mut fold = Fold::open(BTreeSet::from([stream(2), stream(3)])).await.unwrap();
        for number in 1..=4 {
            let mut event = Envelope {
                stream: stream(number),
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
            fold.push(event).await.unwrap();
        }
        let store = &**fold.house.store.events();
        fold.batch.flush(store).await.unwrap();
        let kept = store.heads(None, 10).await.unwrap().into_iter().map(|(stream, _)| stream);
        assert_eq!(kept.collect::<Vec<_>>(), [stream(2), stream(3)]);
    }
}

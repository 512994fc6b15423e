//! The heads of all streams, found in the log itself, for a backend that knows no quicker way.

use std::collections::BTreeMap;

use debate_core::envelope::StreamId;

use crate::port::{EventStore, Head, Position, ReadError};

/// Events read at once.
const PAGE: u32 = 1_000;

/// Reads the whole log and returns a page of heads, in the order of streams.
pub(crate) async fn scan<S: EventStore + ?Sized>(
    store: &S,
    after: Option<StreamId>,
    limit: u32,
) -> Result<Vec<(StreamId, Head)>, ReadError> {
    let mut heads = BTreeMap::new();
    let mut position = Position::START;
    loop {
        let page = store.read_all(position, PAGE).await?;
        let Some((last, _)) = page.last() else { break };
        position = *last;
        for (_, envelope) in page {
            if after.is_none_or(|after| envelope.stream > after) {
                heads.insert(envelope.stream, Head { seq: envelope.seq, hash: envelope.hash });
            }
        }
    }
    Ok(heads.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)).collect())
}

#[cfg(test)]
mod tests {
    use debate_core::chain::{GENESIS, hash_of};
    use debate_core::envelope::{Envelope, StreamKind};
    use debate_core::id::{Digest, Seq, Timestamp};
    use uuid::Uuid;

    use super::*;
    use crate::append::Append;
    use crate::memory::MemoryStore;

    #[tokio::test]
    async fn the_log_itself_gives_the_heads_that_a_backend_gives() {
        let store = MemoryStore::new();
        for (id, length) in [(3, 2), (1, 5), (2, 1)] {
            let stream = StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(id) };
            let mut hash = GENESIS;
            let events = (1..=length).map(|seq| {
                let mut envelope = Envelope {
                    stream,
                    seq: Seq(seq),
                    kind: "noted".to_owned(),
                    version: 1,
                    at: Timestamp(0),
                    tenant: String::new(),
                    actor: "test".to_owned(),
                    trace: None,
                    body: "{}".to_owned(),
                    prose: None,
                    prose_digest: None,
                    hash: Digest::default(),
                };
                hash = hash_of(&hash, &envelope);
                envelope.hash = hash;
                envelope
            });
            let events: Vec<Envelope> = events.collect();
            store.append(Append::new(stream, Seq::START, events)).await.unwrap();
        }
        let all = store.heads(None, 10).await.unwrap();
        assert_eq!(all.iter().map(|(_, head)| head.seq).collect::<Vec<_>>(), [Seq(5), Seq(1), Seq(2)]);
        assert_eq!(scan(&store, None, 10).await.unwrap(), all);
        assert_eq!(scan(&store, Some(all[0].0), 1).await.unwrap(), all[1..2]);
    }
}

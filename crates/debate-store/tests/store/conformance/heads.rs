//! Where all streams end.

use std::collections::BTreeMap;
use std::sync::Arc;

use debate_core::envelope::{StreamId, StreamKind};
use debate_store::{EventStore, Head};

use super::on_every_store;
use crate::stream_writer::StreamWriter;

on_every_store! {
    the_heads_of_all_streams_are_read_in_pages_in_their_order,
    a_store_without_streams_has_no_heads,
}

async fn the_heads_of_all_streams_are_read_in_pages_in_their_order(store: Arc<dyn EventStore>) {
    let mut wanted = BTreeMap::new();
    for (kind, id, lengths) in [
        (StreamKind::Policy, 3, [2, 0]),
        (StreamKind::Debate, u128::MAX, [1, 3]),
        (StreamKind::Debate, 7, [4, 1]),
        (StreamKind::Policy, u128::MAX - 1, [1, 0]),
        (StreamKind::Debate, 8, [1, 0]),
    ] {
        let mut writer = StreamWriter::of_kind(kind, id);
        for length in lengths.into_iter().filter(|length| *length > 0) {
            let append = writer.append(length);
            let last = append.envelopes().last().unwrap();
            wanted.insert(writer.stream, Head { seq: last.seq, hash: last.hash });
            store.append(append).await.unwrap();
        }
    }
    let wanted: Vec<(StreamId, Head)> = wanted.into_iter().collect();
    for limit in 1..=6 {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = store.heads(after, limit).await.unwrap();
            assert!(page.len() <= limit as usize);
            let Some((last, _)) = page.last() else { break };
            after = Some(*last);
            found.extend(page);
        }
        assert_eq!(found, wanted, "in pages of {limit}");
    }
    assert_eq!(store.heads(None, 0).await.unwrap(), []);
}

async fn a_store_without_streams_has_no_heads(store: Arc<dyn EventStore>) {
    assert_eq!(store.heads(None, 10).await.unwrap(), []);
}

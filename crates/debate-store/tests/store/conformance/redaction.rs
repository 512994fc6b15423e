//! Deleting prose (rule K15).

use std::sync::Arc;

use debate_core::envelope::Envelope;
use debate_core::id::Seq;
use debate_store::{Append, EventStore, RedactError};

use crate::conformance::on_every_store;
use crate::stream_writer::{StreamWriter, read_stream, verify};

on_every_store! {
    k15_redaction_deletes_the_prose_and_nothing_else,
    k15_an_event_that_is_not_there_cannot_be_redacted,
    k15_a_redacted_append_repeated_is_still_success,
}

fn append_with_prose(writer: &mut StreamWriter) -> Append {
    let envelopes = vec![
        writer.event_with_prose("opened", "{\"n\":1}", "{\"text\":\"one\"}"),
        writer.event_with_prose("said", "{\"n\":2}", "{\"text\":\"two\"}"),
        writer.event("noted", "{\"n\":3}"),
    ];
    Append::new(writer.stream, Seq::START, envelopes)
}

async fn k15_redaction_deletes_the_prose_and_nothing_else(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    let append = append_with_prose(&mut writer);
    let mut wanted: Vec<Envelope> = append.envelopes().iter().map(|it| Envelope::clone(it)).collect();
    store.append(append).await.unwrap();
    store.redact(writer.stream, Seq(2)).await.unwrap();
    store.redact(writer.stream, Seq(2)).await.unwrap();
    store.redact(writer.stream, Seq(3)).await.unwrap();
    wanted[1].prose = None;
    let found = read_stream(&*store, writer.stream).await;
    assert_eq!(found, wanted);
    assert_eq!(found.iter().map(Envelope::is_redacted).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(verify(&*store, writer.stream).await, Ok(Seq(3)));
    store.append(writer.append(1)).await.unwrap();
    assert_eq!(verify(&*store, writer.stream).await, Ok(Seq(4)));
}

async fn k15_an_event_that_is_not_there_cannot_be_redacted(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    store.append(append_with_prose(&mut writer)).await.unwrap();
    for seq in [Seq(0), Seq(4), Seq(u64::MAX)] {
        let refused = store.redact(writer.stream, seq).await;
        assert!(matches!(refused, Err(RedactError::NotFound { seq: found, .. }) if found == seq));
    }
    let refused = store.redact(StreamWriter::new(2).stream, Seq(1)).await;
    assert!(matches!(refused, Err(RedactError::NotFound { .. })));
}

async fn k15_a_redacted_append_repeated_is_still_success(store: Arc<dyn EventStore>) {
    let append = append_with_prose(&mut StreamWriter::new(1));
    let position = store.append(append.clone()).await.unwrap();
    store.redact(append.stream, Seq(1)).await.unwrap();
    assert_eq!(store.append(append.clone()).await.unwrap(), position);
    assert!(read_stream(&*store, append.stream).await[0].is_redacted());
}

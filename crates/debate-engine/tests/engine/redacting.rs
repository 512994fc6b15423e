//! Words go for good, and everything else holds (rule K15).

use std::sync::Arc;

use debate_core::command::DecideError;
use debate_core::debate::Debate;
use debate_core::envelope::Envelope;
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Engine, LoadError, Redact, Redaction, RedactionError, finish_redactions};
use debate_store::EventStore;
use uuid::Uuid;

use crate::bench_of_one::{PATIENCE, engine, log, memory, model, start};
use crate::moody_store::MoodyStore;

async fn finished(store: Arc<dyn EventStore>) -> (Engine, DebateId) {
    let engine = engine(store, model("seed=7"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    (engine, debate)
}

#[tokio::test(start_paused = true)]
async fn k15_one_event_loses_its_words_and_all_else_holds() {
    let (engine, debate) = finished(memory()).await;
    let head = log(&engine, debate).await.len();
    let before: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    let redaction = engine.redact(debate, Redact::Event(Seq(1)), "alice").await.unwrap();
    assert_eq!(redaction, Redaction { recorded: 1, deleted: 1 });

    let events = log(&engine, debate).await;
    let last = events.last().unwrap();
    assert_eq!((events.len(), last.kind.as_str(), last.actor.as_str()), (head + 1, "redacted", "alice"));
    assert!(events[0].is_redacted());
    let found = engine.verify(debate).await.unwrap();
    assert_eq!((found.fault, found.redacted, found.unfinished, found.outcomes), (None, 1, 0, 1));
    let after: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    assert_eq!(after.conclusion(), before.conclusion());
    assert!(after.is_redacted() && after.brief().shown().is_none());
    let again = engine.redact(debate, Redact::Event(Seq(1)), "alice").await.unwrap();
    assert_eq!(again, Redaction { recorded: 0, deleted: 0 });
}

#[tokio::test(start_paused = true)]
async fn k15_all_words_go_and_the_outcome_still_follows_from_the_log() {
    let (engine, debate) = finished(memory()).await;
    let worded = |log: &[Envelope]| log.iter().filter(|it| it.prose_digest.is_some()).count();
    let words = worded(&log(&engine, debate).await);
    assert!(words > 31);
    let redaction = engine.redact(debate, Redact::All, "alice").await.unwrap();
    assert_eq!(redaction, Redaction { recorded: words, deleted: words });
    let found = engine.verify(debate).await.unwrap();
    assert_eq!((found.fault, found.redacted, found.outcomes), (None, words as u64, 1));
    assert!(log(&engine, debate).await.iter().all(|envelope| envelope.prose.is_none()));
}

#[tokio::test(start_paused = true)]
async fn k15_words_that_go_without_a_record_are_missed() {
    let store = memory();
    let (engine, debate) = finished(store.clone()).await;
    let events = log(&engine, debate).await;
    // The last of them, and then the one before: the first is named.
    for worded in events.iter().rev().filter(|it| it.prose.is_some()).take(2) {
        store.redact(debate.into(), worded.seq).await.unwrap();
        let fault = engine.verify(debate).await.unwrap().fault.unwrap();
        assert_eq!(fault.seq, worded.seq);
        assert_eq!(fault.why, "its words were deleted and no redaction is on record");
    }
}

#[tokio::test(start_paused = true)]
async fn k15_a_redaction_that_was_interrupted_is_seen_and_finished() {
    let store = Arc::new(MoodyStore::default());
    let (engine, debate) = finished(store.clone()).await;
    store.be_silent_once();
    let interrupted = engine.redact(debate, Redact::Event(Seq(1)), "alice").await;
    assert!(matches!(interrupted, Err(RedactionError::Record(_))), "{interrupted:?}");
    let found = engine.verify(debate).await.unwrap();
    assert_eq!((found.fault, found.redacted, found.unfinished), (None, 0, 1));
    let finished = engine.redact(debate, Redact::Event(Seq(1)), "alice").await.unwrap();
    assert_eq!(finished, Redaction { recorded: 0, deleted: 1 });
    let found = engine.verify(debate).await.unwrap();
    assert_eq!((found.fault, found.redacted, found.unfinished), (None, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn k15_redactions_on_record_are_finished_with_one_event_at_a_time() {
    let store = Arc::new(MoodyStore::default());
    let (engine, debate) = finished(store.clone()).await;
    store.be_silent_once();
    assert!(engine.redact(debate, Redact::Event(Seq(1)), "alice").await.is_err());
    let head = Seq(log(&engine, debate).await.len() as u64);
    store.read_at_once_max();
    // Neither an event of another kind nor one that is not there tells of a deletion.
    let others = [Seq::START, Seq(1), Seq(2), head.next()];
    assert_eq!(finish_redactions(&*store, debate.into(), &others).await.unwrap(), 0);
    assert_eq!(finish_redactions(&*store, debate.into(), &[head]).await.unwrap(), 1);
    assert_eq!(finish_redactions(&*store, debate.into(), &[head]).await.unwrap(), 0);
    assert_eq!(store.read_at_once_max(), 1);
    let found = engine.verify(debate).await.unwrap();
    assert_eq!((found.fault, found.redacted, found.unfinished), (None, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn k15_what_cannot_be_redacted_is_refused_with_its_reason() {
    let (engine, debate) = finished(memory()).await;
    for seq in [0, 10_000].map(Seq) {
        let error = engine.redact(debate, Redact::Event(seq), "alice").await.unwrap_err();
        assert!(matches!(error, RedactionError::Refused(DecideError::NoEvent(no)) if no == seq), "{error}");
    }
    let error = engine.redact(debate, Redact::Event(Seq(2)), "alice").await.unwrap_err();
    assert!(matches!(error, RedactionError::NoProse(Seq(2))), "{error}");
    let unknown = DebateId(Uuid::nil());
    let error = engine.redact(unknown, Redact::All, "alice").await.unwrap_err();
    assert!(matches!(error, RedactionError::Load(LoadError::NotFound(_))), "{error}");

    let slow = crate::bench_of_one::engine(memory(), model("seed=7,latency=1s"));
    let running = slow.start(start(None)).await.unwrap().debate;
    let error = slow.redact(running, Redact::All, "alice").await.unwrap_err();
    assert!(matches!(error, RedactionError::Refused(DecideError::NotConcluded)), "{error}");
}

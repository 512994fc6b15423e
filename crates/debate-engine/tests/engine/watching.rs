//! Rule K10: every durable event exactly once, live pieces of public text between them, and no slow subscriber delays
//! others.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use debate_core::envelope::Envelope;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Control, Engine, WatchError, Watched};
use debate_llm::{ChatReply, ScriptedModel};
use futures::StreamExt;

use crate::bench_of_one::{PATIENCE, engine, log, memory, model, start};
use crate::moody_store::MoodyStore;

async fn watched(engine: &Engine, debate: DebateId, after: u64, tokens: bool) -> Vec<Watched> {
    let stream = engine.watch(debate, Seq(after), tokens).await.unwrap();
    let items = tokio::time::timeout(PATIENCE, stream.collect::<Vec<_>>()).await.unwrap();
    items.into_iter().map(Result::unwrap).collect()
}

fn seqs(items: &[Watched]) -> Vec<u64> {
    let events = items.iter().filter_map(|item| match item {
        Watched::Event(envelope) => Some(envelope.seq.0),
        Watched::Chunk(_) | Watched::Heartbeat(_) => None,
    });
    events.collect()
}

#[tokio::test(start_paused = true)]
async fn k10_a_watch_gives_every_event_once_and_ends_with_the_debate() {
    let engine = engine(memory(), model("seed=7,latency=1s"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    let items = watched(&engine, debate, 0, false).await;
    let head = log(&engine, debate).await.len() as u64;
    assert_eq!(seqs(&items), (1..=head).collect::<Vec<_>>());
    assert!(items.iter().all(|item| !matches!(item, Watched::Chunk(_))));
}

#[tokio::test(start_paused = true)]
async fn k10_a_watch_resumes_after_any_event_without_loss_or_repetition() {
    let engine = engine(memory(), model("seed=7"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let head = log(&engine, debate).await.len() as u64;
    for after in [1, 17, head - 1, head] {
        let items = watched(&engine, debate, after, true).await;
        assert_eq!(seqs(&items), (after + 1..=head).collect::<Vec<_>>());
    }
    let beyond = engine.watch(debate, Seq(head + 1), false).await;
    assert!(matches!(beyond.err(), Some(WatchError::BeyondHead { .. })));
}

#[tokio::test(start_paused = true)]
async fn k24_watch_follows_a_void_debate_that_is_resumed() {
    let engine = engine(memory(), model("seed=7,latency=1s"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    let cancel = Control::Cancel { reason: "for now".to_owned() };
    engine.control(debate, cancel, "test").await.unwrap();
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let void = log(&engine, debate).await.len() as u64;
    engine.control(debate, Control::Resume, "test").await.unwrap();
    let reopened = &log(&engine, debate).await[void as usize];
    assert_eq!((reopened.kind.as_str(), reopened.seq.0), ("reopened", void + 1));
    assert!(!engine.is_over(debate, Seq(void + 1)).await.unwrap());
    let head = log(&engine, debate).await.len() as u64;
    assert!(!engine.is_over(debate, Seq(head)).await.unwrap());
    let (all, rest) =
        tokio::join!(watched(&engine, debate, void - 1, false), watched(&engine, debate, void + 1, false));
    let log = log(&engine, debate).await;
    assert_eq!(log.last().unwrap().kind, "concluded");
    assert_eq!(seqs(&all), (void..=log.len() as u64).collect::<Vec<_>>());
    assert_eq!(seqs(&rest), (void + 2..=log.len() as u64).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn k10_live_pieces_are_public_text_and_join_to_the_argument() {
    let engine = engine(memory(), model("seed=7,latency=1s,tokens_per_second=200"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    let items = watched(&engine, debate, 0, true).await;
    let mut spoken: BTreeMap<String, (u32, String)> = BTreeMap::new();
    for item in &items {
        let Watched::Chunk(chunk) = item else { continue };
        let (number, text) = spoken.entry(chunk.attempt.call.to_string()).or_default();
        *number += 1;
        assert_eq!(chunk.number, *number, "pieces come in order");
        text.push_str(&chunk.text);
    }
    assert_eq!(spoken.len(), 15 + 1, "arguments and the synthesis are public, scores are not");
    for envelope in log(&engine, debate).await.iter().filter(|envelope| envelope.kind == "argument_made") {
        let body: serde_json::Value = serde_json::from_str(&envelope.body).unwrap();
        let prose = envelope.prose.as_ref().unwrap();
        let prose: serde_json::Value = serde_json::from_str(&prose.text).unwrap();
        let call = format!("argue/{}/{}", body["round"], body["role"].as_str().unwrap());
        assert_eq!(spoken[&call].1, prose["argument"].as_str().unwrap(), "{call}");
    }
}

#[tokio::test(start_paused = true)]
async fn k10_subscriber_that_never_reads_does_not_slow_others() {
    let engine = engine(memory(), model("seed=7,latency=1s,tokens_per_second=200"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    let slow = engine.watch(debate, Seq::START, true).await.unwrap();
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let items: Vec<_> = slow.collect().await;
    let items: Vec<Watched> = items.into_iter().map(Result::unwrap).collect();
    let head = log(&engine, debate).await.len() as u64;
    assert_eq!(seqs(&items), (1..=head).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn k10_a_subscriber_has_at_most_64_events_in_hand_whether_the_debate_runs_or_not() {
    let store = Arc::new(MoodyStore::default());
    let engine = engine(store.clone(), model("seed=7,latency=50s"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for has_ended in [false, true] {
        assert!(!has_ended || engine.concluded(debate, PATIENCE).await.unwrap());
        store.read_at_once_max();
        let mut stream = engine.watch(debate, Seq::START, false).await.unwrap().boxed();
        assert!(stream.next().await.is_some());
        assert_eq!(store.read_at_once_max(), 64, "has ended: {has_ended}");
        let head = Seq(log(&engine, debate).await.len() as u64);
        store.read_at_once_max();
        assert!(engine.watch(debate, head, false).await.is_ok());
        assert_eq!(store.read_at_once_max(), 64, "before its place, has ended: {has_ended}");
    }
}

#[tokio::test(start_paused = true)]
async fn k10_of_long_events_a_subscriber_has_2_mib_in_hand_while_it_looks_for_its_place_too() {
    let words = ChatReply::new("scripted", "x".repeat(600_000));
    let store = Arc::new(MoodyStore::default());
    let engine = engine(store.clone(), Arc::new(ScriptedModel::by(move |_| words.clone())));
    let debate = engine.start(start(None)).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let log = log(&engine, debate).await;
    let bytes: usize = log.iter().map(Envelope::text_bytes).sum();
    let pages = bytes.div_ceil(2 * 1024 * 1024);
    assert!(pages > log.len().div_ceil(64), "by their number they are as few pages: {bytes} bytes");
    store.looked_up();
    assert!(engine.watch(debate, Seq(log.len() as u64), false).await.is_ok());
    let read = store.looked_up().iter().filter(|(_, what)| *what == "events").count();
    assert!(read >= pages, "{bytes} bytes are {read} pages");
}

#[tokio::test(start_paused = true)]
async fn follower_of_a_local_debate_reads_no_pages_from_the_store() {
    let store = Arc::new(MoodyStore::default());
    let engine = engine(store.clone(), model("seed=7,latency=1s"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let begun = log(&engine, debate).await.len();
    let mut followers = Vec::new();
    for tokens in [false, true] {
        let mut stream = engine.watch(debate, Seq::START, tokens).await.unwrap().boxed();
        assert_eq!(stream.by_ref().take(begun).count().await, begun);
        followers.push(stream);
    }
    store.looked_up();
    for stream in &mut followers {
        assert!(matches!(stream.next().await, Some(Ok(Watched::Event(_) | Watched::Chunk(_)))));
    }
    assert!(store.looked_up().iter().all(|(_, what)| *what != "events"));
}

#[tokio::test(start_paused = true)]
async fn k10_a_quiet_watch_beats() {
    let engine = engine(memory(), model("seed=7,latency=50s"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    let stream = engine.watch(debate, Seq::START, false).await.unwrap();
    let first_minute =
        stream.take_until(tokio::time::sleep(Duration::from_secs(46))).collect::<Vec<_>>().await;
    let beats = first_minute.iter().filter(|item| matches!(item, Ok(Watched::Heartbeat(_)))).count();
    assert_eq!(beats, 3, "one every 15 s");
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_no_debate_says_so() {
    let engine = engine(memory(), model("seed=7"));
    let nowhere = DebateId(uuid::Uuid::from_u128(5));
    assert!(matches!(engine.watch(nowhere, Seq::START, false).await.err(), Some(WatchError::NotFound(_))));
}

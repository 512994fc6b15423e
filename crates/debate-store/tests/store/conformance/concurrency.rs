//! Many writers at once.

use std::collections::HashMap;
use std::sync::Arc;

use debate_core::id::Seq;
use debate_store::{Append, AppendError, EventStore, Position};
use tokio::task::JoinSet;

use crate::conformance::on_every_store;
use crate::stream_writer::{StreamWriter, read_stream, settled, verify};

on_every_store! {
    sixty_four_appenders_lose_nothing,
    racing_writers_of_one_stream_lose_nothing,
    one_conflict_does_not_spoil_the_others,
    a_reader_of_all_events_misses_none_while_others_write,
}

async fn sixty_four_appenders_lose_nothing(store: Arc<dyn EventStore>) {
    let mut tasks = JoinSet::new();
    for id in 0..64 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let mut writer = StreamWriter::new(id);
            let mut last = Position::START;
            for turn in 0..10 {
                let position = store.append(writer.append(turn % 3 + 1)).await.unwrap();
                assert!(position > last);
                last = position;
            }
            (writer, last)
        });
    }
    let writers = tasks.join_all().await;
    let mut total = 0;
    for (writer, last) in &writers {
        settled(&*store, *last).await;
        assert_eq!(verify(&*store, writer.stream).await, Ok(writer.head));
        total += writer.head.0;
    }
    let all = store.read_all(Position::START, u32::MAX).await.unwrap();
    assert!(all.is_sorted_by_key(|(position, _)| *position));
    let mut events: Vec<String> = all.iter().map(|(_, event)| event.event_id()).collect();
    events.sort();
    events.dedup();
    assert_eq!(events.len() as u64, total);
}

async fn racing_writers_of_one_stream_lose_nothing(store: Arc<dyn EventStore>) {
    let mut tasks = JoinSet::new();
    for racer in 0..8 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            for turn in 0..5 {
                append_after_conflicts(&*store, &format!("{{\"racer\":{racer},\"turn\":{turn}}}")).await;
            }
        });
    }
    tasks.join_all().await;
    let stream = StreamWriter::new(1).stream;
    assert_eq!(verify(&*store, stream).await, Ok(Seq(40)));
    let mut bodies: Vec<_> = read_stream(&*store, stream).await.into_iter().map(|it| it.body).collect();
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), 40);
}

/// Appends one event after the head of the shared stream, and repeats that until no other writer was faster.
async fn append_after_conflicts(store: &dyn EventStore, body: &str) {
    loop {
        let mut writer = StreamWriter::new(1);
        for stored in read_stream(store, writer.stream).await {
            assert_eq!(writer.event(&stored.kind, &stored.body), stored);
        }
        let expected = writer.head;
        let envelope = writer.event("noted", body);
        match store.append(Append::new(writer.stream, expected, vec![envelope])).await {
            Ok(_) => return,
            Err(AppendError::Conflict { actual, .. }) => assert!(actual > expected),
            Err(other) => panic!("unexpected {other:?}"),
        }
    }
}

async fn one_conflict_does_not_spoil_the_others(store: Arc<dyn EventStore>) {
    for id in 0..30 {
        store.append(StreamWriter::new(id).append(1)).await.unwrap();
    }
    // All at once: of every three appends one fits, one comes too late, one is ahead.
    let appends = (0..30).map(|id| {
        let mut writer = StreamWriter::new(id);
        writer.events(1);
        let append = match id % 3 {
            0 => writer.append(2),
            1 => {
                let mut late = StreamWriter::new(id);
                let envelope = late.event("late", "{}");
                Append::new(late.stream, Seq::START, vec![envelope])
            }
            _ => {
                writer.events(1);
                writer.append(1)
            }
        };
        store.append(append)
    });
    let answers = futures::future::join_all(appends).await;
    settled(&*store, answers.iter().flatten().max().copied().unwrap()).await;
    for (id, answer) in answers.into_iter().enumerate() {
        let stream = StreamWriter::new(id as u128).stream;
        match (id % 3, answer) {
            (0, Ok(_)) => assert_eq!(verify(&*store, stream).await, Ok(Seq(3))),
            (1 | 2, Err(AppendError::Conflict { actual: Seq(1), .. })) => {
                assert_eq!(verify(&*store, stream).await, Ok(Seq(1)));
            }
            (_, other) => panic!("unexpected {other:?} for {id}"),
        }
    }
    assert_eq!(store.read_all(Position::START, 100).await.unwrap().len(), 50);
}

async fn a_reader_of_all_events_misses_none_while_others_write(store: Arc<dyn EventStore>) {
    const TOTAL: u64 = 400;
    let mut tasks = JoinSet::new();
    for id in 0..8 {
        let store = Arc::clone(&store);
        tasks.spawn(async move {
            let mut writer = StreamWriter::new(id);
            for _ in 0..TOTAL / 8 {
                store.append(writer.append(1)).await.unwrap();
            }
        });
    }
    let (mut last, mut found) = (Position::START, HashMap::new());
    while found.values().sum::<u64>() < TOTAL {
        let known = store.wait_all(last).await.unwrap();
        let page = store.read_all(last, 7).await.unwrap();
        assert!(known > last && !page.is_empty());
        for (position, event) in page {
            assert!(position > last);
            last = position;
            let seq: &mut u64 = found.entry(event.stream).or_default();
            *seq += 1;
            assert_eq!(event.seq, Seq(*seq));
        }
    }
    tasks.join_all().await;
}

//! Waiting for events.

use std::pin::pin;
use std::sync::Arc;

use debate_core::id::Seq;
use debate_store::EventStore;
use futures::poll;

use crate::conformance::on_every_store;
use crate::stream_writer::{StreamWriter, settled};

on_every_store! {
    a_wait_for_what_is_there_ends_at_once,
    an_append_ends_the_waits_for_its_stream,
    an_append_to_another_stream_ends_no_wait,
    a_wait_for_any_event_ends_with_the_next_one,
    k10_those_who_wait_and_never_look_cost_writers_nothing,
}

async fn a_wait_for_what_is_there_ends_at_once(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    let first = store.append(writer.append(1)).await.unwrap();
    let last = store.append(writer.append(2)).await.unwrap();
    settled(&*store, last).await;
    assert_eq!(store.wait(writer.stream, Seq(2)).await.unwrap(), Seq(3));
    assert_eq!(store.wait(writer.stream, Seq::START).await.unwrap(), Seq(3));
    assert_eq!(store.wait_all(first).await.unwrap(), last);
}

async fn an_append_ends_the_waits_for_its_stream(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    for round in 1..=3 {
        // The stream does not even exist in the first round.
        let append = writer.append(1);
        let waits = (0..5).map(|_| store.wait(append.stream, append.expected));
        let waits = futures::future::join_all(waits);
        let (heads, appended) = tokio::join!(waits, store.append(append.clone()));
        appended.unwrap();
        assert!(heads.into_iter().all(|head| head.unwrap() == Seq(round)));
    }
}

async fn an_append_to_another_stream_ends_no_wait(store: Arc<dyn EventStore>) {
    let (mut here, mut there) = (StreamWriter::new(1), StreamWriter::new(2));
    store.append(here.append(1)).await.unwrap();
    let mut wait = pin!(store.wait(here.stream, Seq(1)));
    assert!(poll!(wait.as_mut()).is_pending());
    store.append(there.append(1)).await.unwrap();
    assert_eq!(store.wait(there.stream, Seq::START).await.unwrap(), Seq(1));
    assert!(poll!(wait.as_mut()).is_pending());
    store.append(here.append(1)).await.unwrap();
    assert_eq!(wait.await.unwrap(), Seq(2));
}

async fn a_wait_for_any_event_ends_with_the_next_one(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    let before = store.append(writer.append(2)).await.unwrap();
    let append = StreamWriter::new(2).append(1);
    let (last, appended) = tokio::join!(store.wait_all(before), store.append(append));
    assert_eq!(last.unwrap(), appended.unwrap());
}

async fn k10_those_who_wait_and_never_look_cost_writers_nothing(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(1)).await.unwrap();
    let mut waits: Vec<_> = (0..100).map(|_| Box::pin(store.wait(writer.stream, Seq(1)))).collect();
    for wait in &mut waits {
        assert!(poll!(wait.as_mut()).is_pending());
    }
    // The waits are not polled while these are written.
    for _ in 0..50 {
        store.append(writer.append(1)).await.unwrap();
    }
    for wait in waits {
        let head = wait.await.unwrap();
        assert!(head > Seq(1) && head <= Seq(51));
    }
}

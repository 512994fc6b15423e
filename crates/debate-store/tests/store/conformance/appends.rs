//! Appending and reading back.

use std::sync::Arc;

use debate_core::chain::{ChainBreak, hash_of};
use debate_core::codec::{self, Author};
use debate_core::envelope::{Envelope, StreamId, StreamKind};
use debate_core::event::{Event, KernelEvent, Paused};
use debate_core::formats::prediction::Prediction;
use debate_core::id::{Digest, Seq, Timestamp};
use debate_store::{Append, AppendError, EVENTS_PER_APPEND_MAX, EventStore, Head, Position};
use uuid::Uuid;

use crate::conformance::on_every_store;
use crate::stream_writer::{StreamWriter, read_stream, settled, verify};

on_every_store! {
    events_read_back_exact_to_the_byte,
    a_stream_that_does_not_exist_reads_as_empty,
    expected_zero_means_that_the_stream_must_not_exist,
    a_taken_or_unreached_place_is_a_conflict_and_writes_nothing,
    the_same_append_again_is_success,
    an_append_that_is_stored_in_part_is_a_conflict,
    an_append_of_nothing_is_refused,
    an_append_of_too_many_is_refused,
    events_that_do_not_chain_are_refused,
    events_that_were_sealed_behind_another_event_are_refused,
    an_append_is_stored_whole,
    a_stream_is_read_in_pages,
    all_events_are_read_in_the_order_of_commits,
    streams_of_different_kinds_do_not_mix,
}

async fn events_read_back_exact_to_the_byte(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1).with_tenant("Größe ≤ 3");
    let mut first = writer.clone().event_with_prose(
        "opened",
        "{ \"a\" : 1.10,\n\t\"b\":\"\\u00e9 é 🦀 'quoted' ?1\"}",
        "{\"text\":\"\"}",
    );
    first.trace = Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".to_owned());
    first.version = u16::MAX;
    first.at.0 = -1;
    first.hash = hash_of(&Digest::default(), &first);
    let append = Append::new(writer.stream, Seq::START, vec![first.clone()]);
    let position = store.append(append).await.unwrap();
    settled(&*store, position).await;
    assert_eq!(read_stream(&*store, writer.stream).await, [first.clone()]);
    assert_eq!(store.read_all(Position::START, 10).await.unwrap(), [(position, first)]);

    let long = "x".repeat(300_000);
    let mut other = StreamWriter::new(2);
    let envelopes = vec![other.event("noted", &long), other.event_with_prose("said", "{}", &long)];
    store.append(Append::new(other.stream, Seq::START, envelopes.clone())).await.unwrap();
    assert_eq!(read_stream(&*store, other.stream).await, envelopes);
    assert_eq!(verify(&*store, other.stream).await, Ok(Seq(2)));
    writer.events(1);
}

async fn a_stream_that_does_not_exist_reads_as_empty(store: Arc<dyn EventStore>) {
    let stream = StreamWriter::new(1).stream;
    assert_eq!(read_stream(&*store, stream).await, []);
    assert_eq!(store.head(stream).await.unwrap(), None);
    assert_eq!(store.read_all(Position::START, 10).await.unwrap(), []);
}

async fn expected_zero_means_that_the_stream_must_not_exist(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(2)).await.unwrap();
    let mut rival = StreamWriter::new(1);
    let envelope = rival.event("opened", "{\"by\":\"rival\"}");
    let refused = store.append(Append::new(rival.stream, Seq::START, vec![envelope])).await;
    let stream = rival.stream;
    assert!(matches!(
        refused,
        Err(AppendError::Conflict { stream: found, expected: Seq(0), actual: Seq(2) }) if found == stream
    ));
    assert_eq!(read_stream(&*store, stream).await.len(), 2);
}

async fn a_taken_or_unreached_place_is_a_conflict_and_writes_nothing(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(3)).await.unwrap();
    let mut rival = writer.clone();
    let stored = store.append(writer.append(1)).await.unwrap();
    rival.event("skipped", "{}");
    let ahead = rival.append(1);

    let mut late = StreamWriter::new(1);
    late.events(3);
    let late = Append::new(late.stream, Seq(3), vec![late.event("late", "{}")]);
    let refused = store.append(late).await;
    assert!(matches!(refused, Err(AppendError::Conflict { expected: Seq(3), actual: Seq(4), .. })));

    let mut nowhere = StreamWriter::new(2);
    nowhere.events(5);
    let refused = store.append(nowhere.append(1)).await;
    assert!(matches!(refused, Err(AppendError::Conflict { expected: Seq(5), actual: Seq(0), .. })));

    // The place is right, but the events follow other ones.
    let refused = store.append(ahead).await;
    assert!(matches!(refused, Err(AppendError::Invalid(ChainBreak::Hash { seq: Seq(5), .. }))));
    settled(&*store, stored).await;
    assert_eq!(store.read_all(Position::START, 10).await.unwrap().last().map(|it| it.0), Some(stored));
}

async fn the_same_append_again_is_success(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    let first = writer.append(2);
    let second = writer.append(3);
    let position = store.append(first.clone()).await.unwrap();
    assert_eq!(store.append(first.clone()).await.unwrap(), position);
    let last = store.append(second.clone()).await.unwrap();
    let other = store.append(StreamWriter::new(2).append(1)).await.unwrap();
    assert!(position < last && last < other);
    assert_eq!(store.append(first).await.unwrap(), position);
    assert_eq!(store.append(second).await.unwrap(), last);
    assert_eq!(verify(&*store, writer.stream).await, Ok(Seq(5)));
    settled(&*store, other).await;
    assert_eq!(store.read_all(Position::START, 100).await.unwrap().len(), 6);
}

async fn an_append_that_is_stored_in_part_is_a_conflict(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    store.append(writer.clone().append(2)).await.unwrap();
    let refused = store.append(writer.append(3)).await;
    assert!(matches!(refused, Err(AppendError::Conflict { expected: Seq(0), actual: Seq(2), .. })));
    assert_eq!(read_stream(&*store, writer.stream).await.len(), 2);
}

async fn an_append_of_nothing_is_refused(store: Arc<dyn EventStore>) {
    let stream = StreamWriter::new(1).stream;
    let refused = store.append(Append::new(stream, Seq::START, Vec::<Envelope>::new())).await;
    assert!(matches!(refused, Err(AppendError::Empty { .. })));
}

async fn an_append_of_too_many_is_refused(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    let refused = store.append(writer.clone().append(EVENTS_PER_APPEND_MAX + 1)).await;
    assert!(
        matches!(refused, Err(AppendError::TooMany { events, .. }) if events == EVENTS_PER_APPEND_MAX + 1)
    );
    store.append(writer.append(EVENTS_PER_APPEND_MAX)).await.unwrap();
    assert_eq!(verify(&*store, writer.stream).await, Ok(Seq(EVENTS_PER_APPEND_MAX as u64)));
}

async fn events_that_do_not_chain_are_refused(store: Arc<dyn EventStore>) {
    let stream = StreamWriter::new(1).stream;
    let events = || {
        let mut writer = StreamWriter::new(1);
        vec![
            writer.event("opened", "{}"),
            writer.event_with_prose("said", "{}", "{\"text\":\"a\"}"),
            writer.event("noted", "{}"),
        ]
    };
    let mut hole = events();
    hole.remove(1);
    let mut foreign = events();
    foreign[1].stream.id = Uuid::from_u128(2);
    let mut changed = events();
    changed[2].body.push(' ');
    let mut first_changed = events();
    first_changed[0].actor.push('x');
    let mut other_prose = events();
    other_prose[1].prose.as_mut().unwrap().text.push(' ');

    let found = |envelopes| store.append(Append::new(stream, Seq::START, envelopes));
    let expect = |refused: Result<Position, AppendError>, wanted: ChainBreak| match refused {
        Err(AppendError::Invalid(found)) => assert_eq!(found, wanted),
        Ok(_) | Err(_) => panic!("expected {wanted:?}, got {refused:?}"),
    };
    expect(found(hole).await, ChainBreak::Sequence { stream, expected: Seq(2), found: Seq(3) });
    let other = StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(2) };
    expect(found(foreign).await, ChainBreak::Stream { stream, seq: Seq(2), found: other });
    expect(found(changed).await, ChainBreak::Hash { stream, seq: Seq(3) });
    expect(found(first_changed).await, ChainBreak::Hash { stream, seq: Seq(1) });
    expect(found(other_prose).await, ChainBreak::Prose { stream, seq: Seq(2) });
    assert_eq!(store.head(stream).await.unwrap(), None);
    store.append(Append::new(stream, Seq::START, events())).await.unwrap();
}

async fn events_that_were_sealed_behind_another_event_are_refused(store: Arc<dyn EventStore>) {
    let stream = StreamWriter::new(1).stream;
    let author = Author { tenant: String::new(), actor: "x".to_owned(), trace: None };
    let events = [Event::<Prediction>::Kernel(KernelEvent::Paused(Paused { remaining_ms: 1 }))];
    let sealed = |head| Append::from(codec::seal(stream, head, &author, Timestamp(1), &events, || [0; 16]));
    let mut head = codec::Head::NONE;
    for _ in 0..2 {
        let elsewhere = codec::Head { hash: Digest([7; 32]), ..head };
        let refused = store.append(sealed(elsewhere)).await.unwrap_err();
        let seq = head.seq.next();
        let wanted = ChainBreak::Hash { stream, seq };
        assert!(matches!(&refused, AppendError::Invalid(it) if *it == wanted), "{refused:?}");
        let append = sealed(head);
        head = codec::Head { seq, hash: append.envelopes()[0].hash };
        store.append(append).await.unwrap();
    }
    assert_eq!(verify(&*store, stream).await, Ok(Seq(2)));
}

async fn an_append_is_stored_whole(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(1)).await.unwrap();
    // More events than one statement takes, the last of which does not chain.
    let good = writer.append(40);
    let mut bad = good.envelopes().to_vec();
    Arc::make_mut(&mut bad[39]).hash = Digest::default();
    store.append(Append::new(good.stream, good.expected, bad)).await.unwrap_err();
    assert_eq!(store.head(writer.stream).await.unwrap().map(|head| head.seq), Some(Seq(1)));
    store.append(good).await.unwrap();
    assert_eq!(verify(&*store, writer.stream).await, Ok(Seq(41)));
}

async fn a_stream_is_read_in_pages(store: Arc<dyn EventStore>) {
    let mut writer = StreamWriter::new(1);
    let append = writer.append(10);
    let hash = append.envelopes()[9].hash;
    let envelopes = append.envelopes().to_vec();
    store.append(append).await.unwrap();
    let mut found = Vec::new();
    loop {
        let after = Seq(found.len() as u64);
        let page = store.read(writer.stream, after, 3).await.unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 3);
        found.extend(page);
    }
    assert_eq!(found.into_iter().map(Arc::new).collect::<Vec<_>>(), envelopes);
    assert_eq!(store.read(writer.stream, Seq(u64::MAX), 3).await.unwrap(), []);
    assert_eq!(store.read(writer.stream, Seq::START, 0).await.unwrap(), []);
    assert_eq!(store.head(writer.stream).await.unwrap(), Some(Head { seq: Seq(10), hash }));
}

async fn all_events_are_read_in_the_order_of_commits(store: Arc<dyn EventStore>) {
    let mut writers = [StreamWriter::new(3), StreamWriter::new(1), StreamWriter::new(2)];
    let mut written = Vec::new();
    let mut last = Position::START;
    for turn in 0..12 {
        let append = writers[turn % 3].append(turn % 2 + 1);
        written.extend(append.envelopes().to_vec());
        let position = store.append(append).await.unwrap();
        assert!(position > last);
        last = position;
    }
    settled(&*store, last).await;
    let (mut found, mut after) = (Vec::new(), Position::START);
    while found.len() < written.len() {
        let page = store.read_all(after, 5).await.unwrap();
        assert_eq!(page.len(), 5.min(written.len() - found.len()));
        for (position, envelope) in page {
            assert!(position > after);
            after = position;
            found.push(envelope);
        }
    }
    assert_eq!(after, last);
    assert_eq!(found.into_iter().map(Arc::new).collect::<Vec<_>>(), written);
    assert_eq!(store.read_all(last, 5).await.unwrap(), []);
    assert_eq!(store.read_all(Position(u64::MAX), 5).await.unwrap(), []);
}

async fn streams_of_different_kinds_do_not_mix(store: Arc<dyn EventStore>) {
    let mut debate = StreamWriter::of_kind(StreamKind::Debate, 1);
    let mut policy = StreamWriter::of_kind(StreamKind::Policy, 1);
    store.append(debate.append(2)).await.unwrap();
    store.append(policy.append(3)).await.unwrap();
    assert_eq!(verify(&*store, debate.stream).await, Ok(Seq(2)));
    assert_eq!(verify(&*store, policy.stream).await, Ok(Seq(3)));
}

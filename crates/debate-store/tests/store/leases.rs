//! What every keeper of leases promises.

use std::sync::Arc;
use std::time::Duration;

use debate_core::envelope::StreamId;
use debate_core::id::DebateId;
use debate_store::{Leases, MemoryLeases, Release};
use uuid::Uuid;

/// A while in which nothing runs out by itself.
const LONG: Duration = Duration::from_secs(600);

/// A while that is over at once.
const NONE: Duration = Duration::ZERO;

fn stream(number: u128) -> StreamId {
    DebateId(Uuid::from_u128(number)).into()
}

async fn one_replica_has_a_stream_at_a_time(leases: Arc<dyn Leases>) {
    let first = leases.acquire(stream(1), "a", LONG).await.unwrap().unwrap();
    assert_eq!(leases.acquire(stream(1), "b", LONG).await.unwrap(), None);
    assert_eq!(leases.acquire(stream(1), "a", LONG).await.unwrap(), None, "not even its holder has it twice");
    assert!(leases.acquire(stream(2), "b", LONG).await.unwrap().is_some());
    assert_eq!(leases.renew(&[first], LONG).await.unwrap(), [first]);
}

async fn held_streams_are_those_with_a_lease_that_has_not_run_out(leases: Arc<dyn Leases>) {
    let held = leases.acquire(stream(1), "a", LONG).await.unwrap().unwrap();
    leases.acquire(stream(2), "a", NONE).await.unwrap().unwrap();
    leases.acquire(stream(3), "b", LONG).await.unwrap().unwrap();
    let named = leases.held(&[stream(1), stream(2), stream(4)]).await.unwrap();
    assert_eq!(named, [(stream(1), "a".to_owned())]);
    leases.release(held, Release::HandedBack).await.unwrap();
    assert_eq!(leases.held(&[stream(1)]).await.unwrap(), []);
    assert_eq!(leases.held(&[]).await.unwrap(), []);
}

async fn of_many_that_want_a_stream_at_once_one_gets_it(leases: Arc<dyn Leases>) {
    let wanting = (0..16).map(|replica| {
        let leases = Arc::clone(&leases);
        tokio::spawn(async move { leases.acquire(stream(1), &replica.to_string(), LONG).await.unwrap() })
    });
    let mut got = 0;
    for replica in wanting.collect::<Vec<_>>() {
        got += usize::from(replica.await.unwrap().is_some());
    }
    assert_eq!(got, 1);
}

async fn expired_lease_can_be_adopted_and_its_holder_loses_it(leases: Arc<dyn Leases>) {
    let lost = leases.acquire(stream(1), "a", NONE).await.unwrap().unwrap();
    let kept = leases.acquire(stream(2), "a", LONG).await.unwrap().unwrap();
    let adopted = leases.adopt("b", LONG, 10).await.unwrap();
    assert_eq!(adopted.len(), 1);
    assert_eq!(adopted[0].stream, stream(1));
    assert!(adopted[0].fence > lost.fence);
    assert_eq!(leases.renew(&[lost, kept], LONG).await.unwrap(), [kept]);
    leases.release(lost, Release::Finished).await.unwrap();
    assert_eq!(leases.renew(&adopted, LONG).await.unwrap(), adopted, "a former holder gives nothing away");
}

async fn what_was_handed_back_is_adopted_at_once_and_what_was_finished_never(leases: Arc<dyn Leases>) {
    let finished = leases.acquire(stream(1), "a", LONG).await.unwrap().unwrap();
    let handed_back = leases.acquire(stream(2), "a", LONG).await.unwrap().unwrap();
    leases.release(finished, Release::Finished).await.unwrap();
    leases.release(handed_back, Release::HandedBack).await.unwrap();
    let adopted = leases.adopt("b", LONG, 10).await.unwrap();
    assert_eq!(adopted.iter().map(|lease| lease.stream).collect::<Vec<_>>(), [stream(2)]);
    assert_eq!(leases.adopt("c", LONG, 10).await.unwrap(), []);
}

async fn k23_stream_that_its_holder_left_has_no_holder_until_acquired(leases: Arc<dyn Leases>) {
    let left = leases.acquire(stream(1), "a", LONG).await.unwrap().unwrap();
    leases.release(left, Release::Left).await.unwrap();
    assert_eq!(leases.held(&[stream(1)]).await.unwrap(), []);
    assert_eq!(leases.adopt("a", LONG, 10).await.unwrap(), []);
    assert_eq!(leases.renew(&[left], LONG).await.unwrap(), []);
    assert!(leases.acquire(stream(1), "b", LONG).await.unwrap().is_some());
}

async fn adopt_returns_at_most_the_requested_number(leases: Arc<dyn Leases>) {
    for number in 1..=5 {
        let lease = leases.acquire(stream(number), "a", LONG).await.unwrap().unwrap();
        leases.release(lease, Release::HandedBack).await.unwrap();
    }
    let mut adopted = leases.adopt("b", LONG, 3).await.unwrap();
    assert_eq!(adopted.len(), 3);
    adopted.extend(leases.adopt("c", LONG, 3).await.unwrap());
    let mut streams: Vec<_> = adopted.iter().map(|lease| lease.stream).collect();
    streams.sort_unstable();
    assert_eq!(streams, [1, 2, 3, 4, 5].map(stream));
}

macro_rules! on_every_keeper {
    ($($test:ident),* $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $test() {
                super::$test(super::Arc::new(super::MemoryLeases::new())).await;
            })*
        }

        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("a.db");
                let opened = debate_store::SqliteStore::open(path.to_str().unwrap(), Default::default());
                super::$test(super::Arc::new(opened.await.unwrap())).await;
            })*
        }

        #[cfg(unix)]
        mod postgres {
            $(#[tokio::test]
            async fn $test() {
                let url = debate_postgres_fixture::fresh_database().unwrap();
                let store = debate_store::PostgresStore::open(&url, Default::default()).await.unwrap();
                super::$test(super::Arc::new(store)).await;
            })*
        }
    };
}

on_every_keeper!(
    one_replica_has_a_stream_at_a_time,
    of_many_that_want_a_stream_at_once_one_gets_it,
    held_streams_are_those_with_a_lease_that_has_not_run_out,
    expired_lease_can_be_adopted_and_its_holder_loses_it,
    what_was_handed_back_is_adopted_at_once_and_what_was_finished_never,
    k23_stream_that_its_holder_left_has_no_holder_until_acquired,
    adopt_returns_at_most_the_requested_number,
);

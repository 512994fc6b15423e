//! Readers of all events lose none and see none twice, whatever order transactions commit in; and how they are woken.

use std::collections::HashSet;
use std::str::FromStr as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use debate_core::id::Seq;
use debate_postgres_fixture::{Server, fresh_database};
use debate_store::{EventStore, Holder, Position, PostgresOptions, PostgresStore};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _, Row as _};
use tokio::task::JoinSet;

use crate::stream_writer::{StreamWriter, settled};

/// A reader that remembers the last position it saw and asks for what is behind it, as if positions were handed out in
/// the order of commits.
const NAIVE: &str = "SELECT position, stream_id::text || '/' || seq FROM events WHERE position > $1 ORDER BY position LIMIT 100";

/// An event of stream 77, by hand.
const BY_HAND: &str = "INSERT INTO events (position, stream_kind, stream_id, seq, kind, version, at, tenant, actor, hash, \
    body) VALUES (position_of(pg_current_xact_id()), 'debate', '00000000-0000-0000-0000-00000000004d', $1, 'noted', 1, 1, \
    '', 'x', decode(repeat('00', 32), 'hex'), '{}')";

async fn connect(url: &str) -> PgConnection {
    PgConnectOptions::from_str(url).unwrap().connect().await.unwrap()
}

async fn open(url: &str, poll_interval: Duration) -> PostgresStore {
    PostgresStore::open(url, PostgresOptions { poll_interval, ..PostgresOptions::default() }).await.unwrap()
}

async fn naive(connection: &mut PgConnection, after: i64) -> Vec<(i64, String)> {
    let rows = sqlx::query(NAIVE).bind(after).fetch_all(connection).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn an_event_that_commits_late_is_not_lost() {
    // A server of its own: another test's transaction would hold this one's readers back.
    let server = Server::start(&["max_prepared_transactions=2"]).unwrap();
    let url = server.url("postgres");
    let store = open(&url, Duration::from_millis(5)).await;
    let (mut slow, mut reader) = (connect(&url).await, connect(&url).await);
    let mut late = slow.begin().await.unwrap();
    sqlx::query(BY_HAND).bind(1_i64).execute(&mut *late).await.unwrap();
    let quick = store.append(StreamWriter::new(1).append(1)).await.unwrap();

    let seen = naive(&mut reader, 0).await;
    assert_eq!(seen.len(), 1, "the naive reader sees the second event and goes on from there");
    assert_eq!(store.read_all(Position::START, 10).await.unwrap(), [], "ours is held back");
    let horizon = store.horizon().await.unwrap();
    assert_eq!(horizon.events_behind, 1);
    assert!(matches!(horizon.held_by, Some(Holder::Process(_))) && horizon.age.is_some());
    assert_eq!(store.read(StreamWriter::new(1).stream, Seq::START, 10).await.unwrap().len(), 1);

    let (waited, committed) = tokio::join!(store.wait_all(Position::START), late.commit());
    committed.unwrap();
    assert!(waited.unwrap() <= quick);
    settled(&store, quick).await;
    assert_eq!(naive(&mut reader, seen[0].0).await, [], "the naive reader never sees the first event");
    let all = store.read_all(Position::START, 10).await.unwrap();
    let streams: Vec<u128> = all.iter().map(|(_, event)| event.stream.id.as_u128()).collect();
    assert_eq!(streams, [77, 1]);
    assert_eq!(store.horizon().await.unwrap().events_behind, 0);

    // A transaction that is prepared belongs to no process and holds readers back all the same.
    let prepare = "BEGIN; CREATE TABLE held (a int); PREPARE TRANSACTION 'half done'";
    sqlx::raw_sql(prepare).execute(&mut slow).await.unwrap();
    let last = store.append(StreamWriter::new(2).append(1)).await.unwrap();
    let horizon = store.horizon().await.unwrap();
    assert_eq!((horizon.events_behind, horizon.held_by), (1, Some(Holder::Prepared("half done".to_owned()))));
    sqlx::raw_sql("ROLLBACK PREPARED 'half done'").execute(&mut slow).await.unwrap();
    settled(&store, last).await;
}

/// What a reader has taken in, and up to where: saved together, as a reader would in its own database.
#[derive(Default)]
struct Taken {
    events: Vec<(Position, String)>,
    up_to: Position,
}

/// Reads until `is_over` says that all is written. It is stopped at odd moments and continues from what it saved.
async fn read_with_kills(url: String, taken: Arc<Mutex<Taken>>, is_over: Arc<AtomicBool>, mut odd: u64) {
    loop {
        let was_over = is_over.load(Ordering::Acquire);
        let store = open(&url, Duration::from_millis(50)).await;
        odd = odd.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let life = Duration::from_micros(1_000 + (odd >> 40) % 200_000);
        let limit = 1 + u32::try_from((odd >> 32) % 500).unwrap();
        let reading = async {
            loop {
                let after = taken.lock().unwrap().up_to;
                let known = store.wait_all(after).await.unwrap();
                let page = store.read_all(after, limit).await.unwrap();
                assert!(known > after && !page.is_empty());
                let mut taken = taken.lock().unwrap();
                taken.up_to = page.last().unwrap().0;
                taken.events.extend(page.iter().map(|(at, event)| (*at, event.event_id())));
            }
        };
        // The end of its life comes wherever it happens to be.
        let _: Result<(), _> = tokio::time::timeout(life, reading).await;
        if was_over && is_everything_read(&store, &taken).await {
            return;
        }
    }
}

async fn is_everything_read(store: &PostgresStore, taken: &Mutex<Taken>) -> bool {
    let after = taken.lock().unwrap().up_to;
    store.horizon().await.unwrap().events_behind == 0 && store.read_all(after, 1).await.unwrap().is_empty()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_killed_and_resumed_under_many_writers_lose_nothing() {
    const WRITERS: u128 = 8;
    const EVENTS_MIN: usize = 2_000;
    const EVENTS_MAX: usize = 40_000;
    // Both are watched by the same eyes: what finds nothing lost must find what the naive reader loses.
    let server = Server::start(&[]).unwrap();
    let url = server.url("postgres");
    drop(open(&url, Duration::from_secs(1)).await);
    let (is_over, has_lost) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));

    let mut writers = JoinSet::new();
    for id in 0..WRITERS {
        let (url, has_lost) = (url.clone(), Arc::clone(&has_lost));
        writers.spawn(async move {
            let store = open(&url, Duration::from_secs(1)).await;
            let mut writer = StreamWriter::new(id);
            let share = |of: usize| (of / usize::try_from(WRITERS).unwrap()) as u64;
            while writer.head.0 < share(EVENTS_MIN)
                || (!has_lost.load(Ordering::Relaxed) && writer.head.0 < share(EVENTS_MAX))
            {
                store.append(writer.append(1 + usize::try_from(writer.head.0 % 3).unwrap())).await.unwrap();
            }
            writer
        });
    }
    let naive_reader = tokio::spawn({
        let (url, is_over, has_lost) = (url.clone(), Arc::clone(&is_over), Arc::clone(&has_lost));
        async move {
            let (mut reader, mut checker) = (connect(&url).await, connect(&url).await);
            let (mut after, mut seen) = (0, HashSet::new());
            while !is_over.load(Ordering::Acquire) {
                for _ in 0..50 {
                    for (position, event) in naive(&mut reader, after).await {
                        after = position;
                        seen.insert(event);
                    }
                }
                let behind: i64 = sqlx::query_scalar("SELECT count(*) FROM events WHERE position <= $1")
                    .bind(after)
                    .fetch_one(&mut checker)
                    .await
                    .unwrap();
                if behind > i64::try_from(seen.len()).unwrap() {
                    has_lost.store(true, Ordering::Relaxed);
                }
            }
        }
    });
    let taken: Vec<_> = (0..2).map(|_| Arc::new(Mutex::new(Taken::default()))).collect();
    let mut readers = JoinSet::new();
    for (odd, taken) in taken.iter().enumerate() {
        readers.spawn(read_with_kills(url.clone(), Arc::clone(taken), Arc::clone(&is_over), odd as u64));
    }
    let written: u64 = writers.join_all().await.iter().map(|writer| writer.head.0).sum();
    is_over.store(true, Ordering::Release);
    naive_reader.await.unwrap();
    readers.join_all().await;

    assert!(has_lost.load(Ordering::Relaxed), "the naive reader lost nothing, so this proves nothing");
    let all: Vec<_> = taken.iter().map(|it| std::mem::take(&mut *it.lock().unwrap()).events).collect();
    assert_eq!(all[0], all[1], "the order never changes");
    assert!(all[0].is_sorted_by(|earlier, later| earlier.0 < later.0));
    let unique: HashSet<_> = all[0].iter().map(|(_, event)| event).collect();
    assert_eq!((all[0].len() as u64, unique.len() as u64), (written, written));
}

#[tokio::test]
async fn another_process_wakes_those_who_wait() {
    let url = fresh_database().unwrap();
    // Polling is out of the question, but for the first time.
    let hour = Duration::from_secs(3_600);
    let (here, there) = (open(&url, hour).await, open(&url, hour).await);
    let (mut writer, mut other) = (StreamWriter::new(1), StreamWriter::new(2));
    for turn in 0..20 {
        let (append, second) = (writer.append(1), other.append(1));
        let (head, appended) =
            tokio::join!(here.wait(append.stream, Seq(turn)), there.append(append.clone()));
        let before = appended.unwrap();
        assert_eq!(head.unwrap(), Seq(turn + 1));
        let (last, appended) = tokio::join!(here.wait_all(before), there.append(second));
        assert_eq!(last.unwrap(), appended.unwrap());
    }
}

#[tokio::test]
async fn a_lost_notification_costs_no_more_than_the_poll_interval() {
    let url = fresh_database().unwrap();
    let store = open(&url, Duration::from_millis(5)).await;
    let mut silent = connect(&url).await;
    let stream = StreamWriter::new(77).stream;
    for seq in 1..=10_u64 {
        let insert = sqlx::query(BY_HAND).bind(i64::try_from(seq).unwrap());
        let (head, inserted) = tokio::join!(store.wait(stream, Seq(seq - 1)), insert.execute(&mut silent));
        inserted.unwrap();
        assert_eq!(head.unwrap(), Seq(seq));
        let known = store.wait_all(Position::START).await.unwrap();
        let insert = sqlx::query(BY_HAND).bind(i64::try_from(seq + 1).unwrap());
        if seq == 10 {
            let (last, inserted) = tokio::join!(store.wait_all(known), insert.execute(&mut silent));
            inserted.unwrap();
            assert!(last.unwrap() > known);
        }
    }
}

#[tokio::test]
async fn who_hears_is_connected_again_after_a_cut() {
    let url = fresh_database().unwrap();
    let hour = Duration::from_secs(3_600);
    let (here, there) = (open(&url, hour).await, open(&url, hour).await);
    let mut writer = StreamWriter::new(1);
    let mut killer = connect(&url).await;
    for turn in 0..3 {
        let append = writer.append(1);
        let (head, appended) =
            tokio::join!(here.wait(append.stream, Seq(turn)), there.append(append.clone()));
        appended.unwrap();
        assert_eq!(head.unwrap(), Seq(turn + 1));
        let cut: i64 = sqlx::query_scalar(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() \
             AND datname = current_database()",
        )
        .fetch_one(&mut killer)
        .await
        .unwrap();
        // How many connections there are by then is theirs to choose.
        assert!(cut >= 1, "nothing was cut");
    }
}

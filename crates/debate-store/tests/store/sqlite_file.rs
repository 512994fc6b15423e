//! What a file keeps over restarts and crashes and with other processes using it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use debate_core::chain::ChainBreak;
use debate_core::id::{Digest, Seq};
use debate_store::{
    Append, AppendError, Durability, EventStore, Position, ReadError, RedactError, RequestKey, SqliteOptions,
    SqliteStore,
};
use tempfile::TempDir;

use crate::stream_writer::{StreamWriter, read_stream, verify};

async fn open(folder: &TempDir) -> SqliteStore {
    open_with(&folder.path().join("log.db"), SqliteOptions::default()).await
}

async fn open_with(path: &Path, options: SqliteOptions) -> SqliteStore {
    SqliteStore::open(path.to_str().unwrap(), options).await.unwrap()
}

fn request() -> RequestKey {
    RequestKey { tenant: "a".to_owned(), request_id: "r1".to_owned(), body_hash: Digest::of_text("body") }
}

#[tokio::test]
async fn a_reopened_file_keeps_everything() {
    for durability in [Durability::Full, Durability::Relaxed] {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("log.db");
        let options = SqliteOptions { durability, ..SqliteOptions::default() };
        let mut writer = StreamWriter::new(1);
        let store = open_with(&path, options.clone()).await;
        store.append(writer.append(3).with_request(request())).await.unwrap();
        store.append(writer.append(20)).await.unwrap();
        let before = read_stream(&store, writer.stream).await;
        store.close().await.unwrap();
        assert!(!folder.path().join("log.db-wal").exists());

        let store = open_with(&path, options).await;
        assert_eq!(read_stream(&store, writer.stream).await, before);
        assert_eq!(store.find_request("a", "r1").await.unwrap().unwrap().stream, writer.stream);
        assert_eq!(store.append(writer.append(1)).await.unwrap(), Position(24));
        assert_eq!(verify(&store, writer.stream).await, Ok(Seq(24)));
    }
}

#[tokio::test]
async fn a_store_dropped_without_close_loses_no_acknowledged_event() {
    let folder = TempDir::new().unwrap();
    let mut writers: Vec<_> = (0..10).map(StreamWriter::new).collect();
    let store = open(&folder).await;
    for writer in &mut writers {
        store.append(writer.append(2)).await.unwrap();
    }
    drop(store);
    let store = open(&folder).await;
    for writer in &mut writers {
        assert_eq!(verify(&store, writer.stream).await, Ok(Seq(2)));
        store.append(writer.append(1)).await.unwrap();
    }
}

#[tokio::test]
async fn a_process_killed_at_any_moment_loses_no_acknowledged_event() {
    let folder = TempDir::new().unwrap();
    let mut writer = StreamWriter::new(1);
    let store = open(&folder).await;
    for kill in 0..10 {
        store.append(writer.append(3)).await.unwrap();
        store
            .append(
                StreamWriter::new(100 + kill)
                    .append(1)
                    .with_request(RequestKey { request_id: kill.to_string(), ..request() }),
            )
            .await
            .unwrap();
        // What a kill leaves: the files as they are right after the answer, nothing flushed, nothing closed.
        let left = TempDir::new().unwrap();
        for name in ["log.db", "log.db-wal"] {
            fs::copy(folder.path().join(name), left.path().join(name)).unwrap();
        }
        let survivor = open(&left).await;
        assert_eq!(verify(&survivor, writer.stream).await, Ok(writer.head));
        let found = survivor.find_request("a", &kill.to_string()).await.unwrap();
        assert_eq!(found.unwrap().stream, StreamWriter::new(100 + kill).stream);
        survivor.append(writer.clone().append(1)).await.unwrap();
    }
}

#[tokio::test]
async fn a_torn_journal_ends_at_the_last_whole_commit() {
    let folder = TempDir::new().unwrap();
    let mut writer = StreamWriter::new(1);
    let store = open(&folder).await;
    store.append(writer.append(5)).await.unwrap();
    let whole = fs::metadata(folder.path().join("log.db-wal")).unwrap().len();
    store.append(writer.append(40)).await.unwrap();
    let left = TempDir::new().unwrap();
    for name in ["log.db", "log.db-wal"] {
        fs::copy(folder.path().join(name), left.path().join(name)).unwrap();
    }
    let journal = fs::File::options().write(true).open(left.path().join("log.db-wal")).unwrap();
    journal.set_len(whole + 100).unwrap();
    let survivor = open(&left).await;
    assert_eq!(verify(&survivor, writer.stream).await, Ok(Seq(5)));
}

#[tokio::test]
async fn two_stores_on_one_file_see_each_others_events() {
    let folder = TempDir::new().unwrap();
    let (here, there) = (open(&folder).await, open(&folder).await);
    let mut writer = StreamWriter::new(1);
    for turn in 1..=6 {
        let (near, far) = if turn % 2 == 0 { (&here, &there) } else { (&there, &here) };
        near.append(writer.append(1)).await.unwrap();
        assert_eq!(verify(far, writer.stream).await, Ok(Seq(turn)));
        assert_eq!(far.read_all(Position(turn - 1), 10).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn two_stores_on_one_file_find_each_others_conflicts() {
    let folder = TempDir::new().unwrap();
    let (here, there) = (open(&folder).await, open(&folder).await);
    let mut writer = StreamWriter::new(1);
    here.append(writer.append(2)).await.unwrap();
    let mut rival = writer.clone();
    let winner = writer.append(1);
    let position = there.append(winner.clone()).await.unwrap();
    // `here` still takes event 2 for the last one.
    let loser = Append::new(rival.stream, Seq(2), vec![rival.event("lost", "{}")]);
    let refused = here.append(loser.clone()).await;
    assert!(matches!(refused, Err(AppendError::Conflict { expected: Seq(2), actual: Seq(3), .. })));
    assert_eq!(here.append(winner).await.unwrap(), position);
    // In one group with an append to a stream that did not change.
    let mut other = StreamWriter::new(2);
    here.append(other.append(1)).await.unwrap();
    there.append(writer.append(1)).await.unwrap();
    let mut late = rival.clone();
    let late = Append::new(late.stream, Seq(3), vec![late.event("late", "{}")]);
    let (refused, appended) = tokio::join!(here.append(late), here.append(other.append(1)));
    assert!(matches!(refused, Err(AppendError::Conflict { expected: Seq(3), actual: Seq(4), .. })));
    assert_eq!(appended.unwrap(), Position(6));
    // More events than one statement takes.
    there.append(other.clone().append(1)).await.unwrap();
    let late = Append::new(other.stream, Seq(2), vec![other.event("late", "{}")]);
    let mut many = StreamWriter::new(3);
    here.append(many.append(1)).await.unwrap();
    let (refused, appended) = tokio::join!(here.append(late), here.append(many.append(30)));
    assert!(matches!(refused, Err(AppendError::Conflict { expected: Seq(2), actual: Seq(3), .. })));
    assert_eq!(appended.unwrap(), Position(38));
    assert_eq!(verify(&here, writer.stream).await, Ok(Seq(4)));
    assert_eq!(verify(&there, many.stream).await, Ok(Seq(31)));
}

#[tokio::test]
async fn a_wait_sees_what_another_store_appends() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("log.db");
    let quick = SqliteOptions { poll_interval: Duration::from_millis(2), ..SqliteOptions::default() };
    let (here, there) = (open_with(&path, quick).await, open(&folder).await);
    let (mut writer, mut other) = (StreamWriter::new(1), StreamWriter::new(2));
    for turn in 0..5 {
        // Own events between those of the other store must not hide them.
        here.append(other.append(1)).await.unwrap();
        let (head, appended) =
            tokio::join!(here.wait(writer.stream, Seq(turn)), there.append(writer.clone().append(1)));
        writer.events(1);
        appended.unwrap();
        assert_eq!(head.unwrap(), Seq(turn + 1));
        let (last, appended) =
            tokio::join!(here.wait_all(Position(3 * turn + 2)), there.append(other.append(1)));
        assert_eq!(last.unwrap(), appended.unwrap());
    }
}

#[tokio::test]
async fn two_processes_may_create_one_file_at_the_same_time() {
    let folder = TempDir::new().unwrap();
    let stores = futures::future::join_all((0..6).map(|_| open(&folder))).await;
    for (id, store) in stores.iter().enumerate() {
        store.append(StreamWriter::new(id as u128).append(2)).await.unwrap();
    }
    assert_eq!(stores[0].read_all(Position::START, 100).await.unwrap().len(), 12);
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder).await;
    let mut writer = StreamWriter::new(1);
    store.append(writer.append(1)).await.unwrap();
    let (wait, closed) = tokio::join!(store.wait(writer.stream, Seq(1)), store.close());
    closed.unwrap();
    assert!(matches!(wait, Err(ReadError::Closed)));
    store.close().await.unwrap();
    assert!(matches!(store.append(writer.append(1)).await, Err(AppendError::Closed)));
    assert!(matches!(store.redact(writer.stream, Seq(1)).await, Err(RedactError::Closed)));
    assert!(matches!(store.head(writer.stream).await, Err(ReadError::Closed)));
    assert!(matches!(store.wait(writer.stream, Seq(1)).await, Err(ReadError::Closed)));
    assert!(matches!(store.wait_all(Position(1)).await, Err(ReadError::Closed)));
}

#[tokio::test]
async fn closing_finishes_what_was_handed_over() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder).await;
    let appends = (0..50).map(|id| store.append(StreamWriter::new(id).append(2)));
    let appends = futures::future::join_all(appends);
    let (answers, closed) = tokio::join!(appends, store.close());
    closed.unwrap();
    assert!(answers.iter().all(Result::is_ok));
    let store = open(&folder).await;
    assert_eq!(store.read_all(Position::START, 1_000).await.unwrap().len(), 100);
}

#[tokio::test]
async fn k15_redacted_prose_is_gone_from_the_disk() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder).await;
    let mut writer = StreamWriter::new(1);
    let secret = "the-secret-word ".repeat(2_000);
    let envelopes = vec![
        writer.event_with_prose("said", "{}", &secret[..100]),
        writer.event_with_prose("said", "{}", &secret),
        writer.event("noted", "{}"),
    ];
    store.append(Append::new(writer.stream, Seq::START, envelopes)).await.unwrap();
    let is_on_disk = || {
        fs::read_dir(folder.path()).unwrap().any(|file| {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            bytes.windows(15).any(|window| window == b"the-secret-word")
        })
    };
    assert!(is_on_disk());
    store.redact(writer.stream, Seq(1)).await.unwrap();
    store.redact(writer.stream, Seq(2)).await.unwrap();
    assert!(!is_on_disk());
    assert_eq!(verify(&store, writer.stream).await, Ok::<_, ChainBreak>(Seq(3)));
}

#[tokio::test]
async fn single_writer_never_waits_and_groups_begin_1_ms_apart() {
    let folder = TempDir::new().unwrap();
    let store = open(&folder).await;
    let mut writers = [StreamWriter::new(1), StreamWriter::new(2)];
    // From here on the clock advances only while tasks sleep.
    tokio::time::pause();
    let began = tokio::time::Instant::now();
    for _ in 0..10 {
        store.append(writers[0].append(1)).await.unwrap();
    }
    assert_eq!(began.elapsed(), Duration::ZERO);
    for _ in 0..10 {
        let [a, b] = writers.each_mut().map(|writer| store.append(writer.append(1)));
        let (a, b) = tokio::join!(a, b);
        assert_eq!(a.unwrap().0 + 1, b.unwrap().0);
    }
    assert!((9..=20).contains(&began.elapsed().as_millis()), "{:?}", began.elapsed());
}

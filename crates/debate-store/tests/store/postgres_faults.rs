//! What can happen to a server, and to the way to it. Always: nothing acknowledged is lost, nothing is doubled, and the
//! store goes on by itself.

use std::sync::Arc;
use std::time::Duration;

use debate_core::id::Seq;
use debate_postgres_fixture::{Proxy, Server};
use debate_store::{Append, AppendError, EventStore, Position, PostgresOptions, PostgresStore, ReadError};
use tokio::task::JoinSet;

use crate::stream_writer::{StreamWriter, settled, verify};

fn impatient() -> PostgresOptions {
    PostgresOptions { retry_time: Duration::from_millis(50), ..PostgresOptions::default() }
}

/// Opens a store that gives up at once; on a busy machine it may give up on opening, too.
pub(crate) async fn open_impatient(url: &str) -> Arc<PostgresStore> {
    loop {
        if let Ok(store) = PostgresStore::open(url, impatient()).await {
            return Arc::new(store);
        }
    }
}

/// Appends as a caller does that goes on trying while the server cannot be had.
pub(crate) async fn append_in_the_end(store: &PostgresStore, append: Append) -> Position {
    loop {
        match store.append(append.clone()).await {
            Ok(position) => return position,
            Err(AppendError::Backend { .. }) => {}
            Err(refused) => panic!("{refused:?}"),
        }
    }
}

pub(crate) fn patient() -> PostgresOptions {
    PostgresOptions { retry_time: Duration::from_secs(60), ..PostgresOptions::default() }
}

pub(crate) async fn open(url: &str, options: PostgresOptions) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::open(url, options).await.unwrap())
}

/// Appends to a stream until it has so many events; each must be acknowledged.
pub(crate) async fn write(store: Arc<PostgresStore>, id: u128, events: u64) -> StreamWriter {
    let mut writer = StreamWriter::new(id);
    while writer.head.0 < events {
        store.append(writer.append(1)).await.unwrap();
    }
    writer
}

/// Checks that the log holds these streams whole and nothing else.
pub(crate) async fn check(store: &PostgresStore, writers: &[StreamWriter]) {
    let mut total = 0;
    for writer in writers {
        assert_eq!(verify(store, writer.stream).await, Ok(writer.head));
        total += writer.head.0;
    }
    let last = store.append(StreamWriter::new(9_999).append(1)).await.unwrap();
    settled(store, last).await;
    assert_eq!(store.read_all(Position::START, u32::MAX).await.unwrap().len() as u64, total + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_restarted_and_killed_again_and_again_loses_nothing() {
    let mut server = Server::start(&[]).unwrap();
    let store = open(&server.url("postgres"), patient()).await;
    let mut tasks = JoinSet::new();
    for id in 0..6 {
        tasks.spawn(write(Arc::clone(&store), id, 400));
    }
    let watched = Arc::clone(&store);
    let watcher = tokio::spawn(async move {
        let stream = StreamWriter::new(0).stream;
        let mut seen = Seq::START;
        while seen < Seq(400) {
            seen = watched.wait(stream, seen).await.unwrap();
        }
    });
    let server = tokio::task::spawn_blocking(move || {
        for kill in [true, false, true] {
            let ended = if kill { server.kill() } else { server.stop() };
            ended.unwrap();
            server.start_again().unwrap();
        }
        server
    });
    let server = server.await.unwrap();
    let writers = tasks.join_all().await;
    watcher.await.unwrap();
    check(&store, &writers).await;
    drop(server);
}

#[tokio::test]
async fn a_server_that_is_gone_is_an_error_that_passes() {
    let mut server = Server::start(&[]).unwrap();
    let store = open_impatient(&server.url("postgres")).await;
    let mut writer = StreamWriter::new(1);
    append_in_the_end(&store, writer.append(1)).await;
    server.kill().unwrap();
    let append = writer.append(1);
    // A process of the server may outlive it for a moment, and answer.
    let refused = loop {
        if let Err(error) = store.append(append.clone()).await {
            break error;
        }
    };
    assert!(matches!(refused, AppendError::Backend { .. }), "{refused:?}");
    assert!(matches!(store.head(writer.stream).await, Err(ReadError::Backend { .. })));
    server.start_again().unwrap();
    append_in_the_end(&store, append).await;
    check(&*open(&server.url("postgres"), patient()).await, &[writer]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acknowledgement_lost_mid_commit_is_found_out() {
    let server = Server::start(&[]).unwrap();
    let proxy = Proxy::start(server.socket()).await.unwrap();
    let store = open(&proxy.url("postgres"), patient()).await;
    let mut alone = StreamWriter::new(100);
    // The statement arrives and commits; what says so never comes back.
    for events in [1, 3, 1] {
        let append = alone.append(events);
        proxy.cut_after(0);
        let position = store.append(append.clone()).await.unwrap();
        assert_eq!(store.append(append).await.unwrap(), position);
    }
    assert_eq!(proxy.cuts(), 3);

    let mut tasks = JoinSet::new();
    for id in 0..8 {
        tasks.spawn(write(Arc::clone(&store), id, 25));
    }
    let mut answers = 0;
    while !tasks.is_empty() {
        answers = (answers * 5 + 3) % 17;
        let cuts = proxy.cuts();
        proxy.cut_after(answers);
        while proxy.cuts() == cuts && store.head(alone.stream).await.is_ok() && !tasks.is_empty() {
            if let Some(done) = tasks.try_join_next() {
                check_whole(&store, &done.unwrap()).await;
            }
        }
    }
    proxy.cut_after(-1);
    assert!(proxy.cuts() > 5, "{} cuts", proxy.cuts());
    let mut writers: Vec<StreamWriter> = (0..8).map(StreamWriter::new).collect();
    for writer in &mut writers {
        writer.events(25);
    }
    writers.push(alone);
    check(&store, &writers).await;
}

async fn check_whole(store: &PostgresStore, writer: &StreamWriter) {
    assert_eq!(verify(store, writer.stream).await, Ok(writer.head));
}

#[tokio::test]
async fn a_conflict_found_after_a_lost_answer_is_a_conflict() {
    let server = Server::start(&[]).unwrap();
    let proxy = Proxy::start(server.socket()).await.unwrap();
    let (near, far) =
        (open(&server.url("postgres"), patient()).await, open(&proxy.url("postgres"), patient()).await);
    let mut writer = StreamWriter::new(1);
    far.append(writer.append(1)).await.unwrap();
    let mut rival = writer.clone();
    near.append(writer.append(1)).await.unwrap();
    let lost = Append::new(rival.stream, Seq(1), vec![rival.event("lost", "{}")]);
    proxy.cut_after(0);
    let refused = far.append(lost).await;
    assert!(
        matches!(refused, Err(AppendError::Conflict { expected: Seq(1), actual: Seq(2), .. })),
        "{refused:?}"
    );
    assert_eq!(proxy.cuts(), 1);
    check(&near, &[writer]).await;
}

#[tokio::test]
async fn a_server_out_of_connections_is_an_error_that_passes() {
    let server = Server::start(&["max_connections=8", "superuser_reserved_connections=0"]).unwrap();
    let store = open_impatient(&server.url("postgres")).await;
    let mut writer = StreamWriter::new(1);
    server.sql("postgres", "SELECT 1").unwrap();
    let mut others = Vec::new();
    for _ in 0..8 {
        let options: sqlx::postgres::PgConnectOptions = server.url("postgres").parse().unwrap();
        match sqlx::ConnectOptions::connect(&options).await {
            Ok(connection) => others.push(connection),
            Err(_) => break,
        }
    }
    let append = writer.append(1);
    assert!(matches!(store.append(append.clone()).await, Err(AppendError::Backend { .. })));
    let refused = PostgresStore::open(&server.url("postgres"), impatient()).await;
    assert!(matches!(refused, Err(debate_store::ConnectError::Full { .. })), "{refused:?}");
    for connection in others {
        sqlx::Connection::close(connection).await.unwrap();
    }
    append_in_the_end(&store, append).await;
    let other = open(&server.url("postgres"), patient()).await;
    check(&other, &[writer]).await;
}

#[tokio::test]
async fn a_read_only_server_is_an_error_that_passes() {
    let server = Server::start(&[]).unwrap();
    let store = open_impatient(&server.url("postgres")).await;
    let mut writer = StreamWriter::new(1);
    append_in_the_end(&store, writer.append(1)).await;
    let switch = |to: &str| {
        server.sql("postgres", &format!("ALTER SYSTEM SET default_transaction_read_only = {to}")).unwrap();
        server.sql("postgres", "SELECT pg_reload_conf()").unwrap();
        // A session takes the new setting in when it is next idle: wait until a new one has it.
        while server.sql("postgres", "SHOW default_transaction_read_only").unwrap().trim() != to {}
    };
    switch("on");
    let mut appends: Vec<_> = vec![writer.clone().append(1)];
    let refused = loop {
        match store.append(appends.remove(0)).await {
            Ok(_) => {
                writer.events(1);
                appends.push(writer.clone().append(1));
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, AppendError::Backend { .. }), "{refused:?}");
    assert_eq!(verify(&*store, writer.stream).await, Ok(writer.head), "it can be read");
    switch("off");
    while store.append(writer.clone().append(1)).await.is_err() {}
    writer.events(1);
    check(&store, &[writer]).await;
}

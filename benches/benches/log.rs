//! Folding a log of 10,000 events, and appending to SQLite, each compared with the minimum work.

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use debate_benches::{config, debate, envelopes};
use debate_core::chain::ChainCheck;
use debate_core::codec::decode;
use debate_core::debate::Debate;
use debate_core::envelope::Envelope;
use debate_core::event::Event;
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Seq};
use debate_store::{Append, Durability, EventStore, SqliteOptions, SqliteStore};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection};
use std::hint::black_box;
use std::str::FromStr;
use uuid::Uuid;

/// 167 roles over 10 rounds make 10,000 events.
fn long_log() -> Vec<Envelope> {
    let (events, _) = debate(config(167, 10, 3));
    let log = envelopes(&events, DebateId(Uuid::from_u128(1)));
    assert!(log.len() >= 10_000, "{} events", log.len());
    log
}

fn fold(c: &mut Criterion) {
    let log = long_log();
    let mut group = c.benchmark_group("fold_10000");
    group.sample_size(10);
    group.bench_function("floor", |b| {
        b.iter(|| {
            for envelope in &log {
                black_box(decode::<Prediction>(envelope).expect("it decodes"));
            }
        });
    });
    group.bench_function("decode_and_fold", |b| b.iter(|| folded(&log)));
    group.bench_function("verify_chain", |b| {
        b.iter(|| {
            let mut check = ChainCheck::new(log[0].stream);
            for envelope in &log {
                check.push(envelope).expect("it chains");
            }
            check.head()
        });
    });
    group.finish();
}

fn folded(log: &[Envelope]) -> Debate<Prediction> {
    let mut events = log.iter().map(|envelope| decode::<Prediction>(envelope).expect("it decodes"));
    let first = events.next().expect("a first event");
    let Event::Opened(_) = &first.event else { panic!("a log begins with opened") };
    let mut debate = Debate::replay([&first]).expect("it opens");
    for recorded in events {
        debate.apply(recorded.at, &recorded.event).expect("it applies");
    }
    debate
}

/// The insert that any store would make: the same columns, one row a statement, one transaction.
const RAW_INSERT: &str = "INSERT INTO raw (stream, seq, kind, version, at, tenant, actor, body, salt, prose, \
    prose_digest, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

async fn raw_connection(path: &std::path::Path) -> SqliteConnection {
    let url = format!("sqlite://{}", path.display());
    let options = SqliteConnectOptions::from_str(&url)
        .expect("a path")
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await.expect("it opens");
    let table = "CREATE TABLE raw (stream BLOB, seq INTEGER, kind TEXT, version INTEGER, at INTEGER, tenant TEXT, \
        actor TEXT, body TEXT, salt BLOB, prose TEXT, prose_digest BLOB, hash BLOB, PRIMARY KEY (stream, seq)) STRICT";
    sqlx::query(table).execute(&mut connection).await.expect("a table");
    connection
}

async fn raw_append(connection: &mut SqliteConnection, batch: &[Envelope]) {
    sqlx::query("BEGIN IMMEDIATE").execute(&mut *connection).await.expect("begin");
    for envelope in batch {
        sqlx::query(RAW_INSERT)
            .bind(envelope.stream.id.as_bytes().as_slice())
            .bind(i64::try_from(envelope.seq.0).expect("small"))
            .bind(&envelope.kind)
            .bind(i64::from(envelope.version))
            .bind(envelope.at.0)
            .bind(&envelope.tenant)
            .bind(&envelope.actor)
            .bind(&envelope.body)
            .bind(envelope.prose.as_ref().map(|prose| prose.salt.as_slice()))
            .bind(envelope.prose.as_ref().map(|prose| prose.text.as_str()))
            .bind(envelope.prose_digest.map(|digest| digest.0.to_vec()))
            .bind(envelope.hash.0.as_slice())
            .execute(&mut *connection)
            .await
            .expect("insert");
    }
    sqlx::query("COMMIT").execute(&mut *connection).await.expect("commit");
}

/// The first events of a debate, under a stream of their own.
fn batch(events: &[Event<Prediction>], size: usize, stream: u128) -> Vec<Envelope> {
    envelopes(&events[..size], DebateId(Uuid::from_u128(stream)))
}

fn append(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let (events, _) = debate(config(5, 3, 3));
    let mut connection = runtime.block_on(raw_connection(&folder.path().join("raw.sqlite")));
    let path = folder.path().join("events.sqlite");
    let options = SqliteOptions { durability: Durability::Full, ..SqliteOptions::default() };
    let store = runtime.block_on(SqliteStore::open(path.to_str().expect("UTF-8"), options)).expect("a store");
    let mut stream = 1_000;
    let mut group = c.benchmark_group("append_sqlite_full");
    group.measurement_time(Duration::from_secs(4)).sample_size(30);
    for size in [1, 10] {
        group.bench_function(BenchmarkId::new("floor", size), |b| {
            b.iter_batched(
                || {
                    stream += 1;
                    batch(&events, size, stream)
                },
                |batch| runtime.block_on(raw_append(&mut connection, &batch)),
                BatchSize::PerIteration,
            );
        });
        group.bench_function(BenchmarkId::new("store", size), |b| {
            b.iter_batched(
                || {
                    stream += 1;
                    batch(&events, size, stream)
                },
                |batch| {
                    let append = Append::new(batch[0].stream, Seq::START, batch);
                    runtime.block_on(store.append(append)).expect("it appends")
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, fold, append);
criterion_main!(benches);

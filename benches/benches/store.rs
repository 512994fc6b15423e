//! Appends to PostgreSQL, hash chain included, beside the bare insert of the same rows by the same client library: one
//! statement and one connection for each stream, a position from a sequence, and nothing checked but the key. Both take
//! turns, so that whatever else the machine does hits both alike.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use debate_core::chain::{GENESIS, hash_of};
use debate_core::envelope::{Envelope, StreamId, StreamKind};
use debate_core::id::{Digest, Seq, Timestamp};
use debate_postgres_fixture::Server;
use debate_store::{Append, EventStore, PostgresOptions, PostgresStore};
use serde_json::json;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use std::str::FromStr as _;
use tokio::task::JoinSet;
use uuid::Uuid;

/// Streams at once, and events of one append.
const CASES: [(usize, usize); 6] = [(1, 1), (8, 1), (64, 1), (1, 10), (8, 10), (64, 10)];

/// What is promised for appends of one event: the least ratio of events, the greatest of the slowest hundredth.
const BARS: [(usize, f64); 3] = [(1, 0.9), (8, 0.9), (64, 2.0)];
const P99_RATIO_MAX: f64 = 1.5;

/// Bytes of a body: about those of an argument's event.
const BODY_BYTES: usize = 900;

const TABLE: &str = "CREATE TABLE raw (stream_kind text NOT NULL, stream_id uuid NOT NULL, seq bigint NOT NULL, \
    kind text NOT NULL, version integer NOT NULL, at bigint NOT NULL, tenant text NOT NULL, actor text NOT NULL, trace text, \
    hash bytea NOT NULL, prose_digest bytea, salt bytea, body text NOT NULL, prose text, \
    position bigint GENERATED ALWAYS AS IDENTITY, PRIMARY KEY (stream_kind, stream_id, seq))";
const FLOOR: &str = "INSERT INTO raw (stream_kind, stream_id, seq, kind, version, at, tenant, actor, trace, hash, \
    prose_digest, salt, body, prose) SELECT * FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::text[], $5::integer[], \
    $6::bigint[], $7::text[], $8::text[], $9::text[], $10::bytea[], $11::bytea[], $12::bytea[], $13::text[], $14::text[])";

/// Writes the events of one stream, all alike.
struct Writer {
    stream: StreamId,
    body: String,
    seq: Seq,
    hash: Digest,
}

impl Writer {
    /// Starts a stream that nobody has.
    fn new() -> Self {
        static STREAMS: AtomicU64 = AtomicU64::new(1);
        // Spread as real ids are, so that the key's index is used as it would be.
        let number = STREAMS.fetch_add(1, Ordering::Relaxed);
        let id = Digest::of_text(&number.to_string()).0;
        let id = Uuid::from_slice(&id[..16]).expect("sixteen bytes");
        let body = format!("{{\"text\":\"{}\"}}", "x".repeat(BODY_BYTES));
        Self { stream: StreamId { kind: StreamKind::Debate, id }, body, seq: Seq::START, hash: GENESIS }
    }

    fn events(&mut self, count: usize, is_chained: bool) -> Vec<Envelope> {
        let event = |_| {
            self.seq = self.seq.next();
            let mut envelope = Envelope {
                stream: self.stream,
                seq: self.seq,
                kind: "call_started".to_owned(),
                version: 1,
                at: Timestamp(1_700_000_000_000),
                tenant: String::new(),
                actor: "engine".to_owned(),
                trace: None,
                body: self.body.clone(),
                prose: None,
                prose_digest: None,
                hash: Digest::default(),
            };
            if is_chained {
                envelope.hash = hash_of(&self.hash, &envelope);
                self.hash = envelope.hash;
            }
            envelope
        };
        (0..count).map(event).collect()
    }
}

async fn insert(connection: &mut PgConnection, events: &[Envelope]) {
    let texts = |text: fn(&Envelope) -> &str| -> Vec<&str> { events.iter().map(text).collect() };
    let nothing: Vec<Option<&[u8]>> = events.iter().map(|_| None).collect();
    sqlx::query(FLOOR)
        .bind(texts(|it| it.stream.kind.as_str()))
        .bind(events.iter().map(|it| it.stream.id).collect::<Vec<Uuid>>())
        .bind(events.iter().map(|it| i64::try_from(it.seq.0).expect("small")).collect::<Vec<i64>>())
        .bind(texts(|it| &it.kind))
        .bind(events.iter().map(|it| i32::from(it.version)).collect::<Vec<i32>>())
        .bind(events.iter().map(|it| it.at.0).collect::<Vec<i64>>())
        .bind(texts(|it| &it.tenant))
        .bind(texts(|it| &it.actor))
        .bind(events.iter().map(|it| it.trace.as_deref()).collect::<Vec<Option<&str>>>())
        .bind(events.iter().map(|it| it.hash.0.as_slice()).collect::<Vec<&[u8]>>())
        .bind(nothing.clone())
        .bind(nothing)
        .bind(texts(|it| &it.body))
        .bind(events.iter().map(|_| None).collect::<Vec<Option<&str>>>())
        .execute(connection)
        .await
        .expect("it inserts");
}

/// How one side did in one turn.
#[derive(Clone, Copy)]
struct Turn {
    events_per_s: f64,
    p50_ms: f64,
    p99_ms: f64,
}

impl Turn {
    fn of(mut latencies: Vec<Duration>, batch: usize, time: Duration) -> Self {
        latencies.sort();
        let at = |part: f64| latencies[(latencies.len() as f64 * part) as usize].as_secs_f64() * 1e3;
        let events_per_s = (latencies.len() * batch) as f64 / time.as_secs_f64();
        Self { events_per_s, p50_ms: at(0.5), p99_ms: at(0.99) }
    }
}

async fn floor(url: &str, streams: usize, batch: usize, time: Duration) -> Turn {
    let options = PgConnectOptions::from_str(url).expect("a URL").disable_statement_logging();
    let mut tasks = JoinSet::new();
    let mut connections = Vec::new();
    for _ in 0..streams {
        let mut connection = options.connect().await.expect("it connects");
        // Prepared before the clock runs.
        insert(&mut connection, &Writer::new().events(batch, false)).await;
        connections.push(connection);
    }
    let began = Instant::now();
    for mut connection in connections {
        tasks.spawn(async move {
            let (mut writer, mut latencies) = (Writer::new(), Vec::new());
            while began.elapsed() < time {
                let events = writer.events(batch, false);
                let asked = Instant::now();
                insert(&mut connection, &events).await;
                latencies.push(asked.elapsed());
            }
            connection.close().await.expect("it closes");
            latencies
        });
    }
    let latencies = tasks.join_all().await.concat();
    Turn::of(latencies, batch, began.elapsed())
}

async fn ours(store: &Arc<PostgresStore>, streams: usize, batch: usize, time: Duration) -> Turn {
    let mut tasks = JoinSet::new();
    let mut writers: Vec<Writer> = (0..streams).map(|_| Writer::new()).collect();
    for writer in &mut writers {
        let append = Append::new(writer.stream, writer.seq, writer.events(batch, true));
        store.append(append).await.expect("it appends");
    }
    let began = Instant::now();
    for mut writer in writers {
        let store = Arc::clone(store);
        tasks.spawn(async move {
            let mut latencies = Vec::new();
            while began.elapsed() < time {
                let append = Append::new(writer.stream, writer.seq, writer.events(batch, true));
                let asked = Instant::now();
                store.append(append).await.expect("it appends");
                latencies.push(asked.elapsed());
            }
            latencies
        });
    }
    let latencies = tasks.join_all().await.concat();
    Turn::of(latencies, batch, began.elapsed())
}

fn median(turns: &[Turn], value: fn(&Turn) -> f64) -> f64 {
    let mut values: Vec<f64> = turns.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    let (turns, time) = if has("--quick") { (3, 700) } else { (7, 2_000) };
    let time = Duration::from_millis(time);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let server = Server::start(&["max_connections=120"]).expect("PostgreSQL");
    let url = server.url("postgres");
    server.sql("postgres", TABLE).expect("a table");
    let store = runtime.block_on(PostgresStore::open(&url, PostgresOptions::default())).expect("it opens");
    let store = Arc::new(store);
    println!(
        "PostgreSQL, events of about 1 KB, every commit on disk; medians of {turns} turns of {time:?}\n"
    );
    println!("streams  batch  floor ev/s  store ev/s  ratio  floor p50/p99 ms  store p50/p99 ms  p99 ratio");
    let mut rows = Vec::new();
    for (streams, batch) in CASES {
        let (mut floors, mut stores) = (Vec::new(), Vec::new());
        for _ in 0..turns {
            floors.push(runtime.block_on(floor(&url, streams, batch, time)));
            stores.push(runtime.block_on(ours(&store, streams, batch, time)));
        }
        let side = |turns: &[Turn]| {
            (
                median(turns, |it| it.events_per_s),
                median(turns, |it| it.p50_ms),
                median(turns, |it| it.p99_ms),
            )
        };
        let (floor, ours) = (side(&floors), side(&stores));
        let (ratio, p99_ratio) = (ours.0 / floor.0, ours.2 / floor.2);
        let bar = BARS.iter().find(|(of, _)| *of == streams && batch == 1).map(|(_, bar)| *bar);
        let verdict = match bar {
            Some(bar) if ratio >= bar && p99_ratio <= P99_RATIO_MAX => "  as promised",
            Some(_) => "  MISSED",
            None => "",
        };
        println!(
            "{streams:>7}  {batch:>5}  {:>10.0}  {:>10.0}  {ratio:>5.2}  {:>7.2} / {:>6.2}  {:>7.2} / {:>6.2}  {p99_ratio:>9.2}{verdict}",
            floor.0, ours.0, floor.1, floor.2, ours.1, ours.2
        );
        rows.push(json!({
            "streams": streams, "batch": batch, "floor_events_per_s": floor.0, "store_events_per_s": ours.0,
            "ratio": ratio, "floor_p99_ms": floor.2, "store_p99_ms": ours.2, "p99_ratio": p99_ratio,
            "bar": bar,
        }));
    }
    runtime.block_on(store.close());
    if has("--json") {
        println!("{}", json!({"bench": "store", "results": rows}));
    }
}

//! Appends to PostgreSQL, hash chain included, compared with the bare insert of the same rows by the same client
//! library: one statement and one connection per stream, a position from a sequence, and no check except the key. Both
//! take turns in short slices of time and are compared slice by slice, so that other load on the machine affects both
//! alike.
//!
//! A whole run in which a promise is missed ends with exit code 1; `--quick` only reports it.

use std::process::ExitCode;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use debate_core::chain::{GENESIS, hash_of};
use debate_core::envelope::{Envelope, StreamId, StreamKind};
use debate_core::id::{Digest, Seq, Timestamp};
use debate_postgres_fixture::Server;
use debate_store::{Append, EventStore, PostgresOptions, PostgresStore};
use serde_json::json;
use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::task::JoinSet;
use uuid::Uuid;

/// Streams at once, and events of one append.
const CASES: [(usize, usize); 6] = [(1, 1), (8, 1), (64, 1), (1, 10), (8, 10), (64, 10)];

/// What is promised for appends of one event: the least ratio of events, the greatest of the slowest hundredth.
const BARS: [(usize, f64); 3] = [(1, 0.9), (8, 0.9), (64, 2.0)];
const P99_RATIO_MAX: f64 = 1.5;

/// How long one side writes before it is the other's turn.
const SLICE: Duration = Duration::from_millis(150);

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
    /// Starts a new stream.
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

/// Where a stream goes.
enum Destination {
    Floor(PgConnection),
    Store(Arc<PostgresStore>),
}

/// One stream that is written without a pause.
struct Stream {
    writer: Writer,
    destination: Destination,
}

impl Stream {
    /// Writes the next events and returns how long that took.
    async fn append(&mut self, batch: usize) -> Duration {
        let writer = &mut self.writer;
        match &mut self.destination {
            Destination::Floor(connection) => {
                let events = writer.events(batch, false);
                let asked = Instant::now();
                insert(connection, &events).await;
                asked.elapsed()
            }
            Destination::Store(store) => {
                let append = Append::new(writer.stream, writer.seq, writer.events(batch, true));
                let asked = Instant::now();
                store.append(append).await.expect("it appends");
                asked.elapsed()
            }
        }
    }
}

/// One of the two that are compared, and what it has done so far.
struct Side {
    streams: Vec<Stream>,
    batch: usize,
    /// Of each slice.
    events_per_s: Vec<f64>,
    latencies: Vec<Duration>,
}

impl Side {
    /// Begins with one append to each stream, so that all is connected and prepared before the clock runs.
    async fn new(destinations: Vec<Destination>, batch: usize) -> Self {
        let streams =
            destinations.into_iter().map(|destination| Stream { writer: Writer::new(), destination });
        let mut side =
            Self { streams: streams.collect(), batch, events_per_s: Vec::new(), latencies: Vec::new() };
        for stream in &mut side.streams {
            stream.append(batch).await;
        }
        side
    }

    /// Writes all streams at once for a slice of time.
    async fn run(&mut self, time: Duration) {
        let (batch, mut tasks, began) = (self.batch, JoinSet::new(), Instant::now());
        for mut stream in self.streams.drain(..) {
            tasks.spawn(async move {
                let mut latencies = Vec::new();
                while began.elapsed() < time {
                    latencies.push(stream.append(batch).await);
                }
                (stream, latencies)
            });
        }
        let mut appends = 0;
        for (stream, latencies) in tasks.join_all().await {
            appends += latencies.len();
            self.latencies.extend(latencies);
            self.streams.push(stream);
        }
        self.events_per_s.push((appends * batch) as f64 / began.elapsed().as_secs_f64());
    }

    fn latency_ms(&self, part: f64) -> f64 {
        let mut latencies = self.latencies.clone();
        latencies.sort();
        latencies[(latencies.len() as f64 * part) as usize].as_secs_f64() * 1e3
    }
}

/// Returns the value below which this part of the values lies.
fn quantile(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part).round() as usize]
}

/// Runs both in turn, each pair of slices in the other order than the one before.
async fn compare(
    url: &str,
    store: &Arc<PostgresStore>,
    (streams, batch): (usize, usize),
    pairs: usize,
) -> [Side; 2] {
    let options = PgConnectOptions::from_str(url).expect("a URL").disable_statement_logging();
    let mut floors = Vec::new();
    for _ in 0..streams {
        floors.push(Destination::Floor(options.connect().await.expect("it connects")));
    }
    let stores = (0..streams).map(|_| Destination::Store(Arc::clone(store))).collect();
    let (mut floor, mut ours) = (Side::new(floors, batch).await, Side::new(stores, batch).await);
    for pair in 0..pairs {
        if pair % 2 == 0 {
            floor.run(SLICE).await;
            ours.run(SLICE).await;
        } else {
            ours.run(SLICE).await;
            floor.run(SLICE).await;
        }
    }
    [floor, ours]
}

fn main() -> ExitCode {
    let has = |wanted: &str| std::env::args().any(|argument| argument == wanted);
    let is_quick = has("--quick");
    let pairs = if is_quick { 15 } else { 60 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let server = Server::start(&["max_connections=120"]).expect("PostgreSQL");
    let url = server.url("postgres");
    server.sql("postgres", TABLE).expect("a table");
    let store = runtime.block_on(PostgresStore::open(&url, PostgresOptions::default())).expect("it opens");
    let store = Arc::new(store);
    println!(
        "PostgreSQL, events of about 1 KB, every commit on disk; medians of {pairs} pairs of slices of {SLICE:?}, \
         ratios within a pair\n"
    );
    println!(
        "streams  batch  floor ev/s  store ev/s  ratio (quarter to quarter)  floor p50/p99 ms  store p50/p99 ms  p99 ratio"
    );
    let (mut rows, mut all_hold) = (Vec::new(), true);
    for (streams, batch) in CASES {
        let [floor, ours] = runtime.block_on(compare(&url, &store, (streams, batch), pairs));
        let ratios: Vec<f64> =
            ours.events_per_s.iter().zip(&floor.events_per_s).map(|(ours, floor)| ours / floor).collect();
        let [low, ratio, high] = [0.25, 0.5, 0.75].map(|part| quantile(&ratios, part));
        let [floor_events_per_s, store_events_per_s] =
            [&floor, &ours].map(|side| quantile(&side.events_per_s, 0.5));
        let [floor_ms, store_ms] = [&floor, &ours].map(|side| [0.5, 0.99].map(|part| side.latency_ms(part)));
        let p99_ratio = store_ms[1] / floor_ms[1];
        let bar = BARS.iter().find(|(of, _)| *of == streams && batch == 1).map(|(_, bar)| *bar);
        let holds = bar.map(|bar| ratio >= bar && p99_ratio <= P99_RATIO_MAX);
        all_hold &= holds != Some(false);
        let verdict = match holds {
            Some(true) => "  as promised",
            Some(false) => "  MISSED",
            None => "",
        };
        println!(
            "{streams:>7}  {batch:>5}  {floor_events_per_s:>10.0}  {store_events_per_s:>10.0}  \
             {ratio:>6.2} ({low:.2} to {high:.2})        {:>7.2} / {:>6.2}  {:>7.2} / {:>6.2}  {p99_ratio:>9.2}{verdict}",
            floor_ms[0], floor_ms[1], store_ms[0], store_ms[1]
        );
        rows.push(json!({
            "streams": streams, "batch": batch, "floor_events_per_s": floor_events_per_s,
            "store_events_per_s": store_events_per_s, "ratio": ratio, "ratio_quartiles": [low, high],
            "floor_p99_ms": floor_ms[1], "store_p99_ms": store_ms[1], "p99_ratio": p99_ratio, "bar": bar,
            "holds": holds,
        }));
    }
    runtime.block_on(store.close());
    if has("--json") {
        println!("{}", json!({"bench": "store", "holds": all_hold, "results": rows}));
    }
    if all_hold || is_quick { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

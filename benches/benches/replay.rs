//! Replaying a million small events out of SQLite and of PostgreSQL: read, decoded and folded by the engine, without
//! and with verification. Each is compared with a client that fetches the same rows, reads their JSON (and, for
//! verification, hashes them as the chain does) and does nothing with it.
//!
//! One slice of debates after the other, each by all four in turn, each time another one first; a ratio is that of one
//! slice, in events a second, and the table has their median and quartiles. A whole run in which the promise is missed ends
//! with exit code 1; `--quick` only reports it.

use std::env;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use debate_benches::{log_of, quartiles};
use debate_core::chain::GENESIS;
use debate_core::envelope::StreamId;
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Digest, Seq};
use debate_engine::Engine;
use debate_llm::debater;
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{Append, EventStore, PostgresOptions, PostgresStore, SqliteOptions, SqliteStore};
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Row as _};
use uuid::Uuid;

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The least ratio that is promised, of both.
const BAR: f64 = 0.8;

/// Debates of one slice.
const SLICE: usize = 50;

/// Debates that are stored at once.
const STORED_AT_ONCE: usize = 32;

const SQLITE: &str = "SELECT seq, kind, version, at, tenant, actor, trace, hash, prose_digest, salt, body, prose FROM events \
    WHERE stream_kind = 'debate' AND stream_id = ?1 ORDER BY seq";
const POSTGRES: &str = "SELECT seq, kind, version, at, tenant, actor, trace, hash, prose_digest, salt, body, prose FROM events \
    WHERE stream_kind = 'debate' AND stream_id = $1 ORDER BY seq";

/// The two that are compared, each with its floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    /// Rows fetched, their JSON parsed.
    Floor,
    /// The same, and what the chain covers hashed as it has to be.
    HashedFloor,
    /// What the engine does to load a debate.
    Replay,
    /// What the engine does to verify one: chain, fold, and its outcome computed again.
    Verify,
}

const SIDES: [Side; 4] = [Side::Floor, Side::Replay, Side::HashedFloor, Side::Verify];

/// A client of its own that reads rows.
enum Client {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

impl Client {
    /// Fetches a debate's rows and parses their JSON; returns how many there were.
    async fn read(&mut self, debate: Uuid, is_hashed: bool) -> Result<usize> {
        macro_rules! parse {
            ($rows:expr) => {{
                let (rows, mut previous) = ($rows, GENESIS);
                for row in &rows {
                    let (body, prose): (&str, Option<&str>) = (row.try_get(10)?, row.try_get(11)?);
                    black_box(serde_json::from_str::<Value>(body)?);
                    black_box(prose.map(serde_json::from_str::<Value>).transpose()?);
                    if is_hashed {
                        let [seq, at]: [i64; 2] = [row.try_get(0)?, row.try_get(3)?];
                        let (version, trace): (i32, Option<&str>) = (row.try_get(2)?, row.try_get(6)?);
                        let [kind, tenant, actor]: [&str; 3] =
                            [row.try_get(1)?, row.try_get(4)?, row.try_get(5)?];
                        let [hash, prose_digest, salt]: [Option<&[u8]>; 3] =
                            [row.try_get(7)?, row.try_get(8)?, row.try_get(9)?];
                        let words =
                            prose.zip(salt).map(|(prose, salt)| Digest::of_parts([salt, prose.as_bytes()]));
                        black_box(words == prose_digest.and_then(|it| it.try_into().ok()).map(Digest));
                        let chained = Digest::of_parts([
                            previous.0.as_slice(),
                            b"debate",
                            debate.as_bytes(),
                            &seq.to_le_bytes(),
                            kind.as_bytes(),
                            &version.to_le_bytes(),
                            &at.to_le_bytes(),
                            tenant.as_bytes(),
                            actor.as_bytes(),
                            trace.unwrap_or_default().as_bytes(),
                            body.as_bytes(),
                            &[u8::from(prose_digest.is_some())],
                            prose_digest.unwrap_or(&[0; 32]),
                        ]);
                        black_box(hash == Some(chained.0.as_slice()));
                        previous = chained;
                    }
                }
                Ok(rows.len())
            }};
        }
        match self {
            Self::Sqlite(connection) => {
                let id = debate.as_bytes().to_vec();
                parse!(sqlx::query(SQLITE).bind(id).fetch_all(connection).await?)
            }
            Self::Postgres(connection) => {
                parse!(sqlx::query(POSTGRES).bind(debate).fetch_all(connection).await?)
            }
        }
    }
}

/// A filled store, read by the engine and by a bare client.
struct Bench {
    engine: Engine,
    client: Client,
    debates: Vec<DebateId>,
    events_each: usize,
}

impl Bench {
    async fn run(&mut self, side: Side, debates: &[DebateId]) -> Result<Duration> {
        let began = Instant::now();
        for debate in debates {
            let events = match side {
                Side::Floor => self.client.read(debate.0, false).await?,
                Side::HashedFloor => self.client.read(debate.0, true).await?,
                Side::Replay => {
                    let loaded = self.engine.load::<Prediction>(*debate, None).await?;
                    usize::try_from(loaded.head().0)?
                }
                Side::Verify => {
                    let found = self.engine.verify(*debate).await?;
                    ensure!(found.fault.is_none(), "{:?}", found.fault);
                    usize::try_from(found.events)?
                }
            };
            ensure!(events == self.events_each, "{events} events");
        }
        Ok(began.elapsed())
    }

    /// Reads every debate by every side and returns seconds of each slice.
    async fn compare(&mut self) -> Result<[Vec<f64>; 4]> {
        let mut seconds = [const { Vec::new() }; 4];
        let debates = self.debates.clone();
        for (number, slice) in debates.chunks_exact(SLICE).enumerate() {
            for place in 0..SIDES.len() {
                let side = (number + place) % SIDES.len();
                seconds[side].push(self.run(SIDES[side], slice).await?.as_secs_f64());
            }
        }
        Ok(seconds)
    }
}

/// The id of a debate; the same number gives the same one.
fn id(number: usize) -> DebateId {
    DebateId(Uuid::from_u64_pair(number as u64, number as u64))
}

/// Stores whole debates, alike but for their ids.
async fn fill(store: &Arc<dyn EventStore>, count: usize) -> Result<Vec<DebateId>> {
    let debates: Vec<DebateId> = (1..=count).map(id).collect();
    for group in debates.chunks(STORED_AT_ONCE) {
        let appends = group.iter().map(|id| {
            let append = Append::new(StreamId::from(*id), Seq::START, log_of(*id));
            async move { store.append(append).await }
        });
        futures::future::try_join_all(appends).await?;
    }
    Ok(debates)
}

async fn bench(name: &str, store: Arc<dyn EventStore>, client: Client, count: usize) -> Result<Vec<Value>> {
    eprintln!("{name}: storing {count} debates");
    let debates = fill(&store, count).await?;
    let events_each = log_of(id(1)).len();
    let model = Arc::new(debater("simulated".parse()?));
    let engine = Engine::builder(store, model).format(PredictionPrompts).build();
    let mut bench = Bench { engine, client, debates, events_each };
    eprintln!("{name}: reading {} events four times", count * events_each);
    let [floor, replay, hashed, verify] = bench.compare().await?;
    let rows = [("replay", &floor, &replay), ("verify", &hashed, &verify)].map(|(what, floor, ours)| {
        let ratios: Vec<f64> = floor.iter().zip(ours).map(|(floor, ours)| floor / ours).collect();
        let [low, ratio, high] = quartiles(&ratios);
        let per_s = |seconds: &[f64]| (SLICE * events_each) as f64 / quartiles(seconds)[1];
        let holds = ratio >= BAR;
        let verdict = if holds { "as promised" } else { "MISSED" };
        println!(
            "{name:<10}  {what:<6}  {:>9}  {:>10.0}  {:>10.0}  {ratio:>5.2} ({low:.2} to {high:.2})  {verdict}",
            count * events_each,
            per_s(floor),
            per_s(ours),
        );
        json!({
            "store": name, "what": what, "events": count * events_each, "floor_events_per_s": per_s(floor),
            "events_per_s": per_s(ours), "ratio": ratio, "ratio_quartiles": [low, high], "bar": BAR,
            "holds": holds,
        })
    });
    Ok(rows.to_vec())
}

async fn sqlite(count: usize) -> Result<Vec<Value>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("log.sqlite");
    let store = SqliteStore::open(path.to_str().context("a path")?, SqliteOptions::default()).await?;
    let options = SqliteConnectOptions::new().filename(&path).read_only(true).disable_statement_logging();
    bench("SQLite", Arc::new(store), Client::Sqlite(options.connect().await?), count).await
}

#[cfg(unix)]
async fn postgres(count: usize) -> Result<Vec<Value>> {
    let server = debate_postgres_fixture::Server::start(&["max_wal_size=4GB"])?;
    let url = server.url("postgres");
    let store = PostgresStore::open(&url, PostgresOptions::default()).await?;
    let options: PgConnectOptions = url.parse()?;
    let client = Client::Postgres(options.disable_statement_logging().connect().await?);
    bench("PostgreSQL", Arc::new(store), client, count).await
}

#[cfg(not(unix))]
async fn postgres(_: usize) -> Result<Vec<Value>> {
    Ok(Vec::new())
}

fn main() -> Result<()> {
    let (mut quick, mut json) = (false, false);
    for word in env::args().skip(1) {
        match word.as_str() {
            "--bench" => {}
            "--quick" => quick = true,
            "--json" => json = true,
            other => bail!("unknown argument {other}"),
        }
    }
    let events = if quick { 100_000 } else { 1_000_000 };
    let count = usize::div_ceil(events, log_of(id(1)).len()).next_multiple_of(SLICE);
    println!("store       what       events  floor ev/s    ours ev/s  ratio (quarter to quarter)");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rows =
        runtime.block_on(async { anyhow::Ok([sqlite(count).await?, postgres(count).await?].concat()) })?;
    let all_hold = rows.iter().all(|row| row["holds"] == true);
    if json {
        println!("{}", json!({"bench": "replay", "holds": all_hold, "results": rows}));
    }
    ensure!(all_hold || quick, "a promise is missed");
    Ok(())
}

//! How soon a subscriber at another replica has an event that one replica has acknowledged; and what a thousand
//! subscribers cost an append. Two replicas are two stores with connections and engines of their own on one
//! PostgreSQL, in one process. A whole run in which a promise is missed ends with exit code 1; `--quick` only reports it.

use std::env;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use debate_benches::{log_of, quartiles};
use debate_core::envelope::Envelope;
use debate_core::id::{DebateId, Seq};
use debate_engine::Engine;
use debate_engine::watch::Watched;
use debate_llm::debater;
use debate_postgres_fixture::Server;
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{Append, EventStore, PostgresOptions, PostgresStore};
use futures::StreamExt as _;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is promised of the way from an acknowledgement to a subscriber, in ms, while nothing else goes on.
const MEDIAN_MS_MAX: f64 = 5.0;
const P99_MS_MAX: f64 = 50.0;

/// By how much an append may slow down for being watched, at the median of its latency.
const WATCHED_RATIO_MAX: f64 = 1.1;
const READERS: usize = 1_000;

/// From one append to the next: a debate of 105 events in 45 s appends every 430 ms, so this is one of the busiest.
const PAUSE: Duration = Duration::from_millis(50);

/// Appends of one block, watched or not.
const BLOCK: usize = 20;

/// A debate whose events are appended one by one, over and over again under new ids.
struct Author {
    store: Arc<PostgresStore>,
    number: u64,
    log: Vec<Envelope>,
    next: usize,
}

impl Author {
    fn new(store: Arc<PostgresStore>) -> Self {
        Self { store, number: 0, log: Vec::new(), next: 0 }
    }

    /// Opens the next debate.
    async fn open(&mut self) -> Result<DebateId> {
        self.number += 1;
        let id = DebateId(Uuid::from_u64_pair(self.number, self.number));
        (self.log, self.next) = (log_of(id), 0);
        self.append().await?;
        Ok(id)
    }

    /// Appends one event; returns when that was acknowledged and how long it took.
    async fn append(&mut self) -> Result<(Instant, Duration)> {
        let event = self.log.get(self.next).context("the debate has ended")?.clone();
        let (stream, expected) = (event.stream, Seq(event.seq.0 - 1));
        self.next += 1;
        let asked = Instant::now();
        self.store.append(Append::new(stream, expected, vec![event])).await?;
        let acknowledged = Instant::now();
        Ok((acknowledged, acknowledged - asked))
    }

    fn is_at_end(&self) -> bool {
        self.next == self.log.len()
    }
}

fn verdict(holds: bool) -> &'static str {
    if holds { "as promised" } else { "MISSED" }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() as f64 * part) as usize]
}

/// Returns the time from acknowledgement to delivery of so many events, in ms.
async fn deliveries(author: &mut Author, other: &Engine, count: usize) -> Result<Vec<f64>> {
    let mut took = Vec::with_capacity(count);
    while took.len() < count {
        let debate = author.open().await?;
        let (tell, mut delivered) = mpsc::unbounded_channel();
        let mut watched = Box::pin(other.watch(debate, Seq::START, false).await?);
        tokio::spawn(async move {
            while let Some(item) = watched.next().await {
                if let Ok(Watched::Event(event)) = item {
                    // The measurement may be over.
                    let _enough = tell.send((event.seq, Instant::now()));
                }
            }
        });
        delivered.recv().await.context("the first event does not arrive")?;
        while !author.is_at_end() && took.len() < count {
            // So that every look of a poll is met at another moment.
            tokio::time::sleep(PAUSE + Duration::from_millis(took.len() as u64 % 37)).await;
            let (acknowledged, _) = author.append().await?;
            let (seq, arrived) = delivered.recv().await.context("an event does not arrive")?;
            ensure!(seq.0 == author.next as u64, "event {seq} instead of {}", author.next);
            took.push(ms(arrived.saturating_duration_since(acknowledged)));
        }
    }
    Ok(took)
}

/// Starts to follow a debate by so many readers, each of which ends with as many events as it was to have.
async fn follow(
    other: &Engine,
    debate: DebateId,
    readers: usize,
    events: usize,
) -> Result<JoinSet<Result<()>>> {
    let mut following = JoinSet::new();
    for _ in 0..readers {
        let mut watched = Box::pin(other.watch(debate, Seq::START, false).await?);
        following.spawn(async move {
            let mut next = 1;
            while next <= events as u64 {
                match watched.next().await.context("it ended early")?? {
                    Watched::Event(event) if event.seq.0 == next => next += 1,
                    Watched::Event(event) => bail!("event {} instead of {next}", event.seq),
                    Watched::Chunk(_) | Watched::Heartbeat(_) => {}
                }
            }
            Ok(())
        });
    }
    Ok(following)
}

/// Returns the median latency of appends in blocks without and with readers, in turn; every reader has every event once.
async fn watched(author: &mut Author, other: &Engine, pairs: usize) -> Result<[Vec<f64>; 2]> {
    let mut medians = [Vec::new(), Vec::new()];
    for pair in 0..pairs {
        for turn in 0..2 {
            let side = (pair + turn) % 2;
            let debate = author.open().await?;
            let readers = if side == 1 { READERS } else { 0 };
            let following = follow(other, debate, readers, BLOCK + 1).await?;
            tokio::time::sleep(PAUSE * 10).await;
            let mut took = Vec::with_capacity(BLOCK);
            for _ in 0..BLOCK {
                tokio::time::sleep(PAUSE).await;
                took.push(ms(author.append().await?.1));
            }
            following.join_all().await.into_iter().collect::<Result<()>>()?;
            medians[side].push(quantile(&mut took, 0.5));
        }
    }
    Ok(medians)
}

async fn bench(quick: bool, json: bool) -> Result<()> {
    let server = Server::start(&[])?;
    let url = server.url("postgres");
    let [one, other] = [
        PostgresStore::open(&url, PostgresOptions::default()).await?,
        PostgresStore::open(&url, PostgresOptions::default()).await?,
    ];
    let model = Arc::new(debater("simulated".parse()?));
    let other = Engine::builder(Arc::new(other), model).format(PredictionPrompts).build();
    let mut author = Author::new(Arc::new(one));

    let (count, pairs) = if quick { (300, 5) } else { (2_000, 20) };
    eprintln!("{count} events, one at a time");
    let mut took = deliveries(&mut author, &other, count).await?;
    let [median, p99, max] = [0.5, 0.99, 0.999_999].map(|part| quantile(&mut took, part));
    let wakes_in_time = median <= MEDIAN_MS_MAX && p99 <= P99_MS_MAX;
    println!(
        "acknowledged to delivered at another replica, {count} events, ms: median {median:.2}, p99 {p99:.2}, most {max:.2}; {}",
        verdict(wakes_in_time)
    );

    eprintln!("{pairs} times {BLOCK} appends without and with {READERS} readers");
    let [alone, with] = watched(&mut author, &other, pairs).await?;
    let ratios: Vec<f64> = alone.iter().zip(&with).map(|(alone, with)| with / alone).collect();
    let [low, ratio, high] = quartiles(&ratios);
    let costs_little = ratio <= WATCHED_RATIO_MAX;
    let [alone_ms, watched_ms] = [quartiles(&alone)[1], quartiles(&with)[1]];
    println!(
        "an append with {READERS} readers at another replica / without any: {ratio:.3} ({low:.3} to {high:.3}), \
         medians {watched_ms:.2} and {alone_ms:.2} ms; {}",
        verdict(costs_little)
    );
    let all_hold = wakes_in_time && costs_little;
    if json {
        let wake = json!({
            "events": count, "median_ms": median, "p99_ms": p99, "max_ms": max, "holds": wakes_in_time,
        });
        let append = json!({
            "readers": READERS, "alone_ms": alone_ms, "watched_ms": watched_ms, "ratio": ratio, "ratio_quartiles": [low, high],
            "holds": costs_little,
        });
        println!("{}", json!({ "bench": "wake", "holds": all_hold, "wake": wake, "append": append }));
    }
    ensure!(all_hold || quick, "a promise is missed");
    Ok(())
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
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(bench(quick, json))
}

//! What the schedule and second requests bring: whole debates under drawn latencies, in virtual time, so that nothing
//! but the schedule counts; and on the clock with a fixed latency, with a durable log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use debate_core::codec::Author;
use debate_core::formats::accept::{self, Accepted, AcceptedRequest};
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::config::Schedule;
use debate_core::id::{DebateId, Timestamp};
use debate_engine::{Engine, Hedge, Hedging, Settings, Start, Surroundings};
use debate_llm::simulated::Draw;
use debate_llm::{ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, SimulatedConfig, debater};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{EventStore, MemoryStore, SqliteOptions, SqliteStore};
use serde_json::{Value, json};

const REQUEST: &str = include_str!("../../examples/ice.json");
const PATIENCE: Duration = Duration::from_secs(3_600);
const BATCHES: usize = 10;
const IN_BATCH: usize = 100;
const SIGMA: f64 = 0.5;
const SECOND: Duration = Duration::from_secs(1);
/// Debates side by side on the clock.
const ON_THE_CLOCK: usize = 5;

/// Answers as the simulated model does, after a latency that is drawn for each request.
struct Late {
    model: Arc<dyn ChatModel>,
    sigma: f64,
    draw: Mutex<Draw>,
}

#[async_trait]
impl ChatModel for Late {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let normal = self.draw.lock().expect("nobody panics").normal();
        let latency = SECOND.mul_f64(libm::exp(self.sigma * normal));
        tokio::time::sleep(latency).await;
        let reply = self.model.complete(request, chunks).await?;
        Ok(ChatReply { latency, ..reply })
    }
}

fn late(sigma: f64) -> Late {
    let config: SimulatedConfig = "simulated:7".parse().expect("a spelling");
    Late { model: Arc::new(debater(config)), sigma, draw: Mutex::new(Draw::new(1)) }
}

fn request(schedule: Schedule) -> Accepted<Prediction> {
    let AcceptedRequest::Prediction(mut accepted) = accept::accept(REQUEST).expect("the example is valid")
    else {
        panic!("the example is a prediction debate")
    };
    accepted.config.schedule = schedule;
    *accepted
}

async fn open(engine: &Engine, request: Accepted<Prediction>) -> DebateId {
    let Accepted { config, brief, limits, digest } = request;
    let author = Author { tenant: String::new(), actor: "bench".to_owned(), trace: None };
    let start =
        Start::<Prediction> { config, brief, limits, request_digest: digest, request_id: None, author };
    engine.start(start).await.expect("it starts").debate
}

/// One debate: how long it took, the longest chain of its calls, how many calls it made; in seconds.
struct Held {
    wall: f64,
    critical: f64,
    calls: usize,
}

async fn held(engine: &Engine, debate: DebateId) -> Held {
    assert!(engine.concluded(debate, PATIENCE).await.expect("it is followed"), "it ends");
    let log = engine.log(debate, None).await.expect("it reads");
    let (first, last) = (log.first().expect("an event"), log.last().expect("an event"));
    let answers = log.iter().filter(|envelope| envelope.kind == "call_answered");
    let latencies: Vec<(String, f64)> = answers
        .map(|envelope| {
            let body: Value = serde_json::from_str(&envelope.body).expect("JSON");
            let call = body["call"].as_str().expect("a call").to_owned();
            (call, body["latency_ms"].as_f64().expect("a latency") / 1e3)
        })
        .collect();
    Held {
        wall: last.at.since_ms(first.at) as f64 / 1e3,
        critical: critical_path(&latencies),
        calls: log.iter().filter(|envelope| envelope.kind == "call_started").count(),
    }
}

/// Returns the longest chain: arguments round by round, the judge behind the others in the last, scores beside them,
/// the synthesis behind all.
fn critical_path(latencies: &[(String, f64)]) -> f64 {
    let of =
        |call: &str| latencies.iter().find(|(name, _)| name == call).map_or(0.0, |(_, latency)| *latency);
    let roles = ["optimist", "pessimist", "contrarian", "historian", "judge"];
    let (mut begun, mut scored) = (0.0_f64, 0.0_f64);
    for round in 1..=3 {
        let mut argued = 0.0_f64;
        for role in roles {
            let waits = if round == 3 && role == "judge" { argued } else { begun };
            let done = waits + of(&format!("argue/{round}/{role}"));
            argued = argued.max(done);
            scored = scored.max(done + of(&format!("score/{round}/{role}")));
        }
        begun = argued;
    }
    scored.max(begun) + of("synthesise/3/judge")
}

/// A clock that follows tokio's, which stands still while anything runs.
fn virtual_clock() -> Surroundings {
    let begun = tokio::time::Instant::now();
    let draws = std::sync::atomic::AtomicU64::new(1);
    Surroundings::new(
        move || Timestamp(i64::try_from(begun.elapsed().as_millis()).expect("it is short")),
        move || u128::from(draws.fetch_add(1, std::sync::atomic::Ordering::Relaxed)).to_le_bytes(),
    )
}

fn engine(store: Arc<dyn EventStore>, model: Late, after: Hedge) -> debate_engine::EngineBuilder {
    let settings = Settings { hedging: Hedging { after, ..Hedging::default() }, ..Settings::default() };
    Engine::builder(store, Arc::new(model)).format(PredictionPrompts).settings(settings)
}

/// Holds many debates in virtual time.
fn rehearse(schedule: Schedule, after: Hedge) -> Vec<Held> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let model = late(SIGMA);
        let mut all = Vec::new();
        let engine = engine(Arc::new(MemoryStore::new()), model, after).surroundings(virtual_clock()).build();
        for _ in 0..BATCHES {
            let mut debates = Vec::new();
            for _ in 0..IN_BATCH {
                let mut request = request(schedule);
                // Whatever the latencies, each debate is heard to its end.
                request.limits.deadline_ms = 3_600_000;
                debates.push(open(&engine, request).await);
            }
            for debate in debates {
                all.push(held(&engine, debate).await);
            }
        }
        all
    })
}

/// Holds a few debates side by side on the clock, on SQLite with its default durability; returns the slowest.
fn on_the_clock(schedule: Schedule) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let path = folder.path().join("bench.sqlite");
        let location = path.to_str().expect("UTF-8");
        let store = SqliteStore::open(location, SqliteOptions::default()).await.expect("it opens");
        let engine = engine(Arc::new(store), late(0.0), Hedge::default()).build();
        let mut debates = Vec::new();
        for _ in 0..ON_THE_CLOCK {
            debates.push(open(&engine, request(schedule)).await);
        }
        let mut slowest = 0.0_f64;
        for debate in debates {
            slowest = slowest.max(held(&engine, debate).await.wall);
        }
        engine.shut_down().await;
        slowest
    })
}

fn percentile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = (share * values.len() as f64).ceil() as usize;
    values[rank.clamp(1, values.len()) - 1]
}

fn main() {
    let mut rows = Vec::new();
    let mut strict_p99 = 0.0;
    println!(
        "{} debates each, log-normal latency, median 1 s, sigma {SIGMA}; virtual time",
        BATCHES * IN_BATCH
    );
    println!(
        "schedule    hedge         p50     p95     p99   × strict p99   wall/critical path   extra calls"
    );
    for (schedule, after) in [
        (Schedule::Strict, Hedge::Off),
        (Schedule::Pipelined, Hedge::Off),
        (Schedule::Pipelined, Hedge::P95),
        (Schedule::Pipelined, Hedge::Adaptive),
        (Schedule::Pipelined, Hedge::P75),
    ] {
        let held = rehearse(schedule, after);
        let mut walls: Vec<f64> = held.iter().map(|held| held.wall).collect();
        let [p50, p95, p99] = [0.5, 0.95, 0.99].map(|share| percentile(&mut walls, share));
        if schedule == Schedule::Strict {
            strict_p99 = p99;
        }
        // The answers that won a race say nothing of the wait for those that lost it.
        let over = (after == Hedge::Off)
            .then(|| held.iter().map(|held| held.wall / held.critical).sum::<f64>() / held.len() as f64);
        let calls: usize = held.iter().map(|held| held.calls).sum();
        let extra = calls as f64 / (31 * held.len()) as f64 - 1.0;
        let ratio = p99 / strict_p99;
        println!(
            "{:<11} {:<9} {p50:>7.2} {p95:>7.2} {p99:>7.2} {ratio:>14.3} {:>20} {:>11.1} %",
            schedule.as_str(),
            format!("{after:?}").to_lowercase(),
            over.map_or_else(|| "–".to_owned(), |over| format!("{over:.3}")),
            extra * 100.0
        );
        rows.push(json!({
            "schedule": schedule.as_str(), "hedge": format!("{after:?}").to_lowercase(), "debates": held.len(),
            "p50_s": p50, "p95_s": p95, "p99_s": p99, "p99_to_strict": ratio,
            "wall_to_critical_path": over, "extra_calls_share": extra,
        }));
    }
    println!(
        "\n{ON_THE_CLOCK} debates side by side on the clock, 1 s a call, SQLite with its default durability"
    );
    let mut clock = Vec::new();
    for (schedule, chain) in [(Schedule::Strict, 8.0), (Schedule::Pipelined, 6.0)] {
        let wall = on_the_clock(schedule);
        println!("{:<11} {wall:.3} s for a chain of {chain} calls: {:.3} ×", schedule.as_str(), wall / chain);
        clock.push(
            json!({"schedule": schedule.as_str(), "wall_s": wall, "chain": chain, "ratio": wall / chain}),
        );
    }
    if std::env::args().any(|argument| argument == "--json") {
        println!("{}", json!({"bench": "schedule", "results": rows, "on_the_clock": clock}));
    }
}

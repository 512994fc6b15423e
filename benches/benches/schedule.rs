//! What the schedule and second requests bring: whole debates under drawn latencies, in virtual time, so that nothing
//! but the schedule counts, from several seeds, so that the noise is seen; and on the clock with a fixed latency, with a durable log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use debate_core::call::CallKey;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::prediction::config::Schedule;
use debate_engine::{Hedge, Hedging};
use debate_llm::simulated::Draw;
use debate_rehearsal::{Held, Late, Latencies, Rehearsal, RoundtableTools, Summary, Way, engine, held, open};
use debate_store::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};

const REQUEST: &str = include_str!("../../examples/ice.json");
/// Debates of each seed.
const DEBATES: usize = 800;
const SEEDS: [u64; 5] = [1, 2, 3, 4, 5];
const SIGMA: f64 = 0.5;
const SECOND: Duration = Duration::from_secs(1);
/// Debates side by side on the clock.
const ON_THE_CLOCK: usize = 5;

fn request() -> AcceptedRequest {
    accept::accept(REQUEST).expect("the example is valid")
}

/// Returns the longest chain: arguments round by round, the judge after the others in the last round, scores in
/// parallel with them, and the synthesis after everything.
fn critical_path(latencies: &[(CallKey, Duration)]) -> f64 {
    let of = |call: &str| {
        let found = latencies.iter().find(|(name, _)| name.to_string() == call);
        found.map_or(0.0, |(_, latency)| latency.as_secs_f64())
    };
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

/// Holds a few debates side by side on the clock, on SQLite with its default durability; returns the slowest.
fn on_the_clock(schedule: Schedule) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let path = folder.path().join("bench.sqlite");
        let location = path.to_str().expect("UTF-8");
        let store = SqliteStore::open(location, SqliteOptions::default()).await.expect("it opens");
        let latencies = Arc::new(Latencies::LogNormal { median: SECOND, sigma: 0.0 });
        let model = Arc::new(Late::new("simulated:7", 7, latencies, Arc::new(Mutex::new(Draw::new(1)))));
        let engine = engine(Arc::new(store), model, Hedging::default()).build();
        let mut debates = Vec::new();
        for _ in 0..ON_THE_CLOCK {
            let mut request = request();
            if let AcceptedRequest::Prediction(accepted) = &mut request {
                accepted.config.schedule = schedule;
            }
            debates.push(open(&engine, request).await.expect("it starts"));
        }
        let mut slowest = 0.0_f64;
        for debate in debates {
            let held = held(&engine, debate).await.expect("it ends");
            slowest = slowest.max(held.wall.as_secs_f64());
        }
        engine.shut_down().await;
        slowest
    })
}

/// Returns how much longer debates took than their longest chains, on average.
fn over_critical_path(held: &[Held]) -> f64 {
    let over = held.iter().map(|held| held.wall.as_secs_f64() / critical_path(&held.latencies));
    over.sum::<f64>() / held.len() as f64
}

/// What one way came to with each seed.
struct Row {
    way: Way,
    p50: Vec<f64>,
    p95: Vec<f64>,
    p99: Vec<f64>,
    p99_to_strict: Vec<f64>,
    /// None where requests are raced: the answers that won a race say nothing of the wait for those that lost it.
    over_critical_path: Option<Vec<f64>>,
    extra_calls: Vec<f64>,
    extra_tokens: Vec<f64>,
}

impl Row {
    fn of(way: Way, strict: Option<&Self>) -> Self {
        let (mut summaries, mut over) = (Vec::new(), Vec::new());
        for seed in SEEDS {
            let rehearsal = rehearsal(seed);
            let held = rehearsal.hold(way, &|| {}).expect("the debates are held");
            summaries.push(Summary::of(&held, rehearsal.calls_expected(), rehearsal.deadline()));
            over.push(over_critical_path(&held));
        }
        let each = |of: fn(&Summary) -> f64| summaries.iter().map(of).collect::<Vec<f64>>();
        let p99 = each(|summary| summary.p99.as_secs_f64());
        let base = strict.map_or(&p99, |strict| &strict.p99);
        Self {
            way,
            p50: each(|summary| summary.p50.as_secs_f64()),
            p95: each(|summary| summary.p95.as_secs_f64()),
            p99_to_strict: p99.iter().zip(base).map(|(p99, strict)| p99 / strict).collect(),
            over_critical_path: (way.hedge == Hedge::Off).then_some(over),
            extra_calls: each(|summary| summary.extra_calls),
            extra_tokens: each(|summary| summary.extra_tokens),
            p99,
        }
    }

    fn print(&self) {
        let [p50, p95, p99] = [&self.p50, &self.p95, &self.p99].map(|seeds| mean(seeds));
        let percent = |seeds: &[f64]| format!("{:.1} %", mean(seeds) * 100.0);
        println!(
            "{:<11} {:<9} {p50:>7.2} {p95:>7.2} {p99:>7.2} {:>22} {:>22} {:>11} {:>12}",
            self.way.schedule_name(),
            self.way.hedge_name(),
            spread(&self.p99_to_strict),
            self.over_critical_path.as_deref().map_or_else(|| "–".to_owned(), spread),
            percent(&self.extra_calls),
            percent(&self.extra_tokens),
        );
    }

    fn json(&self) -> Value {
        json!({
            "schedule": self.way.schedule_name(), "hedge": self.way.hedge_name(),
            "debates": DEBATES, "seeds": SEEDS,
            "p50_s": self.p50, "p95_s": self.p95, "p99_s": self.p99, "p99_to_strict": self.p99_to_strict,
            "wall_to_critical_path": self.over_critical_path,
            "extra_calls_share": self.extra_calls, "extra_tokens_share": self.extra_tokens,
        })
    }
}

fn rehearsal(seed: u64) -> Rehearsal {
    Rehearsal {
        request: request(),
        model: "simulated:7".to_owned(),
        latencies: Latencies::LogNormal { median: SECOND, sigma: SIGMA },
        hedge_share_max: Hedging::default().share_max,
        debates: DEBATES,
        seed,
        tools: RoundtableTools::default(),
    }
}

fn mean(seeds: &[f64]) -> f64 {
    seeds.iter().sum::<f64>() / seeds.len() as f64
}

/// Returns the mean of all seeds with the lowest and the highest.
fn spread(seeds: &[f64]) -> String {
    let low = seeds.iter().copied().fold(f64::INFINITY, f64::min);
    let high = seeds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.3} ({low:.3} to {high:.3})", mean(seeds))
}

fn main() {
    println!(
        "{DEBATES} debates of each of {} seeds, log-normal latency, median 1 s, sigma {SIGMA}; virtual time; \
         means of the seeds, with the lowest and the highest",
        SEEDS.len()
    );
    println!(
        "schedule    hedge         p50     p95     p99           × strict p99     wall/critical path extra calls extra tokens"
    );
    let mut rows: Vec<Row> = Vec::new();
    for way in Way::all(&request()) {
        let row = Row::of(way, rows.first());
        row.print();
        rows.push(row);
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
        println!(
            "{}",
            json!({"bench": "schedule", "results": rows.iter().map(Row::json).collect::<Vec<_>>(), "on_the_clock": clock})
        );
    }
}

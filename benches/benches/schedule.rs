//! What the schedule and second requests bring: whole debates under drawn latencies, in virtual time, so that nothing
//! but the schedule counts; and on the clock with a fixed latency, with a durable log.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use debate_core::call::CallKey;
use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::prediction::config::Schedule;
use debate_engine::{Hedge, Hedging};
use debate_llm::simulated::Draw;
use debate_rehearsal::{Held, Late, Latencies, Rehearsal, RoundtableTools, Summary, Way, engine, held, open};
use debate_store::{SqliteOptions, SqliteStore};
use serde_json::json;

const REQUEST: &str = include_str!("../../examples/ice.json");
const DEBATES: usize = 4_000;
const SIGMA: f64 = 0.5;
const SECOND: Duration = Duration::from_secs(1);
/// Debates side by side on the clock.
const ON_THE_CLOCK: usize = 5;

fn request() -> AcceptedRequest {
    accept::accept(REQUEST).expect("the example is valid")
}

/// Returns the longest chain: arguments round by round, the judge behind the others in the last, scores beside them,
/// the synthesis behind all.
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

fn main() {
    let rehearsal = Rehearsal {
        request: request(),
        model: "simulated:7".to_owned(),
        latencies: Latencies::LogNormal { median: SECOND, sigma: SIGMA },
        hedge_share_max: Hedging::default().share_max,
        debates: DEBATES,
        seed: 1,
        tools: RoundtableTools::default(),
    };
    let mut rows = Vec::new();
    let mut strict_p99 = None;
    println!("{DEBATES} debates each, log-normal latency, median 1 s, sigma {SIGMA}; virtual time");
    println!(
        "schedule    hedge         p50     p95     p99   × strict p99   wall/critical path   extra calls"
    );
    for way in Way::all(&rehearsal.request) {
        let held = rehearsal.hold(way, &|| {}).expect("the debates are held");
        let summary = Summary::of(&held, rehearsal.calls_expected(), rehearsal.deadline());
        let [p50, p95, p99] = [summary.p50, summary.p95, summary.p99].map(|wall| wall.as_secs_f64());
        let ratio = p99 / *strict_p99.get_or_insert(p99);
        // The answers that won a race say nothing of the wait for those that lost it.
        let over = (way.hedge == Hedge::Off).then(|| over_critical_path(&held));
        let (schedule, hedge, extra) = (way.schedule_name(), way.hedge_name(), summary.extra_calls);
        println!(
            "{schedule:<11} {hedge:<9} {p50:>7.2} {p95:>7.2} {p99:>7.2} {ratio:>14.3} {:>20} {:>11.1} %",
            over.map_or_else(|| "–".to_owned(), |over| format!("{over:.3}")),
            extra * 100.0
        );
        rows.push(json!({
            "schedule": schedule, "hedge": hedge, "debates": summary.debates,
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

//! Slow requests are raced by second ones (rule K2: cause `hedge`), within limits, and nothing else changes.

use std::num::NonZeroU32;
use std::sync::Arc;

use debate_core::format::Format;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::outcome::DebateResult;
use debate_core::prose::Texts;
use debate_engine::{Engine, Hedge, Hedging, Settings};
use debate_llm::{ChatModel, Gate, Governed, Provider, ProviderLimits};
use debate_prompts::prediction::PredictionPrompts;
use serde_json::Value;

use crate::bench_of_one::{self, PATIENCE, log, memory, model, paused_clock, start};

/// Latencies that vary as those of providers do.
const VARYING: &str = "seed=7,latency=1s,sigma=0.5";

fn engine(after: Hedge) -> Engine {
    let settings = Settings { hedging: Hedging { after, ..Hedging::default() }, ..Settings::default() };
    let builder = Engine::builder(memory(), model(VARYING)).format(PredictionPrompts);
    builder.env(paused_clock()).settings(settings).build()
}

/// Holds debates one after another; returns what each cost and came to, and all events as (kind, body).
async fn held(engine: &Engine, debates: u64) -> (Vec<DebateResult>, Vec<(String, Value)>) {
    let (mut results, mut events) = (Vec::new(), Vec::new());
    for seed in 0..debates {
        let mut start = start(None);
        start.config.seed = seed;
        let debate = engine.start(start).await.unwrap().debate;
        assert!(engine.concluded(debate, PATIENCE).await.unwrap());
        let state = engine.load::<Prediction>(debate, None).await.unwrap();
        results.push(Prediction::outcome(&state, Texts::Shown));
        assert!(engine.verify(debate).await.unwrap().fault.is_none());
        let bodies = log(engine, debate)
            .await
            .into_iter()
            .map(|envelope| (envelope.kind.clone(), serde_json::from_str(&envelope.body).unwrap()));
        events.extend(bodies);
    }
    (results, events)
}

fn count(events: &[(String, Value)], kind: &str, field: &str, value: &str) -> usize {
    events.iter().filter(|(name, body)| name == kind && body[field] == value).count()
}

#[tokio::test(start_paused = true)]
async fn k2_a_slow_request_is_raced_and_the_first_answer_wins() {
    let (raced, events) = held(&engine(Hedge::P75), 12).await;
    let hedges = count(&events, "call_started", "cause", "hedge");
    let firsts = count(&events, "call_started", "cause", "first");
    assert!(hedges > 5, "{hedges} races");
    assert!(hedges as f64 <= 0.08 * firsts as f64, "{hedges} of {firsts}");
    assert_eq!(count(&events, "attempt_abandoned", "reason", "outrun"), hedges);
    let (alone, quiet) = held(&engine(Hedge::Off), 12).await;
    assert_eq!(count(&quiet, "call_started", "cause", "hedge"), 0);
    let time = |results: &[DebateResult]| -> u64 {
        results.iter().map(|result| result.metadata.wall_clock_time_ms).sum()
    };
    assert!(time(&raced) < time(&alone), "{} ms or {} ms", time(&raced), time(&alone));
    for (raced, alone) in raced.iter().zip(&alone) {
        assert_eq!(raced.probability_distribution, alone.probability_distribution);
    }
}

#[tokio::test(start_paused = true)]
async fn k8_a_debate_without_budget_for_a_second_request_sends_none() {
    let engine = engine(Hedge::P75);
    held(&engine, 2).await;
    let mut start = start(None);
    start.limits.calls_max = 31;
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let log = log(&engine, debate).await;
    assert_eq!(bench_of_one::kinds(&log)["call_started"], 31);
    assert_eq!(log.iter().filter(|envelope| envelope.body.contains("hedge")).count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_race_that_a_debate_does_not_allow_takes_no_place_from_others() {
    let engine = engine(Hedge::P75);
    held(&engine, 2).await;
    for _ in 0..8 {
        let mut poor = start(None);
        poor.limits.calls_max = 31;
        let debate = engine.start(poor).await.unwrap().debate;
        assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    }
    let (_, events) = held(&engine, 3).await;
    let races = count(&events, "call_started", "cause", "hedge");
    // What the eight left over is there: 8 in a hundred of these three's own 93 are seven.
    assert!(races > 7, "{races} races");
}

fn steady(model: Arc<dyn ChatModel>, calls_max: usize) -> Engine {
    let hedging = Hedging { after: Hedge::Adaptive, ..Hedging::default() };
    let settings = Settings { hedging, calls_max, ..Settings::default() };
    let builder = Engine::builder(memory(), model).format(PredictionPrompts);
    builder.env(paused_clock()).settings(settings).build()
}

#[tokio::test(start_paused = true)]
async fn a_model_that_always_takes_as_long_is_never_raced() {
    let engine = steady(model("seed=7,latency=1s"), 1_000);
    let (results, _) = held(&engine, 3).await;
    assert!(results.iter().all(|result| result.metadata.sonnet_calls == 31));
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_a_turn_does_not_make_a_request_late() {
    // One request at a time, by the limits of the provider or by those of the process: the last of five waits 4 s.
    let limits = ProviderLimits { concurrency: NonZeroU32::new(1), ..ProviderLimits::default() };
    let gate = Arc::new(Gate::new(Provider::OpenAi, limits));
    let governed = Arc::new(Governed::new(model("seed=7,latency=1s"), gate));
    for engine in [steady(governed, 1_000), steady(model("seed=7,latency=1s"), 1)] {
        let (results, events) = held(&engine, 3).await;
        assert_eq!(count(&events, "call_started", "cause", "hedge"), 0);
        assert!(results.iter().all(|result| result.metadata.wall_clock_time_ms >= 31_000), "one at a time");
    }
}

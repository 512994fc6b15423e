//! From opening to conclusion: the plain run, deadlines, cancel, pause, budgets, recovery, idempotent starts.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use debate_core::debate::{Debate, Lifecycle};
use debate_core::format::Format;
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Seq};
use debate_core::prose::Texts;
use debate_core::stop::{Completeness, StopRule};
use debate_engine::{Control, ControlError, Engine, StartError};
use debate_llm::{ScriptedAnswer, ScriptedModel};
use debate_store::{SqliteOptions, SqliteStore};

use crate::bench_of_one::{PATIENCE, engine, kinds, log, memory, model, start};

async fn finished(engine: &Engine) -> (DebateId, Debate<Prediction>) {
    let debate = engine.start(start(None)).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap(), "it ends in time");
    (debate, engine.load(debate, None).await.unwrap())
}

#[tokio::test(start_paused = true)]
async fn p3_a_debate_runs_from_request_to_result_in_31_calls() {
    let engine = engine(memory(), model("seed=7"));
    let (debate, state) = finished(&engine).await;
    let result = Prediction::outcome(&state, Texts::Shown);
    assert_eq!(result.metadata.sonnet_calls, 31);
    assert_eq!(result.extra.completeness, Completeness::Full);
    assert!(result.extra.simulated, "a simulated result says so");
    let sum: f64 = result.probability_distribution.iter().map(|outcome| outcome.probability).sum();
    assert!((sum - 1.0).abs() < 1e-9);
    assert!(result.historical_precedents.len() >= 2);
    let verification = engine.verify(debate).await.unwrap();
    assert_eq!((verification.fault, verification.outcomes), (None, 1));
}

#[tokio::test(start_paused = true)]
async fn k4_the_same_seed_gives_the_same_result() {
    let mut results = Vec::new();
    for _ in 0..2 {
        let engine = engine(memory(), model("seed=7"));
        let (_, state) = finished(&engine).await;
        let mut result = serde_json::to_value(Prediction::outcome(&state, Texts::Shown)).unwrap();
        for field in ["debate_id", "completed_at"] {
            result[field] = serde_json::Value::Null;
        }
        results.push(result);
    }
    assert_eq!(results[0], results[1]);
}

#[tokio::test]
async fn k1_a_debate_on_sqlite_reads_back_the_same_after_reopening() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sqlite");
    let open = || SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default());
    let engine_one = engine(Arc::new(open().await.unwrap()), model("seed=7"));
    let (debate, state) = finished(&engine_one).await;
    engine_one.shut_down().await;
    let engine_two = engine(Arc::new(open().await.unwrap()), model("seed=7"));
    let again: Debate<Prediction> = engine_two.load(debate, None).await.unwrap();
    assert_eq!(again.outcome_digest(), state.outcome_digest());
    assert_eq!(engine_two.verify(debate).await.unwrap().fault, None);
}

#[tokio::test(start_paused = true)]
async fn k11_the_same_request_id_returns_the_same_debate_and_another_body_is_refused() {
    let engine = engine(memory(), model("seed=7"));
    let first = engine.start(start(Some("r1"))).await.unwrap();
    let again = engine.start(start(Some("r1"))).await.unwrap();
    assert_eq!((first.debate, first.existing, again.existing), (again.debate, false, true));
    let mut other = start(Some("r1"));
    other.request_digest = debate_core::id::Digest::of_text("another body");
    let refused = engine.start(other).await.unwrap_err();
    assert!(matches!(refused, StartError::RequestTaken { debate, .. } if debate == first.debate));
}

#[tokio::test(start_paused = true)]
async fn k9_cancel_stops_calls_in_flight_at_once_and_is_in_the_log() {
    let silent = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
    let engine = engine(memory(), silent.clone());
    let debate = engine.start(start(None)).await.unwrap().debate;
    while silent.asked().len() < 5 {
        tokio::task::yield_now().await;
    }
    let begun = tokio::time::Instant::now();
    engine.control(debate, Control::Cancel { reason: "enough".to_owned() }, "alice").await.unwrap();
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    assert!(begun.elapsed() < Duration::from_secs(1));
    let log = log(&engine, debate).await;
    assert_eq!(kinds(&log)["attempt_abandoned"], 5);
    let cancelled = log.iter().find(|envelope| envelope.kind == "cancelled").unwrap();
    assert_eq!(cancelled.actor, "alice");
    let state: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    assert_eq!(state.stop_rule(), Some(StopRule::Cancelled));
    let again = engine.control(debate, Control::Cancel { reason: String::new() }, "alice").await;
    assert!(matches!(again, Err(ControlError::Refused(_))));
}

#[tokio::test(start_paused = true)]
async fn k9_a_deadline_concludes_with_what_there_is() {
    let engine = engine(memory(), model("seed=7,latency=40s"));
    let (_, state) = finished(&engine).await;
    let result = Prediction::outcome(&state, Texts::Shown);
    assert_eq!(result.extra.stop_reason, "deadline");
    assert!(matches!(result.extra.completeness, Completeness::Partial { .. }));
    assert!(result.metadata.wall_clock_time_ms <= 111_000, "{}", result.metadata.wall_clock_time_ms);
    assert!(!result.probability_distribution.is_empty());
}

#[tokio::test(start_paused = true)]
async fn k8_time_for_the_closing_synthesis_is_kept_back() {
    let engine = engine(memory(), model("seed=7,latency=19s"));
    let (_, state) = finished(&engine).await;
    let result = Prediction::outcome(&state, Texts::Shown);
    assert_eq!(result.extra.stop_reason, "deadline");
    assert!(result.probability_distribution[0].judge_probability.is_some(), "the synthesis was had");
    assert!(result.metadata.wall_clock_time_ms <= 110_000);
}

#[tokio::test(start_paused = true)]
async fn k8_an_exhausted_budget_leads_to_the_closing_synthesis() {
    let engine = engine(memory(), model("seed=7"));
    let mut start = start(None);
    start.limits.calls_max = 12;
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let state: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    let result = Prediction::outcome(&state, Texts::Shown);
    assert_eq!(result.extra.stop_reason, "budget");
    assert!(result.metadata.sonnet_calls <= 12);
    assert!(result.probability_distribution[0].judge_probability.is_some());
}

#[tokio::test(start_paused = true)]
async fn k17_pause_starts_nothing_new_and_resume_goes_on() {
    let engine = engine(memory(), model("seed=7,latency=1s"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    tokio::time::sleep(Duration::from_millis(500)).await;
    engine.control(debate, Control::Pause, "alice").await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let paused: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    assert!(matches!(paused.lifecycle(), Lifecycle::Paused { .. }));
    assert_eq!(paused.spend().calls, 5, "calls in flight finish, none begin");
    assert!(paused.calls().all(|(_, call)| call.open.is_empty()));
    engine.control(debate, Control::Resume, "alice").await.unwrap();
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let state: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    assert_eq!(state.stop_rule(), Some(StopRule::MaxRounds), "the deadline stood still");
}

#[tokio::test(start_paused = true)]
async fn k17_continue_adds_rounds_and_concludes_anew() {
    let engine = engine(memory(), model("seed=7"));
    let (debate, _) = finished(&engine).await;
    engine.control(debate, Control::Continue { rounds: 2, focus: None }, "alice").await.unwrap();
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let state: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    assert_eq!(state.conclusion().unwrap().0.revision, 2);
    let rounds = Prediction::outcome(&state, Texts::Shown).debate_log.rounds;
    let phases: Vec<&str> = rounds.iter().map(|round| round.phase.as_str()).collect();
    assert_eq!(phases, ["opening", "rebuttal", "closing", "rebuttal", "closing"]);
    assert_eq!(engine.verify(debate).await.unwrap().fault, None);
}

#[tokio::test(start_paused = true)]
async fn k2_after_a_stop_at_any_moment_a_new_engine_goes_on_and_asks_nothing_answered_again() {
    for stop_after_ms in [100, 1_100, 2_500, 4_200] {
        let store = memory();
        let one = engine(store.clone(), model("seed=7,latency=1s"));
        let debate = one.start(start(None)).await.unwrap().debate;
        tokio::time::sleep(Duration::from_millis(stop_after_ms)).await;
        one.shut_down().await;
        let two = engine(store, model("seed=7,latency=1s"));
        assert_eq!(two.recover().await.unwrap(), 1);
        assert!(two.concluded(debate, PATIENCE).await.unwrap());
        let state: Debate<Prediction> = two.load(debate, None).await.unwrap();
        assert_eq!(state.stop_rule(), Some(StopRule::MaxRounds));
        assert_asked_once(&log(&two, debate).await);
        assert_eq!(two.recover().await.unwrap(), 0, "a concluded debate is left alone");
    }
}

/// No question is started again after its answer is in the log.
fn assert_asked_once(log: &[debate_core::envelope::Envelope]) {
    let mut answered = BTreeSet::new();
    for envelope in log {
        let body: serde_json::Value = serde_json::from_str(&envelope.body).unwrap();
        let question = (body["call"].to_string(), body["revision"].to_string(), body["turn"].to_string());
        match envelope.kind.as_str() {
            "call_answered" => assert!(answered.insert(question)),
            "call_started" => assert!(!answered.contains(&question), "{question:?} was asked again"),
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn many_debates_run_at_once_and_stay_apart() {
    let engine = engine(memory(), model("seed=7,latency=1s"));
    let mut debates = Vec::new();
    for _ in 0..50 {
        debates.push(engine.start(start(None)).await.unwrap().debate);
    }
    let begun = tokio::time::Instant::now();
    let mut digests = BTreeSet::new();
    for debate in debates {
        assert!(engine.concluded(debate, PATIENCE).await.unwrap());
        let state: Debate<Prediction> = engine.load(debate, None).await.unwrap();
        let result = Prediction::outcome(&state, Texts::Shown);
        digests.insert(serde_json::to_string(&result.probability_distribution).unwrap());
    }
    assert_eq!(digests.len(), 1, "the same request and seed give the same probabilities");
    assert!(begun.elapsed() < Duration::from_secs(9), "they ran side by side");
}

#[tokio::test(start_paused = true)]
async fn replay_shows_the_debate_as_it_was_after_any_event() {
    let engine = engine(memory(), model("seed=7"));
    let (debate, state) = finished(&engine).await;
    for seq in [1, 2, 10, 40, state.head().0] {
        let was: Debate<Prediction> = engine.load(debate, Some(Seq(seq))).await.unwrap();
        assert_eq!(was.head(), Seq(seq));
    }
}

//! An engine with a store and a model, and one real request to try it with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use debate_core::codec::Author;
use debate_core::debate::Debate;
use debate_core::envelope::Envelope;
use debate_core::format::Format;
use debate_core::formats::accept::{self, Accepted, AcceptedRequest};
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Timestamp};
use debate_core::prose::Texts;
use debate_engine::{Engine, Env, Start};
use debate_llm::{ChatModel, SimulatedConfig};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{EventStore, MemoryStore};
use serde_json::Value;

/// Long enough for any debate here, short enough to end a test that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// A real request from the examples, with a seed.
pub(crate) fn request() -> Accepted<Prediction> {
    let json = include_str!("../../../../examples/ice.json");
    let AcceptedRequest::Prediction(accepted) = accept::accept(json).expect("the example is valid") else {
        panic!("the example is a prediction debate")
    };
    *accepted
}

pub(crate) fn start(request_id: Option<&str>) -> Start<Prediction> {
    let Accepted { config, brief, limits, digest, .. } = request();
    Start {
        config,
        brief,
        limits,
        request_digest: digest,
        request_id: request_id.map(str::to_owned),
        author: Author { tenant: String::new(), actor: "test".to_owned(), trace: None },
    }
}

/// A simulated model; `spelling` such as `seed=7,latency=200ms`.
pub(crate) fn model(spelling: &str) -> Arc<dyn ChatModel> {
    let config: SimulatedConfig = format!("simulated:{spelling}").parse().expect("a spelling");
    Arc::new(debate_llm::debater(config))
}

pub(crate) fn engine(store: Arc<dyn EventStore>, model: Arc<dyn ChatModel>) -> Engine {
    Engine::builder(store, model).format(PredictionPrompts).env(paused_clock()).build()
}

/// A clock that follows tokio's, which tests pause; no two engines of a test draw the same.
pub(crate) fn paused_clock() -> Env {
    static DRAWS: AtomicU64 = AtomicU64::new(1);
    let begun = tokio::time::Instant::now();
    Env::new(
        move || {
            let elapsed = i64::try_from(begun.elapsed().as_millis()).expect("tests are short");
            Timestamp(1_700_000_000_000 + elapsed)
        },
        move || u128::from(DRAWS.fetch_add(1, Ordering::Relaxed)).to_le_bytes(),
    )
}

pub(crate) fn memory() -> Arc<dyn EventStore> {
    Arc::new(MemoryStore::new())
}

pub(crate) async fn log(engine: &Engine, debate: DebateId) -> Vec<Envelope> {
    engine.log(debate, None).await.expect("the log reads")
}

/// Returns a debate's outcome without what is its own: id, times, spend.
pub(crate) async fn outcome(engine: &Engine, debate: DebateId) -> Value {
    let debate: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    let mut outcome = serde_json::to_value(Prediction::outcome(&debate, Texts::Shown)).unwrap();
    for field in ["debate_id", "completed_at"] {
        outcome[field] = Value::Null;
    }
    for field in ["wall_clock_time_ms", "sonnet_calls", "sonnet_tokens_used"] {
        outcome["metadata"][field] = Value::Null;
    }
    outcome
}

pub(crate) fn kinds(log: &[Envelope]) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for envelope in log {
        *kinds.entry(envelope.kind.as_str()).or_default() += 1;
    }
    kinds
}

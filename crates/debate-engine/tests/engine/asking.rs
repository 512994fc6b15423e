//! Several models in one debate: by role, by purpose, with others that stand in (rule K5), and none that is not offered
//! (rule K12).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use debate_core::format::Format;
use debate_core::formats::prediction::Prediction;
use debate_core::prose::Texts;
use debate_core::stop::Completeness;
use debate_engine::{Engine, Fork, ForkError, StartError};
use debate_llm::{ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, ModelErrorKind, Models};
use debate_prompts::prediction::PredictionPrompts;
use serde_json::Value;

use crate::bench_of_one::{PATIENCE, log, memory, model, paused_clock, start};

/// A model whose provider refuses every key.
struct Locked;

#[async_trait]
impl ChatModel for Locked {
    fn name(&self) -> &str {
        "locked:1"
    }

    fn is_simulated(&self) -> bool {
        false
    }

    async fn complete(&self, _: &ChatRequest, _: &mut dyn ChunkSink) -> Result<ChatReply, ModelError> {
        Err(ModelError::new(ModelErrorKind::Auth, "no such key"))
    }
}

/// A model whose provider wants to be left alone for a while at first.
struct Busy {
    model: Arc<dyn ChatModel>,
    refusals: AtomicU32,
}

#[async_trait]
impl ChatModel for Busy {
    fn name(&self) -> &str {
        "busy:1"
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        if self.refusals.fetch_add(1, Ordering::Relaxed) < 5 {
            let retry_after = Some(Duration::from_secs(4));
            return Err(ModelError::new(ModelErrorKind::Overloaded { retry_after }, "come back later"));
        }
        self.model.complete(request, chunks).await
    }
}

fn engine() -> Engine {
    let models = Models::new(model("seed=1"), [model("seed=2"), model("seed=3"), Arc::new(Locked)]);
    Engine::builder(memory(), models).format(PredictionPrompts).env(paused_clock()).build()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

#[tokio::test(start_paused = true)]
async fn each_role_and_purpose_is_put_to_the_model_that_the_request_names() {
    let engine = engine();
    let mut start = start(None);
    start.config.models.roles.insert("historian".into(), names(&["simulated:2"]));
    start.config.models.purposes.insert("score".to_owned(), names(&["simulated:3"]));
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let mut asked = 0;
    for envelope in log(&engine, debate).await.iter().filter(|envelope| envelope.kind == "call_started") {
        let body: Value = serde_json::from_str(&envelope.body).unwrap();
        let call = body["call"].as_str().unwrap();
        let expected = match call {
            _ if call.starts_with("score") => "simulated:3",
            _ if call.ends_with("historian") => "simulated:2",
            _ => "simulated:1",
        };
        assert_eq!(body["model"], expected, "{call}");
        asked += 1;
    }
    assert_eq!(asked, 31);
}

#[tokio::test(start_paused = true)]
async fn k5_where_a_model_cannot_be_had_the_next_one_stands_in() {
    let engine = engine();
    let mut start = start(None);
    start.config.models.roles.insert("judge".into(), names(&["locked:1", "simulated:2"]));
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let state = engine.load::<Prediction>(debate, None).await.unwrap();
    let result = Prediction::outcome(&state, Texts::Shown);
    assert_eq!(result.extra.completeness, Completeness::Full);
    assert_eq!(result.metadata.sonnet_calls, 31 + 3, "one refusal a round");
    assert_eq!(result.metadata.model, "locked:1,simulated:1,simulated:2");
}

#[tokio::test(start_paused = true)]
async fn k5_a_question_is_asked_again_when_the_provider_allows_and_not_before() {
    let busy = Arc::new(Busy { model: model("seed=1"), refusals: AtomicU32::new(0) });
    let engine = Engine::builder(memory(), busy).format(PredictionPrompts).env(paused_clock()).build();
    let debate = engine.start(start(None)).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let state = engine.load::<Prediction>(debate, None).await.unwrap();
    let result = Prediction::outcome(&state, Texts::Shown);
    assert_eq!(result.extra.completeness, Completeness::Full);
    assert_eq!(result.metadata.sonnet_calls, 31 + 5);
    let waited = result.metadata.wall_clock_time_ms;
    assert!((4_000..4_100).contains(&waited), "all five waited side by side: {waited} ms");
}

#[tokio::test(start_paused = true)]
async fn p16_a_role_whose_only_model_refuses_is_missing() {
    let engine = engine();
    let mut start = start(None);
    start.config.models.roles.insert("contrarian".into(), names(&["locked:1"]));
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let state = engine.load::<Prediction>(debate, None).await.unwrap();
    let Completeness::Partial { missing, .. } = Prediction::completeness(&state) else {
        panic!("not partial")
    };
    assert_eq!(missing, ["contrarian"]);
}

#[tokio::test(start_paused = true)]
async fn k12_models_that_are_not_offered_are_refused_all_at_once_and_nothing_is_recorded() {
    let engine = engine();
    let mut start = start(None);
    start.config.models.default = names(&["simulated:1", "openai:gpt-9"]);
    start.config.models.purposes.insert("score".to_owned(), names(&["missing:1"]));
    start.config.models.roles.insert("judge".into(), names(&["simulated:2", "missing:2"]));
    let Err(StartError::Invalid(violations)) = engine.start(start).await else { panic!("it was taken") };
    let fields: Vec<&str> = violations.0.iter().map(|violation| violation.field.as_str()).collect();
    assert_eq!(fields, ["options.models.default", "options.models.score", "options.models.roles.judge"]);
    assert!(violations.0[0].reason.contains("simulated:3"), "{violations}");
    assert_eq!(engine.store().list(Default::default()).await.unwrap().len(), 0);
    let parent = engine.start(self::start(None)).await.unwrap().debate;
    let change = "model.roles.judge=missing:2".parse().unwrap();
    let fork = Fork { parent, at: None, change, actor: "test".to_owned() };
    let Err(ForkError::Invalid(violations)) = engine.fork(fork).await else { panic!("it was forked") };
    assert_eq!(violations.0[0].field, "options.models.roles.judge");
    assert_eq!(engine.store().list(Default::default()).await.unwrap().len(), 1);
}

//! Models that think before they answer (rule P23), and what is asked again with a reason (rule K18).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use debate_core::formats::prediction::Prediction;
use debate_core::limits::NO_DEADLINE_MS;
use debate_core::stop::Completeness;
use debate_engine::{Engine, Settings};
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, Effort, Ending, ModelError, ModelErrorKind, ScriptedAnswer,
    ScriptedModel, Thinks, Usage,
};
use debate_prompts::prediction::PredictionPrompts;
use serde_json::Value;

use crate::bench_of_one::{PATIENCE, log, memory, model, paused_clock, start};

/// A model that spends tokens on thinking, which count against the limit of its answer.
struct Thinker {
    answers: Arc<dyn ChatModel>,
    /// Tokens of thinking at an effort.
    thinking: fn(Option<Effort>) -> u32,
    tokens_per_second: f64,
    asked: Mutex<Vec<ChatRequest>>,
}

#[async_trait]
impl ChatModel for Thinker {
    fn name(&self) -> &'static str {
        "thinker:1"
    }

    fn is_simulated(&self) -> bool {
        false
    }

    fn thinks(&self) -> Thinks {
        Thinks::Yes
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        self.asked.lock().unwrap().push(request.clone());
        let limit = request.max_output_tokens + request.thinking_tokens;
        let thinking = (self.thinking)(request.effort).min(limit);
        let latency = |tokens: u64| Duration::from_secs_f64(tokens as f64 / self.tokens_per_second);
        let usage = |output: u64| Usage {
            input: Some(500),
            output: Some(output),
            reasoning: Some(thinking.into()),
            ..Usage::default()
        };
        if thinking == limit {
            tokio::time::sleep(latency(limit.into())).await;
            let (ending, usage) = (Ending::CutInThinking, usage(limit.into()));
            return Ok(ChatReply { ending, usage, ..ChatReply::new("thinker", "") });
        }
        let reply = self.answers.complete(request, chunks).await?;
        let output = reply.usage.output.unwrap() + u64::from(thinking);
        tokio::time::sleep(latency(output)).await;
        Ok(ChatReply { usage: usage(output), latency: latency(output), ..reply })
    }
}

struct Held {
    completeness: Completeness,
    events: Vec<(String, Value)>,
    prose: String,
}

impl Held {
    fn of_kind(&self, kind: &str) -> impl DoubleEndedIterator<Item = &Value> {
        self.events.iter().filter(move |(name, _)| name == kind).map(|(_, body)| body)
    }

    fn efforts(&self) -> Vec<Option<&str>> {
        self.of_kind("call_started").map(|started| started["thinking"]["effort"].as_str()).collect()
    }
}

/// Runs the default prediction with a model; without a deadline where none is given.
async fn run(model: Arc<dyn ChatModel>, deadline_ms: Option<u64>) -> Held {
    let engine = Engine::builder(memory(), model).format(PredictionPrompts);
    let engine = engine.env(paused_clock()).settings(Settings::default()).build();
    let mut start = start(None);
    start.limits.set_deadline(deadline_ms.unwrap_or(NO_DEADLINE_MS));
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    assert!(engine.verify(debate).await.unwrap().fault.is_none());
    let state = engine.load::<Prediction>(debate, None).await.unwrap();
    let log = log(&engine, debate).await;
    let prose = log.iter().filter_map(|event| event.prose.as_ref()).map(|prose| prose.text.clone()).collect();
    let events = log.iter().map(|event| (event.kind.clone(), serde_json::from_str(&event.body).unwrap()));
    Held { completeness: state.completeness(), events: events.collect(), prose }
}

fn thinker(thinking: fn(Option<Effort>) -> u32, tokens_per_second: f64) -> Arc<Thinker> {
    let asked = Mutex::default();
    Arc::new(Thinker { answers: model("seed=7"), thinking, tokens_per_second, asked })
}

#[tokio::test(start_paused = true)]
async fn p23_thinking_of_2000_or_8000_tokens_leaves_room() {
    for thinking in [|_| 2_000, |_| 8_000] as [fn(Option<Effort>) -> u32; 2] {
        let held = run(thinker(thinking, 10_000.0), None).await;
        assert_eq!(held.completeness, Completeness::Full);
        assert_eq!(held.of_kind("call_started").count(), 31);
        assert!(held.efforts().iter().all(Option::is_none), "without a deadline the provider chooses");
        let answered = held.of_kind("call_answered").next().unwrap();
        assert_eq!(answered["usage"]["reasoning"], thinking(None));
    }
}

#[tokio::test(start_paused = true)]
async fn p23_each_answer_cut_by_thinking_gets_twice_the_room() {
    let held = run(thinker(|_| 20_000, 10_000.0), None).await;
    assert_eq!(held.completeness, Completeness::Full);
    let first: Vec<_> =
        held.of_kind("call_started").filter(|call| call["call"] == "argue/1/optimist").collect();
    let room = first.iter().map(|started| started["thinking"]["tokens"].as_u64().unwrap());
    assert_eq!(room.collect::<Vec<_>>(), [8_192, 16_384, 32_768]);
    let failed = held.of_kind("attempt_failed").next().unwrap();
    assert_eq!((&failed["failure"], &failed["ended"]), (&"truncated".into(), &"cut_in_thinking".into()));
}

#[tokio::test(start_paused = true)]
async fn p23_too_much_thinking_names_the_setting_to_raise() {
    let held = run(thinker(|_| 40_000, 10_000.0), None).await;
    assert!(matches!(held.completeness, Completeness::Void { .. }));
    assert!(held.prose.contains("raise options.limits.thinking_tokens_each"), "{}", held.prose);
}

#[tokio::test(start_paused = true)]
async fn p23_a_deadline_picks_the_highest_effort_that_fits() {
    let by_effort = |effort| match effort {
        Some(Effort::None) => 0,
        Some(Effort::Low) => 500,
        Some(Effort::Medium) => 2_000,
        Some(Effort::High) | None => 8_000,
    };
    let held = run(thinker(by_effort, 60.0), Some(110_000)).await;
    assert_eq!(held.completeness, Completeness::Full);
    assert_eq!(held.of_kind("call_started").count(), 31);
    assert_eq!(held.efforts()[0], Some("low"));
    // A model that thinks more than was assumed is asked to think less from the next round on.
    let more = |effort| if effort == Some(Effort::None) { 0 } else { 1_200 };
    let held = run(thinker(more, 60.0), Some(110_000)).await;
    assert_eq!(held.completeness, Completeness::Full);
    let efforts = held.efforts();
    assert_eq!((efforts[0], *efforts.last().unwrap()), (Some("low"), Some("none")));
}

#[tokio::test(start_paused = true)]
async fn p23_an_effort_of_the_request_is_asked_for_and_kept() {
    let slow = thinker(|_| 10, 10.0);
    let engine = Engine::builder(memory(), Arc::clone(&slow) as Arc<dyn ChatModel>).format(PredictionPrompts);
    let engine = engine.env(paused_clock()).build();
    let mut start = start(None);
    start.config.models.effort.default = Some(debate_core::call::Effort::High);
    start.config.models.output_tokens.insert("score".to_owned(), 333);
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let asked = slow.asked.lock().unwrap();
    assert!(asked.iter().all(|request| request.effort == Some(Effort::High)));
    assert!(asked.iter().any(|request| request.max_output_tokens == 333));
    assert!(asked.iter().all(|request| request.time.give_up_at.is_some()));
}

#[tokio::test(start_paused = true)]
async fn k18_an_unusable_answer_is_asked_again_with_the_reason() {
    let asked: Arc<Mutex<Vec<ChatRequest>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let first = ScriptedModel::by(move |request| {
        seen.lock().unwrap().push(request.clone());
        ScriptedAnswer::from("no answer in the form asked for")
    });
    let held = run(Arc::new(first), None).await;
    assert!(matches!(held.completeness, Completeness::Void { .. }));
    let asked = asked.lock().unwrap();
    let (before, after) = (&asked[0], asked.iter().find(|request| request.attempt == 1).unwrap());
    assert_eq!(after.messages.len(), before.messages.len() + 1);
    let last = &after.messages.last().unwrap().content;
    assert!(last.starts_with("Your last reply to this could not be used: "), "{last}");
}

#[tokio::test(start_paused = true)]
async fn r12_a_window_named_by_an_error_fits_the_next_attempt() {
    let answers = model("seed=7");
    let small = Arc::new(Small { answers, window: 1_200 });
    let held = run(small, None).await;
    assert_eq!(held.completeness, Completeness::Full);
    let failed: Vec<_> = held.of_kind("attempt_failed").map(|failed| &failed["failure"]).collect();
    assert!(!failed.is_empty() && failed.iter().all(|failure| *failure == "unavailable"), "{failed:?}");
    let synthesis = held.of_kind("call_started").rfind(|started| started["call"] == "synthesise/3/judge");
    assert!(synthesis.unwrap()["prompt"]["input_max"].as_u64().unwrap() < 1_200);
}

/// A model whose server refuses what its window does not hold, and names the window.
struct Small {
    answers: Arc<dyn ChatModel>,
    window: u32,
}

#[async_trait]
impl ChatModel for Small {
    fn name(&self) -> &'static str {
        "small:1"
    }

    fn is_simulated(&self) -> bool {
        false
    }

    fn thinks(&self) -> Thinks {
        Thinks::No
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        if request.input_tokens.unwrap() + request.max_output_tokens > self.window {
            let kind = ModelErrorKind::WindowExceeded { window: Some(self.window) };
            return Err(ModelError::new(kind, "the prompt is too long"));
        }
        self.answers.complete(request, chunks).await
    }
}

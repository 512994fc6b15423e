//! The limits of a provider and its models' circuits, in stopped time.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use debate_llm::{
    CallTime, ChatModel, ChatReply, ChatRequest, ChunkSink, Gate, Governed, Message, ModelError,
    ModelErrorKind, Provider, ScriptedAnswer, ScriptedModel, TimeoutStage, Usage,
};
use tokio::time::Instant;

const SECOND: Duration = Duration::from_secs(1);

fn gate(limits: &str) -> Arc<Gate> {
    Arc::new(Gate::new(Provider::OpenAi, limits.parse().unwrap()))
}

fn request(timeout: Duration) -> ChatRequest {
    let time = CallTime { give_up_at: Some(Instant::now() + timeout), ..timeout.into() };
    ChatRequest { input_tokens: Some(20), ..ChatRequest::new(vec![Message::user("q")], 10, time) }
}

async fn ask(model: &Governed, request: &ChatRequest) -> Result<ChatReply, ModelError> {
    model.complete(request, &mut |_: &str| {}).await
}

fn label(answered: &Result<ChatReply, ModelError>) -> &'static str {
    answered.as_ref().map_or_else(|error| error.kind.label(), |_| "ok")
}

/// Takes a second for each answer and counts how many are under way.
#[derive(Default)]
struct Slow {
    under_way: AtomicUsize,
    most: AtomicUsize,
}

#[async_trait]
impl ChatModel for Slow {
    fn name(&self) -> &'static str {
        "openai:slow"
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(&self, request: &ChatRequest, _: &mut dyn ChunkSink) -> Result<ChatReply, ModelError> {
        let now = 1 + self.under_way.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(now, Ordering::SeqCst);
        let CallTime { total, give_up_at, .. } = request.time;
        let ends = total.map(|total| Instant::now() + total).into_iter().chain(give_up_at);
        let end = ends.min().unwrap_or(Instant::now() + 2 * SECOND);
        let answered = tokio::time::timeout_at(end, tokio::time::sleep(SECOND)).await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        let late = || ModelError::new(ModelErrorKind::Timeout(TimeoutStage::Total), "late");
        answered.map_err(|_| late())?;
        Ok(ChatReply { latency: SECOND, ..ChatReply::new("slow", "answer") })
    }
}

/// Asks `calls` times at once and returns what came and after how many seconds.
async fn at_once(models: &[Arc<Governed>], calls: usize, timeout: Duration) -> Vec<(&'static str, u64)> {
    let began = Instant::now();
    let tasks: Vec<_> = (0..calls)
        .map(|nth| {
            let model = Arc::clone(&models[nth % models.len()]);
            tokio::spawn(async move {
                let answered = ask(&model, &request(timeout)).await;
                if let Ok(reply) = &answered {
                    let rest = began.elapsed() - reply.waited;
                    assert_eq!((reply.latency, rest), (SECOND, SECOND), "waiting is no latency");
                }
                (label(&answered), began.elapsed().as_secs())
            })
        })
        .collect();
    let mut ended = Vec::new();
    for task in tasks {
        ended.push(task.await.unwrap());
    }
    ended
}

#[tokio::test(start_paused = true)]
async fn calls_of_all_models_of_a_provider_wait_for_the_same_places() {
    let slow = Arc::new(Slow::default());
    let gate = gate("concurrency=2");
    let model = || Arc::new(Governed::new(slow.clone(), Arc::clone(&gate)));
    let ended = at_once(&[model(), model()], 6, 60 * SECOND).await;
    assert_eq!(ended, [("ok", 1), ("ok", 1), ("ok", 2), ("ok", 2), ("ok", 3), ("ok", 3)]);
    assert_eq!(slow.most.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_for_its_turn_within_its_own_time_and_no_longer() {
    let model = Arc::new(Governed::new(Arc::new(Slow::default()), gate("concurrency=1")));
    let ended = at_once(&[model], 4, 2500 * Duration::from_millis(1)).await;
    assert_eq!(ended, [("ok", 1), ("ok", 2), ("timeout_total", 2), ("timeout_turn", 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_tenants_one_call_comes_before_the_many_of_another_that_wait_for_the_same_provider() {
    for (limits, before, seconds) in [
        ("concurrency=1", 2, 3),
        ("requests_per_minute=1", 3, 181),
        ("tokens_per_minute=30", 3, 181),
        ("concurrency=3,requests_per_minute=1", 4, 241),
    ] {
        let model = Arc::new(Governed::new(Arc::new(Slow::default()), gate(limits)));
        let began = Instant::now();
        let mut calls = tokio::task::JoinSet::new();
        for tenant in std::iter::repeat_n("busy", 40).chain(["other"]) {
            let model = Arc::clone(&model);
            let request = ChatRequest { tenant: tenant.into(), ..request(3600 * SECOND) };
            calls.spawn(async move {
                ask(&model, &request).await.unwrap();
                tenant
            });
        }
        let mut ended = Vec::new();
        while ended.last() != Some(&"other") {
            ended.push(calls.join_next().await.unwrap().unwrap());
        }
        assert_eq!((ended.len() - 1, began.elapsed().as_secs()), (before, seconds), "{limits}: {ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn requests_of_a_minute_leave_as_the_minute_allows_and_in_order() {
    let model = Arc::new(Governed::new(Arc::new(Slow::default()), gate("requests_per_minute=30")));
    let ended = at_once(&[model], 33, 60 * SECOND).await;
    assert!(ended[..30].iter().all(|end| *end == ("ok", 1)), "{ended:?}");
    assert_eq!(ended[30..], [("ok", 3), ("ok", 5), ("ok", 7)]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_would_outlast_the_call_ends_at_once_and_costs_nothing() {
    let model = Arc::new(Governed::new(Arc::new(Slow::default()), gate("tokens_per_minute=60")));
    assert_eq!(at_once(&[Arc::clone(&model)], 2, 5 * SECOND).await, [("ok", 1), ("ok", 1)]);
    let error = ask(&model, &request(5 * SECOND)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "timeout_turn: no turn in time: openai is at its limit (tokens_per_minute)"
    );
    assert_eq!((error.usage.input, error.usage.output), (Some(0), Some(0)));
    // 60 of 60 are taken and 1 has come back: 29 seconds are missing.
    assert_eq!(at_once(&[model], 1, 60 * SECOND).await, [("ok", 30)]);
}

#[tokio::test(start_paused = true)]
async fn a_reservation_is_settled_with_what_was_used() {
    let usage = Usage { input: Some(4), output: Some(2), ..Usage::default() };
    let frugal = ScriptedModel::by(move |_| ChatReply { usage, ..ChatReply::new("m", "t") });
    let model = Governed::new(Arc::new(frugal), gate("tokens_per_minute=60"));
    for _ in 0..6 {
        assert_eq!(ask(&model, &request(SECOND)).await.unwrap().waited, Duration::ZERO);
    }
    // 36 are used; 30 more are a wait of 6 seconds.
    assert_eq!(label(&ask(&model, &request(SECOND)).await), "timeout_turn");
    assert_eq!(ask(&model, &request(10 * SECOND)).await.unwrap().waited.as_secs(), 6);
}

#[tokio::test(start_paused = true)]
async fn what_a_provider_did_not_take_up_costs_no_tokens_and_every_try_is_a_request() {
    let busy = ModelError::new(ModelErrorKind::RateLimited { retry_after: None }, "busy");
    let busy = ScriptedModel::by(move |_| ModelError { wire_retries: 3, ..busy.clone() });
    let model = Governed::new(Arc::new(busy), gate("tokens_per_minute=30,requests_per_minute=60"));
    for _ in 0..15 {
        assert_eq!(label(&ask(&model, &request(SECOND)).await), "rate_limited");
    }
    let error = ask(&model, &request(Duration::from_millis(500))).await.unwrap_err();
    assert!(error.message.ends_with("(requests_per_minute)"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_goes_away_while_it_waits_gives_back_its_place() {
    let model = Arc::new(Governed::new(
        Arc::new(Slow::default()),
        gate("concurrency=2,requests_per_minute=6,tokens_per_minute=60"),
    ));
    assert_eq!(at_once(&[Arc::clone(&model)], 2, SECOND * 5).await, [("ok", 1), ("ok", 1)]);
    for _ in 0..20 {
        let request = request(60 * SECOND);
        let waiting = ask(&model, &request);
        assert!(tokio::time::timeout(Duration::ZERO, waiting).await.is_err());
    }
    let answered = ask(&model, &request(60 * SECOND)).await.unwrap();
    assert_eq!(answered.waited.as_secs(), 29, "only the tokens that were used are waited for");
}

#[tokio::test(start_paused = true)]
async fn a_request_larger_than_a_minute_takes_the_whole_minute() {
    let model = Governed::new(Arc::new(Slow::default()), gate("tokens_per_minute=10"));
    assert!(ask(&model, &request(5 * SECOND)).await.is_ok());
    assert_eq!(ask(&model, &request(90 * SECOND)).await.unwrap().waited.as_secs(), 59);
    let uncounted = ChatRequest { input_tokens: None, ..request(5 * SECOND) };
    let model = Governed::new(Arc::new(Slow::default()), gate("tokens_per_minute=27"));
    assert!(ask(&model, &uncounted).await.is_ok(), "one byte, one message, ten tokens of output");
    assert_eq!(label(&ask(&model, &request(SECOND)).await), "timeout_turn");
}

fn failing(kinds: impl IntoIterator<Item = Option<ModelErrorKind>>) -> Arc<ScriptedModel> {
    Arc::new(ScriptedModel::in_order(kinds.into_iter().map(|kind| match kind {
        Some(kind) => ScriptedAnswer::from(ModelError::new(kind, "reset")),
        None => ScriptedAnswer::from("answer"),
    })))
}

#[tokio::test(start_paused = true)]
async fn a_model_that_keeps_failing_is_left_alone_and_then_tried_once() {
    let down = || Some(ModelErrorKind::Connection);
    let script = failing([down(), down(), down(), down(), None, None]);
    let gate = gate("breaker_failures=3,breaker_pause_ms=1000");
    let model = Governed::new(script.clone(), Arc::clone(&gate));
    for want in ["connection_failed", "connection_failed", "connection_failed", "circuit_open"] {
        assert_eq!(label(&ask(&model, &request(SECOND)).await), want);
    }
    let error = ask(&model, &request(SECOND)).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(SECOND));
    assert_eq!(
        error.to_string(),
        "circuit_open: not asked after many failures, the last one connection_failed: reset"
    );
    assert!(error.should_ask_again() && !error.should_retry_wire());
    assert_eq!((error.usage.input, error.usage.output), (Some(0), Some(0)));
    assert_eq!(script.asked().len(), 3);
    let sibling = Governed::new(failing([None]), gate);
    assert_eq!(label(&ask(&sibling, &request(SECOND)).await), "ok", "another model is not concerned");
    tokio::time::advance(SECOND).await;
    for want in ["connection_failed", "circuit_open"] {
        assert_eq!(label(&ask(&model, &request(SECOND)).await), want);
    }
    tokio::time::advance(SECOND).await;
    for want in ["ok", "ok"] {
        assert_eq!(label(&ask(&model, &request(SECOND)).await), want);
    }
}

#[tokio::test(start_paused = true)]
async fn only_failures_of_the_provider_open_the_circuit() {
    let retry_after = None;
    for (kind, opens) in [
        (ModelErrorKind::Overloaded { retry_after }, true),
        (ModelErrorKind::Server { retry_after }, true),
        (ModelErrorKind::Connection, true),
        (ModelErrorKind::Timeout(TimeoutStage::Connect), true),
        (ModelErrorKind::Timeout(TimeoutStage::FirstByte), true),
        (ModelErrorKind::Timeout(TimeoutStage::Idle), true),
        (ModelErrorKind::Timeout(TimeoutStage::Total), true),
        (ModelErrorKind::RateLimited { retry_after }, false),
        (ModelErrorKind::Auth, false),
        (ModelErrorKind::UnknownModel, false),
        (ModelErrorKind::QuotaExhausted, false),
        (ModelErrorKind::BadRequest, false),
        (ModelErrorKind::Malformed, false),
        (ModelErrorKind::TooLarge, false),
        (ModelErrorKind::Truncated, false),
        (ModelErrorKind::StreamError, false),
        (ModelErrorKind::Refused, false),
        (ModelErrorKind::Cancelled, false),
    ] {
        let script = failing((0..2).map(|_| Some(kind.clone())));
        let model = Governed::new(script, gate("breaker_failures=1"));
        assert_eq!(label(&ask(&model, &request(SECOND)).await), kind.label());
        let next = ask(&model, &request(SECOND)).await;
        assert_eq!(label(&next) == "circuit_open", opens, "{kind:?}: {next:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waited_for_most_of_its_time_opens_no_circuit() {
    for (milliseconds, third) in [(1_500, "ok"), (2_500, "ok"), (900, "circuit_open")] {
        let limits = gate("concurrency=1,breaker_failures=1");
        let model = Arc::new(Governed::new(Arc::new(Slow::default()), limits));
        let ended = at_once(&[Arc::clone(&model)], 2, Duration::from_millis(milliseconds)).await;
        assert_eq!(label(&ask(&model, &request(SECOND * 2)).await), third, "{milliseconds}: {ended:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_trial_whose_caller_goes_away_leaves_the_trial_to_the_next_call() {
    let failure = ScriptedAnswer::from(ModelError::new(ModelErrorKind::Connection, "reset"));
    let script = ScriptedModel::in_order([failure, ScriptedAnswer::Hang, ScriptedAnswer::from("answer")]);
    let model = Governed::new(Arc::new(script), gate("breaker_failures=1,breaker_pause_ms=1000"));
    assert_eq!(label(&ask(&model, &request(SECOND)).await), "connection_failed");
    tokio::time::advance(SECOND).await;
    let long = ChatRequest { waits_for_server: false, ..request(60 * SECOND) };
    {
        let mut hear = |_: &str| {};
        let mut trial = model.complete(&long, &mut hear);
        assert!(tokio::time::timeout(Duration::ZERO, &mut trial).await.is_err());
        assert_eq!(label(&ask(&model, &long).await), "circuit_open", "one trial at a time");
    }
    assert_eq!(label(&ask(&model, &long).await), "ok");
}

#[tokio::test(start_paused = true)]
async fn k22_calls_in_line_lose_none_of_their_time() {
    let model = Arc::new(Governed::new(Arc::new(Slow::default()), gate("concurrency=1")));
    let short = ChatRequest { time: CallTime::total(SECOND * 3 / 2), ..request(SECOND) };
    let began = Instant::now();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..16 {
        let (model, short) = (Arc::clone(&model), short.clone());
        calls.spawn(async move { ask(&model, &short).await.unwrap().waited.as_secs() });
    }
    let mut waited = calls.join_all().await;
    waited.sort_unstable();
    assert_eq!(waited, (0..16).collect::<Vec<_>>());
    assert_eq!(began.elapsed().as_secs(), 16);
}

#[tokio::test(start_paused = true)]
async fn k22_an_open_circuit_is_waited_for_in_the_calls_time() {
    let limits = || gate("concurrency=1,breaker_failures=1,breaker_pause_ms=4000");
    let down = || Some(ModelErrorKind::Connection);
    let model = Arc::new(Governed::new(failing([down(), None, None, None]), limits()));
    assert_eq!(label(&ask(&model, &request(SECOND)).await), "connection_failed");
    assert_eq!(label(&ask(&model, &request(3 * SECOND)).await), "circuit_open", "too little time for it");
    let hurried = ChatRequest { waits_for_server: false, ..request(60 * SECOND) };
    assert_eq!(label(&ask(&model, &hurried).await), "circuit_open", "another model stands in");
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let (model, long) = (Arc::clone(&model), request(60 * SECOND));
        calls.spawn(async move { ask(&model, &long).await.map(|reply| reply.waited.as_secs()) });
    }
    for waited in calls.join_all().await {
        assert_eq!(waited, Ok(4), "all leave once the one that is tried has come back");
    }
}

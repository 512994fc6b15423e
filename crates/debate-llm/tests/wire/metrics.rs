//! What can be measured: each call, its retries, its wait for a turn, its model's circuit.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use debate_llm::{
    ChatModel as _, ChatRequest, Gate, Governed, ModelError, ModelErrorKind, Provider, ReplySchema,
    ScriptedModel,
};
use serde_json::json;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt as _};

use crate::fault_server::{FaultServer, Response};
use crate::speech::{Trouble, ok, part, trouble};
use crate::{KEY, model, request};

/// The fields of an event, by name.
type Fields = BTreeMap<&'static str, String>;

/// Keeps every measurement.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<Fields>>>);

struct Reader(Fields);

impl Visit for Reader {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }
}

impl<S: Subscriber> Layer<S> for Ear {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut reader = Reader(Fields::new());
        event.record(&mut reader);
        if event.metadata().target() == "debate_llm::metrics" {
            self.0.lock().unwrap().push(reader.0);
        }
    }
}

impl Ear {
    /// Listens to this thread until the guard is dropped.
    fn listen() -> (Self, DefaultGuard) {
        let ear = Self::default();
        let guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(ear.clone()));
        (ear, guard)
    }

    /// Returns the values of a measurement, each with its attributes.
    fn heard(&self, metric: &str) -> Vec<(String, Fields)> {
        let events = self.0.lock().unwrap();
        let values = events.iter().filter_map(|fields| {
            let mut fields = fields.clone();
            let value = fields.remove(metric)?;
            fields.remove("message");
            Some((value, fields))
        });
        values.collect()
    }
}

fn fields<const N: usize>(pairs: [(&'static str, &str); N]) -> Fields {
    pairs.into_iter().map(|(name, value)| (name, value.to_owned())).collect()
}

/// Returns the name that the conventions have for a provider.
fn known_as(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "anthropic",
        Provider::Gemini => "gcp.gemini",
        Provider::OpenAi | Provider::OpenAiResponses => "openai",
    }
}

#[tokio::test]
async fn a_call_tells_its_time_its_first_byte_its_tokens_and_its_retries() {
    for provider in Provider::ALL {
        let busy = Response::json(503, &json!({"error": {"message": "busy"}}));
        let server = FaultServer::start(vec![busy, ok(provider)]).await;
        let model = model(provider, &server.base_url());
        let (ear, listening) = Ear::listen();
        model.complete(&request(), &mut |_: &str| {}).await.unwrap();
        drop(listening);
        let provider = known_as(provider);
        let asked = [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", provider),
            ("gen_ai.request.model", "test-model"),
            ("gen_ai.response.model", "test-model-01"),
        ];
        for metric in [
            "histogram.gen_ai.client.inference.duration",
            "histogram.gen_ai.client.inference.time_to_first_chunk",
        ] {
            let heard = ear.heard(metric);
            let [(seconds, attributes)] = &heard[..] else { panic!("{metric}: {heard:?}") };
            let seconds: f64 = seconds.parse().unwrap();
            assert!(seconds > 0.0 && seconds < 10.0, "{metric}: {seconds}");
            assert_eq!(*attributes, fields(asked), "{metric}");
        }
        for (tokens, count) in [("input_tokens", "9"), ("output_tokens", "4")] {
            let metric = format!("monotonic_counter.gen_ai.client.inference.usage.{tokens}");
            assert_eq!(ear.heard(&metric), [(count.to_owned(), fields(asked))]);
        }
        let ended = [
            ("debate.llm.ended", "complete"),
            ("gen_ai.provider.name", provider),
            ("gen_ai.request.model", "test-model"),
        ];
        assert_eq!(ear.heard("monotonic_counter.debate.llm.answers"), [("1".to_owned(), fields(ended))]);
        let retries = ear.heard("monotonic_counter.debate.llm.wire_retries");
        let overloaded = [
            ("error.type", "overloaded"),
            ("gen_ai.provider.name", provider),
            ("gen_ai.request.model", "test-model"),
        ];
        assert_eq!(retries, [("1".to_owned(), fields(overloaded))]);
        let all = format!("{:?}", ear.0.lock().unwrap());
        assert!(!all.contains(KEY) && !all.contains("question") && !all.contains("llo"), "{all}");
    }
}

#[tokio::test]
async fn omitted_parameter_is_counted_once() {
    for provider in Provider::ALL {
        let refused = trouble(provider, Trouble::RefusedSchema);
        let server = FaultServer::start(vec![refused, ok(provider), ok(provider)]).await;
        let model = model(provider, &server.base_url());
        let request = ChatRequest { schema: Some(ReplySchema::new("answer", json!({}))), ..request() };
        let (ear, listening) = Ear::listen();
        for _ in 0..2 {
            model.complete(&request, &mut |_: &str| {}).await.unwrap();
        }
        drop(listening);
        let attributes = [
            ("debate.llm.parameter", "schema"),
            ("gen_ai.provider.name", known_as(provider)),
            ("gen_ai.request.model", "test-model"),
        ];
        let counts = ear.heard("monotonic_counter.debate.llm.parameters_left_out");
        assert_eq!(counts, [("1".to_owned(), fields(attributes))]);
    }
}

#[tokio::test]
async fn a_call_that_fails_or_is_dropped_says_why() {
    let half = Response::events(&part(Provider::OpenAi, &["hé"]));
    let server = FaultServer::start(vec![half, Response::stall()]).await;
    let model = model(Provider::OpenAi, &server.base_url());
    let (ear, _listening) = Ear::listen();
    model.complete(&request(), &mut |_: &str| {}).await.unwrap_err();
    let request = request();
    let mut hear = |_: &str| {};
    let mut dropped = model.complete(&request, &mut hear);
    assert!(once(&mut dropped).await.is_none());
    drop(dropped);
    let ended = ear.heard("histogram.gen_ai.client.inference.duration");
    let errors: Vec<&str> = ended.iter().map(|(_, attributes)| attributes["error.type"].as_str()).collect();
    assert_eq!(errors, ["truncated", "cancelled"]);
    assert_eq!(ear.heard("histogram.gen_ai.client.inference.time_to_first_chunk").len(), 1);
}

/// Polls once, so that a request has at least begun.
async fn once<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    tokio::select! {
        biased;
        output = future => Some(output),
        () = std::future::ready(()) => None,
    }
}

#[tokio::test(start_paused = true)]
async fn turn_waits_and_circuit_changes_are_measured() {
    let down = ModelError::new(ModelErrorKind::Connection, "reset");
    let down = ScriptedModel::by(move |_| down.clone());
    let limits = "requests_per_minute=2,breaker_failures=2,breaker_pause_ms=1000".parse().unwrap();
    let model = Governed::new(Arc::new(down), Arc::new(Gate::new(Provider::OpenAi, limits)));
    let (ear, _listening) = Ear::listen();
    let long = ChatRequest { time: Duration::from_secs(60).into(), ..request() };
    for _ in 0..2 {
        model.complete(&long, &mut |_: &str| {}).await.unwrap_err();
    }
    tokio::time::advance(Duration::from_secs(1)).await;
    model.complete(&long, &mut |_: &str| {}).await.unwrap_err();
    let states: Vec<(String, Fields)> = ear.heard("monotonic_counter.debate.llm.circuit_changes");
    let change = |state| {
        let attributes = [
            ("debate.llm.circuit.state", state),
            ("gen_ai.provider.name", "openai"),
            ("gen_ai.request.model", "scripted"),
        ];
        ("1".to_owned(), fields(attributes))
    };
    assert_eq!(states, [change("open"), change("half_open"), change("open")]);
    let waits = ear.heard("histogram.debate.llm.turn_wait.duration");
    let [(seconds, attributes)] = &waits[..] else { panic!("{waits:?}") };
    assert!((29.0..29.1).contains(&seconds.parse::<f64>().unwrap()), "{seconds}");
    let limit = [("debate.llm.limit", "requests_per_minute"), ("gen_ai.provider.name", "openai")];
    assert_eq!(*attributes, fields(limit));
}

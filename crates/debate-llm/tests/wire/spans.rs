//! Tests of a call's span, and of the trace header that the provider receives.

use debate_llm::{ChatModel as _, HttpConfig, HttpModel, Provider};
use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
use serde_json::json;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::fault_server::{FaultServer, Response};
use crate::speech::ok;
use crate::{KEY, config, request};

/// Calls the model once, checks the trace header of the last request, and returns the span of the call.
async fn spans_of(server: &FaultServer, config: HttpConfig) -> SpanData {
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    opentelemetry::global::set_text_map_propagator(TraceContextPropagator::new());
    let listening = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    let _answer = HttpModel::new(config).unwrap().complete(&request(), &mut |_: &str| {}).await;
    drop(listening);
    let mut spans = exporter.get_finished_spans().unwrap();
    spans.retain(|span| span.name.starts_with("chat "));
    let [span] = <[SpanData; 1]>::try_from(spans).unwrap();
    let head = server.requests().pop().expect("the provider was asked").head;
    assert!(head.contains("traceparent: 00-"), "{head}");
    assert!(head.contains(&span.span_context.trace_id().to_string()), "{head}");
    assert!(head.contains(&span.span_context.span_id().to_string()), "{head}");
    span
}

fn attribute(span: &SpanData, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|attribute| attribute.key.as_str() == name)?;
    Some(found.value.to_string())
}

#[tokio::test]
async fn a_call_is_one_span_with_its_usage_and_without_what_was_said() {
    for provider in Provider::ALL {
        let server = FaultServer::start(vec![ok(provider)]).await;
        let span = spans_of(&server, config(provider, &server.base_url())).await;
        assert_eq!((&*span.name, &span.status), ("chat test-model", &Status::Unset));
        assert_eq!(format!("{:?}", span.span_kind), "Client");
        for (name, value) in [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.request.model", "test-model"),
            ("gen_ai.request.max_tokens", "100"),
            ("gen_ai.response.model", "test-model-01"),
            ("gen_ai.response.finish_reasons", "[\"stop\"]"),
            ("gen_ai.usage.input_tokens", "9"),
            ("gen_ai.usage.output_tokens", "4"),
            ("server.address", "127.0.0.1"),
        ] {
            assert_eq!(attribute(&span, name).as_deref(), Some(value), "{provider} {name}");
        }
        let all = format!("{span:?}");
        assert!(!all.contains(KEY) && !all.contains("question") && !all.contains("llo"), "{all}");
    }
}

#[tokio::test]
async fn what_was_said_is_in_the_span_where_somebody_wants_it() {
    let server = FaultServer::start(vec![ok(Provider::OpenAi)]).await;
    let config = HttpConfig { captures_content: true, ..config(Provider::OpenAi, &server.base_url()) };
    let span = spans_of(&server, config).await;
    let asked: serde_json::Value =
        serde_json::from_str(&attribute(&span, "gen_ai.input.messages").unwrap()).unwrap();
    let user = json!({"role": "user", "parts": [{"type": "text", "content": "question"}]});
    assert_eq!(asked[1], user);
    let said = attribute(&span, "gen_ai.output.messages").unwrap();
    assert!(said.contains("\"finish_reason\":\"stop\""), "{said}");
    assert!(!format!("{span:?}").contains(KEY));
}

#[tokio::test]
async fn a_call_that_fails_says_why_in_its_span() {
    let denied = Response::json(401, &json!({"error": {"message": "no such key"}}));
    let server = FaultServer::start(vec![denied]).await;
    let span = spans_of(&server, config(Provider::OpenAi, &server.base_url())).await;
    assert_eq!(span.status, Status::error("unauthorised"));
    assert_eq!(attribute(&span, "error.type").as_deref(), Some("unauthorised"));
    assert_eq!(attribute(&span, "http.response.status_code").as_deref(), Some("401"));
}

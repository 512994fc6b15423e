//! The OpenAI adapter against a real HTTP server on loopback that misbehaves in every way it is told to.

#![allow(clippy::unwrap_used)]

mod fault_server;

use std::time::Duration;

use debate_llm::openai::{ApiKey, OpenAi, OpenAiConfig, RetryPolicy, WireLimits};
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, FinishReason, Message, ModelError, ModelErrorKind, ReplySchema, Usage,
};
use fault_server::{FaultServer, Response};
use serde_json::json;

const KEY: &str = "sk-very-secret";

fn config(base_url: &str) -> OpenAiConfig {
    OpenAiConfig {
        api_key: Some(ApiKey::new(KEY)),
        limits: WireLimits {
            connect_timeout: Duration::from_secs(5),
            first_byte_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(5),
            reply_bytes_max: 64 << 10,
        },
        retry: RetryPolicy {
            tries_max: 4,
            backoff: Duration::from_millis(1),
            backoff_max: Duration::from_millis(2),
        },
        ..OpenAiConfig::new(base_url, "test-model")
    }
}

fn request() -> ChatRequest {
    let messages = vec![Message::system("be brief"), Message::user("question")];
    ChatRequest {
        temperature: Some(0.5),
        seed: Some(3),
        ..ChatRequest::new(messages, 100, Duration::from_secs(10))
    }
}

async fn ask(model: &OpenAi, request: &ChatRequest) -> (Result<ChatReply, ModelError>, String) {
    let mut streamed = String::new();
    let mut sink = |delta: &str| streamed.push_str(delta);
    let reply = model.complete(request, &mut sink).await;
    (reply, streamed)
}

/// A stream of `texts` with usage and the end mark.
fn stream(texts: &[&str]) -> String {
    let mut body = String::from(": keep-alive\n\n");
    for text in texts {
        let delta = json!({"id": "c1", "model": "test-model-01", "choices": [{"index": 0, "delta": {"content": text}}]});
        body.push_str(&format!("data: {delta}\n\n"));
    }
    let stop = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 4,
        "prompt_tokens_details": {"cached_tokens": 8}}});
    body.push_str(&format!("data: {stop}\n\ndata: {usage}\n\ndata: [DONE]\n\n"));
    body
}

fn ok() -> Response {
    Response::events(&stream(&["hé", "llo"]))
}

fn error(status: u16, code: &str) -> Response {
    Response::json(status, &json!({"error": {"message": format!("it says {KEY}"), "code": code}}))
}

/// Serves `responses` one after another and returns what the adapter makes of them and how many requests it sent.
async fn meet(responses: Vec<Response>) -> (Result<ChatReply, ModelError>, String, usize) {
    let server = FaultServer::start(responses).await;
    let model = OpenAi::new(config(&server.base_url())).unwrap();
    let (reply, streamed) = ask(&model, &request()).await;
    (reply, streamed, server.requests().len())
}

async fn check(name: &str, responses: Vec<Response>, want: Result<&str, &str>, requests: usize) {
    let (reply, streamed, sent) = meet(responses).await;
    let got = match &reply {
        Ok(reply) => Ok(reply.text.as_str()),
        Err(error) => Err(error.kind.label()),
    };
    assert_eq!((got, sent), (want, requests), "{name}: {reply:?}");
    match reply {
        Ok(reply) => {
            assert_eq!(reply.text, streamed, "{name}");
            assert_eq!(reply.wire_retries as usize, requests - 1, "{name}");
        }
        Err(error) => {
            assert!(!format!("{error} {error:?}").contains(KEY), "{name}: {error:?}");
            assert_eq!(error.wire_retries as usize, requests - 1, "{name}");
            assert!(error.received_any || streamed.is_empty(), "{name}");
        }
    }
}

#[tokio::test]
async fn k5_every_outcome_of_the_wire_has_its_kind_and_its_number_of_requests() {
    let cut = stream(&["hé", "llo"])[..120].to_owned();
    let failed = "data: {\"choices\":[{\"delta\":{\"content\":\"hé\"}}]}\n\ndata: {\"error\":{\"message\":\"broke\"}}\n\n";
    let whole = json!({"choices": [{"message": {"content": "whole"}, "finish_reason": "stop"}]});
    let refusal =
        json!({"choices": [{"message": {"content": null, "refusal": "no"}, "finish_reason": "stop"}]});
    let limited = || error(429, "rate_limit_exceeded").header("retry-after-ms", "3");
    for (name, responses, want, requests) in [
        ("a stream", vec![ok()], Ok("héllo"), 1),
        ("a stream byte by byte", vec![ok().in_pieces_of(1)], Ok("héllo"), 1),
        ("a stream in pieces of 7", vec![ok().in_pieces_of(7)], Ok("héllo"), 1),
        ("a whole body", vec![Response::json(200, &whole)], Ok("whole"), 1),
        ("429 with a wait, then an answer", vec![limited(), ok()], Ok("héllo"), 2),
        ("503 twice, then an answer", vec![error(503, ""), error(503, ""), ok()], Ok("héllo"), 3),
        ("a reset connection, then an answer", vec![Response::reset(), ok()], Ok("héllo"), 2),
        ("529 for ever", (0..9).map(|_| error(529, "overloaded")).collect(), Err("overloaded"), 4),
        ("500 for ever", (0..9).map(|_| error(500, "")).collect(), Err("server_error"), 4),
        ("resets for ever", (0..9).map(|_| Response::reset()).collect(), Err("connection_failed"), 4),
        ("an HTML 502 for ever", (0..9).map(|_| Response::html(502)).collect(), Err("server_error"), 4),
        ("a wrong key", vec![error(401, "invalid_api_key"), ok()], Err("unauthorised"), 1),
        ("an unknown model", vec![error(404, "model_not_found"), ok()], Err("unknown_model"), 1),
        ("no credit", vec![error(429, "insufficient_quota"), ok()], Err("quota_exhausted"), 1),
        ("a bad request", vec![error(400, "nonsense"), ok()], Err("bad_request"), 1),
        ("a redirect", vec![error(302, "").header("location", "/elsewhere"), ok()], Err("bad_request"), 1),
        ("an HTML page", vec![Response::html(200), ok()], Err("malformed_response"), 1),
        ("an empty body", vec![Response::events(""), ok()], Err("malformed_response"), 1),
        ("JSON of another shape", vec![Response::json(200, &json!({"ok": 1}))], Err("malformed_response"), 1),
        ("a stream that ends early", vec![Response::events(&cut), ok()], Err("truncated"), 1),
        ("a connection cut in the stream", vec![Response::events(&cut).cut_off(), ok()], Err("truncated"), 1),
        ("an error in the stream", vec![Response::events(failed), ok()], Err("stream_error"), 1),
        ("a refusal", vec![Response::json(200, &refusal), ok()], Err("refused"), 1),
        (
            "too long a body",
            vec![Response::events(&stream(&["x"; 2000])), ok()],
            Err("response_too_large"),
            1,
        ),
    ] {
        check(name, responses, want, requests).await;
    }
}

#[tokio::test]
async fn k3_a_reply_carries_what_the_provider_reports() {
    let (reply, _, _) = meet(vec![ok().header("x-request-id", "req-1")]).await;
    let reply = reply.unwrap();
    assert_eq!(reply.usage, Usage { input: Some(9), output: Some(4), cached: Some(8), reasoning: None });
    assert_eq!((reply.finish, reply.model.as_str()), (FinishReason::Stop, "test-model-01"));
    assert_eq!(reply.request_id.as_deref(), Some("req-1"));
    assert!(reply.first_byte.unwrap() <= reply.latency);
    let bare = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"},\"finish_reason\":\"stop\"}]}\n\n";
    let (reply, _, _) = meet(vec![Response::events(bare)]).await;
    let reply = reply.unwrap();
    assert_eq!((reply.usage, reply.model.as_str()), (Usage::default(), "test-model"));
}

#[tokio::test]
async fn a_request_says_what_was_asked_and_nothing_else() {
    let server = FaultServer::start(vec![ok()]).await;
    let model = OpenAi::new(config(&server.base_url())).unwrap();
    let schema = ReplySchema::new("answer", json!({"type": "object"}));
    ask(&model, &ChatRequest { schema: Some(schema), ..request() }).await.0.unwrap();
    let sent = &server.requests()[0];
    assert!(sent.head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", sent.head);
    assert!(sent.head.contains(&format!("authorization: Bearer {KEY}")), "{}", sent.head);
    assert_eq!(
        sent.json(),
        json!({
            "model": "test-model",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "question"}
            ],
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_tokens": 100,
            "temperature": 0.5,
            "seed": 3,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": true, "schema": {"type": "object"}}
            }
        })
    );
}

#[tokio::test]
async fn a_refused_parameter_is_left_out_at_once_and_from_then_on() {
    let refuse = |message: &str| Response::json(400, &json!({"error": {"message": message}}));
    let server = FaultServer::start(vec![
        refuse("response_format json_schema is not available"),
        refuse("Unsupported parameter: 'max_tokens'; use 'max_completion_tokens'"),
        ok(),
        ok(),
        refuse("response_format again, though none was sent"),
    ])
    .await;
    let model = OpenAi::new(config(&server.base_url())).unwrap();
    let schema = Some(ReplySchema::new("answer", json!({})));
    let request = ChatRequest { schema, ..request() };
    let reply = ask(&model, &request).await.0.unwrap();
    assert_eq!((reply.text.as_str(), reply.wire_retries), ("héllo", 0));
    ask(&model, &request).await.0.unwrap();
    assert_eq!(ask(&model, &request).await.0.unwrap_err().kind, ModelErrorKind::BadRequest);
    let fields = |n: usize| {
        let body = server.requests()[n].json();
        ["response_format", "max_tokens", "max_completion_tokens"].map(|name| body.get(name).is_some())
    };
    assert_eq!(fields(0), [true, true, false]);
    assert_eq!(fields(1), [false, true, false]);
    assert_eq!(fields(2), [false, false, true]);
    assert_eq!(fields(3), [false, false, true], "the second call begins with what the first one learnt");
    assert_eq!(server.requests().len(), 5);
}

/// A name, a response that stalls, the limit to shorten, and what comes of it.
type Stall<'a> = (&'a str, Response, fn(&mut WireLimits, Duration), Result<&'a str, &'a str>);

#[tokio::test]
async fn every_stall_ends_at_its_own_limit() {
    let short = Duration::from_millis(30);
    let complete = &stream(&["hé"]).replace("data: [DONE]\n\n", "");
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"hé\"}}]}\n\n";
    let first_byte = |limits: &mut WireLimits, limit| limits.first_byte_timeout = limit;
    let idle = |limits: &mut WireLimits, limit| limits.idle_timeout = limit;
    let table: [Stall<'_>; 5] = [
        ("no headers", Response::stall(), first_byte, Err("timeout_first_byte")),
        ("headers alone", Response::events("").then_stall(), first_byte, Err("timeout_first_byte")),
        ("silence in the answer", Response::events(part).then_stall(), idle, Err("timeout_idle")),
        ("silence after the answer", Response::events(complete).then_stall(), idle, Ok("hé")),
        ("silence after the end mark", ok().then_stall(), idle, Ok("héllo")),
    ];
    for (name, response, shorten, want) in table {
        let server = FaultServer::start(vec![response]).await;
        let mut config = config(&server.base_url());
        shorten(&mut config.limits, short);
        let (reply, _) = ask(&OpenAi::new(config).unwrap(), &request()).await;
        let got =
            reply.as_ref().map_or_else(|error| Err(error.kind.label()), |reply| Ok(reply.text.as_str()));
        assert_eq!(got, want, "{name}");
    }
    let server = FaultServer::start(vec![Response::events(part).then_stall()]).await;
    let model = OpenAi::new(config(&server.base_url())).unwrap();
    let error = ask(&model, &ChatRequest { timeout: short, ..request() }).await.0.unwrap_err();
    assert_eq!(error.kind.label(), "timeout_total");
}

#[tokio::test]
async fn k5_a_wait_that_outlasts_the_call_is_not_begun() {
    let (reply, _, sent) = meet(vec![error(429, "").header("retry-after", "3600"), ok()]).await;
    let error = reply.unwrap_err();
    assert_eq!((error.kind.label(), sent), ("rate_limited", 1));
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
}

#[tokio::test]
async fn a_refused_connection_is_retried_and_then_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    drop(listener);
    let model = OpenAi::new(config(&base_url)).unwrap();
    let error = ask(&model, &request()).await.0.unwrap_err();
    assert_eq!((error.kind.label(), error.wire_retries, error.received_any), ("connection_failed", 3, false));
    assert!(error.message.contains("refused"), "{error}");
}

#[tokio::test]
async fn k9_dropping_the_call_closes_the_connection() {
    let part = "data: {\"choices\":[{\"delta\":{\"content\":\"hé\"}}]}\n\n";
    let server = FaultServer::start(vec![Response::events(part).then_stall()]).await;
    let model = OpenAi::new(config(&server.base_url())).unwrap();
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let mut sink = move |delta: &str| told.send(delta.to_owned()).unwrap();
    let request = request();
    tokio::select! {
        reply = model.complete(&request, &mut sink) => panic!("{reply:?}"),
        first = heard.recv() => assert_eq!(first.as_deref(), Some("hé")),
    }
    server.client_gone().await;
}

#[tokio::test]
async fn a_finished_stream_leaves_its_connection_for_the_next_call() {
    let server = FaultServer::start(vec![ok(), ok(), ok()]).await;
    let model = OpenAi::new(config(&server.base_url())).unwrap();
    for _ in 0..3 {
        ask(&model, &request()).await.0.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (3, 1));
}

//! What a call becomes for all that a server can do.

use std::time::Duration;

use debate_llm::{
    ChatModel as _, ChatReply, ChatRequest, ConfigError, Ending, HttpConfig, HttpModel, ModelError, Provider,
    ReplySchema, Usage,
};
use serde_json::json;

use crate::fault_server::{FaultServer, Response};
use crate::speech::{
    Trouble, delta, failed_whole, failing, failing_at_its_end, filtered, ok, part, refusal, stream, trouble,
    whole,
};
use crate::{KEY, ask, model, outcome, request};

/// Serves `responses` one after another and returns what the adapter makes of them and how many requests it sent.
async fn meet(
    provider: Provider,
    responses: Vec<Response>,
) -> (Result<ChatReply, ModelError>, String, usize) {
    let server = FaultServer::start(responses).await;
    let model = model(provider, &server.base_url());
    let (reply, streamed) = ask(&model, &request()).await;
    (reply, streamed, server.requests().len())
}

async fn check(
    provider: Provider,
    name: &str,
    responses: Vec<Response>,
    want: Result<&str, &str>,
    requests: usize,
    used_in_vain: Usage,
) {
    let name = format!("{provider}: {name}");
    let (reply, streamed, sent) = meet(provider, responses).await;
    assert_eq!((outcome(&reply), sent), (want, requests), "{name}: {reply:?}");
    match reply {
        Ok(reply) => {
            assert_eq!(reply.text, streamed, "{name}");
            assert_eq!(reply.wire_retries as usize, requests - 1, "{name}");
        }
        Err(error) => {
            assert!(!format!("{error} {error:?}").contains(KEY), "{name}: {error:?}");
            assert_eq!(error.wire_retries as usize, requests - 1, "{name}");
            assert!(error.received_any || streamed.is_empty(), "{name}");
            assert_eq!(*error.usage, used_in_vain, "{name}");
        }
    }
}

fn many(response: impl Fn() -> Response) -> Vec<Response> {
    (0..9).map(|_| response()).collect()
}

#[tokio::test]
async fn k5_every_outcome_of_the_wire_has_its_kind_and_its_number_of_requests() {
    for provider in Provider::ALL {
        let ok = || ok(provider);
        let trouble = |what| trouble(provider, what);
        let status = |status| Response::json(status, &json!({"error": {"message": "no"}}));
        let limited = || trouble(Trouble::TooFast).header("retry-after-ms", "3");
        for (name, responses, want, requests) in [
            ("a stream", vec![ok()], Ok("héllo"), 1),
            ("a stream byte by byte", vec![ok().in_pieces_of(1)], Ok("héllo"), 1),
            ("a stream in pieces of 7", vec![ok().in_pieces_of(7)], Ok("héllo"), 1),
            ("a whole body", vec![whole(provider)], Ok("whole"), 1),
            ("429 with a wait, then an answer", vec![limited(), ok()], Ok("héllo"), 2),
            ("503 twice, then an answer", vec![status(503), status(503), ok()], Ok("héllo"), 3),
            ("a reset connection, then an answer", vec![Response::reset(), ok()], Ok("héllo"), 2),
            ("overloaded for ever", many(|| trouble(Trouble::Overloaded)), Err("overloaded"), 4),
            ("529 for ever", many(|| status(529)), Err("overloaded"), 4),
            ("500 for ever", many(|| status(500)), Err("server_error"), 4),
            ("a proxy that drops", many(Response::reset), Err("connection_failed"), 4),
            ("an HTML 502 for ever", many(|| Response::html(502)), Err("server_error"), 4),
            ("a wrong key", vec![trouble(Trouble::WrongKey), ok()], Err("unauthorised"), 1),
            ("an unknown model", vec![trouble(Trouble::UnknownModel), ok()], Err("unknown_model"), 1),
            ("no credit", vec![trouble(Trouble::NoCredit), ok()], Err("quota_exhausted"), 1),
            ("a bad request", vec![trouble(Trouble::BadRequest), ok()], Err("bad_request"), 1),
            ("a redirect", vec![status(302).header("location", "/elsewhere"), ok()], Err("bad_request"), 1),
            ("an HTML page", vec![Response::html(200), ok()], Err("malformed_response"), 1),
            ("an empty body", vec![Response::events(""), ok()], Err("malformed_response"), 1),
            ("another shape", vec![Response::json(200, &json!({"ok": 1}))], Err("malformed_response"), 1),
            (
                "a flood of comments",
                vec![Response::events(": ping\n\n").without_end()],
                Err("response_too_large"),
                1,
            ),
        ] {
            check(provider, name, responses, want, requests, Usage::default()).await;
        }
        for (name, response, kind, usage) in answers_that_fail(provider) {
            check(provider, name, vec![response, ok()], Err(kind), 1, usage).await;
        }
    }
}

/// Returns answers that begin and come to nothing, and what is known to have been used. What was written is not before the
/// end, though all but one count from the beginning: the provider may charge for more than it has counted by then.
fn answers_that_fail(provider: Provider) -> [(&'static str, Response, &'static str, Usage); 10] {
    let all = Usage { input: Some(9), output: Some(4), cached: Some(8), ..Usage::default() };
    let (begun, whole) = match provider {
        Provider::Anthropic | Provider::Gemini | Provider::OpenAi => {
            (Usage { output: None, ..all }, Usage::default())
        }
        Provider::OpenAiResponses => (Usage::default(), all),
    };
    let cut = || Response::events(&part(provider, &["hé", "llo"]));
    let long = Response::events(&stream(provider, &["x"; 2000]));
    let flood = Response::events(&format!("{}{}", part(provider, &[]), delta(provider, "more and more")));
    let body = Response::of_type(200, "application/json", r#"{"more": "and more"#);
    [
        ("a stream that ends early", cut(), "truncated", begun),
        ("a cut in the stream", cut().cut_off(), "truncated", begun),
        ("an error in the stream", failing(provider), "stream_error", begun),
        ("too long a body", long, "response_too_large", begun),
        ("a flood of text", flood.without_end(), "response_too_large", begun),
        ("one body without end", body.without_end(), "response_too_large", Usage::default()),
        ("a refusal", refusal(provider), "refused", all),
        ("a filter", filtered(provider), "refused", all),
        ("an error at the end of the stream", failing_at_its_end(provider), "stream_error", all),
        ("an error as one body", failed_whole(provider), "stream_error", whole),
    ]
}

#[tokio::test]
async fn a_redirect_to_another_machine_is_not_followed() {
    for provider in Provider::ALL {
        for status in [301, 302, 303, 307, 308] {
            let elsewhere = FaultServer::start(vec![ok(provider)]).await;
            let redirect = Response::json(status, &json!({})).header("location", &elsewhere.base_url());
            let (reply, _, sent) = meet(provider, vec![redirect, ok(provider)]).await;
            assert_eq!((outcome(&reply), sent), (Err("bad_request"), 1), "{provider}: {status}");
            assert_eq!(elsewhere.connections(), 0, "{provider}: {status}");
        }
    }
}

#[tokio::test]
async fn k3_a_reply_carries_what_the_provider_reports() {
    for provider in Provider::ALL {
        let (reply, _, _) = meet(provider, vec![ok(provider).header("request-id", "req-1")]).await;
        let reply = reply.unwrap();
        let usage = Usage { input: Some(9), output: Some(4), cached: Some(8), ..Usage::default() };
        assert_eq!(reply.usage, usage, "{provider}");
        assert_eq!((reply.ending, reply.model.as_str()), (Ending::Complete, "test-model-01"));
        assert_eq!(reply.request_id.as_deref(), Some("req-1"));
        assert!(reply.first_byte.unwrap() <= reply.latency);
        let (reply, _, _) = meet(provider, vec![ok(provider)]).await;
        assert_eq!(reply.unwrap().request_id.as_deref(), Some("c1"), "{provider}");
        let (reply, _, _) = meet(provider, vec![whole(provider)]).await;
        let reply = reply.unwrap();
        assert_eq!((reply.usage, reply.model.as_str()), (Usage::default(), "test-model"), "{provider}");
    }
}

#[tokio::test]
async fn a_schema_that_a_provider_refuses_is_left_out_at_once_and_from_then_on() {
    for provider in Provider::ALL {
        let server = FaultServer::start(vec![
            trouble(provider, Trouble::RefusedSchema),
            trouble(provider, Trouble::RefusedTemperature),
            ok(provider),
            ok(provider),
            trouble(provider, Trouble::RefusedSchema),
        ])
        .await;
        let model = model(provider, &server.base_url());
        let request = ChatRequest { schema: Some(ReplySchema::new("answer", json!({}))), ..request() };
        let reply = ask(&model, &request).await.0.unwrap();
        assert_eq!((reply.text.as_str(), reply.wire_retries), ("héllo", 0), "{provider}");
        ask(&model, &request).await.0.unwrap();
        // A server that refuses what was not even sent is not asked again.
        let error = ask(&model, &request).await.0.unwrap_err();
        assert_eq!(error.kind.label(), "bad_request", "{provider}");
        let sent: Vec<[bool; 2]> = server
            .requests()
            .iter()
            .map(|seen| seen.json().to_string())
            .map(|body| {
                ["json_schema", "responseJsonSchema"].iter().any(|name| body.contains(name)) as u8
                    | u8::from(body.contains("temperature")) << 1
            })
            .map(|bits| [bits & 1 != 0, bits & 2 != 0])
            .collect();
        assert_eq!(sent[0], [true, true], "{provider}");
        assert_eq!(sent[1], [false, true], "{provider}");
        assert_eq!(sent[2..], [[false, false]; 3], "{provider}: what was learnt stays");
    }
}

#[tokio::test]
async fn an_older_name_of_the_output_limit_gives_way_to_the_newer_one() {
    let refused = Response::json(
        400,
        &json!({"error": {"message": "Unsupported parameter: 'max_tokens'; use 'max_completion_tokens'"}}),
    );
    let server = FaultServer::start(vec![refused, ok(Provider::OpenAi)]).await;
    ask(&model(Provider::OpenAi, &server.base_url()), &request()).await.0.unwrap();
    let limits = |n: usize| {
        let body = server.requests()[n].json();
        ["max_tokens", "max_completion_tokens"].map(|name| body[name].as_u64())
    };
    assert_eq!([limits(0), limits(1)], [[Some(100), None], [None, Some(100)]]);
}

#[tokio::test]
async fn k5_a_wait_that_outlasts_the_call_is_not_begun() {
    for provider in Provider::ALL {
        let limited = trouble(provider, Trouble::TooFast).header("retry-after", "3600");
        let (reply, _, sent) = meet(provider, vec![limited, ok(provider)]).await;
        let error = reply.unwrap_err();
        assert_eq!((error.kind.label(), sent), ("rate_limited", 1), "{provider}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)), "{provider}");
    }
}

#[tokio::test]
async fn refused_connection_is_retried_and_then_reported() {
    for provider in Provider::ALL {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        drop(listener);
        let error = ask(&model(provider, &base_url), &request()).await.0.unwrap_err();
        let seen = (error.kind.label(), error.wire_retries, error.received_any);
        assert_eq!(seen, ("connection_failed", 3, false), "{provider}");
        assert!(error.message.contains("refused"), "{provider}: {error}");
    }
}

#[test]
fn unusable_config_is_rejected_before_any_request() {
    for provider in Provider::ALL {
        let made = |base_url: &str, model: &str| HttpModel::new(HttpConfig::new(provider, base_url, model));
        let error = made("localhost:8080/v1", "m").unwrap_err();
        assert!(matches!(error, ConfigError::BaseUrl { .. }) && error.to_string().contains("http://"));
        let error = made("http://localhost", " ").unwrap_err();
        assert!(matches!(error, ConfigError::MissingModel { .. }));
        assert!(error.to_string().contains(&provider.example()), "{error}");
        assert_eq!(made("http://localhost", "m").unwrap().name(), format!("{provider}:m"));
    }
}

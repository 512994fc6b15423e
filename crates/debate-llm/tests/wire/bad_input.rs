//! Everything that can be wrong with a key, an address, a model or what answers: one table, the same for every
//! protocol, with the kind, the number of requests, and the one line that a person reads.

use std::time::Duration;

use debate_llm::http::WireLimits;
use debate_llm::{ChatRequest, ConfigError, HttpConfig, HttpModel, Provider, ReplySchema};
use serde_json::json;

use crate::fault_server::{FaultServer, Response};
use crate::speech::{Trouble, delta, ok, part, redacted_message, trouble};
use crate::{KEY, ask, config, outcome, request};

const SHORT: Duration = Duration::from_millis(40);

/// What a server does to a call, and what comes of it.
struct Row {
    name: &'static str,
    /// What it answers, one response after another, the last one for ever.
    responses: Vec<Response>,
    /// The limit that is shortened, so that the test is quick.
    shorten: fn(&mut WireLimits, &mut ChatRequest),
    kind: &'static str,
    /// Requests sent: more than one where the wire is tried again.
    requests: usize,
    /// What a person reads after the kind.
    line: String,
}

impl Row {
    fn new(
        name: &'static str,
        responses: Vec<Response>,
        kind: &'static str,
        line: impl Into<String>,
    ) -> Self {
        Self { name, responses, shorten: |_, _| {}, kind, requests: 1, line: line.into() }
    }

    fn retried(self) -> Self {
        Self { requests: 4, ..self }
    }

    fn within(self, shorten: fn(&mut WireLimits, &mut ChatRequest)) -> Self {
        Self { shorten, ..self }
    }
}

fn four(response: impl Fn() -> Response) -> Vec<Response> {
    (0..4).map(|_| response()).collect()
}

fn answers_of_providers(provider: Provider) -> Vec<Row> {
    let (key, address) = (provider.key_variable(), provider.base_url_variable());
    let one = |what| vec![trouble(provider, what), ok(provider)];
    let redacted = |what| redacted_message(provider, what);
    let status = match provider {
        Provider::Gemini => 400,
        Provider::Anthropic | Provider::OpenAi | Provider::OpenAiResponses => 401,
    };
    vec![
        Row::new(
            "a wrong key",
            one(Trouble::WrongKey),
            "unauthorised",
            format!("the provider refused the key (HTTP {status}); check {key}, and {address} if it is set"),
        ),
        Row::new(
            "an unknown model",
            one(Trouble::UnknownModel),
            "unknown_model",
            format!(
                "{} (ADDRESS); check the model's name, and {address} if it is set",
                redacted(Trouble::UnknownModel)
            ),
        ),
        Row::new(
            "an exhausted quota",
            one(Trouble::NoCredit),
            "quota_exhausted",
            format!("{}; top up the account of {key}, or use another key", redacted(Trouble::NoCredit)),
        ),
        Row::new(
            "a request that is refused",
            one(Trouble::BadRequest),
            "bad_request",
            format!(
                "{}; another model, or a newer server, may take this request",
                redacted(Trouble::BadRequest)
            ),
        ),
    ]
}

/// Words of a provider that are cut within the key, which begins behind so many characters of a message.
fn cut_within_the_key(before: usize) -> String {
    format!("{} {KEY} and more", "x".repeat(before))
}

fn answers_with_the_key_where_words_are_cut(provider: Provider) -> Vec<Row> {
    let status = json!({"error": {"message": cut_within_the_key(183)}});
    let message = cut_within_the_key(193);
    let event = match provider {
        Provider::Anthropic => json!({"type": "error", "error": {"type": "new_error", "message": message}}),
        Provider::Gemini | Provider::OpenAi => json!({"error": {"message": message}}),
        Provider::OpenAiResponses => json!({"type": "error", "message": message, "code": null}),
    };
    let [in_status, in_event] = [183, 193].map(|before| "x".repeat(before));
    vec![
        Row::new(
            "a status with the key where its words are cut",
            vec![Response::json(400, &status), ok(provider)],
            "bad_request",
            format!("HTTP 400: {in_status} [key]…; another model, or a newer server, may take this request"),
        ),
        Row::new(
            "an event with the key where its words are cut",
            vec![Response::events(&format!("{}data: {event}\n\n", part(provider, &["hé"]))), ok(provider)],
            "stream_error",
            format!("{in_event} [key]…; try again later"),
        ),
    ]
}

/// Returns what is met where a model, or the filter before it, declines in words that are cut within the key.
fn refusals_with_the_key_where_words_are_cut(provider: Provider) -> Vec<Row> {
    let filtered = "the provider's filter stopped the question: ";
    let (before, refusal) = match provider {
        // It says nothing of why.
        Provider::Anthropic => return vec![],
        Provider::Gemini => {
            (filtered, json!({"promptFeedback": {"blockReason": cut_within_the_key(193 - filtered.len())}}))
        }
        Provider::OpenAi => {
            ("", json!({"choices": [{"message": {"content": null, "refusal": cut_within_the_key(193)}}]}))
        }
        Provider::OpenAiResponses => {
            let content = json!([{"type": "refusal", "refusal": cut_within_the_key(193)}]);
            ("", json!({"status": "completed", "output": [{"type": "message", "content": content}]}))
        }
    };
    vec![Row::new(
        "a refusal with the key where its words are cut",
        vec![Response::json(200, &refusal), ok(provider)],
        "refused",
        format!("{before}{} [key]…", "x".repeat(193 - before.len())),
    )]
}

fn answers_of_others(provider: Provider) -> Vec<Row> {
    let address = provider.base_url_variable();
    let other = format!("something else than {provider} may be answering: check {address} and any proxy");
    let network = format!("check the network, its proxy, and {address} if it is set");
    let one = |response| vec![response, ok(provider)];
    vec![
        Row::new(
            "a web page of a proxy",
            one(Response::html(200)),
            "malformed_response",
            format!("the response is markup, not JSON (ADDRESS); {other}"),
        ),
        Row::new(
            "a web page that asks to sign in",
            one(Response::html(403)),
            "unauthorised",
            format!(
                "HTTP 403 with a web page instead of an answer; check {}, and {address} if it is set",
                provider.key_variable()
            ),
        ),
        Row::new(
            "a web page where the address is wrong",
            one(Response::html(404)),
            "unknown_model",
            format!("HTTP 404 with text/html (ADDRESS); check the model's name, and {address} if it is set"),
        ),
        Row::new(
            "a web page of a gateway that fails",
            four(|| Response::html(502)),
            "server_error",
            "HTTP 502 with text/html; try again later, or use another model",
        )
        .retried(),
        Row::new(
            "an empty body",
            one(Response::events("")),
            "malformed_response",
            format!("the response is empty (ADDRESS); {other}"),
        ),
        Row::new(
            "an empty body that is said to be JSON",
            one(Response::of_type(200, "application/json", "")),
            "malformed_response",
            format!("the response is empty (ADDRESS); {other}"),
        ),
        Row::new(
            "plain text",
            one(Response::of_type(200, "text/plain", "It works!")),
            "malformed_response",
            format!("the response holds no events (ADDRESS); {other}"),
        ),
        Row::new(
            "JSON of another shape",
            one(Response::json(200, &json!([1, 2]))),
            "malformed_response",
            format!("the JSON has not the shape of the protocol (ADDRESS); {other}"),
        ),
        Row::new(
            "a proxy that drops",
            four(Response::reset),
            "connection_failed",
            format!("the connection was dropped (ADDRESS); {network}"),
        )
        .retried(),
    ]
}

fn answers_without_end(provider: Provider) -> Vec<Row> {
    let half = || Response::events(&part(provider, &["hé"]));
    let flood = || Response::events(&delta(provider, "more and more"));
    let again = "try again, or use another model";
    let idle = |_: &mut WireLimits, request: &mut ChatRequest| request.time.idle = SHORT;
    let first_byte = |_: &mut WireLimits, request: &mut ChatRequest| request.time.first_token = SHORT;
    let total = |limits: &mut WireLimits, request: &mut ChatRequest| {
        limits.reply_bytes_max = usize::MAX;
        request.time = SHORT.into();
    };
    vec![
        Row::new(
            "a server that never answers",
            vec![Response::stall()],
            "timeout_first_byte",
            format!("no answer began within 40ms (ADDRESS); {again}"),
        )
        .within(first_byte),
        Row::new(
            "a stream that stalls",
            vec![half().then_stall()],
            "timeout_idle",
            format!("nothing for 40ms in the middle of an answer (ADDRESS); {again}"),
        )
        .within(idle),
        Row::new(
            "a stream that floods",
            vec![flood().without_end()],
            "response_too_large",
            format!("the response is longer than 65536 bytes; {again}"),
        ),
        // Bytes alone end it before the call does: an error's body is read for no longer than a server may be silent.
        Row::new(
            "an error that floods",
            four(|| Response::of_type(500, "text/plain", &"no ".repeat(10_000)).without_end()),
            "server_error",
            "HTTP 500 with text/plain; try again later, or use another model",
        )
        .retried()
        .within(|_, request| request.time.idle = Duration::from_secs(3_600)),
        Row::new(
            "a stream that never ends",
            vec![half().trickling()],
            "timeout_total",
            format!("no whole answer within 40ms (ADDRESS); {again}"),
        )
        .within(total),
        Row::new(
            "a stream that is cut",
            vec![half().cut_off(), ok(provider)],
            "truncated",
            "the connection broke within the answer; try again; if it stays, something on the way cuts long answers",
        ),
    ]
}

/// Returns errors of which one is read whole, and the other, a byte longer, is not.
fn errors_as_long_as_is_read(provider: Provider) -> Vec<Row> {
    let error = |bytes: usize| {
        let whole = |room: usize| json!({"error": {"message": "no", "room": "x".repeat(room)}}).to_string();
        let body = whole(bytes - whole(0).len());
        // Smaller pieces than the limit has bytes: the one that reaches over it has come.
        vec![Response::of_type(400, "application/json", &body).in_pieces_of(1_000), ok(provider)]
    };
    let advice = "another model, or a newer server, may take this request";
    vec![
        Row::new("an error of 64 KiB", error(64 << 10), "bad_request", format!("HTTP 400: no; {advice}")),
        Row::new(
            "an error of a byte more",
            error((64 << 10) + 1),
            "bad_request",
            format!("HTTP 400 with application/json; {advice}"),
        ),
    ]
}

#[tokio::test]
async fn everything_bad_has_its_kind_its_retries_and_one_line_that_says_what_to_do() {
    for provider in Provider::ALL {
        let rows = [
            answers_of_providers(provider),
            answers_with_the_key_where_words_are_cut(provider),
            refusals_with_the_key_where_words_are_cut(provider),
            answers_of_others(provider),
            answers_without_end(provider),
            errors_as_long_as_is_read(provider),
        ];
        for row in rows.into_iter().flatten() {
            check(provider, row).await;
        }
    }
}

/// Returns the address that is asked, as messages tell it.
fn address(provider: Provider, server: &FaultServer) -> String {
    let path = match provider {
        Provider::Anthropic => "messages",
        Provider::Gemini => "models/test-model:streamGenerateContent",
        Provider::OpenAi => "chat/completions",
        Provider::OpenAiResponses => "responses",
    };
    format!("{}/{path}", server.base_url().trim_start_matches("http://"))
}

async fn check(provider: Provider, row: Row) {
    // Whatever else a provider says, it may send the key back as the name of a request.
    let named = |response: Response| response.header("x-request-id", &format!("req-{KEY}"));
    let server = FaultServer::start(row.responses.into_iter().map(named).collect()).await;
    let (mut config, mut request) = (config(provider, &server.base_url()), request());
    (row.shorten)(&mut config.limits, &mut request);
    let (reply, _) = ask(&HttpModel::new(config).unwrap(), &request).await;
    let error = reply.unwrap_err();
    let name = format!("{provider}: {}", row.name);
    let line = row.line.replace("ADDRESS", &address(provider, &server));
    assert_eq!(error.to_string(), format!("{}: {line}", row.kind), "{name}");
    assert_eq!(error.kind.label(), row.kind, "{name}");
    let sent = server.requests().len();
    // On a busy machine a short limit may be over before the request is sent.
    let may_be_unsent = row.kind.starts_with("timeout_") && sent < row.requests;
    assert!(sent == row.requests || may_be_unsent, "{name}: {sent} requests");
    assert_eq!(error.wire_retries as usize, row.requests - 1, "{name}");
    let shown = format!("{error:?} {error}");
    assert!(!shown.contains(&KEY[..4]), "{name}: not even a part of the key is shown: {shown}");
    assert!(!error.to_string().contains('\n'), "{name}");
}

#[tokio::test]
async fn p28_bounds_are_given_up_before_the_schema() {
    for provider in Provider::ALL {
        let refused = || trouble(provider, Trouble::RefusedSchema);
        let server = FaultServer::start(vec![refused(), ok(provider), ok(provider)]).await;
        let model = HttpModel::new(config(provider, &server.base_url())).unwrap();
        let list = json!({"type": "object", "properties": {"x": {"type": "array", "maxItems": 3, "items": {"type": "string"}}},
            "required": ["x"], "additionalProperties": false});
        let request = ChatRequest { schema: Some(ReplySchema::new("answer", list)), ..request() };
        for _ in 0..2 {
            assert_eq!(outcome(&ask(&model, &request).await.0), Ok("héllo"), "{provider}");
        }
        let bodies = server.requests().into_iter().map(|seen| seen.json().to_string());
        let sent = bodies.map(|body| (body.contains("maxItems"), body.contains("additionalProperties")));
        let want = match provider {
            // It is documented to take none.
            Provider::Anthropic => [(false, true), (false, false), (false, false)],
            Provider::OpenAi | Provider::OpenAiResponses | Provider::Gemini => {
                [(true, true), (false, true), (false, true)]
            }
        };
        assert_eq!(sent.collect::<Vec<_>>(), want, "{provider}");
    }
}

#[tokio::test]
async fn a_schema_that_is_refused_is_given_up_once_and_the_answer_is_had_without_it() {
    for provider in Provider::ALL {
        let refused = || trouble(provider, Trouble::RefusedSchema);
        let server = FaultServer::start(vec![refused(), ok(provider), ok(provider), refused()]).await;
        let model = HttpModel::new(config(provider, &server.base_url())).unwrap();
        let request = ChatRequest { schema: Some(ReplySchema::new("answer", json!({}))), ..request() };
        for sent in [2, 3] {
            let (reply, _) = ask(&model, &request).await;
            assert_eq!(outcome(&reply), Ok("héllo"), "{provider}");
            assert_eq!(reply.unwrap().wire_retries, 0, "{provider}: it is no fault of the wire");
            assert_eq!(server.requests().len(), sent, "{provider}: it is refused once");
        }
        let bodies = server.requests().into_iter().map(|seen| seen.json().to_string());
        let has_schema =
            bodies.map(|body| body.contains("json_schema") || body.contains("responseJsonSchema"));
        assert_eq!(has_schema.collect::<Vec<_>>(), [true, false, false], "{provider}");
        // What refuses a schema that was not sent cannot be helped.
        let error = ask(&model, &request).await.0.unwrap_err();
        let message = redacted_message(provider, Trouble::RefusedSchema);
        let line = format!("bad_request: {message}; another model, or a newer server, may take this request");
        assert_eq!(error.to_string(), line, "{provider}");
    }
}

#[test]
fn base_url_without_scheme_is_rejected_before_any_request() {
    for provider in Provider::ALL {
        for base_url in ["localhost:8080/v1", "api.example.org", "//host/v1", "ftp://host", ""] {
            let error = HttpModel::new(HttpConfig::new(provider, base_url, "m")).unwrap_err();
            assert!(matches!(error, ConfigError::BaseUrl { .. }), "{provider}: {error:?}");
            let line =
                format!("base URL {base_url:?} cannot be used: it must begin with http:// or https://");
            assert_eq!(error.to_string(), line, "{provider}");
        }
    }
}

//! What passes the auth layer, and what becomes of a handler that panics.

use axum::Router;
use axum::body::to_bytes;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tonic::{Code, Status};
use tower::Service as _;

use std::collections::BTreeSet;

use debate_core::codec::Author;
use debate_core::formats::accept::{self, Accepted, AcceptedRequest};
use debate_core::formats::prediction::Prediction;
use debate_core::id::{Seq, Timestamp};
use debate_engine::{Engine, Start};
use debate_llm::{ChatModel, ScriptedAnswer, ScriptedModel};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::MemoryStore;
use futures::StreamExt as _;

use super::*;
use crate::hearing::Hearing;
use crate::tokens::{Scope, TokenFile, TokenWishes};

fn auth(token: Option<&str>) -> AuthLayer {
    let token_store = Arc::new(TokenStore::new(token, None).unwrap());
    AuthLayer {
        token_store,
        body_patience: Duration::from_secs(60),
        unread: Arc::new(Unread::new(Duration::from_secs(60))),
    }
}

fn passes(path: &str, method: &str, authorization: Option<&str>) -> Result<(), Refusal> {
    let mut request = Request::builder().uri(path).method(method).header(CONTENT_TYPE, "application/grpc");
    if let Some(value) = authorization {
        request = request.header(AUTHORIZATION, value);
    }
    auth(Some("secret")).pass(request.body(Body::empty()).unwrap()).map(|_| ())
}

#[tokio::test]
async fn p22_only_the_token_opens_the_door_and_health_is_open() {
    let get = "/debate.v1.DebateService/GetDebate";
    assert_eq!(passes(get, "POST", Some("Bearer secret")), Ok(()));
    assert_eq!(passes("/api/v1/reasoning/debate", "POST", Some("bearer secret")), Ok(()));
    for wrong in [None, Some("secret"), Some("Basic secret"), Some("Bearer secreT"), Some("Bearer ")] {
        assert_eq!(passes(get, "POST", wrong), Err(Refusal::Unauthenticated), "{wrong:?}");
    }
    for (method, place, _) in TABLE.iter().filter(|(_, _, needs)| *needs != Needs::Nothing) {
        assert_eq!(passes(place, method, None), Err(Refusal::Unauthenticated), "{method} {place}");
    }
    assert_eq!(passes("/healthz", "GET", None), Ok(()));
    assert_eq!(passes("/grpc.health.v1.Health/Check", "POST", None), Ok(()));
    for closed in ["/grpc.health.v1.Health/Watch", "/healthz/x", "/debate.v1.DebateService/No", "/"] {
        assert_eq!(passes(closed, "POST", None), Err(Refusal::Unauthenticated), "{closed}");
        let with = passes(closed, "POST", Some("Bearer secret"));
        assert!(matches!(with, Ok(()) | Err(Refusal::NoRoute)), "{closed}");
    }
}

#[tokio::test]
async fn every_method_of_grpc_that_needs_a_token_takes_only_what_says_that_it_is_grpc() {
    let is_grpc = |place: &str| place.starts_with("/debate.v1.") || place.starts_with("/grpc.");
    for (method, place, _) in
        TABLE.iter().filter(|(_, place, needs)| is_grpc(place) && *needs != Needs::Nothing)
    {
        for content_type in [None, Some("text/plain"), Some("application/json")] {
            let mut request =
                Request::builder().uri(*place).method(*method).header(AUTHORIZATION, "Bearer secret");
            if let Some(content_type) = content_type {
                request = request.header(CONTENT_TYPE, content_type);
            }
            let passed = auth(Some("secret")).pass(request.body(Body::empty()).unwrap()).map(|_| ());
            assert_eq!(passed, Err(Refusal::NotGrpc), "{place} {content_type:?}");
        }
    }
}

/// Every row of the table of scopes by who may have it, written down apart from it.
const OPEN_TO: [(&[Scope], &[&str]); 5] = [
    (
        &[Scope::Read, Scope::Admin],
        &[
            "POST /debate.v1.DebateService/GetDebate",
            "POST /debate.v1.DebateService/ListDebates",
            "POST /debate.v1.DebateService/WatchDebate",
            "POST /debate.v1.DebateService/WatchDebates",
            "POST /debate.v1.DebateService/ListRounds",
            "POST /debate.v1.DebateService/ListArguments",
            "POST /debate.v1.DebateService/GetConsensus",
            "POST /debate.v1.DebateService/GetEnsembleContribution",
            "GET /api/v1/debates",
            "GET /api/v1/debates/{debate_id}",
            "GET /api/v1/debates/{debate_id}/events",
            "GET /api/v1/reasoning/debate/{debate_id}",
            "GET /api/v1/reasoning/debate/{debate_id}/round/{round_number}",
            "GET /api/v1/reasoning/debate/{debate_id}/role/{role_name}",
            "GET /api/v1/reasoning/debate/{debate_id}/consensus",
            "GET /viewer/data/formats",
            "GET /viewer/data/debates",
            "GET /viewer/data/debates/{id}",
            "GET /viewer/data/debates/{id}/follow",
            "GET /viewer/data/calibration",
        ],
    ),
    (
        &[Scope::Write, Scope::Admin],
        &[
            "POST /debate.v1.DebateService/StartDebate",
            "POST /debate.v1.DebateService/HoldDebate",
            "POST /debate.v1.DebateService/CancelDebate",
            "POST /debate.v1.DebateService/PauseDebate",
            "POST /debate.v1.DebateService/ResumeDebate",
            "POST /debate.v1.DebateService/ContinueDebate",
            "POST /debate.v1.DebateService/ResolveDebate",
            "POST /debate.v1.AuditService/ForkDebate",
            "POST /api/v1/debates",
            "POST /api/v1/debates/{debate_id}/resolution",
            "POST /api/v1/debates/{debate_id}/continue",
            "POST /api/v1/debates/{debate_id}/resume",
            "POST /api/v1/reasoning/debate",
        ],
    ),
    (
        &[Scope::Audit, Scope::Admin],
        &[
            "POST /debate.v1.AuditService/ReadLog",
            "POST /debate.v1.AuditService/ReplayDebate",
            "POST /debate.v1.AuditService/VerifyDebate",
            "POST /debate.v1.AuditService/DiffDebates",
            "POST /debate.v1.AuditService/ExportBundle",
            "POST /debate.v1.AuditService/ListPrompts",
            "POST /debate.v1.AuditService/GetPrompt",
            "GET /api/v1/prompts",
            "GET /api/v1/prompts/{format}/{name}",
            "GET /viewer/data/debates/{id}/events",
            "GET /viewer/data/debates/{id}/calls",
            "GET /viewer/data/debates/{id}/calls/{seq}/prompt",
            "GET /viewer/data/debates/{id}/verification",
            "GET /viewer/data/debates/{id}/bundle",
            "GET /viewer/data/difference",
        ],
    ),
    (
        &[Scope::Admin],
        &[
            "POST /debate.v1.AuditService/RedactDebate",
            "POST /debate.v1.PolicyService/GetPolicyInsights",
            "POST /debate.v1.PolicyService/ProposePrompt",
            "POST /debate.v1.PolicyService/GetProposal",
            "POST /debate.v1.PolicyService/AcceptPrompt",
            "GET /api/v1/reasoning/policy/insights",
            "POST /api/v1/reasoning/policy/proposals",
            "GET /api/v1/reasoning/policy/proposals",
            "POST /api/v1/reasoning/policy/acceptances",
        ],
    ),
    (
        &Scope::ALL,
        &[
            "POST /grpc.health.v1.Health/Check",
            "POST /grpc.health.v1.Health/Watch",
            "POST /grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
            "POST /grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
            "GET /healthz",
            "GET /readyz",
            "POST /mcp",
            "GET /api/v1/openapi.json",
        ],
    ),
];

#[tokio::test]
async fn every_row_of_the_table_is_open_to_the_scopes_written_down_for_it_and_to_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.json");
    let tokens = Scope::ALL.map(|scope| {
        let scopes = BTreeSet::from([scope]);
        let wishes = TokenWishes { name: format!("{scope}"), scopes, ..TokenWishes::default() };
        let token = TokenFile::change(&file, |file| file.create(wishes, Timestamp(0))).unwrap();
        (scope, token)
    });
    let auth = AuthLayer { token_store: Arc::new(TokenStore::new(None, Some(&file)).unwrap()), ..auth(None) };
    let mut asked = BTreeSet::new();
    for (scopes, row) in OPEN_TO.iter().flat_map(|(scopes, rows)| rows.iter().map(move |row| (*scopes, *row)))
    {
        let (method, place) = row.split_once(' ').unwrap();
        asked.insert((method, place));
        for (scope, token) in &tokens {
            let request = Request::builder().uri(place).method(method);
            let request = request.header(CONTENT_TYPE, "application/grpc");
            let request =
                request.header(AUTHORIZATION, format!("Bearer {token}")).body(Body::empty()).unwrap();
            let passed = auth.pass(request).map(|_| ());
            let expected = if scopes.contains(scope) { "passes" } else { "is forbidden" };
            let found = match passed {
                Ok(()) => "passes",
                Err(Refusal::Forbidden { .. }) => "is forbidden",
                Err(_) => "is refused otherwise",
            };
            assert_eq!(found, expected, "{row} with {scope}");
        }
    }
    let table: BTreeSet<_> = TABLE.iter().map(|(method, place, _)| (*method, *place)).collect();
    assert_eq!(asked, table, "every row is written down");
}

#[tokio::test(start_paused = true)]
async fn the_silent_stream_of_a_revoked_token_ends_with_the_next_sign_of_life() {
    use axum::body::HttpBody as _;
    use std::pin::Pin;

    let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
    let engine = Engine::builder(Arc::new(MemoryStore::new()), model).format(PredictionPrompts).build();
    let request = accept::accept(include_str!("../../../../examples/ice.json")).unwrap();
    let AcceptedRequest::Prediction(accepted) = request else { panic!("the example is a prediction") };
    let Accepted { config, brief, limits, digest, .. } = *accepted;
    let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
    let start =
        Start::<Prediction> { config, brief, limits, request_digest: digest, request_id: None, author };
    let debate = engine.start(start).await.unwrap().debate;
    let watched = engine.watch(debate, Seq::START, false).await.unwrap();
    let body = Body::from_stream(watched.map(|item| item.map(|_| "an event or a heartbeat")));
    let grant = Arc::new(Grant::everything());
    let mut body = Outbound::new(Held::new(body, true), Protocol::Grpc, Arc::clone(&grant), None);
    let mut next = async |patience: u64| {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        tokio::time::timeout(Duration::from_secs(patience), frame).await
    };
    // Until the calls hang and nothing more comes.
    while next(1).await.is_ok() {}
    grant.revoke();
    let revoked = tokio::time::Instant::now();
    loop {
        let frame =
            next(60).await.expect("a sign of life comes").expect("the stream says that it ends").unwrap();
        if let Ok(trailers) = frame.into_trailers() {
            assert_eq!(Status::from_header_map(&trailers).unwrap().code(), Code::Unauthenticated);
            break;
        }
    }
    assert!(revoked.elapsed() <= Duration::from_secs(15), "{:?}", revoked.elapsed());
}

#[tokio::test]
async fn a_panic_in_a_handler_is_an_answer_without_its_message_and_an_error_in_the_log() {
    async fn panics() -> &'static str {
        panic!("on purpose")
    }
    let (hearing, _listening) = Hearing::begin();
    let app = Router::new().route("/healthz", get(panics));
    let mut app = app.layer(from_fn_with_state(auth(None), guard));
    for (content_type, status) in [("application/json", 500), ("application/grpc", 200)] {
        let request = Request::builder().uri("/healthz").header(CONTENT_TYPE, content_type);
        let answer = app.call(request.body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(answer.status(), StatusCode::from_u16(status).unwrap());
        if status == 200 {
            assert_eq!(Status::from_header_map(answer.headers()).unwrap().code(), Code::Internal);
        }
        let headers = format!("{:?}", answer.headers());
        let body = to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        if status == 500 {
            let problem: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert_eq!(problem["reason"], "INTERNAL");
        }
        let output = format!("{headers} {}", String::from_utf8_lossy(&body));
        assert!(!output.contains("purpose"), "{output}");
    }
    assert_eq!(hearing.logged("ERROR", "a handler panicked").len(), 2);
}

#[tokio::test]
async fn a_stream_that_panics_or_loses_its_grant_ends_with_a_status() {
    use axum::body::HttpBody as _;
    use std::pin::Pin;

    let (hearing, _listening) = Hearing::begin();
    let unread = Unread::new(Duration::from_secs(30));
    let mut panics = 0;
    for (protocol, is_panicking, code, reason) in [
        (Protocol::Grpc, true, Code::Internal, "INTERNAL"),
        (Protocol::Grpc, false, Code::Unauthenticated, "TOKEN_NEEDED"),
        (Protocol::Rest, true, Code::Internal, "INTERNAL"),
        (Protocol::Rest, false, Code::Unauthenticated, "TOKEN_NEEDED"),
    ] {
        let items = futures::stream::once(async move {
            assert!(!is_panicking, "on purpose");
            futures::future::pending::<()>().await;
        });
        let items = items.map(|(): ()| Ok::<_, std::io::Error>("never"));
        let grant = Arc::new(Grant::everything());
        let body =
            Outbound::new(Held::new(Body::from_stream(items), true), protocol, Arc::clone(&grant), None);
        let reached = Reached::in_debate("7", Seq(3));
        let mut body = body.watched_over(Some(reached), &unread);
        if !is_panicking {
            grant.revoke();
        }
        let mut next = async || std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
        let last = next().await.unwrap().unwrap();
        assert!(next().await.is_none(), "{protocol:?} {reason} is the end");
        if protocol == Protocol::Grpc {
            let trailers = last.into_trailers().unwrap();
            assert_eq!(Status::from_header_map(&trailers).unwrap().code(), code);
            assert!(!format!("{trailers:?}").contains("purpose"), "{trailers:?}");
        } else {
            let event = String::from_utf8(last.into_data().unwrap().to_vec()).unwrap();
            let problem = event.strip_prefix("event: problem\ndata: ").unwrap_or_else(|| panic!("{event}"));
            let problem: serde_json::Value = serde_json::from_str(problem).unwrap();
            assert_eq!(problem["reason"], reason);
            assert!(event.ends_with("\n\n") && !event.contains("purpose"), "{event}");
        }
        panics += usize::from(is_panicking);
        assert_eq!(hearing.logged("ERROR", "a handler panicked").len(), panics, "{protocol:?}");
    }
}

#[tokio::test]
async fn an_answer_over_http_that_panics_or_loses_its_grant_breaks_off() {
    for is_panicking in [true, false] {
        let items = futures::stream::once(async move {
            assert!(!is_panicking, "on purpose");
            futures::future::pending::<()>().await;
        });
        let items = items.map(|(): ()| Ok::<_, std::io::Error>("never"));
        let grant = Arc::new(Grant::everything());
        let held = Held::new(Body::from_stream(items), false);
        let body = Outbound::new(held, Protocol::Rest, Arc::clone(&grant), None);
        let body = body.watched_over(None, &Unread::new(Duration::from_secs(30)));
        if !is_panicking {
            grant.revoke();
        }
        let broken = to_bytes(Body::new(body), usize::MAX).await.expect_err("it does not look whole");
        assert!(!format!("{broken:?}").contains("purpose"), "{broken:?}");
    }
}

#[test]
fn without_tokens_pages_of_other_sites_are_refused() {
    let asks = |host: &str, origin: Option<&str>| {
        let named = [(HOST, Some(host)), (ORIGIN, origin)].into_iter();
        let headers: HeaderMap =
            named.filter_map(|(name, text)| Some((name, text?.parse().unwrap()))).collect();
        is_of_another_site(&headers, &Uri::from_static("/x"))
    };
    let here = ["127.0.0.1:50051", "localhost:50051", "[::1]:50051", "app.localhost"];
    let names = " evil.example:50051 evillocalhost localhost.evil.example app.localhost.evil.example";
    let addresses = "127.0.0.1.evil.example:50051 203.0.113.7:50051 [2001:db8::1]:8080 0.0.0.0:50051 [::]:50051 \
                     10.0.0.5:50051 192.168.0.1 169.254.1.1";
    let elsewhere = names.split(' ').chain(addresses.split(' ')).map(|place| (place, true));
    for (place, is_other) in here.map(|place| (place, false)).into_iter().chain(elsewhere) {
        let origin = format!("http://{place}");
        let local = Some("http://localhost:8080");
        let asked = [asks(place, None), asks(here[0], Some(&origin)), asks(place, local)];
        assert_eq!(asked, [is_other; 3], "{place}");
    }
    assert!(asks(here[0], Some("null")));
    assert!(!is_of_another_site(&HeaderMap::new(), &Uri::from_static("/x")));
    assert!(is_of_another_site(&HeaderMap::new(), &Uri::from_static("http://evil.example/x")));
    for name in [HOST, ORIGIN] {
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_bytes(b"\xe9vil.example").unwrap())]);
        assert!(is_of_another_site(&headers, &Uri::from_static("/x")), "{headers:?}");
    }
    for (site, dest, origin, is_other) in [
        ("cross-site", "image", None, true),
        ("cross-site", "iframe", None, true),
        ("cross-site", "empty", None, true),
        ("cross-site", "", None, true),
        ("cross-site", "document", None, false),
        ("cross-site", "empty", Some("http://app.localhost"), false),
        ("same-origin", "empty", None, false),
        ("none", "document", None, false),
    ] {
        let mut headers = HeaderMap::new();
        let dest = Some(dest).filter(|dest| !dest.is_empty());
        for (name, value) in [(SEC_FETCH_SITE, Some(site)), (SEC_FETCH_DEST, dest), (ORIGIN, origin)] {
            headers.extend(value.map(|value| (name, value.parse().unwrap())));
        }
        let is_found = is_of_another_site(&headers, &Uri::from_static("/x"));
        assert_eq!(is_found, is_other, "{site} {dest:?} {origin:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_comes_without_tokens_or_with_the_servers_own_is_counted_at_the_door() {
    for token in [None, Some("secret")] {
        let auth = auth(token);
        let ask = || {
            let mut request = Request::get("/api/v1/debates");
            if let Some(token) = token {
                request = request.header(AUTHORIZATION, format!("Bearer {token}"));
            }
            auth.pass(request.body(Body::empty()).unwrap())
        };
        let passed: Vec<_> = (0..10_000).map(|_| ask().unwrap()).collect();
        let wait = Duration::from_millis(1);
        assert_eq!(ask().map(drop), Err(Refusal::TooFast { wait }), "{token:?}");
        tokio::time::advance(wait).await;
        assert_eq!(ask().map(drop), Err(Refusal::TooManyAtOnce), "{token:?}");
        drop(passed);
        tokio::time::advance(wait).await;
        assert!(ask().is_ok(), "{token:?}");
    }
}

#[test]
fn only_loopback_is_private_and_elsewhere_a_server_without_tls_is_warned_of() {
    for (address, private) in [
        ("127.0.0.1:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("0.0.0.0:1", false),
        ("[::]:1", false),
        ("10.0.0.1:1", false),
    ] {
        let address = address.parse().unwrap();
        assert_eq!(is_private(address), private, "{address}");
        assert_eq!(is_overheard(address, false), !private, "{address} is warned of");
        assert!(!is_overheard(address, true), "{address} has TLS");
    }
}

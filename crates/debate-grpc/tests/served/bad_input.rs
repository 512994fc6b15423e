//! What cannot be served, as tables over both protocols: each row has its answer, records nothing, and the next is served.

use std::collections::BTreeSet;
use std::future::poll_fn;

use bytes::Bytes;
use debate_core::id::Timestamp;
use debate_grpc::tokens::{Scope, TokenWishes};
use debate_grpc::{Origin, ServeOptions};
use debate_proto::v1;
use debate_proto::v1::audit_service_client::AuditServiceClient;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use h2::client::SendRequest;
use http::HeaderMap;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::house::{House, PATIENCE, request};
use crate::tokens::{Guarded, start, started, wishes};

const GET: &str = "/debate.v1.DebateService/GetDebate";

async fn connected(house: &House) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(house.address).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(async move { drop(connection.await) });
    client
}

/// Sends bytes to a method; returns the status over HTTP, and over gRPC where there is one.
async fn call(
    client: &mut SendRequest<Bytes>,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (u16, Option<Status>) {
    let mut request = http::Request::post(format!("http://localhost{path}")).header("te", "trailers");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (response, mut sending) = client.send_request(request.body(()).unwrap(), false).unwrap();
    sending.send_data(Bytes::copy_from_slice(body), true).unwrap();
    let response = tokio::time::timeout(PATIENCE, response).await.expect("an answer").unwrap();
    let (status, mut metadata) = (response.status().as_u16(), response.headers().clone());
    let mut rest = response.into_body();
    while let Some(_data) = poll_fn(|context| rest.poll_data(context)).await {}
    metadata.extend(rest.trailers().await.unwrap().unwrap_or_else(HeaderMap::new));
    (status, Status::from_header_map(&metadata))
}

#[tokio::test]
async fn k12_messages_that_are_none_are_the_callers_fault_and_the_connection_goes_on() {
    let house = House::open().await;
    let mut client = connected(&house).await;
    let proto = ("content-type", "application/grpc");
    let long_id = [&[0, 0, 0, 3, 235, 0x0a, 0xe8, 0x07][..], &[b'x'; 1_000]].concat();
    for (what, headers, body, code) in [
        ("no field", &[proto][..], &[0, 0, 0, 0, 2, 0xff, 0xff][..], Code::InvalidArgument),
        ("no UTF-8", &[proto], &[0, 0, 0, 0, 3, 0x0a, 1, 0xff], Code::InvalidArgument),
        ("a field of another type", &[proto], &[0, 0, 0, 0, 2, 0x08, 1], Code::InvalidArgument),
        ("more claimed within than there is", &[proto], &[0, 0, 0, 0, 2, 0x0a, 99], Code::InvalidArgument),
        ("no message", &[proto], &[], Code::InvalidArgument),
        ("half a prefix", &[proto], &[0, 0, 0], Code::InvalidArgument),
        ("half a message", &[proto], &[0, 0, 0, 0, 9, 0x0a], Code::InvalidArgument),
        ("an unknown flag", &[proto], &[7, 0, 0, 0, 0], Code::InvalidArgument),
        ("compressed, and it is not said how", &[proto], &[1, 0, 0, 0, 0], Code::InvalidArgument),
        (
            "compressed in an unknown way",
            &[proto, ("grpc-encoding", "zstd-9")],
            &[1, 0, 0, 0, 0],
            Code::Unimplemented,
        ),
        ("longer than any", &[proto], &[0, 0xff, 0xff, 0xff, 0xff], Code::OutOfRange),
        ("an unknown id", &[proto], &long_id, Code::NotFound),
        ("no time at all", &[proto, ("grpc-timeout", "0n")], &[0, 0, 0, 0, 0], Code::DeadlineExceeded),
        (
            "a time of no unit is no time",
            &[proto, ("grpc-timeout", "soon")],
            &[0, 0, 0, 0, 0],
            Code::NotFound,
        ),
    ] {
        let (http, grpc_status) = call(&mut client, GET, headers, body).await;
        let grpc_status = grpc_status.unwrap_or_else(|| panic!("{what}: {http}"));
        assert_eq!((http, grpc_status.code()), (200, code), "{what}: {grpc_status:?}");
        if code == Code::InvalidArgument {
            let reason = grpc_status.get_error_details().error_info().map(|info| info.reason.clone());
            assert_eq!(reason.as_deref(), Some("REQUEST_UNDECODABLE"), "{what}");
        }
    }
    for (path, content_type, status, code) in [
        (GET, "application/json", 415, None),
        (GET, "text/html", 415, None),
        ("/debate.v1.DebateService/Nothing", "application/grpc", 200, Some(Code::Unimplemented)),
        ("/debate.v2.DebateService/GetDebate", "application/grpc", 200, Some(Code::Unimplemented)),
        ("/", "application/grpc", 200, Some(Code::Unimplemented)),
    ] {
        let headers = [("content-type", content_type)];
        let (http, grpc_status) = call(&mut client, path, &headers, &[0, 0, 0, 0, 0]).await;
        assert_eq!((http, grpc_status.map(|status| status.code())), (status, code), "{path} {content_type}");
    }
    assert_eq!(call(&mut client, GET, &[], &[0, 0, 0, 0, 0]).await.0, 415, "who says nothing of it");
    let mut client = DebateServiceClient::new(house.channel().await);
    assert!(
        client.list_debates(v1::ListDebatesRequest::default()).await.unwrap().into_inner().debates.is_empty()
    );
}

#[tokio::test]
async fn k12_words_of_a_client_that_a_library_tells_back_are_cut_like_all_words_of_a_status() {
    use prost::Message as _;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    let house = House::quiet().await;
    let mut client = connected(&house).await;
    let (proto, long) = (("content-type", "application/grpc"), "é".repeat(100_000));
    for (version, asked) in [
        ("v1", MessageRequest::FileContainingSymbol(long.clone())),
        ("v1alpha", MessageRequest::FileByFilename(long)),
    ] {
        let asked = ServerReflectionRequest { host: String::new(), message_request: Some(asked) };
        let length = u32::try_from(asked.encoded_len()).unwrap().to_be_bytes();
        let body = [&[0][..], &length, &asked.encode_to_vec()].concat();
        let path = format!("/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        let grpc_status = call(&mut client, &path, &[proto], &body).await.1.unwrap();
        assert_eq!(grpc_status.code(), Code::NotFound);
        assert!(
            (400..=510).contains(&grpc_status.message().len()) && grpc_status.message().ends_with("é…"),
            "{grpc_status:?}"
        );
    }
    let encoding = "z".repeat(10_000);
    for path in ["/grpc.health.v1.Health/Check", GET] {
        let headers = [proto, ("grpc-encoding", &*encoding)];
        let grpc_status = call(&mut client, path, &headers, &[1, 0, 0, 0, 0]).await.1.unwrap();
        assert_eq!(grpc_status.code(), Code::Unimplemented, "{path}");
        assert!((400..=510).contains(&grpc_status.message().len()), "{path}: {grpc_status:?}");
    }
}

#[tokio::test]
async fn k10_places_that_no_stream_has_reached_are_refused_over_both_protocols() {
    let house = House::open().await;
    let mut client = DebateServiceClient::new(house.channel().await);
    let mut audits = AuditServiceClient::new(house.channel().await);
    let id = client.start_debate(start("")).await.unwrap().into_inner().debate.unwrap().id;
    assert!(house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    let head = house.engine.log(id.parse().unwrap(), None).await.unwrap().len() as u64;
    for after_seq in [head + 1, u64::MAX] {
        let watch = v1::WatchDebateRequest { debate_id: id.clone(), after_seq, ..Default::default() };
        assert_eq!(client.watch_debate(watch).await.unwrap_err().code(), Code::OutOfRange, "{after_seq}");
        let read = v1::ReadLogRequest { debate_id: id.clone(), after_seq, ..Default::default() };
        assert_eq!(audits.read_log(read).await.unwrap_err().code(), Code::OutOfRange, "{after_seq}");
        let path = format!("/api/v1/debates/{id}/events");
        assert_eq!(house.get(&format!("{path}?after={after_seq}")).await.status, 416);
        let stream = [("Accept", "text/event-stream"), ("Last-Event-ID", &*after_seq.to_string())];
        assert_eq!(house.ask("GET", &path, &stream, b"").await.status, 416);
    }
    let forged = format!("{:016x}{:016x}", u64::MAX, 0);
    for cursor in ["x", "00", &forged, &"9".repeat(10_000)] {
        let watch = v1::WatchDebatesRequest { cursor: cursor.to_owned(), ..Default::default() };
        assert_eq!(client.watch_debates(watch).await.unwrap_err().code(), Code::InvalidArgument);
        let page = house.get(&format!("/api/v1/debates?page_token={cursor}")).await;
        assert_eq!(page.status, 422);
    }
}

#[tokio::test]
async fn k12_requests_over_http_that_are_none_have_an_answer_and_the_next_is_served() {
    let house = House::open().await;
    let body = request().to_string();
    for (what, method, path, headers, status) in [
        ("a key of no text", "POST", "/api/v1/debates", &[("Idempotency-Key", "\u{e9}")][..], 422),
        ("a key too long", "POST", "/api/v1/debates", &[("Idempotency-Key", &*"k".repeat(200))], 422),
        ("a form", "POST", "/api/v1/debates", &[("Content-Type", "application/x-www-form-urlencoded")], 415),
        ("an id of no text", "GET", "/api/v1/debates/%ff", &[], 404),
        ("an id that climbs", "GET", "/api/v1/debates/..%2f..%2fetc%2fpasswd", &[], 404),
        ("a number that is none", "GET", "/api/v1/debates?page_size=-1", &[], 422),
        ("a number beyond numbers", "GET", "/api/v1/debates?page_size=99999999999999999999", &[], 422),
        ("a state of none", "GET", "/api/v1/debates?state=99", &[], 422),
        ("no time at all", "GET", "/api/v1/debates", &[("Grpc-Timeout", "0n")], 504),
        ("another method", "DELETE", "/api/v1/debates", &[], 405),
        ("another place", "GET", "/api/v2/debates", &[], 404),
    ] {
        let answer =
            house.ask(method, path, headers, if method == "POST" { body.as_bytes() } else { b"" }).await;
        assert_eq!(answer.status, status, "{what}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{what}");
    }
    for (what, sent, answer) in [
        (
            "half a body, and no more comes",
            "POST /api/v1/debates HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
            "HTTP/1.1 400",
        ),
        (
            "a body of broken chunks",
            "POST /api/v1/debates HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            "HTTP/1.1 4",
        ),
        (
            "two different lengths",
            "POST /api/v1/debates HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
            "HTTP/1.1 4",
        ),
        (
            "a whole request, and no more comes",
            "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "HTTP/1.1 200",
        ),
    ] {
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        stream.write_all(sent.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut received = String::new();
        let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut received)).await;
        read.expect("the server ends the connection").unwrap();
        assert!(
            received.is_empty() && !sent.starts_with("GET") || received.starts_with(answer),
            "{what}: {received}"
        );
    }
    assert_eq!(house.engine.store().list(Default::default()).await.unwrap(), []);
    assert_eq!(house.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn missing_wrong_and_revoked_tokens_open_nothing_over_either_protocol() {
    let guarded = Guarded::open().await;
    let good = guarded.token(wishes("good", &[Scope::Admin]));
    let revoked = guarded.token(wishes("gone", &[Scope::Admin]));
    guarded.revoke("gone");
    let expired =
        guarded.token(TokenWishes { expires_at: Some(Timestamp(1)), ..wishes("late", &[Scope::Admin]) });
    let id = started(&mut guarded.debates(&good).await, "").await;
    let mut client = connected(&guarded.house).await;
    let path = format!("/api/v1/debates/{id}");
    let mut changed = good.clone();
    let last = if changed.pop() == Some('A') { 'B' } else { 'A' };
    changed.push(last);
    let wrong = [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        &good,
        &format!("Bearer {changed}"),
        &format!("Bearer {revoked}"),
        &format!("Bearer {expired}"),
        &format!("Bearer {good} {good}"),
        &format!("Bearer {}", "x".repeat(8_000)),
    ];
    let (mut messages, mut answers) = (BTreeSet::new(), BTreeSet::new());
    for token in wrong {
        let headers = [("content-type", "application/grpc"), ("authorization", token)];
        let (http, status) = call(&mut client, GET, &headers, &[0, 0, 0, 0, 0]).await;
        let status = status.unwrap();
        assert_eq!(status.code(), Code::Unauthenticated, "{token}");
        messages.insert(status.message().to_owned());
        let mut metadata = status.metadata().clone().into_headers();
        metadata.remove("date");
        answers.insert(format!("{http} {:?} {metadata:?}", status.details()));
        let mut refused = guarded.house.ask("GET", &path, &[("Authorization", token)], b"").await;
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")), "{token}");
        messages.insert(refused.json()["detail"].as_str().unwrap().to_owned());
        refused.headers.retain(|(name, _)| name != "date");
        answers.insert(format!("{refused:?}"));
    }
    assert_eq!(messages.len(), 1, "no answer says what was wrong with a token: {messages:?}");
    assert_eq!(answers.len(), 2, "each protocol has one whole answer: {answers:?}");
    let bearer = format!("bearer {good}");
    assert_eq!(guarded.house.ask("GET", &path, &[("Authorization", &bearer)], b"").await.status, 200);
}

#[tokio::test]
async fn pages_of_other_sites_are_served_where_they_are_named_and_with_a_token_alone() {
    let (ours, theirs) = ("https://app.example", "https://app.example.evil.example");
    let ask = [
        ("Access-Control-Request-Method", "POST"),
        ("Access-Control-Request-Headers", "authorization,x-grpc-web"),
    ];
    let allowed =
        |answer: &crate::house::Answer| answer.header("access-control-allow-origin").map(str::to_owned);
    let cors_origins: Vec<Origin> = vec![ours.parse().unwrap()];
    for (cors_origins, origin, is_allowed) in
        [(Vec::new(), ours, false), (cors_origins.clone(), ours, true), (cors_origins, theirs, false)]
    {
        let guarded = Guarded::with(ServeOptions { cors_origins, ..ServeOptions::default() }).await;
        let token = guarded.token(wishes("page", &[Scope::Read]));
        let (house, named) = (&guarded.house, is_allowed.then_some(origin));
        let origin_header = ("Origin", origin);
        let preflight = house.ask("OPTIONS", GET, &[origin_header, ask[0], ask[1]], b"").await;
        assert_eq!(allowed(&preflight).as_deref(), named, "{preflight:?}");
        let bearer = format!("Bearer {token}");
        let listed =
            house.ask("GET", "/api/v1/debates", &[origin_header, ("Authorization", &bearer)], b"").await;
        assert_eq!((listed.status, allowed(&listed).as_deref()), (200, named));
        assert_eq!(house.ask("GET", "/api/v1/debates", &[origin_header], b"").await.status, 401);
        let web =
            [origin_header, ("Authorization", &*bearer), ("Content-Type", "application/grpc-web+proto")];
        let called = house.ask("POST", "/debate.v1.DebateService/ListDebates", &web, &[0, 0, 0, 0, 0]).await;
        assert_eq!(allowed(&called).as_deref(), named, "{called:?}");
        assert_eq!(called.header("access-control-allow-credentials"), None);
    }
}

#[tokio::test]
async fn without_tokens_pages_of_other_sites_are_refused_though_they_are_named() {
    let (named, here) = ("https://app.example", "http://localhost:3000");
    let cors_origins: Vec<Origin> = [named, here].map(|origin| origin.parse().unwrap()).into();
    let house = House::with(ServeOptions { cors_origins, ..ServeOptions::default() }, "simulated:7").await;
    let web = ("Content-Type", "application/grpc-web+proto");
    for (origin, status) in
        [(named, 403), ("https://evil.example", 403), (here, 200), ("http://localhost:8080", 200)]
    {
        let origin = ("Origin", origin);
        let listed = house.ask("GET", "/api/v1/debates", &[origin], b"").await;
        assert_eq!(listed.status, status, "{listed:?}");
        let called =
            house.ask("POST", "/debate.v1.DebateService/ListDebates", &[origin, web], &[0, 0, 0, 0, 0]).await;
        let is_refused = called.header("grpc-status") == Some("7");
        assert_eq!(is_refused, status == 403, "{called:?}");
    }
}

#[tokio::test]
async fn k12_what_asks_of_the_policy_is_json_within_bounds_like_everything_else() {
    let house = House::open().await;
    let long = vec![b' '; 1024 * 1024 + 1];
    for path in ["proposals", "acceptances"].map(|rest| format!("/api/v1/reasoning/policy/{rest}")) {
        for (what, content_type, body, status) in [
            ("what a page may send unasked", "text/plain", &br#"{"role": "security"}"#[..], 415),
            ("a form", "application/x-www-form-urlencoded", b"role=security", 415),
            ("no JSON", "application/json", b"{", 422),
            ("no UTF-8", "application/json", b"{\"role\": \"\xff\"}", 422),
            ("deep nesting", "application/json", &b"[".repeat(100_000), 422),
            ("an unknown field", "application/json", br#"{"role": "security", "x": 1}"#, 422),
            ("more than any request has", "application/json", &long, 413),
        ] {
            let answer = house.ask("POST", &path, &[("Content-Type", content_type)], body).await;
            assert_eq!(answer.status, status, "{path}, {what}: {answer:?}");
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path}, {what}");
        }
    }
    let long = "w".repeat(10_000);
    for query in
        [format!("insights?{long}=1"), format!("proposals?{long}=1"), format!("insights?days={long}")]
    {
        let refused = house.get(&format!("/api/v1/reasoning/policy/{query}")).await;
        let error = &refused.json()["errors"][0];
        let [field, reason] = ["field", "reason"].map(|name| error[name].as_str().unwrap().len());
        assert!(refused.status == 422 && field <= 510 && reason <= 2_010, "{field} and {reason} bytes");
    }
}

#[tokio::test]
async fn k12_what_is_compressed_is_never_unpacked_over_either_protocol() {
    let house = House::open().await;
    let mut client = connected(&house).await;
    let methods = [GET, "/debate.v1.AuditService/ReadLog", "/debate.v1.PolicyService/GetProposal"];
    let table = br#"{"format":"deliberation","topic":"Tabs?","mode":"weak","participants":["ada","ben"],"orchestrator":"mod"}"#;
    let prediction = request().to_string();
    let nowhere = "/api/v1/debates/00000000-0000-4000-8000-000000000000";
    let [resolution, more] = ["resolution", "continue"].map(|rest| format!("{nowhere}/{rest}"));
    let routes = [
        ("/api/v1/debates", &table[..], 201),
        ("/api/v1/reasoning/debate", prediction.as_bytes(), 200),
        (&resolution, br#"{"outcome_id":"yes"}"#, 404),
        (&more, br#"{"rounds":1}"#, 404),
        ("/api/v1/reasoning/policy/proposals", br#"{"role":"security"}"#, 409),
        ("/api/v1/reasoning/policy/acceptances", br#"{"role":"security"}"#, 404),
    ];
    for encoding in ["gzip", "deflate", "zstd"] {
        for method in methods {
            let headers = [("content-type", "application/grpc"), ("grpc-encoding", encoding)];
            let (_, grpc_status) = call(&mut client, method, &headers, &[1, 0, 0, 0, 2, 0x1f, 0x8b]).await;
            assert_eq!(grpc_status.unwrap().code(), Code::Unimplemented, "{encoding} {method}");
        }
        for (path, ..) in routes {
            let answer = house.ask("POST", path, &[("Content-Encoding", encoding)], b"\x1f\x8b\x08").await;
            assert_eq!(answer.status, 422, "{encoding} {path}: {answer:?}");
        }
    }
    for (path, body, status) in routes {
        let answer = house.ask("POST", path, &[], body).await;
        assert_eq!(answer.status, status, "{path}: {answer:?}");
        let answer = house.ask("POST", path, &[("Content-Encoding", "gzip")], &packed(body)).await;
        assert_eq!(answer.status, 422, "{path}: {answer:?}");
    }
}

/// Packs bytes as one block that gzip only stores.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let shifted = |crc: u32| (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
    let crc_32 =
        !bytes.iter().fold(!0, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |crc, _| shifted(crc)));
    let length = u16::try_from(bytes.len()).unwrap();
    let head = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01";
    let (length, inverse, whole) =
        (length.to_le_bytes(), (!length).to_le_bytes(), u32::from(length).to_le_bytes());
    [&head[..], &length, &inverse, bytes, &crc_32.to_le_bytes(), &whole].concat()
}

#[tokio::test]
async fn a_name_that_leads_here_from_elsewhere_opens_no_interface() {
    let house = House::open().await;
    let grpc_web = ("Content-Type", "application/grpc-web+proto");
    let mut answers = Vec::new();
    for host in ["localhost".to_owned(), "evil.example".to_owned()] {
        let mut client = connected(&house).await;
        let request = http::Request::get(format!("http://{host}/api/v1/debates")).body(()).unwrap();
        let (response, _) = client.send_request(request, true).unwrap();
        let rest = response.await.unwrap().status().as_u16();
        let origin = ("Origin", &*format!("http://{host}"));
        let list = "/debate.v1.DebateService/ListDebates";
        let web = house.ask("POST", list, &[grpc_web, origin], &[0, 0, 0, 0, 0]).await;
        let is_ok = web.header("grpc-status").unwrap_or("0") == "0" && web.body.contains("grpc-status:0");
        let openapi = house.ask("GET", "/api/v1/openapi.json", &[origin], b"").await.status;
        answers.push((rest, is_ok, openapi));
    }
    assert_eq!(answers, [(200, true, 200), (403, false, 403)]);
}

#[tokio::test]
async fn f3_messages_with_more_entries_than_their_bytes_are_worth_are_refused() {
    let house = House::open().await;
    let mut client = connected(&house).await;
    for bytes in [64 * 1024, 1024 * 1024] {
        let context = v1::PredictionContext {
            outcomes: vec![v1::Outcome::default(); bytes / 2],
            ..v1::PredictionContext::default()
        };
        let request = v1::DebateRequest { prediction_context: Some(context), ..Default::default() };
        let format = v1::start_debate_request::Format::Prediction(request);
        let request = v1::StartDebateRequest { format: Some(format), ..Default::default() };
        let mut debates = DebateServiceClient::new(house.channel().await);
        let refused = debates.start_debate(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
        assert!(refused.message().contains("too many entries"), "{refused:?}");
        let json =
            format!(r#"{{"prediction_context":{{"outcomes":[{}{{}}]}}}}"#, "{},".repeat(bytes / 3 - 30));
        let headers = [("content-type", "application/json")];
        let (status, _) = call(&mut client, "/api/v1/debates", &headers, json.as_bytes()).await;
        assert_eq!(status, 422);
    }
}

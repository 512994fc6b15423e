//! What strangers do to connections: silence, floods, halves. None of it needs a token, so none of it may cost much.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use debate_grpc::{Connections, ServeOptions};
use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use futures::FutureExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt as _;

use crate::house::{House, PATIENCE};

/// Waits less than a client ever needs, and long enough that one that does its part gets through.
const SHORT: Duration = Duration::from_millis(300);

/// The shortest default timeout of a connection. A timeout that a test sets ends earlier.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

async fn impatient() -> House {
    let connections =
        Connections { first_request: SHORT, headers: SHORT, body: SHORT, ..Connections::default() };
    House::with(ServeOptions { connections, ..ServeOptions::default() }, "simulated:7").await
}

/// Sends bytes, and returns what comes until the server ends the connection.
async fn send(house: &House, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    // A server that has read enough may have ended already.
    let _unread = stream.write_all(bytes).await;
    let mut received = Vec::new();
    let read = tokio::time::timeout(DEFAULT_TIMEOUT, stream.read_to_end(&mut received)).await;
    let _reset = read.expect("the server ends the connection");
    String::from_utf8_lossy(&received).into_owned()
}

#[tokio::test]
async fn connections_that_bring_no_request_are_ended() {
    let endless = 2 * PATIENCE;
    let (first_request, headers, body) = (endless, endless, endless);
    let patient = Connections { first_request, headers, body, ..Connections::default() };
    let of_first = Connections { first_request: SHORT, ..patient };
    let of_headers = Connections { headers: SHORT, ..patient };
    let of_body = Connections { body: SHORT, ..patient };
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = [&preface[..], &[0, 0, 0, 4, 0, 0, 0, 0, 0]].concat();
    for (what, connections, bytes, answer) in [
        ("nothing", of_first, &b""[..], ""),
        ("half a line", of_first, b"GET /hea", ""),
        ("half a line", of_headers, b"GET /hea", ""),
        ("half of its headers", of_first, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ", ""),
        ("half of its headers", of_headers, b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ", ""),
        ("half a preface", of_first, &preface[..10], ""),
        ("a preface and no request", of_first, &settings, ""),
        ("noise", patient, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400"),
        (
            "a body that never ends",
            of_body,
            b"POST /api/v1/reasoning/debate HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{",
            "408",
        ),
    ] {
        let house = House::with(ServeOptions { connections, ..ServeOptions::default() }, "simulated:7").await;
        let received = send(&house, bytes).await;
        assert!(received.contains(answer), "{what}: {received}");
        assert_eq!(house.get("/healthz").await.status, 200, "{what}");
    }
}

#[tokio::test]
async fn connections_that_are_idle_after_a_request_are_ended() {
    // Waiting for the headers of a next request is not what ends them.
    let connections = Connections { idle: SHORT, headers: 2 * PATIENCE, ..Connections::default() };
    let house = House::with(ServeOptions { connections, ..ServeOptions::default() }, "simulated:7").await;
    let received = send(&house, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(received.starts_with("HTTP/1.1 200"), "{received}");

    let stream = TcpStream::connect(house.address).await.unwrap();
    let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
    let talking = tokio::spawn(connection);
    let request = http::Request::get("http://localhost/healthz").body(()).unwrap();
    let (response, _) = client.send_request(request, true).unwrap();
    assert_eq!(response.await.unwrap().status(), 200);
    let ended = tokio::time::timeout(DEFAULT_TIMEOUT, talking).await;
    ended.expect("the server ends the connection").unwrap().unwrap();
}

#[tokio::test]
async fn headers_that_stay_halves_end_a_connection_that_has_brought_a_request_too() {
    let connections = Connections { headers: SHORT, ..Connections::default() };
    let house = House::with(ServeOptions { connections, ..ServeOptions::default() }, "simulated:7").await;
    let ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nX: ";
    let received = send(&house, ask).await;
    assert!(received.starts_with("HTTP/1.1 200"), "{received}");
}

#[tokio::test]
async fn header_floods_are_refused() {
    let house = House::open().await;
    let many = |count| (0..count).map(|n| format!("X-{n}: 1\r\n")).collect::<String>();
    let long = |bytes| format!("X: {}\r\n", "y".repeat(bytes));
    // Host and Connection are headers too.
    for (headers, status) in
        [(many(98), "200"), (many(99), "431"), (long(31 * 1024), "200"), (long(33 * 1024), "431")]
    {
        let request = format!("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n");
        let received = send(&house, request.as_bytes()).await;
        assert!(received.starts_with(&format!("HTTP/1.1 {status}")), "{} bytes: {received}", headers.len());
    }
    // Behind a request that was answered, too.
    for (bytes, status) in [(31 * 1024, "200"), (33 * 1024, "431"), (60 * 1024, "431")] {
        // A path counts like headers.
        for (query, header) in [(String::new(), long(bytes)), ("y".repeat(bytes), String::new())] {
            let mut stream = TcpStream::connect(house.address).await.unwrap();
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: y\r\n\r\n").await.unwrap();
            let mut received = [0; 12];
            stream.read_exact(&mut received).await.unwrap();
            assert_eq!(&received, b"HTTP/1.1 200");
            let last =
                format!("GET /healthz?{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{header}\r\n");
            stream.write_all(last.as_bytes()).await.unwrap();
            let mut received = String::new();
            stream.read_to_string(&mut received).await.unwrap();
            assert!(received.contains(&format!("HTTP/1.1 {status}")), "{bytes} bytes: {received}");
        }
    }
    for (count, bytes, status) in [(500, 1, 200), (1_000, 1, 431), (1, 31 * 1024, 200), (1, 33 * 1024, 431)] {
        let stream = TcpStream::connect(house.address).await.unwrap();
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let value = "y".repeat(bytes);
        let request = (0..count).fold(http::Request::get("http://localhost/healthz"), |request, n| {
            request.header(format!("x-{n}"), &value)
        });
        let (response, _) = client.send_request(request.body(()).unwrap(), true).unwrap();
        assert_eq!(response.await.unwrap().status(), status, "{count} headers of {bytes} bytes");
    }
    assert_eq!(house.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn a_stream_that_is_never_finished_ends_with_a_deadline() {
    let house = impatient().await;
    let stream = TcpStream::connect(house.address).await.unwrap();
    let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let asked = http::Request::post(format!("http://localhost{REFLECTION}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let (endless, _questions) = client.send_request(asked.body(()).unwrap(), false).unwrap();
    let mut endless = endless.await.unwrap().into_body();
    // The last needs no token, so it is bounded for strangers too.
    for (method, part) in [
        ("debate.v1.DebateService/GetDebate", &b""[..]),
        ("debate.v1.DebateService/GetDebate", &[0, 0, 0, 1, 0, 0x0a]),
        ("grpc.health.v1.Health/Watch", &[0, 0, 0, 1, 0, 0x0a]),
        ("grpc.health.v1.Health/Check", &[0, 0, 0, 1, 0, 0x0a]),
    ] {
        let request = http::Request::post(format!("http://localhost/{method}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers");
        let (response, mut body) = client.send_request(request.body(()).unwrap(), false).unwrap();
        body.send_data(Bytes::copy_from_slice(part), false).unwrap();
        let response = tokio::time::timeout(DEFAULT_TIMEOUT, response).await.expect("an answer").unwrap();
        let mut headers = response.headers().clone();
        let mut rest = response.into_body();
        while let Some(_data) = poll_fn(|context| rest.poll_data(context)).await {}
        if let Some(trailers) = rest.trailers().await.unwrap() {
            headers.extend(trailers);
        }
        assert_eq!(
            tonic::Status::from_header_map(&headers).unwrap().code(),
            Code::DeadlineExceeded,
            "{method}"
        );
    }
    let ended = poll_fn(|context| endless.poll_data(context)).now_or_never();
    assert!(ended.is_none(), "who asks for the services may take their time: {ended:?}");
}

/// A frame of HTTP/2: its kind, its flags, the stream and what it holds.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Whose questions may come for as long as a client likes.
const REFLECTION: &str = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
const REFUSED_STREAM: u8 = 7;
const ENHANCE_YOUR_CALM: u8 = 11;

/// GET http://localhost/healthz, as HPACK writes it.
fn health() -> Vec<u8> {
    [&[0x82, 0x86, 0x04, 8][..], b"/healthz", &[0x01, 9], b"localhost"].concat()
}

/// The headers of a message for `GetDebate`, as HPACK writes them.
fn get_debate() -> Vec<u8> {
    let path = b"/debate.v1.DebateService/GetDebate";
    let length = u8::try_from(path.len()).unwrap();
    let request = [&[0x83, 0x86, 0x04, length][..], path, &[0x01, 9], b"localhost", &[0x0f, 0x10, 16]];
    [&request.concat()[..], b"application/grpc"].concat()
}

/// Sends frames all at once, so that the server never gets to look at one before the next is there; returns the reasons for
/// which it ends the connection.
async fn flood(house: &House, frames: Vec<u8>) -> Vec<u8> {
    let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, &[])].concat();
    let (mut reading, mut writing) = TcpStream::connect(house.address).await.unwrap().into_split();
    let flooding = tokio::spawn(async move {
        writing.write_all(&preface).await.unwrap();
        // The server may end the connection before it has read everything.
        let _unread = writing.write_all(&frames).await;
        writing
    });
    let mut received = Vec::new();
    let ended = tokio::time::timeout(PATIENCE, reading.read_to_end(&mut received)).await;
    let _reset = ended.expect("the server ends the connection");
    flooding.await.unwrap();
    let mut reasons = Vec::new();
    let mut rest = &received[..];
    while let [a, b, c, kind, _, _, _, _, _, payload @ ..] = rest {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let Some((payload, after)) = payload.split_at_checked(length) else { break };
        if *kind == GO_AWAY {
            reasons.push(payload[7]);
        }
        rest = after;
    }
    reasons
}

#[tokio::test]
async fn rapid_stream_resets_end_only_their_own_connection() {
    let house = House::open().await;
    let mut other = DebateServiceClient::new(house.channel().await);
    other.list_debates(v1::ListDebatesRequest::default()).await.unwrap();
    let opened = |n: u32| (2 * n + 1, frame(HEADERS, 0x5, 2 * n + 1, &health()));
    let reset = |n| {
        let (stream, headers) = opened(n);
        [headers, frame(RESET, 0, stream, &[0, 0, 0, 8])].concat()
    };
    // More of a window than there can be: the server has to reset the stream itself.
    let made_reset = |n| {
        let (stream, headers) = opened(n);
        [headers, frame(WINDOW_UPDATE, 0, stream, &[0x7f, 0xff, 0xff, 0xff])].concat()
    };
    for (streams, is_too_many) in [(64, false), (65, true), (10_000, true)] {
        // A client that says goodbye, so that the connection ends in any case.
        let goodbye = frame(GO_AWAY, 0, 0, &[0; 8]);
        let received = flood(&house, (0..streams).flat_map(reset).chain(goodbye).collect()).await;
        assert_eq!(received.contains(&ENHANCE_YOUR_CALM), is_too_many, "{streams} streams: {received:?}");
    }
    assert_eq!(flood(&house, (0..10_000).flat_map(made_reset).collect()).await, [ENHANCE_YOUR_CALM]);
    other.list_debates(v1::ListDebatesRequest::default()).await.unwrap();
}

#[tokio::test]
async fn a_connection_has_at_most_1_000_streams_at_one_time_and_more_are_refused() {
    let house = House::open().await;
    // Their messages never come, so that all of them stay.
    let opened = (0..1_001).flat_map(|n| frame(HEADERS, 0x4, 2 * n + 1, &get_debate()));
    let preface = [&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..], &frame(4, 0, 0, &[])].concat();
    let sent: Vec<u8> = preface.into_iter().chain(opened).chain(frame(PING, 0, 0, &[0; 8])).collect();
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    stream.write_all(&sent).await.unwrap();
    let mut refused = Vec::new();
    let answered = async {
        loop {
            let mut head = [0; 9];
            stream.read_exact(&mut head).await.unwrap();
            let [a, b, c, kind, _, stream_id @ ..] = head;
            let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
            stream.read_exact(&mut payload).await.unwrap();
            match kind {
                PING => return,
                RESET => refused.push((u32::from_be_bytes(stream_id), payload[3])),
                _ => {}
            }
        }
    };
    tokio::time::timeout(PATIENCE, answered).await.expect("all that was sent is looked at");
    assert_eq!(refused, [(2_001, REFUSED_STREAM)]);
}

#[tokio::test]
async fn endless_headers_end_only_their_own_connection() {
    let house = House::open().await;
    let mut other = DebateServiceClient::new(house.channel().await);
    other.list_debates(v1::ListDebatesRequest::default()).await.unwrap();
    // A header of 16,000 bytes, and one of none.
    let long = [&[0x00, 1, b'x', 0x7f, 0x81, 0x7c][..], &[b'y'; 16_000]].concat();
    for (what, more) in [("nothing", &[][..]), ("long headers", &long)] {
        let frames = [frame(HEADERS, 0x1, 1, &health()), frame(CONTINUATION, 0, 1, more).repeat(10_000)];
        assert_eq!(flood(&house, frames.concat()).await, [ENHANCE_YOUR_CALM], "{what} without end");
    }
    other.list_debates(v1::ListDebatesRequest::default()).await.unwrap();
}

#[tokio::test]
async fn a_body_of_empty_frames_without_end_ends_its_connection() {
    let house = House::open().await;
    let frames = [frame(HEADERS, 0x4, 1, &get_debate()), frame(DATA, 0, 1, &[]).repeat(10_000)];
    assert_eq!(flood(&house, frames.concat()).await, [ENHANCE_YOUR_CALM]);
    assert_eq!(house.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn messages_beyond_every_limit_are_refused_and_the_connection_goes_on() {
    let house = House::open().await;
    let mut client = DebateServiceClient::new(house.channel().await);
    let list = |bytes| v1::ListDebatesRequest { format: "x".repeat(bytes), ..Default::default() };
    let refused = client.list_debates(list(3 * 1024 * 1024)).await.unwrap_err();
    assert!([Code::OutOfRange, Code::ResourceExhausted].contains(&refused.code()), "{refused:?}");
    assert_eq!(client.list_debates(list(10)).await.unwrap_err().code(), Code::InvalidArgument);
    client.list_debates(list(0)).await.unwrap();
    let mut health = HealthClient::new(house.channel().await);
    let question = |bytes| HealthCheckRequest { service: "x".repeat(bytes) };
    let refused = health.check(question(5 * 1024)).await.unwrap_err();
    assert!([Code::OutOfRange, Code::ResourceExhausted].contains(&refused.code()), "{refused:?}");
    assert_eq!(health.check(question(10)).await.unwrap_err().code(), Code::NotFound);
    // A length that is claimed and never sent is not believed.
    let stream = TcpStream::connect(house.address).await.unwrap();
    let (mut raw, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let two_mib = 2 * 1024 * 1024;
    for (method, most) in [
        ("debate.v1.DebateService/GetDebate", two_mib),
        ("debate.v1.AuditService/ReadLog", two_mib),
        ("debate.v1.PolicyService/GetProposal", two_mib),
        // Requests that need no token are not counted.
        ("grpc.health.v1.Health/Check", 4 * 1024),
    ] {
        for (claimed, is_refused) in [(u32::MAX, true), (most + 1, true), (most, false)] {
            let (body, answer) = claim(&mut raw, method, claimed, true).await;
            drop(body);
            let code = code_of(answer).await;
            assert_eq!(code == Code::OutOfRange, is_refused, "{code:?}: {claimed} bytes for {method}");
        }
    }
    // Nor is more taken from who needs no token in many short messages than in a long one.
    let short = [&[0, 0, 0, 4, 0, 0x0a, 0xfd, 0x07][..], &[b'x'; 1021]].concat();
    for (many, code) in [(3, Code::NotFound), (5, Code::ResourceExhausted)] {
        let (_sent, answer) = call(&mut raw, "grpc.health.v1.Health/Check", short.repeat(many), true).await;
        assert_eq!(code_of(answer).await, code, "{many} messages");
    }
    // Reflection ends its answer without a reason, and waits for what was not claimed in vain.
    for version in ["v1", "v1alpha"] {
        let method = format!("grpc.reflection.{version}.ServerReflection/ServerReflectionInfo");
        let (_waited_for, mut open) = claim(&mut raw, &method, two_mib, false).await;
        for claimed in [u32::MAX, two_mib + 1] {
            let (_body, answer) = claim(&mut raw, &method, claimed, false).await;
            let code = tokio::time::timeout(PATIENCE, code_of(answer)).await;
            assert_eq!(code, Ok(Code::Ok), "{claimed} bytes for {method} are waited for");
        }
        assert!(open.body_mut().data().now_or_never().is_none(), "{method}");
    }
}

type Answer = http::Response<h2::RecvStream>;

/// Claims a message of so many bytes and sends none of them; returns how they would be sent, and the answer.
async fn claim(
    raw: &mut h2::client::SendRequest<Bytes>,
    method: &str,
    claimed: u32,
    is_end: bool,
) -> (h2::SendStream<Bytes>, Answer) {
    call(raw, method, [&[0][..], &claimed.to_be_bytes()].concat(), is_end).await
}

/// Sends so much of a method's messages; returns how more would be sent, and the answer.
async fn call(
    raw: &mut h2::client::SendRequest<Bytes>,
    method: &str,
    messages: Vec<u8>,
    is_end: bool,
) -> (h2::SendStream<Bytes>, Answer) {
    let request =
        http::Request::post(format!("http://localhost/{method}")).header("content-type", "application/grpc");
    let (response, mut body) = raw.send_request(request.body(()).unwrap(), false).unwrap();
    body.send_data(messages.into(), is_end).unwrap();
    (body, response.await.unwrap())
}

/// Returns the status with which an answer ends.
async fn code_of(answer: Answer) -> Code {
    let (mut head, mut answer) = answer.into_parts();
    while answer.data().await.is_some() {}
    if let Some(trailers) = answer.trailers().await.unwrap() {
        head.headers = trailers;
    }
    head.headers.remove("content-type");
    tonic::Status::from_header_map(&head.headers).unwrap().code()
}

#[tokio::test]
async fn k12_bad_input_over_grpc_has_a_code_and_the_connection_goes_on() {
    let house = House::open().await;
    let mut client = DebateServiceClient::new(house.channel().await);
    let nested =
        (0..200).fold(prost_types::Value::from(1.0), |inner, _| prost_types::Value::from(vec![inner]));
    let context = v1::PredictionContext { task: Some(nested), ..Default::default() };
    let deep = v1::DebateRequest { prediction_context: Some(context), ..Default::default() };
    let deep = v1::StartDebateRequest {
        format: Some(v1::start_debate_request::Format::Prediction(deep)),
        ..Default::default()
    };
    let id = client.start_debate(crate::tokens::start("")).await.unwrap().into_inner().debate.unwrap().id;
    let states = |state| v1::ListDebatesRequest { states: vec![state], ..Default::default() };
    let kinds = v1::WatchDebateRequest { debate_id: id.clone(), kinds: 99, ..Default::default() };
    let all_kinds = v1::WatchDebatesRequest { kinds: 99, ..Default::default() };
    let future = v1::WatchDebateRequest { debate_id: id, after_seq: 99_999, ..Default::default() };
    for (what, done, code) in [
        ("an unknown state", client.list_debates(states(99)).await.map(drop), Code::InvalidArgument),
        ("no state", client.list_debates(states(0)).await.map(drop), Code::InvalidArgument),
        ("unknown kinds", client.watch_debate(kinds).await.map(drop), Code::InvalidArgument),
        ("unknown kinds of all", client.watch_debates(all_kinds).await.map(drop), Code::InvalidArgument),
        ("a resume point in the future", client.watch_debate(future).await.map(drop), Code::OutOfRange),
        (
            "nothing",
            client.start_debate(v1::StartDebateRequest::default()).await.map(drop),
            Code::InvalidArgument,
        ),
    ] {
        assert_eq!(done.unwrap_err().code(), code, "{what}");
    }
    let refused = client.start_debate(deep).await.unwrap_err();
    let reason = refused.get_error_details().error_info().map(|info| info.reason.clone());
    assert_eq!(reason.as_deref(), Some("REQUEST_UNDECODABLE"), "the server does not read so deep");
    let grpc = ("Content-Type", "application/grpc-web+proto");
    let expired = ("Grpc-Timeout", "0n");
    let not_utf8 = [0, 0, 0, 0, 3, 0x0a, 1, 0xff];
    for (headers, status) in [(&[grpc][..], 3), (&[grpc, expired], 4)] {
        let received = house.ask("POST", "/debate.v1.DebateService/GetDebate", headers, &not_utf8).await;
        let in_trailers = received.body.contains(&format!("grpc-status:{status}"));
        assert!(received.header("grpc-status") == Some(&*status.to_string()) || in_trailers, "{received:?}");
    }
    client.list_debates(v1::ListDebatesRequest::default()).await.unwrap();
}

#[tokio::test]
async fn browsers_are_served_by_grpc_web() {
    let house = House::open().await;
    let empty = [0, 0, 0, 0, 0];
    let headers = [("Content-Type", "application/grpc-web+proto"), ("X-Grpc-Web", "1")];
    let path = "/debate.v1.DebateService/ListDebates";
    let answer = house.ask("POST", path, &headers, &empty).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/grpc-web+proto")));
    assert!(answer.body.contains("grpc-status:0"), "{answer:?}");
}

#[tokio::test]
async fn connections_beyond_those_of_an_address_are_ended_and_a_place_that_is_free_is_had() {
    let connections = Connections { per_address_max: 2, ..Connections::default() };
    let house = House::with(ServeOptions { connections, ..ServeOptions::default() }, "simulated:7").await;
    let held =
        [TcpStream::connect(house.address).await.unwrap(), TcpStream::connect(house.address).await.unwrap()];
    assert_eq!(send(&house, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await, "");
    drop(held);
    let served = async {
        while !send(&house, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .contains("200")
        {}
    };
    tokio::time::timeout(PATIENCE, served).await.expect("a place is free again");
}

#[tokio::test]
async fn connections_beyond_all_places_wait_and_are_served_when_one_ends() {
    let connections = Connections { max: 1, ..Connections::default() };
    let house = House::with(ServeOptions { connections, ..ServeOptions::default() }, "simulated:7").await;
    let mut first = TcpStream::connect(house.address).await.unwrap();
    let ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    first.write_all(ask).await.unwrap();
    let mut received = [0; 12];
    first.read_exact(&mut received).await.unwrap();
    assert_eq!(&received, b"HTTP/1.1 200");
    let mut second = TcpStream::connect(house.address).await.unwrap();
    second.write_all(ask).await.unwrap();
    let early = tokio::time::timeout(SHORT, second.read_exact(&mut received)).await;
    assert!(early.is_err(), "the only place is taken");
    drop(first);
    tokio::time::timeout(PATIENCE, second.read_exact(&mut received)).await.expect("its turn comes").unwrap();
    assert_eq!(&received, b"HTTP/1.1 200");
}

#[tokio::test]
async fn requests_that_come_byte_by_byte_without_end_are_ended_in_time() {
    let house = impatient().await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let endless_headers =
        || b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ".iter().chain(std::iter::repeat(&b'y'));
    let head = b"POST /api/v1/reasoning/debate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 999999\r\n\r\n";
    let rows: [(&str, Box<dyn Iterator<Item = &u8> + Send>); 3] = [
        ("headers", Box::new(endless_headers())),
        ("a body", Box::new(head.iter().chain(std::iter::repeat(&b' ')))),
        (
            "frames of no meaning",
            Box::new(preface.iter().chain([0, 0, 0, 0xfe, 0, 0, 0, 0, 0].iter().cycle())),
        ),
    ];
    for (what, bytes) in rows {
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        let sent = async {
            for byte in bytes {
                if stream.write_all(&[*byte]).await.is_err() {
                    return;
                }
                let mut received = [0; 256];
                // Once the server has ended the connection, there is nothing more to read.
                let read = tokio::time::timeout(Duration::from_millis(2), stream.read(&mut received)).await;
                if let Ok(Ok(0) | Err(_)) = read {
                    return;
                }
            }
        };
        tokio::time::timeout(DEFAULT_TIMEOUT, sent).await.unwrap_or_else(|_| panic!("{what} go on and on"));
    }
    assert_eq!(house.get("/healthz").await.status, 200);
}

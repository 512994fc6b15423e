//! Streams under pressure: subscribers that stop reading, clients that vanish, and the other clients (rule K10).

use std::convert::Infallible;
use std::future::poll_fn;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::routing::get;
use axum::{Extension, Router};
use bytes::Bytes;
use debate_core::envelope::Envelope;
use debate_engine::{Engine, Resumable};
use debate_grpc::tokens::{Scope, TokenLimits, TokenWishes};
use debate_grpc::{Connections, ServeOptions};
use debate_llm::{ChatModel, ChatReply, ScriptedModel};
use debate_prompts::prediction::PredictionPrompts;
use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use debate_store::MemoryStore;
use futures::future::join_all;
use futures::stream;
use prost::Message as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tonic::transport::Channel;
use tonic::{Code, Status, Streaming};
use tonic_types::StatusExt as _;
use v1::watch_debate_response::Item;

use crate::hearing::Hearing;
use crate::house::{House, PATIENCE};
use crate::tokens::{Guarded, start, started, wishes};

/// How long the server waits for a client that does not read.
const SHORT: Duration = Duration::from_millis(200);
/// Longer than a server with so short a patience takes, and less than one with the default patience.
const SOON: Duration = Duration::from_secs(10);
/// Bytes that a client takes without reading.
const WINDOW: u32 = 1_024;
/// Bytes of what goes out in more than the two parts that may be on their way before a client reads.
const LONG: usize = 110_000;
/// How long the HTTP/2 library waits by default for the answer to a keepalive ping.
const DEFAULT_PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Subscribers of one debate that do not read.
const MANY: usize = 300;

async fn with(connections: Connections) -> House {
    House::with(ServeOptions { connections, ..ServeOptions::default() }, "simulated:7").await
}

/// The measurement of a stream that is given up.
const GIVEN_UP: &str = "monotonic_counter.debate.streams_given_up=1";

/// Connects in a way that leaves a stream little room while it is not read.
async fn narrow(house: &House) -> DebateServiceClient<Channel> {
    let channel = Channel::from_shared(format!("http://{}", house.address)).unwrap();
    let channel = channel.initial_stream_window_size(WINDOW).initial_connection_window_size(1 << 24);
    DebateServiceClient::new(channel.connect().await.unwrap())
}

async fn begun(client: &mut DebateServiceClient<Channel>, request_id: &str) -> String {
    client.start_debate(start(request_id)).await.unwrap().into_inner().debate.unwrap().id
}

async fn watch(
    client: &mut DebateServiceClient<Channel>,
    debate_id: &str,
    after_seq: u64,
) -> Streaming<v1::WatchDebateResponse> {
    let kinds = v1::WatchKinds::All.into();
    let watch =
        v1::WatchDebateRequest { debate_id: debate_id.to_owned(), after_seq, kinds, ..Default::default() };
    client.watch_debate(watch).await.unwrap().into_inner()
}

/// Reads a stream to its end; returns the sequence numbers of its events, and how it ended.
async fn read(mut stream: Streaming<v1::WatchDebateResponse>) -> (Vec<u64>, Option<Status>) {
    let mut seen = Vec::new();
    loop {
        match tokio::time::timeout(PATIENCE, stream.message()).await.expect("the stream goes on") {
            Ok(Some(response)) => {
                if let Some(Item::Event(event)) = response.item {
                    seen.push(event.seq);
                }
            }
            Ok(None) => return (seen, None),
            Err(status) => return (seen, Some(status)),
        }
    }
}

#[tokio::test]
async fn k10_stalled_subscribers_can_resume_and_do_not_slow_others() {
    let (hearing, _listening) = Hearing::begin();
    let house = with(Connections { unread: SHORT, ..Connections::default() }).await;
    let mut narrow = narrow(&house).await;
    let id = begun(&mut narrow, "watched").await;
    let second = begun(&mut narrow, "second").await;
    let mut stopped = Vec::new();
    for _ in 0..MANY {
        stopped.push(watch(&mut narrow, &id, 0).await);
    }
    let all = v1::WatchDebatesRequest { kinds: v1::WatchKinds::All.into(), ..Default::default() };
    let mut feed = narrow.watch_debates(all.clone()).await.unwrap().into_inner();
    let mut other = DebateServiceClient::new(house.channel().await);
    let (reads, reads_second) = (watch(&mut other, &id, 0).await, watch(&mut other, &second, 0).await);
    house.let_all_answer();
    let ((seen, ended), (seen_second, _)) = tokio::join!(read(reads), read(reads_second));
    let log = house.engine.log(id.parse().unwrap(), None).await.unwrap();
    let whole: Vec<u64> = (1..=log.len() as u64).collect();
    assert!(ended.is_none() && seen == whole, "who reads sees everything while others do not read");
    assert!(!seen_second.is_empty());
    hearing.wait(GIVEN_UP, MANY + 1).await;
    for (seen, ended) in join_all(stopped.into_iter().map(read)).await {
        let ended = ended.expect("it was given up");
        let info = ended.get_error_details().error_info().unwrap().clone();
        assert_eq!((ended.code(), info.reason.as_str()), (Code::Aborted, "STREAM_NOT_READ"));
        assert!(ended.get_error_details().retry_info().is_some());
        let after: u64 = info.metadata["resume_after_seq"].parse().unwrap();
        assert_eq!(info.metadata["debate_id"], id);
        assert_eq!(seen, whole[..usize::try_from(after).unwrap()], "what was handed over still comes");
        assert!(seen.len() < whole.len(), "no more is kept than the client took");
    }
    let (rest, ended) = read(watch(&mut other, &id, 7).await).await;
    assert!(ended.is_none() && rest == whole[7..]);

    let mut places = Vec::new();
    let ended = loop {
        match feed.message().await {
            Ok(Some(response)) => places.push(response.cursor),
            Ok(None) => panic!("this stream has no end of its own"),
            Err(status) => break status,
        }
    };
    let info = ended.get_error_details().error_info().unwrap().clone();
    assert_eq!(ended.code(), Code::Aborted);
    assert_eq!(Some(&info.metadata["resume_cursor"]), places.last());
    let cursor = info.metadata["resume_cursor"].clone();
    let mut rest = other.watch_debates(v1::WatchDebatesRequest { cursor, ..all }).await.unwrap().into_inner();
    let next = rest.message().await.unwrap().unwrap();
    assert!(next.event.is_some() && !places.contains(&next.cursor));
}

#[tokio::test]
async fn k10_pieces_for_a_client_that_does_not_read_end_with_the_event_that_fills_32_kib() {
    let (hearing, _listening) = Hearing::begin();
    let connections = Connections { unread: SHORT, ..Connections::default() };
    let house = House::of(wordy(30_000), ServeOptions { connections, ..ServeOptions::default() }).await;
    let mut narrow = narrow(&house).await;
    let id = begun(&mut narrow, "").await;
    assert!(house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    let mut stopped = watch(&mut narrow, &id, 0).await;
    hearing.wait(GIVEN_UP, 1).await;
    let mut sizes = Vec::new();
    while let Ok(Some(response)) = stopped.message().await {
        sizes.push(response.encoded_len());
    }
    // One piece that is sent, and the one under way behind it.
    let pieces_max = 2 * (32 * 1024 + sizes.iter().max().unwrap());
    assert!(sizes.iter().sum::<usize>() <= pieces_max, "{sizes:?}");
    let (whole, _) = read(watch(&mut narrow, &id, 0).await).await;
    assert!(sizes.len() < whole.len(), "the rest is not taken in hand");
}

/// Begins to read the events of a debate over HTTP/2.
async fn events(
    house: &House,
    id: &str,
    last: Option<&str>,
) -> (h2::RecvStream, tokio::task::JoinHandle<()>) {
    sent(house, &format!("/api/v1/debates/{id}/events"), last).await
}

/// Begins to read server-sent events over HTTP/2.
async fn sent(
    house: &House,
    path: &str,
    last: Option<&str>,
) -> (h2::RecvStream, tokio::task::JoinHandle<()>) {
    let mut request =
        http::Request::get(format!("http://localhost{path}")).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    asked(house, request, &[]).await
}

/// Sends a request over HTTP/2, of whose answer as much is taken at once as fits the window.
async fn asked(
    house: &House,
    request: http::request::Builder,
    body: &[u8],
) -> (h2::RecvStream, tokio::task::JoinHandle<()>) {
    asked_within(house, WINDOW, request, body).await
}

/// Sends a request over HTTP/2, for whose answer there is so much room.
async fn asked_within(
    house: &House,
    window: u32,
    request: http::request::Builder,
    body: &[u8],
) -> (h2::RecvStream, tokio::task::JoinHandle<()>) {
    let stream = TcpStream::connect(house.address).await.unwrap();
    let mut connecting = h2::client::Builder::new();
    connecting.initial_window_size(window);
    let (mut client, connection) = connecting.handshake::<_, Bytes>(stream).await.unwrap();
    let driving = tokio::spawn(async move { drop(connection.await) });
    let (response, mut sending) = client.send_request(request.body(()).unwrap(), false).unwrap();
    sending.send_data(Bytes::copy_from_slice(body), true).unwrap();
    (response.await.unwrap().into_body(), driving)
}

/// Reads server-sent events to their end.
async fn text(body: h2::RecvStream) -> String {
    String::from_utf8(bytes(body).await).unwrap()
}

/// Reads an answer to its end.
async fn bytes(mut body: h2::RecvStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    while let Some(piece) = tokio::time::timeout(PATIENCE, body.data()).await.expect("the stream goes on") {
        let piece = piece.unwrap();
        body.flow_control().release_capacity(piece.len()).unwrap();
        bytes.extend_from_slice(&piece);
    }
    bytes
}

fn ids(text: &str) -> Vec<u64> {
    text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

#[tokio::test]
async fn k10_server_sent_events_that_are_not_read_end_with_the_id_to_go_on_from() {
    let (hearing, _listening) = Hearing::begin();
    let house = with(Connections { unread: SHORT, ..Connections::default() }).await;
    let id = begun(&mut DebateServiceClient::new(house.channel().await), "").await;
    let (stopped, _driving) = events(&house, &id, None).await;
    house.let_all_answer();
    assert!(house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    hearing.wait(GIVEN_UP, 1).await;
    let received = text(stopped).await;
    let (events_received, problem) = received.split_once("event: problem\ndata: ").unwrap();
    let problem: serde_json::Value = serde_json::from_str(problem.trim()).unwrap();
    assert_eq!((&problem["reason"], &problem["debate_id"]), (&"STREAM_NOT_READ".into(), &id.clone().into()));
    let last = problem["resume_after_seq"].as_str().unwrap();
    let mut seen = ids(events_received);
    assert_eq!(seen.last().map(ToString::to_string).as_deref(), Some(last));
    let (rest, _driving) = events(&house, &id, Some(last)).await;
    seen.extend(ids(&text(rest).await));
    let head = house.engine.log(id.parse().unwrap(), None).await.unwrap().len() as u64;
    assert_eq!(seen, (1..=head).collect::<Vec<_>>());
}

#[tokio::test]
async fn k10_an_event_that_has_begun_to_go_out_goes_out_whole_and_none_is_lost_behind_it() {
    let (hearing, _listening) = Hearing::begin();
    let connections = Connections { unread: SHORT, ..Connections::default() };
    let house = House::of(wordy(LONG), ServeOptions { connections, ..ServeOptions::default() }).await;
    let (mut narrow, mut other) = (narrow(&house).await, DebateServiceClient::new(house.channel().await));
    let id = begun(&mut narrow, "").await;
    assert!(house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    let log = house.engine.log(id.parse().unwrap(), None).await.unwrap();
    let is_long = |event: &&Envelope| event.prose.as_ref().is_some_and(|prose| prose.text.len() >= LONG);
    let long = log.iter().filter(is_long).nth_back(1).unwrap().seq.0;
    let whole: Vec<u64> = (long..=log.len() as u64).collect();

    let stopped = watch(&mut narrow, &id, long - 1).await;
    hearing.wait(GIVEN_UP, 1).await;
    let (mut seen, ended) = read(stopped).await;
    let info = ended.unwrap().get_error_details().error_info().unwrap().clone();
    assert_eq!(info.reason, "STREAM_NOT_READ");
    let after: u64 = info.metadata["resume_after_seq"].parse().unwrap();
    assert_eq!((seen.first(), seen.last()), (Some(&long), Some(&after)));
    seen.extend(read(watch(&mut other, &id, after).await).await.0);
    assert_eq!(seen, whole);

    let (stopped, _driving) = events(&house, &id, Some(&(long - 1).to_string())).await;
    hearing.wait(GIVEN_UP, 2).await;
    let received = text(stopped).await;
    let (received, problem) = received.split_once("event: problem\ndata: ").unwrap();
    assert!(received.ends_with("\n\n"), "it ends within an event");
    let problem: serde_json::Value = serde_json::from_str(problem.trim()).unwrap();
    let last = problem["resume_after_seq"].as_str().unwrap();
    let mut seen = ids(received);
    assert_eq!((seen[0], seen.last()), (long, Some(&last.parse().unwrap())));
    let (rest, _driving) = events(&house, &id, Some(last)).await;
    seen.extend(ids(&text(rest).await));
    assert_eq!(seen, whole);
}

#[tokio::test]
async fn k10_an_unread_page_stream_is_dropped_where_it_can_resume() {
    let (hearing, _listening) = Hearing::begin();
    let endless = || {
        let piece = || Ok::<_, Infallible>(Bytes::from_static(&[b'.'; 2 * LONG]));
        (Extension(Resumable), Body::from_stream(stream::repeat_with(piece)))
    };
    let data = Router::new().route("/viewer/data/debates/{id}/follow", get(async move || endless()));
    let connections = Connections { unread: SHORT, ..Connections::default() };
    let house =
        House::with(ServeOptions { connections, data, ..ServeOptions::default() }, "simulated:7").await;
    let (mut stopped, _driving) = sent(&house, "/viewer/data/debates/any/follow", None).await;
    hearing.wait(GIVEN_UP, 1).await;
    let mut received = 0;
    while let Some(Ok(piece)) = stopped.data().await {
        received += piece.len();
        stopped.flow_control().release_capacity(piece.len()).unwrap();
    }
    // It breaks off then, which may cost the last parts on their way.
    assert!(
        (2 * 48 * 1024 + 1..=2 * LONG).contains(&received),
        "what has begun to go out goes on: {received} bytes"
    );
}

/// Returns an engine whose model says so many bytes whenever it is asked.
fn wordy(bytes: usize) -> Engine {
    let words = ChatReply::new("scripted", "x".repeat(bytes));
    let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(move |_| words.clone()));
    Engine::builder(Arc::new(MemoryStore::new()), model).format(PredictionPrompts).build()
}

#[tokio::test]
async fn an_unread_long_answer_counts_as_a_request_until_it_is_read() {
    let guarded = Guarded::of(wordy(30_000)).await;
    let limits = TokenLimits { requests_at_once: NonZeroU32::new(1), ..TokenLimits::default() };
    let token = guarded.token(TokenWishes { limits, ..wishes("app", &[Scope::Admin]) });
    let mut client = guarded.debates(&token).await;
    let debate_id = started(&mut client, "").await;
    assert!(guarded.house.engine.concluded(debate_id.parse().unwrap(), PATIENCE).await.unwrap());
    let message = v1::ReadLogRequest { debate_id: debate_id.clone(), ..Default::default() }.encode_to_vec();
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    let message = [&[0], &length[..], &message].concat();
    let over_grpc = http::Request::post("http://localhost/debate.v1.AuditService/ReadLog")
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    let path = format!("http://localhost/api/v1/debates/{debate_id}/events");
    for (request, body) in [(over_grpc, &message[..]), (http::Request::get(path), &[])] {
        let request = request.header("authorization", format!("Bearer {token}"));
        let (mut answer, _driving) = asked(&guarded.house, request, body).await;
        let begun = answer.data().await.unwrap().unwrap();
        let refused = client.list_debates(v1::ListDebatesRequest::default()).await.unwrap_err();
        let info = refused.get_error_details().error_info().unwrap().clone();
        assert_eq!(info.reason, "TOO_MANY_REQUESTS_AT_ONCE");
        answer.flow_control().release_capacity(begun.len()).unwrap();
        assert!(bytes(answer).await.len() > 100_000);
        client.list_debates(v1::ListDebatesRequest::default()).await.unwrap();
    }
}

/// Returns a server that waits for readers but shortly, and a request for a long answer.
async fn impatient() -> (House, http::request::Builder) {
    let long = Router::new().route("/viewer/data/debates", get(async || "x".repeat(1_000_000)));
    let connections = Connections { unread: SHORT, ..Connections::default() };
    let options = ServeOptions { connections, data: long, ..ServeOptions::default() };
    let house = House::with(options, "simulated:7").await;
    (house, http::Request::get("http://localhost/viewer/data/debates"))
}

#[tokio::test]
async fn an_answer_unread_for_too_long_is_dropped_except_one_piece() {
    let (hearing, _listening) = Hearing::begin();
    let (house, request) = impatient().await;
    let (mut answer, _driving) = asked(&house, request, &[]).await;
    tokio::time::timeout(SOON, hearing.wait(GIVEN_UP, 1)).await.expect("it is let go in the time it has");
    let mut received = 0;
    let broken = loop {
        match answer.data().await.expect("it breaks off") {
            Ok(piece) => {
                received += piece.len();
                answer.flow_control().release_capacity(piece.len()).unwrap();
            }
            Err(error) => break error,
        }
    };
    assert!(broken.is_reset() && received <= 2 * 48 * 1024, "{received} bytes: {broken}");
}

#[tokio::test]
async fn an_answer_without_room_is_dropped_for_every_caller() {
    let (hearing, _listening) = Hearing::begin();
    let token = "a-secret-of-some-length";
    let long = || get(async || "x".repeat(1_000_000));
    let options = ServeOptions {
        connections: Connections { unread: SHORT, ..Connections::default() },
        token: Some(token.to_owned()),
        data: Router::new().route("/viewer/data/debates", long()),
        pages: Router::new().route("/page", long()),
        ..ServeOptions::default()
    };
    let house = House::with(options, "simulated:7").await;
    let mut asked = Vec::new();
    for (place, (path, status)) in
        [("/viewer/data/debates", 200), ("/viewer/data/nowhere", 401), ("/page", 200)].into_iter().enumerate()
    {
        let request = http::Request::get(format!("http://localhost{path}"));
        let request = if path.ends_with("debates") {
            request.header("authorization", format!("Bearer {token}"))
        } else {
            request
        };
        assert_eq!(house.get("/healthz").await.status, 200);
        asked.push((asked_within(&house, 0, request, &[]).await, status));
        hearing.wait(GIVEN_UP, place + 1).await;
    }
}

#[tokio::test]
async fn a_client_that_vanishes_is_found_by_keepalive() {
    let keepalive = Duration::from_secs(1);
    let house = with(Connections { keepalive, ..Connections::default() }).await;
    let id = begun(&mut DebateServiceClient::new(house.channel().await), "").await;
    let stream = TcpStream::connect(house.address).await.unwrap().into_std().unwrap();
    let mut wire = TcpStream::from_std(stream.try_clone().unwrap()).unwrap();
    let stream = TcpStream::from_std(stream).unwrap();
    let (mut client, mut connection) = h2::client::handshake(stream).await.unwrap();
    let request = http::Request::get(format!("http://localhost/api/v1/debates/{id}/events"))
        .header("accept", "text/event-stream");
    let (mut response, _) = client.send_request(request.body(()).unwrap(), true).unwrap();
    let begun = poll_fn(|context| {
        // The client stops answering on this connection once this has returned.
        assert!(std::pin::Pin::new(&mut connection).poll(context).is_pending());
        std::pin::Pin::new(&mut response).poll(context)
    });
    assert_eq!(begun.await.unwrap().status(), 200);
    let mut unanswered = Vec::new();
    let ended = tokio::time::timeout(DEFAULT_PING_TIMEOUT, wire.read_to_end(&mut unanswered)).await;
    let _reset = ended.expect("the server ends the connection");
    assert_eq!(house.get("/healthz").await.status, 200);
}

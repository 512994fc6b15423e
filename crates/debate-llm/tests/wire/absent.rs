//! Servers that are not there for a while (rule K22): they are waited for, and that costs the call none of its time.

use std::net::SocketAddr;
use std::time::Duration;

use debate_llm::{CallTime, ChatModel as _, ChatRequest, ChunkSink, HttpModel, Provider};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpSocket};
use tokio::time::{Instant, sleep};

use crate::fault_server::{FaultServer, Response};
use crate::speech::{Trouble, ok, trouble};
use crate::{ask, config, model, outcome, request};

/// How long the server is away: longer than the call may take.
const AWAY: Duration = Duration::from_secs(1);

/// How long a call may take once its request has left.
const CALL: Duration = Duration::from_millis(500);

/// A name, what a server answers, what comes of it, and how many requests that takes.
type Row<'a> = (&'a str, Vec<Response>, Result<&'a str, &'a str>, usize);

/// Counts how often a request waited and left.
#[derive(Default)]
struct Ear {
    waits: u32,
    leaves: u32,
}

impl ChunkSink for Ear {
    fn push(&mut self, _: &str) {}

    fn waits(&mut self) {
        self.waits += 1;
    }

    fn leaves(&mut self) {
        self.leaves += 1;
    }
}

/// A request of a debate that lasts for another minute.
fn patient() -> ChatRequest {
    let give_up_at = Some(Instant::now() + Duration::from_secs(60));
    ChatRequest { time: CallTime { give_up_at, ..CALL.into() }, ..request() }
}

/// Returns an address at which nothing listens, and nothing else can while the socket is held: a connection from an
/// ephemeral port to itself would succeed.
fn unused() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

#[tokio::test]
async fn k22_a_server_that_comes_back_costs_no_time_and_no_error() {
    let (provider, (socket, address)) = (Provider::OpenAi, unused());
    let coming = tokio::spawn(async move {
        sleep(AWAY).await;
        FaultServer::start_at(socket.listen(1_024).unwrap(), vec![ok(provider)]).await
    });
    let model = model(provider, &format!("http://{address}/v1"));
    let (mut ear, request) = (Ear::default(), patient());
    let reply = model.complete(&request, &mut ear).await.unwrap();
    assert_eq!(reply.text, "héllo");
    assert!(reply.waited >= AWAY * 3 / 4 && reply.latency < CALL, "{reply:?}");
    assert!(reply.wire_retries > 3, "{reply:?}");
    assert_eq!((ear.waits, ear.leaves), (reply.wire_retries, reply.wire_retries));
    drop(coming.await.unwrap());
}

#[tokio::test]
async fn k22_an_absent_server_is_asked_until_time_is_up_or_it_is_there() {
    for provider in Provider::ALL {
        let status = |status| Response::json(status, &json!({"error": {"message": "no"}}));
        let nine =
            |response: &dyn Fn() -> Response| (0..9).map(|_| response()).chain([ok(provider)]).collect();
        let limited = || trouble(provider, Trouble::TooFast).header("retry-after-ms", "3");
        let away = || trouble(provider, Trouble::TooFast).header("retry-after", "3600");
        let table: [Row<'_>; 8] = [
            ("502", nine(&|| status(502)), Ok("héllo"), 10),
            ("503", nine(&|| status(503)), Ok("héllo"), 10),
            ("504", nine(&|| status(504)), Ok("héllo"), 10),
            ("529", nine(&|| status(529)), Ok("héllo"), 10),
            ("a limit", nine(&limited), Ok("héllo"), 10),
            ("a reset", nine(&Response::reset), Ok("héllo"), 10),
            ("a server that fails", nine(&|| status(500)), Err("server_error"), 4),
            ("a limit of an hour", vec![away(), ok(provider)], Err("rate_limited"), 1),
        ];
        for (name, responses, want, sent) in table {
            let server = FaultServer::start(responses).await;
            let (reply, _) = ask(&model(provider, &server.base_url()), &patient()).await;
            assert_eq!((outcome(&reply), server.requests().len()), (want, sent), "{provider}: {name}");
        }
    }
}

#[tokio::test]
async fn k22_an_absent_server_is_not_waited_for_without_end() {
    for provider in Provider::ALL {
        let (_socket, address) = unused();
        let base_url = format!("http://{address}/v1");
        let short = || ChatRequest {
            time: CallTime { give_up_at: Some(Instant::now() + CALL), ..CallTime::default() },
            ..request()
        };
        let (reply, _) = ask(&model(provider, &base_url), &short()).await;
        let error = reply.unwrap_err();
        // The end may come while it is asked once more.
        assert!(matches!(error.kind.label(), "connection_failed" | "timeout_total"), "{provider}: {error:?}");
        assert!(error.wire_retries > 3, "{provider}: {error:?}");
        // Another model stands in.
        let hurried = ChatRequest { waits_for_server: false, ..patient() };
        let error = ask(&model(provider, &base_url), &hurried).await.0.unwrap_err();
        assert_eq!((error.kind.label(), error.wire_retries), ("connection_failed", 3), "{provider}");
        // The call has no end of its own.
        let mut config = config(provider, &base_url);
        config.retry.absent_max = CALL;
        let endless = ChatRequest { time: CallTime::default(), ..request() };
        let began = Instant::now();
        let error = ask(&HttpModel::new(config).unwrap(), &endless).await.0.unwrap_err();
        assert_eq!(error.kind.label(), "connection_failed", "{provider}");
        assert!(began.elapsed() >= CALL * 3 / 4 && error.wire_retries > 3, "{provider}: {error:?}");
    }
}

#[tokio::test]
async fn k22_no_certificate_is_waited_for() {
    // What speaks no TLS stays so.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let error = ask(&model(Provider::OpenAi, &base_url), &patient()).await.0.unwrap_err();
    assert_eq!((error.kind.label(), error.wire_retries), ("connection_failed", 3), "{error:?}");
}

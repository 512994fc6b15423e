//! Connections: how many, how long they may be silent, how much their headers may be. Strangers come as far as here.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Request, StatusCode, Version};
use axum::response::{IntoResponse as _, Response};
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tonic_web::{GrpcWebLayer, GrpcWebService};
use tower::{Layer as _, Service as _};

use crate::handshakes::Handshakes;
use crate::peers::Peers;
use crate::tls::Tls;
use crate::wire::{Reading, Wire};

/// Streams of one connection at once.
const STREAMS_MAX: u32 = 1_000;
/// Streams that a client opened and gave up before anybody looked at them.
const RESET_STREAMS_MAX: usize = 64;
/// Bytes of the headers of one request.
const HEADER_BYTES_MAX: usize = 32 * 1024;
/// Headers of one request.
const HEADERS_MAX: usize = 100;
/// Bytes that wait to be sent on one stream before its handler has to wait; the piece that goes beyond them waits whole.
const SEND_BUFFER_BYTES_MAX: usize = 256 * 1024;
/// How long it takes to accept again after the system had no room for a connection.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// How long a connection may take to end after it was asked to.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(5);

/// How long connections may be silent, and how many there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connections {
    /// The most at one time; others wait to be accepted. Each takes a file of the process, whose limit must leave room for the
    /// store and for providers.
    pub max: usize,
    /// The most of one address at one time, of this machine's too; more are ended at once. Of IPv6, a network of 64 bits counts
    /// as one address.
    pub per_address_max: usize,
    /// The longest that a new connection may take for the greeting of its TLS, and from there for a first request.
    pub first_request: Duration,
    /// The longest that the headers of one HTTP/1.1 request may take to arrive.
    pub headers: Duration,
    /// The longest that the body of one request may take to arrive.
    pub body: Duration,
    /// The longest that a connection may have nothing under way.
    pub idle: Duration,
    /// The longest that a client may not read on in a stream or a long answer before that is given up; one over HTTP/1.1 is
    /// ended with its connection, before three times as long.
    pub unread: Duration,
    /// How often a connection that is quiet is asked whether it is still there; as long again it may take to answer.
    pub keepalive: Duration,
    /// Whether HTTP/2 is spoken, which gRPC needs, and not HTTP/1.1 alone.
    pub http2: bool,
}

impl Default for Connections {
    fn default() -> Self {
        Self {
            max: 20_000,
            per_address_max: 10_000,
            first_request: Duration::from_secs(10),
            headers: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(300),
            unread: Duration::from_secs(30),
            keepalive: Duration::from_secs(30),
            http2: true,
        }
    }
}

/// Serves until `closing`, and returns when all connections have ended.
pub(crate) async fn listen(
    listener: TcpListener,
    tls: Option<Arc<Tls>>,
    app: Router,
    connections: Connections,
    closing: CancellationToken,
) {
    let room = Arc::new(Semaphore::new(connections.max));
    let peers = Peers::new(connections.per_address_max);
    let handshakes = Arc::new(Handshakes::default());
    // Connections end with the set that holds them.
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let (stream, address, place) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        while tasks.try_join_next().is_some() {}
        let Some(peer) = peers.enter(address.ip()) else {
            tracing::debug!(%address, "an address has as many connections as it may");
            continue;
        };
        let (tls, closing, handshakes) = (tls.clone(), closing.clone(), Arc::clone(&handshakes));
        let talk = Connection { app: app.clone(), connections, closing };
        tasks.spawn(async move {
            let _held = (place, peer);
            let _unsent = stream.set_nodelay(true);
            match tls {
                None => talk.hold(stream).await,
                Some(tls) => {
                    let greeting = tls.acceptor().accept(stream);
                    match tokio::time::timeout(connections.first_request, greeting).await {
                        Ok(Ok(stream)) => talk.hold(stream).await,
                        Ok(Err(error)) => handshakes.failed(address, &error),
                        Err(late) => handshakes.failed(address, &late),
                    }
                }
            }
        });
    }
    drop(listener);
    while tasks.join_next().await.is_some() {}
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
    let (stream, address) = listener.accept().await?;
    Ok((stream, address, place))
}

/// What is under way on a connection.
#[derive(Debug, Clone, Copy, Default)]
struct UnderWay {
    requests: usize,
    /// Whether there ever was a request.
    has_begun: bool,
}

/// One connection's talk.
struct Connection {
    app: Router,
    connections: Connections,
    closing: CancellationToken,
}

impl Connection {
    async fn hold(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let Self { app, connections, closing } = self;
        let (under_way, mut watching) = watch::channel(UnderWay::default());
        let under_way = Arc::new(under_way);
        let reading = Arc::new(Reading::default());
        let web: GrpcWebService<Router> = GrpcWebLayer::new().layer(app.clone());
        let service = service_fn(|request| {
            let counted = (Arc::clone(&under_way), Arc::clone(&reading));
            answer(app.clone(), web.clone(), request, counted)
        });
        let wire = Wire::new(stream, Arc::clone(&reading));
        let builder = protocols(connections);
        let mut talking = pin!(builder.serve_connection(TokioIo::new(wire), service));
        tokio::select! {
            ended = talking.as_mut() => return tell(ended),
            () = closing.cancelled() => {
                talking.as_mut().graceful_shutdown();
                // What is under way may go on for the server's grace.
                return tell(talking.await);
            }
            () = silence(&mut watching, connections) => talking.as_mut().graceful_shutdown(),
            () = reading.ends(connections.unread) => return,
        }
        if let Ok(ended) = tokio::time::timeout(SHUTDOWN_GRACE, talking).await {
            tell(ended);
        }
    }
}

fn tell(ended: Result<(), Box<dyn std::error::Error + Send + Sync>>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}

fn protocols(connections: Connections) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // Who has sent all that it wants to send may say so, and still gets its answer.
        .half_close(true)
        .header_read_timeout(connections.headers)
        .max_headers(HEADERS_MAX)
        .max_buf_size(HEADER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(connections.keepalive)
        .keep_alive_timeout(connections.keepalive)
        .max_concurrent_streams(STREAMS_MAX)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .max_header_list_size(u32::try_from(HEADER_BYTES_MAX).unwrap_or(u32::MAX))
        .max_send_buf_size(SEND_BUFFER_BYTES_MAX);
    if connections.http2 { builder } else { builder.http1_only() }
}

/// Returns when nothing has been under way for as long as that may be.
async fn silence(watching: &mut watch::Receiver<UnderWay>, connections: Connections) {
    loop {
        let now = *watching.borrow_and_update();
        let patience = if now.has_begun { connections.idle } else { connections.first_request };
        tokio::select! {
            changed = watching.changed() => if changed.is_err() {
                return;
            },
            () = tokio::time::sleep(patience), if now.requests == 0 => return,
        }
    }
}

async fn answer(
    mut app: Router,
    mut web: GrpcWebService<Router>,
    request: Request<Incoming>,
    (under_way, reading): (Arc<watch::Sender<UnderWay>>, Arc<Reading>),
) -> Result<Response, Infallible> {
    under_way.send_modify(|now| *now = UnderWay { requests: now.requests + 1, has_begun: true });
    let counted = Counted(under_way);
    // A connection over HTTP/2 is kept for what else is on it; it answers pings or ends.
    if request.version() < Version::HTTP_2 {
        reading.of_one();
    }
    if head_bytes(&request) > HEADER_BYTES_MAX {
        return Ok(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE.into_response());
    }
    let content_type = request.headers().get(axum::http::header::CONTENT_TYPE);
    let is_web = content_type.is_some_and(|value| value.as_bytes().starts_with(b"application/grpc-web"));
    let response = if is_web {
        web.call(request).await?.map(Body::new)
    } else {
        app.call(request.map(Body::new)).await?
    };
    Ok(response.map(|inner| Body::new(Answer { inner, _counted: counted })))
}

/// Returns the bytes of a request's path and headers. Behind the first request of a connection HTTP/1.1's buffer has room for
/// more than it may have.
fn head_bytes<B>(request: &Request<B>) -> usize {
    let path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    let headers = request.headers().iter();
    headers.map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>() + path
}

/// One request that is under way until this is dropped.
struct Counted(Arc<watch::Sender<UnderWay>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|now| now.requests -= 1);
    }
}

/// An answer's body, under way for as long as it is.
struct Answer {
    inner: Body,
    _counted: Counted,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        std::pin::Pin::new(&mut self.inner).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::routing::get;
    use futures::StreamExt as _;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[test]
    fn connections_have_the_documented_default_limits() {
        let seconds = Duration::from_secs;
        let documented = Connections {
            max: 20_000,
            per_address_max: 10_000,
            first_request: seconds(10),
            headers: seconds(10),
            body: seconds(30),
            idle: seconds(300),
            unread: seconds(30),
            keepalive: seconds(30),
            http2: true,
        };
        assert_eq!(crate::ServeOptions::default().connections, documented);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_has_said_all_gets_its_answer_however_long_that_takes() {
        let slow = async || {
            tokio::time::sleep(Duration::from_secs(5)).await;
            "late"
        };
        let app = Router::new().route("/", get(slow));
        let talk = Connection { app, connections: Connections::default(), closing: CancellationToken::new() };
        let (mut client, server) = tokio::io::duplex(1_024);
        let talking = tokio::spawn(talk.hold(server));
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        client.shutdown().await.unwrap();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("late"), "{answer}");
        talking.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_over_http_1_whose_client_stops_reading_is_ended_and_a_slow_reader_is_not() {
        let endless =
            async || Body::from_stream(futures::stream::repeat("x".repeat(1_000)).map(Ok::<_, io::Error>));
        let connections = Connections::default();
        for read in [0, 20] {
            let app = Router::new().route("/", get(endless));
            let talk = Connection { app, connections, closing: CancellationToken::new() };
            let (mut client, server) = tokio::io::duplex(1_024);
            let talking = tokio::spawn(talk.hold(server));
            client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
            let mut some = vec![0; 100_000];
            for _ in 0..read {
                tokio::time::sleep(connections.unread / 2).await;
                client.read_exact(&mut some).await.unwrap();
            }
            let stopped = tokio::time::Instant::now();
            let ended = tokio::time::timeout(connections.unread * 3, talking).await;
            assert!(matches!(ended, Ok(Ok(()))), "{read}: it keeps its place: {ended:?}");
            assert!(connections.unread <= stopped.elapsed(), "{read}: {:?}", stopped.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_over_http_1_whose_answer_waits_unread_within_tls_is_ended() {
        let connections = Connections::default();
        let app = Router::new().route("/", get(async || "x".repeat(4_000)));
        let talk = Connection { app, connections, closing: CancellationToken::new() };
        let (mut client, server) = tokio::io::duplex(1_024);
        client.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        // As TLS does, it takes all that is written and has to wait when that goes out.
        let server = tokio::io::BufWriter::new(server);
        let ended = tokio::time::timeout(connections.unread * 3, talk.hold(server)).await;
        assert!(ended.is_ok(), "it keeps its place");
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_over_http_1_whose_answers_wait_for_one_another_unread_is_ended() {
        let connections = Connections::default();
        for asked in [1, 2, 100] {
            let app = Router::new().route("/", get(async || "x".repeat(100_000)));
            let talk = Connection { app, connections, closing: CancellationToken::new() };
            let (mut client, server) = tokio::io::duplex(16 * 1_024);
            client.write_all(&b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".repeat(asked)).await.unwrap();
            let ended = tokio::time::timeout(connections.unread * 3, talk.hold(server)).await;
            assert!(ended.is_ok(), "with {asked} requests it keeps its place");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn unread_http2_answer_buffers_at_most_256_kib_and_two_pieces() {
        const PIECE: usize = crate::unread::PIECE_BYTES_MAX;
        /// What may be on its way: one frame, and what the wire holds.
        const SENT: usize = 18 * 1024;
        let taken = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&taken);
        let endless = async move || {
            let piece = move || {
                counted.fetch_add(PIECE, Ordering::Relaxed);
                Ok::<_, Infallible>(Bytes::from_static(&[b'.'; PIECE]))
            };
            Body::from_stream(futures::stream::repeat_with(piece))
        };
        let app = Router::new().route("/", get(endless));
        let talk = Connection { app, connections: Connections::default(), closing: CancellationToken::new() };
        let (client, server) = tokio::io::duplex(1_024);
        let talking = tokio::spawn(talk.hold(server));
        // A client that says it takes 16 MiB, and then leaves them on the wire.
        let mut connecting = h2::client::Builder::new();
        connecting.initial_window_size(1 << 24).initial_connection_window_size(1 << 24);
        let (mut client, mut connection) = connecting.handshake::<_, Bytes>(client).await.unwrap();
        let request = Request::get("http://localhost/").body(()).unwrap();
        let (mut response, _) = client.send_request(request, true).unwrap();
        let begun = std::future::poll_fn(|context| {
            assert!(pin!(&mut connection).poll(context).is_pending());
            pin!(&mut response).poll(context)
        });
        assert_eq!(begun.await.unwrap().status(), 200);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let taken = taken.load(Ordering::Relaxed);
        // One piece goes beyond what may wait, and one is in hand behind it.
        let most = 256 * 1024 + 2 * PIECE + SENT;
        assert!((256 * 1024..=most).contains(&taken), "{taken} bytes");
        talking.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_over_http_2_that_answers_no_ping_is_ended_after_as_long_again_as_it_was_silent() {
        let connections = Connections::default();
        let silent = async || Body::from_stream(futures::stream::pending::<io::Result<Bytes>>());
        let app = Router::new().route("/", get(silent));
        let talk = Connection { app, connections, closing: CancellationToken::new() };
        let (client, server) = tokio::io::duplex(1_024);
        let talking = tokio::spawn(talk.hold(server));
        let (mut client, mut connection) = h2::client::handshake(client).await.unwrap();
        let request = Request::get("http://localhost/").body(()).unwrap();
        let (mut response, _) = client.send_request(request, true).unwrap();
        let begun = std::future::poll_fn(|context| {
            // The client stops answering once this has returned.
            assert!(pin!(&mut connection).poll(context).is_pending());
            pin!(&mut response).poll(context)
        });
        assert_eq!(begun.await.unwrap().status(), 200);
        let since = tokio::time::Instant::now();
        let ended = tokio::time::timeout(connections.keepalive * 10, talking).await;
        assert!(matches!(ended, Ok(Ok(()))), "it keeps its place: {ended:?}");
        let seconds = since.elapsed().as_secs();
        assert!((59..=62).contains(&seconds), "{seconds} s");
    }
}

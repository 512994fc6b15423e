//! The HTTP client: one per provider, with connections that stay open between calls.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::connect::{ConnectTimedOut, Connector};
use super::interim::TooManyInterim;
use crate::{ModelError, ModelErrorKind, TimeoutStage};

/// How long an unused connection is kept: a person may think between two debates.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// How often an open HTTP/2 connection is asked whether it still stands; shorter than what NATs forget after.
pub(super) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// How long the answer to that may take before the connection counts as broken.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

const AGENT: HeaderValue = HeaderValue::from_static(concat!("debate/", env!("CARGO_PKG_VERSION")));

/// Sends requests to one server, over HTTP/2 where the server speaks it; follows no redirects.
#[derive(Debug, Clone)]
pub(super) struct Client {
    connections: legacy::Client<Connector, Full<Bytes>>,
    /// What a proxy that reads the requests wants to know of who asks.
    proxy_authorization: Option<HeaderValue>,
}

impl Client {
    /// Makes a client of the server at `endpoint`; connects to nothing yet.
    ///
    /// # Errors
    /// The system has no CA certificates, and `endpoint` needs some.
    pub(super) fn new(endpoint: &Uri, connect_timeout: Duration) -> Result<Self, rustls::Error> {
        let (connector, proxy_authorization) = Connector::new(endpoint, tls(endpoint)?, connect_timeout);
        let connections = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .http2_keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .http2_keep_alive_while_idle(true)
            .build(connector);
        Ok(Self { connections, proxy_authorization })
    }

    /// Sends a request with a body.
    pub(super) fn post(&self, endpoint: &Uri, headers: HeaderMap, body: Bytes) -> ResponseFuture {
        self.ask(Method::POST, endpoint, headers, body)
    }

    /// Sends a request that asks for what the server says of itself.
    pub(super) fn ask(&self, method: Method, to: &Uri, headers: HeaderMap, body: Bytes) -> ResponseFuture {
        let mut request = Request::new(Full::new(body));
        *request.headers_mut() = headers;
        self.send(method, to.clone(), request)
    }

    /// Opens a connection and leaves it in the pool; sends no key and ignores what comes back.
    pub(super) async fn open_connection(&self, endpoint: &Uri, timeout: Duration) {
        let mut root = endpoint.clone().into_parts();
        root.path_and_query = Some(PathAndQuery::from_static("/"));
        let Ok(root) = Uri::from_parts(root) else { return };
        let asked = self.send(Method::HEAD, root, Request::default());
        if let Ok(Err(error)) = tokio::time::timeout(timeout, asked).await {
            tracing::debug!(cause = %connection_error(&error), "no connection could be opened early");
        }
    }

    fn send(&self, method: Method, to: Uri, mut request: Request<Full<Bytes>>) -> ResponseFuture {
        *request.method_mut() = method;
        *request.uri_mut() = to;
        let headers = request.headers_mut();
        headers.insert(USER_AGENT, AGENT);
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(authorization) = &self.proxy_authorization {
            headers.insert(PROXY_AUTHORIZATION, authorization.clone());
        }
        self.connections.request(request)
    }
}

/// Returns the next bytes of a body, `None` at its end.
pub(super) async fn next_piece(body: &mut Incoming) -> Result<Option<Bytes>, hyper::Error> {
    while let Some(frame) = body.frame().await {
        // Trailers say nothing here.
        if let Ok(piece) = frame?.into_data() {
            return Ok(Some(piece));
        }
    }
    Ok(None)
}

fn tls(endpoint: &Uri) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    if endpoint.scheme() == Some(&Scheme::HTTP) {
        // Nothing is verified without TLS, so a machine without CA certificates can still use a local server.
        return Ok(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    Ok(config.with_platform_verifier()?.with_no_client_auth())
}

/// Says why there is no connection, and nothing of what a server says that was sent a request: HTTP/2 ends connections with
/// words of its own, among which the key may be, or what it says of that.
pub(super) fn connection_error(error: &(dyn Error + 'static)) -> ModelError {
    let mut message = error.to_string();
    let (mut has_timed_out, mut is_flooded) = (false, false);
    let mut is_answered = error.is::<hyper::Error>();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(plainly) = inner.downcast_ref().and_then(said_plainly) {
            message = plainly.to_owned();
        } else if !is_answered || inner.is::<io::Error>() {
            message = inner.to_string();
        }
        is_answered |= inner.is::<hyper::Error>();
        has_timed_out |= inner.is::<ConnectTimedOut>();
        let wrapped = inner.downcast_ref().and_then(io::Error::get_ref);
        is_flooded |= wrapped.is_some_and(<dyn Error + Send + Sync>::is::<TooManyInterim>);
        cause = inner.source();
    }
    let kind = if has_timed_out {
        ModelErrorKind::Timeout(TimeoutStage::Connect)
    } else if is_flooded {
        ModelErrorKind::Malformed
    } else {
        ModelErrorKind::Connection
    };
    ModelError::with_message(kind, &message)
}

/// Says why there is no connection in words of this program alone: of the server's own words, which HTTP/2 and certificates
/// bring, there is none.
pub(super) fn no_connection(error: &(dyn Error + 'static)) -> &'static str {
    for error in chain(error) {
        if error.is::<ConnectTimedOut>() {
            return "no connection in time";
        }
        if is_of_tls(error) {
            return "no connection over TLS, or a certificate that is not good to this machine";
        }
        if let Some(plainly) = error.downcast_ref().and_then(said_plainly) {
            return plainly;
        }
    }
    "no connection, or one that broke"
}

/// Returns whether there is no connection because TLS failed, which no waiting changes.
pub(super) fn has_tls_failed(error: &(dyn Error + 'static)) -> bool {
    chain(error).any(is_of_tls)
}

fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    // An `io::Error` names as its cause what is behind the error in it, not that error.
    let within = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    error.is::<rustls::Error>() || within.is_some_and(|within| is_of_tls(within))
}

/// Returns an error and its causes, from the outermost on.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// Says what became of a connection, in the same words on every system.
fn said_plainly(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some("the connection was refused"),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted | io::ErrorKind::BrokenPipe => {
            Some("the connection was dropped")
        }
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use hyper::client::conn::http2;
    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// Returns the error of a request that a server ends over HTTP/2, in words of its own.
    pub(in crate::http) async fn ended_by_a_server(words: &[u8]) -> hyper::Error {
        let (here, mut there) = tokio::io::duplex(65_536);
        let settings: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
        // GOAWAY on stream 0: no stream was seen to, ENHANCE_YOUR_CALM, and words.
        let length = [0, 0, u8::try_from(8 + words.len()).unwrap()];
        let go_away = [&length[..], &[7, 0, 0, 0, 0, 0], &[0; 4], &[0, 0, 0, 11], words].concat();
        let begun = http2::handshake(TokioExecutor::new(), TokioIo::new(here)).await;
        let (mut client, connection) = begun.unwrap();
        tokio::spawn(connection);
        let request = Request::post("https://provider.test/").body(Full::<Bytes>::default()).unwrap();
        let answer = tokio::spawn(client.send_request(request));
        there.write_all(settings).await.unwrap();
        there.read_exact(&mut [0; 24]).await.unwrap();
        loop {
            let mut head = [0; 9];
            there.read_exact(&mut head).await.unwrap();
            let length = usize::from(head[1]) << 8 | usize::from(head[2]);
            there.read_exact(&mut vec![0; length]).await.unwrap();
            // Behind the frame HEADERS the request is under way.
            if head[3] == 1 {
                break;
            }
        }
        there.write_all(&go_away).await.unwrap();
        let error = answer.await.unwrap().unwrap_err();
        let said = String::from_utf8_lossy(words);
        assert!(error.source().unwrap().to_string().contains(&*said), "{error:?}");
        error
    }

    #[derive(Debug, thiserror::Error)]
    #[error("client error (SendRequest)")]
    struct Sending(#[source] hyper::Error);

    #[tokio::test]
    async fn connection_error_omits_text_from_the_server() {
        for words in ["sk-very-secret", "Incorrect API key provided: sk-ab**cd"] {
            let ended = ended_by_a_server(words.as_bytes()).await;
            assert_eq!(connection_error(&ended).to_string(), "connection_failed: http2 error");
            assert_eq!(connection_error(&Sending(ended)).to_string(), "connection_failed: http2 error");
        }
    }
}

//! The HTTP client: one per provider, with connections that stay open between calls.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{PROXY_AUTHORIZATION, USER_AGENT};
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy::{self, ResponseFuture};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::connect::{ConnectTimedOut, Connector};
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
        let mut request = Request::new(Full::new(body));
        *request.headers_mut() = headers;
        self.send(Method::POST, endpoint.clone(), request)
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

/// Says why there is no connection.
pub(super) fn connection_error(error: &(dyn Error + 'static)) -> ModelError {
    let mut message = error.to_string();
    let mut has_timed_out = false;
    let mut cause = error.source();
    while let Some(inner) = cause {
        message =
            inner.downcast_ref().and_then(said_plainly).map_or_else(|| inner.to_string(), str::to_owned);
        has_timed_out |= inner.is::<ConnectTimedOut>();
        cause = inner.source();
    }
    let kind = if has_timed_out {
        ModelErrorKind::Timeout(TimeoutStage::Connect)
    } else {
        ModelErrorKind::Connection
    };
    ModelError::new(kind, &message)
}

/// Says why there is no connection in words of this program alone: of the server's own words, which HTTP/2 and certificates
/// bring, there is none.
pub(super) fn no_connection(error: &(dyn Error + 'static)) -> &'static str {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let io = error.downcast_ref::<io::Error>();
        let within = io.and_then(io::Error::get_ref);
        if error.is::<ConnectTimedOut>() {
            return "no connection in time";
        }
        if error.is::<rustls::Error>() || within.is_some_and(<dyn Error + Send + Sync>::is::<rustls::Error>) {
            return "no connection over TLS, or a certificate that is not good to this machine";
        }
        if let Some(plainly) = io.and_then(said_plainly) {
            return plainly;
        }
        cause = error.source();
    }
    "no connection, or one that broke"
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

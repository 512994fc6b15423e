//! The HTTP client: one per provider, with connections that stay open between calls.

use std::error::Error as _;
use std::io;
use std::time::Duration;

use reqwest::{Client, Url, redirect};

use crate::{ModelError, ModelErrorKind, TimeoutStage};

/// How long an unused connection is kept: a person may think between two debates.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// How often an open HTTP/2 connection is asked whether it still stands; shorter than what NATs forget after.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(30);

/// How long the answer to that may take before the connection counts as broken.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes a client that speaks HTTP/2 where the server does, and keeps its connections.
pub(super) fn new(endpoint: &Url, connect_timeout: Duration) -> Result<Client, reqwest::Error> {
    // A second call finds a provider installed and is refused, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("debate/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .tcp_keepalive(KEEP_ALIVE_INTERVAL)
        .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
        .http2_keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .http2_keep_alive_while_idle(true)
        .redirect(redirect::Policy::none());
    if endpoint.scheme() == "http" {
        // Nothing is verified without TLS, so a machine without CA certificates can still use a local server.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(endpoint) {
        builder = builder.no_proxy();
    }
    builder.build()
}

/// Opens a connection and leaves it in the pool; sends no key and ignores what comes back.
pub(super) async fn open_connection(client: &Client, endpoint: &Url, timeout: Duration) {
    let mut root = endpoint.clone();
    root.set_path("/");
    root.set_query(None);
    if let Err(error) = client.head(root).timeout(timeout).send().await {
        tracing::debug!(cause = %connection_error(&error.without_url()), "no connection could be opened early");
    }
}

/// Says why there is no connection, without the address, which may hold a secret.
pub(super) fn connection_error(error: &reqwest::Error) -> ModelError {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        message =
            inner.downcast_ref().and_then(said_plainly).map_or_else(|| inner.to_string(), str::to_owned);
        cause = inner.source();
    }
    let kind = if error.is_timeout() && error.is_connect() {
        ModelErrorKind::Timeout(TimeoutStage::Connect)
    } else {
        ModelErrorKind::Connection
    };
    ModelError::new(kind, &message)
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

fn is_loopback(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

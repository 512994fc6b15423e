//! Opening connections: straight to the server or through the proxy that the environment names for it, with TLS where
//! the address asks for it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use http::uri::Scheme;
use http::{HeaderValue, Uri};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use rustls::ClientConfig;
use tower_service::Service;

use super::client::KEEP_ALIVE_INTERVAL;
use super::interim::InterimCount;

/// The most bytes that are read at once before a response begins.
const HEAD_BYTES: usize = 4 << 10;

/// How long what was sent may go unacknowledged before the connection counts as broken.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(30);

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Connecting<T> = Pin<Box<dyn Future<Output = Result<T, BoxError>> + Send>>;

/// There was no connection in time.
#[derive(Debug, thiserror::Error)]
#[error("no connection in time")]
pub(super) struct ConnectTimedOut;

/// Opens the connections of one client, each within a limit of time.
#[derive(Debug, Clone)]
pub(super) struct Connector {
    secured: HttpsConnector<Route>,
    timeout: Duration,
}

impl Connector {
    /// Makes the connector for the server at `endpoint`. A proxy that reads the requests needs the returned
    /// `Proxy-Authorization` value in each of them.
    pub(super) fn new(endpoint: &Uri, tls: ClientConfig, timeout: Duration) -> (Self, Option<HeaderValue>) {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEP_ALIVE_INTERVAL));
        http.set_keepalive_interval(Some(KEEP_ALIVE_INTERVAL / 2));
        http.set_keepalive_retries(Some(3));
        #[cfg(target_os = "linux")]
        http.set_tcp_user_timeout(Some(UNACKNOWLEDGED_MAX));
        let proxy = Matcher::from_env().intercept(endpoint).filter(|_| !is_loopback(endpoint));
        let to_proxy = |http| {
            let secured = HttpsConnectorBuilder::new().with_tls_config(tls.clone()).https_or_http();
            secured.enable_http1().wrap_connector(http)
        };
        let mut proxy_auth = None;
        let route = match proxy {
            None => Route::Straight(http),
            Some(proxy) if endpoint.scheme() == Some(&Scheme::HTTP) => {
                proxy_auth = proxy.basic_auth().cloned();
                Route::Forwarded(proxy.uri().clone(), to_proxy(http))
            }
            Some(proxy) => {
                let tunnel = Tunnel::new(proxy.uri().clone(), to_proxy(http));
                Route::Tunnelled(match proxy.basic_auth() {
                    Some(authorization) => tunnel.with_auth(authorization.clone()),
                    None => tunnel,
                })
            }
        };
        let secured = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_all_versions();
        (Self { secured: secured.wrap_connector(route), timeout }, proxy_auth)
    }
}

impl Service<Uri> for Connector {
    type Response = Wire;
    type Error = BoxError;
    type Future = Connecting<Self::Response>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.secured.poll_ready(cx)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(self.timeout, self.secured.call(to));
        Box::pin(async move {
            Ok(match connecting.await.map_err(|_| ConnectTimedOut)?? {
                MaybeHttpsStream::Http(wire) => wire,
                secured @ MaybeHttpsStream::Https(_) => Wire::new(secured, false),
            })
        })
    }
}

/// The way that bytes take to the server.
#[derive(Debug, Clone)]
pub(super) enum Route {
    /// To the server itself.
    Straight(HttpConnector),
    /// To a proxy that reads the requests and passes them on.
    Forwarded(Uri, HttpsConnector<HttpConnector>),
    /// Through a proxy that passes on what it cannot read.
    Tunnelled(Tunnel<HttpsConnector<HttpConnector>>),
}

impl Service<Uri> for Route {
    type Response = Wire;
    type Error = BoxError;
    type Future = Connecting<Wire>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        match self {
            Self::Straight(http) => http.poll_ready(cx).map_err(Into::into),
            Self::Forwarded(_, https) => https.poll_ready(cx),
            Self::Tunnelled(tunnel) => tunnel.poll_ready(cx).map_err(Into::into),
        }
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        match self {
            Self::Straight(http) => {
                let connecting = http.call(to);
                Box::pin(async move { Ok(Wire::new(connecting.await?, false)) })
            }
            Self::Forwarded(proxy, https) => {
                let connecting = https.call(proxy.clone());
                Box::pin(async move { Ok(Wire::new(connecting.await?, true)) })
            }
            Self::Tunnelled(tunnel) => {
                let connecting = tunnel.call(to);
                Box::pin(async move { Ok(Wire::new(connecting.await?, false)) })
            }
        }
    }
}

/// What bytes go through: TCP, or TLS over it.
trait Stream: Read + Write + Connection + Send + Unpin {}

impl<T: Read + Write + Connection + Send + Unpin> Stream for T {}

/// An open connection. What it goes through stands apart: the state of TLS is 50 times that of TCP, and room for it would
/// be taken several times for each connection, also where there is no TLS.
pub(super) struct Wire {
    stream: Box<dyn Stream>,
    /// Whether its other end is a proxy that reads the requests, which must then name the server whole.
    is_forwarded: bool,
    interim: InterimCount,
}

impl Wire {
    fn new(stream: impl Stream + 'static, is_forwarded: bool) -> Self {
        Self { stream: Box::new(stream), is_forwarded, interim: InterimCount::default() }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut dyn Stream> {
        Pin::new(&mut *self.get_mut().stream)
    }
}

impl Connection for Wire {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_forwarded)
    }
}

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.interim.is_over() {
            return self.stream().poll_read(cx, into);
        }
        let mut memory = [0; HEAD_BYTES];
        let room = into.remaining().min(HEAD_BYTES);
        let mut head = ReadBuf::new(&mut memory[..room]);
        ready!(self.as_mut().stream().poll_read(cx, head.unfilled()))?;
        self.interim.read(head.filled())?;
        into.put_slice(head.filled());
        Poll::Ready(Ok(()))
    }
}

impl Write for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.interim.restart();
        self.stream().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.interim.restart();
        self.stream().poll_write_vectored(cx, parts)
    }
}

/// Returns whether what is sent to an address goes over a network unencrypted.
pub(super) fn is_in_the_clear(endpoint: &Uri) -> bool {
    endpoint.scheme() == Some(&Scheme::HTTP) && !is_loopback(endpoint)
}

/// Returns whether an address is on this machine, by its name alone.
pub(super) fn is_loopback(endpoint: &Uri) -> bool {
    let host = endpoint.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

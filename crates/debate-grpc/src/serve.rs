//! One port for everything: gRPC with reflection and health, and REST.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::from_fn_with_state;
use debate_engine::Engine;
use debate_proto::v1;
use debate_proto::v1::audit_service_server::AuditServiceServer;
use debate_proto::v1::debate_service_server::DebateServiceServer;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_health::server::HealthReporter;

use crate::access::{self, Access};
use crate::audit_service::Audits;
use crate::debate_service::Debates;
use crate::facade::{Admission, Facade};
use crate::rest;

/// The longest that a REST client waits for a result (the contract's timeout).
pub const PATIENCE_DEFAULT: Duration = Duration::from_secs(120);
/// The longest that open connections keep a server from ending.
pub const GRACE_DEFAULT: Duration = Duration::from_secs(10);
/// Bytes of one gRPC request: a request's limit, and what the encoding adds.
const MESSAGE_BYTES_MAX: usize = 2 * debate_core::request::sizes::REQUEST_BYTES_MAX;
/// How often a quiet connection is asked whether it is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Streams of one connection at once.
const STREAMS_MAX: u32 = 1_000;

/// How a server serves.
#[derive(Clone)]
pub struct ServeOptions {
    /// The service token; needed unless only this machine can connect.
    pub token: Option<String>,
    /// The longest that a REST client waits for a result before it is told 202.
    pub patience: Duration,
    /// The longest that open connections keep the server from ending.
    pub grace: Duration,
    /// The last word on valid requests.
    pub admission: Admission,
    /// Further routes that hold no data: everybody may have them.
    pub pages: Router,
    /// Further routes behind the same door as the interfaces.
    pub data: Router,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            token: None,
            patience: PATIENCE_DEFAULT,
            grace: GRACE_DEFAULT,
            admission: Arc::new(|_| Ok(())),
            pages: Router::new(),
            data: Router::new(),
        }
    }
}

impl std::fmt::Debug for ServeOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let token = if self.token.is_some() { "set" } else { "none" };
        f.debug_struct("ServeOptions").field("token", &token).finish_non_exhaustive()
    }
}

/// A server could not begin, or ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Without a token, only this machine may connect.
    #[error(
        "{address} can be reached from other machines, and no token is set; set one or listen on 127.0.0.1"
    )]
    TokenNeeded {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// The token is one that nobody can send.
    #[error("the token must be printable ASCII without spaces, and not empty")]
    Token,
    /// The listener is of no use.
    #[error("the listener is of no use")]
    Listener(#[source] std::io::Error),
    /// Reflection cannot read the descriptors: a defect of this program.
    #[error("the descriptors cannot be read")]
    Descriptors(#[from] tonic_reflection::server::Error),
    /// The transport failed.
    #[error("the transport failed")]
    Transport(#[from] tonic::transport::Error),
}

/// Serves an engine until `shutdown`; then ends streams with UNAVAILABLE and waits for requests, at most the grace.
///
/// The engine is not shut down; neither are debates taken up that were left behind: that is the caller's.
///
/// # Errors
/// The address needs a token, or the transport failed.
pub async fn serve(
    listener: TcpListener,
    engine: Engine,
    options: ServeOptions,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServeError> {
    let address = listener.local_addr().map_err(ServeError::Listener)?;
    check_token(options.token.as_deref(), address)?;
    let closing = CancellationToken::new();
    let facade = Facade::new(engine, options.admission, closing.clone());
    let access = Access::new(options.token.as_deref());
    let (health, app) = app(facade, &access, options.patience, (options.pages, options.data)).await?;
    let signal = {
        let closing = closing.clone();
        async move {
            shutdown.await;
            health.set_not_serving::<DebateServiceServer<Debates>>().await;
            health.set_not_serving::<AuditServiceServer<Audits>>().await;
            closing.cancel();
        }
    };
    let serving = Server::builder()
        .accept_http1(true)
        .http2_keepalive_interval(Some(KEEPALIVE))
        .max_concurrent_streams(STREAMS_MAX)
        .add_routes(Routes::from(app))
        .serve_with_incoming_shutdown(TcpIncoming::from(listener).with_nodelay(Some(true)), signal);
    let patience_over = async {
        closing.cancelled().await;
        tokio::time::sleep(options.grace).await;
    };
    tokio::select! {
        served = serving => Ok(served?),
        () = patience_over => {
            tracing::warn!("connections were still open when the server ended");
            Ok(())
        }
    }
}

fn check_token(token: Option<&str>, address: SocketAddr) -> Result<(), ServeError> {
    match token {
        Some(token) if token.is_empty() || !token.chars().all(|c| c.is_ascii_graphic()) => {
            Err(ServeError::Token)
        }
        None if !access::is_private(address) => Err(ServeError::TokenNeeded { address }),
        Some(_) | None => Ok(()),
    }
}

async fn app(
    facade: Facade,
    access: &Access,
    patience: Duration,
    (pages, data): (Router, Router),
) -> Result<(HealthReporter, Router), ServeError> {
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<DebateServiceServer<Debates>>().await;
    health.set_serving::<AuditServiceServer<Audits>>().await;
    let debates = DebateServiceServer::new(Debates(facade.clone()));
    let audits = AuditServiceServer::new(Audits(facade.clone()));
    let mut routes = Routes::builder();
    routes
        .add_service(health_service)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?)
        .add_service(debates.max_decoding_message_size(MESSAGE_BYTES_MAX))
        .add_service(audits.max_decoding_message_size(MESSAGE_BYTES_MAX));
    let app = routes
        .routes()
        .into_axum_router()
        .merge(rest::router(facade, patience))
        .merge(data)
        .fallback(access::nothing_here)
        .layer(from_fn_with_state(access.clone(), access::check))
        .merge(pages);
    Ok((health, app))
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(v1::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_types::pb::FILE_DESCRIPTOR_SET)
}

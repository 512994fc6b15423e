//! Whether requests can be served now: the health of gRPC and `/readyz` say so, `/healthz` only that the process lives.
//!
//! The store is asked on a beat of its own, not when somebody asks here, so that strangers cannot keep it busy.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use debate_engine::Engine;
use debate_proto::v1::audit_service_server::AuditServiceServer;
use debate_proto::v1::debate_service_server::DebateServiceServer;
use debate_proto::v1::policy_service_server::PolicyServiceServer;
use debate_store::EventStore;
use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

use crate::audit_service::Audits;
use crate::debate_service::Debates;
use crate::policy_service::Policies;
use crate::telemetry;

/// How often the store is asked.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
fn with_causes(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The services whose health is reported; the empty name is the server's.
const SERVICES: [&str; 4] = [
    "",
    DebateServiceServer::<Debates>::NAME,
    AuditServiceServer::<Audits>::NAME,
    PolicyServiceServer::<Policies>::NAME,
];

/// Whether a server is ready.
#[derive(Debug, Clone)]
pub(crate) struct Readiness {
    is_ready: Arc<AtomicBool>,
    health: HealthReporter,
}

impl Readiness {
    /// A server that is not ready yet.
    pub(crate) async fn new(health: HealthReporter) -> Self {
        let readiness = Self { is_ready: Arc::default(), health };
        readiness.set(false).await;
        readiness
    }

    /// Returns the route that tells it over HTTP.
    pub(crate) fn router(&self, store: Arc<dyn EventStore>) -> Router {
        let is_ready = Arc::clone(&self.is_ready);
        // Where the store is costs nothing to see, so it is looked at whenever somebody asks.
        let readyz = async move || match is_ready.load(Ordering::Relaxed) && store.is_in_place() {
            true => (StatusCode::OK, "ready"),
            false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
        };
        Router::new().route("/readyz", get(readyz))
    }

    /// Asks whether the engine can serve, and tells it; notes in the log when that changes.
    pub(crate) async fn look(&self, engine: &Engine) {
        let ready = tokio::time::timeout(PATIENCE, engine.ready()).await;
        let why = match &ready {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(with_causes(error)),
            Err(_) => Some("the store does not answer".to_owned()),
        };
        if self.is_ready.load(Ordering::Relaxed) == why.is_none() {
            return;
        }
        match why {
            None => tracing::info!("ready"),
            Some(why) => tracing::warn!(why, "not ready"),
        }
        self.set(ready.is_ok_and(|ready| ready.is_ok())).await;
    }

    /// Looks again and again.
    pub(crate) async fn watch(&self, engine: &Engine) {
        loop {
            tokio::time::sleep(ASKED_EVERY).await;
            self.look(engine).await;
        }
    }

    /// Tells whether the server is ready.
    pub(crate) async fn set(&self, is_ready: bool) {
        if self.is_ready.swap(is_ready, Ordering::Relaxed) != is_ready {
            telemetry::ready(is_ready);
        }
        let status = if is_ready { ServingStatus::Serving } else { ServingStatus::NotServing };
        for service in SERVICES {
            self.health.set_service_status(service, status).await;
        }
    }
}

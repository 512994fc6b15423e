//! Pages of other sites that may use this server through a browser (CORS): none, unless they are named.

use std::time::Duration;

use axum::http::header::{self, HeaderName};
use axum::http::{HeaderValue, Method, Uri};
use tower_http::cors::CorsLayer;

/// What pages may send; everything else a browser asks about before.
const SENT: [HeaderName; 11] = [
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    header::IF_NONE_MATCH,
    HeaderName::from_static("grpc-timeout"),
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("prefer"),
    HeaderName::from_static("traceparent"),
    HeaderName::from_static("tracestate"),
    HeaderName::from_static("x-grpc-web"),
    HeaderName::from_static("x-user-agent"),
];
/// What pages may read of an answer.
const SHOWN: [HeaderName; 7] = [
    header::ETAG,
    header::LOCATION,
    header::RETRY_AFTER,
    HeaderName::from_static("grpc-message"),
    HeaderName::from_static("grpc-status"),
    HeaderName::from_static("grpc-status-details-bin"),
    HeaderName::from_static("preference-applied"),
];
/// How long a browser need not ask again.
const KEPT: Duration = Duration::from_secs(3_600);

/// A site whose pages may use this server: scheme, host and port, as browsers write them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(HeaderValue);

/// The text is not an origin. The error does not show it, because it may contain a login.
#[derive(Debug, thiserror::Error)]
#[error("it is no origin; write scheme, host and port as in https://app.example or http://localhost:3000")]
pub struct OriginError;

impl std::str::FromStr for Origin {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        let uri: Uri = text.parse().map_err(|_| OriginError)?;
        let scheme =
            uri.scheme_str().filter(|scheme| ["http", "https"].contains(scheme)).ok_or(OriginError)?;
        let place = uri.authority().ok_or(OriginError)?;
        let host = place.host().to_ascii_lowercase();
        let port = place.port_u16().map(|port| format!(":{port}")).unwrap_or_default();
        if text != format!("{scheme}://{host}{port}") {
            return Err(OriginError);
        }
        HeaderValue::from_str(text).map(Self).map_err(|_| OriginError)
    }
}

/// Returns what answers browsers about the origins; nothing where there are none.
pub(crate) fn layer(origins: &[Origin]) -> Option<CorsLayer> {
    let allowed: Vec<HeaderValue> = origins.iter().map(|origin| origin.0.clone()).collect();
    let layer = CorsLayer::new()
        .allow_methods([Method::GET, Method::POST])
        .allow_headers(SENT)
        .expose_headers(SHOWN)
        .max_age(KEPT);
    (!allowed.is_empty()).then(|| layer.allow_origin(allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_written_as_browsers_write_it() {
        for good in ["https://app.example", "http://localhost:3000", "https://[::1]:8443"] {
            assert_eq!(good.parse::<Origin>().unwrap().0, good);
        }
        for bad in [
            "",
            "*",
            "null",
            "app.example",
            "https://",
            "https://app.example/",
            "https://App.example",
            "ftp://app.example",
            "https://me@app.example",
            "https://app.example?x",
            "https://app.example:x",
        ] {
            assert!(bad.parse::<Origin>().is_err(), "{bad}");
        }
    }
}

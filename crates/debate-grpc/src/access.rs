//! Who may come in: whoever has the service token, where there is one; health is for everybody.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use debate_core::id::Digest;
use tonic::Status;

use crate::refusal::Refusal;

/// What is served without a token.
const OPEN_PATHS: [&str; 2] = ["/healthz", "/grpc.health.v1.Health/"];

/// The digest of the token that is needed, if one is.
#[derive(Debug, Clone)]
pub(crate) struct Access(Option<Arc<Digest>>);

impl Access {
    pub(crate) fn new(token: Option<&str>) -> Self {
        Self(token.map(|token| Arc::new(Digest::of_text(token))))
    }

    fn allows(&self, path: &str, headers: &HeaderMap) -> bool {
        let Some(wanted) = &self.0 else { return true };
        if OPEN_PATHS.iter().any(|open| path.starts_with(open)) {
            return true;
        }
        let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = given.and_then(|given| {
            let (scheme, token) = given.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        token.is_some_and(|token| are_same(wanted, &Digest::of_text(token)))
    }
}

/// Returns whether a server without a token may listen here.
pub(crate) fn is_private(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Lets a request pass, or refuses it in the way of its protocol.
pub(crate) async fn check(State(access): State<Access>, request: Request, next: Next) -> Response {
    if access.allows(request.uri().path(), request.headers()) {
        return next.run(request).await;
    }
    refuse(request.headers(), Refusal::Unauthenticated)
}

/// Answers a request that nobody serves.
pub(crate) async fn nothing_here(headers: HeaderMap) -> Response {
    refuse(&headers, Refusal::NoRoute)
}

fn refuse(headers: &HeaderMap, refusal: Refusal) -> Response {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    if content_type.is_some_and(|value| value.starts_with(b"application/grpc")) {
        return Status::from(refusal).into_http::<Body>();
    }
    refusal.into_response()
}

/// Compares in a time that does not depend on where the two differ.
fn are_same(one: &Digest, other: &Digest) -> bool {
    let different = one.0.iter().zip(&other.0).fold(0, |different, (a, b)| different | (a ^ b));
    std::hint::black_box(different) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(path: &str, authorization: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        if let Some(value) = authorization {
            headers.insert(AUTHORIZATION, value.parse().unwrap());
        }
        Access::new(Some("secret")).allows(path, &headers)
    }

    #[test]
    fn p22_only_the_token_opens_the_door_and_health_is_open() {
        assert!(allows("/debate.v1.DebateService/GetDebate", Some("Bearer secret")));
        assert!(allows("/api/v1/reasoning/debate", Some("bearer secret")));
        for wrong in [None, Some("secret"), Some("Basic secret"), Some("Bearer secreT"), Some("Bearer ")] {
            assert!(!allows("/api/v1/reasoning/debate", wrong), "{wrong:?}");
        }
        assert!(allows("/healthz", None));
        assert!(allows("/grpc.health.v1.Health/Check", None));
        assert!(!allows("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", None));
        assert!(Access::new(None).allows("/x", &HeaderMap::new()));
    }

    #[test]
    fn only_loopback_is_private() {
        for (address, private) in [
            ("127.0.0.1:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("10.0.0.1:1", false),
        ] {
            assert_eq!(is_private(address.parse().unwrap()), private, "{address}");
        }
    }
}

//! The auth layer: who may send which request, how often, for how long; and what becomes of a handler that panics.

mod grant;
mod needs;
mod token_store;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::Response;
use debate_engine::{Resumable, Tenant};
use futures::FutureExt as _;

pub(crate) use grant::{Grant, now};
pub(crate) use needs::{Needs, TABLE};
use needs::{is_grpc, is_listed, needs, place};
pub(crate) use token_store::TokenStore;

use crate::bodies::{Inbound, Outbound};
use crate::following::grpc_timeout;
use crate::protocol::Protocol;
use crate::refusal::Refusal;
use crate::status;
use crate::telemetry::Call;
use crate::unread::{Held, Reached, Unread};

/// The services whose requests may be as long as a client likes to listen.
const ENDLESS_REQUESTS: &str = "/grpc.reflection.";

/// Where a browser says that a request comes from, and what for.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// Authenticates and limits every request.
#[derive(Debug, Clone)]
pub(crate) struct AuthLayer {
    pub(crate) token_store: Arc<TokenStore>,
    /// The longest that a request's body may take to arrive.
    pub(crate) body_patience: Duration,
    pub(crate) unread: Arc<Unread>,
}

/// Returns whether a server without a token may listen here.
pub(crate) fn is_private(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

/// Returns whether others on the network can read what is said, which is worth a warning.
pub(crate) fn is_overheard(address: SocketAddr, has_tls: bool) -> bool {
    !has_tls && !is_private(address)
}

/// Lets a request pass, or refuses it in the way of its protocol.
///
/// What passes has its [`Grant`] and its [`Tenant`] among its extensions, and counts against the grant until its answer has
/// gone out to the end.
pub(crate) async fn guard(State(auth): State<AuthLayer>, request: Request, next: Next) -> Response {
    let protocol = Protocol::of(request.headers());
    let template = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    let place = place(template, request.uri().path());
    let mut call = Call::begin(protocol, request.method().clone(), place);
    match auth.pass(request) {
        Ok(passed) => passed.answer(protocol, next, call, &auth.unread).await,
        Err(refusal) => {
            let refused = protocol.refuse(refusal);
            call.answered(&refused);
            watched(refused, protocol, &auth.unread)
        }
    }
}

/// Has an answer that no token is needed for given up, like all others, where its client stops reading; a panic is answered.
pub(crate) async fn watch_over(State(unread): State<Arc<Unread>>, request: Request, next: Next) -> Response {
    let protocol = Protocol::of(request.headers());
    let answered = Refusal::instead_of_panic(next.run(request).map(Ok)).await;
    watched(answered.unwrap_or_else(|panicked| protocol.refuse(panicked)), protocol, &unread)
}

fn watched(answer: Response, protocol: Protocol, unread: &Unread) -> Response {
    answer.map(|body| {
        let held = Held::for_everybody(body);
        let outbound = Outbound::new(held, protocol, Arc::new(Grant::everything()), None);
        Body::new(outbound.watched_over(None, unread))
    })
}

struct Passed {
    request: Request,
    grant: Arc<Grant>,
    permit: Option<tokio::sync::OwnedSemaphorePermit>,
    timeout: Option<Duration>,
}

impl AuthLayer {
    fn pass(&self, request: Request) -> Result<Passed, Refusal> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path();
        let template = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
        let found = needs(parts.method.as_str(), path)
            .or_else(|| template.and_then(|template| needs(parts.method.as_str(), template)));
        if found == Some(Needs::Nothing) {
            let request = Request::from_parts(parts, self.bounded(body, crate::serve::QUESTION_BYTES_MAX));
            return Ok(Passed { request, grant: Arc::new(Grant::everything()), permit: None, timeout: None });
        }
        let grant = self.token_store.grant(bearer(&parts.headers)).ok_or(Refusal::Unauthenticated)?;
        if !self.token_store.needs_tokens() && is_of_another_site(&parts.headers, &parts.uri) {
            return Err(Refusal::Forbidden {
                what: "a token, which requests of other sites need".to_owned(),
            });
        }
        let permit = grant.enter()?;
        match found {
            Some(Needs::Scope(scope)) if !grant.may(scope) => {
                return Err(Refusal::Forbidden { what: format!("the scope {scope}") });
            }
            Some(Needs::Scope(_) | Needs::Token | Needs::Nothing) => {}
            None if template.is_some_and(is_listed) => return Err(Refusal::NoMethod),
            None => return Err(Refusal::NoRoute),
        }
        if is_grpc(path) && Protocol::of(&parts.headers) != Protocol::Grpc {
            return Err(Refusal::NotGrpc);
        }
        if !is_text(path) {
            return Err(Refusal::NoRoute);
        }
        let bytes_max = grant.request_bytes_max();
        let is_endless = path.starts_with(ENDLESS_REQUESTS);
        let body = if is_endless {
            Body::new(Inbound::new(body, bytes_max, None))
        } else {
            self.bounded(body, bytes_max)
        };
        let timeout = parts.headers.get("grpc-timeout").and_then(|value| value.to_str().ok());
        let timeout = grpc_timeout(timeout);
        if timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Refusal::DeadlineExceeded);
        }
        parts.extensions.insert(Tenant(grant.tenant.clone()));
        parts.extensions.insert(Arc::clone(&grant));
        Ok(Passed { request: Request::from_parts(parts, body), grant, permit: Some(permit), timeout })
    }

    fn bounded(&self, body: Body, bytes_max: usize) -> Body {
        Body::new(Inbound::new(body, bytes_max, Some(self.body_patience)))
    }
}

impl Passed {
    /// Has the request answered; a panic is answered too, and so is a deadline that passes before there is an answer.
    async fn answer(self, protocol: Protocol, next: Next, mut call: Call, unread: &Unread) -> Response {
        let answering = Refusal::instead_of_panic(next.run(self.request).map(Ok));
        let answered = match self.timeout {
            Some(timeout) => tokio::time::timeout(timeout, answering).await,
            None => Ok(answering.await),
        };
        let mut response = match answered {
            Ok(Ok(response)) => protocol.refuse_undecodable(response),
            Ok(Err(panicked)) => protocol.refuse(panicked),
            Err(_elapsed) => protocol.refuse(Refusal::DeadlineExceeded),
        };
        status::shorten(response.headers_mut());
        let Self { grant, permit, .. } = self;
        let reached = response.extensions().get::<Reached>().cloned();
        let is_resumable = reached.is_some() || response.extensions().get::<Resumable>().is_some();
        call.answered(&response);
        response.map(|body| {
            let outbound = Outbound::new(Held::new(body, is_resumable), protocol, grant, permit);
            Body::new(outbound.measured(call).watched_over(reached, unread))
        })
    }
}

/// Returns whether a page of another site sent this through the browser of somebody on this machine: by itself, or as if its
/// own name were that of this machine.
pub(crate) fn is_of_another_site(headers: &HeaderMap, uri: &Uri) -> bool {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let host = uri.authority().map(Authority::as_str).or_else(|| text(HOST));
    let origin = text(ORIGIN).map(|origin| origin.split_once("://").map_or(origin, |(_, place)| place));
    // Of what a page has fetched without reading it a browser names no origin. A link that somebody follows is their own wish.
    let is_fetched = origin.is_none()
        && text(SEC_FETCH_SITE) == Some("cross-site")
        && text(SEC_FETCH_DEST) != Some("document");
    let is_here = |place: &str| {
        let name = place.parse::<Authority>().map(|place| place.host().to_owned()).unwrap_or_default();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        name == "localhost" || name.ends_with(".localhost") || address.is_ok_and(|ip| ip.is_loopback())
    };
    is_fetched || host.into_iter().chain(origin).any(|place| !is_here(place))
}

/// Returns whether a path is text, once what is escaped in it is read.
fn is_text(path: &str) -> bool {
    let mut pieces = path.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        match piece.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend_from_slice(&piece.as_bytes()[2..]);
            }
            None => bytes.extend_from_slice(piece.as_bytes()),
        }
    }
    std::str::from_utf8(&bytes).is_ok()
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

#[cfg(test)]
mod tests;

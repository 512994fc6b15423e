//! The contract's five endpoints (rule P22). Submodules add the endpoints for debates of all formats and the OpenAPI
//! document.

mod debates;
mod openapi;

pub use debates::{debate_json, event_json, listed_json};

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Extension, Path, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::format::Format as _;
use debate_core::formats::accept::accept_bytes_with;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::prediction::{Prediction, conclude};
use debate_core::formats::roundtable::{Roundtable, markdown};
use debate_core::id::{DebateId, Digest};
use debate_core::prose::Texts;
use debate_core::request::sizes::REQUEST_BYTES_MAX;
use debate_core::stop::Completeness;
use mime::Mime;
use serde_json::json;

use crate::access::Grant;
use crate::bodies::bound_of;
use crate::debate_service::WAY_BACK_SHARE;
use crate::facade::{Facade, Opening, TenantSession};
use crate::refusal::Refusal;
use crate::{prompt_texts, trace_context, wire_json};

/// Where debates are.
const DEBATES: &str = "/api/v1/reasoning/debate";
/// The header with the client's id of a request (rule K11).
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The name under which events caused through REST are recorded.
pub(crate) const INTERFACE: &str = "rest";
/// When a client may ask again for a debate that runs, in seconds.
const ASK_AGAIN_S: &str = "1";
const JSON: &str = "application/json";
/// The type of a document in Markdown.
const MARKDOWN: &str = "text/markdown";

#[derive(Clone)]
struct Rest {
    facade: Facade,
    patience: Duration,
}

impl Rest {
    fn session(&self, grant: Arc<Grant>) -> TenantSession {
        self.facade.session(grant, INTERFACE)
    }
}

/// Returns the endpoints. A debate that takes longer than `patience` is answered with 202 and goes on.
pub(crate) fn router(facade: Facade, patience: Duration) -> Router {
    let path = |rest: &str| format!("{DEBATES}{rest}");
    Router::new()
        .route(DEBATES, post(hold))
        .route(&path("/{debate_id}"), get(result))
        .route(&path("/{debate_id}/round/{round_number}"), get(round))
        .route(&path("/{debate_id}/role/{role_name}"), get(role))
        .route(&path("/{debate_id}/consensus"), get(consensus))
        .route(debates::DEBATES, post(debates::start).get(debates::list))
        .route("/api/v1/debates/{debate_id}", get(debates::show))
        .route("/api/v1/debates/{debate_id}/events", get(debates::events))
        .route("/api/v1/debates/{debate_id}/resolution", post(debates::resolve))
        .route("/api/v1/debates/{debate_id}/continue", post(debates::go_on))
        .route(debates::RESUME, post(debates::resume))
        .route("/api/v1/prompts", get(prompts))
        .route("/api/v1/prompts/{format}/{name}", get(prompt))
        .route("/api/v1/openapi.json", get(description))
        .route("/healthz", get(async || "ok"))
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(Rest { facade, patience })
}

/// Opens a debate and waits for its result.
async fn hold(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let session = rest.session(grant);
    let body = body_of(&headers, body)?;
    let prefer = Prefer::of(&headers);
    let started = session
        .start(
            |violations| accept_bytes_with(violations, &body),
            contract_opening(&headers, prefer.deadline()),
        )
        .await?;
    session.wait(started.debate, prefer.patience(rest.patience)).await?;
    let debate = session.debate(&started.debate.to_string(), None).await?;
    let mut answer = whole(&debate, &headers)?;
    if let Some(applied) = prefer.applied() {
        answer.headers_mut().insert("Preference-Applied", applied);
    }
    Ok(answer)
}

/// Returns the body of a request, which is JSON where it says what it is.
pub(crate) fn body_of(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Bytes, Refusal> {
    let is_json = |value: &HeaderValue| {
        let content_type = value.to_str().ok().and_then(|text| text.parse::<Mime>().ok());
        content_type.is_some_and(|content_type| content_type.essence_str() == JSON)
    };
    if headers.get(header::CONTENT_TYPE).is_some_and(|value| !is_json(value)) {
        return Err(Refusal::NotJson);
    }
    body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLong(REQUEST_BYTES_MAX),
        _ => bound_of(&rejection).unwrap_or(Refusal::Unreadable),
    })
}

/// Reads what the headers say of a debate that is to be opened.
fn opening(headers: &HeaderMap, deadline: Option<Duration>) -> Opening {
    // Where it is no text, what stands for its bytes is refused with whatever else is wrong.
    let key = headers.get(IDEMPOTENCY_KEY).map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
    let trace = trace_context::read(|name| headers.get(name)?.to_str().ok());
    // An empty key is wrong, and no key is none: a blank stands for the one, and is refused with whatever else is wrong.
    let request_id = key.map_or_else(String::new, |key| if key.is_empty() { " ".to_owned() } else { key });
    Opening { request_id, id_field: IDEMPOTENCY_KEY, trace, deadline, ..Opening::default() }
}

/// Reads the same for the contract's endpoint, whose deadline is wall time (rule K24).
fn contract_opening(headers: &HeaderMap, deadline: Option<Duration>) -> Opening {
    Opening { keeps_wall_time: true, ..opening(headers, deadline) }
}

/// How a client wants to be answered (RFC 7240); what is not understood is passed over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Prefer {
    respond_async: bool,
    wait_s: Option<u32>,
}

impl Prefer {
    fn of(headers: &HeaderMap) -> Self {
        let mut prefer = Self::default();
        let values = headers.get_all("Prefer").iter().filter_map(|value| value.to_str().ok());
        for wish in values.flat_map(|value| value.split(',')) {
            match wish.trim().split_once('=') {
                None => prefer.respond_async |= wish.trim().eq_ignore_ascii_case("respond-async"),
                Some((name, seconds)) if name.trim().eq_ignore_ascii_case("wait") => {
                    prefer.wait_s = prefer.wait_s.or(seconds.trim().parse().ok().filter(|wait| *wait > 0));
                }
                Some(_) => {}
            }
        }
        prefer
    }

    /// Returns when the debate has to end for a client who waits only so long.
    fn deadline(self) -> Option<Duration> {
        let wait = Duration::from_secs(self.wait_s.filter(|_| !self.respond_async)?.into());
        Some(wait - wait / WAY_BACK_SHARE)
    }

    /// Returns how long the answer may take, no longer than `longest`.
    fn patience(self, longest: Duration) -> Duration {
        match (self.wait_s, self.respond_async) {
            (Some(seconds), _) => longest.min(Duration::from_secs(seconds.into())),
            (None, true) => Duration::ZERO,
            (None, false) => longest,
        }
    }

    fn applied(self) -> Option<HeaderValue> {
        match (self.respond_async, self.wait_s) {
            (false, None) => None,
            (true, None) => Some(HeaderValue::from_static("respond-async")),
            (false, Some(wait)) => HeaderValue::try_from(format!("wait={wait}")).ok(),
            (true, Some(wait)) => HeaderValue::try_from(format!("respond-async, wait={wait}")).ok(),
        }
    }
}

/// Lists the texts of prompts (rule P24).
async fn prompts() -> Response {
    body(&wire_json::of(&prompt_texts::list(), "ListPromptsResponse"))
}

/// Returns a text of a prompt.
async fn prompt(Path((format, name)): Path<(String, String)>) -> Result<Response, Refusal> {
    let found = prompt_texts::get(&format!("{format}/{name}"))?;
    Ok(body(&wire_json::of(&found, "GetPromptResponse")))
}

/// Returns the description of all that is served.
async fn description() -> Response {
    ([(header::CONTENT_TYPE, JSON)], openapi::DOCUMENT.as_str()).into_response()
}

/// Returns a debate's result; that of a roundtable as a Markdown document where the client accepts one (rule T10).
async fn result(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let show = move |debate: AnyDebate| {
        let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
        match &debate {
            AnyDebate::Roundtable(table) if accepted.is_some_and(|accepted| accepted.contains(MARKDOWN)) => {
                if let Some(unfinished) = unfinished(&debate)? {
                    return Ok(unfinished);
                }
                let document = markdown::document(&Roundtable::outcome(table, Texts::Shown));
                Ok(([(header::CONTENT_TYPE, MARKDOWN)], document).into_response())
            }
            AnyDebate::Roundtable(_)
            | AnyDebate::Prediction(_)
            | AnyDebate::Deliberation(_)
            | AnyDebate::Review(_)
            | AnyDebate::Investigation(_) => whole(&debate, &headers),
        }
    };
    rest.session(grant).read(&id, None, show).await
}

fn whole(debate: &AnyDebate, headers: &HeaderMap) -> Result<Response, Refusal> {
    if let Some(unfinished) = unfinished(debate)? {
        return Ok(unfinished);
    }
    Ok(tagged(headers, debate.outcome_json(Texts::Shown)))
}

/// Returns one round, as soon as it is over.
async fn round(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let debate = rest.session(grant).debate(&id, None).await?;
    let missing = || Refusal::NoPart { debate: debate.id(), part: format!("round {number}") };
    let prediction = prediction(&debate).ok_or_else(missing)?;
    let place: u32 = number.parse().map_err(|_| missing())?;
    let is_planned = (1..=prediction.config().rounds).contains(&place);
    let is_over = prediction.state().summary(place).is_some();
    if is_planned && !is_over && debate.lifecycle() != Lifecycle::Concluded {
        return Ok(running(&debate));
    }
    let round = conclude::round(prediction, place, Texts::Shown).ok_or_else(missing)?;
    Ok(body(&json!({ "round": round })))
}

/// Returns everything that one role said.
async fn role(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let debate = rest.session(grant).debate(&id, None).await?;
    let missing = || Refusal::NoPart { debate: debate.id(), part: format!("role {name}") };
    let prediction = prediction(&debate).ok_or_else(missing)?;
    let config = prediction.config();
    if !config.roles.iter().any(|role| role.as_str() == name) {
        return Err(missing());
    }
    if debate.lifecycle() != Lifecycle::Concluded {
        return Ok(running(&debate));
    }
    let turns = prediction.state().turns(config).filter(|turn| turn.made.role.as_str() == name);
    let arguments: Vec<_> = turns.map(|turn| conclude::entry(config, turn, Texts::Shown)).collect();
    Ok(body(&json!({ "arguments": arguments })))
}

/// Returns where the roles agree and where not.
async fn consensus(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let debate = rest.session(grant).debate(&id, None).await?;
    let missing = || Refusal::NoPart { debate: debate.id(), part: "consensus of roles".to_owned() };
    let prediction = prediction(&debate).ok_or_else(missing)?;
    if let Some(unfinished) = unfinished(&debate)? {
        return Ok(unfinished);
    }
    let outcome = Prediction::outcome(prediction, Texts::Shown);
    Ok(body(&json!({
        "consensus_score": outcome.consensus_score,
        "probability_distribution": outcome.probability_distribution,
        "disagreement_map": outcome.disagreement_map,
    })))
}

fn prediction(debate: &AnyDebate) -> Option<&Debate<Prediction>> {
    match debate {
        AnyDebate::Prediction(debate) => Some(debate),
        AnyDebate::Deliberation(_)
        | AnyDebate::Roundtable(_)
        | AnyDebate::Review(_)
        | AnyDebate::Investigation(_) => None,
    }
}

/// Returns what to answer while there is no outcome; refuses a debate that is void (rule P16).
fn unfinished(debate: &AnyDebate) -> Result<Option<Response>, Refusal> {
    if debate.lifecycle() != Lifecycle::Concluded {
        return Ok(Some(running(debate)));
    }
    match debate.completeness() {
        Completeness::Void { why } => Err(Refusal::Void { debate: debate.id(), why }),
        Completeness::Full | Completeness::Partial { .. } => Ok(None),
    }
}

/// Says that a debate is still running, and how far it is.
fn running(debate: &AnyDebate) -> Response {
    let id: DebateId = debate.id();
    let (phase, round) = debate.phase().unzip();
    let status = json!({
        "debate_id": id,
        "status": debate.lifecycle().as_str(),
        "phase": phase,
        "round": round,
        "head_seq": debate.head(),
        "opened_at": debate.opened_at().to_string(),
        "deadline_at": debate.deadline().map(|deadline| deadline.to_string()),
    });
    let headers = [
        (header::CONTENT_TYPE, JSON.to_owned()),
        (header::LOCATION, format!("{DEBATES}/{id}")),
        (header::RETRY_AFTER, ASK_AGAIN_S.to_owned()),
    ];
    (StatusCode::ACCEPTED, headers, status.to_string()).into_response()
}

/// Returns what no longer changes by itself, or says that the client has it already. A redaction or a continued debate
/// changes it, and its tag with it.
fn tagged(headers: &HeaderMap, text: String) -> Response {
    let tag = format!("\"{}\"", Digest::of_text(&text));
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let is_known = known.is_some_and(|known| {
        known.split(',').any(|known| ["*", &tag].contains(&known.trim().trim_start_matches("W/")))
    });
    let about = [(header::ETAG, tag)];
    if is_known {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(header::CONTENT_TYPE, JSON)], text).into_response()
}

fn body(json: &serde_json::Value) -> Response {
    ([(header::CONTENT_TYPE, JSON)], json.to_string()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_are_read_and_what_is_not_understood_is_passed_over() {
        for (value, respond_async, wait_s) in [
            ("respond-async", true, None),
            ("wait=10", false, Some(10)),
            ("Respond-Async, wait = 10", true, Some(10)),
            ("wait=0, handling=lenient; x", false, None),
            ("wait=-1", false, None),
        ] {
            let headers = HeaderMap::from_iter([(
                header::HeaderName::from_static("prefer"),
                HeaderValue::from_static(value),
            )]);
            assert_eq!(Prefer::of(&headers), Prefer { respond_async, wait_s }, "{value}");
        }
        let wait = Prefer { respond_async: false, wait_s: Some(60) };
        assert_eq!(wait.deadline(), Some(Duration::from_secs(55)));
        assert_eq!(wait.patience(Duration::from_secs(30)), Duration::from_secs(30));
    }
}

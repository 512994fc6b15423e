//! The contract's five endpoints (rule P22).

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use debate_core::debate::{Debate, Lifecycle};
use debate_core::format::Format as _;
use debate_core::formats::accept::accept_bytes;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::prediction::{Prediction, conclude};
use debate_core::id::DebateId;
use debate_core::prose::Texts;
use debate_core::request::sizes::REQUEST_BYTES_MAX;
use debate_core::stop::Completeness;
use serde_json::json;

use crate::facade::{Caller, Facade, debate_id, trace};
use crate::refusal::Refusal;

/// Where debates are.
const DEBATES: &str = "/api/v1/reasoning/debate";
/// The header with the client's id of a request (rule K11).
const IDEMPOTENCY_KEY: &str = "Idempotency-Key";
/// The name under which events caused through REST are recorded.
const INTERFACE: &str = "rest";
/// When a client may ask again for a debate that runs, in seconds.
const ASK_AGAIN_S: &str = "1";
const JSON: &str = "application/json";

#[derive(Clone)]
struct Rest {
    facade: Facade,
    patience: Duration,
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
        .route("/healthz", get(async || "ok"))
        .method_not_allowed_fallback(async || Refusal::NoMethod)
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(Rest { facade, patience })
}

/// Opens a debate and waits for its result.
async fn hold(
    State(rest): State<Rest>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Refusal::TooLong(REQUEST_BYTES_MAX),
        _ => Refusal::Unreadable,
    })?;
    let request_id = match headers.get(IDEMPOTENCY_KEY).map(|key| key.to_str()) {
        None => String::new(),
        Some(Ok(key)) => key.to_owned(),
        Some(Err(_)) => return Err(Refusal::field(IDEMPOTENCY_KEY, "must be printable ASCII")),
    };
    let traced = trace(headers.get("traceparent").and_then(|value| value.to_str().ok()));
    let caller = Caller { interface: INTERFACE, request_id, trace: traced };
    let started = rest.facade.start(accept_bytes(&body), caller, IDEMPOTENCY_KEY).await?;
    tokio::select! {
        // The debate goes on when the server is back, so its name is worth more to the client than an error.
        () = rest.facade.closing.cancelled() => {}
        concluded = rest.facade.engine.concluded(started.debate, rest.patience) => {
            concluded?;
        }
    }
    let debate = rest.facade.debate(started.debate, None).await?;
    whole(&debate)
}

/// Returns a debate's result.
async fn result(State(rest): State<Rest>, Path(id): Path<String>) -> Result<Response, Refusal> {
    let debate = rest.facade.debate(debate_id(&id)?, None).await?;
    whole(&debate)
}

fn whole(debate: &AnyDebate) -> Result<Response, Refusal> {
    if let Some(unfinished) = unfinished(debate)? {
        return Ok(unfinished);
    }
    Ok(([(header::CONTENT_TYPE, JSON)], debate.outcome_json(Texts::Shown)).into_response())
}

/// Returns one round, as soon as it is over.
async fn round(
    State(rest): State<Rest>,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let debate = rest.facade.debate(debate_id(&id)?, None).await?;
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
    Path((id, name)): Path<(String, String)>,
) -> Result<Response, Refusal> {
    let debate = rest.facade.debate(debate_id(&id)?, None).await?;
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
async fn consensus(State(rest): State<Rest>, Path(id): Path<String>) -> Result<Response, Refusal> {
    let debate = rest.facade.debate(debate_id(&id)?, None).await?;
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
        AnyDebate::Deliberation(_) | AnyDebate::Investigation(_) => None,
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
        "deadline_at": debate.deadline_at().to_string(),
    });
    let headers = [
        (header::CONTENT_TYPE, JSON.to_owned()),
        (header::LOCATION, format!("{DEBATES}/{id}")),
        (header::RETRY_AFTER, ASK_AGAIN_S.to_owned()),
    ];
    (StatusCode::ACCEPTED, headers, status.to_string()).into_response()
}

fn body(json: &serde_json::Value) -> Response {
    ([(header::CONTENT_TYPE, JSON)], json.to_string()).into_response()
}

//! The prompts of reviewers over REST: `GET …/policy/insights`, `POST` and `GET …/policy/proposals`, `POST …/policy/acceptances`.

use std::str::FromStr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};
use debate_core::request::sizes::REQUEST_BYTES_MAX;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::access::Grant;
use crate::facade::Facade;
use crate::policy::AskedWindow;
use crate::refusal::Refusal;
use crate::rest::{INTERFACE, body_of};

/// Returns the endpoints.
pub(crate) fn router(facade: Facade) -> Router {
    let path = |rest: &str| format!("/api/v1/reasoning/policy/{rest}");
    Router::new()
        .route(&path("insights"), get(insights))
        .route(&path("proposals"), post(propose).get(show))
        .route(&path("acceptances"), post(accept))
        .method_not_allowed_fallback(async || Refusal::NoMethod)
        .layer(DefaultBodyLimit::max(REQUEST_BYTES_MAX))
        .with_state(facade)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ProposeBody {
    role: String,
    #[serde(default)]
    days: Option<u32>,
    #[serde(default)]
    threshold: ThresholdBody,
    #[serde(default)]
    anyway: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThresholdBody {
    debates_min: Option<u32>,
    score_min: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptBody {
    role: String,
    #[serde(default)]
    number: Option<u32>,
}

/// Returns what debates say about each reviewer.
async fn insights(
    State(facade): State<Facade>,
    Extension(grant): Extension<Arc<Grant>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let found = facade
        .session(grant, INTERFACE)
        .policy_insights(window(query.as_deref().unwrap_or_default())?)
        .await?;
    Ok(body(&json!({ "reviewers": found })))
}

/// Asks for a proposal.
async fn propose(
    State(facade): State<Facade>,
    Extension(grant): Extension<Arc<Grant>>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let ProposeBody { role, days, threshold, anyway } = read(&body_of(&headers, bytes)?)?;
    let ThresholdBody { debates_min, score_min } = threshold;
    let asked = AskedWindow { days, debates_min, score_min };
    let proposed = facade.session(grant, INTERFACE).propose_prompt(&role, asked, anyway).await?;
    let names = proposed.files.iter().filter_map(|path| path.file_name());
    let files: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    Ok(body(&json!({
        "number": proposed.number,
        "evidence": proposed.evidence,
        "model": proposed.model,
        "proposed_prompt": proposed.proposed_prompt,
        "rationale": proposed.rationale,
        "diff": proposed.diff,
        "files": files,
    })))
}

/// Shows a proposal.
async fn show(
    State(facade): State<Facade>,
    Extension(grant): Extension<Arc<Grant>>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refusal> {
    let (mut role, mut number) = ("", None);
    for (name, value) in parts(query.as_deref().unwrap_or_default()) {
        match name {
            "role" => role = value,
            "number" => number = Some(numeric(name, value)?),
            _ => return Err(Refusal::field(name, "is not a field of this request")),
        }
    }
    let proposal = facade.session(grant, INTERFACE).proposal(role, number).await?;
    Ok(body(&json!(proposal.shown())))
}

/// Records that a person accepts a proposal.
async fn accept(
    State(facade): State<Facade>,
    Extension(grant): Extension<Arc<Grant>>,
    headers: HeaderMap,
    bytes: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let AcceptBody { role, number } = read(&body_of(&headers, bytes)?)?;
    let accepted = facade.session(grant, INTERFACE).accept_proposal(&role, number).await?;
    Ok(body(
        &json!({ "number": accepted.number, "digest": accepted.digest.to_string(), "written": accepted.is_written }),
    ))
}

/// Reads `days=30&debates_min=5&score_min=7`.
fn window(query: &str) -> Result<AskedWindow, Refusal> {
    let mut asked = AskedWindow::default();
    for (name, value) in parts(query) {
        match name {
            "days" => asked.days = Some(numeric(name, value)?),
            "debates_min" => asked.debates_min = Some(numeric(name, value)?),
            "score_min" => asked.score_min = Some(numeric(name, value)?),
            _ => return Err(Refusal::field(name, "is not a field of this request")),
        }
    }
    Ok(asked)
}

/// Returns names and values of a query; a reviewer's name and numbers are all there is, so nothing is escaped.
fn parts(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').filter(|part| !part.is_empty()).map(|part| part.split_once('=').unwrap_or((part, "")))
}

fn numeric<T: FromStr>(name: &str, value: &str) -> Result<T, Refusal> {
    value.parse().map_err(|_| Refusal::field(name, format!("{value:?} is not a number that fits")))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| Refusal::field("request", error.to_string()))
}

fn body(json: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], json.to_string()).into_response()
}

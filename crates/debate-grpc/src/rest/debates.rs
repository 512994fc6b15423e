//! Debates of all formats over REST: start, list, show, resolve, and events as pages or as a stream (server-sent events).

use std::convert::Infallible;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use debate_core::debate::Lifecycle;
use debate_core::envelope::Envelope;
use debate_core::event::Resolved;
use debate_core::formats::accept::{AcceptedRequest, accept_bytes_with};
use debate_core::formats::any::AnyDebate;
use debate_core::id::{OutcomeId, Seq, Timestamp};
use debate_core::prose::Texts;
use debate_core::request::WHOLE;
use debate_core::request::added::AddedRounds;
use debate_engine::{Control, WatchError, Watched};
use debate_proto::v1;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _, future};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{JSON, Rest, body_of, tagged};
use crate::access::Grant;
use crate::bounded::Bounded;
use crate::refusal::Refusal;
use crate::unread::Reached;
use crate::{listing, problem, to_proto, wire_json};

/// Where debates of all formats are.
pub(super) const DEBATES: &str = "/api/v1/debates";
/// Where a debate is resumed.
pub(super) const RESUME: &str = "/api/v1/debates/{debate_id}/resume";
/// Where a client says that it saw an event.
const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Events on a page, unless the request says otherwise, and the most.
const EVENTS_DEFAULT: u32 = 100;
const EVENTS_MAX: u32 = 1_000;

/// Opens a debate and returns at once.
pub(super) async fn start(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let session = rest.session(grant);
    let body = body_of(&headers, body)?;
    let accept = |violations| {
        let mut accepted = accept_bytes_with(violations, &body)?;
        if let AcceptedRequest::Prediction(prediction) = &mut accepted {
            prediction.default_to_standard();
        }
        Ok(accepted)
    };
    let started = session.start(accept, super::opening(&headers, None)).await?;
    let debate = session.debate(&started.debate.to_string(), None).await?;
    let status = if started.existing { StatusCode::OK } else { StatusCode::CREATED };
    let location = format!("{DEBATES}/{}", started.debate);
    let shown = json!({ "debate": debate_json(&debate) });
    Ok((status, [(header::CONTENT_TYPE, JSON.to_owned()), (header::LOCATION, location)], shown.to_string())
        .into_response())
}

/// Fields of a debate of which a list does not know the value.
const NOT_IN_LISTS: [&str; 5] = ["phase", "round", "models", "unpriced_models", "deadline_at"];

/// What a list may be asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ListQuery {
    page_size: u32,
    page_token: String,
    format: String,
    state: String,
}

/// Lists debates, the newest first.
pub(super) async fn list(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    query: Result<Query<ListQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let session = rest.session(grant);
    let ListQuery { page_size, page_token: token, format, state } = query_of(query)?;
    let states = match state.as_str() {
        "" => Vec::new(),
        "running" => vec![v1::DebateState::Running.into()],
        "paused" => vec![v1::DebateState::Paused.into()],
        "concluded" => vec![v1::DebateState::Concluded.into()],
        "archived" => vec![v1::DebateState::Archived.into()],
        _ => return Err(Refusal::field("state", "must be running, paused, concluded or archived")),
    };
    let request = v1::ListDebatesRequest { page_size, page_token: token, format, states };
    let page = session.page(&request).await?;
    let debates: Vec<Value> = page.debates.iter().map(of_list).collect();
    let next = Some(page.next_page_token).filter(|token| !token.is_empty());
    Ok(super::body(&json!({ "debates": debates, "next_page_token": next })))
}

/// Returns a debate as a list shows it: what a list does not know is not there.
fn of_list(debate: &v1::Debate) -> Value {
    let mut json = listed_json(debate);
    if let Some(fields) = json.as_object_mut() {
        NOT_IN_LISTS.iter().for_each(|name| drop(fields.remove(*name)));
    }
    json
}

/// Returns a debate as it stands, with its result.
pub(super) async fn show(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let session = rest.session(grant);
    let show = |debate: AnyDebate| Ok((shown(&debate)?, debate.lifecycle()));
    let (mut shown, lifecycle) = session.read(&id, None, show).await?;
    if lifecycle == Lifecycle::Concluded {
        return Ok(tagged(&headers, shown.text()?));
    }
    listing::mark_interrupted(session.engine(), std::slice::from_mut(&mut shown.debate)).await;
    Ok(([(header::CONTENT_TYPE, JSON)], shown.text()?).into_response())
}

/// Holds more rounds of a debate that has concluded, and returns at once (rule K17).
pub(super) async fn go_on(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let body = body_of(&headers, body)?;
    let json = str::from_utf8(&body).map_err(|_| Refusal::field(WHOLE, "is not UTF-8"))?;
    let debate = rest.session(grant).continue_debate(&id, AddedRounds::read(json)?).await?;
    Ok(super::body(&json!({ "debate": debate_json(&debate) })))
}

/// Ends a pause, or drives a void debate again, and returns at once (rules K17, K24).
pub(super) async fn resume(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(id): Path<String>,
) -> Result<Response, Refusal> {
    let debate = rest.session(grant).control(&id, Control::Resume).await?;
    Ok(super::body(&json!({ "debate": debate_json(&debate) })))
}

/// A debate with its result, which is JSON already.
struct Shown {
    debate: v1::Debate,
    result: Box<RawValue>,
}

fn shown(debate: &AnyDebate) -> Result<Shown, Refusal> {
    let result = RawValue::from_string(debate.result_json(Texts::Shown));
    let result = result.map_err(|error| Refusal::defect(&error))?;
    Ok(Shown { debate: to_proto::debate(debate), result })
}

impl Shown {
    fn text(&self) -> Result<String, Refusal> {
        #[derive(serde::Serialize)]
        struct Body<'a> {
            debate: Value,
            result: &'a RawValue,
        }
        let text = serde_json::to_string(&Body { debate: listed_json(&self.debate), result: &self.result });
        text.map_err(|error| Refusal::defect(&error))
    }
}

/// What happened, as a client says it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Happened {
    outcome_id: String,
    #[serde(default)]
    happened_at: Option<String>,
}

/// Records what happened in the world, and returns the debate with how good its forecasts were (rule K16).
pub(super) async fn resolve(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Refusal> {
    let session = rest.session(grant);
    let Happened { outcome_id, happened_at } = serde_json::from_slice(&body_of(&headers, body)?)
        .map_err(|error| Refusal::field("request", error.to_string()))?;
    let happened_at = happened_at.map(|at| at.parse::<Timestamp>()).transpose();
    let happened_at = happened_at.map_err(|error| Refusal::field("happened_at", error.to_string()))?;
    let resolved = Resolved { happened_at, ..Resolved::new(OutcomeId::from(outcome_id.as_str())) };
    let debate = session.control(&id, Control::Resolve(resolved)).await?;
    Ok(([(header::CONTENT_TYPE, JSON)], shown(&debate)?.text()?).into_response())
}

/// Which events are wanted.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct EventsQuery {
    after: u64,
    page_size: u32,
}

/// Returns a page of events or, to who accepts `text/event-stream`, all events as they happen.
///
/// A stream goes on after `Last-Event-ID`, else after `after`. Who has seen a concluded debate to its end gets 204, which
/// tells browsers to come no more.
pub(super) async fn events(
    State(rest): State<Rest>,
    Extension(grant): Extension<Arc<Grant>>,
    Path(id): Path<String>,
    query: Result<Query<EventsQuery>, QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let session = rest.session(grant);
    let EventsQuery { after, page_size } = query_of(query)?;
    // Read first: what is no number is refused, whatever is accepted.
    let resumed = headers.get(LAST_EVENT_ID).map(|value| {
        let seq = value.to_str().ok().and_then(|text| text.parse().ok());
        seq.map(Seq).ok_or_else(|| Refusal::field(LAST_EVENT_ID, "must be the id of an event, a number"))
    });
    let resumed = resumed.transpose()?;
    let accepts = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    if !accepts.is_some_and(|types| types.contains("text/event-stream")) {
        let limit = if page_size == 0 { EVENTS_DEFAULT } else { page_size.min(EVENTS_MAX) };
        let (page, head) = session.log(&id, Seq(after), limit).await?;
        let events = page.iter().map(event_json).collect::<Result<Vec<_>, _>>();
        let events = events.map_err(|error| Refusal::defect(&error))?;
        return Ok(super::body(&json!({ "events": events, "head_seq": head.0 })));
    }
    let after = resumed.unwrap_or(Seq(after));
    if session.is_over(&id, after).await? {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let watched = session.watch(&id, after, false).await?;
    let reached = Reached::in_debate(&id, after);
    let noted = reached.clone();
    let watched = watched.inspect(move |watched| {
        if let Ok(Watched::Event(envelope)) = watched {
            noted.note(envelope.seq.0);
        }
    });
    let sse = Sse::new(sse_events(watched, &rest.facade.closing)).keep_alive(KeepAlive::default());
    Ok((Extension(reached), sse).into_response())
}

/// Turns what the engine shows into server-sent events; a stream that cannot go on ends with an event `problem`.
fn sse_events(
    watched: impl Stream<Item = Result<Watched, WatchError>> + Send + Unpin + 'static,
    closing: &CancellationToken,
) -> BoxStream<'static, Result<Event, Infallible>> {
    let events = watched.filter_map(|watched| {
        future::ready(match watched {
            Ok(Watched::Event(envelope)) => Some(sse_event(&envelope)),
            Ok(Watched::Chunk(_) | Watched::Heartbeat(_)) => None,
            Err(error) => Some(Err(error.into())),
        })
    });
    Bounded::new(events, closing, None)
        .map(|event| Ok(event.unwrap_or_else(|refusal| last(&refusal))))
        .boxed()
}

fn sse_event(envelope: &Envelope) -> Result<Event, Refusal> {
    let json = event_json(envelope).map_err(|error| Refusal::defect(&error))?;
    Ok(Event::default().id(envelope.seq.to_string()).event(envelope.kind.as_str()).data(json.to_string()))
}

fn last(refusal: &Refusal) -> Event {
    Event::default().event("problem").data(problem::of_stream(refusal).to_string())
}

/// Returns an event with its facts and words as JSON within JSON.
///
/// # Errors
/// What is stored is no JSON.
pub fn event_json(envelope: &Envelope) -> serde_json::Result<Value> {
    let prose =
        envelope.prose.as_ref().map(|prose| serde_json::from_str::<Value>(&prose.text)).transpose()?;
    Ok(json!({
        "seq": envelope.seq,
        "kind": envelope.kind,
        "version": envelope.version,
        "at": envelope.at.to_string(),
        "actor": envelope.actor,
        "body": serde_json::from_str::<Value>(&envelope.body)?,
        "prose": prose,
        "redacted": envelope.is_redacted(),
        "hash": envelope.hash.to_string(),
    }))
}

/// Returns what a debate is and where it stands as JSON, field for field as in gRPC.
#[must_use]
pub fn debate_json(debate: &AnyDebate) -> Value {
    listed_json(&to_proto::debate(debate))
}

/// Returns a debate of a list as JSON, field for field as in gRPC.
#[must_use]
pub fn listed_json(debate: &v1::Debate) -> Value {
    wire_json::of(debate, "Debate")
}

fn query_of<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    let Query(query) = query.map_err(|rejection| Refusal::field("query", rejection.body_text()))?;
    Ok(query)
}

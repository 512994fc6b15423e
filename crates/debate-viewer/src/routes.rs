//! Where the pages and what they show are served.

use std::sync::Arc;

use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use debate_core::diff;
use debate_core::envelope::Envelope;
use debate_core::formats::any::FORMATS;
use debate_core::id::Seq;
use debate_engine::{Engine, Resumable, Tenant};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::assets::{self, guards};
use crate::calibration::{self, Cases};
use crate::calls::{CALLS_MAX, calls};
use crate::debate_page::DebatePage;
use crate::events::{EVENTS_MAX, events};
use crate::follow::follow;
use crate::listing::{Wanted, list};
use crate::log::Log;
use crate::log_cache::{LogCache, moment};
use crate::prompt::PromptShown;
use crate::proof::{bundle, verification};
use crate::refused::Refused;
use crate::run_blocking::run_blocking;

/// The routes of the viewer.
#[derive(Debug, Clone)]
pub struct Viewer {
    /// The front end: the same for everybody, without data, so it is served without a token.
    pub pages: Router,
    /// The data of debates: to be served behind the auth layer of the interfaces for programs. Each request needs its
    /// [`Tenant`] among its extensions, and sees the debates of that tenant alone.
    pub data: Router,
}

#[derive(Debug, Clone)]
struct Looking {
    log_cache: LogCache,
    cases: Cases,
    closing: CancellationToken,
}

/// Returns the routes, all below `/viewer`. Streams end when `closing` is cancelled.
pub fn viewer(engine: Engine, closing: CancellationToken) -> Viewer {
    let debate = |rest: &str| format!("/viewer/data/debates/{{id}}{rest}");
    let data = Router::new()
        .route("/viewer/data/formats", get(async || json(&FORMATS)))
        .route("/viewer/data/debates", get(listed))
        .route(&debate(""), get(page))
        .route(&debate("/events"), get(event_page))
        .route(&debate("/calls"), get(call_page))
        .route(&debate("/calls/{seq}/prompt"), get(prompted))
        .route(&debate("/verification"), get(verified))
        .route(&debate("/bundle"), get(bundled))
        .route(&debate("/follow"), get(followed))
        .route("/viewer/data/calibration", get(calibrated))
        .route("/viewer/data/difference", get(difference))
        .with_state(Looking { log_cache: LogCache::new(engine), cases: Cases::default(), closing });
    Viewer { pages: assets::router(), data }
}

/// A moment, or a place to read on from.
#[derive(Debug, Default, Deserialize)]
struct Place {
    /// The event to stand at; the last one where it is absent.
    at: Option<u64>,
    /// The event to read on from; the first one where it is absent.
    #[serde(default)]
    after: u64,
    /// The most to return.
    limit: Option<usize>,
}

/// Two debates.
#[derive(Debug, Deserialize)]
struct Pair {
    a: String,
    b: String,
}

type Asked<T> = Result<Query<T>, QueryRejection>;

async fn listed(
    State(looking): State<Looking>,
    Extension(tenant): Extension<Tenant>,
    wanted: Asked<Wanted>,
) -> Result<Response, Refused> {
    Ok(json(&list(&looking.log_cache, &tenant, &asked(wanted)?).await?))
}

/// The log of the debate that the address names, where the caller may see it, and the place asked for.
struct Reached {
    log: Arc<Log>,
    place: Place,
}

impl FromRequestParts<Looking> for Reached {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, looking: &Looking) -> Result<Self, Refused> {
        let tenant = Extension::<Tenant>::from_request_parts(parts, looking).await;
        let Extension(tenant) = tenant.map_err(|error| Refused::defect(&error))?;
        let id = Path::<String>::from_request_parts(parts, looking).await;
        let Path(id) = id.map_err(|error| Refused::defect(&error))?;
        let debate = looking.log_cache.reach(&tenant, &id).await?;
        let place = asked(Query::try_from_uri(&parts.uri))?;
        Ok(Self { log: looking.log_cache.log(debate).await?, place })
    }
}

async fn page(Reached { log, place }: Reached) -> Result<Response, Refused> {
    let (debate, seq) = (log.id(), moment(&log, place.at)?);
    let page = run_blocking(move || DebatePage::of(&log, seq)).await?;
    Ok(json(&page.map_err(|error| Refused::of_replay(debate, &error))?))
}

async fn event_page(Reached { log, place }: Reached) -> Result<Response, Refused> {
    let limit = place.limit.unwrap_or(EVENTS_MAX);
    Ok(json(&run_blocking(move || events(&log, Seq(place.after), limit)).await?))
}

async fn call_page(Reached { log, place }: Reached) -> Result<Response, Refused> {
    let limit = place.limit.unwrap_or(CALLS_MAX);
    Ok(json(&run_blocking(move || calls(&log, Seq(place.after), limit)).await?))
}

async fn prompted(
    State(looking): State<Looking>,
    Extension(tenant): Extension<Tenant>,
    Path((id, seq)): Path<(String, String)>,
) -> Result<Response, Refused> {
    let debate = looking.log_cache.reach(&tenant, &id).await?;
    let seq = seq.parse().map_err(|_| Refused::Field {
        field: "seq",
        reason: format!("{seq:?} is not the number of an event"),
    })?;
    let log = looking.log_cache.log(debate).await?;
    let (seq, engine) = (moment(&log, Some(seq))?, looking.log_cache.engine().clone());
    let prompt = run_blocking(move || PromptShown::of(&engine, &log, seq)).await?;
    Ok(json(&prompt.map_err(|error| Refused::of_prompt(debate, error))?))
}

async fn verified(
    State(looking): State<Looking>,
    Extension(tenant): Extension<Tenant>,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let debate = looking.log_cache.reach(&tenant, &id).await?;
    Ok(json(&verification(&looking.log_cache, debate).await?))
}

async fn bundled(
    State(looking): State<Looking>,
    Extension(tenant): Extension<Tenant>,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let debate = looking.log_cache.reach(&tenant, &id).await?;
    let bundle = bundle(&looking.log_cache, debate).await?;
    let name = format!("attachment; filename=\"{debate}.bundle\"");
    let headers =
        [(header::CONTENT_TYPE, "application/gzip".to_owned()), (header::CONTENT_DISPOSITION, name)];
    Ok((guards(), headers, bundle).into_response())
}

async fn followed(
    State(looking): State<Looking>,
    Extension(tenant): Extension<Tenant>,
    Path(id): Path<String>,
    headers: HeaderMap,
    place: Asked<Place>,
) -> Result<Response, Refused> {
    let (debate, place) = (looking.log_cache.reach(&tenant, &id).await?, asked(place)?);
    let after = match headers
        .get("last-event-id")
        .map(|seen| seen.to_str().ok().and_then(|seen| seen.parse().ok()))
    {
        None => place.after,
        Some(Some(seen)) => seen,
        Some(None) => {
            let reason = "must be the number of an event".to_owned();
            return Err(Refused::Field { field: "Last-Event-ID", reason });
        }
    };
    let stream = follow(&looking.log_cache, debate, Seq(after), looking.closing).await?;
    Ok((Extension(Resumable), guards(), stream).into_response())
}

/// What the calibration is asked of.
#[derive(Debug, Default, Deserialize)]
struct Counted {
    /// `real` or `simulated`; what is there where it is absent or empty.
    #[serde(default)]
    source: String,
    /// Whether partial debates are left out.
    #[serde(default)]
    complete: bool,
}

async fn calibrated(
    State(looking): State<Looking>,
    Extension(tenant): Extension<Tenant>,
    counted: Asked<Counted>,
) -> Result<Response, Refused> {
    let counted = asked(counted)?;
    let source = match counted.source.as_str() {
        "" => None,
        named => Some(named.parse().map_err(|reason| Refused::Field { field: "source", reason })?),
    };
    let engine = looking.log_cache.engine();
    let resolved = calibration::resolved(engine, Some(&tenant.0)).await?;
    let record = looking.cases.track_record(engine, resolved).await?;
    Ok(json(&run_blocking(move || record.report(source, !counted.complete)).await?))
}

async fn difference(
    State(looking): State<Looking>,
    Extension(tenant): Extension<Tenant>,
    pair: Asked<Pair>,
) -> Result<Response, Refused> {
    let (Pair { a, b }, log_cache) = (asked(pair)?, &looking.log_cache);
    let a = log_cache.log(log_cache.reach(&tenant, &a).await?).await?;
    let b = log_cache.log(log_cache.reach(&tenant, &b).await?).await?;
    let found = run_blocking(move || diff::first_difference(&whole(&a), &whole(&b))).await?;
    Ok(json(&json!({ "difference": found })))
}

/// Returns all that a debate is folded from.
fn whole(log: &Log) -> Vec<Envelope> {
    log.until(log.head().0).iter().map(|event| event.as_ref().clone()).collect()
}

fn asked<T>(asked: Asked<T>) -> Result<T, Refused> {
    let refused = |error: QueryRejection| Refused::Field { field: "query", reason: error.body_text() };
    asked.map(|Query(asked)| asked).map_err(refused)
}

fn json(shown: &impl Serialize) -> Response {
    match serde_json::to_string(shown) {
        Ok(body) => (guards(), [(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Err(error) => Refused::defect(&error).into_response(),
    }
}

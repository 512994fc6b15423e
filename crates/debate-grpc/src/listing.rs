//! Pages of the list of debates: those in the store and those that are archived, in one order.

use std::cmp::Reverse;

use debate_core::formats::any::FORMATS;
use debate_core::id::DebateId;
use debate_engine::{Engine, LIFECYCLE_KINDS};
use debate_proto::v1;
use debate_store::{ListFilter, Position};

use crate::refusal::Refusal;
use crate::{cursor, to_proto};

/// Debates on a page, unless the request says otherwise.
const PAGE_DEFAULT: u32 = 100;
/// The most debates on a page.
const PAGE_MAX: u32 = 1_000;
/// States in which a list can be asked for, each once.
const STATES_MAX: usize = 4;

/// Which debates a list is asked for.
struct Asked {
    filter: ListFilter,
    /// Whether those are wanted whose events are in the store.
    stored: bool,
    archived: bool,
}

/// Returns a page of a tenant's debates, the newest first.
///
/// # Errors
/// The list cannot be asked for so, or not be read.
pub(crate) async fn page(
    engine: &Engine,
    tenant: &str,
    request: &v1::ListDebatesRequest,
) -> Result<v1::ListDebatesResponse, Refusal> {
    let Asked { filter, stored, archived } = asked(tenant, request)?;
    let limit = filter.limit as usize;
    let mut rows: Vec<(Position, v1::Debate)> = Vec::new();
    if stored {
        for listed in engine.store().list(filter.clone()).await? {
            let eldest = engine.eldest(&listed.first).await?;
            let id = DebateId(listed.first.stream.id);
            let debate =
                to_proto::listed(&listed, &eldest).map_err(|error| Refusal::of_replay(id, &error))?;
            rows.push((listed.position, debate));
        }
    }
    if archived {
        let archived = engine.store().list_archived(filter).await?;
        rows.extend(archived.iter().map(|archived| (archived.position, to_proto::archived(archived))));
    }
    rows.sort_by_key(|(position, _)| Reverse(*position));
    // One that was archived between the two looks is in both.
    rows.dedup_by_key(|(position, _)| *position);
    rows.truncate(limit);
    let next_page_token = match rows.last() {
        Some((last, _)) if rows.len() == limit => page_token(tenant, request, *last),
        Some(_) | None => String::new(),
    };
    let mut debates: Vec<v1::Debate> = rows.into_iter().map(|(_, debate)| debate).collect();
    mark_interrupted(engine, &mut debates).await;
    Ok(v1::ListDebatesResponse { debates, next_page_token })
}

/// Sets of debates that run whether no process drives them (rule K23).
pub(crate) async fn mark_interrupted(engine: &Engine, debates: &mut [v1::Debate]) {
    let runs = |debate: &&mut v1::Debate| debate.state() == v1::DebateState::Running;
    let mut running: Vec<(DebateId, &mut v1::Debate)> = debates
        .iter_mut()
        .filter(runs)
        .filter_map(|debate| Some((debate.id.parse().ok()?, debate)))
        .collect();
    if running.is_empty() {
        return;
    }
    let ids: Vec<DebateId> = running.iter().map(|(id, _)| *id).collect();
    let Some(driven) = engine.driven(&ids).await else { return };
    for (id, debate) in &mut running {
        debate.interrupted = Some(!driven.contains(id));
    }
}

/// Reads which debates are asked for.
fn asked(tenant: &str, request: &v1::ListDebatesRequest) -> Result<Asked, Refusal> {
    if !request.format.is_empty() && !FORMATS.contains(&request.format.as_str()) {
        return Err(Refusal::field("format", format!("must be one of {}", FORMATS.join(", "))));
    }
    if request.states.len() > STATES_MAX {
        return Err(Refusal::field("states", format!("must be at most {STATES_MAX}, each once")));
    }
    let limit = match request.page_size {
        0 => PAGE_DEFAULT,
        asked => asked.min(PAGE_MAX),
    };
    let before = match request.page_token.as_str() {
        "" => None,
        token => {
            let refused = || Refusal::field("page_token", "is not that of a page of this list");
            Some(page_position(tenant, request, token).ok_or_else(refused)?)
        }
    };
    let any = request.states.is_empty();
    let status = status_kinds(&request.states)?;
    let filter = ListFilter {
        tenant: Some(tenant.to_owned()),
        format: Some(request.format.clone()).filter(|format| !format.is_empty()),
        lifecycle: LIFECYCLE_KINDS.map(str::to_owned).to_vec(),
        status: (!any).then(|| status.clone()),
        touched_since: None,
        before,
        limit,
    };
    let archived = any || request.states.contains(&v1::DebateState::Archived.into());
    Ok(Asked { filter, stored: any || !status.is_empty(), archived })
}

/// Returns the kinds of a stored debate's last lifecycle event in any of the states; an archived one has none.
fn status_kinds(states: &[i32]) -> Result<Vec<String>, Refusal> {
    let mut kinds = Vec::new();
    for state in states {
        let of_state: &[&str] = match v1::DebateState::try_from(*state) {
            Ok(v1::DebateState::Running) => &["opened", "forked", "resumed", "continued", "reopened"],
            Ok(v1::DebateState::Paused) => &["paused"],
            Ok(v1::DebateState::Concluded) => &["concluded"],
            Ok(v1::DebateState::Archived) => &[],
            Ok(v1::DebateState::Unspecified) | Err(_) => {
                return Err(Refusal::field("states", "must be running, paused, concluded or archived"));
            }
        };
        kinds.extend(of_state.iter().map(|kind| (*kind).to_owned()));
    }
    Ok(kinds)
}

/// Returns a token that asks for the page after a position of the same list, and of no other.
fn page_token(tenant: &str, request: &v1::ListDebatesRequest, position: Position) -> String {
    cursor::sealed(&[b"page", tenant.as_bytes(), request.format.as_bytes(), &states(request)], position)
}

fn page_position(tenant: &str, request: &v1::ListDebatesRequest, token: &str) -> Option<Position> {
    cursor::opened(&[b"page", tenant.as_bytes(), request.format.as_bytes(), &states(request)], token)
}

fn states(request: &v1::ListDebatesRequest) -> Vec<u8> {
    request.states.iter().flat_map(|state| state.to_le_bytes()).collect()
}

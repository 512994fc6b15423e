//! `debate.v1.DebateService`: start, show, list, follow, end.

use debate_core::formats::accept::accept;
use debate_core::formats::any::FORMATS;
use debate_core::id::{DebateId, Digest, Seq};
use debate_core::request::sizes::TEXT_CHARS_MAX;
use debate_engine::{Control, LIFECYCLE_KINDS};
use debate_proto::v1;
use debate_store::{ListFilter, Position};
use futures::stream::BoxStream;
use tokio::time::Instant;
use tonic::{Request, Response, Status};

use crate::facade::{Facade, Opening, trace};
use crate::following::{self, Wanted};
use crate::refusal::Refusal;
use crate::{from_proto, to_proto};

/// Debates on a page, unless the request says otherwise.
const PAGE_DEFAULT: u32 = 100;
/// The most debates on a page.
const PAGE_MAX: u32 = 1_000;
/// The name under which events caused through gRPC are recorded.
pub(crate) const INTERFACE: &str = "grpc";

/// The service.
pub(crate) struct Debates(pub(crate) Facade);

#[tonic::async_trait]
impl v1::debate_service_server::DebateService for Debates {
    type WatchDebateStream = BoxStream<'static, Result<v1::WatchDebateResponse, Status>>;

    async fn start_debate(
        &self,
        request: Request<v1::StartDebateRequest>,
    ) -> Result<Response<v1::StartDebateResponse>, Status> {
        let desk = self.0.desk_of(&request, INTERFACE)?;
        let trace = trace(header(&request, "traceparent"));
        let mut request = request.into_inner();
        let request_id = std::mem::take(&mut request.request_id);
        let opening = Opening { request_id, id_field: "request_id", trace };
        let read = from_proto::request_json(request).and_then(|json| accept(&json));
        let started = desk.start(read, opening).await?;
        let debate = desk.debate(&started.debate.to_string(), None).await?;
        Ok(Response::new(v1::StartDebateResponse {
            debate: Some(to_proto::debate(&debate)),
            existing: started.existing,
        }))
    }

    async fn get_debate(
        &self,
        request: Request<v1::GetDebateRequest>,
    ) -> Result<Response<v1::GetDebateResponse>, Status> {
        let desk = self.0.desk_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let debate = desk.debate(&request.debate_id, None).await?;
        Ok(Response::new(v1::GetDebateResponse {
            debate: Some(to_proto::debate(&debate)),
            result: request.include_result.then(|| to_proto::result(&debate)),
        }))
    }

    async fn list_debates(
        &self,
        request: Request<v1::ListDebatesRequest>,
    ) -> Result<Response<v1::ListDebatesResponse>, Status> {
        let desk = self.0.desk_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let filter = list_filter(&request)?;
        let limit = filter.limit as usize;
        let page = desk.list(filter).await?;
        let next_page_token = match page.last() {
            Some((last, _)) if page.len() == limit => page_token(&request, last.position),
            Some(_) | None => String::new(),
        };
        let mut debates = Vec::with_capacity(page.len());
        for (listed, eldest) in &page {
            let id = DebateId(listed.first.stream.id);
            let debate = to_proto::listed(listed, eldest);
            debates.push(debate.map_err(|error| Refusal::of_replay(id, &error))?);
        }
        Ok(Response::new(v1::ListDebatesResponse { debates, next_page_token }))
    }

    async fn watch_debate(
        &self,
        request: Request<v1::WatchDebateRequest>,
    ) -> Result<Response<Self::WatchDebateStream>, Status> {
        let desk = self.0.desk_of(&request, INTERFACE)?;
        let timeout = following::grpc_timeout(header(&request, "grpc-timeout"));
        let request = request.into_inner();
        let wanted = Wanted {
            calls: request.kinds() != v1::WatchKinds::RoundsAndJudgements,
            tokens: request.include_tokens,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        };
        let watched = desk.watch(&request.debate_id, Seq(request.after_seq), wanted.tokens).await?;
        Ok(Response::new(following::follow(watched, wanted, self.0.closing.clone())))
    }

    async fn cancel_debate(
        &self,
        request: Request<v1::CancelDebateRequest>,
    ) -> Result<Response<v1::CancelDebateResponse>, Status> {
        let desk = self.0.desk_of(&request, INTERFACE)?;
        let request = request.into_inner();
        if request.reason.chars().count() > TEXT_CHARS_MAX {
            let reason = format!("must have at most {TEXT_CHARS_MAX} characters");
            return Err(Refusal::field("reason", reason).into());
        }
        let cancel = Control::Cancel { reason: request.reason };
        let debate = desk.control(&request.debate_id, cancel).await?;
        Ok(Response::new(v1::CancelDebateResponse { debate: Some(to_proto::debate(&debate)) }))
    }
}

fn header<'a, T>(request: &'a Request<T>, name: &str) -> Option<&'a str> {
    request.metadata().get(name)?.to_str().ok()
}

fn list_filter(request: &v1::ListDebatesRequest) -> Result<ListFilter, Refusal> {
    if !request.format.is_empty() && !FORMATS.contains(&request.format.as_str()) {
        return Err(Refusal::field("format", format!("must be one of {}", FORMATS.join(", "))));
    }
    let limit = match request.page_size {
        0 => PAGE_DEFAULT,
        asked => asked.min(PAGE_MAX),
    };
    let before = match request.page_token.as_str() {
        "" => None,
        token => {
            let refused = || Refusal::field("page_token", "is not that of a page of this list");
            Some(page_position(request, token).ok_or_else(refused)?)
        }
    };
    let status = status_kinds(&request.states)?;
    Ok(ListFilter {
        tenant: None,
        format: Some(request.format.clone()).filter(|format| !format.is_empty()),
        lifecycle: LIFECYCLE_KINDS.map(str::to_owned).to_vec(),
        status: (!status.is_empty()).then_some(status),
        before,
        limit,
    })
}

/// Returns the kinds of a debate's last lifecycle event in any of the states.
fn status_kinds(states: &[i32]) -> Result<Vec<String>, Refusal> {
    let mut kinds = Vec::new();
    for state in states {
        let of_state: &[&str] = match v1::DebateState::try_from(*state) {
            Ok(v1::DebateState::Running) => &["opened", "forked", "resumed", "continued"],
            Ok(v1::DebateState::Paused) => &["paused"],
            Ok(v1::DebateState::Concluded) => &["concluded"],
            Ok(v1::DebateState::Unspecified) | Err(_) => {
                return Err(Refusal::field("states", "must be running, paused or concluded"));
            }
        };
        kinds.extend(of_state.iter().map(|kind| (*kind).to_owned()));
    }
    Ok(kinds)
}

/// Returns a token that asks for the page after a position of the same list, and of no other.
fn page_token(request: &v1::ListDebatesRequest, position: Position) -> String {
    format!("{:016x}{:016x}", position.0, page_seal(request, position))
}

fn page_position(request: &v1::ListDebatesRequest, token: &str) -> Option<Position> {
    let (position, seal) = token.split_at_checked(16)?;
    let position = Position(u64::from_str_radix(position, 16).ok()?);
    let seal = u64::from_str_radix(seal, 16).ok()?;
    (seal == page_seal(request, position)).then_some(position)
}

fn page_seal(request: &v1::ListDebatesRequest, position: Position) -> u64 {
    let states: Vec<u8> = request.states.iter().flat_map(|state| state.to_le_bytes()).collect();
    let parts = [&b"page"[..], request.format.as_bytes(), &states, &position.0.to_le_bytes()];
    Digest::of_parts(parts).as_seed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_token_fits_its_own_list_alone() {
        let list = v1::ListDebatesRequest { format: "prediction".to_owned(), ..Default::default() };
        let token = page_token(&list, Position(77));
        assert_eq!(page_position(&list, &token), Some(Position(77)));
        assert_eq!(page_position(&v1::ListDebatesRequest::default(), &token), None);
        for bad in ["", "4d", "x", &token[1..], &format!("{token}0"), &"é".repeat(16)] {
            assert_eq!(page_position(&list, bad), None, "{bad}");
        }
    }
}

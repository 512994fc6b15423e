//! `debate.v1.DebateService`: start, show, list, follow, control.

use debate_core::debate::Lifecycle;
use debate_core::event::Resolved;
use debate_core::formats::accept::{AcceptedRequest, accept_bytes_with};
use debate_core::formats::any::AnyDebate;
use debate_core::id::{OutcomeId, Seq};
use debate_core::request::sizes::TEXT_CHARS_MAX;
use debate_core::request::{Violation, Violations};
use debate_engine::Control;
use debate_proto::v1;
use futures::stream::BoxStream;
use tokio::time::Instant;
use tonic::{Request, Response, Status};

use crate::facade::{Facade, Opening};
use crate::following::{self, Wanted};
use crate::masks::Mask;
use crate::refusal::Refusal;
use crate::serve::PATIENCE_DEFAULT;
use crate::unread::Reached;
use crate::{from_proto, listing, to_proto, trace_context};

/// Which part of a client's deadline is kept for the way back.
pub(crate) const WAY_BACK_SHARE: u32 = 12;
/// The name under which events caused through gRPC are recorded.
pub(crate) const INTERFACE: &str = "grpc";

/// The service.
pub(crate) struct Debates(pub(crate) Facade);

#[tonic::async_trait]
impl v1::debate_service_server::DebateService for Debates {
    type WatchDebateStream = BoxStream<'static, Result<v1::WatchDebateResponse, Status>>;
    type WatchDebatesStream = BoxStream<'static, Result<v1::WatchDebatesResponse, Status>>;

    async fn start_debate(
        &self,
        request: Request<v1::StartDebateRequest>,
    ) -> Result<Response<v1::StartDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let trace = trace_context::read(|name| header(&request, name));
        let mut request = request.into_inner();
        let request_id = std::mem::take(&mut request.request_id);
        let opening = Opening { request_id, id_field: "request_id", trace, ..Opening::default() };
        let started = session.start(|found| read(request, found), opening).await?;
        let debate = session.debate(&started.debate.to_string(), None).await?;
        Ok(Response::new(v1::StartDebateResponse {
            debate: Some(to_proto::debate(&debate)),
            existing: started.existing,
        }))
    }

    async fn get_debate(
        &self,
        request: Request<v1::GetDebateRequest>,
    ) -> Result<Response<v1::GetDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let mask = Mask::read("GetDebateResponse", request.read_mask.as_ref()).map_err(Refusal::from)?;
        let show = move |debate: AnyDebate| {
            Ok(v1::GetDebateResponse {
                debate: Some(to_proto::debate(&debate)),
                result: request.include_result.then(|| to_proto::result(&debate)),
            })
        };
        let mut answer = session.read(&request.debate_id, None, show).await?;
        listing::mark_interrupted(session.engine(), answer.debate.as_mut_slice()).await;
        Ok(Response::new(mask.keep(answer)?))
    }

    async fn list_debates(
        &self,
        request: Request<v1::ListDebatesRequest>,
    ) -> Result<Response<v1::ListDebatesResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        Ok(Response::new(session.page(&request).await?))
    }

    async fn watch_debate(
        &self,
        request: Request<v1::WatchDebateRequest>,
    ) -> Result<Response<Self::WatchDebateStream>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let timeout = following::grpc_timeout(header(&request, "grpc-timeout"));
        let request = request.into_inner();
        let wanted = Wanted {
            calls: from_proto::wants_calls(request.kinds)?,
            tokens: request.include_tokens,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        };
        let after = Seq(request.after_seq);
        let watched = session.watch(&request.debate_id, after, wanted.tokens).await?;
        let reached = Reached::in_debate(&request.debate_id, after);
        let followed = following::follow(watched, wanted, reached.clone(), &self.0.closing);
        Ok(reached.on(followed))
    }

    async fn cancel_debate(
        &self,
        request: Request<v1::CancelDebateRequest>,
    ) -> Result<Response<v1::CancelDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        if request.reason.chars().count() > TEXT_CHARS_MAX {
            let reason = format!("must have at most {TEXT_CHARS_MAX} characters");
            return Err(Refusal::field("reason", reason).into());
        }
        let cancel = Control::Cancel { reason: request.reason };
        let debate = session.control(&request.debate_id, cancel).await?;
        Ok(Response::new(v1::CancelDebateResponse { debate: Some(to_proto::debate(&debate)) }))
    }

    async fn hold_debate(
        &self,
        request: Request<v1::HoldDebateRequest>,
    ) -> Result<Response<v1::HoldDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let trace = trace_context::read(|name| header(&request, name));
        let timeout = following::grpc_timeout(header(&request, "grpc-timeout"));
        let request = request.into_inner();
        let mut start = request.start.unwrap_or_default();
        let request_id = std::mem::take(&mut start.request_id);
        let deadline = timeout.map(|timeout| timeout - timeout / WAY_BACK_SHARE);
        let mask = Mask::read("HoldDebateResponse", request.read_mask.as_ref());
        let violations = mask.as_ref().err().map(|wrong| wrong.0.clone()).unwrap_or_default();
        let (id_field, keeps_wall_time) = ("start.request_id", true);
        let opening = Opening { request_id, id_field, trace, deadline, keeps_wall_time, violations };
        let started = session.start(|found| read(start, found), opening).await?;
        session.wait(started.debate, timeout.unwrap_or(PATIENCE_DEFAULT)).await?;
        let debate = session.debate(&started.debate.to_string(), None).await?;
        let is_concluded = debate.lifecycle() == Lifecycle::Concluded;
        if is_concluded {
            to_proto::parts::check_not_void(&debate)?;
        }
        let held = v1::GetDebateResponse {
            debate: Some(to_proto::debate(&debate)),
            result: is_concluded.then(|| to_proto::result(&debate)),
        };
        let answer = v1::HoldDebateResponse { held: Some(held), existing: started.existing };
        Ok(Response::new(mask.map_err(Refusal::from)?.keep(answer)?))
    }

    async fn pause_debate(
        &self,
        request: Request<v1::PauseDebateRequest>,
    ) -> Result<Response<v1::PauseDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let debate = session.control(&request.into_inner().debate_id, Control::Pause).await?;
        Ok(Response::new(v1::PauseDebateResponse { debate: Some(to_proto::debate(&debate)) }))
    }

    async fn resume_debate(
        &self,
        request: Request<v1::ResumeDebateRequest>,
    ) -> Result<Response<v1::ResumeDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let debate = session.control(&request.into_inner().debate_id, Control::Resume).await?;
        Ok(Response::new(v1::ResumeDebateResponse { debate: Some(to_proto::debate(&debate)) }))
    }

    async fn continue_debate(
        &self,
        request: Request<v1::ContinueDebateRequest>,
    ) -> Result<Response<v1::ContinueDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let added = from_proto::added_rounds(&request).map_err(Refusal::from)?;
        let debate = session.continue_debate(&request.debate_id, added).await?;
        Ok(Response::new(v1::ContinueDebateResponse { debate: Some(to_proto::debate(&debate)) }))
    }

    async fn resolve_debate(
        &self,
        request: Request<v1::ResolveDebateRequest>,
    ) -> Result<Response<v1::ResolveDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let happened_at =
            match request.happened_at {
                Some(at) => Some(from_proto::timestamp(at).ok_or_else(|| {
                    Refusal::field("happened_at", "must be a moment of the years 1 to 9999")
                })?),
                None => None,
            };
        let outcome = OutcomeId::from(request.outcome_id.as_str());
        let resolve = Control::Resolve(Resolved { happened_at, ..Resolved::new(outcome) });
        let debate = session.control(&request.debate_id, resolve).await?;
        Ok(Response::new(v1::ResolveDebateResponse { debate: Some(to_proto::debate(&debate)) }))
    }

    async fn watch_debates(
        &self,
        request: Request<v1::WatchDebatesRequest>,
    ) -> Result<Response<Self::WatchDebatesStream>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let timeout = following::grpc_timeout(header(&request, "grpc-timeout"));
        let request = request.into_inner();
        let wanted = Wanted {
            calls: from_proto::wants_calls(request.kinds)?,
            tokens: false,
            deadline: timeout.and_then(|timeout| Instant::now().checked_add(timeout)),
        };
        Ok(session.watch_all(&request, wanted).await?)
    }

    async fn list_rounds(
        &self,
        request: Request<v1::ListRoundsRequest>,
    ) -> Result<Response<v1::ListRoundsResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let debate = session.debate(&request.into_inner().debate_id, None).await?;
        Ok(Response::new(to_proto::parts::rounds(&debate)))
    }

    async fn list_arguments(
        &self,
        request: Request<v1::ListArgumentsRequest>,
    ) -> Result<Response<v1::ListArgumentsResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let debate = session.debate(&request.debate_id, None).await?;
        Ok(Response::new(to_proto::parts::arguments(&debate, &request.role)?))
    }

    async fn get_consensus(
        &self,
        request: Request<v1::GetConsensusRequest>,
    ) -> Result<Response<v1::GetConsensusResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let debate = session.debate(&request.into_inner().debate_id, None).await?;
        Ok(Response::new(to_proto::parts::consensus(&debate)?))
    }

    async fn get_ensemble_contribution(
        &self,
        request: Request<v1::GetEnsembleContributionRequest>,
    ) -> Result<Response<v1::GetEnsembleContributionResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let debate = session.debate(&request.into_inner().debate_id, None).await?;
        Ok(Response::new(to_proto::parts::ensemble_contribution(&debate)?))
    }
}

/// Reads a request for a debate. Violations of what came with it are listed first.
fn read(request: v1::StartDebateRequest, found: Vec<Violation>) -> Result<AcceptedRequest, Violations> {
    match from_proto::request_json(request) {
        Ok(json) => accept_bytes_with(found, json.as_bytes()),
        Err(Violations(none)) => Err(found.into_iter().chain(none).collect()),
    }
}

fn header<'a, T>(request: &'a Request<T>, name: &str) -> Option<&'a str> {
    request.metadata().get(name)?.to_str().ok()
}

//! `debate.v1.AuditService`: read logs, fold them again, check, compare, fork, export and redact them.

use debate_core::envelope::{Envelope, StreamId};
use debate_core::fork::{Change, ChangeError};
use debate_core::formats::any::AnyDebate;
use debate_core::id::Seq;
use debate_engine::Redact;
use debate_proof::bundle::{self, Line};
use debate_proto::v1;
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use tonic::{Request, Response, Status};

use crate::debate_service::INTERFACE;
use crate::facade::Facade;
use crate::masks::Mask;
use crate::refusal::Refusal;
use crate::{prompt_texts, to_proto};

/// Events on a page, unless the request says otherwise.
const PAGE_DEFAULT: u32 = 100;
/// The most events on a page.
const PAGE_MAX: u32 = 1_000;
/// Bytes of one piece of a bundle.
const PIECE_BYTES: usize = 64 * 1024;

/// The service.
pub(crate) struct Audits(pub(crate) Facade);

#[tonic::async_trait]
impl v1::audit_service_server::AuditService for Audits {
    type ExportBundleStream = BoxStream<'static, Result<v1::ExportBundleResponse, Status>>;

    async fn read_log(
        &self,
        request: Request<v1::ReadLogRequest>,
    ) -> Result<Response<v1::ReadLogResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let limit = match request.page_size {
            0 => PAGE_DEFAULT,
            asked => asked.min(PAGE_MAX),
        };
        let (page, head) = session.log(&request.debate_id, Seq(request.after_seq), limit).await?;
        let events = page.iter().map(to_proto::event).collect();
        Ok(Response::new(v1::ReadLogResponse { events, head_seq: head.0 }))
    }

    async fn replay_debate(
        &self,
        request: Request<v1::ReplayDebateRequest>,
    ) -> Result<Response<v1::ReplayDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let mask = Mask::read("ReplayDebateResponse", request.read_mask.as_ref()).map_err(Refusal::from)?;
        let at = Some(Seq(request.at_seq)).filter(|at| *at > Seq::START);
        let show = |debate: AnyDebate| {
            Ok(v1::ReplayDebateResponse {
                debate: Some(to_proto::debate(&debate)),
                result: Some(to_proto::replayed_result(&debate)),
            })
        };
        let answer = session.read(&request.debate_id, at, show).await?;
        Ok(Response::new(mask.keep(answer)?))
    }

    async fn verify_debate(
        &self,
        request: Request<v1::VerifyDebateRequest>,
    ) -> Result<Response<v1::VerifyDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let found = session.verify(&request.into_inner().debate_id).await?;
        Ok(Response::new(to_proto::verification(&found)))
    }

    async fn list_prompts(
        &self,
        _: Request<v1::ListPromptsRequest>,
    ) -> Result<Response<v1::ListPromptsResponse>, Status> {
        Ok(Response::new(prompt_texts::list()))
    }

    async fn get_prompt(
        &self,
        request: Request<v1::GetPromptRequest>,
    ) -> Result<Response<v1::GetPromptResponse>, Status> {
        Ok(Response::new(prompt_texts::get(&request.into_inner().name)?))
    }

    async fn fork_debate(
        &self,
        request: Request<v1::ForkDebateRequest>,
    ) -> Result<Response<v1::ForkDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let change = match request.change.as_str() {
            "" => Change::Nothing,
            text => text.parse().map_err(|error: ChangeError| Refusal::field("change", error.to_string()))?,
        };
        let at = Some(Seq(request.at_seq)).filter(|at| *at > Seq::START);
        let fork = session.fork(&request.debate_id, at, change).await?;
        let debate = session.debate(&fork.to_string(), None).await?;
        Ok(Response::new(v1::ForkDebateResponse { debate: Some(to_proto::debate(&debate)) }))
    }

    async fn diff_debates(
        &self,
        request: Request<v1::DiffDebatesRequest>,
    ) -> Result<Response<v1::DiffDebatesResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        Ok(Response::new(session.compare(&request.debate_id_a, &request.debate_id_b).await?))
    }

    async fn export_bundle(
        &self,
        request: Request<v1::ExportBundleRequest>,
    ) -> Result<Response<Self::ExportBundleStream>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let bundle = session.export(&request.into_inner().debate_id, bundle).await?;
        let pieces = bundle.into_iter().map(|piece| Ok(v1::ExportBundleResponse { piece }));
        Ok(Response::new(stream::iter(pieces).boxed()))
    }

    async fn redact_debate(
        &self,
        request: Request<v1::RedactDebateRequest>,
    ) -> Result<Response<v1::RedactDebateResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let what = if request.seq == 0 { Redact::All } else { Redact::Event(Seq(request.seq)) };
        let done = session.redact(&request.debate_id, what).await?;
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Ok(Response::new(v1::RedactDebateResponse {
            recorded: count(done.recorded),
            deleted: count(done.deleted),
        }))
    }
}

/// Writes a bundle without a checkpoint, in pieces.
fn bundle(streams: &[(StreamId, Vec<Envelope>)]) -> Vec<Vec<u8>> {
    let events = streams.iter().map(|(_, events)| events.len() as u64).sum();
    let end = bundle::End { streams: streams.len() as u64, events };
    let bodies = streams.iter().flat_map(|(stream, events)| {
        let lines = events.iter().map(|event| Line::Event(event.into()));
        std::iter::once(Line::stream(*stream, None)).chain(lines)
    });
    let lines = std::iter::once(Line::start(false)).chain(bodies).chain([Line::End(end)]);
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    for line in lines {
        piece.extend_from_slice(line.text().as_bytes());
        piece.push(b'\n');
        while piece.len() >= PIECE_BYTES {
            let rest = piece.split_off(PIECE_BYTES);
            pieces.push(std::mem::replace(&mut piece, rest));
        }
    }
    pieces.push(piece);
    pieces
}

//! `debate.v1.AuditService`: read logs, fold them again, check them.

use debate_core::envelope::Envelope;
use debate_core::id::Seq;
use debate_proto::v1;
use tonic::{Request, Response, Status};

use crate::debate_service::INTERFACE;
use crate::facade::Facade;
use crate::to_proto;

/// Events on a page, unless the request says otherwise.
const PAGE_DEFAULT: u32 = 100;
/// The most events on a page.
const PAGE_MAX: u32 = 1_000;
/// Bytes of texts on a page; clients take messages of 4 MiB.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// The service.
pub(crate) struct Audits(pub(crate) Facade);

#[tonic::async_trait]
impl v1::audit_service_server::AuditService for Audits {
    async fn read_log(
        &self,
        request: Request<v1::ReadLogRequest>,
    ) -> Result<Response<v1::ReadLogResponse>, Status> {
        let desk = self.0.desk_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let limit = match request.page_size {
            0 => PAGE_DEFAULT,
            asked => asked.min(PAGE_MAX),
        };
        let (page, head) = desk.log(&request.debate_id, Seq(request.after_seq), limit).await?;
        let events = page.iter().take(fitting(&page)).map(to_proto::event).collect();
        Ok(Response::new(v1::ReadLogResponse { events, head_seq: head.0 }))
    }

    async fn replay_debate(
        &self,
        request: Request<v1::ReplayDebateRequest>,
    ) -> Result<Response<v1::ReplayDebateResponse>, Status> {
        let desk = self.0.desk_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let at = Some(Seq(request.at_seq)).filter(|at| *at > Seq::START);
        let debate = desk.debate(&request.debate_id, at).await?;
        Ok(Response::new(v1::ReplayDebateResponse {
            debate: Some(to_proto::debate(&debate)),
            result: Some(to_proto::replayed_result(&debate)),
        }))
    }

    async fn verify_debate(
        &self,
        request: Request<v1::VerifyDebateRequest>,
    ) -> Result<Response<v1::VerifyDebateResponse>, Status> {
        let desk = self.0.desk_of(&request, INTERFACE)?;
        let found = desk.verify(&request.into_inner().debate_id).await?;
        Ok(Response::new(to_proto::verification(&found)))
    }
}

/// Returns how many events fit on a page; at least one, however long.
fn fitting(page: &[Envelope]) -> usize {
    let mut bytes = 0;
    let fits = page.iter().take_while(|envelope| {
        bytes += envelope.body.len() + envelope.prose.as_ref().map_or(0, |prose| prose.text.len());
        bytes <= PAGE_BYTES_MAX
    });
    fits.count().max(1)
}

//! `debate.v1.AuditService`: read logs, fold them again, check them.

use debate_core::envelope::Envelope;
use debate_core::id::Seq;
use debate_proto::v1;
use tonic::{Request, Response, Status};

use crate::facade::{Facade, debate_id};
use crate::refusal::Refusal;
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
        let request = request.into_inner();
        let id = debate_id(&request.debate_id)?;
        let limit = match request.page_size {
            0 => PAGE_DEFAULT,
            asked => asked.min(PAGE_MAX),
        };
        let store = self.0.engine.store();
        let head = store.head(id.into()).await.map_err(Refusal::from)?;
        let Some(head) = head else { return Err(Refusal::from(self.0.engine.missing(id).await).into()) };
        let after = Seq(request.after_seq);
        if after > head.seq {
            return Err(Refusal::BeyondHead { debate: id, asked: after, head: head.seq }.into());
        }
        let page = store.read(id.into(), after, limit).await.map_err(Refusal::from)?;
        let events = page.iter().take(fitting(&page)).map(to_proto::event).collect();
        Ok(Response::new(v1::ReadLogResponse { events, head_seq: head.seq.0 }))
    }

    async fn replay_debate(
        &self,
        request: Request<v1::ReplayDebateRequest>,
    ) -> Result<Response<v1::ReplayDebateResponse>, Status> {
        let request = request.into_inner();
        let at = Some(Seq(request.at_seq)).filter(|at| *at > Seq::START);
        let debate = self.0.debate(debate_id(&request.debate_id)?, at).await?;
        Ok(Response::new(v1::ReplayDebateResponse {
            debate: Some(to_proto::debate(&debate)),
            result: Some(to_proto::replayed_result(&debate)),
        }))
    }

    async fn verify_debate(
        &self,
        request: Request<v1::VerifyDebateRequest>,
    ) -> Result<Response<v1::VerifyDebateResponse>, Status> {
        let id = debate_id(&request.into_inner().debate_id)?;
        let found = self.0.engine.verify(id).await.map_err(Refusal::from)?;
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

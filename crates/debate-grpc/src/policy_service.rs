//! `debate.v1.PolicyService`: what debates say about the prompts of reviewers, proposals, their acceptance.

use debate_core::policy::insights::{Insights, PolicyInsights};
use debate_proto::v1;
use tonic::{Request, Response, Status};

use crate::debate_service::INTERFACE;
use crate::facade::Facade;
use crate::policy::AskedWindow;

/// The service.
pub(crate) struct Policies(pub(crate) Facade);

#[tonic::async_trait]
impl v1::policy_service_server::PolicyService for Policies {
    async fn get_policy_insights(
        &self,
        request: Request<v1::GetPolicyInsightsRequest>,
    ) -> Result<Response<v1::GetPolicyInsightsResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let found = session.policy_insights(window(request.days, request.threshold)).await?;
        let reviewers = found.into_iter().map(|(role, insights)| {
            let Insights { facts, policy_signal, .. } = insights;
            (role.to_string(), insights_of(facts, policy_signal))
        });
        Ok(Response::new(v1::GetPolicyInsightsResponse { reviewers: reviewers.collect() }))
    }

    async fn propose_prompt(
        &self,
        request: Request<v1::ProposePromptRequest>,
    ) -> Result<Response<v1::ProposePromptResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let asked = window(request.days, request.threshold);
        let proposed = session.propose_prompt(&request.role, asked, request.anyway).await?;
        let names = proposed.files.iter().filter_map(|path| path.file_name());
        Ok(Response::new(v1::ProposePromptResponse {
            number: proposed.number,
            files: names.map(|name| name.to_string_lossy().into_owned()).collect(),
            evidence: Some(insights_of(proposed.evidence, String::new())),
            model: proposed.model,
            proposed_prompt: proposed.proposed_prompt,
            rationale: proposed.rationale,
            diff: proposed.diff,
        }))
    }

    async fn get_proposal(
        &self,
        request: Request<v1::GetProposalRequest>,
    ) -> Result<Response<v1::GetProposalResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let proposal = session.proposal(&request.role, request.number).await?;
        let shown = proposal.shown();
        Ok(Response::new(v1::GetProposalResponse {
            number: shown.number,
            state: shown.state.to_owned(),
            asked_at: shown.asked_at,
            model: shown.model.to_owned(),
            evidence: Some(insights_of(shown.evidence.clone(), String::new())),
            digest: shown.digest.map(|digest| digest.to_string()),
            proposed_prompt: shown.proposed_prompt.map(str::to_owned),
            rationale: shown.rationale.map(str::to_owned),
            diff: shown.diff.map(str::to_owned),
            accepted_by: shown.accepted_by.map(str::to_owned),
        }))
    }

    async fn accept_prompt(
        &self,
        request: Request<v1::AcceptPromptRequest>,
    ) -> Result<Response<v1::AcceptPromptResponse>, Status> {
        let session = self.0.session_of(&request, INTERFACE)?;
        let request = request.into_inner();
        let accepted = session.accept_proposal(&request.role, request.number).await?;
        Ok(Response::new(v1::AcceptPromptResponse {
            number: accepted.number,
            digest: accepted.digest.to_string(),
            written: accepted.is_written,
        }))
    }
}

fn window(days: Option<u32>, threshold: Option<v1::PolicyThreshold>) -> AskedWindow {
    let threshold = threshold.unwrap_or_default();
    AskedWindow { days, debates_min: threshold.debates_min, score_min: threshold.score_min }
}

fn insights_of(facts: PolicyInsights, policy_signal: String) -> v1::PolicyInsights {
    v1::PolicyInsights {
        avg_argument_quality: facts.avg_argument_quality,
        interval_95_low: facts.interval_95.map(|(low, _)| low),
        interval_95_high: facts.interval_95.map(|(_, high)| high),
        debates: facts.debates,
        pairs: facts.pairs,
        wins: facts.wins,
        ties: facts.ties,
        common_labels: facts.common_labels,
        policy_signal,
        needs_update: facts.needs_update,
        threshold: Some(v1::PolicyThreshold {
            debates_min: Some(facts.threshold.debates_min),
            score_min: Some(facts.threshold.score_min),
        }),
        simulated: facts.simulated,
    }
}

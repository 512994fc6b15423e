//! What gRPC and REST do alike about the prompts of reviewers, in the core's own types (rules V7, V8).

use std::collections::BTreeMap;

use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::id::Role;
use debate_core::policy::insights::{DAYS_DEFAULT, DAYS_MAX, Insights, Threshold};
use debate_core::policy::proposal_log::{AcceptError, Proposal};
use debate_core::request::{Violation, Violations};
use debate_engine::{Accepted, FolderError, PolicyError, Proposed, Window};

use crate::facade::TenantSession;
use crate::refusal::Refusal;

/// The most debates that a threshold can ask for.
const DEBATES_MAX: u32 = 10_000;

/// A window as a client asks for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AskedWindow {
    pub(crate) days: Option<u32>,
    pub(crate) debates_min: Option<u32>,
    pub(crate) score_min: Option<f64>,
}

impl AskedWindow {
    /// Checks the window.
    fn read(self) -> Result<Window, Refusal> {
        let defaults = Threshold::default();
        let days = self.days.unwrap_or(DAYS_DEFAULT);
        let debates_min = self.debates_min.unwrap_or(defaults.debates_min);
        let score_min = self.score_min.unwrap_or(defaults.score_min);
        let mut violations = Vec::new();
        let mut check = |is_right: bool, field: &str, reason: String| {
            if !is_right {
                violations.push(Violation { field: field.to_owned(), reason });
            }
        };
        let between = |least: u32, most: u32| format!("must be a whole number from {least} to {most}");
        check((1..=DAYS_MAX).contains(&days), "days", between(1, DAYS_MAX));
        let field = "threshold.debates_min";
        check((2..=DEBATES_MAX).contains(&debates_min), field, between(2, DEBATES_MAX));
        let reason = "must be a number from 0 to 10".to_owned();
        check((0.0..=10.0).contains(&score_min), "threshold.score_min", reason);
        if violations.is_empty() {
            Ok(Window { days, threshold: Threshold { debates_min, score_min } })
        } else {
            Err(Violations(violations).into())
        }
    }
}

impl TenantSession {
    /// Returns what debates say about reviewers.
    pub(crate) async fn policy_insights(
        &self,
        asked: AskedWindow,
    ) -> Result<BTreeMap<Role, Insights>, Refusal> {
        self.check_sees_all_tenants()?;
        Ok(self.engine().policy_insights(asked.read()?).await?)
    }

    /// Asks for a proposal and writes it into the server's folder.
    pub(crate) async fn propose_prompt(
        &self,
        role: &str,
        asked: AskedWindow,
        anyway: bool,
    ) -> Result<Proposed, Refusal> {
        self.check_sees_all_tenants()?;
        self.check_money_is_free()?;
        let (reviewer, window) = (reviewer(role)?, asked.read()?);
        let Some(folder) = self.reviewers() else {
            let why = "this server has no folder of reviewers; start it with --reviewers-dir".to_owned();
            return Err(Refusal::Policy(why));
        };
        Ok(self.engine().propose_prompt(folder, &reviewer, window, anyway, self.actor()).await?)
    }

    /// Returns a proposal as it is recorded.
    pub(crate) async fn proposal(&self, role: &str, number: Option<u32>) -> Result<Proposal, Refusal> {
        self.check_sees_all_tenants()?;
        Ok(self.engine().proposal(&reviewer(role)?, number).await?)
    }

    /// Records that a person accepts a proposal.
    pub(crate) async fn accept_proposal(&self, role: &str, number: Option<u32>) -> Result<Accepted, Refusal> {
        self.check_sees_all_tenants()?;
        Ok(self.engine().accept_proposal(&reviewer(role)?, number, self.actor()).await?)
    }
}

fn reviewer(role: &str) -> Result<ReviewerName, Refusal> {
    role.parse().map_err(|_| {
        let reason = "must be 1 to 64 ASCII letters, digits, underscores, hyphens or single full stops, a letter or \
                      digit first";
        Refusal::field("role", reason)
    })
}

/// Logs why the folder of reviewers cannot be used, which is not sent.
fn warn_of_folder(error: &FolderError) {
    tracing::warn!(error = error as &dyn std::error::Error, "the folder of reviewers cannot be used");
}

impl From<PolicyError> for Refusal {
    fn from(error: PolicyError) -> Self {
        match error {
            PolicyError::Read(error) => error.into(),
            PolicyError::Load(error) => error.into(),
            PolicyError::Append(error) => error.into(),
            PolicyError::Log(error) => {
                tracing::error!(error = &error as &dyn std::error::Error, "the log of proposals is corrupt");
                Self::Defect
            }
            PolicyError::Accept(
                error @ (AcceptError::NoProposal | AcceptError::NotFound(_) | AcceptError::NotMade(_)),
            ) => Self::NoProposal(error.to_string()),
            PolicyError::Folder(error) => {
                warn_of_folder(&error);
                Self::Policy("the server's folder of reviewers cannot be used for this reviewer".to_owned())
            }
            PolicyError::Unwritten { ref source, .. } => {
                warn_of_folder(source);
                Self::Policy(error.to_string())
            }
            PolicyError::Raced { .. } => Self::PolicyRaced(error.to_string()),
            error @ (PolicyError::TooFew { .. }
            | PolicyError::NotNeeded { .. }
            | PolicyError::Prompt(_)
            | PolicyError::Model { .. }
            | PolicyError::Accept(AcceptError::Accepted { .. })) => Self::Policy(error.to_string()),
        }
    }
}

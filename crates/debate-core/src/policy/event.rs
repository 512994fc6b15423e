//! What can have happened to the prompt of a reviewer: proposals and their acceptance (rules V7, V8).

use serde::{Deserialize, Serialize};

use super::insights::PolicyInsights;
use crate::call::Reserved;
use crate::event::{FailureKind, FailureProse, PromptRef, ReplyFacts};
use crate::id::{Digest, Role};
use crate::prose::Prose;
use crate::{body, records};

records! {
    /// The events of the stream of one reviewer's prompt.
    pub enum PolicyEvent {
        /// A model is about to be asked (rule K3).
        ProposalStarted(ProposalStarted),
        /// It proposed a prompt.
        ProposalMade(ProposalMade),
        /// It proposed nothing that can be used.
        ProposalFailed(ProposalFailed),
        /// Its files were written.
        ProposalWritten(ProposalWritten),
        /// A person accepted a proposal.
        ProposalAccepted(ProposalAccepted),
    }
}

/// A model is about to be asked for a better prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposalStarted {
    /// The reviewer.
    pub role: Role,
    /// Which proposal, from 1.
    pub number: u32,
    /// The attempt at it, from 1.
    pub attempt: u32,
    /// Days that were looked back on.
    pub days: u32,
    /// On what it rests (rule V8).
    pub evidence: PolicyInsights,
    /// The digest of the prompt that stands.
    pub current: Digest,
    /// The model asked, as `provider:name`.
    pub model: String,
    /// The prompt of the question.
    pub prompt: PromptRef,
    /// The most that the request can use.
    pub reserved: Reserved,
}
body!(ProposalStarted, "proposal_started");

/// A model proposed a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposalMade {
    /// Which proposal.
    pub number: u32,
    /// The attempt.
    pub attempt: u32,
    /// The digest of the proposed prompt.
    pub digest: Digest,
    /// What the provider reported.
    pub reply: ReplyFacts,
    /// The words.
    #[serde(skip)]
    pub prose: Prose<ProposalProse>,
}
body!(ProposalMade, "proposal_made", prose: ProposalProse);

/// The words of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalProse {
    /// The prompt that is proposed.
    pub proposed_prompt: String,
    /// Why, in the model's words.
    pub rationale: String,
    /// How it differs from the prompt that stands, as a unified diff.
    pub diff: String,
}

/// A model proposed nothing that can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProposalFailed {
    /// Which proposal.
    pub number: u32,
    /// The attempt.
    pub attempt: u32,
    /// What happened.
    pub failure: FailureKind,
    /// What the provider reported.
    pub reply: ReplyFacts,
    /// What happened, for people.
    #[serde(skip)]
    pub prose: Prose<FailureProse>,
}
body!(ProposalFailed, "proposal_failed", prose: FailureProse);

/// The files of a proposal were written into the folder of proposals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalWritten {
    /// Which proposal.
    pub number: u32,
    /// The digest of the proposed prompt.
    pub digest: Digest,
}
body!(ProposalWritten, "proposal_written");

/// A person accepted a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposalAccepted {
    /// Which proposal.
    pub number: u32,
    /// The digest of what was accepted.
    pub digest: Digest,
}
body!(ProposalAccepted, "proposal_accepted");

//! Making a proposal for a reviewer's prompt: asked of a model, recorded, then written (rules V7, V8).

use std::path::PathBuf;

use debate_core::call::{Reserved, Tokens};
use debate_core::codec::Head;
use debate_core::event::{FailureKind, FailureProse, PromptRef, ReplyFacts};
use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::id::Digest;
use debate_core::policy::event::{
    PolicyEvent, ProposalFailed, ProposalMade, ProposalProse, ProposalStarted, ProposalWritten,
};
use debate_core::policy::insights::{Insights, PolicyInsights, Threshold};
use debate_core::prose::Prose;
use debate_llm::Ending;
use debate_prompts::policy::{self, Proposal};
use debate_prompts::prompts::Received;
use similar::TextDiff;

use super::{PolicyError, ReviewersFolder, Window};
use crate::engine::Engine;
use crate::turn;

/// How often a model is asked for one proposal.
const ATTEMPTS_MAX: u32 = 2;

/// A proposal that was made and written.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposed {
    /// Which of the reviewer's proposals, from 1.
    pub number: u32,
    /// On what it rests (rule V8).
    pub evidence: PolicyInsights,
    /// The model that made it.
    pub model: String,
    /// The whole new prompt.
    pub proposed_prompt: String,
    /// Why, in the model's words.
    pub rationale: String,
    /// How it differs from the prompt that stands, as a unified diff.
    pub diff: String,
    /// Where it was written, and its diff.
    pub files: [PathBuf; 2],
}

impl Engine {
    /// Asks a model for a better prompt of a reviewer, records its proposal, and writes it into the folder's `prompts`.
    ///
    /// `anyway` asks although the evidence does not speak for a change; too few debates are too few all the same. One
    /// proposal for a reviewer is made at a time: others wait here, and are refused in other processes.
    ///
    /// # Errors
    /// There is too little evidence, or none that speaks for a change; the folder cannot be used; the model proposes
    /// nothing; another process was faster; the store fails. A proposal that is recorded and could not be written stays in
    /// the log.
    pub async fn propose_prompt(
        &self,
        folder: &ReviewersFolder,
        reviewer: &ReviewerName,
        window: Window,
        anyway: bool,
        actor: &str,
    ) -> Result<Proposed, PolicyError> {
        let _turn = self.shared().proposing.wait(reviewer).await;
        let mut found = self.policy_insights(window).await?;
        let found = evidence(found.remove(&reviewer.role()), reviewer, window, anyway)?;
        let current = folder.system_prompt(reviewer)?;
        folder.check(reviewer)?;
        let proposals = self.proposals(reviewer).await?;
        let number = proposals.next_number();
        let asked = Asked { reviewer, number, window, found: &found, current: &current, actor };
        let Made { head, model, proposal, diff } = self.ask_for_prompt(&asked, proposals.head()).await?;
        let Proposal { proposed_prompt, rationale } = proposal;
        let files = folder
            .write(reviewer, number, &proposed_prompt, &diff)
            .map_err(|source| PolicyError::Unwritten { reviewer: reviewer.clone(), number, source })?;
        let digest = Digest::of_text(&proposed_prompt);
        match self.record_policy(reviewer, actor, head, ProposalWritten { number, digest }.into()).await {
            // The files are there; accepting says that this is not recorded.
            Ok(_) | Err(PolicyError::Raced { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(Proposed { number, evidence: found.facts, model, proposed_prompt, rationale, diff, files })
    }

    /// Asks until there is a proposal that can be used, and records it where the stream ends with its own start.
    async fn ask_for_prompt(&self, asked: &Asked<'_>, mut head: Head) -> Result<Made, PolicyError> {
        let shared = self.shared();
        let model = shared.models.default_model();
        let prompt = policy::render(asked.reviewer, asked.current, asked.found)?;
        let price = shared.prices.get(model.name());
        let mut why = String::new();
        for attempt in 1..=ATTEMPTS_MAX {
            let request = turn::request(&prompt, shared, attempt - 1);
            let (input, output) = (prompt.tokens.into(), prompt.output_tokens_max.into());
            let started = ProposalStarted {
                role: asked.reviewer.role(),
                number: asked.number,
                attempt,
                days: asked.window.days,
                evidence: asked.found.facts.clone(),
                current: Digest::of_text(asked.current),
                model: model.name().to_owned(),
                prompt: PromptRef {
                    version: prompt.version.to_owned(),
                    digest: Digest(request.prompt_digest()),
                    tokens: prompt.tokens,
                    omitted: prompt.omitted.clone(),
                    ..PromptRef::default()
                },
                reserved: Reserved {
                    input,
                    output,
                    cost_micros: price.map(|price| price.most(Tokens { input, output })),
                },
            };
            // In the log before the request leaves (rule K3).
            head = self.record_policy(asked.reviewer, asked.actor, head, started.into()).await?;
            let answered = model.complete(&request, &mut |_: &str| {}).await;
            let (failure, reply, message, text) = match answered {
                Ok(reply) if reply.ending == Ending::Complete => {
                    let facts = turn::facts_of(&reply, price);
                    match policy::parse(Received::whole(&reply.text)) {
                        Ok(proposal) => {
                            let diff = diff(asked.reviewer, asked.current, &proposal.proposed_prompt);
                            let made = made(asked.number, attempt, facts, &proposal, &diff);
                            head = self.record_policy(asked.reviewer, asked.actor, head, made).await?;
                            return Ok(Made { head, model: model.name().to_owned(), proposal, diff });
                        }
                        Err(error) => (FailureKind::Unreadable, facts, error.why, Some(reply.text)),
                    }
                }
                Ok(reply) => {
                    let message = "the reply reached its token limit".to_owned();
                    (FailureKind::Truncated, turn::facts_of(&reply, price), message, Some(reply.text))
                }
                Err(error) => (turn::failure_of(&error.kind), ReplyFacts::default(), error.to_string(), None),
            };
            why.clone_from(&message);
            let prose = Prose::new(FailureProse { message, text });
            let failed = ProposalFailed { number: asked.number, attempt, failure, reply, prose };
            head = self.record_policy(asked.reviewer, asked.actor, head, failed.into()).await?;
        }
        Err(PolicyError::Model { model: model.name().to_owned(), why })
    }
}

/// What a model is asked for.
struct Asked<'a> {
    reviewer: &'a ReviewerName,
    number: u32,
    window: Window,
    found: &'a Insights,
    current: &'a str,
    actor: &'a str,
}

/// What a model proposed, as it is recorded.
struct Made {
    head: Head,
    model: String,
    proposal: Proposal,
    diff: String,
}

/// Returns what a proposal rests on.
fn evidence(
    found: Option<Insights>,
    reviewer: &ReviewerName,
    window: Window,
    anyway: bool,
) -> Result<Insights, PolicyError> {
    let Threshold { debates_min, score_min } = window.threshold;
    let debates = found.as_ref().map_or(0, |found| found.facts.debates);
    let too_few =
        || PolicyError::TooFew { reviewer: reviewer.clone(), debates, days: window.days, debates_min };
    let found = found.filter(|found| found.facts.debates >= debates_min).ok_or_else(too_few)?;
    if found.facts.needs_update || anyway {
        return Ok(found);
    }
    let mean = found.facts.avg_argument_quality;
    let high = found.facts.interval_95.map_or(mean, |(_, high)| high);
    Err(PolicyError::NotNeeded { reviewer: reviewer.clone(), mean, high, score_min })
}

fn made(number: u32, attempt: u32, reply: ReplyFacts, proposal: &Proposal, diff: &str) -> PolicyEvent {
    let prose = ProposalProse {
        proposed_prompt: proposal.proposed_prompt.clone(),
        rationale: proposal.rationale.clone(),
        diff: diff.to_owned(),
    };
    let digest = Digest::of_text(&proposal.proposed_prompt);
    ProposalMade { number, attempt, digest, reply, prose: Prose::new(prose) }.into()
}

/// Returns how a proposed prompt differs from the one that stands, as a unified diff.
fn diff(reviewer: &ReviewerName, current: &str, proposed: &str) -> String {
    let (old, new) = (format!("a/{reviewer}"), format!("b/prompts/{reviewer}.txt"));
    TextDiff::from_lines(current, proposed).unified_diff().context_radius(3).header(&old, &new).to_string()
}

//! Learning from past reviews (rules V7, V8): what judged debates say about reviewers, proposals for their prompts, and a
//! person's acceptance. Proposals are events of a stream of their own; files are written by [`ReviewersFolder`] alone.

#[cfg(unix)]
mod folder;
mod folder_error;
#[cfg(not(unix))]
mod no_folder;

use std::collections::BTreeMap;
use std::path::PathBuf;

use debate_core::call::{Reserved, Tokens};
use debate_core::codec::{self, Author};
use debate_core::counted::counted;
use debate_core::debate::Debate;
use debate_core::event::{FailureKind, FailureProse, PromptRef, ReplyFacts};
use debate_core::format::Format as _;
use debate_core::formats::review::Review;
use debate_core::id::{DebateId, Digest, Role, Seq};
use debate_core::policy::desk::{AcceptError, Desk, DeskError};
use debate_core::policy::event::{
    PolicyEvent, ProposalAccepted, ProposalFailed, ProposalMade, ProposalProse, ProposalStarted,
};
use debate_core::policy::insights::{self, Insights, PolicyInsights, Threshold};
use debate_core::policy::reviewer::ReviewerName;
use debate_core::prose::Prose;
use debate_llm::FinishReason;
use debate_prompts::policy::{self, Proposal};
use debate_prompts::prompts::RenderError;
use debate_store::{Append, AppendError, ListFilter, ReadError};
use similar::TextDiff;

#[cfg(unix)]
pub use self::folder::ReviewersFolder;
pub use self::folder_error::FolderError;
#[cfg(not(unix))]
pub use self::no_folder::ReviewersFolder;
use crate::engine::{Engine, LIFECYCLE_KINDS};
use crate::house::House;
use crate::journal::{LoadError, PAGE};
use crate::turn;

/// Debates that are looked back on at most, the newest ones.
const DEBATES_MAX: usize = 10_000;
/// How often a model is asked for one proposal.
const ATTEMPTS_MAX: u32 = 2;
/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Which debates are looked back on, and what follows from them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Debates opened in the last so many days.
    pub days: u32,
    /// When a prompt should change.
    pub threshold: Threshold,
}

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

/// Something about the prompts of reviewers could not be done.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    /// Debates, or the log of proposals, cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A debate cannot be folded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The log of proposals is corrupt.
    #[error(transparent)]
    Desk(#[from] DeskError),
    /// What happened cannot be recorded.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The folder of reviewers cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// There are too few debates for a proposal (rule V8).
    #[error(
        "{reviewer} was judged in {} of the last {}; a proposal needs {debates_min}",
        counted(*debates, "debate", "debates"),
        counted(*days, "day", "days")
    )]
    TooFew {
        /// The reviewer.
        reviewer: ReviewerName,
        /// In how many debates it was judged.
        debates: u32,
        /// Days that were looked back on.
        days: u32,
        /// How many debates a proposal needs.
        debates_min: u32,
    },
    /// The evidence does not speak for a change.
    #[error(
        "the prompt of {reviewer} needs no change: the mean is {mean:.1}, its interval ends at {high:.1}, the threshold is {score_min:.1}"
    )]
    NotNeeded {
        /// The reviewer.
        reviewer: ReviewerName,
        /// The mean of its scores.
        mean: f64,
        /// The upper end of the interval.
        high: f64,
        /// Below what that would have to be.
        score_min: f64,
    },
    /// The prompt that stands is too long to be asked about.
    #[error(transparent)]
    Prompt(#[from] RenderError),
    /// The model proposed nothing that can be used; that is recorded.
    #[error("{model} proposed nothing that can be used: {why}")]
    Model {
        /// The model.
        model: String,
        /// What happened the last time it was asked.
        why: String,
    },
    /// The proposal cannot be accepted.
    #[error(transparent)]
    Accept(#[from] AcceptError),
}

impl Engine {
    /// Returns what debates of the last days say about each reviewer, by name (rule V7).
    ///
    /// # Errors
    /// The store cannot be read, or a debate cannot be folded.
    pub async fn policy_insights(&self, window: Window) -> Result<BTreeMap<Role, Insights>, PolicyError> {
        let debates = self.reviews_since(window.days).await?;
        Ok(insights::of(&debates, window.threshold))
    }

    /// Returns the newest concluded reviews that were opened in the last days.
    async fn reviews_since(&self, days: u32) -> Result<Vec<Debate<Review>>, PolicyError> {
        let since = self.house().surroundings.now().0.saturating_sub(i64::from(days) * DAY_MS);
        let mut filter = ListFilter {
            format: Some(Review::NAME.to_owned()),
            lifecycle: LIFECYCLE_KINDS.map(str::to_owned).to_vec(),
            status: Some(vec!["concluded".to_owned()]),
            limit: PAGE,
            ..ListFilter::default()
        };
        let mut debates = Vec::new();
        loop {
            let page = self.store().list(filter.clone()).await?;
            let recent = page.iter().take_while(|listed| listed.first.at.0 >= since);
            let mut seen = 0;
            for listed in recent.take(DEBATES_MAX - debates.len()) {
                debates.push(self.load(DebateId(listed.first.stream.id), None).await?);
                seen += 1;
            }
            match page.last() {
                Some(last) if seen == page.len() && page.len() == PAGE as usize => {
                    filter.before = Some(last.position);
                }
                Some(_) | None => return Ok(debates),
            }
        }
    }

    /// Returns the proposals for a reviewer's prompt.
    ///
    /// # Errors
    /// Their log cannot be read, or is corrupt.
    pub async fn proposals(&self, reviewer: &ReviewerName) -> Result<Desk, PolicyError> {
        let stream = reviewer.stream("");
        let (mut log, mut after) = (Vec::new(), Seq::START);
        loop {
            let page = self.store().read(stream, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(Desk::replay(&log)?) };
            after = last.seq;
            log.extend(page);
        }
    }

    /// Asks a model for a better prompt of a reviewer, records its proposal, and writes it into the folder's `prompts`.
    ///
    /// `anyway` asks although the evidence does not speak for a change; too few debates are too few all the same.
    ///
    /// # Errors
    /// There is too little evidence, or none that speaks for a change; the folder cannot be used; the model proposes
    /// nothing; the store fails. A proposal that is recorded and could not be written stays in the log.
    pub async fn propose_prompt(
        &self,
        folder: &ReviewersFolder,
        reviewer: &ReviewerName,
        window: Window,
        anyway: bool,
        actor: &str,
    ) -> Result<Proposed, PolicyError> {
        let mut found = self.policy_insights(window).await?;
        let found = evidence(found.remove(&reviewer.role()), reviewer, window, anyway)?;
        let current = folder.system_prompt(reviewer)?;
        folder.check(reviewer)?;
        let asked = Asked { reviewer, window, found: &found, current: &current, actor };
        let (number, model, proposal, diff) = self.ask_for_prompt(&asked).await?;
        let files = folder.write(reviewer, &proposal.proposed_prompt, &diff)?;
        let Proposal { proposed_prompt, rationale } = proposal;
        Ok(Proposed { number, evidence: found.facts, model, proposed_prompt, rationale, diff, files })
    }

    async fn ask_for_prompt(
        &self,
        asked: &Asked<'_>,
    ) -> Result<(u32, String, Proposal, String), PolicyError> {
        let house = self.house();
        let model = house.models.default_model();
        let prompt = policy::render(asked.reviewer, asked.current, asked.found)?;
        let number = self.proposals(asked.reviewer).await?.next_number();
        let price = house.prices.get(model.name());
        let mut why = String::new();
        for attempt in 1..=ATTEMPTS_MAX {
            let request = turn::request(&prompt, house, attempt - 1);
            let (input, output) = (prompt.tokens.into(), prompt.output_tokens_max.into());
            let started = ProposalStarted {
                role: asked.reviewer.role(),
                number,
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
                },
                reserved: Reserved {
                    input,
                    output,
                    cost_micros: price.map(|price| price.most(Tokens { input, output })),
                },
            };
            // In the log before the request leaves (rule K3).
            self.record_policy(asked, started.into()).await?;
            let answered = model.complete(&request, &mut |_: &str| {}).await;
            let (failure, reply, message, text) = match answered {
                Ok(reply) if reply.finish != FinishReason::Length => {
                    let facts = turn::facts_of(&reply, price);
                    match policy::parse(&reply.text) {
                        Ok(proposal) => {
                            let diff = diff(asked.reviewer, asked.current, &proposal.proposed_prompt);
                            self.record_policy(asked, made(number, attempt, facts, &proposal, &diff)).await?;
                            return Ok((number, model.name().to_owned(), proposal, diff));
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
            self.record_policy(asked, ProposalFailed { number, attempt, failure, reply, prose }.into())
                .await?;
        }
        Err(PolicyError::Model { model: model.name().to_owned(), why })
    }

    /// Appends an event to the stream of a reviewer's prompt.
    async fn record_policy(&self, asked: &Asked<'_>, event: PolicyEvent) -> Result<(), PolicyError> {
        self.append_policy(asked.reviewer, asked.actor, event).await
    }

    async fn append_policy(
        &self,
        reviewer: &ReviewerName,
        actor: &str,
        event: PolicyEvent,
    ) -> Result<(), PolicyError> {
        let house: &House = self.house();
        let head = self.proposals(reviewer).await?.head();
        let stream = reviewer.stream("");
        let author = Author { tenant: String::new(), actor: actor.to_owned(), trace: None };
        let now = house.surroundings.now();
        let sealed = codec::seal_records(stream, head, &author, now, &[event], || house.surroundings.salt());
        self.store().append(Append::new(stream, head.seq, sealed)).await?;
        Ok(())
    }

    /// Records that a person accepts a proposal, the latest that was made unless one is named. Nothing is written: the
    /// reviewer's file is that person's to change.
    ///
    /// # Errors
    /// There is no such proposal, it was accepted before, or the store fails.
    pub async fn accept_proposal(
        &self,
        reviewer: &ReviewerName,
        number: Option<u32>,
        actor: &str,
    ) -> Result<ProposalAccepted, PolicyError> {
        let accepted = self.proposals(reviewer).await?.accept(number)?;
        self.append_policy(reviewer, actor, accepted.clone().into()).await?;
        Ok(accepted)
    }
}

/// What a model is asked for.
struct Asked<'a> {
    reviewer: &'a ReviewerName,
    window: Window,
    found: &'a Insights,
    current: &'a str,
    actor: &'a str,
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

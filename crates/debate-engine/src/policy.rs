//! Learning from past reviews (rules V7, V8): what judged debates say about reviewers, proposals for their prompts, and a
//! person's acceptance. Proposals are events of a stream of their own; files are written by [`ReviewersFolder`] alone.

#[cfg(unix)]
mod folder;
mod folder_error;
#[cfg(not(unix))]
mod no_folder;
mod one_at_a_time;
mod proposing;

use std::collections::BTreeMap;

use debate_core::codec::{self, Author, Head};
use debate_core::counted::counted;
use debate_core::debate::Debate;
use debate_core::format::Format as _;
use debate_core::formats::review::Review;
use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::id::{DebateId, Digest, Role, Seq};
use debate_core::policy::event::{PolicyEvent, ProposalAccepted};
use debate_core::policy::insights::{self, Insights, Threshold};
use debate_core::policy::proposal_log::{self, AcceptError, ProposalLog, ProposalLogError};
use debate_prompts::prompts::RenderError;
use debate_store::{Append, AppendError, ListFilter, ReadError};

#[cfg(unix)]
pub use self::folder::ReviewersFolder;
pub use self::folder_error::FolderError;
#[cfg(not(unix))]
pub use self::no_folder::ReviewersFolder;
pub(crate) use self::one_at_a_time::OneAtATime;
pub use self::proposing::Proposed;
use crate::engine::{Engine, LIFECYCLE_KINDS};
use crate::engine_shared::EngineShared;
use crate::journal::{LoadError, PAGE};

/// Debates that are looked back on at most, those that came into the store last.
const DEBATES_MAX: usize = 10_000;
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

/// A proposal that a person accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accepted {
    /// Which of the reviewer's proposals.
    pub number: u32,
    /// The digest of its text.
    pub digest: Digest,
    /// Whether its files are recorded as written; of one that is not, the log alone has the text.
    pub is_written: bool,
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
    Log(#[from] ProposalLogError),
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
    /// The proposal is recorded, and its files could not be written.
    #[error(
        "proposal {number} for {reviewer} is recorded, and its files were not written; it can be shown from the log"
    )]
    Unwritten {
        /// The reviewer.
        reviewer: ReviewerName,
        /// Which proposal.
        number: u32,
        /// Why.
        #[source]
        source: FolderError,
    },
    /// Another process changed the reviewer's proposals meanwhile; what was asked for is not recorded.
    #[error(
        "the proposals for {reviewer} were changed by another process meanwhile; look at them and ask again"
    )]
    Raced {
        /// The reviewer.
        reviewer: ReviewerName,
    },
    /// The proposal cannot be shown or accepted.
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

    /// Returns the concluded reviews that were opened in the last days.
    ///
    /// The list is in the order in which debates came into the store, and an imported one may have been opened long before.
    async fn reviews_since(&self, days: u32) -> Result<Vec<Debate<Review>>, PolicyError> {
        let since = self.shared().env.now().0.saturating_sub(i64::from(days) * DAY_MS);
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
            for listed in page.iter().filter(|listed| listed.first.at.0 >= since) {
                if debates.len() == DEBATES_MAX {
                    tracing::warn!(days, debates_max = DEBATES_MAX, "reviews that came earlier are left out");
                    return Ok(debates);
                }
                debates.push(self.load(DebateId(listed.first.stream.id), None).await?);
            }
            match page.last() {
                Some(last) if page.len() == PAGE as usize => filter.before = Some(last.position),
                Some(_) | None => return Ok(debates),
            }
        }
    }

    /// Returns the proposals for a reviewer's prompt.
    ///
    /// # Errors
    /// Their log cannot be read, or is corrupt.
    pub async fn proposals(&self, reviewer: &ReviewerName) -> Result<ProposalLog, PolicyError> {
        let stream = reviewer.stream("");
        let (mut log, mut after) = (Vec::new(), Seq::START);
        loop {
            let page = self.store().read(stream, after, PAGE).await?;
            let Some(last) = page.last() else { return Ok(ProposalLog::replay(&log)?) };
            after = last.seq;
            log.extend(page);
        }
    }

    /// Returns one proposal for a reviewer's prompt, the latest that was made unless one is named.
    ///
    /// # Errors
    /// There is none, or their log cannot be read.
    pub async fn proposal(
        &self,
        reviewer: &ReviewerName,
        number: Option<u32>,
    ) -> Result<proposal_log::Proposal, PolicyError> {
        Ok(self.proposals(reviewer).await?.find(number)?.clone())
    }

    /// Records that a person accepts a proposal, the latest that was made unless one is named. Nothing is written: the
    /// reviewer's file is that person's to change. Waits while a proposal for the same reviewer is being made here.
    ///
    /// # Errors
    /// There is no such proposal, it was accepted before, another process was faster, or the store fails.
    pub async fn accept_proposal(
        &self,
        reviewer: &ReviewerName,
        number: Option<u32>,
        actor: &str,
    ) -> Result<Accepted, PolicyError> {
        let _turn = self.shared().proposing.wait(reviewer).await;
        let proposals = self.proposals(reviewer).await?;
        let accepted = proposals.accept(number)?;
        let is_written = proposals.find(Some(accepted.number))?.written.is_some();
        let ProposalAccepted { number, digest } = accepted;
        self.record_policy(reviewer, actor, proposals.head(), accepted.into()).await?;
        Ok(Accepted { number, digest, is_written })
    }

    /// Appends an event to the stream of a reviewer's prompt where it ends at `head`; returns its new end.
    async fn record_policy(
        &self,
        reviewer: &ReviewerName,
        actor: &str,
        head: Head,
        event: PolicyEvent,
    ) -> Result<Head, PolicyError> {
        let shared: &EngineShared = self.shared();
        let stream = reviewer.stream("");
        let author = Author { tenant: String::new(), actor: actor.to_owned(), trace: None };
        let now = shared.env.now();
        let sealed = codec::seal_records(stream, head, &author, now, &[event], || shared.env.salt());
        let end = sealed.head();
        match self.store().append(Append::from(sealed)).await {
            Ok(_) => Ok(end),
            Err(AppendError::Conflict { .. }) => Err(PolicyError::Raced { reviewer: reviewer.clone() }),
            Err(error) => Err(error.into()),
        }
    }
}

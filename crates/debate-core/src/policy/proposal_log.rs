//! The proposals for one reviewer's prompt: the fold of its stream, and what may be recorded next.

use std::collections::BTreeMap;

use serde::Serialize;

use super::event::{PolicyEvent, ProposalAccepted, ProposalMade, ProposalStarted};
use super::insights::PolicyInsights;
use crate::chain::{ChainBreak, ChainCheck};
use crate::codec::Head;
use crate::envelope::Envelope;
use crate::formats::review::reviewer::ReviewerName;
use crate::id::{Digest, Seq, Timestamp};
use crate::record::{Record as _, RecordError};

/// The proposals for one reviewer's prompt.
#[derive(Debug, Clone)]
pub struct ProposalLog {
    proposals: BTreeMap<u32, Proposal>,
    head: Head,
}

/// A proposal as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// How it was asked for, the last time.
    pub started: ProposalStarted,
    /// When.
    pub at: Timestamp,
    /// Whether the latest attempt at it brought nothing.
    failed: bool,
    /// What was proposed, if anything.
    pub made: Option<ProposalMade>,
    /// When its files were written, as far as is recorded.
    pub written: Option<Timestamp>,
    /// Who accepted it and when, if anybody did.
    pub accepted: Option<(String, Timestamp)>,
}

/// A proposal as every interface shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shown<'a> {
    /// Which of the reviewer's proposals, from 1.
    pub number: u32,
    /// How far it has come, as [`Proposal::state`] says.
    pub state: &'static str,
    /// When a model was asked for it, the last time: RFC 3339.
    pub asked_at: String,
    /// The model that was asked.
    pub model: &'a str,
    /// On what it rests (rule V8).
    pub evidence: &'a PolicyInsights,
    /// The digest of its text; none where nothing was proposed.
    pub digest: Option<Digest>,
    /// The whole new prompt; none where nothing was proposed, or it was redacted.
    pub proposed_prompt: Option<&'a str>,
    /// Why, in the model's words.
    pub rationale: Option<&'a str>,
    /// How it differs from the prompt that stood then, as a unified diff.
    pub diff: Option<&'a str>,
    /// Who accepted it.
    pub accepted_by: Option<&'a str>,
}

impl Proposal {
    fn asked(started: ProposalStarted, at: Timestamp) -> Self {
        Self { started, at, failed: false, made: None, written: None, accepted: None }
    }

    /// Returns the proposal as every interface shows it.
    #[must_use]
    pub fn shown(&self) -> Shown<'_> {
        let prose = self.made.as_ref().and_then(|made| made.prose.shown());
        Shown {
            number: self.started.number,
            state: self.state(),
            asked_at: self.at.to_string(),
            model: &self.started.model,
            evidence: &self.started.evidence,
            digest: self.made.as_ref().map(|made| made.digest),
            proposed_prompt: prose.map(|prose| prose.proposed_prompt.as_str()),
            rationale: prose.map(|prose| prose.rationale.as_str()),
            diff: prose.map(|prose| prose.diff.as_str()),
            accepted_by: self.accepted.as_ref().map(|(by, _)| by.as_str()),
        }
    }

    /// Returns how far it has come, in a word: `accepted`, `written`, `unwritten` (made, and no file of it is recorded), or
    /// `unmade`.
    #[must_use]
    pub const fn state(&self) -> &'static str {
        match (&self.made, &self.written, &self.accepted) {
            (_, _, Some(_)) => "accepted",
            (_, Some(_), None) => "written",
            (Some(_), None, None) => "unwritten",
            (None, None, None) => "unmade",
        }
    }
}

/// A stored stream is not one of proposals.
#[derive(Debug, thiserror::Error)]
pub enum ProposalLogError {
    /// An event was changed, removed or put elsewhere.
    #[error("the log of proposals is corrupt")]
    Chain(#[from] ChainBreak),
    /// An event cannot be read.
    #[error("event {seq} of the log of proposals cannot be read")]
    Record {
        /// Its sequence number.
        seq: u64,
        /// What does not fit.
        #[source]
        source: RecordError,
    },
    /// An event cannot have happened.
    #[error("event {seq} of the log of proposals ({kind}) cannot have happened")]
    Order {
        /// Its sequence number.
        seq: u64,
        /// Its kind.
        kind: String,
    },
}

impl ProposalLogError {
    /// Returns the first event at fault.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Chain(broken) => broken.seq(),
            Self::Record { seq, .. } | Self::Order { seq, .. } => Seq(*seq),
        }
    }
}

/// A proposal cannot be shown or accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AcceptError {
    /// Nothing was ever proposed for this reviewer.
    #[error("there is no proposal for this reviewer")]
    NoProposal,
    /// There is no such proposal.
    #[error("there is no proposal {0}")]
    NotFound(u32),
    /// The model proposed nothing.
    #[error("proposal {0} was never made")]
    NotMade(u32),
    /// Somebody has accepted it.
    #[error("proposal {number} was accepted by {by} already")]
    Accepted {
        /// Which.
        number: u32,
        /// By whom.
        by: String,
    },
}

impl ProposalLog {
    /// Folds a stored stream; one that does not exist has no proposals.
    ///
    /// # Errors
    /// It is corrupt.
    pub fn replay(log: &[Envelope]) -> Result<Self, ProposalLogError> {
        let mut folded = Self { proposals: BTreeMap::new(), head: Head::NONE };
        let mut chain = log.first().map(|first| ChainCheck::new(first.stream));
        for envelope in log {
            if let Some(chain) = &mut chain {
                chain.push(envelope)?;
            }
            folded.apply(envelope)?;
            folded.head = Head { seq: envelope.seq, hash: envelope.hash };
        }
        Ok(folded)
    }

    fn apply(&mut self, envelope: &Envelope) -> Result<(), ProposalLogError> {
        let seq = envelope.seq.0;
        let order = || ProposalLogError::Order { seq, kind: envelope.kind.clone() };
        let prose = envelope.prose.as_ref().map(|prose| prose.text.as_str());
        let event = PolicyEvent::decode(&envelope.kind, envelope.version, &envelope.body, prose);
        match event.ok_or_else(order)?.map_err(|source| ProposalLogError::Record { seq, source })? {
            PolicyEvent::ProposalStarted(started) => {
                if !is_of(envelope, &started) || !self.may_start(&started) {
                    return Err(order());
                }
                self.proposals.insert(started.number, Proposal::asked(started, envelope.at));
            }
            PolicyEvent::ProposalMade(made) => {
                let proposal = self.asked(made.number, made.attempt).ok_or_else(order)?;
                proposal.made = Some(made);
            }
            PolicyEvent::ProposalWritten(written) => {
                let proposal = self.proposals.get_mut(&written.number).ok_or_else(order)?;
                proposal.made.as_ref().filter(|made| made.digest == written.digest).ok_or_else(order)?;
                proposal.written = Some(envelope.at);
            }
            PolicyEvent::ProposalFailed(failed) => {
                let proposal = self.asked(failed.number, failed.attempt).ok_or_else(order)?;
                proposal.failed = true;
            }
            PolicyEvent::ProposalAccepted(accepted) => {
                let proposal = self.proposals.get_mut(&accepted.number).ok_or_else(order)?;
                let made = proposal.made.as_ref().filter(|_| proposal.accepted.is_none());
                made.filter(|made| made.digest == accepted.digest).ok_or_else(order)?;
                proposal.accepted = Some((envelope.actor.clone(), envelope.at));
            }
        }
        Ok(())
    }

    /// Returns whether a model may be asked: for the next proposal, or once more for one that was not made.
    fn may_start(&self, started: &ProposalStarted) -> bool {
        match self.proposals.get(&started.number) {
            Some(asked) => {
                asked.made.is_none() && asked.started.attempt.checked_add(1) == Some(started.attempt)
            }
            None => started.number == self.next_number() && started.attempt == 1,
        }
    }

    /// Returns a proposal that was not made, where this is the latest attempt at it and has not failed.
    fn asked(&mut self, number: u32, attempt: u32) -> Option<&mut Proposal> {
        let asked = self.proposals.get_mut(&number)?;
        (asked.made.is_none() && !asked.failed && asked.started.attempt == attempt).then_some(asked)
    }

    /// Returns the end of the stream.
    #[must_use]
    pub fn head(&self) -> Head {
        self.head
    }

    /// Returns the proposals, by number.
    pub fn proposals(&self) -> impl DoubleEndedIterator<Item = &Proposal> {
        self.proposals.values()
    }

    /// Returns the number of the next proposal.
    #[must_use]
    pub fn next_number(&self) -> u32 {
        self.proposals.keys().next_back().map_or(1, |last| last + 1)
    }

    /// Returns a proposal, the latest that was made unless one is named.
    ///
    /// # Errors
    /// There is none, or none that was made.
    pub fn find(&self, number: Option<u32>) -> Result<&Proposal, AcceptError> {
        let Some(latest) = self.proposals.keys().next_back() else { return Err(AcceptError::NoProposal) };
        match number {
            Some(number) => self.proposals.get(&number).ok_or(AcceptError::NotFound(number)),
            None => {
                let mut made = self.proposals().rev().filter(|proposal| proposal.made.is_some());
                made.next().ok_or(AcceptError::NotMade(*latest))
            }
        }
    }

    /// Returns the event of accepting a proposal, the latest that was made unless one is named.
    ///
    /// # Errors
    /// There is none that can be accepted.
    pub fn accept(&self, number: Option<u32>) -> Result<ProposalAccepted, AcceptError> {
        let proposal = self.find(number)?;
        let number = proposal.started.number;
        let made = proposal.made.as_ref().ok_or(AcceptError::NotMade(number))?;
        if let Some((by, _)) = &proposal.accepted {
            return Err(AcceptError::Accepted { number, by: by.clone() });
        }
        Ok(ProposalAccepted { number, digest: made.digest })
    }
}

/// Returns whether a stream is where proposals for the reviewer that one names are recorded.
fn is_of(envelope: &Envelope, started: &ProposalStarted) -> bool {
    let reviewer = started.role.as_str().parse::<ReviewerName>();
    reviewer.is_ok_and(|reviewer| reviewer.stream(&envelope.tenant) == envelope.stream)
}

//! Checking a stored debate: the chain of hashes, the fold, and the recorded outcomes against recomputed ones
//! (rules K4, K15). Never calls a model.

use std::collections::BTreeSet;

use debate_core::chain::{ChainBreak, ChainCheck};
use debate_core::codec;
use debate_core::debate::Debate;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::{Event, KernelEvent};
use debate_core::format::Format;
use debate_core::id::{DebateId, Digest, Seq};
use debate_store::{EventStore, ReadError};

use crate::journal::PAGE;

/// What checking a debate found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Which debate.
    pub debate: DebateId,
    /// Events that passed.
    pub events: u64,
    /// The last sequence number that passed, and its hash.
    pub head: (Seq, Digest),
    /// Events whose prose was deleted; their facts verify all the same.
    pub redacted: u64,
    /// Events whose redaction is recorded, and whose prose is stored all the same: deleting it was interrupted.
    pub unfinished: u64,
    /// Conclusions whose outcome was recomputed and found equal.
    pub outcomes: u64,
    /// The first thing that is wrong.
    pub fault: Option<Fault>,
}

impl Verification {
    /// Starts before the first event, with the chain's head there.
    #[must_use]
    pub fn new(debate: DebateId, head: (Seq, Digest)) -> Self {
        Self { debate, events: 0, head, redacted: 0, unfinished: 0, outcomes: 0, fault: None }
    }
}

/// Something wrong with a stored debate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The first bad sequence number.
    pub seq: Seq,
    /// What is wrong, for people.
    pub why: String,
}

impl From<ChainBreak> for Fault {
    fn from(found: ChainBreak) -> Self {
        Self { seq: found.seq(), why: found.to_string() }
    }
}

/// Checks one debate from its first event to its last.
pub(crate) async fn verify<F: Format>(
    store: &dyn EventStore,
    debate: DebateId,
) -> Result<Verification, ReadError> {
    let stream = StreamId::from(debate);
    let mut check = Check::<F>::new(debate);
    let mut after = Seq::START;
    loop {
        let page = store.read(stream, after, PAGE).await?;
        for envelope in &page {
            if let Err(fault) = check.push(envelope) {
                check.found.fault = Some(fault);
                return Ok(check.found);
            }
        }
        match page.last() {
            Some(last) => after = last.seq,
            None => return Ok(check.end()),
        }
    }
}

struct Check<F: Format> {
    chain: ChainCheck,
    debate: Option<Debate<F>>,
    /// Events that should have prose and have none.
    bare: BTreeSet<Seq>,
    /// Events that have prose.
    worded: BTreeSet<Seq>,
    found: Verification,
}

impl<F: Format> Check<F> {
    fn new(debate: DebateId) -> Self {
        let chain = ChainCheck::new(debate.into());
        let head = chain.head();
        let found = Verification::new(debate, head);
        Self { chain, debate: None, bare: BTreeSet::new(), worded: BTreeSet::new(), found }
    }

    fn push(&mut self, envelope: &Envelope) -> Result<(), Fault> {
        self.chain.push(envelope)?;
        let seq = envelope.seq;
        let fault = |why: String| Fault { seq, why };
        let recorded = codec::decode::<F>(envelope).map_err(|error| fault(error.to_string()))?;
        match &mut self.debate {
            None => {
                self.debate = Some(Debate::replay([&recorded]).map_err(|error| fault(error.to_string()))?);
            }
            Some(debate) => {
                debate.apply(recorded.at, &recorded.event).map_err(|error| fault(error.to_string()))?;
                if let Event::Kernel(KernelEvent::Concluded(concluded)) = &recorded.event {
                    if debate.outcome_digest() != concluded.outcome_digest {
                        return Err(fault("the outcome does not follow from the log".to_owned()));
                    }
                    if concluded.spend.is_some_and(|spend| spend != debate.spend()) {
                        return Err(fault("the spend does not follow from the log".to_owned()));
                    }
                    self.found.outcomes += 1;
                }
            }
        }
        self.found.events += 1;
        if envelope.is_redacted() {
            self.found.redacted += 1;
            self.bare.insert(seq);
        } else if envelope.prose.is_some() {
            self.worded.insert(seq);
        }
        self.found.head = self.chain.head();
        Ok(())
    }

    /// Compares the prose that is gone with the redactions on record (rule K15).
    fn end(mut self) -> Verification {
        let none = BTreeSet::new();
        let redacted = self.debate.as_ref().map_or(&none, Debate::redacted);
        self.found.unfinished = self.worded.intersection(redacted).count() as u64;
        self.found.fault = self.bare.difference(redacted).next().map(|seq| Fault {
            seq: *seq,
            why: "its words were deleted and no redaction is on record".to_owned(),
        });
        self.found
    }
}

//! Checking a stored debate: the chain of hashes, the fold, and the recorded outcomes against recomputed ones
//! (rules K4, K15). Never calls a model.

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
    /// Conclusions whose outcome was recomputed and found equal.
    pub outcomes: u64,
    /// The first thing that is wrong.
    pub fault: Option<Fault>,
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
            None => return Ok(check.found),
        }
    }
}

struct Check<F: Format> {
    chain: ChainCheck,
    debate: Option<Debate<F>>,
    found: Verification,
}

impl<F: Format> Check<F> {
    fn new(debate: DebateId) -> Self {
        let chain = ChainCheck::new(debate.into());
        let head = chain.head();
        let found = Verification { debate, events: 0, head, redacted: 0, outcomes: 0, fault: None };
        Self { chain, debate: None, found }
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
        self.found.redacted += u64::from(envelope.is_redacted());
        self.found.head = self.chain.head();
        Ok(())
    }
}

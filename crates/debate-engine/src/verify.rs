//! Checking a stored debate: the chain of hashes, the fold, and the recorded outcomes against recomputed ones
//! (rules K4, K15). Never calls a model.

use std::collections::BTreeSet;

use debate_core::chain::{ChainBreak, ChainCheck};
use debate_core::codec::{self, MISSING_PROSE};
use debate_core::debate::Debate;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::{Concluded, Event, KernelEvent};
use debate_core::format::Format;
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use debate_store::{EventStore, ReadError};

use crate::journal::{LoadError, PAGE};
use crate::lineage::{self, Stretch};

/// What checking a debate found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// Which debate.
    pub debate: DebateId,
    /// Events of its own that passed.
    pub events: u64,
    /// Events of its parents that passed, where it is a fork (rule K14).
    pub inherited: u64,
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
        Self { debate, events: 0, inherited: 0, head, redacted: 0, unfinished: 0, outcomes: 0, fault: None }
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

/// Returns what is wrong with a stream that is on record as archived, where the store has other events of it (rule K15).
///
/// # Errors
/// The store failed.
pub async fn archived_otherwise(
    store: &dyn EventStore,
    stream: StreamId,
) -> Result<Option<Fault>, ReadError> {
    let Some(archived) = store.find_archived(stream).await? else { return Ok(None) };
    // One that is read from the archive, or was restored meanwhile, ends as it did.
    let is_other = store.head(stream).await?.is_some_and(|head| head != archived.head);
    let why = format!("it is archived in {}, and the store has other events of it", archived.bundle);
    Ok(is_other.then_some(Fault { seq: Seq(1), why }))
}

/// Events of a stream that follow each other.
#[derive(Debug)]
pub struct Page {
    /// At least one where there is any.
    pub events: Vec<Envelope>,
    /// Whether there were no more when these were read.
    pub is_last: bool,
}

/// Returns the events of a stream right after `after`, in order: one page at most, less where not all of it can be read,
/// and what is wrong where the first of them cannot.
///
/// # Errors
/// The store failed.
pub async fn readable(
    store: &dyn EventStore,
    stream: StreamId,
    after: Seq,
) -> Result<Result<Page, Fault>, ReadError> {
    let mut limit = PAGE;
    loop {
        match store.read(stream, after, limit).await {
            // One row that cannot be read hides those before it.
            Err(ReadError::Corrupt { .. }) if limit > 1 => limit /= 2,
            Err(ReadError::Corrupt { what, .. }) => return Ok(Err(Fault { seq: after.next(), why: what })),
            page => return page.map(|events| Ok(Page { is_last: events.len() < limit as usize, events })),
        }
    }
}

/// Checks one debate, whose first events are given, from these to its last; of a fork first what it shares with its parents
/// (rule K14).
pub(crate) async fn verify<F: Format>(
    store: &dyn EventStore,
    debate: DebateId,
    begin: Page,
) -> Result<Verification, ReadError> {
    let mut check = Check::<F>::new(debate);
    let inherited = match begin.events.first() {
        Some(first) => check.inherit(store, first).await?,
        None => Ok(()),
    };
    let own = match inherited {
        Ok(()) => check.stream(store, debate, Some(begin), None).await?,
        Err(why) => {
            check = Check::new(debate);
            Err(Fault { seq: Seq(1), why })
        }
    };
    match own {
        Ok(()) => Ok(check.end()),
        Err(fault) => {
            let taken = check.taken_before_fault(store, debate).await?;
            Ok(Verification { fault: Some(taken.unwrap_or(fault)), ..check.found })
        }
    }
}

struct Check<F: Format> {
    debate: Option<Debate<F>>,
    /// Events that should have prose and have none.
    bare: BTreeSet<Seq>,
    /// Events that have prose.
    worded: BTreeSet<Seq>,
    found: Verification,
}

impl<F: Format> Check<F> {
    fn new(debate: DebateId) -> Self {
        let found = Verification::new(debate, ChainCheck::new(debate.into()).head());
        Self { debate: None, bare: BTreeSet::new(), worded: BTreeSet::new(), found }
    }

    /// Checks what a fork shares with its parents, the eldest first; says what is wrong with it.
    async fn inherit(
        &mut self,
        store: &dyn EventStore,
        first: &Envelope,
    ) -> Result<Result<(), String>, ReadError> {
        let stretches = match lineage::stretches(store, first).await {
            Ok(stretches) => stretches,
            Err(LoadError::Read(ReadError::Corrupt { what, .. })) => {
                return Ok(Err(format!("what it was forked from does not hold: {what}")));
            }
            Err(LoadError::Read(error)) => return Err(error),
            Err(error) => return Ok(Err(error.to_string())),
        };
        for Stretch { debate, until, hash } in stretches {
            if let Err(Fault { why, .. }) = self.stream(store, debate, None, Some(until)).await? {
                return Ok(Err(format!("what it was forked from does not hold: {why}")));
            }
            if self.found.head != (until, hash) {
                return Ok(Err(format!("event {until} of {debate} is not the one that it was forked from")));
            }
            self.found.inherited += std::mem::take(&mut self.found.events);
            (self.found.redacted, self.found.outcomes) = (0, 0);
            if let Some(seq) = self.taken_from(store, debate).await? {
                return Ok(Err(format!(
                    "what it was forked from does not hold: event {seq} of {debate}: {MISSING_PROSE}"
                )));
            }
            self.bare.clear();
            self.worded.clear();
        }
        Ok(Ok(()))
    }

    /// Checks a stream, of which the first events may be given, up to and including `until`, or all of it.
    async fn stream(
        &mut self,
        store: &dyn EventStore,
        debate: DebateId,
        mut begin: Option<Page>,
        until: Option<Seq>,
    ) -> Result<Result<(), Fault>, ReadError> {
        let stream = StreamId::from(debate);
        let mut chain = ChainCheck::new(stream);
        self.found.head = chain.head();
        loop {
            let page = match begin.take() {
                Some(page) => page,
                None => match readable(store, stream, chain.head().0).await? {
                    Ok(page) => page,
                    Err(fault) => return Ok(Err(fault)),
                },
            };
            for envelope in &page.events {
                if let Err(fault) =
                    chain.push(envelope).map_err(Fault::from).and_then(|()| self.fold(envelope))
                {
                    return Ok(Err(fault));
                }
                self.found.head = chain.head();
                if until.is_some_and(|until| envelope.seq >= until) {
                    return Ok(Ok(()));
                }
            }
            if page.is_last {
                return Ok(Ok(()));
            }
        }
    }

    fn fold(&mut self, envelope: &Envelope) -> Result<(), Fault> {
        let seq = envelope.seq;
        let fault = |why: String| Fault { seq, why };
        let recorded = codec::decode::<F>(envelope).map_err(|error| fault(error.to_string()))?;
        match &mut self.debate {
            None => {
                self.debate = Some(Debate::replay([&recorded]).map_err(|error| fault(error.to_string()))?);
            }
            Some(debate) => {
                if let Event::Kernel(KernelEvent::Concluded(concluded)) = &recorded.event {
                    conclude(debate, recorded.at, concluded).map_err(fault)?;
                    self.found.outcomes += 1;
                } else {
                    debate.apply(recorded.at, &recorded.event).map_err(|error| fault(error.to_string()))?;
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
        Ok(())
    }

    /// Returns the first event of a parent that was checked up to where it was forked whose words are gone, and no redaction
    /// is on record in all of the parent's stream: it may stand behind what is shared (rule K15).
    async fn taken_from(&self, store: &dyn EventStore, parent: DebateId) -> Result<Option<Seq>, ReadError> {
        let mut taken = self.taken();
        let (until, hash) = self.found.head;
        let mut chain = ChainCheck::after(parent.into(), until, hash);
        while !taken.is_empty() {
            // From what cannot be read, or is not what was written, nothing proves anything.
            let Ok(page) = readable(store, parent.into(), chain.head().0).await? else { break };
            for envelope in &page.events {
                if chain.push(envelope).is_err() {
                    return Ok(taken.pop_first());
                }
                if let Some(seq) = codec::redacted(envelope) {
                    taken.remove(&seq);
                }
            }
            if page.is_last {
                break;
            }
        }
        Ok(taken.pop_first())
    }

    /// Returns the first fault of words that are gone before a fault of another kind, and no redaction is on record, neither
    /// before that nor in what stands behind it: such a record proves nothing, but may be true (rule K15).
    async fn taken_before_fault(
        &self,
        store: &dyn EventStore,
        debate: DebateId,
    ) -> Result<Option<Fault>, ReadError> {
        let mut taken = self.taken();
        let (mut after, _) = self.found.head;
        while !taken.is_empty() {
            // What cannot be read may be the record.
            let Ok(page) = readable(store, debate.into(), after).await? else { return Ok(None) };
            let Some(last) = page.events.last() else { break };
            after = last.seq;
            for seq in page.events.iter().filter_map(codec::redacted) {
                taken.remove(&seq);
            }
        }
        Ok(taken.pop_first().map(taken_at))
    }

    /// Returns the events whose prose is gone and whose redaction is not among what was folded.
    fn taken(&self) -> BTreeSet<Seq> {
        self.bare.difference(self.redacted()).copied().collect()
    }

    fn redacted(&self) -> &BTreeSet<Seq> {
        static NONE: BTreeSet<Seq> = BTreeSet::new();
        self.debate.as_ref().map_or(&NONE, Debate::redacted)
    }

    /// Compares the prose that is gone with the redactions on record (rule K15).
    fn end(mut self) -> Verification {
        self.found.unfinished = self.worded.intersection(self.redacted()).count() as u64;
        self.found.fault = self.taken().pop_first().map(taken_at);
        self.found
    }
}

/// Folds a conclusion; says what of it does not follow from the events before it.
fn conclude<F: Format>(debate: &mut Debate<F>, at: Timestamp, concluded: &Concluded) -> Result<(), String> {
    // What the outcome tells of its completeness is what the conclusion says.
    let due = debate.conclusion_now();
    debate.apply(at, &Event::from(concluded.clone())).map_err(|error| error.to_string())?;
    // Of the completeness the reasons are words that may have been others when the log was written.
    let parts = [
        ("revision of the conclusion", concluded.revision == due.revision),
        ("rule that ended the debate", concluded.rule == due.rule),
        ("completeness", concluded.completeness.lacks_the_same(&due.completeness)),
        ("outcome", concluded.outcome_digest == debate.outcome_digest()),
        ("spend", concluded.spend.is_none() || concluded.spend == due.spend),
    ];
    match parts.into_iter().find(|(_, follows)| !follows) {
        Some((part, _)) => Err(format!("the {part} does not follow from the log")),
        None => Ok(()),
    }
}

fn taken_at(seq: Seq) -> Fault {
    Fault { seq, why: MISSING_PROSE.to_owned() }
}

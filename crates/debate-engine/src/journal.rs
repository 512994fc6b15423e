//! One debate as its writer holds it: the folded state, the end of its chain, and the way to add to both. Nothing
//! is folded here before the store has it.

use std::sync::Arc;

use debate_core::codec::{self, Author, DecodeError, Head};
use debate_core::debate::{Debate, ReplayError};
use debate_core::decide::Draft;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::Recorded;
use debate_core::format::Format;
use debate_core::id::{DebateId, Seq};
use debate_store::{Append, AppendError, EventStore, ReadError};
use tokio::time::Instant;

use crate::env::Env;
use crate::lineage;
use crate::telemetry;

/// Events fetched at once when a log is read.
pub(crate) const PAGE: u32 = 512;

/// A log cannot be turned into a debate.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// There is no such debate.
    #[error("there is no debate {0}")]
    NotFound(DebateId),
    /// The debate's events were moved into an archive.
    #[error("debate {debate} is archived in {bundle}; restore it first")]
    Archived {
        /// Which debate.
        debate: DebateId,
        /// The bundle's name.
        bundle: String,
    },
    /// The debate is of a format that is not served here.
    #[error("debate {debate} has the format {format:?}, which is not served here")]
    Format {
        /// Which debate.
        debate: DebateId,
        /// Its format.
        format: String,
    },
    /// The store failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The debate is a fork, and what it was forked from is gone or was changed (rule K14).
    #[error("debate {debate} was forked from event {at} of {parent}, which is not there as it was")]
    Parent {
        /// Which debate.
        debate: DebateId,
        /// What it was forked from.
        parent: DebateId,
        /// The last event that they share.
        at: Seq,
    },
    /// The debate is a fork of a fork of a fork …
    #[error("debate {0} is too many forks deep")]
    TooDeep(DebateId),
    /// An event cannot be read.
    #[error("the log of {debate} is corrupt")]
    Decode {
        /// Which debate.
        debate: DebateId,
        /// What cannot be read.
        #[source]
        source: DecodeError,
    },
    /// The events do not follow from each other.
    #[error("the log of {debate} is corrupt")]
    Replay {
        /// Which debate.
        debate: DebateId,
        /// What does not follow.
        #[source]
        source: ReplayError,
    },
}

/// Returns why a debate has no events: it is archived, or there is none.
pub(crate) async fn missing(store: &dyn EventStore, debate: DebateId) -> LoadError {
    match store.find_archived(debate.into()).await {
        Ok(Some(archived)) => LoadError::Archived { debate, bundle: archived.bundle },
        Ok(None) => LoadError::NotFound(debate),
        Err(error) => LoadError::Read(error),
    }
}

/// A debate together with the end of its chain.
#[derive(Debug)]
pub(crate) struct Journal<F: Format> {
    /// The fold.
    pub(crate) debate: Debate<F>,
    /// The end of the chain.
    pub(crate) head: Head,
    /// Whose debate it is.
    pub(crate) tenant: String,
}

impl<F: Format> Journal<F> {
    /// Reads a debate's log, up to and including `until` where given, and folds it.
    pub(crate) async fn load(
        store: &dyn EventStore,
        debate: DebateId,
        until: Option<Seq>,
    ) -> Result<Self, LoadError> {
        match Self::read_on(None, store, debate, until).await? {
            Some(journal) => Ok(journal),
            None => Err(missing(store, debate).await),
        }
    }

    /// Folds what other writers appended.
    pub(crate) async fn catch_up(&mut self, store: &dyn EventStore) -> Result<(), LoadError> {
        let debate = self.debate.id();
        let so_far = Self { debate: self.debate.clone(), head: self.head, tenant: self.tenant.clone() };
        *self = Self::read_on(Some(so_far), store, debate, None).await?.ok_or(LoadError::NotFound(debate))?;
        Ok(())
    }

    async fn read_on(
        mut fold: Option<Self>,
        store: &dyn EventStore,
        debate: DebateId,
        until: Option<Seq>,
    ) -> Result<Option<Self>, LoadError> {
        let mut after = fold.as_ref().map_or(Seq::START, |journal| journal.head.seq);
        loop {
            let page = store.read(debate.into(), after, PAGE).await?;
            let whole = page.len() < PAGE as usize;
            for envelope in page.iter().take_while(|envelope| until.is_none_or(|last| envelope.seq <= last)) {
                if fold.is_none() {
                    for inherited in lineage::prefix(store, envelope).await? {
                        fold = Some(Self::fold(fold, debate, &inherited)?);
                    }
                }
                fold = Some(Self::fold(fold, debate, envelope)?);
                after = envelope.seq;
            }
            if whole || until.is_some_and(|last| after >= last) {
                return Ok(fold);
            }
        }
    }

    fn fold(journal: Option<Self>, debate: DebateId, envelope: &Envelope) -> Result<Self, LoadError> {
        let recorded: Recorded<F> =
            codec::decode(envelope).map_err(|source| LoadError::Decode { debate, source })?;
        let head = Head { seq: envelope.seq, hash: envelope.hash };
        let replay = |source| LoadError::Replay { debate, source };
        let Some(mut journal) = journal else {
            let first = Debate::replay([&recorded]).map_err(replay)?;
            return Ok(Self { debate: first, head, tenant: envelope.tenant.clone() });
        };
        journal.debate.apply(recorded.at, &recorded.event).map_err(|error| replay(error.into()))?;
        journal.head = head;
        Ok(journal)
    }

    /// Appends what was decided, and then takes over the state that it leads to; returns what was appended.
    pub(crate) async fn record(
        &mut self,
        store: &dyn EventStore,
        env: &Env,
        author: &Author,
        draft: Draft<F>,
    ) -> Result<Vec<Arc<Envelope>>, AppendError> {
        if draft.events().is_empty() {
            return Ok(Vec::new());
        }
        let stream = StreamId::from(self.debate.id());
        let sealed = codec::seal(stream, self.head, author, draft.at(), draft.events(), || env.salt());
        let head = sealed.head();
        let append = Append::from(sealed);
        let appended = append.envelopes().to_vec();
        let asked_at = Instant::now();
        store.append(append).await?;
        telemetry::recorded::<F>(self.debate.config(), draft.events(), asked_at.elapsed());
        self.debate = draft.into_debate();
        self.head = head;
        Ok(appended)
    }
}

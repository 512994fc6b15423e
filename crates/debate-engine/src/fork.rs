//! Forking a debate (rule K14): what it takes, and why it may be refused.

use debate_core::codec::{self, Author, DecodeError, Head};
use debate_core::command::DecideError;
use debate_core::debate::{Debate, ReplayError};
use debate_core::envelope::Envelope;
use debate_core::event::{Forked, Recorded};
use debate_core::fork::{self, Change};
use debate_core::format::Format;
use debate_core::id::{DebateId, Seq};
use debate_core::request::Violations;
use debate_store::{Append, AppendError, LeaseError};

use crate::binding;
use crate::engine::Engine;
use crate::engine_shared::EngineShared;
use crate::journal::LoadError;
use crate::lineage;
use crate::pricing;

/// What to fork, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// The debate that is forked.
    pub parent: DebateId,
    /// The last event that both share; the parent's last one where it is not said. Moved forward where it would part an
    /// answer from what it came to.
    pub at: Option<Seq>,
    /// The one thing that differs.
    pub change: Change,
    /// Who asks.
    pub actor: String,
}

/// A debate was not forked; nothing is recorded.
#[derive(Debug, thiserror::Error)]
pub enum ForkError {
    /// The parent cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The parent has no such event.
    #[error("debate {debate} is at {head}; it cannot be forked at {at}")]
    NoEvent {
        /// Which debate.
        debate: DebateId,
        /// The event asked for.
        at: Seq,
        /// Where the debate is.
        head: Seq,
    },
    /// Prose that the fork needs was redacted.
    #[error("cannot fork debate {0}: prose that the fork needs was redacted")]
    Redacted(DebateId),
    /// The change does not fit the debate.
    #[error(transparent)]
    Refused(DecideError),
    /// The change names what is not to be had here.
    #[error(transparent)]
    Invalid(Violations),
    /// The process holds as many debates as it may.
    #[error("{held} debates are held here already")]
    Busy {
        /// How many.
        held: usize,
    },
    /// The fork cannot be leased.
    #[error("the fork cannot be leased")]
    Leases(#[source] LeaseError),
    /// The process is shutting down.
    #[error("the engine is shutting down")]
    ShutDown,
    /// The store failed; whether the fork was recorded is unknown.
    #[error("the fork cannot be recorded")]
    Store(#[source] AppendError),
}

impl Engine {
    /// Forks a debate and drives the fork in the background; returns the event that opens it.
    ///
    /// # Errors
    /// The parent has no such event, its words are gone, the change does not fit, there is no room, or the store failed.
    pub async fn fork(&self, fork: Fork) -> Result<Forked, ForkError> {
        if self.shared().shutdown.is_cancelled() {
            return Err(ForkError::ShutDown);
        }
        let (origin, served) = self.served(fork.parent).await?;
        let _room = self.room_for(&origin.tenant).map_err(|held| ForkError::Busy { held })?;
        let debate = self.shared().env.debate_id();
        // Acquired before the fork exists, so that a crash leaves no fork without a lease.
        let held = self.lease(debate).await.map_err(ForkError::Leases)?;
        let forked = served.fork(self.shared(), &fork, debate).await;
        match &forked {
            Ok(_) => {
                self.hold(debate, &origin, held);
            }
            Err(error) => {
                let is_unknown = matches!(error, ForkError::Store(AppendError::Backend { .. }));
                self.give_back(held.as_deref(), is_unknown).await;
            }
        }
        forked
    }

    /// Returns every fork of a debate, the newest first: it must not be purged while it has any.
    ///
    /// # Errors
    /// The store cannot be read, or holds a fork that cannot be.
    pub async fn forks_of(&self, parent: DebateId) -> Result<Vec<Forked>, LoadError> {
        let mut forks = Vec::new();
        for listed in self.find_with_event_kind("forked", None, None).await? {
            let debate = DebateId(listed.first.stream.id);
            let Some(forked) = codec::forked(&listed.first) else { continue };
            let forked = forked.map_err(|source| LoadError::Decode { debate, source })?;
            forks.extend((forked.parent == parent).then_some(forked));
        }
        Ok(forks)
    }
}

/// Opens a fork of a debate of format `F` under a new id.
pub(crate) async fn open<F: Format>(
    shared: &EngineShared,
    fork: &Fork,
    id: DebateId,
) -> Result<Forked, ForkError> {
    let parent = fork.parent;
    let own = lineage::read(&*shared.store, parent, None).await?;
    let (first, last) = own.first().zip(own.last()).ok_or(LoadError::NotFound(parent))?;
    let at = fork.at.unwrap_or(last.seq);
    if at == Seq::START || at > last.seq {
        return Err(ForkError::NoEvent { debate: parent, at, head: last.seq });
    }
    let tenant = first.tenant.clone();
    let mut log = lineage::prefix(&*shared.store, first).await?;
    let inherited = log.len();
    log.extend(own);
    let corrupt = |source: DecodeError| LoadError::Decode { debate: parent, source };
    let recorded = log.iter().map(codec::decode::<F>).collect::<Result<Vec<Recorded<F>>, _>>();
    let recorded = recorded.map_err(corrupt)?;
    let at = fork::whole(&recorded[inherited..], at);
    let prefix = inherited + usize::try_from(at.0).unwrap_or(usize::MAX);
    if log[..prefix].iter().any(Envelope::is_redacted) {
        return Err(ForkError::Redacted(parent));
    }
    let replay = |source: ReplayError| LoadError::Replay { debate: parent, source };
    let debate = Debate::<F>::replay(&recorded[..prefix]).map_err(replay)?;
    let config = F::changed(debate.config(), &fork.change);
    let config = config.map_err(|why| ForkError::Refused(DecideError::NotForkable(why)))?;
    let limits = pricing::admit::<F>(shared, &config, *debate.limits()).map_err(ForkError::Invalid)?;
    let forked = Forked {
        parent,
        at,
        parent_hash: log[prefix - 1].hash,
        change: fork.change.to_string(),
        debate: Some(id),
        format: F::NAME.to_owned(),
        limits: Some(limits).filter(|limits| limits != debate.limits()),
        models: Some(binding::bound::<F>(shared, &config)),
    };
    let now = shared.env.now();
    let draft = debate.fork(now, forked.clone()).map_err(ForkError::Refused)?;
    let author = Author { tenant, actor: fork.actor.clone(), trace: None };
    let salt = || shared.env.salt();
    let sealed = codec::seal(id.into(), Head::NONE, &author, now, draft.events(), salt);
    shared.store.append(Append::from(sealed)).await.map_err(ForkError::Store)?;
    Ok(forked)
}

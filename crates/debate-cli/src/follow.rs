//! Follows a debate to its end: passes every durable event once, in order, to a [`Teller`] that shows it.

use std::io;

use debate_core::envelope::Envelope;
use debate_core::event::Forked;
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Seq};
use debate_core::record::Body as _;
use debate_engine::{Chunk, Engine, Watched};
use futures::StreamExt as _;

use crate::event_line::{self, EventLine};
use crate::failures::Failures;

/// Shows a debate as it goes on.
pub(crate) trait Teller: Send {
    /// Shows an event; the debate has it folded in already.
    fn event(&mut self, debate: &AnyDebate, envelope: &Envelope, line: &EventLine) -> io::Result<()>;

    /// Shows a piece of live text.
    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()>;

    /// Ends the show.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A debate that was followed to its end.
#[derive(Debug)]
pub(crate) struct Followed {
    /// The debate as it ended.
    pub(crate) debate: AnyDebate,
    /// What failed in it.
    pub(crate) failures: Failures,
}

/// Folds events as they come and tells of them.
pub(crate) struct Follower<'t> {
    debate: Option<AnyDebate>,
    failures: Failures,
    teller: &'t mut dyn Teller,
}

impl<'t> Follower<'t> {
    /// Begins behind an event, given the debate's history up to there.
    pub(crate) fn behind(seen: &[Envelope], teller: &'t mut dyn Teller) -> anyhow::Result<Self> {
        let debate = if seen.is_empty() { None } else { Some(AnyDebate::replay(seen)?) };
        Ok(Self { debate, failures: Failures::of(seen), teller })
    }

    /// Returns whether this event cannot be folded before [`Follower::inherit`] has what the fork shares with its parents.
    pub(crate) fn must_inherit(&self, next: &Envelope) -> bool {
        self.debate.is_none() && next.kind == Forked::KIND
    }

    /// Takes over what a fork shares with its parents.
    pub(crate) fn inherit(&mut self, prefix: &[Envelope]) -> anyhow::Result<()> {
        self.debate = Some(AnyDebate::replay(prefix)?);
        self.failures = Failures::of(prefix);
        Ok(())
    }

    /// Folds the next event and tells of it.
    pub(crate) fn event(&mut self, envelope: &Envelope) -> anyhow::Result<()> {
        let debate = match &mut self.debate {
            Some(debate) => {
                debate.apply(envelope)?;
                debate
            }
            none => none.insert(AnyDebate::replay(std::slice::from_ref(envelope))?),
        };
        self.failures.note(envelope);
        Ok(self.teller.event(debate, envelope, &event_line::tell(debate, envelope)?)?)
    }

    /// Tells of a piece of live text.
    pub(crate) fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        self.teller.chunk(chunk)
    }

    /// Ends the show; there is nothing to return where nothing was seen.
    pub(crate) fn finish(self) -> io::Result<Option<Followed>> {
        self.teller.finish()?;
        let failures = self.failures;
        Ok(self.debate.map(|debate| Followed { debate, failures }))
    }
}

/// Follows a debate of this process's store from after an event until it has concluded.
pub(crate) async fn follow(
    engine: &Engine,
    id: DebateId,
    after: Seq,
    tokens: bool,
    teller: &mut dyn Teller,
) -> anyhow::Result<Followed> {
    let watched = engine.watch(id, after, tokens).await?;
    let seen = if after > Seq::START { engine.history(id, Some(after)).await? } else { Vec::new() };
    let mut follower = Follower::behind(&seen, teller)?;
    futures::pin_mut!(watched);
    while let Some(item) = watched.next().await {
        match item? {
            Watched::Event(envelope) => {
                if follower.must_inherit(&envelope) {
                    follower.inherit(&engine.history(id, Some(Seq::START)).await?)?;
                }
                follower.event(&envelope)?;
            }
            Watched::Chunk(chunk) => follower.chunk(&chunk)?,
            Watched::Heartbeat(_) => {}
        }
    }
    follower.finish()?.ok_or_else(|| anyhow::anyhow!("debate {id} has no events"))
}

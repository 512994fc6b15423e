//! Following a debate to its end: every durable event once, in order, told to whoever shows it.

use std::io;
use std::sync::Arc;

use debate_core::envelope::Envelope;
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Chunk, Engine, Watched};
use futures::StreamExt as _;

use crate::failures::Failures;
use crate::told::{self, Told};

/// Shows a debate as it goes on.
pub(crate) trait Teller: Send {
    /// Shows an event; the debate has it folded in already.
    fn event(&mut self, debate: &AnyDebate, envelope: &Envelope, told: &Told) -> io::Result<()>;

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

/// Follows a debate from after an event until it has concluded.
pub(crate) async fn follow(
    engine: &Engine,
    id: DebateId,
    after: Seq,
    tokens: bool,
    teller: &mut dyn Teller,
) -> anyhow::Result<Followed> {
    let watched = engine.watch(id, after, tokens).await?;
    let (mut debate, mut failures) = (None, Failures::default());
    if after > Seq::START {
        let seen = engine.log(id, Some(after)).await?;
        failures = Failures::of(&seen);
        debate = Some(AnyDebate::replay(&seen)?);
    }
    futures::pin_mut!(watched);
    while let Some(item) = watched.next().await {
        match item? {
            Watched::Event(envelope) => {
                let debate = fold(&mut debate, &envelope)?;
                failures.note(&envelope);
                teller.event(debate, &envelope, &told::tell(debate, &envelope)?)?;
            }
            Watched::Chunk(chunk) => teller.chunk(&Arc::unwrap_or_clone(chunk))?,
            Watched::Heartbeat(_) => {}
        }
    }
    teller.finish()?;
    let debate = debate.ok_or_else(|| anyhow::anyhow!("debate {id} has no events"))?;
    Ok(Followed { debate, failures })
}

fn fold<'d>(debate: &'d mut Option<AnyDebate>, envelope: &Envelope) -> anyhow::Result<&'d AnyDebate> {
    match debate {
        Some(debate) => {
            debate.apply(envelope)?;
            Ok(debate)
        }
        none => Ok(none.insert(AnyDebate::replay(std::slice::from_ref(envelope))?)),
    }
}

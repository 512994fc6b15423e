//! A format as the engine serves it: the same few things for every format, whatever its types.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use debate_core::call::Want;
use debate_core::codec::Author;
use debate_core::command::Command;
use debate_core::debate::{Debate, Lifecycle};
use debate_core::envelope::Envelope;
use debate_core::event::{Event, Forked};
use debate_core::format::Format;
use debate_core::formats::any::{self, AnyReplayError};
use debate_core::id::{DebateId, Digest, Timestamp};
use debate_core::request::Violation;
use debate_prompts::prompts::{Prompt, Prompts, RenderError};
use debate_prompts::room::Room;
use debate_store::{EventStore, ReadError};
use tokio::sync::mpsc;

use crate::binding::{self, Unoffered};
use crate::control::{Control, ControlError};
use crate::driver::{self, DriveError, Ended, Order};
use crate::engine_shared::EngineShared;
use crate::fork::{self, Fork, ForkError};
use crate::journal::{Journal, LoadError};
use crate::live::Live;
use crate::redaction::{self, Redact, Redaction, RedactionError};
use crate::room;
use crate::turn;
use crate::verify::{self, Page, Verification};

/// What the engine does with a debate without knowing its format.
#[async_trait]
pub(crate) trait FormatRuntime: Send + Sync {
    /// Drives a debate until it ends.
    async fn drive(
        &self,
        shared: Arc<EngineShared>,
        debate: DebateId,
        live: Live,
        orders: &mut mpsc::Receiver<Order>,
    ) -> Result<Ended, DriveError>;

    /// Carries out a control on a debate that is not driven here; returns whether it must be driven now.
    async fn control(
        &self,
        shared: &EngineShared,
        debate: DebateId,
        control: &Control,
        actor: &str,
    ) -> Result<bool, ControlError>;

    /// Returns when a check of a debate's deadline next decides something, as it is stored; `None` where it does not run.
    async fn due_at(&self, store: &dyn EventStore, debate: DebateId) -> Result<Option<Timestamp>, LoadError>;

    /// Applies the deadline to a debate that is not driven and records the result; returns whether it has concluded.
    async fn check_deadline(&self, shared: &EngineShared, debate: DebateId) -> Result<bool, ControlError>;

    /// Records that a process drives a debate again after none did, where its deadline counts that (rule K24).
    async fn resume_driving(&self, shared: &EngineShared, debate: DebateId) -> Result<(), ControlError>;

    /// Returns why a debate cannot go on with the models of this process, if it cannot (rule K23).
    async fn missing_models(
        &self,
        shared: &EngineShared,
        debate: DebateId,
    ) -> Result<Option<Unoffered>, LoadError>;

    /// Records that all that is asked from here on is put to the default model of this process (rule K23).
    async fn replace_model(
        &self,
        shared: &EngineShared,
        debate: DebateId,
        actor: &str,
    ) -> Result<(), ControlError>;

    /// Returns whether a debate runs, as it is stored.
    async fn wants_driving(&self, store: &dyn EventStore, debate: DebateId) -> Result<bool, LoadError>;

    /// Opens a fork of a debate under a new id.
    async fn fork(&self, shared: &EngineShared, fork: &Fork, id: DebateId) -> Result<Forked, ForkError>;

    /// Deletes prose of a debate and records that it did.
    async fn redact(
        &self,
        shared: &EngineShared,
        debate: DebateId,
        what: Redact,
        actor: &str,
    ) -> Result<Redaction, RedactionError>;

    /// Checks a stored debate, whose first events are given.
    async fn verify(
        &self,
        store: &dyn EventStore,
        debate: DebateId,
        begin: Page,
    ) -> Result<Verification, ReadError>;

    /// Returns what is wrong with the models of a debate, given the events of its start, a `Vec<Event<_>>` of this format:
    /// a prompt of its first questions does not fit its model's context window.
    fn room_violation(
        &self,
        shared: &EngineShared,
        start: &(dyn Any + Send + Sync),
        now: Timestamp,
    ) -> Option<Violation>;

    /// Renders the prompt of a question from the events before it was put and in the room that it had, and returns it with
    /// the digest of its request.
    fn render_again(
        &self,
        shared: &EngineShared,
        before: &[Arc<Envelope>],
        want: &Want,
        room: Room,
    ) -> Result<Result<(Prompt, Digest), RenderError>, AnyReplayError>;
}

/// Serves the format of `P`.
pub(crate) struct ServedFormat<P>(pub(crate) Arc<P>);

#[async_trait]
impl<P: Prompts> FormatRuntime for ServedFormat<P> {
    async fn drive(
        &self,
        shared: Arc<EngineShared>,
        debate: DebateId,
        live: Live,
        orders: &mut mpsc::Receiver<Order>,
    ) -> Result<Ended, DriveError> {
        driver::drive(shared, Arc::clone(&self.0), debate, live, orders).await
    }

    async fn control(
        &self,
        shared: &EngineShared,
        debate: DebateId,
        control: &Control,
        actor: &str,
    ) -> Result<bool, ControlError> {
        if control.sets_going() {
            let journal: Journal<P::Format> = Journal::load(&*shared.store, debate, None).await?;
            if let Some(why) = binding::missing(shared, &journal.debate) {
                return Err(ControlError::Unoffered(why));
            }
        }
        let decided = decide::<P::Format>(shared, debate, control.command(), actor).await?;
        Ok(!decided.wanted_work().is_empty())
    }

    async fn due_at(&self, store: &dyn EventStore, debate: DebateId) -> Result<Option<Timestamp>, LoadError> {
        let journal: Journal<P::Format> = Journal::load(store, debate, None).await?;
        Ok(journal.debate.due_at())
    }

    async fn check_deadline(&self, shared: &EngineShared, debate: DebateId) -> Result<bool, ControlError> {
        let decided = decide::<P::Format>(shared, debate, Command::CheckDeadline, &shared.actor).await?;
        Ok(decided.lifecycle() == Lifecycle::Concluded)
    }

    async fn resume_driving(&self, shared: &EngineShared, debate: DebateId) -> Result<(), ControlError> {
        decide::<P::Format>(shared, debate, Command::ResumeDriving, &shared.actor).await.map(drop)
    }

    async fn missing_models(
        &self,
        shared: &EngineShared,
        debate: DebateId,
    ) -> Result<Option<Unoffered>, LoadError> {
        let journal: Journal<P::Format> = Journal::load(&*shared.store, debate, None).await?;
        Ok(binding::missing(shared, &journal.debate))
    }

    async fn replace_model(
        &self,
        shared: &EngineShared,
        debate: DebateId,
        actor: &str,
    ) -> Result<(), ControlError> {
        let model = binding::identity(&**shared.models.default_model());
        decide::<P::Format>(shared, debate, Command::ReplaceModel(model), actor).await.map(drop)
    }

    async fn wants_driving(&self, store: &dyn EventStore, debate: DebateId) -> Result<bool, LoadError> {
        let journal: Journal<P::Format> = Journal::load(store, debate, None).await?;
        Ok(journal.debate.lifecycle() == Lifecycle::Running)
    }

    async fn fork(&self, shared: &EngineShared, fork: &Fork, id: DebateId) -> Result<Forked, ForkError> {
        fork::open::<P::Format>(shared, fork, id).await
    }

    async fn redact(
        &self,
        shared: &EngineShared,
        debate: DebateId,
        what: Redact,
        actor: &str,
    ) -> Result<Redaction, RedactionError> {
        redaction::redact::<P::Format>(shared, debate, what, actor).await
    }

    async fn verify(
        &self,
        store: &dyn EventStore,
        debate: DebateId,
        begin: Page,
    ) -> Result<Verification, ReadError> {
        verify::verify::<P::Format>(store, debate, begin).await
    }

    fn room_violation(
        &self,
        shared: &EngineShared,
        start: &(dyn Any + Send + Sync),
        now: Timestamp,
    ) -> Option<Violation> {
        room::violation(shared, &*self.0, start.downcast_ref::<Vec<Event<P::Format>>>()?, now)
    }

    fn render_again(
        &self,
        shared: &EngineShared,
        before: &[Arc<Envelope>],
        want: &Want,
        room: Room,
    ) -> Result<Result<(Prompt, Digest), RenderError>, AnyReplayError> {
        let debate: Debate<P::Format> = any::fold(before.iter().map(Arc::as_ref))?;
        let rendered = turn::render(&*self.0, &debate, want, room);
        Ok(rendered.map(|(_, prompt)| {
            let digest = Digest(turn::request(&prompt, shared, 0).prompt_digest());
            (prompt, digest)
        }))
    }
}

/// Decides a command on a debate that is not driven, records it, and returns the resulting state.
async fn decide<F: Format>(
    shared: &EngineShared,
    debate: DebateId,
    command: Command<F>,
    actor: &str,
) -> Result<Debate<F>, ControlError> {
    let mut journal: Journal<F> = Journal::load(&*shared.store, debate, None).await?;
    let mut draft = journal.debate.draft(shared.env.now());
    draft.decide(command).map_err(ControlError::Refused)?;
    let author = Author { tenant: journal.tenant.clone(), actor: actor.to_owned(), trace: None };
    journal.record(&*shared.store, &shared.env, &author, draft).await?;
    Ok(journal.debate)
}

/// Returns the name of the format that `P` speaks for.
pub(crate) fn name_of<P: Prompts>() -> &'static str {
    <P::Format as Format>::NAME
}

//! Many debates in one process: starting, following, controlling, checking them.

mod holding;
mod rooms;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use debate_core::codec::{self, Head};
use debate_core::debate::Debate;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::event::Opened;
use debate_core::format::Format;
use debate_core::formats::any::format_of;
use debate_core::id::{DebateId, Seq};
use debate_core::prices::Prices;
use debate_core::prose::Prose;
use debate_llm::fair_semaphore::FairSemaphore;
use debate_llm::{Models, Window};
use debate_prompts::prompts::Prompts;
use debate_store::{Append, AppendError, EventStore, ReadError, RequestKey};
use futures::stream::Stream;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::rooms::Reservation;
use crate::binding;
use crate::control::{Control, ControlError};
use crate::driver::Order;
use crate::engine_shared::{EngineShared, Settings};
use crate::env::Env;
use crate::format_runtime::{FormatRuntime, ServedFormat, name_of};
use crate::hedging::Races;
use crate::journal::{Journal, LoadError, missing};
use crate::keeping::Held;
use crate::leasing::{Leasing, Sharing};
use crate::lineage;
use crate::policy::OneAtATime;
use crate::pricing;
use crate::redaction::{Redact, Redaction, RedactionError};
use crate::room::Windows;
use crate::schemas::Schemas;
use crate::shared_reads::SharedReads;
use crate::start::{Start, StartError, Started};
use crate::thinking::Paces;
use crate::tools::{Tool, Tools};
use crate::verify::{Fault, Verification, archived_otherwise, readable};
use crate::watch::{self, WatchError, Watched};

/// Event kinds that say where a debate is in its life; the last of them tells.
pub const LIFECYCLE_KINDS: [&str; 7] =
    ["opened", "forked", "paused", "resumed", "concluded", "continued", "reopened"];

/// Drives debates. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<EngineShared>,
    formats: Arc<BTreeMap<&'static str, Arc<dyn FormatRuntime>>>,
    held: Arc<Mutex<HashMap<DebateId, Held>>>,
    coming: Reservation,
    tasks: TaskTracker,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// Puts an engine together.
pub struct EngineBuilder {
    store: Arc<dyn EventStore>,
    models: Models,
    prices: Prices,
    tools: Tools,
    settings: Settings,
    env: Env,
    actor: String,
    sharing: Option<Sharing>,
    windows: Windows,
    formats: BTreeMap<&'static str, Arc<dyn FormatRuntime>>,
}

impl std::fmt::Debug for EngineBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineBuilder").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl EngineBuilder {
    /// Serves one more format.
    #[must_use]
    pub fn format<P: Prompts>(mut self, prompts: P) -> Self {
        self.formats.insert(name_of::<P>(), Arc::new(ServedFormat(Arc::new(prompts))));
        self
    }

    /// Sets the limits of the process.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets what models cost; without it no cost is known, and no request may limit its money (rule K8).
    #[must_use]
    pub fn prices(mut self, prices: Prices) -> Self {
        self.prices = prices;
        self
    }

    /// Sets the context window of a model, by the model's name; prompts are fitted to it. A number is its tokens.
    #[must_use]
    pub fn context_window(self, model: &str, window: impl Into<Window>) -> Self {
        self.windows.set(model, window.into());
        self
    }

    /// Sets clock and randomness.
    #[must_use]
    pub fn env(mut self, env: Env) -> Self {
        self.env = env;
        self
    }

    /// Serves tools to the debates of one format, by its name.
    #[must_use]
    pub fn tools(mut self, format: &'static str, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        tools.into_iter().for_each(|tool| self.tools.add(format, tool));
        self
    }

    /// Sets the name under which this process writes events.
    #[must_use]
    pub fn actor(mut self, actor: impl Into<String>) -> Self {
        self.actor = actor.into();
        self
    }

    /// Shares the store's debates with other replicas; without it this process drives whatever it takes up.
    #[must_use]
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = Some(sharing);
        self
    }

    /// Returns the engine; it drives no debate until one is started or taken up.
    #[must_use]
    pub fn build(self) -> Engine {
        let shared = EngineShared {
            store: self.store,
            models: self.models,
            prices: self.prices,
            tools: self.tools,
            settings: self.settings,
            env: self.env,
            actor: self.actor,
            leasing: self.sharing.map(Leasing::new),
            calls: FairSemaphore::new(self.settings.calls_max),
            debates: FairSemaphore::new(self.settings.debates_max),
            schemas: Schemas::default(),
            races: Races::default(),
            paces: Paces::default(),
            windows: self.windows,
            reads: SharedReads::default(),
            proposing: OneAtATime::default(),
            shutdown: CancellationToken::new(),
        };
        Engine {
            shared: Arc::new(shared),
            formats: Arc::new(self.formats),
            held: Arc::default(),
            coming: Reservation::default(),
            tasks: TaskTracker::new(),
        }
    }
}

impl Engine {
    /// Begins to put an engine together.
    pub fn builder(store: Arc<dyn EventStore>, models: impl Into<Models>) -> EngineBuilder {
        EngineBuilder {
            store,
            models: models.into(),
            prices: Prices::default(),
            tools: Tools::default(),
            settings: Settings::default(),
            env: Env::real(),
            actor: "engine".to_owned(),
            sharing: None,
            windows: Windows::default(),
            formats: BTreeMap::new(),
        }
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn EventStore> {
        &self.shared.store
    }

    /// Returns the name of the model that is asked where a request names none, as it is recorded.
    #[must_use]
    pub fn model_name(&self) -> &str {
        self.shared.models.default_model().name()
    }

    /// Opens a debate and drives it in the background.
    ///
    /// # Errors
    /// The request id was used for another request, the request names what is not to be had here, there is no room, or
    /// the store failed. Nothing is recorded.
    pub async fn start<F: Format>(&self, start: Start<F>) -> Result<Started, StartError> {
        let served = self.served_format(F::NAME).ok_or(StartError::Format(F::NAME))?;
        if self.shared.shutdown.is_cancelled() {
            return Err(StartError::ShutDown);
        }
        let limits = pricing::admit::<F>(&self.shared, &start.config, start.limits);
        let limits = limits.map_err(StartError::Invalid)?;
        let _room = self.room_for(&start.author.tenant).map_err(|held| StartError::Busy { held })?;
        let debate = self.shared.env.debate_id();
        let origin = Origin { format: F::NAME.to_owned(), tenant: start.author.tenant.clone() };
        let opened = Opened::<F> {
            format: F::NAME.to_owned(),
            debate,
            request_digest: start.request_digest,
            limits,
            models: Some(binding::bound::<F>(&self.shared, &start.config)),
            config: start.config,
            prose: Prose::new(start.brief),
        };
        let now = self.shared.env.now();
        let events = opened.decide(now).map_err(StartError::Open)?;
        if let Some(violation) = served.room_violation(&self.shared, &events, now) {
            return Err(StartError::Invalid([violation].into_iter().collect()));
        }
        let salt = || self.shared.env.salt();
        let sealed = codec::seal(debate.into(), Head::NONE, &start.author, now, &events, salt);
        let mut append = Append::from(sealed);
        if let Some(request_id) = &start.request_id {
            append = append.with_request(RequestKey {
                tenant: start.author.tenant.clone(),
                request_id: request_id.clone(),
                body_hash: start.request_digest,
            });
        }
        let written = Seq(events.len() as u64);
        // Acquired before the debate exists, so that a crash leaves no debate without a lease.
        let lease = self.lease(debate).await.map_err(StartError::Leases)?;
        let appended = self.shared.store.append(append).await;
        if let Err(error) = &appended {
            self.give_back(lease.as_deref(), matches!(error, AppendError::Backend { .. })).await;
        }
        match appended {
            Ok(_) => {
                self.hold(debate, &origin, lease);
                Ok(Started { debate, existing: false })
            }
            Err(AppendError::RequestTaken { stream, same_body: true }) => {
                let debate = DebateId(stream.id);
                let backend = |error: ReadError| AppendError::Backend { stream, source: error.into() };
                let idle = self.hold_if_idle(debate, &origin, written).await;
                idle.map_err(|error| StartError::Store(backend(error)))?;
                Ok(Started { debate, existing: true })
            }
            Err(AppendError::RequestTaken { stream, same_body: false }) => Err(StartError::RequestTaken {
                request_id: start.request_id.unwrap_or_default(),
                debate: DebateId(stream.id),
            }),
            // Whether the events are stored is unknown; no other caller can have opened this id.
            Err(error @ AppendError::Backend { .. }) => {
                if matches!(self.hold_if_idle(debate, &origin, written).await, Ok(true)) {
                    return Ok(Started { debate, existing: false });
                }
                Err(StartError::Store(error))
            }
            Err(error) => Err(StartError::Store(error)),
        }
    }

    /// Carries out a control, wherever the debate is.
    ///
    /// # Errors
    /// The debate is not in a state for it, there is no room for one more that goes on, or the store failed.
    pub async fn control(&self, debate: DebateId, control: Control, actor: &str) -> Result<(), ControlError> {
        let orders = self.held().get(&debate).map(|held| held.orders.clone());
        if let Some(orders) = orders {
            let (reply, answer) = oneshot::channel();
            let order = Order { control: control.clone(), actor: actor.to_owned(), reply };
            if orders.send(order).await.is_ok()
                && let Ok(result) = answer.await
            {
                return result;
            }
        }
        let (origin, served) = self.served(debate).await?;
        let room = || self.room_for(&origin.tenant).map_err(|held| ControlError::Busy { held });
        let _room = control.sets_going().then(room).transpose()?;
        let done = served.control(&self.shared, debate, &control, actor).await;
        // What could not be recorded for sure may be recorded all the same; driving looks.
        let unknown = matches!(&done, Err(ControlError::Record(AppendError::Backend { .. })));
        if unknown && control.sets_going() || matches!(done, Ok(true)) {
            self.take_up(debate, &origin);
        }
        done.map(|_| ())
    }

    pub(crate) async fn served(
        &self,
        debate: DebateId,
    ) -> Result<(Origin, Arc<dyn FormatRuntime>), LoadError> {
        let first = self.shared.store.read(StreamId::from(debate), Seq::START, 1).await?;
        self.served_by(debate, first.first()).await
    }

    async fn served_by(
        &self,
        debate: DebateId,
        first: Option<&Envelope>,
    ) -> Result<(Origin, Arc<dyn FormatRuntime>), LoadError> {
        let Some(first) = first else { return Err(self.missing(debate).await) };
        let origin = Origin::of(first).unwrap_or_default();
        match self.served_format(&origin.format) {
            Some(served) => Ok((origin, Arc::clone(served))),
            None => Err(LoadError::Format { debate, format: origin.format }),
        }
    }

    /// Returns the format of a name, where it is served here.
    pub(crate) fn served_format(&self, name: &str) -> Option<&Arc<dyn FormatRuntime>> {
        self.formats.get(name)
    }

    /// Returns why a debate has no events: it is archived, or there is none.
    pub async fn missing(&self, debate: DebateId) -> LoadError {
        missing(&*self.shared.store, debate).await
    }

    /// Returns a debate of a known format as it was after event `at`, or as it is.
    ///
    /// # Errors
    /// There is no such debate, or its log cannot be folded.
    pub async fn load<F: Format>(&self, debate: DebateId, at: Option<Seq>) -> Result<Debate<F>, LoadError> {
        Ok(Journal::load(&*self.shared.store, debate, at).await?.debate)
    }

    /// Returns a debate's own log, up to and including `until` where given.
    ///
    /// # Errors
    /// There is no such debate, or the store failed.
    pub async fn log(&self, debate: DebateId, until: Option<Seq>) -> Result<Vec<Envelope>, LoadError> {
        let log = lineage::read(&*self.shared.store, debate, until).await?;
        if log.is_empty() { Err(self.missing(debate).await) } else { Ok(log) }
    }

    /// Returns all that a debate is folded from, its own log up to and including `until` where given: a fork's begins
    /// with what it shares with its parents (rule K14).
    ///
    /// # Errors
    /// There is no such debate, a parent is gone or was changed, or the store failed.
    pub async fn history(&self, debate: DebateId, until: Option<Seq>) -> Result<Vec<Envelope>, LoadError> {
        let log = lineage::read(&*self.shared.store, debate, until.map(|until| until.max(Seq(1)))).await?;
        let Some(first) = log.first() else { return Err(self.missing(debate).await) };
        let mut history = lineage::prefix(&*self.shared.store, first).await?;
        history
            .extend(log.into_iter().take_while(|envelope| until.is_none_or(|until| envelope.seq <= until)));
        Ok(history)
    }

    /// Follows a debate from after a sequence number; ends when it has concluded.
    ///
    /// # Errors
    /// There is no such debate, or it has no event `after` yet.
    pub async fn watch(
        &self,
        debate: DebateId,
        after: Seq,
        tokens: bool,
    ) -> Result<impl Stream<Item = Result<Watched, WatchError>> + Send + 'static, WatchError> {
        let live = self.held().get(&debate).map(|held| held.live.clone());
        let store = (Arc::clone(&self.shared.store), self.shared.reads.clone());
        watch::watch(store, debate, after, (live, tokens), self.shared.settings.heartbeat).await
    }

    /// Returns whether there is nothing to follow after an event, which is the last one of a debate that has concluded.
    ///
    /// # Errors
    /// The store failed.
    pub async fn is_over(&self, debate: DebateId, after: Seq) -> Result<bool, ReadError> {
        watch::is_over(&*self.shared.store, StreamId::from(debate), after).await
    }

    /// Returns once a debate has concluded, or `false` after `patience`.
    ///
    /// # Errors
    /// There is no such debate, or the store failed.
    pub async fn concluded(&self, debate: DebateId, patience: Duration) -> Result<bool, WatchError> {
        use futures::StreamExt as _;
        let watched = self.watch(debate, Seq::START, false).await?;
        let drained = async {
            futures::pin_mut!(watched);
            while let Some(item) = watched.next().await {
                item?;
            }
            Ok(true)
        };
        tokio::time::timeout(patience, drained).await.unwrap_or(Ok(false))
    }

    /// Checks a stored debate: hashes, fold, recorded outcomes.
    ///
    /// # Errors
    /// There is no such debate, or the store failed. What is wrong with the log is in the result.
    pub async fn verify(&self, debate: DebateId) -> Result<Verification, LoadError> {
        let (store, stream) = (&*self.shared.store, StreamId::from(debate));
        let nothing = |fault: Fault| {
            let head = debate_core::chain::ChainCheck::new(stream).head();
            Verification { fault: Some(fault), ..Verification::new(debate, head) }
        };
        let (begin, otherwise) =
            tokio::try_join!(readable(store, stream, Seq::START), archived_otherwise(store, stream))?;
        let begin = match (begin, otherwise) {
            (Err(fault), _) | (Ok(_), Some(fault)) => return Ok(nothing(fault)),
            (Ok(begin), None) => begin,
        };
        match self.served_by(debate, begin.events.first()).await {
            Ok((_, served)) => Ok(served.verify(store, debate, begin).await?),
            // A first event that no longer says its format was changed.
            Err(LoadError::Format { .. }) => {
                let why = "the first event does not name a format that is known here".to_owned();
                Ok(nothing(Fault { seq: Seq(1), why }))
            }
            Err(error) => Err(error),
        }
    }

    /// Deletes words of a concluded debate for good, and records that they were (rule K15).
    ///
    /// The record comes first, so that words never go without one; whatever was interrupted in between is finished by
    /// asking again.
    ///
    /// # Errors
    /// [`RedactionError`] says what could not be recorded or deleted.
    pub async fn redact(
        &self,
        debate: DebateId,
        what: Redact,
        actor: &str,
    ) -> Result<Redaction, RedactionError> {
        let (_, served) = self.served(debate).await?;
        served.redact(&self.shared, debate, what, actor).await
    }

    /// Says whether debates can be read and driven here now.
    ///
    /// # Errors
    /// The store cannot be used, or leases cannot be renewed.
    pub async fn ready(&self) -> Result<(), NotReady> {
        if self.shared.leasing.as_ref().is_some_and(|leasing| !leasing.is_renewed()) {
            return Err(NotReady::Leases);
        }
        Ok(self.shared.store.ready().await?)
    }

    /// Stops driving; debates stay as they are in the log and can be taken up again.
    pub async fn shut_down(&self) {
        self.shared.shutdown.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

/// An engine cannot do its work just now.
#[derive(Debug, thiserror::Error)]
pub enum NotReady {
    /// The store cannot be read or written.
    #[error("the store cannot be used")]
    Store(#[from] ReadError),
    /// Leases could not be had or renewed when that was tried last.
    #[error("leases cannot be had or renewed")]
    Leases,
}

/// What the first event of a debate says about who keeps it, and how.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub(crate) format: String,
    pub(crate) tenant: String,
}

impl Origin {
    /// Reads it from a first event; `None` where that names no format.
    pub(crate) fn of(first: &Envelope) -> Option<Self> {
        Some(Self { format: format_of(first)?, tenant: first.tenant.clone() })
    }
}

//! Putting store, model and formats together into an engine.

use std::path::Path;
use std::process;
use std::time::Duration;

use debate_core::format::Format as _;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::DebateId;
use debate_engine::{Engine, Env, Prices, Settings, Sharing};
use debate_llm::{Models, Window};
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::review::ReviewPrompts;
use debate_prompts::roundtable::RoundtablePrompts;
use debate_store::Durability;

use crate::args::Options;
use crate::commands::ACTOR;
use crate::exit::Failure;
use crate::model;
use crate::prices;
use crate::search::Search;
use crate::store::{self, Store, StoreChoice};
use crate::workspace::Workspace;

/// What runs the tools of debates.
#[derive(Debug, Default)]
struct ToolBench {
    workspace: Option<Workspace>,
    search: Option<Search>,
}

impl ToolBench {
    fn open(options: &Options) -> anyhow::Result<Self> {
        let workspace = options.workspace.as_deref().map(Workspace::open).transpose()?;
        Ok(Self { workspace, search: Search::open(options)? })
    }
}

/// An engine with the store that it works on.
#[derive(Debug)]
pub(crate) struct AppContext {
    /// Drives and reads debates.
    pub(crate) engine: Engine,
    /// Keeps them.
    pub(crate) store: Store,
    /// Whether a program makes up all replies.
    pub(crate) is_simulated: bool,
}

impl AppContext {
    /// Opens an app that runs debates; a store that is missing is created.
    pub(crate) async fn open(options: &Options, settings: Settings) -> anyhow::Result<Self> {
        Self::running(options, settings, store::open(&options.store, options.durability.into())).await
    }

    /// Opens an app that runs debates of a store that exists.
    pub(crate) async fn forking(options: &Options, settings: Settings) -> anyhow::Result<Self> {
        Self::running(options, settings, store::open_existing(&options.store, options.durability.into()))
            .await
    }

    /// Opens the models, then the store, then the tools.
    async fn running(
        options: &Options,
        settings: Settings,
        store: impl Future<Output = anyhow::Result<Store>>,
    ) -> anyhow::Result<Self> {
        let models = model::open(options)?;
        let windows = model::windows(options, &models).await;
        let prices = prices::read(options.prices.as_deref())?;
        let store = store.await?;
        model::warm_up(&models);
        let tools = ToolBench::open(options)?;
        Ok(Self::of(options.lease(), store, (models, windows), prices, settings, tools))
    }

    /// Opens an app that reads debates and appends events to them. It calls no model.
    pub(crate) async fn open_existing(options: &Options) -> anyhow::Result<Self> {
        let store = store::open_existing(&options.store, options.durability.into()).await?;
        Ok(Self::without_models(options, store, None))
    }

    /// Opens an app that reads debates and writes nothing, so that a read-only file or a full disk suffices.
    pub(crate) async fn reading(options: &Options) -> anyhow::Result<Self> {
        Self::with_archive(options, None).await
    }

    /// Opens the same, with archived debates to be read from a folder where it is given.
    pub(crate) async fn with_archive(options: &Options, archive: Option<&Path>) -> anyhow::Result<Self> {
        Ok(Self::without_models(options, store::open_to_read(&options.store).await?, archive))
    }

    fn without_models(options: &Options, store: Store, archive: Option<&Path>) -> Self {
        let (store, models) = (store.with_archive(archive), (model::unused().into(), Vec::new()));
        Self::of(options.lease(), store, models, Prices::default(), Settings::default(), ToolBench::default())
    }

    /// Opens an app with an empty store in memory.
    pub(crate) async fn empty() -> anyhow::Result<Self> {
        let store = store::open(&StoreChoice::Memory, Durability::Full).await?;
        let models = (model::unused().into(), Vec::new());
        Ok(Self::of(
            Duration::ZERO,
            store,
            models,
            Prices::default(),
            Settings::default(),
            ToolBench::default(),
        ))
    }

    fn of(
        ttl: Duration,
        store: Store,
        (models, windows): (Models, Vec<(String, Window)>),
        prices: Prices,
        settings: Settings,
        tools: ToolBench,
    ) -> Self {
        let is_simulated = models.default_model().is_simulated();
        let mut engine = Engine::builder(store.events().clone(), models)
            .format(PredictionPrompts)
            .format(DeliberationPrompts)
            .format(RoundtablePrompts)
            .format(ReviewPrompts)
            .format(InvestigationPrompts)
            .prices(prices)
            .settings(settings);
        for (model, window) in windows {
            engine = engine.context_window(&model, window);
        }
        if let Some(search) = tools.search {
            engine = engine.tools(Roundtable::NAME, search.tools());
        }
        if let Some(workspace) = tools.workspace {
            engine = engine.tools(Investigation::NAME, workspace.tools());
        }
        if let Some(leases) = store.leases() {
            engine = engine.sharing(Sharing { leases, replica: replica(), ttl });
        }
        Self { engine: engine.build(), store, is_simulated }
    }

    /// Checks that the server of the default model has that model; closes the app if it does not.
    ///
    /// # Errors
    /// The server lists its models, and this one is not among them.
    pub(crate) async fn check_model(&self) -> anyhow::Result<()> {
        let Err(error) = self.engine.check_model().await else { return Ok(()) };
        self.close().await;
        Err(Failure::bad_input(format!("--model {}: {error}", self.engine.model_name())))
    }

    /// Makes sure that a debate can go on with the models of this process (rule K23): a model that the command line itself
    /// names takes the place of those that it lacks.
    ///
    /// # Errors
    /// It lacks some, and the command line names none.
    pub(crate) async fn bind_model(&self, options: &Options, debate: DebateId) -> anyhow::Result<()> {
        let Some(why) = self.engine.missing_models(debate).await? else { return Ok(()) };
        if options.has_model_flag {
            return Ok(self.engine.replace_model(debate, ACTOR).await?);
        }
        Err(Failure::bad_input(format!(
            "{why}; name it with --model, or another one there: then all that follows is put to that one, and log and \
             result say so"
        )))
    }

    /// Stops driving and closes the store; debates stay as they are in the log.
    pub(crate) async fn close(&self) {
        self.engine.shut_down().await;
        self.store.close().await;
    }
}

/// Returns a name that no other process has, and that leads people to this one.
fn replica() -> String {
    #[cfg(unix)]
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    #[cfg(not(unix))]
    let host = std::env::var("COMPUTERNAME").unwrap_or_default();
    format!("process {} on {host}, {}", process::id(), Env::real().debate_id())
}

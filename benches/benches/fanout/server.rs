//! The engine behind its own interface, with a simulated model that answers at once: from the line `go` on.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use debate_engine::{Engine, Settings};
use debate_grpc::{ServeOptions, serve};
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, Debater, ModelError, SimulatedConfig, SimulatedModel,
    debater,
};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{EventStore, SqliteOptions, SqliteStore};
use tokio::io::{AsyncBufReadExt as _, BufReader, stdin};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::bare::Channels;
use crate::publishing_store::PublishingStore;

/// Debates driven at once.
const DEBATES_MAX: usize = 1_000;
/// The longest that the gate is closed.
const PATIENCE: Duration = Duration::from_secs(600);
/// How often it is asked whether all debates have ended.
const LOOK: Duration = Duration::from_millis(5);

/// A model that keeps everybody waiting until it is let.
struct Gated {
    model: SimulatedModel<Debater>,
    open: watch::Receiver<bool>,
}

#[async_trait]
impl ChatModel for Gated {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let mut gate = self.open.clone();
        // The gate lives as long as the process.
        let _is_open = gate.wait_for(|open| *open).await.is_ok();
        self.model.complete(request, chunks).await
    }
}

/// Serves until SIGTERM. If `with_floor` is set, the floor streams what is written as well; if not, only the engine
/// does.
pub(crate) async fn run(store: &Path, with_floor: bool) -> Result<()> {
    let location = store.display().to_string();
    let sqlite = Arc::new(SqliteStore::open(&location, SqliteOptions::default()).await?);
    let mut kept: Arc<dyn EventStore> = sqlite.clone();
    let mut floor = None;
    if with_floor {
        let channels = Channels::default();
        floor = Some(channels.serve().await?);
        kept = Arc::new(PublishingStore { kept, channels });
    }
    let (gate, open) = watch::channel(false);
    let model = Gated { model: debater(SimulatedConfig::default()), open };
    let settings = Settings { debates_max: DEBATES_MAX, call_time: PATIENCE.into(), ..Settings::default() };
    let engine = Engine::builder(kept, Arc::new(model) as Arc<dyn ChatModel>)
        .format(PredictionPrompts)
        .settings(settings)
        .build();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    engine.recover().await?;
    println!("http://{}", listener.local_addr()?);
    let watched_at = floor.map(|(address, _serving)| address).unwrap_or_default();
    let obeying = tokio::spawn(obey(engine.clone(), gate, watched_at));
    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = async move {
        terminate.recv().await;
    };
    serve(listener, engine.clone(), ServeOptions::default(), shutdown).await?;
    obeying.abort();
    engine.shut_down().await;
    drop(engine);
    Ok(sqlite.close().await?)
}

/// Does what the lines say.
async fn obey(engine: Engine, gate: watch::Sender<bool>, floor: String) -> Result<()> {
    let mut lines = BufReader::new(stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match line.as_str() {
            "go" => drop(gate.send_replace(true)),
            "end" => {
                while engine.held_count() > 0 {
                    tokio::time::sleep(LOOK).await;
                }
                println!("ended");
            }
            "floor" => println!("{floor}"),
            "tasks" => println!("{}", Handle::current().metrics().num_alive_tasks()),
            _ => anyhow::bail!("unknown command {line}"),
        }
    }
    Ok(())
}

//! The engine as a peer: real prompts and rules, its OpenAI adapter, its log in SQLite with default durability.
//!
//! It reads its requests from JSON like any user's, and verifies every debate when all have ended, outside of what is
//! measured.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use debate_core::codec::Author;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept_bytes};
use debate_core::formats::prediction::Prediction;
use debate_core::id::DebateId;
use debate_engine::{Engine, Hedge, Hedging, Settings, Start};
use debate_llm::{HttpConfig, HttpModel, Provider};
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::tokens;
use debate_store::{SqliteOptions, SqliteStore};
use peer_harness::{Arguments, NUMBER, Schedule, fly, numbered, report, with_number};
use serde_json::{Value, json};

/// The allocator of the shipped program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXAMPLE: &str = include_str!("../../../../examples/ice.json");
const PATIENCE: Duration = Duration::from_secs(300);

struct Ours {
    engine: Engine,
    request: String,
    held: Mutex<Vec<DebateId>>,
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    tokens::warm_up();
    let path = arguments.work.join("peers.sqlite");
    let path = path.to_str().context("the folder's name is not UTF-8")?;
    let store = Arc::new(SqliteStore::open(path, SqliteOptions::default()).await?);
    let model = HttpModel::new(HttpConfig::new(Provider::OpenAi, &arguments.url, "loopback"))?;
    // Second requests would be calls that no other peer makes.
    let hedging = Hedging { after: Hedge::Off, ..Hedging::default() };
    let settings = Settings { hedging, ..Settings::default() };
    let engine =
        Engine::builder(store.clone(), Arc::new(model)).format(PredictionPrompts).settings(settings).build();
    let request = request(arguments.schedule)?;
    let ours = Arc::new(Ours { engine, request, held: Mutex::default() });
    let debate = {
        let ours = Arc::clone(&ours);
        move |number| {
            let ours = Arc::clone(&ours);
            async move { ours.debate(number).await }
        }
    };
    let measured = fly(&arguments, debate).await?;
    let verified = ours.verify().await?;
    ours.engine.shut_down().await;
    store.close().await?;
    report(measured, verified);
    Ok(())
}

/// Returns the example's request with the number of no debate in its question.
fn request(schedule: Schedule) -> Result<String> {
    let mut request: Value = serde_json::from_str(EXAMPLE)?;
    let question = &mut request["prediction_context"]["task"]["question"];
    *question = format!("{NUMBER}: {}", question.as_str().context("the example has no question")?).into();
    request["options"]["schedule"] = match schedule {
        Schedule::Barrier => "strict".into(),
        Schedule::Pipelined => "pipelined".into(),
        Schedule::Superstep => bail!("the engine has no supersteps"),
    };
    Ok(request.to_string())
}

impl Ours {
    async fn debate(&self, number: u32) -> Result<()> {
        let request = with_number(&self.request, &numbered(number));
        let accepted = accept_bytes(request.as_bytes()).context("the request is not valid")?;
        let AcceptedRequest::Prediction(accepted) = accepted else { bail!("the example is no prediction") };
        let Accepted { config, brief, limits, digest, .. } = *accepted;
        let author = Author { tenant: String::new(), actor: "peers".to_owned(), trace: None };
        let start =
            Start::<Prediction> { config, brief, limits, request_digest: digest, request_id: None, author };
        let debate = self.engine.start(start).await?.debate;
        ensure!(self.engine.concluded(debate, PATIENCE).await?, "debate {debate} did not end");
        self.held.lock().unwrap_or_else(PoisonError::into_inner).push(debate);
        Ok(())
    }

    /// Checks hashes, fold and outcome of every debate.
    async fn verify(&self) -> Result<Value> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let began = Instant::now();
        let mut events = 0;
        for debate in &held {
            let found = self.engine.verify(*debate).await?;
            ensure!(found.fault.is_none(), "debate {debate} does not verify: {:?}", found.fault);
            ensure!(found.outcomes == 1, "debate {debate} has {} outcomes", found.outcomes);
            events += found.events;
        }
        let each_ms = began.elapsed().as_secs_f64() * 1e3 / held.len() as f64;
        Ok(json!({ "verified": held.len(), "verify_ms": each_ms, "events": events }))
    }
}

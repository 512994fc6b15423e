//! One world: lives of a process on one store, one after another, until every debate is done; then the checks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use debate_core::format::Format;
use debate_core::id::{Digest, Timestamp};
use debate_core::limits::Limits;
use debate_engine::{Engine, Prices, Settings, Tool};
use debate_llm::ChatModel as _;
use debate_llm::simulated::Draw;
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::time::sleep;

use crate::check;
use crate::clock::Clock;
use crate::conduct::{self, Conductor};
use crate::ledger::{Account, Ledger};
use crate::model::{FaultyModel, PRICE};
use crate::probe::mind;
use crate::scenario::{Ending, Scenario, Tightness};
use crate::stage::Stage;
use crate::store::{Fates, FaultyStore};
use crate::subject::Subject;
use crate::watched::Watched;
use crate::writer::Writer;

/// Simulated time after which a life that does not end is given up.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Time between two lives, in milliseconds.
const DOWNTIME_MS: u64 = 300;

/// Lives after which a world is given up: no scenario plans so many.
const LIVES_MAX: u32 = 40;

/// The report of a world that ran to its end.
#[derive(Debug)]
pub struct WorldReport {
    /// The outcome of each debate, in the order of their numbers, without what may differ between runs.
    pub outcomes: Vec<Value>,
    /// Events of each kind.
    pub kinds: BTreeMap<String, u64>,
    /// Calls started for each cause.
    pub causes: BTreeMap<String, u64>,
    /// Debates stopped for each budget.
    pub budgets: BTreeMap<String, u64>,
    /// The digest of all logs together.
    pub digest: Digest,
    /// Events in all.
    pub events: u64,
    /// Lives of the process.
    pub lives: u32,
    /// Questions asked.
    pub asked: u64,
}

/// How one life of the process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LifeEnd {
    Done,
    Crashed,
    ShutDown,
    /// Nothing came of it in time.
    Stuck,
}

/// Runs a world to its end.
///
/// # Errors
/// What broke, one line each.
pub fn run<S: Subject>(scenario: &Scenario, traced: bool) -> Result<WorldReport, Vec<String>> {
    let clock = Clock::new(scenario.weather.has_ticks.then_some(scenario.seed));
    let stage = Stage::new(clock, traced);
    stage.say(|| format!("{scenario:#?}"));
    let slowness = scenario.weather.slowness_ms.map(|ms| (scenario.seed, ms));
    let fates = Fates::new(scenario.weather.store.clone(), scenario.weather.crashes.clone(), slowness);
    let mut world = World::<S> { scenario, stage, fates, debates: open::<S>(scenario), lives: 0 };
    world.live_on()?;
    world.report()
}

struct World<'a, S: Subject> {
    scenario: &'a Scenario,
    stage: Arc<Stage>,
    fates: Arc<Mutex<Fates>>,
    debates: Vec<Watched<S::Format>>,
    lives: u32,
}

/// Draws what the debates of a scenario are opened with.
fn open<S: Subject>(scenario: &Scenario) -> Vec<Watched<S::Format>> {
    let mut draw = Draw::new(scenario.seed);
    let debates = (0..scenario.debates).map(|number| {
        let mut opening = S::draw(&mut draw, number);
        tighten(&mut opening.limits, scenario.tightness);
        let name = format!("request {number}");
        Watched {
            opening,
            request: (Digest::of_text(&name), name),
            debate: None,
            refused: BTreeMap::new(),
            seen: Arc::default(),
        }
    });
    debates.collect()
}

fn tighten(limits: &mut Limits, tightness: Tightness) {
    limits.deadline_ms = tightness.deadline_ms.unwrap_or(limits.deadline_ms);
    limits.calls_max = tightness.calls_max.unwrap_or(limits.calls_max);
    limits.tokens_max.output = tightness.output_max.unwrap_or(limits.tokens_max.output);
    let closing = PRICE.most(limits.closing_tokens);
    limits.cost_micros_max = tightness.cost_micros.map(|beyond| closing + beyond);
    limits.starts_max = tightness.starts_max.unwrap_or(limits.starts_max);
}

impl<S: Subject> World<'_, S> {
    fn live_on(&mut self) -> Result<(), Vec<String>> {
        loop {
            self.lives += 1;
            let end = self.live();
            self.stage.say(|| format!("life {} ends: {end:?}", self.lives));
            let findings = self.stage.ledger().findings().to_vec();
            if !findings.is_empty() {
                return Err(findings);
            }
            match end {
                LifeEnd::Done => return Ok(()),
                LifeEnd::Stuck => return Err(vec!["a debate does not end".to_owned()]),
                LifeEnd::Crashed | LifeEnd::ShutDown if self.lives < LIVES_MAX => {}
                LifeEnd::Crashed | LifeEnd::ShutDown => {
                    return Err(vec!["there is no end to lives".to_owned()]);
                }
            }
        }
    }

    /// Lives once: boots, carries on whatever is in the store, and dies with everything that is in memory.
    fn live(&mut self) -> LifeEnd {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without IO needs nothing from the system");
        let ending = self.scenario.weather.endings.get(self.lives as usize - 1).copied();
        runtime.block_on(async {
            self.stage.begin_life();
            let stage = Arc::clone(&self.stage);
            let engines = self.boot();
            let settings = conduct::Settings {
                script: self.scenario.script.clone(),
                rival_after: self.scenario.weather.rival_after_ms.map(Duration::from_millis),
            };
            let mut conductor = Conductor::new(&stage, &engines, settings, &mut self.debates);
            let end = tokio::select! {
                biased;
                () = stage.crashed() => LifeEnd::Crashed,
                end = end_at(ending, &engines) => end,
                () = conductor.conduct() => LifeEnd::Done,
                () = sleep(PATIENCE) => LifeEnd::Stuck,
            };
            stage.clock.end_life(DOWNTIME_MS);
            end
        })
    }

    fn boot(&self) -> Vec<Engine> {
        let engines = 1 + usize::from(self.scenario.weather.rival_after_ms.is_some());
        (0..engines).map(|number| self.engine(number)).collect()
    }

    fn engine(&self, number: usize) -> Engine {
        let writer = self.stage.new_writer();
        let store = FaultyStore::new(Arc::clone(&self.stage), Arc::clone(&self.fates), writer);
        let plan = self.scenario.model.clone();
        let model = FaultyModel::new(plan, S::mind(), Arc::clone(&self.stage), writer);
        let prices = Prices::from_iter([(model.name().to_owned(), PRICE)]);
        let stage = Arc::clone(&self.stage);
        let tools = mind::TOOLS.map(|name| -> Arc<dyn Tool> {
            Arc::new(StagedTool { stage: Arc::clone(&stage), writer, name })
        });
        let settings = Settings { debates_max: self.scenario.driven_max, ..Settings::default() };
        Engine::builder(Arc::new(store), Arc::new(model))
            .format(S::prompts())
            .settings(settings)
            .prices(prices)
            .env(self.stage.env(self.scenario.seed, writer))
            .tools(S::Format::NAME, tools)
            .actor(format!("engine {number}"))
            .build()
    }

    /// Finds debates that an engine wrote to again after its rival did: of two, exactly one goes on.
    fn rivalry(&self, ledger: &Ledger) -> Option<String> {
        let is_plain = is_plain_race(self.scenario);
        let accounts = ledger.streams().filter_map(|stream| ledger.account(stream)).filter(|_| is_plain);
        let mut writers = accounts.map(Account::writers);
        let twice = writers
            .find(|writers| (1..writers.len()).any(|index| writers[..index].contains(&writers[index])));
        twice.map(|writers| format!("engines wrote by turns: {writers:?}"))
    }

    fn report(self) -> Result<WorldReport, Vec<String>> {
        let mut outcomes = Vec::new();
        let mut findings = Vec::new();
        let mut heads = Vec::new();
        for watched in &self.debates {
            let seen = watched.seen.lock().unwrap_or_else(PoisonError::into_inner);
            heads.extend(seen.last().map(|last| last.hash));
            match check::debate::<S>(&self.stage, watched, &seen) {
                Ok(outcome) => outcomes.push(outcome),
                Err(found) => findings.extend(found),
            }
        }
        let ledger = self.stage.ledger();
        findings.extend(self.rivalry(&ledger));
        if ledger.streams().count() != self.debates.len() {
            findings.push("a request opened more debates than one (K11)".to_owned());
        }
        findings.extend(ledger.findings().iter().cloned());
        if !findings.is_empty() {
            return Err(findings);
        }
        let kinds = ledger.kinds().clone();
        let events = kinds.values().sum();
        let (causes, budgets) = (ledger.causes().clone(), ledger.budgets().clone());
        let digest = Digest::of_parts(heads.iter().map(|head| head.0.as_slice()));
        let (lives, asked) = (self.lives, ledger.efforts().0);
        Ok(WorldReport { outcomes, kinds, causes, budgets, digest, events, lives, asked })
    }
}

/// A tool that the ledger sees run.
struct StagedTool {
    stage: Arc<Stage>,
    writer: Writer,
    name: &'static str,
}

#[async_trait]
impl Tool for StagedTool {
    fn name(&self) -> &str {
        self.name
    }

    fn arguments(&self) -> &Value {
        &Value::Null
    }

    async fn run(&self, arguments: &str, _as_of: Timestamp) -> Result<String, String> {
        self.stage.alive().await;
        self.stage.ledger().ran(self.writer, self.name, arguments);
        sleep(Duration::from_millis(arguments.len() as u64 * 3)).await;
        self.stage.alive().await;
        mind::tool(self.name, arguments)
    }
}

/// Returns whether only the drivers and their rival can have moved a claim. An engine that waits for its turn to drive
/// takes the claim when its turn comes, whichever engine drove in between.
fn is_plain_race(scenario: &Scenario) -> bool {
    scenario.weather.rival_after_ms.is_some()
        && scenario.driven_max >= scenario.debates
        && scenario.weather.store.is_empty()
        && scenario.script.is_empty()
}

async fn end_at(ending: Option<Ending>, engines: &[Engine]) -> LifeEnd {
    let Some(Ending { after_ms, is_graceful }) = ending else {
        return std::future::pending().await;
    };
    sleep(Duration::from_millis(after_ms)).await;
    if !is_graceful {
        return LifeEnd::Crashed;
    }
    for engine in engines {
        engine.shut_down().await;
    }
    LifeEnd::ShutDown
}

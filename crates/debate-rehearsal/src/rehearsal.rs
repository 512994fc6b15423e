//! Many debates of one request, held in virtual time.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use debate_core::envelope::Envelope;
use debate_core::format::Format;
use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::config::Schedule;
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::Timestamp;
use debate_engine::{Engine, Env, Hedge, Hedging, Tool};
use debate_llm::simulated::Draw;
use debate_llm::{ChatModel, Models};

use crate::error::RehearsalError;
use crate::late::Late;
use crate::latencies::Latencies;
use crate::resettable_store::ResettableStore;
use crate::stage::{self, Held};
use crate::summary::Summary;

/// Debates that one process holds side by side.
const SIDE_BY_SIDE: usize = 100;

/// Each debate is heard to its end, however long it takes, so that walls can be compared.
const DEADLINE_MS: u64 = 3_600_000;

/// The smallest step of tokio's clock.
const TICK: Duration = Duration::from_millis(1);

/// How debates are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way {
    /// When the next round begins; nothing in a format that knows one way only.
    pub schedule: Option<Schedule>,
    /// When slow requests are raced.
    pub hedge: Hedge,
}

impl Way {
    /// Returns the ways to run a request, the plainest first: the others are measured by it.
    #[must_use]
    pub fn all(request: &AcceptedRequest) -> Vec<Self> {
        const RACES: [Hedge; 4] = [Hedge::Off, Hedge::P95, Hedge::Adaptive, Hedge::P75];
        match request {
            AcceptedRequest::Prediction(_) => {
                let strict = Self { schedule: Some(Schedule::Strict), hedge: Hedge::Off };
                let pipelined = RACES.map(|hedge| Self { schedule: Some(Schedule::Pipelined), hedge });
                std::iter::once(strict).chain(pipelined).collect()
            }
            AcceptedRequest::Deliberation(_)
            | AcceptedRequest::Roundtable(_)
            | AcceptedRequest::Review(_)
            | AcceptedRequest::Investigation(_) => RACES.map(|hedge| Self { schedule: None, hedge }).to_vec(),
        }
    }

    /// Returns the schedule's name, or a dash.
    #[must_use]
    pub fn schedule_name(self) -> &'static str {
        self.schedule.map_or("-", Schedule::as_str)
    }

    /// Returns the hedge's name, as options spell it.
    #[must_use]
    pub fn hedge_name(self) -> &'static str {
        match self.hedge {
            Hedge::Off => "off",
            Hedge::P95 => "p95",
            Hedge::P75 => "p75",
            Hedge::Adaptive => "adaptive",
        }
    }
}

/// What is rehearsed.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    /// The debate.
    pub request: AcceptedRequest,
    /// The name of the model that is asked where the request names none.
    pub model: String,
    /// How long calls take.
    pub latencies: Latencies,
    /// The most second requests as a share of first ones, in [0, 1].
    pub hedge_share_max: f64,
    /// How many debates are held.
    pub debates: usize,
    /// What is drawn from; the same seed gives the same walls.
    pub seed: u64,
    /// What serves roundtables that name tools.
    pub tools: RoundtableTools,
}

/// Tools of roundtables. No time passes on the rehearsal's clock while they run, unless they wait for it.
#[derive(Clone, Default)]
pub struct RoundtableTools(pub Vec<Arc<dyn Tool>>);

impl fmt::Debug for RoundtableTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|tool| tool.name())).finish()
    }
}

impl Rehearsal {
    /// Runs all debates in every way that the request can be run, the ways in parallel, and summarizes them. Calls
    /// `ended` after each debate.
    ///
    /// Blocks its thread; must not be called on a thread that drives a runtime.
    ///
    /// # Errors
    /// As [`Rehearsal::hold`].
    pub fn compare(&self, ended: &(dyn Fn() + Sync)) -> Result<Vec<(Way, Summary)>, RehearsalError> {
        let ways = Way::all(&self.request);
        let next = AtomicUsize::new(0);
        let work = || -> Result<Vec<(usize, Summary)>, RehearsalError> {
            let mut done = Vec::new();
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(way) = ways.get(at) else { return Ok(done) };
                let held = self.hold(*way, ended)?;
                done.push((at, Summary::of(&held, self.calls_expected(), self.deadline())));
            }
        };
        let threads = thread::available_parallelism().map_or(1, usize::from).min(ways.len());
        let mut done = thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let mut done = Vec::new();
            for worker in workers {
                done.extend(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
            }
            Ok::<_, RehearsalError>(done)
        })?;
        done.sort_by_key(|(at, _)| *at);
        Ok(ways.iter().copied().zip(done.into_iter().map(|(_, summary)| summary)).collect())
    }

    /// Runs all debates in one way and returns them in the order of their opening. Calls `ended` after each debate.
    ///
    /// Blocks its thread; must not be called on a thread that drives a runtime.
    ///
    /// # Errors
    /// [`RehearsalError`]; no debate that a program makes up should bring one about.
    pub fn hold(&self, way: Way, ended: &dyn Fn()) -> Result<Vec<Held>, RehearsalError> {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().map_err(RehearsalError::Runtime)?;
        runtime.block_on(self.hold_all(way, ended))
    }

    async fn hold_all(&self, way: Way, ended: &dyn Fn()) -> Result<Vec<Held>, RehearsalError> {
        let hedging = Hedging { after: way.hedge, share_max: self.hedge_share_max, ..Hedging::default() };
        let resettable_store = Arc::new(ResettableStore::default());
        let engine = self.engine(resettable_store.clone(), hedging);
        let request = self.request_in(way);
        let mut all = Vec::with_capacity(self.debates);
        while all.len() < self.debates {
            let mut debates = Vec::new();
            for _ in 0..SIDE_BY_SIDE.min(self.debates - all.len()) {
                debates.push(stage::open(&engine, request.clone()).await?);
            }
            for debate in debates {
                all.push(stage::held(&engine, debate).await?);
                ended();
            }
            // The engine may not have released a debate yet.
            while engine.held_count() > 0 {
                tokio::time::sleep(TICK).await;
            }
            resettable_store.wipe();
        }
        Ok(all)
    }

    /// Runs all debates one after another in the plainest way and returns their logs. Calls `ended` after each debate.
    ///
    /// Blocks its thread; must not be called on a thread that drives a runtime.
    ///
    /// # Errors
    /// As [`Rehearsal::hold`].
    pub fn logs(&self, ended: &dyn Fn()) -> Result<Vec<Vec<Envelope>>, RehearsalError> {
        let plainest = Way::all(&self.request).first().copied();
        let way = plainest.unwrap_or(Way { schedule: None, hedge: Hedge::Off });
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().map_err(RehearsalError::Runtime)?;
        runtime.block_on(async {
            let hedging = Hedging { after: way.hedge, ..Hedging::default() };
            let engine = self.engine(Arc::new(ResettableStore::default()), hedging);
            let mut logs = Vec::with_capacity(self.debates);
            for _ in 0..self.debates {
                let debate = stage::open(&engine, self.request_in(way)).await?;
                stage::held(&engine, debate).await?;
                logs.push(engine.log(debate, None).await?);
                ended();
            }
            Ok(logs)
        })
    }

    fn engine(&self, resettable_store: Arc<ResettableStore>, hedging: Hedging) -> Engine {
        let engine = stage::engine(resettable_store, self.models(), hedging).env(virtual_clock());
        engine.tools(Roundtable::NAME, self.tools.0.iter().cloned()).build()
    }

    /// Returns the models that the debates ask, all of them late.
    fn models(&self) -> Models {
        let named = self.request.models_named();
        let (latencies, draw) =
            (Arc::new(self.latencies.clone()), Arc::new(Mutex::new(Draw::new(self.seed))));
        let late = |name: &str| -> Arc<dyn ChatModel> {
            Arc::new(Late::new(name, self.seed, Arc::clone(&latencies), Arc::clone(&draw)))
        };
        Models::new(late(&self.model), named.iter().map(|(_, name)| late(name)))
    }

    fn request_in(&self, way: Way) -> AcceptedRequest {
        let mut request = self.request.clone();
        match &mut request {
            AcceptedRequest::Prediction(accepted) => {
                accepted.limits.deadline_ms = DEADLINE_MS;
                accepted.config.schedule = way.schedule.unwrap_or(accepted.config.schedule);
            }
            AcceptedRequest::Deliberation(accepted) => accepted.limits.deadline_ms = DEADLINE_MS,
            AcceptedRequest::Roundtable(accepted) => accepted.limits.deadline_ms = DEADLINE_MS,
            AcceptedRequest::Review(accepted) => accepted.limits.deadline_ms = DEADLINE_MS,
            AcceptedRequest::Investigation(accepted) => accepted.limits.deadline_ms = DEADLINE_MS,
        }
        request
    }

    /// Returns the calls of a debate in which nothing goes wrong.
    #[must_use]
    pub fn calls_expected(&self) -> u64 {
        match &self.request {
            AcceptedRequest::Prediction(accepted) => Prediction::calls_expected(&accepted.config),
            AcceptedRequest::Deliberation(accepted) => Deliberation::calls_expected(&accepted.config),
            AcceptedRequest::Roundtable(accepted) => Roundtable::calls_expected(&accepted.config),
            AcceptedRequest::Review(accepted) => Review::calls_expected(&accepted.config),
            AcceptedRequest::Investigation(accepted) => Investigation::calls_expected(&accepted.config),
        }
    }

    /// Returns the time after which a real debate concludes with what there is.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        Duration::from_millis(self.request.limits().deadline_ms)
    }
}

/// A clock that follows tokio's, which stands still while anything runs; ids are counted.
fn virtual_clock() -> Env {
    let begun = tokio::time::Instant::now();
    let draws = AtomicU64::new(1);
    Env::new(
        move || Timestamp(i64::try_from(begun.elapsed().as_millis()).unwrap_or(i64::MAX)),
        move || u128::from(draws.fetch_add(1, Ordering::Relaxed)).to_le_bytes(),
    )
}

//! Two processes on one SQLite file, one of which is killed at some moment (rule K23): in real time, on real files, each
//! world drawn from a seed. No question is asked by both while its first asker lives, and no model answers that the
//! debate does not name.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use debate_core::codec::Author;
use debate_core::envelope::Envelope;
use debate_core::id::{DebateId, Digest, Seq};
use debate_engine::{Engine, Env, Sharing, Start};
use debate_llm::simulated::Draw;
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, Models, SimulatedConfig, SimulatedModel,
};
use debate_sim::probe::Probe;
use debate_sim::probe::mind::ProbeMind;
use debate_sim::probe::prompts::ProbePrompts;
use debate_sim::subject::{Probes, Subject as _};
use debate_store::{Durability, EventStore as _, SqliteOptions, SqliteStore};
use serde_json::Value;

/// How many worlds there are.
const WORLDS: u64 = 1_000;
/// Worlds at one time: they wait more than they compute.
const AT_ONCE: u64 = 12;
/// How long a lease lasts that is not renewed.
const TTL: Duration = Duration::from_millis(150);
/// The longest that a world may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A real model by name, whose answers follow from the question.
#[derive(Debug)]
struct Named {
    name: &'static str,
    inner: SimulatedModel<ProbeMind>,
}

#[async_trait]
impl ChatModel for Named {
    fn name(&self) -> &str {
        self.name
    }

    fn is_simulated(&self) -> bool {
        false
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        self.inner.complete(request, chunks).await
    }
}

/// One process: what it offers, what it begins, and when it is killed, if it is.
struct Process {
    name: &'static str,
    models: Vec<&'static str>,
    debates: usize,
    killed_after: Option<Duration>,
}

impl Process {
    /// Drives debates on a thread of its own, until it is killed or `end` of them have ended.
    fn run(&self, path: &Path, seed: u64, end: impl Fn(&[Envelope]) -> bool + Send) -> Vec<DebateId> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut started = Vec::new();
        runtime.block_on(async {
            let options = SqliteOptions { durability: Durability::Relaxed, ..SqliteOptions::default() };
            let store = Arc::new(SqliteStore::open(path.to_str().unwrap(), options).await.unwrap());
            let until = Instant::now() + self.killed_after.unwrap_or(PATIENCE);
            let engine = self.engine(&store, seed);
            let lives = async {
                engine.recover().await.unwrap();
                for number in 0..self.debates {
                    started.push(self.start(&engine, seed, number).await);
                }
                loop {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    let all = store.read_all(Default::default(), 100_000).await.unwrap();
                    let events: Vec<Envelope> = all.into_iter().map(|(_, event)| event).collect();
                    if self.killed_after.is_none() && end(&events) {
                        return;
                    }
                }
            };
            let is_over = tokio::time::timeout_at(until.into(), lives).await.is_ok();
            assert!(is_over || self.killed_after.is_some(), "seed {seed}: debates did not end");
            if is_over {
                engine.shut_down().await;
            }
            // What was killed finishes nothing: its tasks end with the runtime.
        });
        runtime.shutdown_background();
        started
    }

    fn engine(&self, store: &Arc<SqliteStore>, seed: u64) -> Engine {
        let config: SimulatedConfig = format!("seed={},latency=3ms", seed % 1_000).parse().unwrap();
        let mut models = self.models.iter().map(|name| -> Arc<dyn ChatModel> {
            Arc::new(Named { name, inner: SimulatedModel::new(config.clone(), ProbeMind) })
        });
        let models = Models::new(models.next().unwrap(), models);
        let sharing = Sharing { leases: store.clone(), replica: self.name.to_owned(), ttl: TTL };
        let engine = Engine::builder(store.clone(), models).format(ProbePrompts).sharing(sharing);
        engine.actor(self.name).env(Env::real()).build()
    }

    async fn start(&self, engine: &Engine, seed: u64, number: usize) -> DebateId {
        let mut draw = Draw::new(seed ^ (number as u64).rotate_left(17) ^ u64::from(self.name == "b"));
        let opening = Probes::draw(&mut draw, number);
        let start: Start<Probe> = Start {
            config: opening.config,
            brief: opening.brief,
            limits: opening.limits,
            request_digest: Digest::of_text(&format!("{seed} {number}")),
            request_id: None,
            author: Author { tenant: "t".to_owned(), actor: "someone".to_owned(), trace: None },
        };
        engine.start(start).await.unwrap().debate
    }
}

/// Returns the logs of all debates.
fn logs(events: &[Envelope]) -> BTreeMap<DebateId, Vec<&Envelope>> {
    let mut logs: BTreeMap<DebateId, Vec<&Envelope>> = BTreeMap::new();
    for event in events {
        logs.entry(DebateId(event.stream.id)).or_default().push(event);
    }
    logs
}

fn model_of(log: &[&Envelope]) -> String {
    let opened: Value = serde_json::from_str(&log[0].body).unwrap();
    opened["models"]["default"]["name"].as_str().unwrap().to_owned()
}

fn is_over(log: &[&Envelope]) -> bool {
    log.iter().any(|event| event.kind == "concluded")
}

/// Checks one debate, given whether `a` was killed.
fn check(log: &[&Envelope], models_of_b: &[&str], seed: u64) -> bool {
    let model = model_of(log);
    let drivers: Vec<&str> =
        log.iter().map(|event| &*event.actor).filter(|actor| *actor != "someone").collect();
    let mut hands = drivers.clone();
    hands.dedup();
    assert!(matches!(hands[..], [] | ["a" | "b"] | ["a", "b"]), "seed {seed}: {hands:?}");
    let has_changed_hands = hands.len() == 2;
    let mut starts: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for event in log.iter().filter(|event| event.kind == "call_started") {
        let body: Value = serde_json::from_str(&event.body).unwrap();
        assert_eq!(body["model"], model.as_str(), "seed {seed}: a model that the debate does not name");
        let question = format!("{} {}", body["call"], body["revision"]);
        starts.entry(question).or_default().insert(&event.actor);
    }
    let asked_by_both = starts.values().filter(|drivers| drivers.len() > 1).count();
    assert!(asked_by_both == 0 || has_changed_hands, "seed {seed}: both asked a question");
    let can_go_on = models_of_b.contains(&model.as_str());
    assert!(!has_changed_hands || can_go_on, "seed {seed}: another model would have to go on");
    assert!(!can_go_on || is_over(log), "seed {seed}: a debate was left behind");
    has_changed_hands
}

/// Plays one world; returns how many debates changed hands.
fn world(seed: u64) -> usize {
    let mut draw = Draw::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("debates.sqlite");
    let b_models = if draw.chance(0.7) { vec!["real:b", "real:a"] } else { vec!["real:b"] };
    let a = Process {
        name: "a",
        models: vec!["real:a"],
        debates: 1 + draw.below(3),
        killed_after: Some(Duration::from_micros(500 + draw.below(60_000) as u64)),
    };
    let b = Process { name: "b", models: b_models.clone(), debates: draw.below(3), killed_after: None };
    let end = |events: &[Envelope]| {
        logs(events).values().all(|log| !b_models.contains(&model_of(log).as_str()) || is_over(log))
    };
    let killed = AtomicU64::new(0);
    thread::scope(|scope| {
        let (path, killed) = (&path, &killed);
        let a = scope.spawn(move || {
            a.run(path, seed, |_| false);
            killed.store(1, Ordering::SeqCst);
        });
        b.run(path, seed, |events| killed.load(Ordering::SeqCst) == 1 && end(events));
        a.join().unwrap();
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let events = runtime.block_on(async {
        let store = SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap();
        let all = store.read_all(Default::default(), 100_000).await.unwrap();
        store.close().await.unwrap();
        all.into_iter().map(|(_, event)| event).collect::<Vec<_>>()
    });
    assert!(events.iter().all(|event| event.seq > Seq::START));
    logs(&events).values().filter(|log| check(log, &b_models, seed)).count()
}

#[test]
fn k23_of_two_processes_one_drives_a_debate_whenever_the_other_is_killed() {
    let (next, changed) = (AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::SeqCst);
                    if seed >= WORLDS {
                        return;
                    }
                    changed.fetch_add(world(seed) as u64, Ordering::SeqCst);
                }
            });
        }
    });
    let changed = changed.load(Ordering::SeqCst);
    assert!(changed > WORLDS / 20, "only {changed} debates changed hands");
}

//! Replicas that share a store: who drives what, and what happens when one stalls, is cut off, or leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use debate_core::debate::{Debate, Lifecycle};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::fork::Change;
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Control, Engine, Fork, ForkError, NotReady, Settings, Sharing, StartError};
use debate_llm::{ChatModel, ScriptedAnswer, ScriptedModel};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{EventStore, Lease, LeaseError, Leases, MemoryLeases, Release};
use tokio::sync::Mutex;
use tokio::time::sleep;

use crate::bench_of_one::{PATIENCE, kinds, log, memory, model, paused_clock, start};
use crate::moody_store::MoodyStore;

const TTL: Duration = Duration::from_secs(10);

/// Leases as one replica reaches them; the way can be cut.
#[derive(Debug)]
struct Way {
    leases: Arc<MemoryLeases>,
    is_cut: AtomicBool,
    /// Adopted leases are returned one call after the other.
    returns: Mutex<()>,
}

impl Way {
    fn cut(&self, is_cut: bool) {
        self.is_cut.store(is_cut, Ordering::Relaxed);
    }

    fn look(&self) -> Result<(), LeaseError> {
        if self.is_cut.load(Ordering::Relaxed) { Err(LeaseError("cut".into())) } else { Ok(()) }
    }
}

#[async_trait]
impl Leases for Way {
    async fn acquire(
        &self,
        stream: StreamId,
        holder: &str,
        ttl: Duration,
    ) -> Result<Option<Lease>, LeaseError> {
        self.look()?;
        self.leases.acquire(stream, holder, ttl).await
    }

    async fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>, LeaseError> {
        self.look()?;
        self.leases.renew(leases, ttl).await
    }

    async fn release(&self, lease: Lease, release: Release) -> Result<(), LeaseError> {
        self.look()?;
        self.leases.release(lease, release).await
    }

    async fn adopt(&self, holder: &str, ttl: Duration, leases_max: u32) -> Result<Vec<Lease>, LeaseError> {
        self.look()?;
        let adopted = self.leases.adopt(holder, ttl, leases_max).await;
        let _turn = self.returns.lock().await;
        adopted
    }

    async fn held(&self, streams: &[StreamId]) -> Result<Vec<(StreamId, String)>, LeaseError> {
        self.look()?;
        self.leases.held(streams).await
    }
}

/// A store that replicas share.
struct Platform {
    store: Arc<dyn EventStore>,
    leases: Arc<MemoryLeases>,
}

impl Platform {
    fn new() -> Self {
        Self::on(memory())
    }

    fn on(store: Arc<dyn EventStore>) -> Self {
        Self { store, leases: Arc::new(MemoryLeases::new()) }
    }

    /// Returns a replica that adopts what others leave, and its way to the leases.
    async fn replica(&self, name: &str, model: Arc<dyn ChatModel>) -> (Engine, Arc<Way>) {
        self.replica_with(name, model, Settings::default()).await
    }

    async fn replica_with(
        &self,
        name: &str,
        model: Arc<dyn ChatModel>,
        settings: Settings,
    ) -> (Engine, Arc<Way>) {
        let leases = Arc::clone(&self.leases);
        let way = Arc::new(Way { leases, is_cut: AtomicBool::new(false), returns: Mutex::default() });
        let sharing = Sharing { leases: way.clone(), replica: name.to_owned(), ttl: TTL };
        let engine = Engine::builder(self.store.clone(), model)
            .format(PredictionPrompts)
            .settings(settings)
            .env(paused_clock())
            .actor(name)
            .sharing(sharing)
            .build();
        engine.recover().await.unwrap();
        (engine, way)
    }
}

fn slow() -> Arc<dyn ChatModel> {
    model("seed=7,latency=4s")
}

/// Returns who drove a debate, in order.
fn drivers(log: &[Envelope]) -> Vec<&str> {
    let mut drivers: Vec<&str> = log
        .iter()
        .filter(|envelope| envelope.kind == "call_started")
        .map(|envelope| envelope.actor.as_str())
        .collect();
    drivers.dedup();
    drivers
}

/// Returns how many starts went unanswered.
fn starts_lost(log: &[Envelope]) -> usize {
    let kinds = kinds(log);
    kinds["call_started"] - kinds["call_answered"]
}

async fn lifecycle(engine: &Engine, debate: DebateId) -> Lifecycle {
    let debate: Debate<Prediction> = engine.load(debate, None).await.unwrap();
    debate.lifecycle()
}

#[tokio::test(start_paused = true)]
async fn a_debate_is_driven_by_the_replica_that_opened_it_and_left_alone_by_others() {
    let platform = Platform::new();
    let (a, _) = platform.replica("a", slow()).await;
    let debate = a.start(start(None)).await.unwrap().debate;
    let (b, _) = platform.replica("b", slow()).await;
    assert_eq!(b.recover().await.unwrap(), 0);
    assert!(b.concluded(debate, PATIENCE).await.unwrap());
    let log = log(&a, debate).await;
    assert_eq!((drivers(&log), starts_lost(&log)), (vec!["a"], 0));
    assert_eq!(platform.leases.adopt("c", TTL, 10).await.unwrap(), [], "a concluded debate is not adopted");
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_cannot_renew_its_leases_is_not_ready_until_it_can() {
    let platform = Platform::new();
    let (a, way) = platform.replica("a", slow()).await;
    a.ready().await.unwrap();
    way.cut(true);
    sleep(TTL).await;
    assert!(matches!(a.ready().await, Err(NotReady::Leases)));
    way.cut(false);
    sleep(TTL).await;
    a.ready().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn k2_a_replica_that_is_cut_off_stops_its_calls_and_another_goes_on() {
    let platform = Platform::new();
    let (a, way) = platform.replica("a", slow()).await;
    let (b, _) = platform.replica("b", slow()).await;
    let debate = a.start(start(None)).await.unwrap().debate;
    sleep(Duration::from_secs(5)).await;
    way.cut(true);
    sleep(TTL + Duration::from_secs(2)).await;
    assert_eq!(a.held_count(), 0, "its lease ran out");
    assert!(b.concluded(debate, PATIENCE).await.unwrap());
    let log = log(&b, debate).await;
    assert_eq!(drivers(&log), ["a", "b"]);
    assert!(starts_lost(&log) <= 10, "only what was in flight is asked again");
    assert_eq!(kinds(&log)["concluded"], 1);
    assert_eq!(b.verify(debate).await.unwrap().fault, None);
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_was_cut_off_for_a_moment_loses_nothing() {
    let platform = Platform::new();
    let (a, way) = platform.replica("a", slow()).await;
    let debate = a.start(start(None)).await.unwrap().debate;
    sleep(Duration::from_secs(5)).await;
    way.cut(true);
    sleep(TTL / 2).await;
    way.cut(false);
    assert!(a.concluded(debate, PATIENCE).await.unwrap());
    let log = log(&a, debate).await;
    assert_eq!((drivers(&log), starts_lost(&log)), (vec!["a"], 0));
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_leaves_hands_its_debates_back_at_once() {
    let platform = Platform::new();
    let (a, _) = platform.replica("a", slow()).await;
    let (b, _) = platform.replica("b", slow()).await;
    let debate = a.start(start(None)).await.unwrap().debate;
    sleep(Duration::from_secs(5)).await;
    a.shut_down().await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(b.held_count(), 1, "long before the lease would have run out");
    assert!(b.concluded(debate, PATIENCE).await.unwrap());
    assert_eq!(drivers(&log(&b, debate).await), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_replica_left_is_shared_by_those_that_stay() {
    let platform = Platform::new();
    let (a, _) = platform.replica("a", slow()).await;
    for _ in 0..24 {
        a.start(start(None)).await.unwrap();
    }
    let (b, _) = platform.replica("b", slow()).await;
    let (c, _) = platform.replica("c", slow()).await;
    sleep(Duration::from_secs(1)).await;
    a.shut_down().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(b.held_count() + c.held_count(), 24);
    assert!(b.held_count() >= 8 && c.held_count() >= 8, "{} and {}", b.held_count(), c.held_count());
}

#[tokio::test(start_paused = true)]
async fn a_replica_takes_no_more_of_what_others_left_than_it_has_places_for() {
    let platform = Platform::new();
    let (a, _) = platform.replica("a", slow()).await;
    let places = Settings { debates_held_max: 3, ..Settings::default() };
    let (b, _) = platform.replica_with("b", slow(), places).await;
    b.start(start(None)).await.unwrap();
    let mut left = Vec::new();
    for _ in 0..5 {
        left.push(a.start(start(None)).await.unwrap().debate);
    }
    a.shut_down().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(b.held_count(), 3);
    for debate in left {
        assert!(b.concluded(debate, PATIENCE).await.unwrap());
    }
}

/// Returns a replica with three places whose models never answer, and its way to the leases.
async fn three_places(platform: &Platform, name: &str) -> (Engine, Arc<Way>) {
    let places = Settings { debates_held_max: 3, ..Settings::default() };
    platform.replica_with(name, Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang)), places).await
}

#[tokio::test(start_paused = true)]
async fn what_is_being_recorded_has_its_place_while_others_debates_are_taken_over() {
    let store = Arc::new(MoodyStore::default());
    let platform = Platform::on(store.clone());
    let ((a, _), (b, _)) = (three_places(&platform, "a").await, three_places(&platform, "b").await);
    for engine in [&a, &a, &b, &b] {
        engine.start(start(None)).await.unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    let held_up = store.hold_up().await;
    let coming = tokio::spawn({
        let b = b.clone();
        async move { b.start(start(None)).await }
    });
    a.shut_down().await;
    sleep(Duration::from_secs(5)).await;
    assert_eq!(b.held_count(), 2, "the third place is taken");
    drop(held_up);
    coming.await.unwrap().unwrap();
    sleep(Duration::from_secs(5)).await;
    assert_eq!(b.held_count(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_being_taken_over_has_its_place_while_others_come() {
    let store = Arc::new(MoodyStore::default());
    let platform = Platform::on(store.clone());
    let ((a, _), (b, way)) = (three_places(&platform, "a").await, three_places(&platform, "b").await);
    for _ in 0..3 {
        a.start(start(None)).await.unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    let return_later = way.returns.lock().await;
    a.shut_down().await;
    sleep(Duration::from_secs(5)).await;
    let assert_full = async || {
        assert_eq!(b.held_count(), 0);
        for tenant in ["", "acme"] {
            let mut one_more = start(None);
            tenant.clone_into(&mut one_more.author.tenant);
            let refused = b.start(one_more).await.unwrap_err();
            assert!(matches!(refused, StartError::Busy { held: 3 }), "{tenant:?}: {refused}");
        }
    };
    assert_full().await;
    // Whose they are is in their first events.
    let read_later = store.hold_up_reads().await;
    drop(return_later);
    sleep(Duration::from_secs(1)).await;
    assert_full().await;
    drop(read_later);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(b.held_count(), 3);
}

#[tokio::test(start_paused = true)]
async fn k17_a_debate_that_is_paused_while_it_waits_for_a_place_takes_none() {
    let platform = Platform::new();
    let ((a, _), (b, _)) = (three_places(&platform, "a").await, three_places(&platform, "b").await);
    let left = a.start(start(None)).await.unwrap().debate;
    for _ in 0..3 {
        b.start(start(None)).await.unwrap();
    }
    sleep(Duration::from_secs(5)).await;
    a.shut_down().await;
    b.control(left, Control::Pause, "alice").await.unwrap();
    assert_eq!(b.held_count(), 3);
    assert!(matches!(lifecycle(&b, left).await, Lifecycle::Paused { .. }));
}

#[tokio::test(start_paused = true)]
async fn k9_a_cancel_on_any_replica_reaches_the_one_that_drives() {
    let platform = Platform::new();
    let (a, _) = platform.replica("a", slow()).await;
    let (b, _) = platform.replica("b", slow()).await;
    let debate = a.start(start(None)).await.unwrap().debate;
    sleep(Duration::from_secs(5)).await;
    b.control(debate, Control::Cancel { reason: "enough".to_owned() }, "alice").await.unwrap();
    sleep(Duration::from_secs(2)).await;
    assert_eq!((a.held_count(), b.held_count()), (0, 0));
    assert_eq!(lifecycle(&a, debate).await, Lifecycle::Concluded);
}

#[tokio::test(start_paused = true)]
async fn k17_a_pause_on_any_replica_lets_calls_in_flight_finish_on_the_one_that_drives() {
    let platform = Platform::new();
    let (a, _) = platform.replica("a", slow()).await;
    let (b, _) = platform.replica("b", slow()).await;
    let debate = a.start(start(None)).await.unwrap().debate;
    sleep(Duration::from_secs(1)).await;
    b.control(debate, Control::Pause, "alice").await.unwrap();
    sleep(Duration::from_secs(60)).await;
    let paused: Debate<Prediction> = b.load(debate, None).await.unwrap();
    assert_eq!((paused.spend().calls, kinds(&log(&b, debate).await)["call_answered"]), (5, 5));
    assert_eq!(a.held_count(), 0, "a paused debate has no holder");
    b.control(debate, Control::Resume, "alice").await.unwrap();
    assert!(a.concluded(debate, PATIENCE).await.unwrap());
    let log = log(&b, debate).await;
    assert_eq!((drivers(&log), starts_lost(&log)), (vec!["a", "b"], 0));
}

#[tokio::test(start_paused = true)]
async fn k14_a_fork_is_leased_before_it_is_opened() {
    let platform = Platform::new();
    let (a, way) = platform.replica("a", slow()).await;
    let parent = a.start(start(None)).await.unwrap().debate;
    assert!(a.concluded(parent, PATIENCE).await.unwrap());
    let fork = async |at| {
        let wish = Fork { parent, at, change: Change::Nothing, actor: "alice".to_owned() };
        a.fork(wish).await.map(|forked| forked.debate.unwrap())
    };
    way.cut(true);
    let unleased = fork(None).await.unwrap_err();
    assert!(matches!(unleased, ForkError::Leases(_)), "{unleased}");
    way.cut(false);
    let nowhere = fork(Some(Seq(10_000))).await.unwrap_err();
    assert!(matches!(nowhere, ForkError::NoEvent { .. }), "{nowhere}");
    assert_eq!(a.forks_of(parent).await.unwrap(), []);
    sleep(TTL * 2).await;
    assert_eq!(platform.leases.adopt("c", TTL, 10).await.unwrap(), [], "an unopened fork has no lease");
    let fork = fork(Some(Seq(20))).await.unwrap();
    let taken = platform.leases.acquire(fork.into(), "c", TTL).await.unwrap();
    assert_eq!(taken, None, "it has it from the first moment");
    assert!(a.concluded(fork, PATIENCE).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_debate_that_was_leased_and_never_opened_is_forgotten() {
    let platform = Platform::new();
    let ghost: StreamId = DebateId(uuid::Uuid::from_u128(7)).into();
    platform.leases.acquire(ghost, "gone", Duration::ZERO).await.unwrap().unwrap();
    let (a, _) = platform.replica("a", slow()).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(a.held_count(), 0);
    let free = platform.leases.acquire(ghost, "b", TTL).await.unwrap().unwrap();
    assert_eq!(free.fence, 1, "nothing is left of the former lease");
}

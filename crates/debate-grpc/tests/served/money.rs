//! The money of a day: over time, over restarts, and of debates that go on again.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Seq, Timestamp};
use debate_engine::{Engine, EngineBuilder, Env, Prices, Settings, Watched};
use debate_grpc::tokens::{Scope, TokenLimits, TokenWishes};
use debate_llm::{ChatModel, ScriptedAnswer, ScriptedModel, debater};
use debate_prompts::prediction::PredictionPrompts;
use debate_proto::v1;
use debate_store::{EventStore, MemoryStore, SqliteOptions, SqliteStore};
use futures::future::{BoxFuture, join_all};
use futures::{FutureExt as _, StreamExt as _};
use tonic::{Code, Status};

use crate::house::{PATIENCE, PRICE};
use crate::late_store::LateStore;
use crate::limits::costing;
use crate::tokens::{Audits, Debates, Guarded, start, started, wishes};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// What may be spent in a day but once, in millionths of a US dollar.
const DEAR: u64 = 600_000;

/// As long as a server needs, and more, to find that a client has gone.
const A_WHILE: Duration = Duration::from_millis(300);

/// A clock for engines, which can be put back.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicI64>);

impl Clock {
    /// Puts it back by so many milliseconds, from the time of day.
    fn put_back(&self, by: i64) {
        self.0.store(by, Ordering::Relaxed);
    }

    /// Makes an engine that goes by it, and whose model never answers.
    fn engine(&self, store: Arc<dyn EventStore>) -> Engine {
        self.engine_of(store, Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang)))
    }

    fn engine_of(&self, store: Arc<dyn EventStore>, model: Arc<dyn ChatModel>) -> Engine {
        self.builder(store, model).build()
    }

    fn builder(&self, store: Arc<dyn EventStore>, model: Arc<dyn ChatModel>) -> EngineBuilder {
        let (clock, real, dice) = (self.clone(), Env::real(), Env::real());
        let now = move || Timestamp(real.now().0 - clock.0.load(Ordering::Relaxed));
        Engine::builder(store, model)
            .format(PredictionPrompts)
            .prices(Prices::from_iter(["scripted", "simulated:7"].map(|name| (name.to_owned(), PRICE))))
            .env(Env::new(now, move || dice.salt()))
    }
}

fn memory() -> Arc<dyn EventStore> {
    Arc::new(MemoryStore::new())
}

/// Wishes for a token that may spend a dollar a day.
fn a_dollar_a_day() -> TokenWishes {
    let limits = TokenLimits { day_cost_micros_max: Some(1_000_000), ..TokenLimits::default() };
    TokenWishes { limits, ..wishes("app", &[Scope::Read, Scope::Write]) }
}

async fn paused(client: &mut Debates) -> String {
    let debate_id = client.start_debate(costing(DEAR)).await.unwrap().into_inner().debate.unwrap().id;
    client.pause_debate(v1::PauseDebateRequest { debate_id: debate_id.clone() }).await.unwrap();
    debate_id
}

#[tokio::test]
async fn k8_the_money_of_a_day_is_free_again_when_the_day_has_passed() {
    for (ago, is_free) in [(DAY_MS - MINUTE_MS, false), (DAY_MS + MINUTE_MS, true)] {
        let clock = Clock::default();
        let guarded = Guarded::of(clock.engine(memory())).await;
        let mut client = guarded.debates(&guarded.token(a_dollar_a_day())).await;
        clock.put_back(ago);
        paused(&mut client).await;
        clock.put_back(0);
        let second = client.start_debate(costing(DEAR)).await;
        let code = second.map_or_else(|refused| refused.code(), |_| Code::Ok);
        assert_eq!(code, if is_free { Code::Ok } else { Code::ResourceExhausted }, "{ago} ms ago");
    }
}

#[tokio::test]
async fn k8_what_has_ended_counts_as_what_it_may_have_cost_and_as_nothing_where_nothing_was_asked() {
    let clock = Clock::default();
    let hangs = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
    let one = Settings { debates_max: 1, ..Settings::default() };
    let guarded = Guarded::of(clock.builder(memory(), hangs).settings(one).build()).await;
    let mut client = guarded.debates(&guarded.token(a_dollar_a_day())).await;
    let mut opened = Vec::new();
    for cost in [DEAR, 400_000] {
        let debate = client.start_debate(costing(cost)).await.unwrap().into_inner().debate.unwrap();
        opened.push(debate.id);
    }
    let asked: DebateId = opened[0].parse().unwrap();
    let engine = &guarded.house.engine;
    let is_asked = |item: Result<Watched, _>| async {
        matches!(item.unwrap(), Watched::Event(event) if event.kind == "call_started")
    };
    assert!(engine.watch(asked, Seq::START, false).await.unwrap().any(is_asked).await);
    let mut may_have_cost = Vec::new();
    // The second waits for its turn, which the first has.
    for debate_id in opened.into_iter().rev() {
        let cancel = v1::CancelDebateRequest { debate_id: debate_id.clone(), ..Default::default() };
        client.cancel_debate(cancel).await.unwrap();
        let id = debate_id.parse().unwrap();
        assert!(engine.concluded(id, PATIENCE).await.unwrap());
        let debate = AnyDebate::replay(&engine.log(id, None).await.unwrap()).unwrap();
        may_have_cost.push(debate.spend().cost.map(|cost| (cost.cost_micros, cost.cost_micros_bound)));
    }
    let [None, Some((0, bound))] = may_have_cost[..] else { panic!("{may_have_cost:?}") };
    let left = 1_000_000 - bound;
    let refused = client.start_debate(costing(left + 1)).await.unwrap_err();
    assert_eq!((refused.code(), bound > 0), (Code::ResourceExhausted, true), "{refused:?}");
    client.start_debate(costing(left)).await.unwrap();
}

#[tokio::test]
async fn k8_a_restart_forgets_no_money_of_the_day() {
    let (clock, store) = (Clock::default(), memory());
    let first = Guarded::of(clock.engine(Arc::clone(&store))).await;
    let token = first.token(a_dollar_a_day());
    started(&mut first.debates(&token).await, "").await;
    let second = first.restarted(clock.engine(Arc::clone(&store))).await;
    let refused = second.debates(&token).await.start_debate(start("")).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
}

#[tokio::test]
async fn k8_debates_that_a_token_lets_go_on_again_are_its_own_money_of_the_day() {
    for opener in ["other", "app"] {
        let clock = Clock::default();
        let guarded = Guarded::of(clock.engine(memory())).await;
        let unlimited = guarded.token(wishes(opener, &[Scope::Write]));
        let mut opening = guarded.debates(&unlimited).await;
        clock.put_back(DAY_MS + MINUTE_MS);
        let debates = [paused(&mut opening).await, paused(&mut opening).await];
        clock.put_back(0);
        let mut client = guarded.debates(&guarded.token(a_dollar_a_day())).await;
        let [first, second] = debates.map(|debate_id| v1::ResumeDebateRequest { debate_id });
        client.resume_debate(first).await.unwrap();
        let refused = client.resume_debate(second).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "opened by {opener}: {refused:?}");
    }
}

#[tokio::test]
async fn k8_void_debates_that_a_token_resumes_are_its_money_of_the_day() {
    let clock = Clock::default();
    let guarded = Guarded::of(clock.engine(memory())).await;
    let mut opening = guarded.debates(&guarded.token(wishes("other", &[Scope::Write]))).await;
    clock.put_back(DAY_MS + MINUTE_MS);
    let debates = [paused(&mut opening).await, paused(&mut opening).await];
    for debate_id in debates.clone() {
        opening.cancel_debate(v1::CancelDebateRequest { debate_id, ..Default::default() }).await.unwrap();
    }
    clock.put_back(0);
    let mut client = guarded.debates(&guarded.token(a_dollar_a_day())).await;
    let [first, second] = debates.map(|debate_id| v1::ResumeDebateRequest { debate_id });
    client.resume_debate(first).await.unwrap();
    let refused = client.resume_debate(second).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
}

#[tokio::test]
async fn k8_debates_that_may_cost_more_than_one_of_a_token_may_do_not_go_on_by_it() {
    let guarded = Guarded::of(Clock::default().engine(memory())).await;
    let others = guarded.token(wishes("other", &[Scope::Read, Scope::Write]));
    let mut others = guarded.debates(&others).await;
    let debate_id = paused(&mut others).await;
    let by = |debate_cost_micros_max| {
        let limits = TokenLimits { debate_cost_micros_max, ..TokenLimits::default() };
        guarded.token(TokenWishes { limits, ..wishes("app", &[Scope::Read, Scope::Write]) })
    };
    let (mut poor, mut rich) =
        (guarded.debates(&by(Some(DEAR - 1))).await, guarded.debates(&by(Some(DEAR))).await);
    let resume = || v1::ResumeDebateRequest { debate_id: debate_id.clone() };
    let refused = poor.resume_debate(resume()).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    rich.resume_debate(resume()).await.unwrap();
    others
        .cancel_debate(v1::CancelDebateRequest { debate_id: debate_id.clone(), ..Default::default() })
        .await
        .unwrap();
    assert!(guarded.house.engine.concluded(debate_id.parse().unwrap(), PATIENCE).await.unwrap());
    let more = || v1::ContinueDebateRequest { debate_id: debate_id.clone(), ..Default::default() };
    let refused = poor.continue_debate(more()).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    rich.continue_debate(more()).await.unwrap();
}

#[tokio::test]
async fn k8_what_a_token_opened_counts_though_more_came_after_it_than_a_list_has_on_a_page() {
    let guarded = Guarded::of(Clock::default().engine(memory())).await;
    let unlimited = guarded.debates(&guarded.token(wishes("app", &[Scope::Write]))).await;
    unlimited.clone().start_debate(costing(DEAR)).await.unwrap();
    let others = guarded.debates(&guarded.token(wishes("other", &[Scope::Write]))).await;
    let start = async |mut client: Debates| client.start_debate(costing(100_000)).await.unwrap();
    join_all((0..150).map(|_| start(others.clone()))).await;
    let places = TokenLimits { debates_at_once: NonZeroU32::new(1), ..TokenLimits::default() };
    for limits in [a_dollar_a_day().limits, places] {
        let mut client = guarded.debates(&guarded.token(TokenWishes { limits, ..a_dollar_a_day() })).await;
        let refused = client.start_debate(costing(DEAR)).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted, "{limits:?}: {refused:?}");
    }
}

/// A house on a file, whose store takes its time, and the two kinds of limits that let one of sixteen in.
async fn houses_and_limits() -> Vec<(Guarded, tempfile::TempDir, TokenLimits)> {
    let places = TokenLimits { debates_at_once: NonZeroU32::new(1), ..TokenLimits::default() };
    let mut houses = Vec::new();
    for limits in [a_dollar_a_day().limits, places] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("debates.sqlite");
        let store = SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap();
        houses.push((Guarded::of(Clock::default().engine(Arc::new(store))).await, folder, limits));
    }
    houses
}

/// Asks for sixteen things at one moment, of which one is let in.
async fn one_of_sixteen(asked: impl IntoIterator<Item = impl Future<Output = Result<(), Status>>>) {
    let results = join_all(asked).await;
    let refused: Vec<Code> =
        results.into_iter().filter_map(Result::err).map(|status| status.code()).collect();
    assert_eq!(refused, [Code::ResourceExhausted; 15]);
}

#[tokio::test]
async fn k8_of_many_starts_at_one_moment_as_many_are_let_in_as_money_and_places_allow() {
    for (guarded, _folder, limits) in houses_and_limits().await {
        let client = guarded.debates(&guarded.token(TokenWishes { limits, ..a_dollar_a_day() })).await;
        let start = async |mut client: Debates| client.start_debate(costing(DEAR)).await.map(drop);
        one_of_sixteen((0..16).map(|_| start(client.clone()))).await;
    }
}

#[tokio::test]
async fn k8_of_many_debates_that_go_on_at_one_moment_as_many_do_as_money_and_places_allow() {
    for (guarded, _folder, limits) in houses_and_limits().await {
        let mut opening = guarded.debates(&guarded.token(wishes("other", &[Scope::Write]))).await;
        let mut debates = Vec::new();
        for _ in 0..16 {
            debates.push(paused(&mut opening).await);
        }
        let client = guarded.debates(&guarded.token(TokenWishes { limits, ..a_dollar_a_day() })).await;
        let resume = async |mut client: Debates, debate_id| {
            client.resume_debate(v1::ResumeDebateRequest { debate_id }).await.map(drop)
        };
        one_of_sixteen(debates.into_iter().map(|debate| resume(client.clone(), debate))).await;
    }
}

#[tokio::test]
async fn k8_of_many_debates_that_get_rounds_at_one_moment_as_many_do_as_money_and_places_allow() {
    for (guarded, _folder, limits) in houses_and_limits().await {
        let (clock, store) = (Clock::default(), Arc::clone(guarded.house.engine.store()));
        let answers = Arc::new(debater("simulated:7".parse().unwrap()));
        let guarded = guarded.restarted(clock.engine_of(Arc::clone(&store), answers)).await;
        let opening = guarded.debates(&guarded.token(wishes("other", &[Scope::Write]))).await;
        let start = async |mut client: Debates| client.start_debate(costing(DEAR)).await.unwrap();
        let started = join_all((0..16).map(|_| start(opening.clone()))).await;
        let debates: Vec<String> =
            started.into_iter().map(|started| started.into_inner().debate.unwrap().id).collect();
        for debate in &debates {
            assert!(guarded.house.engine.concluded(debate.parse().unwrap(), PATIENCE).await.unwrap());
        }
        let guarded = guarded.restarted(clock.engine(store)).await;
        let client = guarded.debates(&guarded.token(TokenWishes { limits, ..a_dollar_a_day() })).await;
        let add = async |mut client: Debates, debate_id| {
            let request = v1::ContinueDebateRequest { debate_id, ..Default::default() };
            client.continue_debate(request).await.map(drop)
        };
        one_of_sixteen(debates.into_iter().map(|debate| add(client.clone(), debate))).await;
    }
}

/// Has a client leave while the first of two is being recorded; the second is not let in, for the first is recorded
/// all the same.
async fn left_and_refused(store: &LateStore, asked: [BoxFuture<'static, Result<(), Status>>; 2]) {
    let mut begun = store.begun();
    let held_up = store.hold_up().await;
    let before = *begun.borrow_and_update();
    let [first, second] = asked;
    let first = tokio::spawn(first);
    begun.wait_for(|begun| *begun > before).await.unwrap();
    let second = tokio::spawn(second);
    first.abort();
    // Were the second let in before the first is there, it would come to be recorded, too.
    drop(tokio::time::timeout(A_WHILE, begun.wait_for(|begun| *begun > before + 1)).await);
    drop(held_up);
    assert_eq!(second.await.unwrap().unwrap_err().code(), Code::ResourceExhausted);
}

#[tokio::test]
async fn k8_what_a_client_began_counts_though_it_goes_away_meanwhile() {
    let store = Arc::new(LateStore::new());
    let guarded = Guarded::of(Clock::default().engine(Arc::<LateStore>::clone(&store))).await;
    let mut opening = guarded.debates(&guarded.token(wishes("other", &[Scope::Write]))).await;
    let parent = paused(&mut opening).await;
    let debates = [paused(&mut opening).await, paused(&mut opening).await];
    let wishes = TokenWishes { name: "starts".to_owned(), ..a_dollar_a_day() };
    let client = guarded.debates(&guarded.token(wishes)).await;
    let start = || {
        let mut client = client.clone();
        async move { client.start_debate(costing(DEAR)).await.map(drop) }.boxed()
    };
    left_and_refused(&store, [start(), start()]).await;
    let client = guarded.debates(&guarded.token(a_dollar_a_day())).await;
    let resume = |debate_id| {
        let mut client = client.clone();
        async move { client.resume_debate(v1::ResumeDebateRequest { debate_id }).await.map(drop) }.boxed()
    };
    left_and_refused(&store, debates.map(resume)).await;
    let mut concluded = Vec::new();
    for _ in 0..2 {
        let debate_id = paused(&mut opening).await;
        let cancel = v1::CancelDebateRequest { debate_id: debate_id.clone(), ..Default::default() };
        opening.cancel_debate(cancel).await.unwrap();
        assert!(guarded.house.engine.concluded(debate_id.parse().unwrap(), PATIENCE).await.unwrap());
        concluded.push(debate_id);
    }
    let wishes = TokenWishes { name: "rounds".to_owned(), ..a_dollar_a_day() };
    let client = guarded.debates(&guarded.token(wishes)).await;
    let add = |debate_id: &String| {
        let mut client = client.clone();
        let request = v1::ContinueDebateRequest { debate_id: debate_id.clone(), ..Default::default() };
        async move { client.continue_debate(request).await.map(drop) }.boxed()
    };
    left_and_refused(&store, [add(&concluded[0]), add(&concluded[1])]).await;
    let scopes = [Scope::Read, Scope::Write, Scope::Audit].into();
    let wishes = TokenWishes { name: "forks".to_owned(), scopes, ..a_dollar_a_day() };
    let client = guarded.audits(&guarded.token(wishes)).await;
    let fork = || {
        let (mut client, debate_id) = (client.clone(), parent.clone());
        let request = v1::ForkDebateRequest { debate_id, ..Default::default() };
        async move { client.fork_debate(request).await.map(drop) }.boxed()
    };
    left_and_refused(&store, [fork(), fork()]).await;
}

#[tokio::test]
async fn k8_of_many_forks_at_one_moment_as_many_are_let_in_as_money_and_places_allow() {
    for (guarded, _folder, limits) in houses_and_limits().await {
        let mut opening = guarded.debates(&guarded.token(wishes("other", &[Scope::Write]))).await;
        let debate_id = paused(&mut opening).await;
        let scopes = wishes("app", &[Scope::Read, Scope::Write, Scope::Audit]);
        let client = guarded.audits(&guarded.token(TokenWishes { limits, ..scopes })).await;
        let fork = async |mut client: Audits| {
            let request = v1::ForkDebateRequest { debate_id: debate_id.clone(), ..Default::default() };
            client.fork_debate(request).await.map(drop)
        };
        one_of_sixteen((0..16).map(|_| fork(client.clone()))).await;
    }
}

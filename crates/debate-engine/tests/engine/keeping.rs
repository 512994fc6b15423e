//! How a process keeps its debates: queues, pauses, and a store that fails without saying what it did.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use debate_core::fork::Change;
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Control, ControlError, Engine, Fork, ForkError, Settings, Start};
use debate_llm::{ChatModel, Models, ScriptedAnswer, ScriptedModel};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{EventStore, SqliteOptions, SqliteStore};
use futures::future::join_all;
use serde_json::Value;
use tokio::time::sleep;

use crate::bench_of_one::{PATIENCE, engine, kinds, log, memory, model, paused_clock, start};
use crate::moody_store::MoodyStore;

/// Returns an engine of predictions that goes by tokio's clock, which tests pause.
fn timed(store: Arc<dyn EventStore>, models: impl Into<Models>, settings: Settings) -> Engine {
    Engine::builder(store, models).format(PredictionPrompts).settings(settings).env(paused_clock()).build()
}

/// An engine that drives one debate at a time.
fn narrow(store: Arc<dyn EventStore>, model: Arc<dyn ChatModel>) -> Engine {
    let settings = Settings { debates_max: 1, ..Settings::default() };
    timed(store, model, settings)
}

/// An engine with places for so many debates, whose models never answer.
fn with_places(store: Arc<dyn EventStore>, debates_held_max: usize) -> Engine {
    let settings = Settings { debates_held_max, ..Settings::default() };
    let hangs: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
    Engine::builder(store, hangs).format(PredictionPrompts).settings(settings).build()
}

#[tokio::test(start_paused = true)]
async fn k9_cancel_reaches_a_debate_that_waits_for_its_turn() {
    let engine = narrow(memory(), Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang)));
    engine.start(start(None)).await.unwrap();
    let waiting = engine.start(start(None)).await.unwrap().debate;
    let cancel = Control::Cancel { reason: "enough".to_owned() };
    engine.control(waiting, cancel, "alice").await.unwrap();
    assert!(engine.concluded(waiting, Duration::from_secs(1)).await.unwrap());
    assert!(!kinds(&log(&engine, waiting).await).contains_key("call_started"));
}

#[tokio::test(start_paused = true)]
async fn k9_p21_the_deadline_of_a_debate_that_waits_for_its_turn_holds_and_nothing_is_asked_after_it() {
    let engine = narrow(memory(), Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang)));
    let mut long = start(None);
    long.limits.deadline_ms = 600_000;
    engine.start(long).await.unwrap();
    let request = start(None);
    let deadline = Duration::from_millis(request.limits.deadline_ms);
    let waiting = engine.start(request).await.unwrap().debate;
    assert!(engine.concluded(waiting, deadline + Duration::from_millis(1)).await.unwrap());
    assert!(!kinds(&log(&engine, waiting).await).contains_key("call_started"));
}

#[tokio::test(start_paused = true)]
async fn k9_debate_taken_up_after_its_deadline_calls_no_model() {
    let store = memory();
    // It opens the debate and goes away before it drives it.
    let gone = narrow(store.clone(), model("seed=7"));
    let debate = gone.start(start(None)).await.unwrap().debate;
    gone.shut_down().await;
    let engine = narrow(store, model("seed=7"));
    sleep(Duration::from_millis(start(None).limits.deadline_ms)).await;
    assert_eq!(engine.recover().await.unwrap(), 1);
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    assert!(!kinds(&log(&engine, debate).await).contains_key("call_started"));
}

#[tokio::test(start_paused = true)]
async fn k9_a_call_that_waits_for_its_turn_beyond_the_deadline_is_never_made() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let model = ScriptedModel::by(move |request| {
        counted.fetch_add(usize::from(request.tenant.is_empty()), Ordering::Relaxed);
        ScriptedAnswer::Hang
    });
    let settings =
        Settings { calls_max: 1, call_time: Duration::from_secs(200).into(), ..Settings::default() };
    let engine = timed(memory(), Arc::new(model) as Arc<dyn ChatModel>, settings);
    engine.start(start_of("busy")).await.unwrap();
    let request = start(None);
    let deadline = Duration::from_millis(request.limits.deadline_ms);
    let waiting = engine.start(request).await.unwrap().debate;
    assert!(engine.concluded(waiting, deadline + Duration::from_millis(1)).await.unwrap());
    assert!(
        kinds(&log(&engine, waiting).await).contains_key("call_started"),
        "it waited for its turn to ask"
    );
    // The turn comes free twice, and goes to others.
    sleep(Duration::from_secs(400)).await;
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[tokio::test(start_paused = true)]
async fn k9_calls_that_are_given_up_where_argument_ends_take_no_turn_from_the_synthesis() {
    let hangs: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
    let settings =
        Settings { calls_max: 1, call_time: Duration::from_secs(76).into(), ..Settings::default() };
    let engine = timed(memory(), Models::new(model("seed=7,latency=10s"), [hangs]), settings);
    let mut request = start(None);
    (request.limits.deadline_ms, request.limits.closing_ms) = (110_000, 20_000);
    let debate = engine.start(request).await.unwrap().debate;
    let mut busy = start_of("busy");
    busy.config.models.default = vec!["scripted".to_owned()];
    engine.start(busy).await.unwrap();
    assert!(engine.concluded(debate, Duration::from_secs(111)).await.unwrap());
    // Two arguments are answered by 20 s; the turn then comes free again at 96 s, and once more after the deadline.
    let log = log(&engine, debate).await;
    let answered = log.iter().filter(|event| event.kind == "call_answered").map(|event| {
        let body: Value = serde_json::from_str(&event.body).unwrap();
        body["call"].as_str().unwrap().split('/').next().unwrap().to_owned()
    });
    assert_eq!(answered.collect::<Vec<_>>(), ["argue", "argue", "synthesise"]);
}

#[tokio::test(start_paused = true)]
async fn k9_no_call_is_made_behind_the_deadline_where_the_store_took_until_then() {
    // Where all have turns, calls are begun in what the store takes so long for. Where there is one, it goes to the other
    // tenant's call twice, then to one of this one's, to the other's again, and comes to this one's while its driver waits.
    for (calls_max, until_ms) in [(1_000, 500), (1, 2_500)] {
        let store = Arc::new(MoodyStore::default());
        let model = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
        let settings =
            Settings { calls_max, call_time: Duration::from_secs(1).into(), ..Settings::default() };
        let engine = timed(store.clone(), Arc::clone(&model) as Arc<dyn ChatModel>, settings);
        engine.start(start_of("busy")).await.unwrap();
        let request = start(None);
        let deadline = Duration::from_millis(request.limits.deadline_ms);
        let debate = engine.start(request).await.unwrap().debate;
        let asked = || model.asked().iter().filter(|request| request.tenant.is_empty()).count();
        sleep(Duration::from_millis(until_ms)).await;
        let held_up = store.hold_up().await;
        sleep(deadline).await;
        let before = asked();
        drop(held_up);
        assert!(engine.concluded(debate, Duration::from_millis(1)).await.unwrap());
        let started = kinds(&log(&engine, debate).await)["call_started"];
        assert!(before > 0 && before < started, "{before} of {started} were made");
        assert_eq!(asked(), before, "with {calls_max} turns");
    }
}

fn start_of(tenant: &str) -> Start<Prediction> {
    let mut start = start(None);
    start.author.tenant = tenant.to_owned();
    start.limits.deadline_ms = 600_000;
    start
}

#[tokio::test(start_paused = true)]
async fn a_tenants_one_debate_starts_while_another_tenant_has_300_waiting() {
    for settings in
        [Settings { debates_max: 1, ..Settings::default() }, Settings { calls_max: 1, ..Settings::default() }]
    {
        let engine = timed(memory(), model("seed=7,latency=100ms"), settings);
        let mut busy = Vec::new();
        for _ in 0..301 {
            busy.push(engine.start(start_of("busy")).await.unwrap().debate);
        }
        let other = engine.start(start_of("other")).await.unwrap().debate;
        // As long as two debates take one after the other, of which every call waits for one of the other tenant.
        assert!(engine.concluded(other, Duration::from_secs(15)).await.unwrap(), "{settings:?}");
        let mut ended = 0;
        for debate in busy {
            ended += usize::from(kinds(&log(&engine, debate).await).contains_key("concluded"));
        }
        assert!(ended <= 2, "{ended} of the others were served first");
        assert_eq!(kinds(&log(&engine, other).await)["judgement_rendered"], 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_debate_that_hears_something_while_it_waits_keeps_its_place_in_the_line() {
    let engine = narrow(memory(), Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang)));
    let driven = engine.start(start_of("busy")).await.unwrap().debate;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(engine.start(start_of("busy")).await.unwrap().debate);
        sleep(Duration::from_millis(1)).await;
    }
    // One that is refused, and one that is not.
    let [first, second, _] = waiting[..] else { unreachable!() };
    engine.control(first, Control::Resume, "alice").await.unwrap_err();
    engine.control(second, Control::Pause, "alice").await.unwrap();
    engine.control(second, Control::Resume, "alice").await.unwrap();
    served_one_after_the_other(&engine, driven, &waiting).await;
}

#[tokio::test(start_paused = true)]
async fn k2_after_a_restart_a_tenants_debates_are_driven_in_the_order_in_which_they_were_opened() {
    let store = memory();
    let hangs = || Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
    let engine = narrow(Arc::clone(&store), hangs());
    let mut opened = Vec::new();
    for _ in 0..4 {
        opened.push(engine.start(start_of("busy")).await.unwrap().debate);
    }
    engine.shut_down().await;
    let engine = narrow(store, hangs());
    assert_eq!(engine.recover().await.unwrap(), 4);
    served_one_after_the_other(&engine, opened[0], &opened[1..]).await;
}

/// Ends the debate that is driven, and whichever is driven then, up to the last of three: each in its turn.
async fn served_one_after_the_other(engine: &Engine, driven: DebateId, waiting: &[DebateId]) {
    let [first, second, _] = waiting[..] else { panic!("{waiting:?}") };
    for (place, driven) in [driven, first, second].into_iter().enumerate() {
        let cancel = Control::Cancel { reason: "enough".to_owned() };
        engine.control(driven, cancel, "alice").await.unwrap();
        sleep(Duration::from_secs(1)).await;
        let mut asked = Vec::new();
        for debate in waiting {
            asked.push(kinds(&log(engine, *debate).await).contains_key("call_started"));
        }
        assert_eq!(asked, [true, place > 0, place > 1]);
    }
}

#[tokio::test(start_paused = true)]
async fn tenant_that_takes_all_places_leaves_room_for_others() {
    let engine = with_places(memory(), 4);
    let mut accepted = Vec::new();
    for tenant in
        ["busy", "busy", "busy", "busy", "busy", "other", "other", "other", "busy", "third", "third"]
    {
        accepted.push(engine.start(start_of(tenant)).await.is_ok());
    }
    let (yes, no) = (true, false);
    assert_eq!(accepted, [yes, yes, yes, yes, no, yes, yes, no, no, yes, no]);
}

#[tokio::test]
async fn tenants_share_what_is_kept_for_those_who_come_later_until_twice_as_many_are_held() {
    let engine = with_places(memory(), 10);
    let mut held = Vec::new();
    for tenant in ["first", "second", "third", "fourth", "fifth"] {
        let before = engine.held_count();
        while engine.start(start_of(tenant)).await.is_ok() {}
        held.push(engine.held_count() - before);
    }
    assert_eq!(held, [10, 5, 3, 2, 0]);
}

/// A client's request that makes this process drive a debate that no process drives.
#[derive(Debug, Clone, Copy)]
enum Way {
    Fork,
    Continue,
    Resume,
}

impl Way {
    /// Goes it; returns whether there was no room.
    async fn is_shut(self, engine: &Engine, concluded: DebateId, paused: DebateId) -> bool {
        let go_on = Control::Continue { rounds: 1, focus: None };
        let control = match self {
            Self::Continue => engine.control(concluded, go_on, "alice").await,
            Self::Resume => engine.control(paused, Control::Resume, "alice").await,
            Self::Fork => {
                // At its beginning, so that the fork has something left to do.
                let (at, actor) = (Some(Seq(1)), "alice".to_owned());
                let fork = Fork { parent: concluded, at, change: Change::Nothing, actor };
                return match engine.fork(fork).await {
                    Ok(_) => false,
                    Err(ForkError::Busy { .. }) => true,
                    Err(error) => panic!("{error}"),
                };
            }
        };
        match control {
            Ok(()) => false,
            Err(ControlError::Busy { .. }) => true,
            Err(error) => panic!("{self:?}: {error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn forks_rounds_and_going_on_find_no_place_where_a_start_finds_none_and_nothing_is_recorded() {
    let store = memory();
    let before = engine(store.clone(), model("seed=7,latency=100ms"));
    let mut debates = Vec::new();
    for tenant in ["busy", "other"] {
        let paused = before.start(start_of(tenant)).await.unwrap().debate;
        sleep(Duration::from_millis(50)).await;
        before.control(paused, Control::Pause, "alice").await.unwrap();
        let concluded = before.start(start_of(tenant)).await.unwrap().debate;
        assert!(before.concluded(concluded, PATIENCE).await.unwrap());
        debates.push((concluded, paused));
    }
    before.shut_down().await;
    for way in [Way::Fork, Way::Continue, Way::Resume] {
        let engine = with_places(store.clone(), 2);
        for _ in 0..2 {
            engine.start(start_of("busy")).await.unwrap();
        }
        let [(concluded, paused), (others_concluded, others_paused)] = debates[..] else { panic!() };
        let as_stored = [log(&engine, concluded).await, log(&engine, paused).await];
        assert!(way.is_shut(&engine, concluded, paused).await, "{way:?} of the tenant that has all places");
        assert_eq!([log(&engine, concluded).await, log(&engine, paused).await], as_stored, "{way:?}");
        assert_eq!(engine.held_count(), 2);
        assert!(!way.is_shut(&engine, others_concluded, others_paused).await, "{way:?} of another tenant");
        assert_eq!(engine.held_count(), 3, "{way:?}");
        engine.shut_down().await;
    }
}

/// Creates debates that no process drives: each pair has one that has concluded and one that is paused.
async fn idle_debates(store: &Arc<dyn EventStore>, pairs: usize) -> Vec<(DebateId, DebateId)> {
    let answers = engine(store.clone(), model("seed=7"));
    let hangs = engine(store.clone(), Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang)));
    let pair = async || {
        let concluded = answers.start(start_of("busy")).await.unwrap().debate;
        let paused = hangs.start(start_of("busy")).await.unwrap().debate;
        hangs.control(paused, Control::Pause, "alice").await.unwrap();
        assert!(answers.concluded(concluded, PATIENCE).await.unwrap());
        (concluded, paused)
    };
    let debates = join_all((0..pairs).map(|_| pair())).await;
    answers.shut_down().await;
    hangs.shut_down().await;
    debates
}

#[tokio::test]
async fn of_many_debates_that_come_at_one_moment_as_many_are_let_in_as_there_are_places() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("debates.sqlite");
    let store = SqliteStore::open(path.to_str().unwrap(), SqliteOptions::default()).await.unwrap();
    let store: Arc<dyn EventStore> = Arc::new(store);
    let idle = idle_debates(&store, 8).await;
    for way in [None, Some(Way::Fork), Some(Way::Continue), Some(Way::Resume)] {
        let engine = with_places(store.clone(), 4);
        let let_in = async |(concluded, paused)| match way {
            Some(way) => !way.is_shut(&engine, concluded, paused).await,
            None => engine.start(start_of("busy")).await.is_ok(),
        };
        let accepted = join_all(idle.iter().map(|debates| let_in(*debates))).await;
        let count = accepted.into_iter().filter(|let_in| *let_in).count();
        assert_eq!((count, engine.held_count()), (4, 4), "{way:?}");
        let others = engine.start(start_of("other")).await;
        assert!(others.is_ok(), "{way:?}: places that were not used are given back");
        engine.shut_down().await;
    }
}

#[tokio::test(start_paused = true)]
async fn k17_paused_debate_takes_no_turn() {
    let engine = narrow(memory(), model("seed=7,latency=100ms"));
    let paused = engine.start(start(None)).await.unwrap().debate;
    sleep(Duration::from_millis(50)).await;
    engine.control(paused, Control::Pause, "alice").await.unwrap();
    let other = engine.start(start(None)).await.unwrap().debate;
    assert!(engine.concluded(other, PATIENCE).await.unwrap());
    engine.control(paused, Control::Resume, "alice").await.unwrap();
    assert!(engine.concluded(paused, PATIENCE).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_for_a_minute_costs_a_debate_time_and_nothing_else() {
    let store = Arc::new(MoodyStore::default());
    let engine = engine(store.clone(), model("seed=7,latency=100ms"));
    let mut request = start(None);
    request.limits.deadline_ms = 600_000;
    let debate = engine.start(request).await.unwrap().debate;
    sleep(Duration::from_millis(150)).await;
    store.set_down(true);
    sleep(Duration::from_secs(60)).await;
    store.set_down(false);
    sleep(Duration::from_secs(60)).await;
    let log = log(&engine, debate).await;
    assert_eq!(kinds(&log)["concluded"], 1);
    assert_eq!(kinds(&log)["judgement_rendered"], 1);
}

#[tokio::test(start_paused = true)]
async fn k11_a_debate_whose_opening_went_unheard_is_driven_all_the_same() {
    let store = Arc::new(MoodyStore::default());
    let engine = engine(store.clone(), model("seed=7"));
    store.be_silent_once();
    let debate = engine.start(start(None)).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn k11_repeated_request_drives_a_debate_without_a_driver() {
    let store = memory();
    // It opens the debate and goes away before it drives it.
    let gone = narrow(store.clone(), model("seed=7"));
    let opened = gone.start(start(Some("r1"))).await.unwrap();
    gone.shut_down().await;
    let engine = narrow(store, model("seed=7"));
    let again = engine.start(start(Some("r1"))).await.unwrap();
    assert_eq!((again.debate, again.existing), (opened.debate, true));
    assert!(engine.concluded(again.debate, PATIENCE).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn k17_a_continue_whose_recording_went_unheard_goes_on() {
    let store = Arc::new(MoodyStore::default());
    let engine = engine(store.clone(), model("seed=7"));
    let debate = engine.start(start(None)).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    store.be_silent_once();
    let unheard = engine.control(debate, Control::Continue { rounds: 1, focus: None }, "alice").await;
    assert!(matches!(unheard, Err(ControlError::Record(_))));
    sleep(PATIENCE).await;
    assert_eq!(kinds(&log(&engine, debate).await)["concluded"], 2);
}

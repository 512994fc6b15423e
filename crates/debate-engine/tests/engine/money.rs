//! Prices, costs and limits on money (rule K8).

use std::sync::Arc;

use debate_core::format::Format as _;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::outcome::DebateResult;
use debate_core::prose::Texts;
use debate_core::stop::Completeness;
use debate_engine::{Engine, Hedge, Hedging, Price, Prices, Settings, StartError};
use debate_llm::{
    ChatModel, ChatReply, Ending, ModelError, ModelErrorKind, Models, ScriptedAnswer, ScriptedModel,
    TimeoutStage, Usage,
};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::ListFilter;
use serde_json::Value;

use crate::bench_of_one::{PATIENCE, log, memory, model, paused_clock, start};

/// A dollar for a million tokens read, five for a million written.
const PRICE: Price = Price { input: 1_000_000, cached_input: 100_000, output: 5_000_000 };
/// What the synthesis may cost: 6,000 tokens read, 2,000 written.
const CLOSING: u64 = 6_000 + 5 * 2_000;
const VARYING: &str = "seed=7,latency=1s,sigma=0.5";

fn prices(models: &[&str]) -> Prices {
    models.iter().map(|model| ((*model).to_owned(), PRICE)).collect()
}

fn engine(models: impl Into<Models>, prices: Prices, after: Hedge) -> Engine {
    let settings = Settings { hedging: Hedging { after, ..Hedging::default() }, ..Settings::default() };
    let builder = Engine::builder(memory(), models).format(PredictionPrompts).prices(prices);
    builder.env(paused_clock()).settings(settings).build()
}

/// Holds the debate with a limit on its money; returns its result and its log as (kind, body).
async fn held(engine: &Engine, cost_micros_max: Option<u64>) -> (DebateResult, Vec<(String, Value)>) {
    let mut start = start(None);
    start.limits.cost_micros_max = cost_micros_max;
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    assert!(engine.verify(debate).await.unwrap().fault.is_none());
    let state = engine.load::<Prediction>(debate, None).await.unwrap();
    let events = log(engine, debate).await.into_iter();
    let events = events.map(|event| (event.kind.clone(), serde_json::from_str(&event.body).unwrap()));
    (Prediction::outcome(&state, Texts::Shown), events.collect())
}

fn sum(events: &[(String, Value)], kind: &str, pointer: &str) -> u64 {
    let of_kind = events.iter().filter(|(name, _)| name == kind);
    of_kind.map(|(_, body)| body.pointer(pointer).and_then(Value::as_u64).unwrap()).sum()
}

#[tokio::test(start_paused = true)]
async fn k8_every_call_says_what_it_may_cost_and_every_answer_what_it_did_cost() {
    let engine = engine(model("seed=7"), prices(&["simulated:7"]), Hedge::Off);
    let (result, events) = held(&engine, None).await;
    let cost = result.extra.cost.unwrap();
    assert_eq!(cost.cost_micros, sum(&events, "call_answered", "/cost_micros"));
    assert!(cost.complete && cost.cost_micros_bound == cost.cost_micros);
    let tokens = result.metadata.sonnet_tokens_used;
    let most = tokens.input + 5 * tokens.output + result.metadata.sonnet_calls;
    assert!(cost.cost_micros > 0 && cost.cost_micros <= most, "{cost:?} of {tokens:?}");
    assert!(sum(&events, "call_started", "/reserved/cost_micros") > cost.cost_micros);
    for (_, body) in events.iter().filter(|(kind, _)| kind == "call_started") {
        let [input, output, cost] =
            ["input", "output", "cost_micros"].map(|name| body["reserved"][name].as_u64().unwrap());
        assert_eq!(cost, input + 5 * output);
    }
    let (_, concluded) = events.iter().find(|(kind, _)| kind == "concluded").unwrap();
    assert_eq!(concluded["spend"]["cost"]["cost_micros"], cost.cost_micros);
}

#[tokio::test(start_paused = true)]
async fn k8_answer_above_its_reservation_is_booked_and_ends_calls() {
    let usage = Usage { input: Some(1_000_000), output: Some(0), ..Usage::default() };
    let model = ScriptedModel::by(move |_| ChatReply { usage, ..ChatReply::new("m", "no answer") });
    let engine = engine(Arc::new(model) as Arc<dyn ChatModel>, prices(&["scripted"]), Hedge::Off);
    let (result, events) = held(&engine, Some(CLOSING + 500_000)).await;
    let started = |(kind, _): &(String, Value)| kind == "call_started";
    let first_end = events.iter().position(|(kind, _)| kind == "attempt_failed").unwrap();
    let asked = events.iter().filter(|event| started(event)).count() as u64;
    assert!(asked > 0 && !events[first_end..].iter().any(started), "{events:?}");
    assert_eq!(result.extra.cost.unwrap().cost_micros, 1_000_000 * asked);
}

#[tokio::test(start_paused = true)]
async fn k8_reported_cost_of_a_broken_off_answer_is_booked() {
    let usage = Box::new(Usage { input: Some(100), output: Some(20), ..Usage::default() });
    let error = ModelError::new(ModelErrorKind::StreamError, "the provider failed");
    let cost = cost_of(ModelError { usage, received_any: true, ..error }, "unavailable").await;
    assert_eq!((cost.reported, cost.booked), (200 * cost.failed, cost.reported));
}

#[tokio::test(start_paused = true)]
async fn k8_cut_or_unreadable_answer_is_booked_at_its_reported_cost() {
    let usage = Usage { input: Some(100), output: Some(20), ..Usage::default() };
    for (ending, failure) in
        [(Ending::Refused, "refused"), (Ending::CutInText, "truncated"), (Ending::Complete, "unreadable")]
    {
        let cost = cost_of(ChatReply { usage, ending, ..ChatReply::new("m", "no answer") }, failure).await;
        assert_eq!((cost.reported, cost.booked), (200 * cost.failed, cost.reported), "{failure}");
    }
}

#[tokio::test(start_paused = true)]
async fn k8_an_answer_that_was_waited_for_in_vain_is_booked_as_all_that_it_may_have_cost() {
    let error = ModelError::new(ModelErrorKind::Timeout(TimeoutStage::Total), "the time is up");
    let cost = cost_of(error, "timeout").await;
    assert!(cost.reserved > 0);
    assert_eq!((cost.booked, cost.bound), (0, cost.reserved));
}

/// What a debate costs in which no attempt is answered.
struct Failed {
    /// How many attempts failed; others may have been given up when the debate ended.
    failed: u64,
    /// The reported cost of those that failed.
    reported: u64,
    /// What was reserved for all.
    reserved: u64,
    /// What the debate says that it did cost, and may have cost.
    booked: u64,
    bound: u64,
}

/// Holds a debate in which every attempt comes to this, which is recorded as such a failure.
async fn cost_of(answer: impl Into<ScriptedAnswer>, failure: &str) -> Failed {
    let answer = answer.into();
    let model = ScriptedModel::by(move |_| answer.clone());
    let engine = engine(Arc::new(model) as Arc<dyn ChatModel>, prices(&["scripted"]), Hedge::Off);
    let (result, events) = held(&engine, None).await;
    let failed: Vec<_> = events.iter().filter(|(kind, _)| kind == "attempt_failed").collect();
    assert!(!failed.is_empty() && failed.iter().all(|(_, body)| body["failure"] == failure), "{events:?}");
    let reported = failed.iter().filter_map(|(_, body)| body["cost_micros"].as_u64()).sum();
    let cost = result.extra.cost.unwrap();
    Failed {
        failed: failed.len() as u64,
        reported,
        reserved: sum(&events, "call_started", "/reserved/cost_micros"),
        booked: cost.cost_micros,
        bound: cost.cost_micros_bound,
    }
}

#[tokio::test(start_paused = true)]
async fn k8_what_is_reserved_is_all_that_a_request_may_read_and_write() {
    let model = Arc::new(ScriptedModel::by(|_| "no answer"));
    let engine = engine(Arc::clone(&model) as Arc<dyn ChatModel>, prices(&["scripted"]), Hedge::Off);
    let (_, events) = held(&engine, None).await;
    let sent = model.asked().into_iter();
    let mut sent: Vec<_> =
        sent.map(|request| (request.input_tokens.unwrap(), request.max_output_tokens)).collect();
    let reserved = events.iter().filter(|(kind, _)| kind == "call_started").map(|(_, body)| {
        ["input", "output"].map(|name| u32::try_from(body["reserved"][name].as_u64().unwrap()).unwrap())
    });
    let mut reserved: Vec<_> = reserved.map(<(u32, u32)>::from).collect();
    sent.sort_unstable();
    reserved.sort_unstable();
    assert!(!sent.is_empty());
    assert_eq!(reserved, sent);
}

#[tokio::test(start_paused = true)]
async fn k8_cost_needs_prices_and_unpriced_models_are_named() {
    let (result, events) = held(&engine(model("seed=7"), Prices::default(), Hedge::Off), None).await;
    assert_eq!(result.extra.cost, None);
    assert!(!serde_json::to_string(&result).unwrap().contains("cost_micros"));
    assert!(events.iter().all(|(_, body)| !body.to_string().contains("cost_micros")));
    let models = Models::new(model("seed=7"), [model("seed=8")]);
    let engine = engine(models, prices(&["simulated:7"]), Hedge::Off);
    let mut start = start(None);
    start.config.models.roles.insert("historian".into(), vec!["simulated:8".to_owned()]);
    let debate = engine.start(start).await.unwrap().debate;
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    let state = engine.load::<Prediction>(debate, None).await.unwrap();
    let extra = Prediction::outcome(&state, Texts::Shown).extra;
    let cost = extra.cost.unwrap();
    assert!(cost.cost_micros > 0 && !cost.complete, "{cost:?}");
    assert_eq!(extra.unpriced_models, ["simulated:8"]);
    assert_eq!(state.spend().unpriced_calls, 3);
}

#[tokio::test(start_paused = true)]
async fn k8_a_limit_that_cannot_be_kept_is_refused_with_all_names_and_nothing_is_recorded() {
    let models = Models::new(model("seed=7"), [model("seed=8"), model("seed=9")]);
    let engine = engine(models, prices(&["simulated:9"]), Hedge::Off);
    let refused = async |change: &dyn Fn(&mut debate_engine::Start<Prediction>)| {
        let mut start = start(None);
        start.limits.cost_micros_max = Some(CLOSING - 1);
        change(&mut start);
        let Err(StartError::Invalid(violations)) = engine.start(start).await else { panic!("it started") };
        violations.0.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let field = "options.limits.cost_micros_max";
    let named = |models: &[&str]| models.iter().map(|model| (*model).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        refused(
            &|start| start.config.models.purposes = [("score".to_owned(), named(&["simulated:8"]))].into()
        )
        .await,
        [
            format!("{field}: \"simulated:7\" has no price here"),
            format!("{field}: \"simulated:8\" has no price here"),
        ]
    );
    assert_eq!(
        refused(&|start| start.config.models.default = named(&["simulated:9"])).await,
        [format!("{field}: must be at least {CLOSING}, which the closing synthesis may cost")]
    );
    let many = |role: &str| (role.into(), named(&[&*format!("{role}:1"), &*format!("{role}:2")]));
    let listed = refused(&|start| {
        start.limits.cost_micros_max = None;
        start.config.models.default = (0..101).map(|n| format!("none:{n}")).collect();
        start.config.models.roles = ["optimist", "historian"].map(many).into();
    })
    .await;
    assert_eq!((listed.len(), listed[100].as_str()), (101, "request: breaks 5 more rules"));
    assert_eq!(engine.store().list(ListFilter::default()).await.unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn k8_money_that_runs_out_ends_in_the_synthesis_with_what_there_is() {
    let engine = engine(model("seed=7"), prices(&["simulated:7"]), Hedge::Off);
    let (whole, _) = held(&engine, None).await;
    let half = CLOSING + whole.extra.cost.unwrap().cost_micros / 2;
    let (result, events) = held(&engine, Some(half)).await;
    let Completeness::Partial { missing, why } = &result.extra.completeness else { panic!("{result:?}") };
    assert_eq!(why[0], "stopped by budget of cost_micros");
    assert!(!missing.iter().any(|what| what == "synthesis"), "{missing:?}");
    let (_, fired) = events.iter().find(|(kind, _)| kind == "stop_rule_fired").unwrap();
    assert_eq!((&fired["rule"], &fired["budget"]), (&"budget".into(), &"cost_micros".into()));
    assert_eq!(fired["threshold"].as_f64(), Some(half as f64));
    assert!(fired["statistic"].as_f64() > fired["threshold"].as_f64());
    assert!(result.extra.cost.unwrap().cost_micros_bound <= half);
    let (_, opened) = &events[0];
    assert_eq!(opened["limits"]["closing_cost_micros"], CLOSING);
}

#[tokio::test(start_paused = true)]
async fn k8_money_that_suffices_alone_suffices_with_races() {
    let model = model(VARYING);
    let prices = prices(&[model.name()]);
    let alone = engine(Arc::clone(&model), prices.clone(), Hedge::Off);
    let (whole, _) = held(&alone, None).await;
    let mut max = CLOSING + whole.extra.cost.unwrap().cost_micros / 2;
    while held(&alone, Some(max)).await.0.extra.completeness != Completeness::Full {
        max += 1_000;
    }
    let racing = engine(model, prices, Hedge::P75);
    let hedges = |events: &[(String, Value)]| {
        let raced = events.iter().filter(|(_, body)| body["cause"] == "hedge");
        raced.inspect(|(_, body)| assert!(body["reserved"]["cost_micros"].is_u64(), "{body}")).count()
    };
    let mut unlimited = 0;
    for _ in 0..4 {
        unlimited += hedges(&held(&racing, None).await.1);
    }
    assert!(unlimited > 0, "nothing was raced");
    for _ in 0..4 {
        let (result, _) = held(&racing, Some(max)).await;
        assert_eq!(result.extra.completeness, Completeness::Full);
    }
}

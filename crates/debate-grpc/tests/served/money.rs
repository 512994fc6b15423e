//! The money of a day: over time, over restarts, and of debates that go on again.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use debate_core::id::Timestamp;
use debate_engine::{Engine, Prices, Surroundings};
use debate_grpc::tokens::{Scope, TokenLimits, TokenWishes};
use debate_llm::{ChatModel, ScriptedAnswer, ScriptedModel};
use debate_prompts::prediction::PredictionPrompts;
use debate_proto::v1;
use debate_store::MemoryStore;
use tonic::Code;

use crate::house::PRICE;
use crate::tokens::{Debates, Guarded, start, started, wishes};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

/// A clock for engines, which can be put back.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicI64>);

impl Clock {
    /// Puts it back by so many milliseconds, from the time of day.
    fn put_back(&self, by: i64) {
        self.0.store(by, Ordering::Relaxed);
    }

    /// Makes an engine that goes by it, and whose model never answers.
    fn engine(&self, store: &Arc<MemoryStore>) -> Engine {
        let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
        let (clock, real, dice) = (self.clone(), Surroundings::real(), Surroundings::real());
        let now = move || Timestamp(real.now().0 - clock.0.load(Ordering::Relaxed));
        Engine::builder(Arc::clone(store) as _, model)
            .format(PredictionPrompts)
            .prices(Prices::from_iter([("scripted".to_owned(), PRICE)]))
            .surroundings(Surroundings::new(now, move || dice.salt()))
            .build()
    }
}

/// Wishes for a token that may spend a dollar a day.
fn a_dollar_a_day() -> TokenWishes {
    let limits = TokenLimits { day_cost_micros_max: Some(1_000_000), ..TokenLimits::default() };
    TokenWishes { limits, ..wishes("app", &[Scope::Read, Scope::Write]) }
}

/// Starts a debate that may cost 60 cents.
fn dear() -> v1::StartDebateRequest {
    let mut request = start("");
    if let Some(v1::start_debate_request::Format::Prediction(prediction)) = &mut request.format {
        let limits = v1::LimitsOption { cost_micros_max: Some(600_000), ..Default::default() };
        prediction.options = Some(v1::DebateOptions { limits: Some(limits), ..Default::default() });
    }
    request
}

async fn paused(client: &mut Debates) -> String {
    let debate_id = client.start_debate(dear()).await.unwrap().into_inner().debate.unwrap().id;
    client.pause_debate(v1::PauseDebateRequest { debate_id: debate_id.clone() }).await.unwrap();
    debate_id
}

#[tokio::test]
async fn k8_the_money_of_a_day_is_free_again_when_the_day_has_passed() {
    for (ago, is_free) in [(DAY_MS - MINUTE_MS, false), (DAY_MS + MINUTE_MS, true)] {
        let clock = Clock::default();
        let guarded = Guarded::of(clock.engine(&Arc::default())).await;
        let mut client = guarded.debates(&guarded.token(a_dollar_a_day())).await;
        clock.put_back(ago);
        paused(&mut client).await;
        clock.put_back(0);
        let second = client.start_debate(dear()).await;
        let code = second.map_or_else(|refused| refused.code(), |_| Code::Ok);
        assert_eq!(code, if is_free { Code::Ok } else { Code::ResourceExhausted }, "{ago} ms ago");
    }
}

#[tokio::test]
async fn k8_a_restart_forgets_no_money_of_the_day() {
    let (clock, store) = (Clock::default(), Arc::default());
    let first = Guarded::of(clock.engine(&store)).await;
    let token = first.token(a_dollar_a_day());
    started(&mut first.debates(&token).await, "").await;
    let second = first.restarted(clock.engine(&store)).await;
    let refused = second.debates(&token).await.start_debate(start("")).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
}

#[tokio::test]
async fn k8_debates_that_a_token_lets_go_on_again_are_its_own_money_of_the_day() {
    for opener in ["other", "app"] {
        let clock = Clock::default();
        let guarded = Guarded::of(clock.engine(&Arc::default())).await;
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

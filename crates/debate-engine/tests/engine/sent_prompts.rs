//! The prompt of every request follows from the log and the templates, to the byte.

use std::collections::BTreeSet;
use std::sync::Arc;

use debate_core::codec::Author;
use debate_core::envelope::Envelope;
use debate_core::format::Format;
use debate_core::formats::accept::{self, Accepted, AcceptedRequest};
use debate_core::formats::prediction::Prediction;
use debate_core::id::{DebateId, Seq};
use debate_engine::{
    Engine, EngineBuilder, Finding, Fork, Hedge, Hedging, Redact, SentPrompt, SentPromptError, Settings,
    Start,
};
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::review::ReviewPrompts;
use debate_prompts::roundtable::RoundtablePrompts;
use debate_prompts::tokens;
use serde_json::Value;

use crate::bench_of_one::{PATIENCE, memory, model, paused_clock};

/// A request of every format, and of roundtables one whose agents use tools, so that calls have more than one turn.
pub(crate) const REQUESTS: [&str; 6] = [
    include_str!("../../../../examples/ice.json"),
    include_str!("../../../../examples/deliberation.json"),
    include_str!("../../../../examples/roundtable-delphi.json"),
    include_str!("../../../../examples/review.json"),
    include_str!("../../../../examples/leap_second.json"),
    r#"{"format": "roundtable", "topic": "Should the office move?", "agents": ["ada", "bo"], "mode": "adversarial",
        "rounds": 2, "tools": ["search_web"]}"#,
];

/// A model that answers late and often not as it was asked.
pub(crate) const FAULTY: &str =
    "seed=11,latency=1s,sigma=0.5,malformed=0.1,server_error=0.05,weak_argument=0.3,missing_citation=0.1";

pub(crate) fn engine(spelling: &str, settings: Settings) -> Engine {
    builder(spelling).settings(settings).build()
}

/// An engine for all formats, with a simulated model, before it is built.
pub(crate) fn builder(spelling: &str) -> EngineBuilder {
    Engine::builder(memory(), model(spelling))
        .format(PredictionPrompts)
        .format(DeliberationPrompts)
        .format(RoundtablePrompts)
        .format(ReviewPrompts)
        .format(InvestigationPrompts)
        .env(paused_clock())
}

pub(crate) async fn held(engine: &Engine, request: &str) -> DebateId {
    let debate = match accept::accept(request).unwrap() {
        AcceptedRequest::Prediction(accepted) => begin(engine, *accepted).await,
        AcceptedRequest::Deliberation(accepted) => begin(engine, *accepted).await,
        AcceptedRequest::Roundtable(accepted) => begin(engine, *accepted).await,
        AcceptedRequest::Review(accepted) => begin(engine, *accepted).await,
        AcceptedRequest::Investigation(mut accepted) => {
            // As a server with a workspace says, so that its investigators look there first.
            accepted.config.workspace = true;
            begin(engine, *accepted).await
        }
    };
    assert!(engine.concluded(debate, PATIENCE).await.unwrap());
    debate
}

async fn begin<F: Format>(engine: &Engine, accepted: Accepted<F>) -> DebateId {
    engine.start(start(accepted)).await.unwrap().debate
}

pub(crate) fn start<F: Format>(accepted: Accepted<F>) -> Start<F> {
    let Accepted { config, brief, limits, digest, .. } = accepted;
    let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
    Start { config, brief, limits, request_digest: digest, request_id: None, author }
}

/// All that a debate is folded from.
pub(crate) async fn history(engine: &Engine, debate: DebateId) -> Vec<Arc<Envelope>> {
    engine.history(debate, None).await.unwrap().into_iter().map(Arc::new).collect()
}

/// The prompts of all requests that a debate's own log holds, with the facts of each.
pub(crate) fn sent(engine: &Engine, debate: DebateId, history: &[Arc<Envelope>]) -> Vec<(Value, SentPrompt)> {
    let begins = |event: &Envelope| event.stream == debate.into() && event.kind == "call_started";
    let requests = history.iter().enumerate().filter(|(_, event)| begins(event));
    let prompt = |(place, event): (usize, &Arc<Envelope>)| {
        let facts = serde_json::from_str(&event.body).unwrap();
        (facts, engine.sent_prompt(&history[..=place]).unwrap())
    };
    requests.map(prompt).collect()
}

pub(crate) fn all_agree(prompts: &[(Value, SentPrompt)]) {
    for (facts, prompt) in prompts {
        assert_eq!(prompt.finding, Finding::Agrees, "{facts}");
        let words: String =
            prompt.rendered.iter().flat_map(|it| it.messages.iter().map(|it| &*it.text)).collect();
        assert!(words.len() > 100, "{facts}: {words}");
    }
}

#[tokio::test(start_paused = true)]
async fn k2_every_prompt_of_every_format_is_rendered_again_as_it_was_sent() {
    // Replies that cannot be used and requests that fail are asked again, with what was wrong with them.
    let mut turns = BTreeSet::new();
    for spelling in ["seed=7", FAULTY] {
        for request in REQUESTS {
            let engine = engine(spelling, Settings::default());
            let debate = held(&engine, request).await;
            let prompts = sent(&engine, debate, &history(&engine, debate).await);
            assert!(prompts.len() > 3, "{request}");
            all_agree(&prompts);
            turns.extend(prompts.iter().map(|(facts, _)| facts["turn"].as_u64()));
        }
    }
    assert!(turns.contains(&Some(2)), "some asked for a tool first");
}

#[tokio::test(start_paused = true)]
async fn k8_all_that_a_request_of_any_format_reads_is_reserved() {
    let mut with_tools = 0;
    for request in REQUESTS {
        let engine = engine("seed=7", Settings::default());
        let debate = held(&engine, request).await;
        let prompts = sent(&engine, debate, &history(&engine, debate).await);
        all_agree(&prompts);
        for (facts, prompt) in &prompts {
            let messages = &prompt.rendered.as_ref().unwrap().messages;
            let read: u32 = messages.iter().map(|message| tokens::count(&message.text)).sum();
            assert_eq!(facts["reserved"]["input"], read, "{facts}");
        }
        with_tools += usize::from(prompts.iter().any(|(facts, _)| facts["turn"] == 2));
    }
    assert_eq!(with_tools, 2, "a roundtable and an investigation read what their tools found");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_races_another_has_its_prompt() {
    let hedging = Hedging { after: Hedge::P75, ..Hedging::default() };
    let engine = engine("seed=7,latency=1s,sigma=0.5", Settings { hedging, ..Settings::default() });
    let mut races = 0;
    for _ in 0..6 {
        let debate = held(&engine, REQUESTS[0]).await;
        let prompts = sent(&engine, debate, &history(&engine, debate).await);
        all_agree(&prompts);
        races += prompts.iter().filter(|(facts, _)| facts["cause"] == "hedge").count();
    }
    assert!(races > 2, "{races} races");
}

#[tokio::test(start_paused = true)]
async fn k14_the_prompts_of_a_fork_are_made_of_what_it_shares_with_its_parent() {
    let engine = engine("seed=7", Settings::default());
    let parent = held(&engine, REQUESTS[0]).await;
    let change = "judge_order=reversed".parse().unwrap();
    let fork = Fork { parent, at: Some(Seq(20)), change, actor: "test".to_owned() };
    let fork = engine.fork(fork).await.unwrap().debate.unwrap();
    assert!(engine.concluded(fork, PATIENCE).await.unwrap());
    let prompts = sent(&engine, fork, &history(&engine, fork).await);
    assert!(prompts.len() > 5, "{}", prompts.len());
    all_agree(&prompts);
}

#[tokio::test(start_paused = true)]
async fn k15_a_prompt_whose_words_were_deleted_is_not_shown_and_says_why() {
    let engine = engine("seed=7", Settings::default());
    let debate = held(&engine, REQUESTS[0]).await;
    engine.redact(debate, Redact::All, "test").await.unwrap();
    for (facts, prompt) in sent(&engine, debate, &history(&engine, debate).await) {
        assert_eq!((prompt.finding, prompt.rendered), (Finding::WordsDeleted, None), "{facts}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_prompt_of_other_templates_is_never_said_to_agree() {
    let engine = engine("seed=7", Settings::default());
    let debate = held(&engine, REQUESTS[0]).await;
    let history = history(&engine, debate).await;
    let place = history.iter().position(|event| event.kind == "call_started").unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut log = history[..=place].to_vec();
        let mut facts: Value = serde_json::from_str(&log[place].body).unwrap();
        change(&mut facts["prompt"]);
        log[place] = Arc::new(Envelope { body: facts.to_string(), ..(*log[place]).clone() });
        engine.sent_prompt(&log).unwrap()
    };
    let now = engine.sent_prompt(&history[..=place]).unwrap().rendered.unwrap();
    let other = changed(&|prompt| {
        prompt["digest"] = "0".repeat(64).into();
        prompt["version"] = "prediction/argue@1".into();
    });
    assert_eq!(other.finding, Finding::OtherTemplate { now: now.version });
    let differs = changed(&|prompt| prompt["digest"] = "0".repeat(64).into());
    assert_eq!((differs.finding, differs.rendered), (Finding::Differs, Some(now)));
    let unsent = changed(&|prompt| {
        *prompt = serde_json::to_value(debate_core::event::PromptRef::default()).unwrap();
    });
    assert_eq!((unsent.finding, unsent.rendered), (Finding::NothingSent, None));
    let none = engine.sent_prompt(&history[..place]).unwrap_err();
    assert!(matches!(none, SentPromptError::NoRequest { .. }), "{none}");
    let bare = Engine::builder(memory(), model("seed=7")).build().sent_prompt(&history[..=place]);
    assert!(matches!(bare, Err(SentPromptError::Format(format)) if format == Prediction::NAME));
}

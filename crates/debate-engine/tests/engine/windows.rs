//! Debates whose models have small context windows (R12, P15).

use std::collections::BTreeSet;

use debate_core::formats::accept::{self, AcceptedRequest};
use debate_core::formats::any::AnyDebate;
use debate_engine::{Engine, Settings, StartError};
use debate_llm::Window;
use debate_prompts::tokens;

use crate::bench_of_one::{self, model};
use crate::sent_prompts::{FAULTY, REQUESTS, all_agree, builder, engine, held, history, sent, start};

/// The model, which answers as it was asked.
const PLAIN: &str = "seed=7";

/// Tokens of a window that are neither of the prompt nor of the answer.
const FRAME_TOKENS: u64 = 16;

fn engine_with_window(spelling: &str, tokens: u32) -> Engine {
    builder(spelling).context_window(model(spelling).name(), tokens).build()
}

#[tokio::test(start_paused = true)]
async fn k20_every_format_runs_in_a_small_context_window_and_says_what_was_not_shown() {
    let mut shortened = BTreeSet::new();
    for (spelling, window) in [(PLAIN, 1_024), (PLAIN, 2_048), (PLAIN, 4_096), (FAULTY, 2_048)] {
        // The contract of the last one, whose agents use tools, alone fills the smallest window.
        let requests = if window == 1_024 { &REQUESTS[..5] } else { &REQUESTS[..] };
        for request in requests {
            let engine = engine_with_window(spelling, window);
            let debate = held(&engine, request).await;
            let history = history(&engine, debate).await;
            let prompts = sent(&engine, debate, &history);
            all_agree(&prompts);
            for (facts, prompt) in &prompts {
                let messages = &prompt.rendered.as_ref().unwrap().messages;
                let read: u32 = messages.iter().map(|message| tokens::count(&message.text)).sum();
                let answer = facts["reserved"]["output"].as_u64().unwrap();
                let taken = u64::from(read.max(prompt.sent.tokens)) + answer + FRAME_TOKENS;
                assert!(taken <= window.into() && answer >= 200, "{window}: {facts}");
                let is_shortened = prompt.sent.input_max.is_some();
                assert!(!is_shortened || !prompt.sent.omitted.is_empty(), "{window}: {facts}");
                if is_shortened {
                    shortened.insert((window, prompt.sent.version.clone()));
                }
            }
            let folded = AnyDebate::replay(&engine.history(debate, None).await.unwrap()).unwrap();
            let is_cut = prompts.iter().any(|(_, prompt)| !prompt.sent.omitted.is_empty());
            let note = folded.parts_cut_note();
            assert!(spelling == FAULTY || note.is_some() == is_cut, "{window}: {note:?}");
            let end = history.iter().rfind(|event| event.kind == "concluded").unwrap();
            // In the smallest window a canned text may be cut, or repeat one that its prompt does not show (K18, P27).
            let is_whole =
                end.body.contains("\"full\"") || window == 1_024 && end.body.contains("\"partial\"");
            assert!(spelling == FAULTY || is_whole, "{window}: {}", end.body);
        }
    }
    for version in ["prediction/argue@5", "prediction/synthesise@5", "deliberation/consensus@3"] {
        assert!(shortened.contains(&(1_024, version.to_owned())), "{version} in {shortened:?}");
    }
    for version in ["roundtable/respond@5", "review/judge@4", "investigation/convey.en@4"] {
        assert!(shortened.contains(&(1_024, version.to_owned())), "{version} in {shortened:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn p15_a_large_context_window_changes_no_prompt() {
    let digests = async |engine: Engine, request| {
        let debate = held(&engine, request).await;
        let prompts = sent(&engine, debate, &history(&engine, debate).await);
        let facts = prompts.into_iter().map(|(mut facts, _)| facts["prompt"].take());
        facts.map(|prompt| prompt.to_string()).collect::<BTreeSet<_>>()
    };
    for request in REQUESTS {
        let without = digests(engine(PLAIN, Settings::default()), request).await;
        assert!(without.iter().all(|prompt| !prompt.contains("_max")), "{without:?}");
        assert_eq!(digests(engine_with_window(PLAIN, 1_000_000), request).await, without);
    }
}

#[tokio::test(start_paused = true)]
async fn k12_a_window_smaller_than_the_first_prompts_is_refused() {
    let engine = engine_with_window(PLAIN, 1_024);
    let AcceptedRequest::Roundtable(accepted) = accept::accept(REQUESTS[5]).unwrap() else { panic!() };
    let Err(StartError::Invalid(violations)) = engine.start(start(*accepted)).await else {
        panic!("it started")
    };
    let [violation] = &violations.0[..] else { panic!("{violations}") };
    assert_eq!(violation.field, "model");
    for part in ["at least 780 tokens", "has 1024", "simulated:7", "--context-window"] {
        assert!(violation.reason.contains(part), "{part}: {violation:?}");
    }
    let engine = engine_with_window(PLAIN, 512);
    let mut named = bench_of_one::start(None);
    named.config.models.roles.insert("judge".into(), vec![model(PLAIN).name().to_owned()]);
    named.config.models.default = vec![model(PLAIN).name().to_owned()];
    let Err(StartError::Invalid(violations)) = engine.start(named).await else { panic!("it started") };
    assert_eq!(violations.0[0].field, "options.models.default", "{violations}");
    assert_eq!(engine.store().list(Default::default()).await.unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn k12_an_answer_longer_than_the_model_gives_is_refused() {
    let window = |output_max| Window { input_and_output: 200_000, output_max: Some(output_max) };
    let name = model(PLAIN).name().to_owned();
    let engine = builder(PLAIN).context_window(&name, window(499)).build();
    let Err(StartError::Invalid(violations)) = engine.start(bench_of_one::start(None)).await else {
        panic!("it started")
    };
    let [violation] = &violations.0[..] else { panic!("{violations}") };
    for part in ["up to 500 tokens", "at most 499", "`argue` in `output_tokens`", "simulated:7"] {
        assert!(violation.reason.contains(part), "{part}: {violation:?}");
    }
    let engine = builder(PLAIN).context_window(&name, window(500)).build();
    engine.start(bench_of_one::start(None)).await.unwrap();
}

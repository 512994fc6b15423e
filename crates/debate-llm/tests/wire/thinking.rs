//! Models that think, against a provider that does (rule P23): effort, head-room, limits and what is refused of them.

use debate_llm::fake::{FakeProvider, FakeSettings, ThinkingTokens};
use debate_llm::{ChatReply, ChatRequest, Effort, Ending, ModelError, ModelErrorKind, Provider};
use serde_json::Value;

use crate::{ask, model, outcome, request};

const ANSWER: &str = "All that was asked for, in one short sentence.";

/// A provider that thinks 2,000 tokens, or as many as it is asked to.
fn thinking() -> FakeSettings {
    let thinking = ThinkingTokens { unset: 2_000, none: 0, low: 100, medium: 2_000, high: 8_000 };
    FakeSettings { thinking, ..FakeSettings::new(|_| ANSWER.to_owned()) }
}

/// Returns how much is thought without any effort; Gemini has no word for not at all.
fn least(provider: Provider) -> u64 {
    if provider == Provider::Gemini { 25 } else { 0 }
}

fn asked(effort: Option<Effort>, thinking_tokens: u32) -> ChatRequest {
    ChatRequest { effort, thinking_tokens, ..request() }
}

/// Asks a provider once; returns what comes and how many requests that took.
async fn put(
    provider: Provider,
    settings: FakeSettings,
    request: &ChatRequest,
) -> (Result<ChatReply, ModelError>, Vec<Value>) {
    let server = FakeProvider::start(settings).await.unwrap();
    let (reply, _) = ask(&model(provider, &server.base_url(provider)), request).await;
    (reply, server.requests())
}

#[tokio::test]
async fn p23_thinking_uses_head_room_and_not_the_answers_limit() {
    for provider in Provider::ALL {
        for (effort, thinking_tokens, thought, ending) in [
            (None, 0, 100, Ending::CutInThinking),
            (None, 2_000, 2_000, Ending::Complete),
            (None, 1_905, 2_000, Ending::CutInText),
            (Some(Effort::None), 25, least(provider), Ending::Complete),
        ] {
            let (reply, _) = put(provider, thinking(), &asked(effort, thinking_tokens)).await;
            let name = format!("{provider}: {effort:?} {thinking_tokens}: {reply:?}");
            let reply = match (ending, reply) {
                // An answer that its thinking used up is no answer, whatever reason the provider gives.
                (Ending::CutInThinking, Err(error)) => {
                    assert_eq!(error.usage.reasoning, Some(thought), "{name}");
                    continue;
                }
                (_, reply) => reply.unwrap(),
            };
            assert_eq!(
                (reply.usage.reasoning, reply.ending.is_cut()),
                (Some(thought), ending.is_cut()),
                "{name}"
            );
            assert_eq!(reply.text == ANSWER, !ending.is_cut(), "{name}");
            assert_eq!(reply.reasoning.is_some(), thought > 0, "{name}");
        }
    }
}

#[tokio::test]
async fn p23_the_effort_that_is_set_is_the_effort_that_is_thought() {
    for provider in Provider::ALL {
        for (effort, thought) in [
            (Effort::None, least(provider)),
            (Effort::Low, 100),
            (Effort::Medium, 2_000),
            (Effort::High, 8_000),
        ] {
            let (reply, requests) = put(provider, thinking(), &asked(Some(effort), 8_000)).await;
            let reply = reply.unwrap();
            assert_eq!((reply.usage.reasoning, requests.len()), (Some(thought), 1), "{provider}: {effort:?}");
        }
    }
}

#[tokio::test]
async fn p23_a_refused_effort_is_conceded_once_and_then_known() {
    for provider in Provider::ALL {
        for (efforts, effort, most) in [
            (vec!["low", "high"], Effort::None, 4),
            (vec!["low", "high"], Effort::Medium, 3),
            (vec![], Effort::High, 3),
        ] {
            let settings = FakeSettings { efforts: Some(efforts.clone()), ..thinking() };
            let server = FakeProvider::start(settings).await.unwrap();
            let model = model(provider, &server.base_url(provider));
            let request = asked(Some(effort), 20_000);
            let name = format!("{provider}: {effort:?} of {efforts:?}");
            let reply = ask(&model, &request).await.0.unwrap();
            let sent = server.requests().len();
            assert!(sent > 1 && sent <= most, "{name}: {sent}");
            assert_eq!((reply.text.as_str(), reply.wire_retries), (ANSWER, 0), "{name}");
            ask(&model, &request).await.0.unwrap();
            assert_eq!(server.requests().len(), sent + 1, "{name}: what was learnt stays");
        }
    }
}

#[tokio::test]
async fn p23_a_cap_above_the_models_is_lowered_and_remembered() {
    for provider in Provider::ALL {
        let server =
            FakeProvider::start(FakeSettings { output_max: Some(4_096), ..thinking() }).await.unwrap();
        let model = model(provider, &server.base_url(provider));
        for requests in [2, 3] {
            let reply = ask(&model, &asked(None, 20_000)).await.0.unwrap();
            assert_eq!((reply.text.as_str(), server.requests().len()), (ANSWER, requests), "{provider}");
        }
    }
}

#[tokio::test]
async fn p23_a_prompt_that_the_window_does_not_hold_names_the_window() {
    for provider in Provider::ALL {
        let long = |bytes: usize| ChatRequest {
            messages: vec![debate_llm::Message::user("x".repeat(bytes))],
            ..request()
        };
        let window = || FakeSettings { window: Some(2_048), ..FakeSettings::new(|_| ANSWER.to_owned()) };
        let (reply, requests) = put(provider, window(), &long(9_000)).await;
        let error = reply.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::WindowExceeded { window: Some(2_048) }, "{provider}: {error}");
        assert!(error.should_ask_again() && !error.should_retry_wire(), "{provider}");
        assert_eq!(requests.len(), 1, "{provider}");
        assert_eq!(outcome(&put(provider, window(), &long(4_000)).await.0), Ok(ANSWER), "{provider}");
    }
}

#[tokio::test]
async fn p23_text_far_beyond_the_visible_limit_is_cut() {
    for provider in Provider::ALL {
        let endless = || FakeSettings::new(|_| "and so on ".repeat(3_000));
        // The provider's limit bounds it, or the head-room for thinking would let all of it through.
        let (reply, _) = put(provider, endless(), &asked(None, 0)).await;
        assert_eq!(reply.unwrap().text.len(), 400, "{provider}");
        let (reply, _) = put(provider, endless(), &asked(None, 20_000)).await;
        let reply = reply.unwrap();
        assert_eq!((reply.ending, reply.usage.output), (Ending::CutInText, None), "{provider}");
        assert!((800..1_000).contains(&reply.text.len()), "{provider}: {}", reply.text.len());
    }
}

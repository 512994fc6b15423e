//! What servers say of themselves: the models that they have, and how much fits into a call.

use std::sync::Arc;

use debate_llm::fake::{FakeProvider, FakeSettings};
use debate_llm::{
    ChatModel, Gate, Governed, HttpConfig, HttpModel, Provider, ProviderLimits, Thinks, Window,
};
use serde_json::{Value, json};

use crate::fault_server::{FaultServer, Response};
use crate::{ask, config, request};

fn window(input_and_output: u32, output_max: Option<u32>) -> Option<Window> {
    Some(Window { input_and_output, output_max })
}

fn list(entry: &Value) -> Response {
    Response::json(200, &json!({"object": "list", "data": [{"id": "another"}, entry]}))
}

fn none() -> Response {
    Response::json(404, &json!({"error": "there is nothing here"}))
}

#[tokio::test]
async fn k22_the_window_is_read_from_every_kind_of_server() {
    let named = |more: Value| {
        let mut entry = json!({"id": "test-model"});
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        list(&entry)
    };
    let said = |body: Value| Response::json(200, &body);
    let llama = || list(&json!({"id": "m.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 8192}}));
    let ollama = || list(&json!({"id": "test-model:latest", "owned_by": "library"}));
    let shown =
        |parameters: &str| said(json!({"parameters": parameters, "model_info": {"x.context_length": 40960}}));
    for (name, answers, want) in [
        ("vLLM", vec![named(json!({"max_model_len": 32_768}))], window(32_768, None)),
        (
            "Groq",
            vec![named(json!({"context_window": 131_072, "max_completion_tokens": 8_192}))],
            window(131_072, Some(8_192)),
        ),
        (
            "OpenRouter",
            vec![named(json!({"context_length": 131_072,
                "top_provider": {"context_length": 65_536, "max_completion_tokens": 4_096}}))],
            window(65_536, Some(4_096)),
        ),
        (
            "llama.cpp",
            vec![llama(), said(json!({"default_generation_settings": {"n_ctx": 4_096}}))],
            window(4_096, None),
        ),
        ("an old llama.cpp", vec![llama(), none()], window(8_192, None)),
        (
            "Ollama with the model loaded",
            vec![
                ollama(),
                none(),
                said(json!({"models": [{"name": "test-model:latest", "context_length": 16_384}]})),
            ],
            window(16_384, None),
        ),
        (
            "Ollama with a size that was set",
            vec![ollama(), none(), said(json!({"models": []})), shown("stop \"a\"\nnum_ctx    2048")],
            window(2_048, None),
        ),
        ("Ollama", vec![ollama(), none(), said(json!({"models": []})), shown("")], window(40_960, None)),
        ("one that says nothing", vec![none(), none(), none(), none()], None),
        ("one that says something else", vec![Response::html(200), none(), none(), none()], None),
    ] {
        let server = FaultServer::start(answers).await;
        let model = HttpModel::new(config(Provider::OpenAi, &server.base_url())).unwrap();
        assert_eq!(model.window().await, want, "{name}");
        let asked = server.requests().len();
        assert_eq!((model.window().await, server.requests().len()), (want, asked), "{name}: asked once");
        assert!(server.requests()[0].head.starts_with("GET /v1/models HTTP/1.1"), "{name}");
    }
}

#[tokio::test]
async fn k22_a_window_set_by_hand_wins_and_providers_are_not_asked() {
    for provider in Provider::ALL {
        let set = HttpConfig { context_window: Some(2_048), ..config(provider, "http://127.0.0.1:9/v1") };
        assert_eq!(HttpModel::new(set).unwrap().window().await, window(2_048, None), "{provider}");
        let settings = FakeSettings { window: Some(9_000), ..FakeSettings::new(|_| "a".to_owned()) };
        let fake =
            FakeProvider::start(FakeSettings { model: "test-model".to_owned(), ..settings }).await.unwrap();
        let model = HttpModel::new(config(provider, &fake.base_url(provider))).unwrap();
        let gate = Arc::new(Gate::new(provider, ProviderLimits::default()));
        let governed = Governed::new(Arc::new(model), gate);
        assert_eq!(governed.window().await, window(9_000, None), "{provider}");
        governed.check().await.unwrap();
        assert_eq!(governed.thinks(), Thinks::Unknown);
    }
}

#[tokio::test]
async fn a_wrong_model_is_named_with_those_like_it_before_a_debate() {
    for provider in Provider::ALL {
        let refusal = Response::json(404, &json!({"error": {"message": "there is no such model"}}));
        let server = FaultServer::start(vec![list(&json!({"id": "test-model-2"})), refusal]).await;
        let model = HttpModel::new(config(provider, &server.base_url())).unwrap();
        let error = model.check().await.unwrap_err();
        assert_eq!(error.kind.label(), "unknown_model", "{provider}");
        assert!(
            error.message.contains("no model test-model;") && error.message.contains("test-model-2, another"),
            "{error}"
        );
        assert!(error.advice.contains("model's name"), "{error}");
        assert_eq!(server.requests().len(), 2, "{provider}: it is listed, then asked");
    }
}

/// An answer in the protocol of OpenAI.
const OK: &str =
    "data: {\"choices\":[{\"delta\":{\"content\":\"OK\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

#[tokio::test]
async fn a_model_that_may_be_there_is_not_called_unknown() {
    let others = || list(&json!({"id": "third"}));
    let said = |body: Value| Response::json(200, &body);
    for (name, answers) in [
        ("listed with a tag", vec![list(&json!({"id": "test-model:latest"}))]),
        ("not listed, but it answers", vec![others(), Response::events(OK)]),
        ("not listed, and too busy to answer", vec![others(), Response::json(503, &json!({}))]),
        ("a server for any name", vec![list(&json!({"id": "m.gguf", "owned_by": "llamacpp"}))]),
        ("a router for any name", vec![list(&json!({"id": "openai/*"}))]),
        ("a part of a list", vec![said(json!({"data": [{"id": "another"}], "has_more": true}))]),
        ("no list", vec![none()]),
        ("a page", vec![Response::html(200)]),
        ("a refused key", vec![Response::json(401, &json!({}))]),
        ("a server that says nothing", vec![Response::reset()]),
    ] {
        let server = FaultServer::start(answers).await;
        let model = HttpModel::new(config(Provider::OpenAi, &server.base_url())).unwrap();
        assert_eq!(model.check().await, Ok(()), "{name}");
    }
}

#[tokio::test]
async fn p23_a_model_is_known_to_think_once_it_did() {
    for provider in Provider::ALL {
        let thinking = debate_llm::fake::ThinkingTokens::always(50);
        let settings = FakeSettings { thinking, ..FakeSettings::new(|_| "a".to_owned()) };
        let server = FakeProvider::start(settings).await.unwrap();
        let model = HttpModel::new(config(provider, &server.base_url(provider))).unwrap();
        assert_eq!(model.thinks(), Thinks::Unknown, "{provider}");
        ask(&model, &request()).await.0.unwrap();
        assert_eq!(model.thinks(), Thinks::Yes, "{provider}");
    }
}

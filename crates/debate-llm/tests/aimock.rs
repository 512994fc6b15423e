//! The adapters against a model server written by others, `@copilotkit/aimock`; `cargo xtask test` starts it.
//!
//! Skipped, visibly, where no such server runs.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use debate_llm::http::RetryPolicy;
use debate_llm::{
    ApiKey, ChatModel as _, ChatReply, ChatRequest, Ending, HttpConfig, HttpModel, Message, ModelError,
    Provider, ReplySchema, ToolSpec,
};
use serde_json::{Value, json};

/// Returns the models of all providers at the server, if it runs.
fn models() -> Vec<(Provider, HttpModel)> {
    let Ok(url) = std::env::var("DEBATE_AIMOCK_URL") else {
        eprintln!("skipped: no aimock runs (DEBATE_AIMOCK_URL is not set)");
        return Vec::new();
    };
    let made = Provider::ALL.map(|provider| {
        let (base_url, model) = match provider {
            Provider::Anthropic => (url.clone(), "claude-sonnet-5"),
            Provider::Gemini => (url.clone(), "gemini-3.5-flash"),
            Provider::OpenAi | Provider::OpenAiResponses => (format!("{url}/v1"), "gpt-5-mini"),
        };
        let config = HttpConfig {
            api_key: Some(ApiKey::new("mock")),
            retry: RetryPolicy {
                tries_max: 2,
                backoff: Duration::ZERO,
                absent_max: Duration::ZERO,
                ..RetryPolicy::default()
            },
            ..HttpConfig::new(provider, base_url, model)
        };
        (provider, HttpModel::new(config).unwrap())
    });
    made.into()
}

fn request(messages: Vec<Message>) -> ChatRequest {
    ChatRequest::new(messages, 100, Duration::from_secs(10))
}

fn say(words: &str) -> ChatRequest {
    request(vec![Message::system("be brief"), Message::user(words)])
}

async fn ask(model: &HttpModel, request: &ChatRequest) -> Result<ChatReply, ModelError> {
    let mut streamed = String::new();
    let mut sink = |delta: &str| streamed.push_str(delta);
    let reply = model.complete(request, &mut sink).await?;
    assert_eq!(reply.text, streamed);
    Ok(reply)
}

#[tokio::test]
async fn text_usage_and_thoughts_arrive() {
    for (provider, model) in models() {
        let reply = ask(&model, &say("greet")).await.unwrap();
        assert_eq!(reply.text, "Grüße aus 東京 — héllo!", "{provider}");
        assert_eq!((reply.usage.input, reply.usage.output), (Some(11), Some(7)), "{provider}");
        assert_eq!(reply.ending, Ending::Complete, "{provider}");
        assert!(reply.request_id.is_some(), "{provider}");
        let reply = ask(&model, &say("think")).await.unwrap();
        let got = (reply.text.as_str(), reply.reasoning.as_deref());
        assert_eq!(got, ("42", Some("six times seven")), "{provider}");
        assert_eq!(ask(&model, &say("be long")).await.unwrap().ending, Ending::CutInText, "{provider}");
    }
}

#[tokio::test]
async fn a_schema_is_taken_and_answered() {
    for (provider, model) in models() {
        let schema = json!({"type": "object", "required": ["x"],
            "properties": {"x": {"type": "number", "minimum": 0}, "why": {"type": "string"}}});
        let schema = Some(ReplySchema::new("answer", schema));
        let reply = ask(&model, &ChatRequest { schema, ..say("answer as JSON") }).await.unwrap();
        let answer: Value = serde_json::from_str(&reply.text).unwrap();
        assert_eq!(answer["x"], 0.25, "{provider}");
    }
}

#[tokio::test]
async fn a_tool_is_asked_for_and_its_result_goes_back() {
    for (provider, model) in models() {
        let parameters = json!({"type": "object",
            "properties": {"x": {"type": "number"}, "y": {"type": "number"}}, "required": ["x", "y"]});
        let tool =
            ToolSpec { name: "add".into(), description: "adds".into(), parameters: Arc::new(parameters) };
        let first = ChatRequest { tools: vec![tool], ..request(vec![Message::user("add 1 and 2")]) };
        let asked = ask(&model, &first).await.unwrap();
        assert_eq!(asked.ending, Ending::ToolCalls, "{provider}");
        let call = &asked.tool_calls[0];
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap();
        assert_eq!((call.name.as_str(), arguments), ("add", json!({"x": 1, "y": 2})), "{provider}");
        assert!(!call.id.is_empty(), "{provider}");
        let mut second = first.clone();
        second.messages.push(Message::assistant(&*asked.text).asking_for(asked.tool_calls.clone()));
        second.messages.push(Message::tool_result(&*call.id, "3"));
        let reply = ask(&model, &second).await.unwrap();
        assert_eq!(reply.text, "The sum is 3.", "{provider}");
    }
}

#[tokio::test]
async fn k5_every_refusal_has_its_kind() {
    for (provider, model) in models() {
        for (words, label, wire_retries) in [
            ("no key", "unauthorised", 0),
            ("no model", "unknown_model", 0),
            ("no sense", "bad_request", 0),
            ("too fast", "rate_limited", 1),
            ("broken", "server_error", 1),
            ("busy", "overloaded", 1),
            ("break off", "truncated", 0),
        ] {
            let error = ask(&model, &say(words)).await.unwrap_err();
            let got = (error.kind.label(), error.wire_retries);
            assert_eq!(got, (label, wire_retries), "{provider}, {words}: {error}");
        }
    }
}

//! Tests of the adapters against a real HTTP server on loopback that misbehaves as each test asks.

#![allow(clippy::unwrap_used)]

mod absent;
mod bad_input;
mod connections;
mod fault_server;
mod faults;
mod faults_said;
mod metrics;
mod outcomes;
#[cfg(target_os = "linux")]
mod posing;
mod proxied;
mod requests;
mod searching;
mod servers;
mod spans;
mod speech;
mod stalls;
mod thinking;
mod transport;

use std::time::Duration;

use debate_llm::http::{RetryPolicy, WireLimits};
use debate_llm::{
    ApiKey, ChatModel, ChatReply, ChatRequest, HttpConfig, HttpModel, Message, ModelError, Provider,
};

const KEY: &str = "sk-very-secret";

fn config(provider: Provider, base_url: &str) -> HttpConfig {
    HttpConfig {
        api_key: Some(ApiKey::new(KEY)),
        limits: WireLimits { connect_timeout: Duration::from_secs(5), reply_bytes_max: 64 << 10 },
        retry: RetryPolicy {
            tries_max: 4,
            backoff: Duration::from_millis(1),
            backoff_max: Duration::from_millis(2),
            absent_max: Duration::ZERO,
        },
        ..HttpConfig::new(provider, base_url, "test-model")
    }
}

fn model(provider: Provider, base_url: &str) -> HttpModel {
    HttpModel::new(config(provider, base_url)).unwrap()
}

fn request() -> ChatRequest {
    let messages = vec![Message::system("be brief"), Message::user("question")];
    ChatRequest {
        temperature: Some(0.5),
        seed: Some(3),
        ..ChatRequest::new(messages, 100, Duration::from_secs(10))
    }
}

async fn ask(model: &HttpModel, request: &ChatRequest) -> (Result<ChatReply, ModelError>, String) {
    let mut streamed = String::new();
    let mut sink = |delta: &str| streamed.push_str(delta);
    let reply = model.complete(request, &mut sink).await;
    (reply, streamed)
}

/// Returns the text of a reply, or the kind of an error.
fn outcome(reply: &Result<ChatReply, ModelError>) -> Result<&str, &'static str> {
    reply.as_ref().map_or_else(|error| Err(error.kind.label()), |reply| Ok(reply.text.as_str()))
}

//! What HTTP itself allows a server: interim responses, compressed bodies, comments, pauses.

use std::io::Write as _;
use std::time::Duration;

use debate_llm::{ApiKey, ChatRequest, Ending, HttpConfig, HttpModel, Provider};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use serde_json::{Value, json};

use crate::fault_server::{FaultServer, Response};
use crate::speech::{delta, events, ok, part, stop, stream};
use crate::{ask, config, model, outcome, request};

const SHORT: Duration = Duration::from_millis(60);

#[tokio::test]
async fn k5_interim_responses_without_end_are_no_answer() {
    for provider in Provider::ALL {
        let server = FaultServer::start(vec![Response::interim_without_end()]).await;
        let error = ask(&model(provider, &server.base_url()), &request()).await.0.unwrap_err();
        assert_eq!((error.kind.label(), error.wire_retries), ("malformed_response", 0), "{provider}");
        assert!(error.message.contains("interim responses"), "{provider}: {error}");
        server.client_gone().await;
    }
}

fn compressed(encoding: &str, text: &str) -> Vec<u8> {
    let (text, level) = (text.as_bytes(), Compression::default());
    let bytes = match encoding {
        "gzip" => GzEncoder::new(Vec::new(), level).write_to_end(text),
        "zlib" => ZlibEncoder::new(Vec::new(), level).write_to_end(text),
        _ => DeflateEncoder::new(Vec::new(), level).write_to_end(text),
    };
    bytes.unwrap()
}

/// An encoder that takes all at once.
trait WriteToEnd {
    fn write_to_end(self, text: &[u8]) -> std::io::Result<Vec<u8>>;
}

macro_rules! write_to_end {
    ($($encoder:ident),*) => {$(
        impl WriteToEnd for $encoder<Vec<u8>> {
            fn write_to_end(mut self, text: &[u8]) -> std::io::Result<Vec<u8>> {
                self.write_all(text)?;
                self.finish()
            }
        }
    )*};
}

write_to_end!(GzEncoder, ZlibEncoder, DeflateEncoder);

#[tokio::test]
async fn k5_a_compressed_answer_or_error_is_read() {
    for provider in Provider::ALL {
        for (form, name) in [("gzip", "gzip"), ("zlib", "deflate"), ("raw", "deflate")] {
            let answer = stream(provider, &["hé", "llo"]);
            let error = json!({"error": {"message": "too much of it"}}).to_string();
            let server = FaultServer::start(vec![
                Response::events("").with_body(compressed(form, &answer)).header("content-encoding", name),
                Response::json(400, &Value::Null)
                    .with_body(compressed(form, &error))
                    .header("content-encoding", name)
                    .in_pieces_of(5),
            ])
            .await;
            let model = model(provider, &server.base_url());
            assert_eq!(outcome(&ask(&model, &request()).await.0), Ok("héllo"), "{provider}: {form}");
            let error = ask(&model, &request()).await.0.unwrap_err();
            assert_eq!(&*error.message, "HTTP 400: too much of it", "{provider}: {form}");
            let head = &server.requests()[0].head;
            assert!(head.contains("accept-encoding: identity"), "{head}");
        }
    }
}

#[tokio::test]
async fn k5_a_compressed_body_is_bounded_by_what_it_says() {
    let body = compressed("gzip", &": ping\n\n".repeat(1 << 20));
    let response = Response::events("").with_body(body).header("content-encoding", "gzip");
    let server = FaultServer::start(vec![response]).await;
    let reply = ask(&model(Provider::OpenAi, &server.base_url()), &request()).await.0;
    assert_eq!(outcome(&reply), Err("response_too_large"));
}

#[tokio::test]
async fn k22_comments_and_empty_events_are_no_token() {
    for provider in Provider::ALL {
        let nothing = [": ping\n\n".to_owned(), delta(provider, ""), " ".to_owned()];
        for nothing in nothing {
            let server = FaultServer::start(vec![Response::events(&nothing).trickling()]).await;
            let mut request = request();
            request.time.first_token = SHORT;
            let reply = ask(&model(provider, &server.base_url()), &request).await.0;
            assert_eq!(outcome(&reply), Err("timeout_first_byte"), "{provider}: {nothing:?}");
            server.client_gone().await;
        }
    }
}

/// Returns the events of a message that is paused after it searched.
fn paused(text: &str) -> Response {
    let said = [
        json!({"type": "message_start", "message": {"id": "c1", "usage": {"input_tokens": 9}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "server_tool_use", "id": "s1",
            "name": "web_search", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta",
            "partial_json": "{\"query\": \"x\"}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "web_search_tool_result",
            "tool_use_id": "s1", "content": [{"url": "https://a.test", "title": "A", "encrypted_content": "e"}]}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}, "usage": {"output_tokens": 4}}),
        json!({"type": "message_stop"}),
    ];
    Response::events(&events(&said))
}

#[tokio::test]
async fn k18_a_paused_turn_is_continued_within_the_call() {
    let server = FaultServer::start(vec![paused("one "), paused("two "), ok(Provider::Anthropic)]).await;
    let (reply, streamed) = ask(&model(Provider::Anthropic, &server.base_url()), &request()).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.ending), ("one two héllo", Ending::Complete));
    assert_eq!(streamed, reply.text);
    assert_eq!((reply.usage.input, reply.usage.output), (Some(27), Some(12)));
    assert_eq!((reply.tool_calls.len(), reply.web_sources.len()), (2, 1));
    let block = |text: &str| {
        json!([
            {"type": "text", "text": text},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1",
             "content": [{"url": "https://a.test", "title": "A", "encrypted_content": "e"}]}
        ])
    };
    let sent: Vec<Value> = server.requests().iter().map(|seen| seen.json()["messages"].clone()).collect();
    assert_eq!(sent[1][1], json!({"role": "assistant", "content": block("one ")}));
    let both = [block("one "), block("two ")].map(|blocks| blocks.as_array().unwrap().clone()).concat();
    assert_eq!(sent[2][1], json!({"role": "assistant", "content": both}));
    assert_eq!(sent[0].as_array().unwrap().len() + 1, sent[2].as_array().unwrap().len());
}

#[tokio::test]
async fn k18_a_turn_that_stays_paused_is_no_answer() {
    let server = FaultServer::start((0..9).map(|_| paused("on ")).collect()).await;
    let (reply, streamed) = ask(&model(Provider::Anthropic, &server.base_url()), &request()).await;
    let error = reply.unwrap_err();
    assert_eq!((error.kind.label(), error.ending), ("truncated", Some(Ending::Paused)));
    assert_eq!((&*error.text, streamed.as_str()), ("on on on on ", "on on on on "));
    assert_eq!(error.stop_reason.as_deref(), Some("pause_turn"));
    assert_eq!((server.requests().len(), error.usage.input, error.usage.output), (4, Some(36), Some(16)));
}

#[tokio::test]
async fn a_short_key_is_not_redacted_within_names() {
    for provider in Provider::ALL {
        let refused = Response::json(400, &json!({"error": {"message": "x is no exact box"}}));
        let server = FaultServer::start(vec![ok(provider), refused]).await;
        let config = HttpConfig { api_key: Some(ApiKey::new("x")), ..config(provider, &server.base_url()) };
        let model = HttpModel::new(config).unwrap();
        let request = ChatRequest { temperature: None, ..request() };
        let reply = ask(&model, &request).await.0.unwrap();
        assert_eq!((reply.model.as_str(), reply.request_id.as_deref()), ("test-model-01", Some("c1")));
        let error = ask(&model, &request).await.0.unwrap_err();
        assert_eq!(&*error.message, "HTTP 400: [key] is no exact box", "{provider}");
    }
}

#[tokio::test]
async fn k22_silence_counts_from_the_last_token_not_the_last_byte() {
    for provider in Provider::ALL {
        // The pings come far more often than the limit, and go on behind an answer that is whole.
        let said = format!("{}{}", part(provider, &["hé"]), stop(provider));
        for (begin, want) in [(part(provider, &["hé"]), Err("timeout_idle")), (said, Ok("hé"))] {
            if provider == Provider::OpenAiResponses && want.is_ok() {
                // It is over with its last event.
                continue;
            }
            let server =
                FaultServer::start(vec![Response::events(&begin).then_trickling(": ping\n\n")]).await;
            let mut request = request();
            request.time.idle = SHORT;
            let reply = ask(&model(provider, &server.base_url()), &request).await.0;
            assert_eq!(outcome(&reply), want, "{provider}");
            assert_eq!(reply.map_or_else(|error| error.text.to_string(), |reply| reply.text), "hé");
        }
    }
}

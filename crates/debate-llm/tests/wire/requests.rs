//! What is sent: each request as the provider's documentation writes it.

use std::sync::Arc;
use std::time::Duration;

use debate_llm::{ChatRequest, Message, Provider, ReplySchema, ToolCall, ToolSpec};
use serde_json::{Value, json};

use crate::fault_server::{FaultServer, Response};
use crate::speech::{ok, stream};
use crate::{KEY, ask, model, request};

/// Sends `request` and returns the head and the body that arrive.
async fn sent(provider: Provider, request: &ChatRequest) -> (String, Value) {
    let server = FaultServer::start(vec![ok(provider)]).await;
    ask(&model(provider, &server.base_url()), request).await.0.unwrap();
    let seen = server.requests().remove(0);
    (seen.head.clone(), seen.json())
}

/// A request for JSON, with all that can be asked for.
fn full() -> ChatRequest {
    let schema =
        json!({"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}, "required": ["x"]});
    ChatRequest { schema: Some(ReplySchema::new("answer", schema)), ..request() }
}

/// A request with tools of which one has been used, and with web search.
fn with_tools() -> ChatRequest {
    let parameters = Arc::new(json!({"type": "object", "properties": {"x": {"type": "number"}}}));
    let tool = ToolSpec { name: "add".into(), description: "adds".into(), parameters };
    let call = ToolCall { signature: Some("s1".into()), ..ToolCall::new("c1", "add", r#"{"x":1}"#) };
    let messages = vec![
        Message::user("add"),
        Message::assistant("").asking_for([call, ToolCall::new("c2", "add", "{\"x\":")]),
        Message::tool_result("c1", r#"{"sum":2}"#),
        Message::tool_result("c2", "no number"),
    ];
    ChatRequest {
        tools: vec![tool],
        web_search: true,
        ..ChatRequest::new(messages, 100, Duration::from_secs(10))
    }
}

/// A request whose messages but the last are alike for many calls.
fn shared() -> ChatRequest {
    let messages = ["brief", "transcript", "task"].map(Message::user);
    let messages = [Message::system("rules")].into_iter().chain(messages).collect();
    ChatRequest::new(messages, 100, Duration::from_secs(10))
}

#[tokio::test]
async fn a_key_is_in_one_header_and_nowhere_else() {
    for provider in Provider::ALL {
        for request in [full(), with_tools()] {
            let (head, body) = sent(provider, &request).await;
            let headers: Vec<&str> = head.lines().skip(1).filter(|line| line.contains(KEY)).collect();
            assert_eq!((headers.len(), head.matches(KEY).count()), (1, 1), "{provider:?}: {head}");
            assert!(!body.to_string().contains(KEY), "{provider:?}: {body}");
        }
    }
}

#[tokio::test]
async fn openai_is_asked_as_its_documentation_says() {
    let (head, body) = sent(Provider::OpenAi, &full()).await;
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}")), "{head}");
    let schema = json!({"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}, "required": ["x"],
        "additionalProperties": false});
    let want = json!({
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "question"}
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "max_tokens": 100,
        "temperature": 0.5,
        "seed": 3,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": true, "schema": schema}
        }
    });
    assert_eq!(body, want);
    let (_, body) = sent(Provider::OpenAi, &with_tools()).await;
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "add", "arguments": arguments}});
    let messages = json!([
        {"role": "user", "content": "add"},
        {"role": "assistant", "content": "", "tool_calls": [call("c1", r#"{"x":1}"#), call("c2", "{\"x\":")]},
        {"role": "tool", "content": r#"{"sum":2}"#, "tool_call_id": "c1"},
        {"role": "tool", "content": "no number", "tool_call_id": "c2"}
    ]);
    assert_eq!(body["messages"], messages);
    let parameters = json!({"type": "object", "properties": {"x": {"type": "number"}}});
    let function = json!({"name": "add", "description": "adds", "parameters": parameters});
    assert_eq!(body["tools"], json!([{"type": "function", "function": function}]));
    assert_eq!(body["web_search_options"], json!({}));
}

#[tokio::test]
async fn openai_responses_are_asked_for_as_the_documentation_says() {
    let (head, body) = sent(Provider::OpenAiResponses, &full()).await;
    assert!(head.starts_with("POST /v1/responses HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}")), "{head}");
    let schema = json!({"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}, "required": ["x"],
        "additionalProperties": false});
    let want = json!({
        "model": "test-model",
        "input": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "question"}
        ],
        "stream": true,
        "store": false,
        "max_output_tokens": 100,
        "temperature": 0.5,
        "text": {"format": {"type": "json_schema", "name": "answer", "strict": true, "schema": schema}}
    });
    assert_eq!(body, want);
    let (_, body) = sent(Provider::OpenAiResponses, &with_tools()).await;
    let input = json!([
        {"role": "user", "content": "add"},
        {"type": "function_call", "call_id": "c1", "name": "add", "arguments": r#"{"x":1}"#},
        {"type": "function_call", "call_id": "c2", "name": "add", "arguments": "{\"x\":"},
        {"type": "function_call_output", "call_id": "c1", "output": r#"{"sum":2}"#},
        {"type": "function_call_output", "call_id": "c2", "output": "no number"}
    ]);
    assert_eq!(body["input"], input);
    let parameters = json!({"type": "object", "properties": {"x": {"type": "number"}}});
    let tools = json!([
        {"type": "function", "name": "add", "description": "adds", "parameters": parameters, "strict": false},
        {"type": "web_search"}
    ]);
    assert_eq!(body["tools"], tools);
    assert_eq!(body.get("max_tool_calls"), None);
}

#[tokio::test]
async fn d9_a_bound_on_searches_is_sent_to_providers_that_take_one() {
    let bounded = ChatRequest { web_searches_max: Some(2), ..with_tools() };
    let (_, body) = sent(Provider::Anthropic, &bounded).await;
    assert_eq!(body["tools"][1]["max_uses"], 2);
    let (_, body) = sent(Provider::OpenAiResponses, &bounded).await;
    assert_eq!(body["max_tool_calls"], 2);
    // Nothing is searched, so nothing is bounded.
    let (_, body) = sent(Provider::OpenAiResponses, &ChatRequest { web_search: false, ..bounded }).await;
    assert_eq!(body.get("max_tool_calls"), None);
}

#[tokio::test]
async fn anthropic_is_asked_as_its_documentation_says() {
    let (head, body) = sent(Provider::Anthropic, &full()).await;
    assert!(head.starts_with("POST /v1/messages HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("x-api-key: {KEY}\r\n")), "{head}");
    assert!(head.contains("anthropic-version: 2023-06-01\r\n"), "{head}");
    let schema = json!({"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"],
        "additionalProperties": false});
    let cached = json!({"type": "ephemeral"});
    let want = json!({
        "model": "test-model",
        "max_tokens": 100,
        "stream": true,
        "temperature": 0.5,
        "system": [{"type": "text", "text": "be brief", "cache_control": cached}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "question"}]}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}}
    });
    assert_eq!(body, want);
    let (_, body) = sent(Provider::Anthropic, &with_tools()).await;
    let call = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "add", "input": input});
    let result =
        |id: &str, content: &str| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let mut first = result("c1", r#"{"sum":2}"#);
    first["cache_control"] = cached.clone();
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "add", "cache_control": cached}]},
        {"role": "assistant", "content": [call("c1", json!({"x": 1})), call("c2", json!({}))]},
        {"role": "user", "content": [first, result("c2", "no number")]}
    ]);
    assert_eq!(body["messages"], messages);
    let parameters = json!({"type": "object", "properties": {"x": {"type": "number"}}});
    let tools = json!([
        {"name": "add", "description": "adds", "input_schema": parameters},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
    ]);
    assert_eq!(body["tools"], tools);
}

#[tokio::test]
async fn anthropic_keeps_in_its_cache_what_calls_share_and_not_what_is_one_calls_own() {
    let (_, body) = sent(Provider::Anthropic, &shared()).await;
    let cached = json!({"type": "ephemeral"});
    let text = |text: &str, mark: bool| match mark {
        true => json!({"type": "text", "text": text, "cache_control": cached}),
        false => json!({"type": "text", "text": text}),
    };
    assert_eq!(body["system"], json!([text("rules", true)]));
    let content = json!([text("brief", true), text("transcript", true), text("task", false)]);
    assert_eq!(body["messages"], json!([{"role": "user", "content": content}]));
}

#[tokio::test]
async fn what_one_speaker_says_in_several_messages_is_one_turn_in_every_protocol() {
    let (whole, head) = ("brief\n\ntranscript\n\ntask", "brief\n");
    let (_, body) = sent(Provider::OpenAi, &shared()).await;
    let rules = json!({"role": "system", "content": "rules"});
    assert_eq!(body["messages"], json!([rules, {"role": "user", "content": whole}]));
    let (_, body) = sent(Provider::OpenAiResponses, &shared()).await;
    assert_eq!(body["input"], json!([rules, {"role": "user", "content": whole}]));
    let (_, body) = sent(Provider::Gemini, &shared()).await;
    let parts = json!([{"text": "brief"}, {"text": "transcript"}, {"text": "task"}]);
    assert_eq!(body["contents"], json!([{"role": "user", "parts": parts}]));
    // A message that ends its last line itself has one blank line after it all the same; so the beginning that two
    // requests share is the same on the wire.
    let asked = |tasks: [&str; 2]| {
        let said = [Message::system("rules"), Message::user(head)].into_iter();
        let messages = said.chain(tasks.map(Message::user)).collect();
        ChatRequest::new(messages, 100, Duration::from_secs(10))
    };
    let (_, one) = sent(Provider::OpenAi, &asked(["\u{e9} \"one\"", "1"])).await;
    let (_, two) = sent(Provider::OpenAi, &asked(["two", "2"])).await;
    assert_eq!(one["messages"][1]["content"], "brief\n\n\u{e9} \"one\"\n\n1");
    assert_eq!(two["messages"][1]["content"], "brief\n\ntwo\n\n2");
}

#[tokio::test]
async fn answers_between_two_questions_and_tools_keep_their_places() {
    let messages = [
        Message::user("a"),
        Message::user("b"),
        Message::assistant("c"),
        Message::user("d"),
        Message::user(""),
    ];
    let asked = ChatRequest::new(messages.to_vec(), 100, Duration::from_secs(10));
    let turn = |role: &str, content: &str| json!({"role": role, "content": content});
    let want = json!([turn("user", "a\n\nb"), turn("assistant", "c"), turn("user", "d\n\n")]);
    let (_, body) = sent(Provider::OpenAi, &asked).await;
    assert_eq!(body["messages"], want);
    let (_, body) = sent(Provider::OpenAiResponses, &asked).await;
    assert_eq!(body["input"], want);
    let (_, body) = sent(Provider::OpenAi, &with_tools()).await;
    let roles: Vec<&str> =
        body["messages"].as_array().unwrap().iter().map(|one| one["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "tool"]);
}

#[tokio::test]
async fn gemini_is_asked_as_its_documentation_says() {
    let (head, body) = sent(Provider::Gemini, &full()).await;
    let line = "POST /v1/models/test-model:streamGenerateContent?alt=sse HTTP/1.1";
    assert!(head.starts_with(line), "{head}");
    assert!(head.contains(&format!("x-goog-api-key: {KEY}\r\n")), "{head}");
    let schema =
        json!({"type": "object", "properties": {"x": {"type": "number", "minimum": 0}}, "required": ["x"]});
    let want = json!({
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [{"role": "user", "parts": [{"text": "question"}]}],
        "generationConfig": {
            "maxOutputTokens": 100,
            "temperature": 0.5,
            "seed": 3,
            "responseMimeType": "application/json",
            "responseJsonSchema": schema
        }
    });
    assert_eq!(body, want);
    let (_, body) = sent(Provider::Gemini, &with_tools()).await;
    let result = |response: Value| json!({"functionResponse": {"name": "add", "response": response}});
    let contents = json!([
        {"role": "user", "parts": [{"text": "add"}]},
        {"role": "model", "parts": [
            {"functionCall": {"name": "add", "args": {"x": 1}}, "thoughtSignature": "s1"},
            {"functionCall": {"name": "add"}}
        ]},
        {"role": "user", "parts": [result(json!({"sum": 2})), result(json!({"result": "no number"}))]}
    ]);
    assert_eq!(body["contents"], contents);
    let parameters = json!({"type": "object", "properties": {"x": {"type": "number"}}});
    let function = json!({"name": "add", "description": "adds", "parametersJsonSchema": parameters});
    assert_eq!(body["tools"], json!([{"functionDeclarations": [function]}, {"googleSearch": {}}]));
}

#[tokio::test]
async fn a_key_that_a_provider_puts_into_a_name_of_the_model_or_of_the_request_is_blotted_out_of_it() {
    for provider in Provider::ALL {
        let named = |text: &str| {
            text.replace("c1", &format!("id-{KEY}")).replace("test-model-01", &format!("m-{KEY}"))
        };
        let by_header = ok(provider).header("x-request-id", &format!("id-{KEY}"));
        let by_body = Response::events(&named(&stream(provider, &["hello"])));
        let server = FaultServer::start(vec![by_body, by_header]).await;
        let model = model(provider, &server.base_url());
        for is_in_body in [true, false] {
            let reply = ask(&model, &request()).await.0.unwrap();
            let id = reply.request_id.unwrap();
            assert!(id.starts_with("id-") && !id.contains(KEY), "{provider}: {id}");
            assert_eq!(
                (reply.model.starts_with("m-"), reply.model.contains(KEY)),
                (is_in_body, false),
                "{provider}"
            );
        }
    }
}

//! The tools over HTTP, behind the server's door (rule T12): scopes and tenants hold for each tool. What the tools do is
//! checked by the SDK of others in tests/clients/mcp_tools.py.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../debate-grpc/tests/served/hearing.rs"]
mod hearing;
#[path = "http/panicking_store.rs"]
mod panicking_store;
#[path = "http/waited_on.rs"]
mod waited_on;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Request;
use debate_core::id::Timestamp;
use debate_engine::Engine;
use debate_grpc::tokens::{Scope, TokenFile, TokenWishes};
use debate_grpc::{Connections, Facade, ServeOptions};
use debate_llm::{
    ChatModel, ChatReply, ChatRequest, ScriptedAnswer, ScriptedModel, SimulatedConfig, WebSource, debater,
};
use debate_prompts::roundtable::RoundtablePrompts;
use debate_store::{EventStore, ListFilter, MemoryStore};
use hearing::Hearing;
use panicking_store::PanickingStore;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use waited_on::WaitedOn;

/// Longer than anything here takes; reached only where something hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Posts a message on a connection of its own and returns status and body.
async fn post(address: SocketAddr, token: Option<&str>, message: &Value) -> (u16, String) {
    send(address, token, "application/json", message.to_string().as_bytes()).await
}

/// Posts bytes that say what they are on a connection of its own and returns status and body.
async fn send(address: SocketAddr, token: Option<&str>, content_type: &str, body: &[u8]) -> (u16, String) {
    let bearer = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: {content_type}\r\n\
         Accept: application/json, text/event-stream\r\n{bearer}Content-Length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    // A server that refuses a long body may not read it to its end.
    let _unread = stream.write_all(body).await;
    let mut answer = String::new();
    let _reset = stream.read_to_string(&mut answer).await;
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// Uses a tool and returns its result.
async fn use_tool(address: SocketAddr, token: &str, name: &str, arguments: Value) -> Value {
    asked(address, token, "tools/call", json!({ "name": name, "arguments": arguments })).await
}

/// Calls a method and returns its result.
async fn asked(address: SocketAddr, token: &str, method: &str, params: Value) -> Value {
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let (status, body) = post(address, Some(token), &call).await;
    assert_eq!(status, 200, "{body}");
    let json = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
    serde_json::from_str::<Value>(json).unwrap()["result"].take()
}

/// Serves roundtables that a model holds, to those who have a token of the file, or to everybody.
async fn serve(model: Arc<dyn ChatModel>, tokens: Option<PathBuf>) -> (SocketAddr, JoinHandle<()>) {
    serve_kept(Arc::new(MemoryStore::default()), model, tokens).await
}

async fn serve_kept(
    store: Arc<dyn EventStore>,
    model: Arc<dyn ChatModel>,
    tokens: Option<PathBuf>,
) -> (SocketAddr, JoinHandle<()>) {
    serve_with(store, model, ServeOptions { tokens, ..ServeOptions::default() }).await
}

async fn serve_with(
    store: Arc<dyn EventStore>,
    model: Arc<dyn ChatModel>,
    options: ServeOptions,
) -> (SocketAddr, JoinHandle<()>) {
    let engine = Engine::builder(store, model).format(RoundtablePrompts).build();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = ServeOptions { mount: Some(debate_mcp::mount()), ..options };
    let serving = debate_grpc::serve(listener, engine, options, std::future::pending());
    (address, tokio::spawn(async { serving.await.unwrap() }))
}

/// Says the same of all agents, and of bo something else once it is asked again, blind.
fn giving_in(request: &ChatRequest) -> ChatReply {
    let said = |text: &str| request.messages.iter().any(|message| message.content.contains(text));
    let position = match said("You are bo. ") && said("You are asked once more") {
        true => "Remain at home for another year, please.",
        false => "Move the office to the harbour.",
    };
    let reply = json!({
        "stance": "YES", "position": position, "reasoning": "It is so.", "confidence": 0.9, "citations": ["a report"],
    });
    let page = WebSource {
        url: "https://rents.test/9".to_owned(),
        title: Some("Rents".to_owned()),
        cited_text: Some("Rents fell.".to_owned()),
    };
    ChatReply { web_sources: vec![page], ..ChatReply::new("scripted", reply.to_string()) }
}

#[tokio::test]
async fn t6_a_repoll_can_move_a_position_and_t10_searches_are_cited() {
    let (address, server) = serve(Arc::new(ScriptedModel::by(giving_in)), None).await;
    let table = json!({
        "topic": "Should we move?", "agents": ["ada", "bo"], "rounds": 1, "nativeWebSearch": true,
        "flags": { "groupthinkDetection": { "action": "repoll" } },
    });
    let started = use_tool(address, "", "start_roundtable", table).await["structuredContent"].take();
    let id = started["debate"]["id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let summed = use_tool(address, "", "synthesize_debate", json!({ "debate_id": id })).await;
    assert_eq!(
        summed["structuredContent"]["moves"],
        json!([{
            "agent": "bo",
            "round": 1,
            "from": "Move the office to the harbour.",
            "to": "Remain at home for another year, please.",
        }])
    );
    let moved = async |agent: &str| -> Vec<Value> {
        let asked = json!({ "debate_id": id, "agent": agent });
        let thoughts = use_tool(address, "", "get_thoughts", asked).await;
        let thoughts = thoughts["structuredContent"]["thoughts"].as_array().unwrap().clone();
        thoughts.iter().map(|thought| thought["moved"].clone()).collect()
    };
    // The first answer of the first round follows none.
    assert_eq!(moved("ada").await, [Value::Null, json!(false)]);
    assert_eq!(moved("bo").await, [Value::Null, json!(true)]);

    let cited = use_tool(address, "", "get_citations", json!({ "debate_id": id, "agent": "ada" })).await;
    let sources = cited["structuredContent"]["web_sources"].as_array().unwrap();
    let searches: Vec<_> = sources.iter().map(|found| (&found["agent"], &found["kind"])).collect();
    assert_eq!(searches, [(&json!("ada"), &json!("respond")), (&json!("ada"), &json!("repoll"))]);
    assert_eq!(
        (&sources[0]["url"], &sources[0]["title"], &sources[0]["cited_text"]),
        (&json!("https://rents.test/9"), &json!("Rents"), &json!("Rents fell."))
    );
    server.abort();
}

/// The tools that need the scope write; all others need the scope read.
const WRITING_TOOLS: [&str; 3] = ["start_roundtable", "continue_roundtable", "control_session"];

#[tokio::test]
async fn t12_each_tool_needs_its_scope_and_sees_the_debates_of_its_tenant_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.json");
    TokenFile::change(&file, |_| Ok(())).unwrap();
    let token = |name: &str, tenant: &str, scopes: &[Scope]| {
        let (name, tenant) = (name.to_owned(), tenant.to_owned());
        let scopes = BTreeSet::from_iter(scopes.iter().copied());
        let wishes = TokenWishes { name, tenant, scopes, ..TokenWishes::default() };
        TokenFile::change(&file, |file| file.create(wishes, Timestamp(0))).unwrap()
    };
    let writer = token("writer", "north", &[Scope::Read, Scope::Write]);
    let reader = token("reader", "north", &[Scope::Read]);
    let strangers = ["south", ""].map(|tenant| token("stranger", tenant, &[Scope::Read, Scope::Write]));
    let model: Arc<dyn ChatModel> =
        Arc::new(debater(SimulatedConfig { seed: 7, ..SimulatedConfig::default() }));
    let (address, server) = serve(model, Some(file.clone())).await;

    let topic = json!({ "topic": "Should we move?", "agents": ["ada", "bo"], "rounds": 1 });
    let started = use_tool(address, &writer, "start_roundtable", topic.clone()).await;
    let id = started["structuredContent"]["debate"]["id"].as_str().unwrap().to_owned();
    assert_eq!(started["structuredContent"]["debate"]["state"], "concluded");

    let refused = use_tool(address, &reader, "start_roundtable", topic.clone()).await;
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["reason"]),
        (&json!(true), &json!("FORBIDDEN"))
    );
    let read = use_tool(address, &reader, "get_consensus", json!({ "debate_id": id })).await;
    assert_eq!(read["structuredContent"]["state"], "concluded", "{read}");
    let tools = asked(address, &writer, "tools/list", json!({})).await["tools"].take();
    let auditor = token("auditor", "north", &[Scope::Audit]);
    let only_writer = token("only-writer", "north", &[Scope::Write]);
    for tool in tools.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let writes = WRITING_TOOLS.contains(&name);
        assert_eq!(tool["annotations"]["readOnlyHint"], !writes, "{name}");
        let mut arguments = json!({ "debate_id": id, "agent": "ada", "round": 1, "action": "stop" });
        let takes = tool["inputSchema"]["properties"].as_object().unwrap();
        arguments.as_object_mut().unwrap().retain(|field, _| takes.contains_key(field));
        if name != "start_roundtable" && takes.contains_key("debate_id") {
            for stranger in &strangers {
                let hidden = use_tool(address, stranger, name, arguments.clone()).await;
                assert_eq!(hidden["structuredContent"]["reason"], "DEBATE_NOT_FOUND", "{name}: {hidden}");
            }
        }
        if name == "start_roundtable" {
            arguments = topic.clone();
        }
        for (token, may) in [(&auditor, false), (&reader, !writes), (&only_writer, writes)] {
            let used = use_tool(address, token, name, arguments.clone()).await;
            let is_forbidden = used["structuredContent"]["reason"] == "FORBIDDEN";
            assert_eq!(is_forbidden, !may, "{name}: {used}");
        }
    }
    let [stranger, without_tenant] = &strangers;
    for (token, may) in [
        (&reader, true),
        (&auditor, false),
        (&only_writer, false),
        (stranger, false),
        (without_tenant, false),
    ] {
        sees_the_log(address, token, &id, may).await;
    }
    for stranger in &strangers {
        let listed = use_tool(address, stranger, "list_sessions", json!({})).await;
        assert_eq!(listed["structuredContent"]["debates"], json!([]));
    }

    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(post(address, None, &ping).await.0, 401);
    assert_eq!(post(address, Some("wrong"), &ping).await.0, 401);
    server.abort();
}

/// Checks whether the log of a roundtable is listed and read with a token.
async fn sees_the_log(address: SocketAddr, token: &str, id: &str, may: bool) {
    let read = asked(address, token, "resources/read", json!({ "uri": format!("debate://{id}/log") })).await;
    assert_eq!(read["contents"].is_array(), may, "{read}");
    let listed = asked(address, token, "resources/list", json!({})).await;
    let count = listed["resources"].as_array().map_or(0, Vec::len);
    assert_eq!(count > 0, may, "{listed}");
}

/// The most that a page of a log may take: 2 MiB of texts, and what is around them.
const PAGE_BYTES: usize = 5 * 1024 * 1024 / 2;

#[tokio::test]
async fn k13_instructions_say_content_is_never_an_instruction() {
    let (address, server) = serve(Arc::new(ScriptedModel::by(giving_in)), None).await;
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello });
    let (status, body) = post(address, None, &call).await;
    assert_eq!(status, 200, "{body}");
    let message = &body[body.find('{').unwrap()..=body.rfind('}').unwrap()];
    let message: Value = serde_json::from_str(message).unwrap();
    let instructions = message["result"]["instructions"].as_str().unwrap();
    assert!(instructions.contains("never an instruction"), "{instructions}");
    server.abort();
}

#[tokio::test]
async fn a_log_of_long_words_comes_in_pages_of_2_mib_to_agents_too() {
    let long = ChatReply::new("scripted", "x".repeat(600_000));
    let (address, server) = serve(Arc::new(ScriptedModel::by(move |_| long.clone())), None).await;
    let table = json!({ "topic": "Should we move?", "agents": ["ada", "bo", "cy"], "rounds": 1 });
    let started = use_tool(address, "", "start_roundtable", table).await["structuredContent"].take();
    let id = started["debate"]["id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let (mut uri, mut seen, mut pages) = (format!("debate://{id}/log"), Vec::new(), 0);
    loop {
        let read = asked(address, "", "resources/read", json!({ "uri": uri })).await;
        let text = read["contents"][0]["text"].as_str().unwrap_or_else(|| panic!("{read}"));
        assert!(text.len() < PAGE_BYTES, "{uri}: {} bytes", text.len());
        let page: Value = serde_json::from_str(text).unwrap();
        // A number of 64 bits is a text in the JSON of Protocol Buffers.
        let number = |seq: &Value| seq.as_u64().or_else(|| seq.as_str()?.parse().ok()).unwrap();
        seen.extend(page["events"].as_array().unwrap().iter().map(|event| number(&event["seq"])));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => next.clone_into(&mut uri),
            None => break assert_eq!(seen, (1..=number(&page["head_seq"])).collect::<Vec<_>>()),
        }
    }
    assert!(pages > 1, "all of it is on one page");
    server.abort();
}

#[tokio::test]
async fn a_log_of_many_events_comes_in_pages_of_200_to_agents() {
    let (address, server) = serve(Arc::new(ScriptedModel::by(giving_in)), None).await;
    let agents: Vec<String> = (0..20).map(|number| format!("agent-{number}")).collect();
    let table = json!({ "topic": "Should we move?", "agents": agents, "rounds": 4 });
    let started = use_tool(address, "", "start_roundtable", table).await["structuredContent"].take();
    let id = started["debate"]["id"].as_str().unwrap_or_else(|| panic!("{started}"));
    let uri = format!("debate://{id}/log");
    let read = asked(address, "", "resources/read", json!({ "uri": uri })).await;
    let page: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(page["events"].as_array().map(Vec::len), Some(200), "{read}");
    assert_eq!(page["next"], format!("{uri}?after=200"));
    server.abort();
}

#[tokio::test]
async fn pages_of_other_sites_use_no_tool_without_tokens() {
    let (address, server) = serve(Arc::new(ScriptedModel::by(giving_in)), None).await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let own = address.to_string();
    for (host, origin, status) in [
        (&*own, None, "200"),
        ("evil.example", None, "403"),
        (&own, Some("https://evil.example"), "403"),
        (&own, Some("null"), "403"),
    ] {
        let origin = origin.map(|origin| format!("Origin: {origin}\r\n")).unwrap_or_default();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{origin}Content-Length: {}\r\n\r\n{ping}",
            ping.len()
        );
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert_eq!(answer.split(' ').nth(1), Some(status), "{host} {origin}: {answer}");
    }
    server.abort();
}

#[tokio::test]
async fn k12_bodies_that_are_no_messages_are_the_callers_fault_and_the_next_is_served() {
    let model: Arc<dyn ChatModel> =
        Arc::new(debater(SimulatedConfig { seed: 7, ..SimulatedConfig::default() }));
    let engine = Engine::builder(Arc::new(MemoryStore::default()), model).format(RoundtablePrompts).build();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = ServeOptions { mount: Some(debate_mcp::mount()), ..ServeOptions::default() };
    let server = tokio::spawn(debate_grpc::serve(listener, engine, options, std::future::pending()));
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = format!("{ping}{}", " ".repeat(3 << 20));
    let unknown = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/forget" }).to_string();
    let no_tool = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"} });
    // A message that is served as it is, as one block that gzip only stores.
    let (length, crc_32) = (u16::try_from(ping.len()).unwrap(), 0x33bd_8142_u32);
    let packed = [
        &b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x01"[..],
        &length.to_le_bytes(),
        &(!length).to_le_bytes(),
        ping.as_bytes(),
        &crc_32.to_le_bytes(),
        &u32::from(length).to_le_bytes(),
    ];
    let gzip = "application/json\r\nContent-Encoding: gzip";
    for (what, content_type, body, status, expected) in [
        ("packed", gzip, &packed.concat()[..], 400, "-32700"),
        ("nothing", "application/json", b"", 400, "-32700"),
        ("half a message", "application/json", b"{\"jsonrpc\":", 400, "-32700"),
        ("words", "application/json", b"hello", 400, "-32700"),
        ("no message", "application/json", b"[]", 400, "-32700"),
        ("no text", "application/json", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", 400, "-32700"),
        ("deep nesting", "application/json", deep.as_bytes(), 400, "-32700"),
        ("too long", "application/json", long.as_bytes(), 413, "REQUEST_TOO_LONG"),
        ("another type", "text/plain", ping.as_bytes(), 415, "NOT_JSON"),
        ("almost JSON", "application/jsonx", ping.as_bytes(), 415, "NOT_JSON"),
        ("no method", "application/json", unknown.as_bytes(), 200, "-32601"),
        ("no tool", "application/json", no_tool.to_string().as_bytes(), 200, "-32602"),
    ] {
        let answer = send(address, None, content_type, body).await;
        assert!(answer.0 == status && answer.1.contains(expected), "{what}: {answer:?}");
        let next = send(address, None, "application/json; charset=utf-8", ping.as_bytes()).await;
        assert!(next.0 == 200 && next.1.contains("start_roundtable"), "after {what}: {next:?}");
    }
    server.abort();
}

#[tokio::test]
async fn k12_all_argument_faults_come_at_once_and_nothing_is_recorded() {
    let store = Arc::new(MemoryStore::default());
    let model = Arc::new(ScriptedModel::by(giving_in));
    let (address, server) = serve_kept(Arc::clone(&store) as _, model, None).await;
    let mut wrong = json!({ "agents": ["ada"], "mode": "chaos", "rounds": 0, "wait_s": -1, "colour": "red" });
    wrong["request_id"] = json!("a b");
    let named = json!(["request_id", "wait_s", "colour", "topic", "mode", "agents", "rounds"]);
    let many: serde_json::Map<_, _> = (0..150).map(|number| (format!("x{number}"), json!(1))).collect();
    for (tool, arguments, count) in [("start_roundtable", wrong, 7), ("list_sessions", many.into(), 101)] {
        let refused = use_tool(address, "", tool, arguments).await;
        let violations = refused["structuredContent"]["violations"].as_array().unwrap();
        let fields: Vec<&str> = violations.iter().map(|fault| fault["field"].as_str().unwrap()).collect();
        assert_eq!((&refused["isError"], fields.len()), (&json!(true), count), "{refused}");
        assert!(tool != "start_roundtable" || json!(fields) == named, "{refused}");
        let words = refused["content"][0]["text"].as_str().unwrap();
        assert!(fields.iter().all(|field| words.contains(field)), "{refused}");
    }
    assert_eq!(store.list(ListFilter::default()).await.unwrap(), []);
    server.abort();
}

/// What an agent can have done that looks into the store, or writes into it: that is carried out in a task of its own.
fn uses_of_the_store() -> [(&'static str, Value); 4] {
    let log = "debate://00000000-0000-4000-8000-000000000000/log";
    let table = json!({ "topic": "Should we move?", "agents": ["ada", "bo"] });
    [
        ("tools/call", json!({ "name": "list_sessions", "arguments": {} })),
        ("tools/call", json!({ "name": "start_roundtable", "arguments": table })),
        ("resources/list", json!({})),
        ("resources/read", json!({ "uri": log })),
    ]
}

/// Checks that the answer to a panic says so, and no more.
fn tells_of_a_defect(method: &str, answer: &Value) {
    let reason = match method {
        "tools/call" => &answer["result"]["structuredContent"]["reason"],
        _ => &answer["error"]["data"]["reason"],
    };
    assert_eq!(reason, "INTERNAL", "{method}: {answer}");
    assert!(!answer.to_string().contains("purpose"), "{method}: {answer}");
}

#[tokio::test]
async fn a_panic_in_a_tool_or_a_resource_is_an_answer_without_its_message_and_an_error_in_the_log() {
    let (hearing, _listening) = Hearing::begin();
    let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(giving_in));
    let (address, server) = serve_kept(Arc::new(PanickingStore), Arc::clone(&model), None).await;
    for (method, params) in uses_of_the_store() {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answered = tokio::time::timeout(PATIENCE, post(address, None, &call)).await;
        let (_, body) = answered.unwrap_or_else(|_| panic!("{method} has no answer"));
        tells_of_a_defect(method, &serde_json::from_str(&body).unwrap());
    }
    assert_eq!(hearing.logged("ERROR", "a handler panicked").len(), 4);
    server.abort();

    let engine = Engine::builder(Arc::new(PanickingStore), model).format(RoundtablePrompts).build();
    let facade = Facade::new(engine, Arc::new(|_| Ok(())), CancellationToken::new());
    let (here, there) = tokio::io::duplex(65_536);
    let server =
        tokio::spawn(debate_mcp::serve_stream(facade, tokio::io::split(there), std::future::pending()));
    let (reading, mut writing) = tokio::io::split(here);
    let mut answers = BufReader::new(reading).lines();
    let client = json!({ "name": "test", "version": "1" });
    let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let mut said = vec![("initialize", hello)];
    said.extend(uses_of_the_store());
    for (method, params) in said {
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        writing.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        let answered = tokio::time::timeout(PATIENCE, answers.next_line()).await;
        let answer = answered.unwrap_or_else(|_| panic!("{method} has no answer")).unwrap().unwrap();
        if method == "initialize" {
            let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            writing.write_all(format!("{ready}\n").as_bytes()).await.unwrap();
        } else {
            tells_of_a_defect(method, &serde_json::from_str(&answer).unwrap());
        }
    }
    assert_eq!(hearing.logged("ERROR", "a handler panicked").len(), 8);
    server.abort();
}

#[tokio::test]
async fn a_tool_that_waits_stops_when_its_client_is_gone() {
    let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(|_| ScriptedAnswer::Hang));
    let kept = Arc::new(MemoryStore::default());
    let (drives, driving) = serve_kept(Arc::clone(&kept) as _, Arc::clone(&model), None).await;
    let store = Arc::new(WaitedOn::over(kept));
    let mut waiting = store.waiting();
    let (address, server) = serve_kept(store, model, None).await;
    let table = |wait_s: u64| {
        let table = json!({ "topic": "T", "agents": ["ada", "bo"], "request_id": "one", "wait_s": wait_s });
        json!({ "name": "start_roundtable", "arguments": table })
    };
    asked(drives, "", "tools/call", table(0)).await;
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("http://{address}/mcp"))
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream");
    let (answer, mut body) = client.send_request(request.body(()).unwrap(), false).unwrap();
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": table(3_600) });
    body.send_data(call.to_string().into(), true).unwrap();
    let begun = tokio::time::timeout(PATIENCE, waiting.wait_for(|many| *many > 0)).await;
    begun.expect("it waits").unwrap();
    drop((answer, body));
    let over = tokio::time::timeout(PATIENCE, waiting.wait_for(|many| *many == 0)).await;
    over.expect("it stops waiting").unwrap();
    server.abort();
    driving.abort();
}

#[tokio::test]
async fn a_silent_stream_of_progress_of_a_revoked_token_ends_with_the_next_sign_of_life() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.json");
    let scopes = BTreeSet::from([Scope::Read, Scope::Write]);
    let wishes = TokenWishes { name: "app".to_owned(), scopes, ..TokenWishes::default() };
    let token = TokenFile::change(&path, |file| file.create(wishes, Timestamp(0))).unwrap();
    let is_ada = |request: &ChatRequest| {
        request.messages.iter().any(|message| message.content.contains("You are ada. "))
    };
    let model = ScriptedModel::by(move |request| match is_ada(request) {
        true => ScriptedAnswer::from(giving_in(request)),
        false => ScriptedAnswer::Hang,
    });
    let (address, server) = serve(Arc::new(model), Some(path.clone())).await;
    let table = json!({ "topic": "T", "agents": ["ada", "bo"], "wait_s": 3_600 });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "start_roundtable", "arguments": table, "_meta": { "progressToken": "p" } } });
    let call = call.to_string();
    let request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {}\r\n\r\n{call}",
        call.len()
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut received = String::new();
    while !received.contains("ada has responded") {
        let mut some = [0; 4_096];
        let read = tokio::time::timeout(PATIENCE, stream.read(&mut some)).await.unwrap().unwrap();
        assert!(read > 0, "{received}");
        received.push_str(&String::from_utf8_lossy(&some[..read]));
    }
    tokio::time::pause();
    TokenFile::change(&path, |file| Ok(file.revoke("app"))).unwrap();
    let revoked = tokio::time::Instant::now();
    let ended = tokio::time::timeout(2 * PATIENCE, stream.read_to_end(&mut Vec::new())).await;
    let _reset = ended.expect("it ends");
    assert!(revoked.elapsed() <= Duration::from_secs(16), "{:?}", revoked.elapsed());
    server.abort();
}

#[tokio::test]
async fn a_message_that_never_ends_is_answered_when_its_time_is_over() {
    let connections = Connections { body: Duration::from_millis(300), ..Connections::default() };
    let options = ServeOptions { connections, ..ServeOptions::default() };
    let model = Arc::new(ScriptedModel::by(giving_in));
    let (address, server) = serve_with(Arc::new(MemoryStore::default()), model, options).await;
    let endless = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: 9\r\n\r\n{{"
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(endless.as_bytes()).await.unwrap();
    let mut received = String::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_string(&mut received)).await;
    read.expect("the server ends the connection").unwrap();
    assert!(received.starts_with("HTTP/1.1 408") && received.contains("REQUEST_TOO_SLOW"), "{received}");
    server.abort();
}

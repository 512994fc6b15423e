//! REST for all formats: start, list, show, events; preferences; tags; the description.

use std::sync::Arc;

use debate_engine::Engine;
use debate_grpc::ServeOptions;
use debate_llm::debater;
use debate_prompts::deliberation::DeliberationPrompts;
use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use serde_json::{Value, json};
use tonic::Extensions;
use tonic::metadata::MetadataMap;

use crate::house::{House, PATIENCE, request};
use crate::moody_store::MoodyStore;

const DEBATES: &str = "/api/v1/debates";
const CONTRACT: &str = "/api/v1/reasoning/debate";

fn deliberation() -> Value {
    json!({"format": "deliberation", "topic": "Tabs or spaces?", "mode": "weak",
        "participants": ["ada", "ben"], "orchestrator": "mod"})
}

async fn start(house: &House, body: &Value, key: &str) -> crate::house::Answer {
    house.ask("POST", DEBATES, &[("Idempotency-Key", key)], body.to_string().as_bytes()).await
}

#[tokio::test]
async fn a_trace_is_kept_over_both_protocols_and_what_has_not_its_shape_is_left_out() {
    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let house = House::quiet().await;
    house.let_all_answer();
    let cases = [
        ("00-4bf9", "congo=1", None),
        (PARENT, "congo=1", Some(format!("{PARENT} congo=1"))),
        (PARENT, "hello world", Some(PARENT.to_owned())),
    ];
    for (parent, state, kept) in cases {
        let headers = [("traceparent", parent), ("tracestate", state)];
        let started = house.ask("POST", DEBATES, &headers, request().to_string().as_bytes()).await;
        let over_rest = started.json()["debate"]["id"].as_str().unwrap().to_owned();
        let held_over_rest = house.post(&headers, request().to_string().as_bytes()).await.debate_id();
        let mut metadata = MetadataMap::new();
        for (name, value) in headers {
            metadata.insert(name, value.parse().unwrap());
        }
        let start = || crate::tokens::start("");
        let mut client = DebateServiceClient::new(house.channel().await);
        let started = tonic::Request::from_parts(metadata.clone(), Extensions::default(), start());
        let started = client.start_debate(started).await.unwrap().into_inner().debate.unwrap();
        let hold = v1::HoldDebateRequest { start: Some(start()), read_mask: None };
        let held = tonic::Request::from_parts(metadata, Extensions::default(), hold);
        let held = client.hold_debate(held).await.unwrap().into_inner().held.unwrap().debate.unwrap();
        for id in [over_rest, held_over_rest, started.id, held.id] {
            let log = house.engine.log(id.parse().unwrap(), None).await.unwrap();
            assert_eq!(log[0].trace, kept, "{parent} {state}");
        }
    }
}

#[tokio::test]
async fn debates_of_every_format_are_started_listed_and_shown() {
    let house = House::quiet().await;
    let mut ids = Vec::new();
    for (body, format) in [(request(), "prediction"), (deliberation(), "deliberation")] {
        let started = start(&house, &body, format).await;
        let debate = &started.json()["debate"];
        assert_eq!(
            (started.status, &debate["format"], &debate["state"]),
            (201, &json!(format), &json!("running"))
        );
        let id = debate["id"].as_str().unwrap().to_owned();
        assert_eq!(started.header("location"), Some(&*format!("{DEBATES}/{id}")));
        let again = start(&house, &body, format).await;
        assert_eq!((again.status, &again.json()["debate"]["id"]), (200, &json!(id)), "rule K11");
        ids.push(id);
    }
    let first = house.get(&format!("{DEBATES}?page_size=1")).await.json();
    assert_eq!(first["debates"][0]["id"], json!(ids[1]));
    let token = first["next_page_token"].as_str().unwrap();
    let second = house.get(&format!("{DEBATES}?page_size=1&page_token={token}")).await.json();
    assert_eq!(second["debates"][0]["id"], json!(ids[0]));
    let some = house.get(&format!("{DEBATES}?format=prediction&state=running")).await.json();
    assert_eq!((some["debates"].as_array().unwrap().len(), &some["next_page_token"]), (1, &Value::Null));
    for wrong in ["?page_size=x", "?weather=fine", "?state=gone", "?format=quarrel", "?page_token=x"] {
        let refused = house.get(&format!("{DEBATES}{wrong}")).await;
        assert_eq!((refused.status, &refused.json()["reason"]), (422, &json!("INVALID_REQUEST")), "{wrong}");
    }
    house.let_all_answer();
    for id in &ids {
        assert!(house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
        let shown = house.get(&format!("{DEBATES}/{id}")).await.json();
        assert_eq!(
            (&shown["debate"]["state"], &shown["result"]["debate_id"]),
            (&json!("concluded"), &json!(id))
        );
    }
    assert_eq!(house.ask("PUT", DEBATES, &[], b"").await.status, 405);
}

#[tokio::test]
async fn k16_what_happened_is_recorded_and_scored() {
    let house = House::open().await;
    let id = start(&house, &request(), "r").await.json()["debate"]["id"].as_str().unwrap().to_owned();
    assert!(house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    let path = format!("{DEBATES}/{id}/resolution");
    let resolve = async |body: &Value| house.ask("POST", &path, &[], body.to_string().as_bytes()).await;
    for (wrong, field) in [
        (json!({}), "request"),
        (json!({"outcome_id": "no", "happened_at": "soon"}), "happened_at"),
        (json!({"outcome_id": "no", "weather": "fine"}), "request"),
    ] {
        let refused = resolve(&wrong).await;
        assert_eq!((refused.status, &refused.json()["errors"][0]["field"]), (422, &json!(field)), "{wrong}");
    }
    let unknown = resolve(&json!({"outcome_id": "perhaps"})).await;
    assert_eq!((unknown.status, unknown.body.contains("perhaps is not an outcome")), (409, true));
    let resolved = resolve(&json!({"outcome_id": "no", "happened_at": "2026-01-01"})).await;
    assert_eq!(resolved.status, 200, "{}", resolved.body);
    let recorded = &resolved.json()["result"];
    let resolution = &recorded["extra"]["resolution"];
    assert_eq!(
        (&resolution["outcome"], &resolution["happened_at"]),
        (&json!("no"), &json!("2026-01-01T00:00:00.000Z"))
    );
    let given = recorded["probability_distribution"][0]["probability"].as_f64().unwrap();
    let brier = resolution["scores"]["final"]["brier"].as_f64().unwrap();
    assert!((brier - given * given).abs() < 1e-12, "{brier} of {given}");
    assert_eq!(
        resolve(&json!({"outcome_id": "no", "happened_at": "2026-01-01"})).await.status,
        409,
        "it is recorded"
    );
    let missing = format!("{DEBATES}/6f1c2a4e-0000-4000-8000-000000000000/resolution");
    assert_eq!(house.ask("POST", &missing, &[], br#"{"outcome_id": "no"}"#).await.status, 404);
}

#[tokio::test]
async fn p22_a_client_says_how_long_it_waits() {
    let house = House::quiet().await;
    let body = request().to_string();
    let answer = house.post(&[("Prefer", "respond-async")], body.as_bytes()).await;
    assert_eq!((answer.status, answer.header("preference-applied")), (202, Some("respond-async")));
    house.let_all_answer();
    let answer = house.post(&[("Prefer", "wait=60")], body.as_bytes()).await;
    assert_eq!((answer.status, answer.header("preference-applied")), (200, Some("wait=60")));
    let log = house.engine.log(answer.debate_id().parse().unwrap(), None).await.unwrap();
    assert!(log[0].body.contains("\"deadline_ms\":55000"), "{}", log[0].body);
}

#[tokio::test]
async fn finished_results_have_tags_that_change_with_them() {
    let house = House::open().await;
    let held = house.post(&[], request().to_string().as_bytes()).await;
    let path = format!("{CONTRACT}/{}", held.debate_id());
    for path in [path, format!("{DEBATES}/{}", held.debate_id())] {
        let tag = house.get(&path).await.header("etag").unwrap().to_owned();
        for (known, status) in [(&*tag, 304), ("*", 304), (&*format!("W/{tag}, \"x\""), 304), ("\"x\"", 200)]
        {
            let answer = house.ask("GET", &path, &[("If-None-Match", known)], b"").await;
            assert_eq!((answer.status, answer.header("etag")), (status, Some(&*tag)), "{known}");
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"), "{known}");
            assert_eq!(answer.body.is_empty(), status == 304);
        }
    }
    for rest in ["/round/1", "/role/judge", "/consensus"] {
        let answer = house.get(&format!("{CONTRACT}/{}{rest}", held.debate_id())).await;
        assert_eq!(
            (answer.status, answer.header("cache-control")),
            (200, Some("private, no-cache")),
            "{rest}"
        );
    }
    let policy = "/api/v1/reasoning/policy/insights".to_owned();
    for path in [DEBATES.to_owned(), format!("{DEBATES}/{}/events", held.debate_id()), policy] {
        let answer = house.get(&path).await;
        assert_eq!(
            (answer.status, answer.header("cache-control")),
            (200, Some("private, no-cache")),
            "{path}"
        );
    }
    let id = held.debate_id().parse().unwrap();
    let tag = held.header("etag").unwrap();
    house.engine.redact(id, debate_engine::Redact::All, "test").await.unwrap();
    let path = format!("{CONTRACT}/{}", held.debate_id());
    let answer = house.ask("GET", &path, &[("If-None-Match", tag)], b"").await;
    assert_eq!(answer.status, 200, "the words are gone, so it is another result");
    let running = House::with(ServeOptions::default(), "simulated:7").await;
    let answer = running.post(&[("Prefer", "respond-async")], request().to_string().as_bytes()).await;
    assert_eq!(answer.header("etag"), None);
}

#[tokio::test]
async fn k10_events_are_streamed_and_resumed_by_the_last_id() {
    let house = House::open().await;
    let started = start(&house, &request(), "one").await.json();
    let id = started["debate"]["id"].as_str().unwrap();
    let path = format!("{DEBATES}/{id}/events");
    let accept = ("Accept", "text/event-stream");
    let whole = house.ask("GET", &path, &[accept], b"").await;
    assert_eq!((whole.status, whole.header("content-type")), (200, Some("text/event-stream")));
    let log = house.engine.log(id.parse().unwrap(), None).await.unwrap();
    let ids = |text: &str| {
        text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect::<Vec<u64>>()
    };
    let head = log.len() as u64;
    assert_eq!(ids(&whole.body), (1..=head).collect::<Vec<_>>());
    assert!(whole.body.contains("event: concluded"), "{}", whole.body);
    let rest = house.ask("GET", &path, &[accept, ("Last-Event-ID", "7")], b"").await;
    assert_eq!(ids(&rest.body), (8..=head).collect::<Vec<_>>());
    let last = head.to_string();
    for (last, status) in [(&*last, 204), ("999999", 416), ("x", 422), ("-1", 422)] {
        assert_eq!(
            house.ask("GET", &path, &[accept, ("Last-Event-ID", last)], b"").await.status,
            status,
            "{last}"
        );
    }
    let paged = house.ask("GET", &path, &[("Last-Event-ID", "-1")], b"").await;
    assert_eq!(paged.status, 422, "an id that is none is refused, whatever is accepted");
    for headers in [&[][..], &[accept]] {
        let refused = house.ask("GET", &format!("{path}?after_seq=5"), headers, b"").await;
        assert_eq!(refused.status, 422, "a name that there is not");
    }
    let page = house.get(&format!("{path}?after=2&page_size=3")).await.json();
    let seqs: Vec<_> = page["events"].as_array().unwrap().iter().map(|event| event["seq"].clone()).collect();
    assert_eq!((seqs, &page["head_seq"]), (vec![json!(3), json!(4), json!(5)], &json!(head)));
    assert_eq!(page["events"][0]["hash"], json!(log[2].hash.to_string()));
}

#[tokio::test]
async fn k10_a_stream_over_rest_has_at_most_64_events_in_hand_before_it_begins_too() {
    let store = Arc::new(MoodyStore::default());
    let model = Arc::new(debater("simulated:7".parse().unwrap()));
    let engine = Engine::builder(Arc::<MoodyStore>::clone(&store), model);
    let house = House::of(engine.format(DeliberationPrompts).build(), ServeOptions::default()).await;
    let started = start(&house, &deliberation(), "streamed").await;
    let id = started.json()["debate"]["id"].as_str().unwrap().to_owned();
    let debate = id.parse().unwrap();
    assert!(house.engine.concluded(debate, PATIENCE).await.unwrap());
    let head = house.engine.log(debate, None).await.unwrap().len();
    let path = format!("{DEBATES}/{id}/events");
    for (after, status) in [(0, 200), (head - 1, 200), (head, 204)] {
        store.read_at_once_max();
        let after = after.to_string();
        let asked = [("Accept", "text/event-stream"), ("Last-Event-ID", &*after)];
        assert_eq!(house.ask("GET", &path, &asked, b"").await.status, status);
        assert_eq!(store.read_at_once_max(), 64, "after {after}");
    }
}

#[tokio::test]
async fn the_description_is_served_and_bad_input_is_refused_alike_everywhere() {
    let house = House::open().await;
    let document = house.get("/api/v1/openapi.json").await.json();
    assert_eq!(document["openapi"], "3.1.0");
    let scope = &document["paths"]["/api/v1/debates"]["post"]["x-scope"];
    assert_eq!(scope, "write");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let long = vec![b' '; 1024 * 1024 + 1];
    // Were its bytes read as the text that they nearly are, it would open a debate.
    let whole = request().to_string();
    let (begin, end) = whole.split_once("harbour").unwrap();
    let no_text = [begin.as_bytes(), b"\xff", end.as_bytes()].concat();
    for path in [DEBATES, CONTRACT] {
        for (body, status) in [
            (&b""[..], 422),
            (b"{", 422),
            (&no_text, 422),
            (deep.as_bytes(), 422),
            (b"{\"format\":\"quarrel\"}", 422),
            (&long, 413),
        ] {
            let refused = house.ask("POST", path, &[], body).await;
            assert_eq!(refused.status, status, "{path}");
            assert_eq!(refused.header("content-type"), Some("application/problem+json"), "{path}");
        }
    }
    for (place, body) in
        [("continue", &b"{\"focus\": \"\xff\"}"[..]), ("resolution", b"{\"outcome_id\": \"\xff\"}")]
    {
        for (body, status) in [(body, 422), (&long, 413)] {
            let refused = house.ask("POST", &format!("/api/v1/debates/x/{place}"), &[], body).await;
            assert_eq!(refused.status, status, "{place}");
        }
    }
    for other in ["text/plain", "application/jsonx", "application/json-seq", "text/json", "json", ""] {
        let text = [("Content-Type", other)];
        for path in [DEBATES, CONTRACT, "/api/v1/debates/x/continue", "/api/v1/debates/x/resolution"] {
            let refused = house.ask("POST", path, &text, request().to_string().as_bytes()).await;
            assert_eq!(refused.status, 415, "{path} {other}");
        }
    }
    for json in ["application/json", "Application/JSON; charset=utf-8"] {
        let refused = house.ask("POST", DEBATES, &[("Content-Type", json)], b"{").await;
        assert_eq!(refused.status, 422, "{json} is JSON");
    }
    let page = [("Origin", "https://evil.example")];
    assert_eq!(house.ask("POST", DEBATES, &page, request().to_string().as_bytes()).await.status, 403);
    assert_eq!(house.engine.store().list(Default::default()).await.unwrap(), []);
}

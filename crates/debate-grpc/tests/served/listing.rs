//! Lists have archived debates too, in their place, and say that they are; pages of logs end before they grow too large.

use std::sync::Arc;

use debate_core::chain::hash_of;
use debate_core::envelope::Envelope;
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use debate_engine::Engine;
use debate_grpc::ServeOptions;
use debate_grpc::tokens::Scope;
use debate_llm::{ChatModel, ChatReply, ScriptedModel};
use debate_prompts::prediction::PredictionPrompts;
use debate_proto::v1;
use debate_proto::v1::audit_service_client::AuditServiceClient;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use debate_store::{Append, Archive as _, EventStore as _, MemoryStore, Position};
use serde_json::Value;
use tonic::Code;
use tonic_types::StatusExt as _;

use crate::house::{House, PATIENCE};
use crate::tokens::{Guarded, start, started};

/// Four debates of a tenant, two of them archived, and one of another tenant's, archived; the newest first.
async fn four_debates(guarded: &Guarded, ours: &str, theirs: &str) -> Vec<String> {
    guarded.house.let_all_answer();
    let (mut debates, mut others) = (guarded.debates(ours).await, guarded.debates(theirs).await);
    let mut ids = Vec::new();
    for number in 0..4 {
        ids.insert(0, started(&mut debates, &number.to_string()).await);
    }
    let foreign = started(&mut others, "").await;
    for id in ids.iter().chain([&foreign]) {
        assert!(guarded.house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    }
    let store = &guarded.house.store;
    for id in [&ids[1], &ids[2], &foreign] {
        let debate: DebateId = id.parse().unwrap();
        let head = store.head(debate.into()).await.unwrap().unwrap();
        store.archive(debate.into(), head, "kept.bundle", Timestamp(1)).await.unwrap();
    }
    ids
}

#[tokio::test]
async fn archived_debates_stand_in_lists_page_by_page_and_are_gone_where_they_are_asked_for() {
    let guarded = Guarded::open().await;
    let of = |tenant| guarded.token_of(tenant, Scope::Admin);
    let (ours, theirs) = (of("ours"), of("theirs"));
    let ids = four_debates(&guarded, &ours, &theirs).await;
    let mut debates = guarded.debates(&ours).await;

    let (concluded, archived) = (v1::DebateState::Concluded, v1::DebateState::Archived);
    let whole = [(&ids[0], concluded), (&ids[1], archived), (&ids[2], archived), (&ids[3], concluded)];
    for (states, wanted) in [
        (vec![], whole.to_vec()),
        (vec![concluded, archived], whole.to_vec()),
        (vec![archived], whole[1..3].to_vec()),
        (vec![concluded], vec![whole[0], whole[3]]),
        (vec![v1::DebateState::Running], vec![]),
    ] {
        let states: Vec<i32> = states.into_iter().map(Into::into).collect();
        for page_size in [1, 3, 4, 100] {
            let mut request =
                v1::ListDebatesRequest { page_size, states: states.clone(), ..Default::default() };
            let mut listed = Vec::new();
            loop {
                let page = debates.list_debates(request.clone()).await.unwrap().into_inner();
                assert!(page.debates.len() <= page_size as usize);
                listed.extend(page.debates);
                request.page_token = page.next_page_token;
                if request.page_token.is_empty() {
                    break;
                }
            }
            let found: Vec<_> = listed.iter().map(|debate| (&debate.id, debate.state())).collect();
            assert_eq!(found, wanted, "{states:?} by {page_size}");
            assert!(listed.iter().all(|it| it.format == "prediction" && it.head_seq > 0), "{listed:?}");
        }
    }

    let bearer = format!("Bearer {ours}");
    let headers = [("Authorization", &*bearer)];
    let answer = guarded.house.ask("GET", "/api/v1/debates?state=archived", &headers, b"").await;
    let listed: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(listed["debates"].as_array().unwrap().len(), 2, "{listed}");
    let (first, state) = (&listed["debates"][0]["id"], &listed["debates"][0]["state"]);
    assert_eq!((first, state), (&Value::from(ids[1].as_str()), &Value::from("archived")));
    let gone = guarded.house.ask("GET", &format!("/api/v1/debates/{}", ids[1]), &headers, b"").await;
    assert_eq!(gone.status, 410, "{gone:?}");
}

#[tokio::test]
async fn a_list_is_asked_for_in_each_state_once_and_no_more_of_them_are_read() {
    let guarded = Guarded::open().await;
    let mut debates = guarded.debates(&guarded.token_of("ours", Scope::Admin)).await;
    let of = |states| v1::ListDebatesRequest { states, ..Default::default() };
    let archived = v1::DebateState::Archived.into();
    debates.list_debates(of(vec![archived; 4])).await.unwrap();
    for many in [5, 2_000_000] {
        let refused = debates.list_debates(of(vec![archived; many])).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        assert_eq!(refused.get_error_details().bad_request().unwrap().field_violations[0].field, "states");
    }
}

/// A page token of a list of all formats and states, made up by a client that has read the source.
fn made_up(tenant: &str, position: u64) -> String {
    let parts = [&b"page"[..], tenant.as_bytes(), b"", b"", &position.to_le_bytes()];
    format!("{position:016x}{:016x}", Digest::of_parts(parts).as_seed())
}

#[tokio::test]
async fn a_made_up_page_token_shows_a_tenant_its_own_debates_alone_over_both_protocols() {
    let guarded = Guarded::open().await;
    let of = |tenant| guarded.token_of(tenant, Scope::Admin);
    let (ours, theirs) = (of("ours"), of("theirs"));
    let older = four_debates(&guarded, &ours, &theirs).await;
    let mut debates = guarded.debates(&ours).await;
    started(&mut guarded.debates(&theirs).await, "stays").await;
    let newest = started(&mut debates, "newest").await;
    let own: Vec<_> = [&newest].into_iter().chain(&older).cloned().collect();
    let end = guarded.house.store.wait_all(Position::START).await.unwrap().0;
    let bearer = format!("Bearer {ours}");
    let mut found = 0;
    for position in (0..end).step_by(9).chain([end + 1, u64::MAX >> 1]) {
        let page_token = made_up("ours", position);
        let path = format!("/api/v1/debates?page_token={page_token}");
        let request = v1::ListDebatesRequest { page_token, ..Default::default() };
        let page = debates.list_debates(request).await.unwrap().into_inner();
        let ids: Vec<_> = page.debates.iter().map(|debate| debate.id.clone()).collect();
        assert!(own.ends_with(&ids), "{position}: {ids:?}");
        let over_rest = guarded.house.ask("GET", &path, &[("Authorization", &*bearer)], b"").await.json();
        let shown = over_rest["debates"].as_array().unwrap().iter().map(|debate| debate["id"].as_str());
        assert!(shown.eq(ids.iter().map(|id| Some(&**id))), "{position}: {over_rest}");
        found = ids.len();
    }
    assert_eq!(found, own.len(), "behind all of them stands the whole list");
    let foreign = v1::ListDebatesRequest { page_token: made_up("theirs", end), ..Default::default() };
    assert_eq!(debates.list_debates(foreign).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_made_up_cursor_of_all_debates_shows_a_tenant_its_own_events_alone_and_none_before_its_place() {
    let guarded = Guarded::open().await;
    let of = |tenant| guarded.token_of(tenant, Scope::Admin);
    let (ours, theirs) = (of("ours"), of("theirs"));
    let mut debates = guarded.debates(&ours).await;
    let mut others = guarded.debates(&theirs).await;
    let foreign = started(&mut others, "").await;
    let own = started(&mut debates, "").await;
    let end = guarded.house.store.wait_all(Position::START).await.unwrap().0;
    let made_up = |tenant: &str, position: u64| {
        let parts = [&b"feed"[..], tenant.as_bytes(), &position.to_le_bytes()];
        let cursor = format!("{position:016x}{:016x}", Digest::of_parts(parts).as_seed());
        v1::WatchDebatesRequest { cursor, ..Default::default() }
    };
    let mut early = debates.watch_debates(made_up("ours", 0)).await.unwrap().into_inner();
    assert_eq!(early.message().await.unwrap().unwrap().debate_id, own);
    let beyond = end + 2;
    let mut late = debates.watch_debates(made_up("ours", beyond)).await.unwrap().into_inner();
    started(&mut debates, "newest").await;
    guarded.house.let_all_answer();
    let (first, shown) = loop {
        let shown = late.message().await.unwrap().unwrap();
        if let Some(event) = shown.event {
            break (event.seq, shown.debate_id);
        }
    };
    let behind = guarded.house.store.read_all(Position(beyond), 1_000).await.unwrap();
    let (_, due) = behind.iter().find(|(_, event)| event.stream.id.to_string() != foreign).unwrap();
    assert_eq!((first, shown), (due.seq.0, due.stream.id.to_string()));
    let refused = debates.watch_debates(made_up("theirs", 0)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}

/// The most that a page of a log may take: 2 MiB of texts, and what is around them.
const PAGE_BYTES: usize = 5 * 1024 * 1024 / 2;

#[tokio::test]
async fn a_log_of_long_words_comes_in_pages_of_2_mib_over_both_protocols() {
    let long = ChatReply::new("scripted", "x".repeat(600_000));
    let model: Arc<dyn ChatModel> = Arc::new(ScriptedModel::by(move |_| long.clone()));
    let engine = Engine::builder(Arc::new(MemoryStore::new()), model).format(PredictionPrompts).build();
    let house = House::of(engine, ServeOptions::default()).await;
    let mut debates = DebateServiceClient::new(house.channel().await);
    let debate_id = debates.start_debate(start("")).await.unwrap().into_inner().debate.unwrap().id;
    assert!(house.engine.concluded(debate_id.parse().unwrap(), PATIENCE).await.unwrap());
    let mut audits = AuditServiceClient::new(house.channel().await);
    let (mut after, mut pages) = (0, 0);
    loop {
        let read = v1::ReadLogRequest { debate_id: debate_id.clone(), after_seq: after, page_size: 1_000 };
        let page = audits.read_log(read).await.unwrap().into_inner();
        assert!(prost::Message::encoded_len(&page) < PAGE_BYTES, "after {after}");
        let path = format!("/api/v1/debates/{debate_id}/events?after={after}&page_size=1000");
        let over_rest = house.get(&path).await;
        assert!(over_rest.body.len() < PAGE_BYTES, "after {after}");
        assert_eq!(over_rest.json()["events"].as_array().unwrap().len(), page.events.len());
        pages += 1;
        after = page.events.last().unwrap().seq;
        if after == page.head_seq {
            break;
        }
    }
    assert!(pages > 1, "all of it is on one page");
}

/// Adds 1,000 events to a debate: its last two, which are a pause and its end, over and over.
async fn lengthen(store: &MemoryStore, debate: DebateId) {
    let log = store.read(debate.into(), Seq::START, 1_000).await.unwrap();
    let (Some(head), mut added) = (log.last(), Vec::new()) else { panic!("it has no events") };
    for event in log[log.len() - 2..].iter().cycle().take(1_000) {
        let last = added.last().unwrap_or(head);
        let mut next = Envelope { seq: last.seq.next(), ..event.clone() };
        next.hash = hash_of(&last.hash, &next);
        added.push(next);
    }
    store.append(Append::new(debate.into(), head.seq, added)).await.unwrap();
}

#[tokio::test]
async fn a_log_of_many_events_comes_in_pages_of_1000_over_both_protocols() {
    let guarded = Guarded::open().await;
    let token = guarded.token_of("ours", Scope::Admin);
    let mut debates = guarded.debates(&token).await;
    let debate_id = started(&mut debates, "").await;
    debates.pause_debate(v1::PauseDebateRequest { debate_id: debate_id.clone() }).await.unwrap();
    debates.resume_debate(v1::ResumeDebateRequest { debate_id: debate_id.clone() }).await.unwrap();
    lengthen(&guarded.house.store, debate_id.parse().unwrap()).await;
    let read = v1::ReadLogRequest { debate_id: debate_id.clone(), after_seq: 0, page_size: 100_000 };
    let page = guarded.audits(&token).await.read_log(read).await.unwrap().into_inner();
    assert_eq!((page.events.len(), page.head_seq > 1_000), (1_000, true), "head {}", page.head_seq);
    let path = format!("/api/v1/debates/{debate_id}/events?page_size=100000");
    let bearer = format!("Bearer {token}");
    let over_rest = guarded.house.ask("GET", &path, &[("Authorization", &*bearer)], b"").await;
    let listed: Value = serde_json::from_str(&over_rest.body).unwrap();
    assert_eq!(listed["events"].as_array().map(Vec::len), Some(1_000), "{}", over_rest.status);
}

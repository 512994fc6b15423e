//! Every method of both services, over real TCP.

use std::time::Duration;

use debate_core::chain::hash_of;
use debate_core::codec::{Author, Head, seal};
use debate_core::envelope::Envelope;
use debate_core::event::{Event, KernelEvent, Redacted};
use debate_core::formats::prediction::Prediction;
use debate_engine::Engine;
use debate_grpc::tokens::Scope;
use debate_proof::bundle::BundleCheck;
use debate_proto::v1;
use debate_proto::v1::audit_service_client::AuditServiceClient;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use debate_proto::v1::get_debate_response::Result as DebateOutcome;
use debate_store::Append;
use prost_types::FieldMask;
use serde_json::json;
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_types::StatusExt as _;

use crate::house::{House, PATIENCE};
use crate::tenants::OURS_AND_THEIRS;
use crate::tokens::{Guarded, start, started};

async fn clients(house: &House) -> (DebateServiceClient<Channel>, AuditServiceClient<Channel>) {
    let channel = house.channel().await;
    (DebateServiceClient::new(channel.clone()), AuditServiceClient::new(channel))
}

async fn concluded(engine: &Engine, id: &str) {
    assert!(engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
}

async fn open(client: &mut DebateServiceClient<Channel>) -> String {
    client.start_debate(start("")).await.unwrap().into_inner().debate.unwrap().id
}

#[tokio::test]
async fn k17_a_debate_is_paused_and_goes_on() {
    let house = House::quiet().await;
    let (mut client, _) = clients(&house).await;
    let debate_id = open(&mut client).await;
    let pause = v1::PauseDebateRequest { debate_id: debate_id.clone() };
    let resume = v1::ResumeDebateRequest { debate_id: debate_id.clone() };
    assert_eq!(client.resume_debate(resume.clone()).await.unwrap_err().code(), Code::FailedPrecondition);
    let paused = client.pause_debate(pause.clone()).await.unwrap().into_inner().debate.unwrap();
    assert_eq!(paused.state(), v1::DebateState::Paused);
    assert_eq!(client.pause_debate(pause).await.unwrap_err().code(), Code::FailedPrecondition);
    let resumed = client.resume_debate(resume).await.unwrap().into_inner().debate.unwrap();
    assert_eq!(resumed.state(), v1::DebateState::Running);
    house.let_all_answer();
    concluded(&house.engine, &debate_id).await;
}

#[tokio::test]
async fn k24_resume_drives_a_void_debate_over_grpc_and_rest() {
    let house = House::quiet().await;
    let (mut client, _) = clients(&house).await;
    let debate_id = open(&mut client).await;
    let resume = v1::ResumeDebateRequest { debate_id: debate_id.clone() };
    let running = v1::ListDebatesRequest {
        states: vec![v1::DebateState::Running.into()],
        ..v1::ListDebatesRequest::default()
    };
    for interface in ["grpc", "rest"] {
        let cancel = v1::CancelDebateRequest { debate_id: debate_id.clone(), ..Default::default() };
        client.cancel_debate(cancel).await.unwrap();
        concluded(&house.engine, &debate_id).await;
        assert_eq!(client.list_debates(running.clone()).await.unwrap().into_inner().debates, []);
        if interface == "grpc" {
            let resumed = client.resume_debate(resume.clone()).await.unwrap().into_inner().debate.unwrap();
            assert_eq!(resumed.state(), v1::DebateState::Running);
        } else {
            let path = format!("/api/v1/debates/{debate_id}/resume");
            let resumed = house.ask("POST", &path, &[], b"").await;
            let state = resumed.json()["debate"]["state"].clone();
            assert_eq!((resumed.status, state), (200, json!("running")));
        }
        let listed = client.list_debates(running.clone()).await.unwrap().into_inner().debates;
        assert_eq!(listed.iter().map(|debate| &debate.id).collect::<Vec<_>>(), [&debate_id]);
    }
    house.let_all_answer();
    concluded(&house.engine, &debate_id).await;
    let log = house.engine.log(debate_id.parse().unwrap(), None).await.unwrap();
    let reopened = log.iter().filter(|event| event.kind == "reopened");
    assert_eq!(reopened.map(|event| &*event.actor).collect::<Vec<_>>(), ["grpc", "rest"]);
    let refused = client.resume_debate(resume).await.unwrap_err();
    assert_eq!(refused.code(), Code::FailedPrecondition);
    assert!(refused.message().contains("has concluded with a result"), "{refused:?}");
    let refused = house.ask("POST", &format!("/api/v1/debates/{debate_id}/resume"), &[], b"").await;
    assert_eq!((refused.status, &refused.json()["reason"]), (409, &json!("WRONG_STATE")));
}

#[tokio::test]
async fn k17_rounds_are_added_to_a_roundtable_over_grpc_and_rest() {
    let house = House::open().await;
    let (mut client, _) = clients(&house).await;
    let table = json!({ "format": "roundtable", "topic": "Tabs?", "mode": "delphi", "agents": ["ada", "ben", "cy"], "rounds": 1 });
    let opened = house.ask("POST", "/api/v1/debates", &[], table.to_string().as_bytes()).await.json();
    let debate_id = opened["debate"]["id"].as_str().unwrap().to_owned();
    concluded(&house.engine, &debate_id).await;
    let asked = |rounds, focus: &str| v1::ContinueDebateRequest {
        debate_id: debate_id.clone(),
        rounds,
        focus: focus.to_owned(),
    };
    let refused = client.continue_debate(asked(Some(0), &"x".repeat(2_001))).await.unwrap_err();
    let fields = refused.get_error_details().bad_request().unwrap().field_violations.clone();
    let fields: Vec<_> = fields.into_iter().map(|one| one.field).collect();
    assert_eq!(
        (refused.code(), fields),
        (Code::InvalidArgument, vec!["rounds".to_owned(), "focus".to_owned()])
    );
    let more = client.continue_debate(asked(None, "Who pays?")).await.unwrap().into_inner().debate.unwrap();
    assert_eq!((more.id.as_str(), more.format.as_str()), (debate_id.as_str(), "roundtable"));
    concluded(&house.engine, &debate_id).await;

    let path = format!("/api/v1/debates/{debate_id}/continue");
    for (body, reason) in [
        (r#"{"rounds": "2", "mode": "x"}"#, "INVALID_REQUEST"),
        (r#"{"rounds": 9}"#, "WRONG_STATE"),
        ("[", "INVALID_REQUEST"),
    ] {
        let refused = house.ask("POST", &path, &[], body.as_bytes()).await;
        assert_eq!(refused.json()["reason"], reason, "{body}: {}", refused.json());
    }
    let more = house.ask("POST", &path, &[], br#"{"rounds": 2, "focus": "And who decides?"}"#).await;
    assert_eq!((more.status, &more.json()["debate"]["id"]), (200, &json!(debate_id)));
    concluded(&house.engine, &debate_id).await;
    let log = house.engine.log(debate_id.parse().unwrap(), None).await.unwrap();
    let added: Vec<_> = log.iter().filter(|event| event.kind == "continued").collect();
    let said: Vec<_> =
        added.iter().map(|event| (event.prose.as_ref().unwrap().text.as_str(), &*event.actor)).collect();
    assert_eq!(said, [("\"Who pays?\"", "grpc"), ("\"And who decides?\"", "rest")]);
    assert_eq!(log.iter().filter(|event| event.kind == "concluded").count(), 3);
    assert!(house.engine.verify(debate_id.parse().unwrap()).await.unwrap().fault.is_none());

    let plain = json!({ "format": "deliberation", "topic": "Tabs?", "mode": "weak", "participants": ["a", "b"], "orchestrator": "m" });
    let opened = house.ask("POST", "/api/v1/debates", &[], plain.to_string().as_bytes()).await.json();
    let id = opened["debate"]["id"].as_str().unwrap().to_owned();
    concluded(&house.engine, &id).await;
    let never =
        client.continue_debate(v1::ContinueDebateRequest { debate_id: id, ..Default::default() }).await;
    assert_eq!(never.unwrap_err().code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn p20_a_debate_is_read_in_parts_and_resolved() {
    let house = House::quiet().await;
    let (mut client, _) = clients(&house).await;
    let debate_id = open(&mut client).await;
    let consensus = v1::GetConsensusRequest { debate_id: debate_id.clone() };
    let share = v1::GetEnsembleContributionRequest { debate_id: debate_id.clone() };
    assert_eq!(client.get_consensus(consensus.clone()).await.unwrap_err().code(), Code::FailedPrecondition);
    assert_eq!(
        client.get_ensemble_contribution(share.clone()).await.unwrap_err().code(),
        Code::FailedPrecondition
    );
    let rounds = v1::ListRoundsRequest { debate_id: debate_id.clone() };
    assert_eq!(client.list_rounds(rounds.clone()).await.unwrap().into_inner().rounds, []);
    house.let_all_answer();
    concluded(&house.engine, &debate_id).await;
    let get =
        v1::GetDebateRequest { debate_id: debate_id.clone(), include_result: true, ..Default::default() };
    let Some(DebateOutcome::Prediction(result)) = client.get_debate(get).await.unwrap().into_inner().result
    else {
        panic!("a prediction has a prediction's result");
    };
    assert_eq!(
        client.list_rounds(rounds).await.unwrap().into_inner().rounds,
        result.debate_log.unwrap().rounds
    );
    let said = |role: &str| v1::ListArgumentsRequest { debate_id: debate_id.clone(), role: role.to_owned() };
    let spoken = client.list_arguments(said("optimist")).await.unwrap().into_inner().arguments;
    assert_eq!(
        spoken.iter().map(|argument| argument.point.as_str()).collect::<Vec<_>>(),
        ["r1.optimist", "r2.optimist"]
    );
    assert_eq!(client.list_arguments(said("historian")).await.unwrap_err().code(), Code::NotFound);
    let agreed = client.get_consensus(consensus).await.unwrap().into_inner();
    assert_eq!(agreed.probability_distribution, result.probability_distribution);
    let share = client.get_ensemble_contribution(share).await.unwrap().into_inner();
    assert_eq!((share.source.as_str(), share.weight, share.rounds_completed), ("debate", 0.15, 2));
    let shares: Vec<f64> = share.distribution.iter().map(|outcome| outcome.probability).collect();
    let finals: Vec<f64> =
        result.probability_distribution.iter().map(|outcome| outcome.probability).collect();
    assert_eq!((shares, share.judge_confidence), (finals, result.extra.unwrap().confidence));
    let resolve = |outcome: &str, seconds| v1::ResolveDebateRequest {
        debate_id: debate_id.clone(),
        outcome_id: outcome.to_owned(),
        happened_at: Some(prost_types::Timestamp { seconds, nanos: 0 }),
    };
    assert_eq!(
        client.resolve_debate(resolve("maybe", 0)).await.unwrap_err().code(),
        Code::FailedPrecondition
    );
    assert_eq!(
        client.resolve_debate(resolve("yes", i64::MAX)).await.unwrap_err().code(),
        Code::InvalidArgument
    );
    client.resolve_debate(resolve("yes", 0)).await.unwrap();
    assert_eq!(client.resolve_debate(resolve("yes", 0)).await.unwrap_err().code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn arguments_are_listed_of_those_alone_who_take_part() {
    let house = House::open().await;
    let (mut client, _) = clients(&house).await;
    for request in [
        json!({ "format": "roundtable", "topic": "Tabs?", "agents": ["ada", "ben"], "rounds": 1 }),
        json!({ "format": "deliberation", "topic": "Tabs?", "mode": "weak", "participants": ["ada", "ben"] }),
    ] {
        let opened = house.ask("POST", "/api/v1/debates", &[], request.to_string().as_bytes()).await.json();
        let debate_id = opened["debate"]["id"].as_str().unwrap().to_owned();
        concluded(&house.engine, &debate_id).await;
        let said = |role: &str| v1::ListArgumentsRequest { debate_id: debate_id.clone(), role: role.into() };
        let ada = client.list_arguments(said("ada")).await.unwrap().into_inner();
        assert_ne!(ada, v1::ListArgumentsResponse::default(), "{request}");
        let unknown = client.list_arguments(said("unknown")).await.unwrap_err();
        assert_eq!(unknown.code(), Code::NotFound, "{request}");
    }
}

#[tokio::test]
async fn a_clients_deadline_becomes_the_debates_and_never_a_later_one() {
    let house = House::open().await;
    let (mut client, _) = clients(&house).await;
    for (timeout_s, deadline_s) in [(Some(60), 55), (Some(1_200), 110), (None, 110)] {
        let mut request = Request::new(v1::HoldDebateRequest { start: Some(start("")), read_mask: None });
        if let Some(seconds) = timeout_s {
            request.set_timeout(Duration::from_secs(seconds));
        }
        let held = client.hold_debate(request).await.unwrap().into_inner().held.unwrap();
        let debate = held.debate.unwrap();
        assert!(held.result.is_some());
        let took = debate.deadline_at.unwrap().seconds - debate.opened_at.unwrap().seconds;
        assert!((took - deadline_s).abs() <= 1, "{timeout_s:?}: {took}");
    }
}

#[tokio::test]
async fn large_answers_are_cut_to_what_is_wanted() {
    let house = House::open().await;
    let (mut client, mut audits) = clients(&house).await;
    let paths =
        |paths: &[&str]| Some(FieldMask { paths: paths.iter().map(|path| (*path).to_owned()).collect() });
    let read_mask = paths(&["held.debate.id", "held.prediction.consensus_score"]);
    let held = client.hold_debate(v1::HoldDebateRequest { start: Some(start("")), read_mask }).await.unwrap();
    let held = held.into_inner().held.unwrap();
    let id = held.debate.unwrap().id;
    let Some(DebateOutcome::Prediction(result)) = held.result else { panic!("no result") };
    assert!(result.consensus_score.is_some_and(|score| score > 0.0) && result.debate_log.is_none());
    let replay =
        v1::ReplayDebateRequest { debate_id: id.clone(), at_seq: 1, read_mask: paths(&["debate.state"]) };
    let replayed = audits.replay_debate(replay).await.unwrap().into_inner();
    assert_eq!((replayed.result, replayed.debate.unwrap().id.as_str()), (None, ""));
    let get = v1::GetDebateRequest { debate_id: id, include_result: true, read_mask: paths(&["weather"]) };
    let refused = client.get_debate(get).await.unwrap_err();
    let violations = refused.get_error_details().bad_request().unwrap().field_violations.clone();
    assert_eq!((refused.code(), violations[0].field.as_str()), (Code::InvalidArgument, "read_mask.paths[0]"));
}

#[tokio::test]
async fn all_debates_of_a_tenant_are_followed_and_resumed_without_loss_or_repeats() {
    for (ours, theirs) in OURS_AND_THEIRS {
        all_are_followed(ours, theirs).await;
    }
}

/// Looks whether all debates of one tenant are followed, and none of another.
async fn all_are_followed(ours: &str, theirs: &str) {
    let guarded = Guarded::open().await;
    guarded.house.let_all_answer();
    let of = |tenant| guarded.token_of(tenant, Scope::Admin);
    let mut ours = guarded.debates(&of(ours)).await;
    let mut theirs = guarded.debates(&of(theirs)).await;
    let foreign = started(&mut theirs, "").await;
    let ids = [started(&mut ours, "").await, started(&mut ours, "").await];
    for id in ids.iter().chain([&foreign]) {
        concluded(&guarded.house.engine, id).await;
    }
    let mut wanted = Vec::new();
    for id in &ids {
        let log = guarded.house.engine.log(id.parse().unwrap(), None).await.unwrap();
        wanted.extend(log.iter().map(|event| (id.clone(), event.seq.0)));
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    while seen.len() < wanted.len() {
        let watch = v1::WatchDebatesRequest { cursor: cursor.clone(), ..Default::default() };
        let mut stream = ours.watch_debates(watch).await.unwrap().into_inner();
        for _ in 0..20.min(wanted.len() - seen.len()) {
            let item = stream.message().await.unwrap().unwrap();
            seen.push((item.debate_id, item.event.unwrap().seq));
            cursor = item.cursor;
        }
    }
    for id in &ids {
        let of_one =
            |all: &[(String, u64)]| all.iter().filter(|(its, _)| its == id).cloned().collect::<Vec<_>>();
        assert_eq!(of_one(&seen), of_one(&wanted));
    }
    assert_eq!(seen.len(), wanted.len());
    for (cursor, only_new) in [("nonsense", false), (&*cursor, true)] {
        let watch = v1::WatchDebatesRequest { cursor: cursor.to_owned(), only_new, ..Default::default() };
        assert_eq!(ours.watch_debates(watch).await.unwrap_err().code(), Code::InvalidArgument);
    }
    let watch = v1::WatchDebatesRequest { cursor, ..Default::default() };
    assert_eq!(theirs.watch_debates(watch).await.unwrap_err().code(), Code::InvalidArgument);
    let watch = v1::WatchDebatesRequest { only_new: true, ..Default::default() };
    let mut stream = theirs.watch_debates(watch).await.unwrap().into_inner();
    let new = started(&mut theirs, "").await;
    assert_eq!(stream.message().await.unwrap().unwrap().debate_id, new);
}

async fn bundle(audits: &mut AuditServiceClient<Channel>, debate_id: &str) -> String {
    let export = v1::ExportBundleRequest { debate_id: debate_id.to_owned() };
    let mut stream = audits.export_bundle(export).await.unwrap().into_inner();
    let mut bytes = Vec::new();
    while let Some(response) = stream.message().await.unwrap() {
        bytes.extend(response.piece);
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn k14_a_debate_is_forked_compared_exported_and_redacted() {
    let house = House::open().await;
    let (mut client, mut audits) = clients(&house).await;
    let parent = open(&mut client).await;
    concluded(&house.engine, &parent).await;
    let fork = |change: &str, at_seq| v1::ForkDebateRequest {
        debate_id: parent.clone(),
        at_seq,
        change: change.to_owned(),
    };
    let forked = audits.fork_debate(fork("without=optimist", 0)).await.unwrap_err();
    assert_eq!(
        forked.code(),
        Code::FailedPrecondition,
        "at least two roles are needed in addition to the judge"
    );
    let child = audits.fork_debate(fork("pooling=log_odds", 0)).await.unwrap().into_inner().debate.unwrap();
    assert_eq!(child.forked_from.as_ref().unwrap().change, "pooling=log_odds");
    assert_eq!(audits.fork_debate(fork("weather=fine", 0)).await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(audits.fork_debate(fork("", 99_999)).await.unwrap_err().code(), Code::OutOfRange);
    concluded(&house.engine, &child.id).await;
    let diff = v1::DiffDebatesRequest { debate_id_a: parent.clone(), debate_id_b: child.id.clone() };
    let compared = audits.diff_debates(diff).await.unwrap().into_inner();
    assert_eq!(compared.moves.len(), 2);
    let mut check = BundleCheck::new(None, None);
    for line in bundle(&mut audits, &child.id).await.lines() {
        check.push(line).unwrap();
    }
    let report = check.finish().unwrap();
    assert_eq!((report.is_sound(), report.streams.len()), (true, 2));
    let redact = |seq| v1::RedactDebateRequest { debate_id: parent.clone(), seq };
    assert_eq!(audits.redact_debate(redact(99_999)).await.unwrap_err().code(), Code::FailedPrecondition);
    let gone = audits.redact_debate(redact(0)).await.unwrap().into_inner();
    assert!(gone.deleted > 0 && gone.recorded == gone.deleted);
    let verify = v1::VerifyDebateRequest { debate_id: parent.clone() };
    assert!(audits.verify_debate(verify).await.unwrap().into_inner().ok);
    assert_eq!(audits.fork_debate(fork("", 0)).await.unwrap_err().code(), Code::FailedPrecondition);
}

#[tokio::test]
async fn k15_an_event_that_somebody_added_to_a_log_is_a_fault_that_names_it() {
    let house = House::open().await;
    let (mut client, mut audits) = clients(&house).await;
    let id = open(&mut client).await;
    concluded(&house.engine, &id).await;
    let log = house.engine.log(id.parse().unwrap(), None).await.unwrap();
    let head = log.last().unwrap();
    // Anyone with access to the store can chain events that could not have happened.
    let mut forged = Envelope { seq: head.seq.next(), ..log[0].clone() };
    forged.hash = hash_of(&head.hash, &forged);
    house.engine.store().append(Append::new(forged.stream, head.seq, vec![forged])).await.unwrap();
    let verify = v1::VerifyDebateRequest { debate_id: id };
    let found = audits.verify_debate(verify).await.unwrap().into_inner();
    assert_eq!((found.ok, found.fault.unwrap().seq), (false, head.seq.next().0));
}

#[tokio::test]
async fn k15_words_whose_deletion_is_on_record_are_not_exported_though_they_be_there_still() {
    let house = House::open().await;
    let (mut client, mut audits) = clients(&house).await;
    let id = open(&mut client).await;
    concluded(&house.engine, &id).await;
    let log = house.engine.log(id.parse().unwrap(), None).await.unwrap();
    let (last, worded) = (log.last().unwrap(), log.iter().find(|event| event.prose.is_some()).unwrap());
    let is_exported =
        |bundle: String| bundle.contains(&json!(worded.prose.as_ref().unwrap().text).to_string());
    assert!(is_exported(bundle(&mut audits, &id).await));
    // As a deletion that was cut short leaves it: it is on record, and nothing is deleted.
    let head = Head { seq: last.seq, hash: last.hash };
    let author = Author { tenant: String::new(), actor: "test".to_owned(), trace: None };
    let record: Event<Prediction> = Event::Kernel(KernelEvent::Redacted(Redacted { seq: worded.seq }));
    let record = seal(last.stream, head, &author, last.at, &[record], || [0; 16]).into_envelopes();
    house.engine.store().append(Append::new(last.stream, last.seq, record)).await.unwrap();
    assert!(!is_exported(bundle(&mut audits, &id).await));
}

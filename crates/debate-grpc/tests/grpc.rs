//! The gRPC services over real TCP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod house;

use debate_core::formats::accept::accept;
use debate_grpc::{ServeError, ServeOptions, serve};
use debate_proto::v1;
use debate_proto::v1::audit_service_client::AuditServiceClient;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use debate_proto::v1::start_debate_request::Format;
use debate_proto::v1::watch_debate_response::Item;
use futures::StreamExt as _;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_types::StatusExt as _;

use house::{House, PATIENCE};

const UNKNOWN_ID: &str = "6f1c2a4e-0000-4000-8000-000000000000";

async fn debates(house: &House) -> DebateServiceClient<Channel> {
    DebateServiceClient::new(house.channel().await)
}

async fn audits(house: &House) -> AuditServiceClient<Channel> {
    AuditServiceClient::new(house.channel().await)
}

/// The short request of the house, as a message.
fn prediction() -> v1::DebateRequest {
    let number = |number| prost_types::Value::from(number);
    let outcome = |id: &str| v1::Outcome { id: id.to_owned(), ..Default::default() };
    let prior = |id: &str, probability| v1::OutcomePrior { outcome_id: id.to_owned(), probability };
    v1::DebateRequest {
        task_id: "t-1".to_owned(),
        prediction_context: Some(v1::PredictionContext {
            task: Some(prost_types::Value::from("Will the harbour freeze before January?".to_owned())),
            outcomes: vec![outcome("yes"), outcome("no")],
            key_variables: vec![v1::KeyVariable {
                name: "Water temperature".to_owned(),
                current_value: Some(number(3.5)),
                ..Default::default()
            }],
            simulation_summary: Some(v1::SimulationSummary {
                final_distribution: vec![prior("yes", 0.3), prior("no", 0.7)],
                ..Default::default()
            }),
            ..Default::default()
        }),
        config: Some(v1::DebateConfig {
            rounds: Some(2),
            roles: ["optimist", "pessimist", "judge"].map(str::to_owned).to_vec(),
            ..Default::default()
        }),
        options: Some(v1::DebateOptions { seed: Some(7), ..Default::default() }),
    }
}

fn start(request_id: &str) -> v1::StartDebateRequest {
    let format = Some(Format::Prediction(prediction()));
    v1::StartDebateRequest { request_id: request_id.to_owned(), format }
}

async fn started(client: &mut DebateServiceClient<Channel>) -> String {
    let response = client.start_debate(start("")).await.unwrap().into_inner();
    response.debate.unwrap().id
}

async fn watch(
    client: &mut DebateServiceClient<Channel>,
    request: v1::WatchDebateRequest,
) -> tonic::Streaming<v1::WatchDebateResponse> {
    client.watch_debate(request).await.unwrap().into_inner()
}

/// Reads a stream to its end.
async fn rest(mut stream: tonic::Streaming<v1::WatchDebateResponse>) -> Vec<Item> {
    let mut items = Vec::new();
    let all = async {
        while let Some(response) = stream.next().await {
            items.push(response.unwrap().item.unwrap());
        }
    };
    tokio::time::timeout(PATIENCE, all).await.expect("the stream ends with the debate");
    items
}

fn events(items: &[Item]) -> Vec<&v1::Event> {
    let mut events = Vec::new();
    for item in items {
        match item {
            Item::Event(event) => events.push(event),
            Item::Chunk(_) | Item::AttemptDropped(_) | Item::Heartbeat(_) => {}
        }
    }
    events
}

async fn whole_log(house: &House, debate_id: &str) -> Vec<v1::Event> {
    let mut client = audits(house).await;
    let mut log: Vec<v1::Event> = Vec::new();
    loop {
        let after_seq = log.last().map_or(0, |event| event.seq);
        let request = v1::ReadLogRequest { debate_id: debate_id.to_owned(), after_seq, page_size: 7 };
        let page = client.read_log(request).await.unwrap().into_inner();
        assert!(page.events.len() <= 7);
        log.extend(page.events);
        if log.last().is_some_and(|last| last.seq == page.head_seq) {
            return log;
        }
    }
}

fn reason(status: &Status) -> String {
    status.get_error_details().error_info().expect("every error says its reason").reason.clone()
}

#[tokio::test]
async fn k10_a_watch_shows_every_event_live_text_and_ends_with_the_debate() {
    let house = House::quiet().await;
    let mut client = debates(&house).await;
    let response = client.start_debate(start("")).await.unwrap().into_inner();
    let debate = response.debate.unwrap();
    assert_eq!((debate.state(), debate.phase.as_str()), (v1::DebateState::Running, "opening"));
    let request =
        v1::WatchDebateRequest { debate_id: debate.id.clone(), include_tokens: true, ..Default::default() };
    let stream = watch(&mut client, request).await;
    house.let_all_answer();
    let items = rest(stream).await;
    assert_eq!(events(&items), whole_log(&house, &debate.id).await.iter().collect::<Vec<_>>());
    let spoken =
        items.iter().any(|item| matches!(item, Item::Chunk(chunk) if chunk.call == "argue/1/optimist"));
    assert!(spoken, "live text of the optimist");
    let asked = v1::GetDebateRequest { debate_id: debate.id, include_result: true, ..Default::default() };
    let got = client.get_debate(asked).await.unwrap().into_inner();
    let debate = got.debate.unwrap();
    assert_eq!((debate.state(), debate.stop_reason.as_str()), (v1::DebateState::Concluded, "max_rounds"));
    assert_eq!((debate.spend.unwrap().calls, debate.simulated), (13, Some(true)));
    let Some(v1::get_debate_response::Result::Prediction(result)) = got.result else { panic!() };
    let sum: f64 = result.probability_distribution.iter().map(|entry| entry.probability).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
}

#[tokio::test]
async fn k10_a_reconnecting_client_sees_each_event_once() {
    let house = House::quiet().await;
    let debate_id = started(&mut debates(&house).await).await;
    let mut seen: Vec<v1::Event> = Vec::new();
    for (answers, events) in [(0, 3), (2, 5), (3, 4)] {
        house.let_answer(answers);
        // A client of its own each time: dropping it closes the connection.
        let mut client = debates(&house).await;
        let after_seq = seen.last().map_or(0, |event| event.seq);
        let request =
            v1::WatchDebateRequest { debate_id: debate_id.clone(), after_seq, ..Default::default() };
        let mut stream = watch(&mut client, request).await;
        for _ in 0..events {
            let item = tokio::time::timeout(PATIENCE, stream.next()).await.unwrap().unwrap().unwrap();
            let Some(Item::Event(event)) = item.item else { panic!("{item:?}") };
            seen.push(event);
        }
    }
    let after_seq = seen.last().map_or(0, |event| event.seq);
    let mut client = debates(&house).await;
    let request = v1::WatchDebateRequest { debate_id: debate_id.clone(), after_seq, ..Default::default() };
    let stream = watch(&mut client, request).await;
    house.let_all_answer();
    seen.extend(events(&rest(stream).await).into_iter().cloned());
    assert_eq!(seen, whole_log(&house, &debate_id).await);
    let numbers: Vec<u64> = seen.iter().map(|event| event.seq).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_watch_of_rounds_and_judgements_leaves_out_the_calls_behind_them() {
    let house = House::open().await;
    let mut client = debates(&house).await;
    let debate_id = started(&mut client).await;
    let kinds = v1::WatchKinds::RoundsAndJudgements.into();
    let request = v1::WatchDebateRequest { debate_id, kinds, ..Default::default() };
    let items = rest(watch(&mut client, request).await).await;
    let mut counts = std::collections::BTreeMap::new();
    for event in events(&items) {
        *counts.entry(event.kind.as_str()).or_insert(0) += 1;
    }
    assert_eq!(
        counts.into_iter().collect::<Vec<_>>(),
        [
            ("argument_made", 6),
            ("argument_scored", 6),
            ("concluded", 1),
            ("judgement_rendered", 1),
            ("opened", 1),
            ("phase_closed", 2),
            ("phase_opened", 2),
            ("round_summarised", 2),
            ("stop_rule_fired", 1),
        ]
    );
}

#[tokio::test]
async fn k12_all_violations_come_as_details_and_nothing_is_recorded() {
    let house = House::open().await;
    let mut client = debates(&house).await;
    let mut wrong = prediction();
    wrong.task_id.clear();
    wrong.config.as_mut().unwrap().rounds = Some(11);
    wrong.config.as_mut().unwrap().roles.push("jester".to_owned());
    let wrong =
        v1::StartDebateRequest { request_id: "a b".to_owned(), format: Some(Format::Prediction(wrong)) };
    let fields = |refused: Status| {
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::InvalidArgument, "INVALID_REQUEST"));
        let details = refused.get_error_details();
        let violations = details.bad_request().unwrap().field_violations.iter();
        violations.map(|violation| violation.field.clone()).collect::<Vec<_>>()
    };
    let of_debate = ["task_id", "config.rounds", "config.roles[3]"];
    let refused = client.start_debate(wrong.clone()).await.unwrap_err();
    assert_eq!(fields(refused), [&["request_id"][..], &of_debate].concat());
    let mask = |path: &str, count| Some(prost_types::FieldMask { paths: vec![path.to_owned(); count] });
    let of_no_format = v1::StartDebateRequest { request_id: "a b".to_owned(), format: None };
    for (start, read_mask, named) in [
        (of_no_format, mask("weather", 1), vec!["start.request_id", "read_mask.paths[0]", "format"]),
        (start(""), mask("weather", 1), vec!["read_mask.paths[0]"]),
        (start(""), mask("held", 101), vec!["read_mask"]),
        (wrong, mask("weather", 1), [&["start.request_id", "read_mask.paths[0]"][..], &of_debate].concat()),
    ] {
        let held = v1::HoldDebateRequest { start: Some(start), read_mask };
        assert_eq!(fields(client.hold_debate(held).await.unwrap_err()), named);
    }
    let listed = client.list_debates(v1::ListDebatesRequest::default()).await.unwrap().into_inner();
    assert_eq!(listed, v1::ListDebatesResponse::default());
}

#[tokio::test]
async fn k12_errors_too_long_for_headers_are_cut_to_fit() {
    let house = House::open().await;
    let mut client = debates(&house).await;
    let mut wrong = prediction();
    wrong.prediction_context.as_mut().unwrap().key_variables = vec![v1::KeyVariable::default(); 100];
    let request = v1::StartDebateRequest { format: Some(Format::Prediction(wrong)), ..Default::default() };
    let refused = client.start_debate(request).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::InvalidArgument, "INVALID_REQUEST"));
    let details = refused.get_error_details();
    let (last, fitting) = details.bad_request().unwrap().field_violations.split_last().unwrap();
    assert!(
        fitting.len() > 30 && fitting[0].field == "prediction_context.key_variables[0].name",
        "{fitting:?}"
    );
    assert_eq!((&*last.field, &*last.description), ("request", "breaks more rules than fit here"));
    let debate_id = "é".repeat(500_000);
    let refused = client.get_debate(v1::GetDebateRequest { debate_id, ..Default::default() }).await;
    assert_eq!(reason(&refused.unwrap_err()), "DEBATE_NOT_FOUND");
}

#[tokio::test]
async fn k11_a_request_id_opens_one_debate_over_either_interface() {
    let house = House::open().await;
    let mut client = debates(&house).await;
    let first = client.start_debate(start("key-1")).await.unwrap().into_inner();
    let again = client.start_debate(start("key-1")).await.unwrap().into_inner();
    assert_eq!((first.existing, again.existing), (false, true));
    let id = first.debate.unwrap().id;
    assert_eq!(again.debate.unwrap().id, id);
    let json = debate_grpc::from_proto::request_json(start("key-1")).unwrap();
    accept(&json).unwrap();
    let over_rest = house.post(&[("Idempotency-Key", "key-1")], json.as_bytes()).await;
    assert_eq!((over_rest.status, over_rest.debate_id()), (200, id.clone()));
    let mut other = start("key-1");
    other.format = Some(Format::Prediction(v1::DebateRequest { task_id: "t-2".to_owned(), ..prediction() }));
    let refused = client.start_debate(other).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::AlreadyExists, "REQUEST_ID_TAKEN"));
    let details = refused.get_error_details();
    assert_eq!(details.error_info().unwrap().metadata.get("debate_id"), Some(&id));
}

#[tokio::test]
async fn k9_cancelling_ends_a_debate_with_what_there_is() {
    let house = House::quiet().await;
    let mut client = debates(&house).await;
    let debate_id = started(&mut client).await;
    let request = v1::CancelDebateRequest { debate_id: debate_id.clone(), reason: "enough".to_owned() };
    let cancelled = client.cancel_debate(request.clone()).await.unwrap().into_inner().debate.unwrap();
    assert_eq!(
        (cancelled.state(), cancelled.stop_reason.as_str()),
        (v1::DebateState::Concluded, "cancelled")
    );
    assert_eq!(cancelled.completeness.unwrap().state, "void");
    let refused = client.cancel_debate(request).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::FailedPrecondition, "WRONG_STATE"));
    assert!(refused.get_error_details().precondition_failure().is_some());
    let log = whole_log(&house, &debate_id).await;
    let cancelled = log.iter().find(|event| event.kind == "cancelled").unwrap();
    assert_eq!((cancelled.actor.as_str(), cancelled.prose_json.as_deref()), ("grpc", Some("\"enough\"")));
}

#[tokio::test]
async fn errors_have_codes_that_clients_can_act_on() {
    let house = House::open().await;
    let mut client = debates(&house).await;
    let debate_id = started(&mut client).await;
    for id in [UNKNOWN_ID, "nonsense", ""] {
        let asked = v1::GetDebateRequest { debate_id: id.to_owned(), ..Default::default() };
        let refused = client.get_debate(asked).await.unwrap_err();
        assert_eq!((refused.code(), reason(&refused).as_str()), (Code::NotFound, "DEBATE_NOT_FOUND"), "{id}");
    }
    let beyond =
        v1::WatchDebateRequest { debate_id: debate_id.clone(), after_seq: 9_999, ..Default::default() };
    let refused = client.watch_debate(beyond).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::OutOfRange, "BEYOND_HEAD"));
    let beyond = v1::ReplayDebateRequest { debate_id, at_seq: 9_999, read_mask: None };
    assert_eq!(audits(&house).await.replay_debate(beyond).await.unwrap_err().code(), Code::OutOfRange);
    let empty = v1::StartDebateRequest::default();
    assert_eq!(client.start_debate(empty).await.unwrap_err().code(), Code::InvalidArgument);
    let list = v1::ListDebatesRequest { page_token: "x".to_owned(), ..Default::default() };
    assert_eq!(client.list_debates(list).await.unwrap_err().code(), Code::InvalidArgument);
}

#[tokio::test]
async fn k8_money_is_shown_and_limited_over_both_interfaces() {
    let house = House::open().await;
    let mut client = debates(&house).await;
    let limited = |cost_micros_max: u64| {
        let limits = v1::LimitsOption { cost_micros_max: Some(cost_micros_max), ..Default::default() };
        let options = v1::DebateOptions { limits: Some(limits), ..Default::default() };
        let request = v1::DebateRequest { options: Some(options), ..prediction() };
        v1::StartDebateRequest { format: Some(Format::Prediction(request)), ..Default::default() }
    };
    let refused = client.start_debate(limited(1)).await.unwrap_err();
    let details = refused.get_error_details();
    let violation = &details.bad_request().unwrap().field_violations[0];
    assert_eq!(violation.field, "options.limits.cost_micros_max");
    let json = debate_grpc::from_proto::request_json(limited(1_000_000)).unwrap();
    let answered = house.post(&[], json.as_bytes()).await;
    assert_eq!(answered.status, 200);
    let get =
        v1::GetDebateRequest { debate_id: answered.debate_id(), include_result: true, ..Default::default() };
    let found = client.get_debate(get).await.unwrap().into_inner();
    let debate = found.debate.unwrap();
    let cost = debate.spend.unwrap().cost.unwrap();
    assert!(cost.complete && cost.cost_micros > 0 && cost.cost_micros == cost.cost_micros_bound);
    assert_eq!(debate.unpriced_models, Vec::<String>::new());
    let Some(v1::get_debate_response::Result::Prediction(result)) = found.result else { panic!("a result") };
    assert_eq!(result.extra.unwrap().cost, Some(cost));
}

#[tokio::test]
async fn debates_are_listed_by_page_format_and_state() {
    let house = House::quiet().await;
    let mut client = debates(&house).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(started(&mut client).await);
    }
    let cancel = v1::CancelDebateRequest { debate_id: ids[0].clone(), reason: String::new() };
    client.cancel_debate(cancel).await.unwrap();
    ids.reverse();
    let mut request = v1::ListDebatesRequest { page_size: 2, ..Default::default() };
    let first = client.list_debates(request.clone()).await.unwrap().into_inner();
    request.page_token = first.next_page_token;
    let second = client.list_debates(request).await.unwrap().into_inner();
    assert_eq!(second.next_page_token, "");
    let listed: Vec<_> = first.debates.iter().chain(&second.debates).collect();
    assert_eq!(listed.iter().map(|debate| &debate.id).collect::<Vec<_>>(), ids.iter().collect::<Vec<_>>());
    assert_eq!(listed[0].title, "Will the harbour freeze before January?");
    assert_eq!(
        (listed[0].state(), listed[2].state()),
        (v1::DebateState::Running, v1::DebateState::Concluded)
    );
    let states = vec![v1::DebateState::Concluded.into()];
    let request = v1::ListDebatesRequest { states, format: "prediction".to_owned(), ..Default::default() };
    let concluded = client.list_debates(request).await.unwrap().into_inner().debates;
    assert_eq!(concluded.iter().map(|debate| &debate.id).collect::<Vec<_>>(), [&ids[2]]);
    assert!(concluded[0].spend.is_some(), "what was spent is in the list, too");
    let request = v1::ListDebatesRequest { format: "deliberation".to_owned(), ..Default::default() };
    assert_eq!(client.list_debates(request).await.unwrap().into_inner().debates, []);
}

#[tokio::test]
async fn k4_the_audit_replays_any_moment_and_verifies_the_whole() {
    let house = House::open().await;
    let mut client = debates(&house).await;
    let debate_id = started(&mut client).await;
    rest(
        watch(&mut client, v1::WatchDebateRequest { debate_id: debate_id.clone(), ..Default::default() })
            .await,
    )
    .await;
    let log = whole_log(&house, &debate_id).await;
    let mut audit = audits(&house).await;
    let first_summary = log.iter().find(|event| event.kind == "round_summarised").unwrap().seq;
    let request =
        v1::ReplayDebateRequest { debate_id: debate_id.clone(), at_seq: first_summary, read_mask: None };
    let then = audit.replay_debate(request).await.unwrap().into_inner();
    let debate = then.debate.unwrap();
    assert_eq!((debate.head_seq, debate.state()), (first_summary, v1::DebateState::Running));
    let Some(v1::replay_debate_response::Result::Prediction(result)) = then.result else { panic!() };
    // The second round had begun when the scores of the first were there.
    assert_eq!((result.debate_log.unwrap().rounds.len(), result.completed_at.as_str()), (2, ""));
    let request = v1::VerifyDebateRequest { debate_id: debate_id.clone() };
    let found = audit.verify_debate(request).await.unwrap().into_inner();
    let last = log.last().unwrap();
    assert_eq!((found.ok, found.events, found.outcomes_checked), (true, last.seq, 1));
    assert_eq!((found.head_hash, found.fault), (last.hash.clone(), None));
}

#[tokio::test]
async fn the_token_is_asked_for_everywhere_but_at_health() {
    let options =
        ServeOptions { token: Some("a-secret-of-some-length".to_owned()), ..ServeOptions::default() };
    let house = House::with(options, "simulated:7").await;
    let mut client = debates(&house).await;
    let refused = client.list_debates(v1::ListDebatesRequest::default()).await.unwrap_err();
    assert_eq!((refused.code(), reason(&refused).as_str()), (Code::Unauthenticated, "TOKEN_NEEDED"));
    let mut request = Request::new(v1::ListDebatesRequest::default());
    request.metadata_mut().insert("authorization", "Bearer a-secret-of-some-length".parse().unwrap());
    client.list_debates(request).await.unwrap();
    assert_eq!(health(&house).await, ServingStatus::Serving);
    let refused = reflected(&house).await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
}

async fn health(house: &House) -> ServingStatus {
    let service = "debate.v1.DebateService".to_owned();
    let request = tonic_health::pb::HealthCheckRequest { service };
    HealthClient::new(house.channel().await).check(request).await.unwrap().into_inner().status()
}

/// Returns the services that reflection lists.
async fn reflected(house: &House) -> Result<Vec<String>, Status> {
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
    let ask = |what| ServerReflectionRequest { host: String::new(), message_request: Some(what) };
    let asked = [
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol("debate.v1.DebateService".to_owned())),
    ];
    let mut client = ServerReflectionClient::new(house.channel().await);
    let mut answers = client.server_reflection_info(futures::stream::iter(asked)).await?.into_inner();
    let listed = answers.next().await.unwrap()?.message_response;
    let Some(MessageResponse::ListServicesResponse(listed)) = listed else { panic!("{listed:?}") };
    let found = answers.next().await.unwrap()?.message_response;
    assert!(matches!(found, Some(MessageResponse::FileDescriptorResponse(_))), "{found:?}");
    Ok(listed.service.into_iter().map(|service| service.name).collect())
}

#[tokio::test]
async fn reflection_lists_every_service_in_both_of_its_versions() {
    let house = House::quiet().await;
    let services = reflected(&house).await.unwrap();
    for name in ["debate.v1.AuditService", "debate.v1.DebateService", "grpc.health.v1.Health"] {
        assert!(services.iter().any(|service| service == name), "{name} is not in {services:?}");
    }
    use tonic_reflection::pb::v1alpha::ServerReflectionRequest;
    use tonic_reflection::pb::v1alpha::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1alpha::server_reflection_request::MessageRequest;
    let ask = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut client = ServerReflectionClient::new(house.channel().await);
    let mut answers = client.server_reflection_info(futures::stream::iter([ask])).await.unwrap().into_inner();
    assert!(answers.next().await.unwrap().is_ok());
}

#[tokio::test]
async fn an_unknown_method_is_unimplemented() {
    let house = House::quiet().await;
    let answer =
        house.ask("POST", "/debate.v1.Nothing/Do", &[("content-type", "application/grpc")], b"").await;
    assert_eq!((answer.status, answer.header("grpc-status")), (200, Some("12")));
}

#[tokio::test]
async fn a_shutdown_ends_streams_with_unavailable_and_then_the_server() {
    let house = House::quiet().await;
    let mut client = debates(&house).await;
    let debate_id = started(&mut client).await;
    let request = v1::WatchDebateRequest { debate_id, ..Default::default() };
    let mut stream = watch(&mut client, request).await;
    assert!(stream.next().await.unwrap().is_ok());
    house.shut_down();
    let last = loop {
        match stream.next().await.unwrap() {
            Ok(_) => {}
            Err(status) => break status,
        }
    };
    assert_eq!((last.code(), reason(&last).as_str()), (Code::Unavailable, "SHUTTING_DOWN"));
    assert!(last.get_error_details().retry_info().is_some());
    drop((stream, client));
    house.ended().await.unwrap();
}

#[tokio::test]
async fn without_a_token_only_this_machine_is_served() {
    let house = House::quiet().await;
    let listener = tokio::net::TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = serve(listener, house.engine.clone(), ServeOptions::default(), async {}).await;
    assert!(matches!(refused, Err(ServeError::TokenNeeded { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_token_of_less_than_16_printable_characters_is_none() {
    let house = House::quiet().await;
    for (token, is_one) in [
        ("", false),
        ("1", false),
        ("fifteen-of-them", false),
        ("sixteen-of-them-", true),
        ("sixteen of them ", false),
        ("sixteen-öf-them-", false),
    ] {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let options = ServeOptions { token: Some(token.to_owned()), ..ServeOptions::default() };
        match serve(listener, house.engine.clone(), options, async {}).await {
            Ok(()) => assert!(is_one, "{token:?}"),
            Err(ServeError::Token) => assert!(!is_one, "{token:?}"),
            Err(error) => panic!("{error}"),
        }
    }
}

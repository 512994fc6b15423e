//! What one token may use: requests, bytes, money.

use std::num::NonZeroU32;
use std::time::Duration;

use debate_grpc::tokens::{Scope, TokenLimits, TokenWishes};
use debate_proto::v1;
use serde_json::Value;
use tonic::{Code, Status};
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_types::StatusExt as _;

use crate::house::{PATIENCE, request};
use crate::tokens::{Bearer, Guarded, start, started, wishes};

fn limited(limits: TokenLimits) -> TokenWishes {
    TokenWishes { limits, ..wishes("app", &[Scope::Read, Scope::Write]) }
}

fn list() -> v1::ListDebatesRequest {
    v1::ListDebatesRequest::default()
}

/// Asks for a debate that may cost so many millionths of a US dollar.
pub(crate) fn costing(cost_micros_max: u64) -> v1::StartDebateRequest {
    let mut request = start("");
    if let Some(v1::start_debate_request::Format::Prediction(prediction)) = &mut request.format {
        let limits = v1::LimitsOption { cost_micros_max: Some(cost_micros_max), ..Default::default() };
        prediction.options = Some(v1::DebateOptions { limits: Some(limits), ..Default::default() });
    }
    request
}

fn wait_of(status: &Status) -> Option<Duration> {
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    status.get_error_details().retry_info().and_then(|info| info.retry_delay)
}

#[tokio::test]
async fn too_many_requests_are_refused_with_the_time_to_wait() {
    let guarded = Guarded::open().await;
    let limits = TokenLimits { requests_per_minute: NonZeroU32::new(1), ..TokenLimits::default() };
    let token = guarded.token(limited(limits));
    let mut client = guarded.debates(&token).await;
    client.list_debates(list()).await.unwrap();
    let refused = client.list_debates(list()).await.unwrap_err();
    let wait = wait_of(&refused).unwrap();
    assert!(wait > Duration::ZERO && wait <= Duration::from_secs(60), "{wait:?}");
    let bearer = format!("Bearer {token}");
    let refused = guarded.house.post(&[("Authorization", &bearer)], b"{}").await;
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert_eq!((refused.status, (1..=60).contains(&wait)), (429, true));
    let other = guarded.token(wishes("other", &[Scope::Read]));
    guarded.debates(&other).await.list_debates(list()).await.unwrap();
}

#[tokio::test]
async fn a_stream_counts_as_a_request_for_as_long_as_it_runs() {
    let guarded = Guarded::open().await;
    let limits = TokenLimits { requests_at_once: NonZeroU32::new(1), ..TokenLimits::default() };
    let token = guarded.token(limited(limits));
    let mut client = guarded.debates(&token).await;
    let id = started(&mut client, "").await;
    let watch = v1::WatchDebateRequest { debate_id: id, ..Default::default() };
    let mut stream = client.watch_debate(watch).await.unwrap().into_inner();
    let refused = client.list_debates(list()).await.unwrap_err();
    assert!(wait_of(&refused).is_some());
    let other = guarded.token(TokenWishes { name: "other".to_owned(), ..limited(limits) });
    guarded.debates(&other).await.list_debates(list()).await.unwrap();
    guarded.house.let_all_answer();
    while stream.message().await.unwrap().is_some() {}
    client.list_debates(list()).await.unwrap();
}

#[tokio::test]
async fn longer_requests_than_the_token_allows_are_refused_over_both_protocols() {
    let guarded = Guarded::open().await;
    let limits = TokenLimits { request_bytes_max: NonZeroU32::new(64), ..TokenLimits::default() };
    let token = guarded.token(limited(limits));
    let refused = guarded.debates(&token).await.start_debate(start("")).await.unwrap_err();
    assert_eq!((refused.code(), wait_of(&refused)), (Code::ResourceExhausted, None));
    let bearer = format!("Bearer {token}");
    let refused = guarded.house.post(&[("Authorization", &bearer)], request().to_string().as_bytes()).await;
    assert_eq!((refused.status, &refused.json()["reason"]), (413, &"REQUEST_TOO_LONG".into()));
}

#[tokio::test]
async fn what_a_token_may_send_in_a_request_holds_for_reflection_too() {
    let guarded = Guarded::open().await;
    let limits = TokenLimits { request_bytes_max: NonZeroU32::new(64), ..TokenLimits::default() };
    let few = guarded.token(limited(limits));
    let many = guarded.token(wishes("other", &[Scope::Read]));
    for (token, bytes, is_answered) in [(&few, 10, true), (&few, 100, false), (&many, 100, true)] {
        let channel = guarded.house.channel().await;
        let mut client = ServerReflectionClient::with_interceptor(channel, Bearer(token.clone()));
        let message_request = Some(MessageRequest::ListServices(String::new()));
        let asked = ServerReflectionRequest { host: "x".repeat(bytes), message_request };
        let answers = client.server_reflection_info(futures::stream::iter([asked])).await;
        let answered = match answers {
            Ok(answers) => answers.into_inner().message().await,
            Err(refused) => Err(refused),
        };
        assert_eq!(matches!(answered, Ok(Some(_))), is_answered, "{bytes} bytes: {answered:?}");
    }
}

#[tokio::test]
async fn k8_what_a_token_may_spend_in_a_day_is_counted_from_the_log() {
    let guarded = Guarded::open().await;
    let limits = TokenLimits {
        debate_cost_micros_max: Some(600_000),
        day_cost_micros_max: Some(1_000_000),
        ..TokenLimits::default()
    };
    let token = guarded.token(limited(limits));
    let mut client = guarded.debates(&token).await;
    let first = started(&mut client, "first").await;
    let second = started(&mut client, "second").await;
    let refused = client.start_debate(start("third")).await.unwrap_err();
    assert!(wait_of(&refused).is_some(), "600,000 and the 400,000 left may be spent by two that run");
    let again = client.start_debate(start("first")).await.unwrap().into_inner();
    assert!(again.existing, "what is known costs nothing more");
    guarded.house.let_all_answer();
    for id in [&first, &second] {
        assert!(guarded.house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    }
    started(&mut client, "third").await;
    let refused = client.start_debate(costing(700_000)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    let violations = refused.get_error_details().bad_request().unwrap().field_violations.clone();
    assert_eq!(violations[0].field, "options.limits.cost_micros_max");
    let log = guarded.house.engine.log(second.parse().unwrap(), None).await.unwrap();
    assert!(log[0].body.contains("\"cost_micros_max\":400000"), "{}", log[0].body);
}

#[tokio::test]
async fn k8_a_token_whose_debates_may_each_cost_so_much_begins_none_that_may_cost_more() {
    let guarded = Guarded::open().await;
    let other = guarded.token(wishes("other", &[Scope::Write]));
    let unlimited = started(&mut guarded.debates(&other).await, "unlimited").await;
    let limits = TokenLimits { debate_cost_micros_max: Some(600_000), ..TokenLimits::default() };
    let token = guarded.token(limited(limits));
    let (mut debates, mut audits) = (guarded.debates(&token).await, guarded.audits(&token).await);
    let refused = debates.start_debate(costing(600_001)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    let fork = v1::ForkDebateRequest { debate_id: unlimited, ..Default::default() };
    let refused = audits.fork_debate(fork).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    let own = started(&mut debates, "own").await;
    let log = guarded.house.engine.log(own.parse().unwrap(), None).await.unwrap();
    assert!(log[0].body.contains("\"cost_micros_max\":600000"), "{}", log[0].body);
}

#[tokio::test]
async fn a_token_has_so_many_debates_at_one_time_however_they_came_to_run() {
    let guarded = Guarded::open().await;
    let limits = TokenLimits { debates_at_once: NonZeroU32::new(2), ..TokenLimits::default() };
    let token = guarded.token(limited(limits));
    let mut client = guarded.debates(&token).await;
    let paused = started(&mut client, "first").await;
    let pause = v1::PauseDebateRequest { debate_id: paused.clone() };
    client.pause_debate(pause).await.unwrap();
    let second = started(&mut client, "second").await;
    started(&mut client, "third").await;
    let refused = client.start_debate(start("fourth")).await.unwrap_err();
    assert!(wait_of(&refused).is_some(), "two run");
    let resume = || v1::ResumeDebateRequest { debate_id: paused.clone() };
    assert!(wait_of(&client.resume_debate(resume()).await.unwrap_err()).is_some());
    let again = client.start_debate(start("second")).await.unwrap().into_inner();
    assert!(again.existing, "what is known runs already");
    let other = guarded.token(wishes("other", &[Scope::Write]));
    let mut others = guarded.debates(&other).await;
    started(&mut others, "other").await;
    let cancel = v1::CancelDebateRequest { debate_id: second, ..Default::default() };
    client.cancel_debate(cancel).await.unwrap();
    client.resume_debate(resume()).await.unwrap();
    client.pause_debate(v1::PauseDebateRequest { debate_id: paused.clone() }).await.unwrap();
    others.resume_debate(resume()).await.unwrap();
    let refused = client.start_debate(start("fourth")).await.unwrap_err();
    assert!(wait_of(&refused).is_some(), "what it started counts, no matter which client resumes it");
}

#[tokio::test]
async fn k8_rounds_that_a_token_adds_to_the_debates_of_others_are_its_own_money_of_the_day() {
    let guarded = Guarded::open().await;
    guarded.house.let_answer(1_000);
    let other = guarded.token(wishes("other", &[Scope::Read, Scope::Write]));
    let mut others = guarded.debates(&other).await;
    let mut concluded = Vec::new();
    for id in ["one", "two"] {
        let table = v1::RoundtableRequest {
            topic: "Should we move?".to_owned(),
            agents: ["ada", "bo"]
                .map(|name| v1::RoundtableAgent { name: name.to_owned(), ..Default::default() })
                .to_vec(),
            rounds: Some(1),
            options: Some(v1::RoundtableOptions {
                limits: Some(v1::LimitsOption { cost_micros_max: Some(600_000), ..Default::default() }),
                ..Default::default()
            }),
            ..Default::default()
        };
        let format = Some(v1::start_debate_request::Format::Roundtable(table));
        let request = v1::StartDebateRequest { request_id: id.to_owned(), format };
        let debate = others.start_debate(request).await.unwrap().into_inner().debate.unwrap();
        assert!(guarded.house.engine.concluded(debate.id.parse().unwrap(), PATIENCE).await.unwrap());
        concluded.push(debate.id);
    }
    guarded.house.forbid_answers();
    let limits = TokenLimits { day_cost_micros_max: Some(1_000_000), ..TokenLimits::default() };
    let mut client = guarded.debates(&guarded.token(limited(limits))).await;
    let more = |id: &String| v1::ContinueDebateRequest { debate_id: id.clone(), ..Default::default() };
    client.continue_debate(more(&concluded[0])).await.unwrap();
    let refused = client.continue_debate(more(&concluded[1])).await.unwrap_err();
    assert!(wait_of(&refused).is_some(), "the rounds added to the first may cost most of what there is");
    others.continue_debate(more(&concluded[1])).await.unwrap();
    // What others spend is theirs, as is what the first had cost before it went on.
    let log = guarded.house.engine.log(concluded[0].parse().unwrap(), None).await.unwrap();
    let ended = log.iter().find(|event| event.kind == "concluded").unwrap();
    let ended: Value = serde_json::from_str(&ended.body).unwrap();
    let before = ended["spend"]["cost"]["cost_micros_bound"].as_u64().unwrap();
    let left = 1_000_000 - (600_000 - before);
    assert!(wait_of(&client.start_debate(costing(left + 1)).await.unwrap_err()).is_some() && before > 0);
    client.start_debate(costing(left)).await.unwrap();
}

#[tokio::test]
async fn k8_a_fork_is_let_in_like_a_start_by_its_models_its_money_and_what_runs() {
    let guarded = Guarded::open().await;
    let other = guarded.token(wishes("other", &[Scope::Write]));
    let unlimited = started(&mut guarded.debates(&other).await, "unlimited").await;
    let limits = TokenLimits {
        debate_cost_micros_max: Some(600_000),
        day_cost_micros_max: Some(1_200_000),
        debates_at_once: NonZeroU32::new(2),
        ..TokenLimits::default()
    };
    let token = guarded.token(limited(limits));
    let (mut debates, mut audits) = (guarded.debates(&token).await, guarded.audits(&token).await);
    let fork = |debate_id: &str, change: &str| v1::ForkDebateRequest {
        debate_id: debate_id.to_owned(),
        change: change.to_owned(),
        ..Default::default()
    };
    let refused = audits.fork_debate(fork(&unlimited, "")).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "its cost is not limited");
    let own = started(&mut debates, "own").await;
    for change in ["model=simulated:8", "model.roles.judge=openai:gpt-5"] {
        let refused = audits.fork_debate(fork(&own, change)).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{change} is not offered: {refused:?}");
    }
    let forked = audits.fork_debate(fork(&own, "")).await.unwrap().into_inner().debate.unwrap().id;
    let refused = audits.fork_debate(fork(&own, "")).await.unwrap_err();
    assert!(wait_of(&refused).is_some() && refused.message().contains("at one time"), "two run: {refused:?}");
    let cancel = v1::CancelDebateRequest { debate_id: forked, ..Default::default() };
    debates.cancel_debate(cancel).await.unwrap();
    guarded.house.let_all_answer();
    assert!(guarded.house.engine.concluded(own.parse().unwrap(), PATIENCE).await.unwrap());
    guarded.house.forbid_answers();
    let anew = v1::ForkDebateRequest { at_seq: 1, ..fork(&own, "") };
    audits.fork_debate(anew.clone()).await.unwrap();
    let refused = audits.fork_debate(anew).await.unwrap_err();
    assert!(wait_of(&refused).is_some(), "what the first fork may cost is taken from the day");
    assert!(refused.message().contains("1200000"), "{refused:?}");
}

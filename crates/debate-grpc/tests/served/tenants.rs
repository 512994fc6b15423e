//! Tenants see nothing of one another.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::sync::Arc;

use debate_core::codec::{self, Author, Head};
use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::id::{DebateId, Digest, Timestamp};
use debate_core::policy::event::{PolicyEvent, ProposalAccepted};
use debate_engine::Engine;
use debate_grpc::tokens::{Scope, TokenLimits, TokenWishes};
use debate_prompts::prediction::PredictionPrompts;
use debate_proto::v1;
use debate_proto::v1::policy_service_client::PolicyServiceClient;
use debate_store::{Archive as _, EventStore as _, Position};
use prost_reflect::{DescriptorPool, FieldDescriptor};
use serde_json::json;
use tonic::{Code, Status};

use crate::house::{PATIENCE, request};
use crate::moody_store::MoodyStore;
use crate::tokens::{Audits, Bearer, Debates, Guarded, start, started, wishes};

/// Asks every method that takes a debate's id for this one, and returns what each said.
#[allow(clippy::needless_update, reason = "some requests have no other field")]
async fn ask_all(
    debates: &mut Debates,
    audits: &mut Audits,
    id: &str,
) -> Vec<(&'static str, Result<(), Status>)> {
    let debate_id = || id.to_owned();
    macro_rules! ask {
        ($client:ident.$method:ident($request:ident)) => {{
            let request = v1::$request { debate_id: debate_id(), ..Default::default() };
            (stringify!($method), $client.$method(request).await.map(drop))
        }};
    }
    let diff = v1::DiffDebatesRequest { debate_id_a: debate_id(), debate_id_b: debate_id() };
    vec![
        ask!(debates.get_debate(GetDebateRequest)),
        ask!(debates.watch_debate(WatchDebateRequest)),
        ask!(debates.cancel_debate(CancelDebateRequest)),
        ask!(debates.pause_debate(PauseDebateRequest)),
        ask!(debates.resume_debate(ResumeDebateRequest)),
        ask!(debates.continue_debate(ContinueDebateRequest)),
        ask!(debates.resolve_debate(ResolveDebateRequest)),
        ask!(debates.list_rounds(ListRoundsRequest)),
        ask!(debates.list_arguments(ListArgumentsRequest)),
        ask!(debates.get_consensus(GetConsensusRequest)),
        ask!(debates.get_ensemble_contribution(GetEnsembleContributionRequest)),
        ask!(audits.read_log(ReadLogRequest)),
        ask!(audits.replay_debate(ReplayDebateRequest)),
        ask!(audits.verify_debate(VerifyDebateRequest)),
        ask!(audits.fork_debate(ForkDebateRequest)),
        ask!(audits.export_bundle(ExportBundleRequest)),
        ask!(audits.redact_debate(RedactDebateRequest)),
        ("diff_debates", audits.diff_debates(diff).await.map(drop)),
    ]
}

/// Returns the names of all methods that take a debate's id.
fn methods_of_debates() -> BTreeSet<String> {
    let pool = DescriptorPool::decode(v1::FILE_DESCRIPTOR_SET).unwrap();
    let methods = pool.services().flat_map(|service| service.methods().collect::<Vec<_>>());
    let takes_id = |field: FieldDescriptor| field.name().starts_with("debate_id");
    let methods = methods.filter(|method| method.input().fields().any(takes_id));
    let snake = |name: &str| {
        name.chars().fold(String::new(), |mut snake, c| {
            if c.is_ascii_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.push(c.to_ascii_lowercase());
            snake
        })
    };
    methods.map(|method| snake(method.name())).collect()
}

/// Returns every route that takes a debate's id, by the served description, with its first round and judge.
async fn routes_of_debates(guarded: &Guarded, token: &str) -> Vec<(String, String)> {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", &*bearer)];
    let described = guarded.house.ask("GET", "/api/v1/openapi.json", &headers, b"").await.json();
    let mut routes = Vec::new();
    for (path, methods) in described["paths"].as_object().unwrap() {
        let path = path.replace("{round_number}", "1").replace("{role_name}", "judge");
        if path.contains("{debate_id}") {
            let methods =
                methods.as_object().unwrap().keys().filter(|key| ["get", "post"].contains(&&***key));
            routes.extend(methods.map(|method| (method.to_uppercase(), path.clone())));
        }
    }
    assert!(routes.len() > 7 && routes.iter().any(|(method, _)| method == "POST"), "{routes:?}");
    routes
}

/// Whose a debate is, and who asks for it: who has no tenant is a tenant like others.
pub(crate) const OURS_AND_THEIRS: [(&str, &str); 3] = [("ours", "theirs"), ("ours", ""), ("", "theirs")];

#[tokio::test]
async fn another_tenants_debate_is_not_there_over_either_interface() {
    for (ours, theirs) in OURS_AND_THEIRS {
        is_not_there_over_either_interface(ours, theirs).await;
    }
}

async fn is_not_there_over_either_interface(ours: &str, theirs: &str) {
    let guarded = Guarded::open().await;
    guarded.house.let_all_answer();
    let of = |tenant| guarded.token_of(tenant, Scope::Admin);
    let (ours, theirs) = (of(ours), of(theirs));
    let mut debates = guarded.debates(&ours).await;
    let id = started(&mut debates, "same").await;
    assert!(guarded.house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    let mut strangers = (guarded.debates(&theirs).await, guarded.audits(&theirs).await);
    let unknown_id = "6f1c2a4e-0000-4000-8000-000000000000";
    let unknown = ask_all(&mut strangers.0, &mut strangers.1, unknown_id).await;
    let foreign = ask_all(&mut strangers.0, &mut strangers.1, &id).await;
    let asked = foreign.iter().map(|(method, _)| (*method).to_owned()).collect();
    assert_eq!(methods_of_debates(), asked, "every method that takes a debate's id is asked");
    for ((method, foreign), (_, unknown)) in foreign.into_iter().zip(unknown) {
        let (foreign, unknown) = (foreign.unwrap_err(), unknown.unwrap_err());
        assert_eq!(foreign.code(), Code::NotFound, "{method}");
        assert_eq!(foreign.message().replace(&id, unknown_id), unknown.message(), "{method}");
    }
    let list = v1::ListDebatesRequest::default();
    assert_eq!(strangers.0.list_debates(list.clone()).await.unwrap().into_inner().debates, []);
    assert_eq!(debates.list_debates(list).await.unwrap().into_inner().debates.len(), 1);
    let routes = routes_of_debates(&guarded, &ours).await;
    let head = guarded.house.engine.log(id.parse().unwrap(), None).await.unwrap().len().to_string();
    let ways = [("application/json", None), ("text/event-stream", None), ("text/event-stream", Some(&*head))];
    for ((method, route), (accept, last)) in routes.iter().flat_map(|route| ways.map(|way| (route, way))) {
        let body: &[u8] = if route.ends_with("/resolution") { br#"{"outcome_id": "yes"}"# } else { b"{}" };
        let ask = async |token: &str, id: &str| {
            let bearer = format!("Bearer {token}");
            let headers = [("Authorization", &*bearer), ("Accept", accept)].into_iter();
            let headers: Vec<_> = headers.chain(last.map(|last| ("Last-Event-ID", last))).collect();
            let path = route.replace("{debate_id}", id);
            let answer = guarded.house.ask(method, &path, &headers, body).await;
            (answer.status, answer.body.replace(id, "ID"))
        };
        let foreign = ask(&theirs, &id).await;
        assert_eq!((foreign.0, &foreign), (404, &ask(&theirs, unknown_id).await), "{method} {route}");
        if method == "GET" {
            let is_over = last.is_some() && route.ends_with("/events");
            assert_eq!(ask(&ours, &id).await.0, if is_over { 204 } else { 200 }, "{route}");
        }
    }
    let own = started(&mut strangers.0, "own").await;
    for (a, b) in [(&id, &own), (&own, &id)] {
        let diff = v1::DiffDebatesRequest { debate_id_a: a.clone(), debate_id_b: b.clone() };
        assert_eq!(strangers.1.diff_debates(diff).await.unwrap_err().code(), Code::NotFound);
    }
    let bearer = format!("Bearer {theirs}");
    let listed = guarded.house.ask("GET", "/api/v1/debates", &[("Authorization", &bearer)], b"").await;
    let listed = listed.json()["debates"].clone();
    assert_eq!((listed.as_array().unwrap().len(), &listed[0]["id"]), (1, &json!(own)));
    for (method, done) in ask_all(&mut debates, &mut guarded.audits(&ours).await, &id).await {
        let code = done.map_or_else(|status| status.code(), |()| Code::Ok);
        assert!(code != Code::NotFound || method == "list_arguments", "{method}: {code:?}");
    }
}

#[tokio::test]
async fn unknown_and_foreign_debates_are_looked_up_alike() {
    let store = Arc::new(MoodyStore::default());
    let model = debate_llm::debater("simulated:7".parse().unwrap());
    let engine = Engine::builder(Arc::clone(&store) as _, Arc::new(model)).format(PredictionPrompts).build();
    let guarded = Guarded::of(engine).await;
    let of = |tenant| guarded.token_of(tenant, Scope::Admin);
    let (ours, theirs) = (of("ours"), of("theirs"));
    let id = started(&mut guarded.debates(&ours).await, "").await;
    assert!(guarded.house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    guarded.house.engine.shut_down().await;
    let routes = routes_of_debates(&guarded, &ours).await;
    let mut strangers = (guarded.debates(&theirs).await, guarded.audits(&theirs).await);
    let bearer = format!("Bearer {theirs}");
    let mut looked_up = Vec::new();
    for id in ["6f1c2a4e-0000-4000-8000-000000000000", &id] {
        let debate: DebateId = id.parse().unwrap();
        // Each second the server asks its store for the head of no debate.
        let its = || {
            let mut its = store.looked_up();
            its.retain(|(stream, _)| *stream != DebateId(uuid::Uuid::nil()).into());
            its.into_iter().map(|(stream, what)| (stream == debate.into(), what)).collect::<Vec<_>>()
        };
        its();
        let asked = ask_all(&mut strangers.0, &mut strangers.1, id).await;
        assert!(asked.iter().all(|(_, done)| done.is_err()), "{asked:?}");
        let mut lookups = vec![its()];
        for (method, route) in &routes {
            let path = route.replace("{debate_id}", id);
            let body: &[u8] = if path.ends_with("/resolution") { br#"{"outcome_id": "yes"}"# } else { b"{}" };
            let headers = [("Authorization", &*bearer)];
            assert_eq!(guarded.house.ask(method, &path, &headers, body).await.status, 404, "{path}");
            lookups.push(its());
        }
        assert!(lookups.iter().all(|its| !its.is_empty()), "all of them are looked up: {lookups:?}");
        looked_up.push(lookups);
    }
    assert_eq!(looked_up[0], looked_up[1]);
}

#[tokio::test]
async fn whatever_is_done_to_a_debate_is_recorded_as_its_tenants() {
    let guarded = Guarded::open().await;
    let token = guarded.token_of("ours", Scope::Admin);
    let (mut debates, mut audits) = (guarded.debates(&token).await, guarded.audits(&token).await);
    let id = started(&mut debates, "").await;
    let debate_id = || id.clone();
    debates.pause_debate(v1::PauseDebateRequest { debate_id: debate_id() }).await.unwrap();
    debates.resume_debate(v1::ResumeDebateRequest { debate_id: debate_id() }).await.unwrap();
    guarded.house.let_all_answer();
    assert!(guarded.house.engine.concluded(id.parse().unwrap(), PATIENCE).await.unwrap());
    let resolve = v1::ResolveDebateRequest {
        debate_id: debate_id(),
        outcome_id: "yes".to_owned(),
        ..Default::default()
    };
    debates.resolve_debate(resolve).await.unwrap();
    let change = "pooling=log_odds".to_owned();
    let fork = v1::ForkDebateRequest { debate_id: debate_id(), change, ..Default::default() };
    audits.fork_debate(fork).await.unwrap();
    audits.redact_debate(v1::RedactDebateRequest { debate_id: debate_id(), seq: 0 }).await.unwrap();
    let recorded = guarded.house.store.read_all(Position::START, 10_000).await.unwrap();
    for kind in ["opened", "paused", "resumed", "concluded", "resolved", "forked", "redacted"] {
        assert!(recorded.iter().any(|(_, event)| event.kind == kind), "{kind}");
    }
    // By this the stream of all debates tells whose they are.
    for (_, event) in recorded {
        assert_eq!(event.tenant, "ours", "{}", event.kind);
    }
}

#[tokio::test]
async fn v7_what_follows_from_reviews_of_all_tenants_is_for_none_of_them() {
    let guarded = Guarded::open().await;
    let tenant = TokenWishes { tenant: "ours".to_owned(), ..wishes("ours", &[Scope::Admin]) };
    let policy = "/api/v1/reasoning/policy";
    for (token, is_refused) in [
        (guarded.token(tenant), true),
        (guarded.token(wishes("auditor", &[Scope::Read, Scope::Write, Scope::Audit])), true),
        (guarded.token(wishes("operator", &[Scope::Admin])), false),
    ] {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", &*bearer), ("Content-Type", "application/json")];
        for (method, path, body) in [
            ("GET", "insights", &b""[..]),
            ("GET", "proposals?role=security", b""),
            ("POST", "proposals", br#"{"role": "security"}"#),
            ("POST", "acceptances", br#"{"role": "security"}"#),
        ] {
            let got = guarded.house.ask(method, &format!("{policy}/{path}"), &headers, body).await;
            assert_eq!(got.status == 403, is_refused, "{method} {path}: {got:?}");
        }
        let channel = guarded.house.channel().await;
        let mut client = PolicyServiceClient::with_interceptor(channel, Bearer(token));
        let role = || "security".to_owned();
        let propose = v1::ProposePromptRequest { role: role(), ..Default::default() };
        for (method, done) in [
            ("insights", client.get_policy_insights(v1::GetPolicyInsightsRequest::default()).await.map(drop)),
            (
                "get",
                client.get_proposal(v1::GetProposalRequest { role: role(), number: None }).await.map(drop),
            ),
            ("propose", client.propose_prompt(propose).await.map(drop)),
            (
                "accept",
                client.accept_prompt(v1::AcceptPromptRequest { role: role(), number: None }).await.map(drop),
            ),
        ] {
            let code = done.map_or_else(|status| status.code(), |()| Code::Ok);
            assert_eq!(code == Code::PermissionDenied, is_refused, "{method}: {code:?}");
        }
    }
}

#[tokio::test]
async fn v7_a_stream_of_all_debates_shows_nothing_of_proposals_for_prompts() {
    let guarded = Guarded::open().await;
    let accepted = PolicyEvent::from(ProposalAccepted { number: 1, digest: Digest::default() });
    let author = Author { tenant: String::new(), actor: "operator".to_owned(), trace: None };
    let stream = "security".parse::<ReviewerName>().unwrap().stream("");
    let sealed = codec::seal_records(stream, Head::NONE, &author, Timestamp(1), &[accepted], || [0; 16]);
    guarded.house.store.append(sealed.into()).await.unwrap();
    let mut client = guarded.debates(&guarded.token(wishes("app", &[Scope::Read, Scope::Write]))).await;
    let id = started(&mut client, "").await;
    let mut reader = guarded.debates(&guarded.token(wishes("reader", &[Scope::Read]))).await;
    let all = v1::WatchDebatesRequest { kinds: v1::WatchKinds::All.into(), ..Default::default() };
    let mut shown = reader.watch_debates(all).await.unwrap().into_inner();
    let first = shown.message().await.unwrap().unwrap();
    assert_eq!((first.debate_id, first.event.unwrap().seq), (id, 1));
}

#[tokio::test]
async fn k8_what_is_counted_nowhere_is_not_for_tokens_whose_money_is_limited() {
    let guarded = Guarded::open().await;
    let limited = |limits| guarded.token(TokenWishes { limits, ..wishes("limited", &[Scope::Admin]) });
    let some = Some(1_000_000);
    for (token, status, why) in [
        (
            limited(TokenLimits { day_cost_micros_max: some, ..TokenLimits::default() }),
            403,
            "its money is limited",
        ),
        (
            limited(TokenLimits { debate_cost_micros_max: some, ..TokenLimits::default() }),
            403,
            "its money is limited",
        ),
        (guarded.token(wishes("operator", &[Scope::Admin])), 409, "no folder of reviewers"),
    ] {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", &*bearer), ("Content-Type", "application/json")];
        let path = "/api/v1/reasoning/policy/proposals";
        let got = guarded.house.ask("POST", path, &headers, br#"{"role": "security"}"#).await;
        assert_eq!(got.status, status, "{}", got.body);
        assert!(got.body.contains(why), "{}", got.body);
    }
}

#[tokio::test]
async fn k11_a_request_id_is_each_tenants_own() {
    let guarded = Guarded::open().await;
    let of = |tenant| guarded.token_of(tenant, Scope::Write);
    let (one, other) = (of("one"), of("other"));
    let first = started(&mut guarded.debates(&one).await, "r-1").await;
    let again = guarded.debates(&one).await.start_debate(start("r-1")).await.unwrap().into_inner();
    assert_eq!((again.debate.unwrap().id, again.existing), (first.clone(), true));
    let second = guarded.debates(&other).await.start_debate(start("r-1")).await.unwrap().into_inner();
    assert!(!second.existing && second.debate.unwrap().id != first);
    // What a token allows is not asked of a request that is known: to its own tenant.
    let limits = TokenLimits { debates_at_once: NonZeroU32::MIN.into(), ..TokenLimits::default() };
    let third = TokenWishes { tenant: "third".to_owned(), limits, ..wishes("third", &[Scope::Write]) };
    let mut third = guarded.debates(&guarded.token(third)).await;
    started(&mut third, "r-2").await;
    assert!(third.start_debate(start("r-2")).await.unwrap().into_inner().existing);
    let refused = third.start_debate(start("r-1")).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted, "{refused:?}");
    let mut different = request();
    different["task_id"] = json!("t-9");
    let headers = [("Authorization", &*format!("Bearer {other}")), ("Idempotency-Key", "r-1")];
    let refused = guarded.house.post(&headers, different.to_string().as_bytes()).await;
    assert_eq!(refused.status, 409);
    assert_ne!(refused.debate_id(), first);
}

#[tokio::test]
async fn another_tenants_archived_debate_is_not_there_either() {
    for (ours, theirs) in OURS_AND_THEIRS {
        archived_is_not_there(ours, theirs).await;
    }
}

async fn archived_is_not_there(ours: &str, theirs: &str) {
    let guarded = Guarded::open().await;
    guarded.house.let_all_answer();
    let of = |tenant| guarded.token_of(tenant, Scope::Admin);
    let (ours, theirs) = (of(ours), of(theirs));
    let mut debates = guarded.debates(&ours).await;
    let id = started(&mut debates, "").await;
    let debate: DebateId = id.parse().unwrap();
    assert!(guarded.house.engine.concluded(debate, PATIENCE).await.unwrap());
    let store = &guarded.house.store;
    let head = store.head(debate.into()).await.unwrap().unwrap();
    store.archive(debate.into(), head, "secret.bundle", Timestamp(1)).await.unwrap();
    let get = v1::GetDebateRequest { debate_id: id.clone(), ..Default::default() };
    let error = debates.get_debate(get).await.unwrap_err();
    assert!(error.message().contains("secret.bundle"), "its own tenant learns where it is: {error:?}");
    let unknown_id = "6f1c2a4e-0000-4000-8000-000000000000";
    let mut strangers = (guarded.debates(&theirs).await, guarded.audits(&theirs).await);
    let unknown = ask_all(&mut strangers.0, &mut strangers.1, unknown_id).await;
    let foreign = ask_all(&mut strangers.0, &mut strangers.1, &id).await;
    for ((method, foreign), (_, unknown)) in foreign.into_iter().zip(unknown) {
        let (foreign, unknown) = (foreign.unwrap_err(), unknown.unwrap_err());
        assert_eq!(foreign.code(), Code::NotFound, "{method}");
        assert_eq!(foreign.message().replace(&id, unknown_id), unknown.message(), "{method}");
    }
    let bearer = format!("Bearer {theirs}");
    let path = format!("/api/v1/debates/{id}");
    let answer = guarded.house.ask("GET", &path, &[("Authorization", &bearer)], b"").await;
    assert_eq!((answer.status, answer.body.contains("bundle")), (404, false), "{answer:?}");
}

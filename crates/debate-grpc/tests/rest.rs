//! The contract's endpoints over real TCP (rule P22).

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "served/hearing.rs"]
mod hearing;
mod house;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use debate_core::request::sizes::REQUEST_BYTES_MAX;
use debate_core::request::{Violation, Violations};
use debate_grpc::ServeOptions;
use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use serde_json::json;

use hearing::Hearing;
use house::{House, PATIENCE, request};

const DEBATES: &str = "/api/v1/reasoning/debate";

fn body() -> Vec<u8> {
    request().to_string().into_bytes()
}

#[tokio::test]
async fn p22_a_debate_is_held_and_read_back_through_all_endpoints() {
    let house = House::open().await;
    let held = house.post(&[], &body()).await;
    assert_eq!((held.status, held.header("content-type")), (200, Some("application/json")));
    let result = held.json();
    assert_eq!((&result["task_id"], &result["extra"]["simulated"]), (&json!("t-1"), &json!(true)));
    assert_eq!(result["metadata"]["sonnet_calls"], json!(13), "3 roles × 2 rounds × 2 and the synthesis");
    let probabilities = result["probability_distribution"].as_array().unwrap();
    let sum: f64 = probabilities.iter().map(|entry| entry["probability"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    let debate = format!("{DEBATES}/{}", held.debate_id());
    let read = house.get(&debate).await;
    assert_eq!((read.status, read.body), (200, held.body.clone()));
    let round = house.get(&format!("{debate}/round/2")).await.json();
    assert_eq!(round["round"], result["debate_log"]["rounds"][1]);
    let role = house.get(&format!("{debate}/role/optimist")).await.json();
    let said: Vec<_> = (0..2).map(|n| result["debate_log"]["rounds"][n]["arguments"][0].clone()).collect();
    assert_eq!(role, json!({ "arguments": said }));
    let consensus = house.get(&format!("{debate}/consensus")).await.json();
    let names = ["consensus_score", "probability_distribution", "disagreement_map"];
    assert_eq!(consensus.as_object().unwrap().len(), names.len());
    names.iter().for_each(|name| assert_eq!(consensus[name], result[name]));
}

#[tokio::test]
async fn t10_a_roundtable_has_four_layers_over_rest_and_grpc_and_reads_well_as_markdown() {
    let house = House::open().await;
    let request = json!({
        "format": "roundtable",
        "topic": "Should we move?",
        "mode": "devils-advocate",
        "agents": ["ada", "bo", "cy"],
        "rounds": 2,
        "flags": { "exitCriteria": { "shadow": true, "confidenceThreshold": 0 } },
    });
    let held = house.post(&[], request.to_string().as_bytes()).await;
    assert_eq!(held.status, 200);
    let result = held.json();
    for layer in ["decision", "agent_responses", "evidence", "metadata"] {
        assert!(result.get(layer).is_some(), "{layer}: {result}");
    }
    assert_eq!(result["agent_responses"][1]["stance"], "NO");
    let id = held.debate_id();
    let document = house.ask("GET", &format!("{DEBATES}/{id}"), &[("Accept", "text/markdown")], b"").await;
    assert_eq!(document.header("content-type"), Some("text/markdown"));
    let text = document.body;
    for line in [
        "# Roundtable: Should we move?\n",
        "**Simulated:**",
        "## Decision",
        "### bo, opposition (round 2)\n",
        "- Would have stopped by: confidence (All agents confidence >= 0)",
        "| exit_criteria.shadow | true | session |",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let mut client = DebateServiceClient::new(house.channel().await);
    let request = v1::GetDebateRequest { debate_id: id, include_result: true, read_mask: None };
    let got = client.get_debate(request).await.unwrap().into_inner();
    let Some(v1::get_debate_response::Result::Roundtable(over_grpc)) = got.result else { panic!("{got:?}") };
    let (decision, metadata) = (over_grpc.decision.unwrap(), over_grpc.metadata.unwrap());
    assert_eq!(json!(decision.agreement_level), result["decision"]["agreement_level"]);
    assert_eq!(json!(decision.supporters), result["decision"]["supporters"]);
    assert_eq!(over_grpc.evidence.unwrap().rounds.len(), 2);
    assert!(metadata.shadow_exits.iter().any(|exit| exit.reason == "confidence"), "{metadata:?}");
    assert_eq!(metadata.exit.unwrap().reason, "max_rounds");
    assert_eq!(metadata.flags.iter().filter(|flag| flag.source == "session").count(), 2);
    assert_eq!(got.debate.unwrap().confidence, result["decision"]["confidence"].as_f64());
}

#[tokio::test]
async fn k12_all_violations_come_in_one_problem_and_nothing_is_recorded() {
    let house = House::open().await;
    let mut wrong = request();
    wrong["config"]["rounds"] = json!(0);
    wrong["prediction_context"]["outcomes"][1]["id"] = json!("yes");
    wrong["prediction_context"]["weather"] = json!("fine");
    let refused = house.post(&[("Idempotency-Key", "a b")], wrong.to_string().as_bytes()).await;
    assert_eq!((refused.status, refused.header("content-type")), (422, Some("application/problem+json")));
    let problem = refused.json();
    assert_eq!(problem["type"], "urn:debate:problem:invalid-request");
    let fields: Vec<_> = problem["errors"].as_array().unwrap().iter().map(|error| &error["field"]).collect();
    assert_eq!(
        fields,
        [
            "Idempotency-Key",
            "prediction_context.weather",
            "prediction_context.outcomes[1].id",
            "prediction_context.simulation_summary.final_distribution[1].outcome_id",
            "config.rounds",
        ]
    );
    for path in [DEBATES, "/api/v1/debates"] {
        let key = [("Idempotency-Key", "\u{e9}")];
        let refused = house.ask("POST", path, &key, br#"{"format":"deliberation"}"#).await.json();
        let fields = [0, 1].map(|place| &refused["errors"][place]["field"]);
        assert_eq!(fields, ["Idempotency-Key", "topic"], "{path}");
    }
    wrong["config"] = (0..150).map(|number| (format!("x{number}"), json!(1))).collect();
    let refused = house.post(&[("Idempotency-Key", "a b")], wrong.to_string().as_bytes()).await.json();
    let errors = refused["errors"].as_array().unwrap();
    let (first, last) = (&errors[0]["field"], &errors[100]["reason"]);
    assert_eq!((errors.len(), first, last), (101, &json!("Idempotency-Key"), &json!("breaks 54 more rules")));
    for (body, field) in [
        (&b"{"[..], "request"),
        (b"\"\xff\"", "request"),
        (br#"{"format":"x"}"#, "format"),
        (br#"{"format":3}"#, "format"),
    ] {
        let refused = house.post(&[("Idempotency-Key", "a b")], body).await;
        let errors = &refused.json()["errors"];
        let fields = [0, 1].map(|place| &errors[place]["field"]);
        assert_eq!((refused.status, fields), (422, [&json!("Idempotency-Key"), &json!(field)]), "{errors}");
    }
    let long = vec![b' '; REQUEST_BYTES_MAX + 1];
    assert_eq!(house.post(&[], &long).await.status, 413);
    assert_eq!(house.engine.store().list(Default::default()).await.unwrap(), []);
}

#[tokio::test]
async fn what_is_not_there_is_404() {
    let house = House::open().await;
    let held = house.post(&[], &body()).await;
    let debate = format!("{DEBATES}/{}", held.debate_id());
    for path in [
        format!("{DEBATES}/6f1c2a4e-0000-4000-8000-000000000000"),
        format!("{DEBATES}/nonsense"),
        format!("{debate}/round/3"),
        format!("{debate}/round/0"),
        format!("{debate}/round/x"),
        format!("{debate}/role/historian"),
        "/api/v2".to_owned(),
    ] {
        let missing = house.get(&path).await;
        assert_eq!((missing.status, &missing.json()["status"]), (404, &json!(404)), "{path}");
    }
    assert_eq!(house.ask("DELETE", &debate, &[], b"").await.status, 405);
    assert_eq!(house.get("/healthz").await.body, "ok");
}

#[tokio::test]
async fn p22_a_debate_that_still_runs_is_202_and_later_200() {
    let options = ServeOptions { patience: Duration::ZERO, ..ServeOptions::default() };
    let house = House::with(options, "simulated:7").await;
    let accepted = house.post(&[], &body()).await;
    assert_eq!(accepted.status, 202);
    let debate = format!("{DEBATES}/{}", accepted.debate_id());
    assert_eq!(accepted.header("location"), Some(debate.as_str()));
    assert_eq!(
        (&accepted.json()["status"], &accepted.json()["phase"]),
        (&json!("running"), &json!("opening"))
    );
    let paths = ["", "/round/1", "/round/2", "/role/judge", "/consensus"];
    for path in paths {
        assert_eq!(house.get(&format!("{debate}{path}")).await.status, 202, "{path}");
    }
    assert_eq!(house.get(&format!("{debate}/round/3")).await.status, 404);
    house.let_all_answer();
    let id = accepted.debate_id().parse().unwrap();
    assert!(house.engine.concluded(id, PATIENCE).await.unwrap());
    for path in paths {
        assert_eq!(house.get(&format!("{debate}{path}")).await.status, 200, "{path}");
    }
}

#[tokio::test]
async fn a_waiting_client_learns_its_debate_when_the_server_ends() {
    let house = House::quiet().await;
    let body = body();
    let (held, ()) = tokio::join!(house.post(&[], &body), async {
        while house.engine.held_count() == 0 {
            tokio::task::yield_now().await;
        }
        house.shut_down();
    });
    assert_eq!((held.status, &held.json()["status"]), (202, &json!("running")));
    house.ended().await.unwrap();
}

#[tokio::test]
async fn k11_the_same_key_gives_the_same_debate_and_refuses_another_request() {
    let house = House::open().await;
    let key = [("Idempotency-Key", "key-1")];
    let first = house.post(&key, &body()).await;
    let again = house.post(&key, &body()).await;
    assert_eq!((again.status, again.body), (200, first.body.clone()));
    let mut other = request();
    other["task_id"] = json!("t-2");
    let refused = house.post(&key, other.to_string().as_bytes()).await;
    assert_eq!((refused.status, refused.debate_id()), (409, first.debate_id()));
    assert_ne!(house.post(&[], &body()).await.debate_id(), first.debate_id());
}

#[tokio::test]
async fn p16_a_void_debate_is_503_and_named() {
    let house = House::with(ServeOptions::default(), "simulated:absent_role=optimist+pessimist").await;
    house.let_all_answer();
    let held = house.post(&[], &body()).await;
    assert_eq!((held.status, held.header("content-type")), (503, Some("application/problem+json")));
    assert_eq!(held.json()["reason"], "DEBATE_VOID");
    let debate = format!("{DEBATES}/{}", held.debate_id());
    assert_eq!(house.get(&debate).await.status, 503);
    assert_eq!(house.get(&format!("{debate}/consensus")).await.status, 503);
    assert_eq!(house.get(&format!("{debate}/role/judge")).await.status, 200);
}

#[tokio::test]
async fn p22_the_service_token_is_asked_for_everywhere_but_at_health() {
    let options =
        ServeOptions { token: Some("a-secret-of-some-length".to_owned()), ..ServeOptions::default() };
    let house = House::with(options, "simulated:7").await;
    house.let_all_answer();
    let refused = house.post(&[], &body()).await;
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(refused.json()["reason"], "TOKEN_NEEDED");
    assert_eq!(house.get("/healthz").await.status, 200);
    assert_eq!(house.post(&[("Authorization", "Bearer a-secret-of-some-length")], &body()).await.status, 200);
}

#[tokio::test]
async fn admission_has_the_last_word_before_anything_is_recorded() {
    let refusal = Violation { field: "config.rounds".to_owned(), reason: "does not fit".to_owned() };
    let admission = move |_: &mut _| Err(Violations::from(refusal.clone()));
    let options = ServeOptions { admission: Arc::new(admission), ..ServeOptions::default() };
    let house = House::with(options, "simulated:7").await;
    let refused = house.post(&[], &body()).await;
    assert_eq!(refused.status, 422);
    assert_eq!(refused.json()["errors"], json!([{"field": "config.rounds", "reason": "does not fit"}]));
    assert_eq!(house.engine.store().list(Default::default()).await.unwrap(), []);
}

#[tokio::test]
async fn what_an_admission_panics_with_is_in_no_answer_and_an_error_in_the_log() {
    let (hearing, _listening) = Hearing::begin();
    let admission = |_: &mut _| panic!("password sesame");
    let options = ServeOptions { admission: Arc::new(admission), ..ServeOptions::default() };
    let house = House::with(options, "simulated:7").await;
    let refused = house.post(&[], &body()).await;
    assert_eq!(refused.status, 500);
    assert!(!refused.json().to_string().contains("sesame"), "{:?}", refused.json());
    assert_eq!(house.engine.store().list(Default::default()).await.unwrap(), []);
    assert_eq!(hearing.logged("ERROR", "a defect of this program").len(), 1);
}

#[tokio::test]
async fn a_deliberation_is_held_through_the_same_door() {
    let house = House::open().await;
    let request = json!({"format": "deliberation", "topic": "Tabs or spaces?", "mode": "weak",
        "participants": ["ada", "ben"], "orchestrator": "mod"});
    let held = house.post(&[], request.to_string().as_bytes()).await;
    assert_eq!((held.status, &held.json()["round_count"]), (200, &json!(2)));
    let debate = format!("{DEBATES}/{}", held.debate_id());
    assert_eq!(house.get(&format!("{debate}/consensus")).await.status, 404);
}

#[cfg(unix)]
fn critique(role: &str, op: &str) -> debate_proto::v1::Critique {
    use debate_proto::v1;
    let (op, target) = (op.to_owned(), "t".to_owned());
    let operation = v1::ReviewOperation { op, target, ..Default::default() };
    v1::Critique { role: role.to_owned(), operations: vec![operation], ..Default::default() }
}

#[cfg(unix)]
#[tokio::test]
async fn v5_v7_reviews_and_the_policy_are_served_over_both_interfaces() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("security.cjs"), "const SYSTEM_PROMPT = 'Look.';").unwrap();
    let reviewers = Some(Arc::new(debate_engine::ReviewersFolder::open(folder.path()).unwrap()));
    let house = House::with(ServeOptions { reviewers, ..ServeOptions::default() }, "simulated:7").await;
    house.let_all_answer();
    hold_reviews(&house).await;
    propose_and_accept(&house, folder.path()).await;
    paths_stay_in_the_house(&house, folder.path()).await;
    house.ended().await.unwrap();
}

/// Asks for proposals where the folder cannot be used, and checks that no answer shows its path.
#[cfg(unix)]
async fn paths_stay_in_the_house(house: &House, folder: &std::path::Path) {
    use debate_proto::v1;
    let mut policy = v1::policy_service_client::PolicyServiceClient::new(house.channel().await);
    let wish = json!({"role": "security", "threshold": {"debates_min": 2}, "anyway": true}).to_string();
    let threshold = Some(v1::PolicyThreshold { debates_min: Some(2), score_min: None });
    let asked = v1::ProposePromptRequest { role: "security".to_owned(), threshold, anyway: true, days: None };
    let prompts = folder.join("prompts");
    let steps: [(&str, &dyn Fn()); 2] = [
        ("a file in the place of the folder of prompts", &|| {
            std::fs::remove_dir_all(&prompts).unwrap();
            std::fs::write(&prompts, "").unwrap();
        }),
        ("no prompt", &|| std::fs::remove_file(folder.join("security.cjs")).unwrap()),
    ];
    for (what, step) in steps {
        step();
        let answer = house.ask("POST", "/api/v1/reasoning/policy/proposals", &[], wish.as_bytes()).await;
        let status = policy.propose_prompt(asked.clone()).await.unwrap_err();
        assert_eq!((answer.status, status.code()), (409, tonic::Code::FailedPrecondition), "{what}");
        let shown = format!("{answer:?} {status:?} {}", String::from_utf8_lossy(status.details()));
        let name = folder.file_name().unwrap().to_str().unwrap();
        assert!(
            !shown.contains(name) && shown.contains("cannot be used for this reviewer"),
            "{what}: {shown}"
        );
    }
}

/// Holds three reviews, of which one is not debated, and looks at them over both interfaces.
#[cfg(unix)]
async fn hold_reviews(house: &House) {
    use debate_proto::v1;
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/review.json");
    let example = std::fs::read_to_string(example).unwrap();
    let held = house.post(&[], example.as_bytes()).await;
    assert_eq!(held.status, 200, "{}", held.body);
    let result = held.json();
    assert_eq!(result["debate_log"]["pairs"].as_array().unwrap().len(), 2);

    let mut debates = v1::debate_service_client::DebateServiceClient::new(house.channel().await);
    let id = held.debate_id();
    let get = v1::GetDebateRequest { debate_id: id.clone(), include_result: true, read_mask: None };
    let got = debates.get_debate(get).await.unwrap().into_inner();
    let Some(v1::get_debate_response::Result::Review(review)) = got.result else { panic!("no review") };
    let start = example.find("\"critiques\": ").unwrap() + "\"critiques\": ".len();
    let end = example.find(",\n  \"debate\"").unwrap();
    assert_eq!(review.critiques_json, &example[start..end], "the input is untouched");
    let log = review.debate_log.unwrap();
    assert_eq!((log.pairs[0].role_a.as_str(), log.judge_feedback.len()), ("security", 4));
    let rounds = v1::ListRoundsRequest { debate_id: id.clone() };
    let judged = debates.list_rounds(rounds).await.unwrap().into_inner().pairs;
    assert_eq!(judged, review.debates, "every pair was judged");
    let ask = |role: &str| v1::ListArgumentsRequest { debate_id: id.clone(), role: role.to_owned() };
    let said = debates.list_arguments(ask("security")).await.unwrap().into_inner().pairs;
    assert!(
        !said.is_empty() && said.iter().all(|pair| pair.role_a == "security" || pair.role_b == "security")
    );
    assert_eq!(debates.list_arguments(ask("unknown")).await.unwrap_err().code(), tonic::Code::NotFound);
    // The same review as a wire message, and one without a debate.
    for enabled in [true, false] {
        let request = v1::ReviewRequest {
            critiques: vec![critique("security", "AddX"), critique("testing", "RemoveX")],
            debate: Some(v1::ReviewDebateConfig { enabled: Some(enabled), ..Default::default() }),
            ..Default::default()
        };
        let format = Some(v1::start_debate_request::Format::Review(request));
        let started =
            debates.start_debate(v1::StartDebateRequest { request_id: String::new(), format }).await;
        let id = started.unwrap().into_inner().debate.unwrap().id.parse().unwrap();
        assert!(house.engine.concluded(id, PATIENCE).await.unwrap());
        let result = house.get(&format!("{DEBATES}/{id}")).await.json();
        assert_eq!(result["debate_log"].is_null(), !enabled);
    }
}

/// Reads what follows from the reviews, and has a prompt proposed and accepted.
#[cfg(unix)]
async fn propose_and_accept(house: &House, folder: &std::path::Path) {
    use debate_proto::v1;
    let found = house.get("/api/v1/reasoning/policy/insights?debates_min=2").await.json();
    assert_eq!(found["reviewers"]["security"]["debates"], 2);
    assert_eq!(house.get("/api/v1/reasoning/policy/insights?days=0").await.status, 422);
    assert_eq!(house.get("/api/v1/reasoning/policy/insights?weeks=1").await.status, 422);
    let mut policy = v1::policy_service_client::PolicyServiceClient::new(house.channel().await);
    let insights = policy.get_policy_insights(v1::GetPolicyInsightsRequest::default()).await.unwrap();
    assert_eq!(insights.into_inner().reviewers["security"].pairs, 3);
    let ask = |body: serde_json::Value| {
        let body = body.to_string().into_bytes();
        async move { house.ask("POST", "/api/v1/reasoning/policy/proposals", &[], &body).await }
    };
    for role in ["../security", "/tmp/x", "a\u{0}b", "s\u{0435}curity", "", &"x".repeat(65)] {
        assert_eq!(ask(json!({"role": role, "anyway": true})).await.status, 422, "{role:?}");
    }
    assert_eq!(ask(json!({"role": "security"})).await.status, 409, "two debates are too few");
    let made = ask(json!({"role": "security", "threshold": {"debates_min": 2}, "anyway": true})).await;
    assert_eq!((made.status, &made.json()["files"][0]), (200, &json!("security.txt")), "{}", made.body);
    assert!(folder.join("prompts/security.txt").exists());
    let path = "/api/v1/reasoning/policy/proposals?role=security";
    let shown = house.get(path).await.json();
    let get = |role: &str, number| v1::GetProposalRequest { role: role.to_owned(), number };
    let got = policy.get_proposal(get("security", Some(1))).await.unwrap().into_inner();
    assert_eq!((got.state.as_str(), &shown["state"]), ("written", &json!("written")));
    for (text, field) in
        [(&got.proposed_prompt, "proposed_prompt"), (&got.diff, "diff"), (&got.digest, "digest")]
    {
        assert_eq!(json!(text.as_ref().unwrap()), shown[field], "{field}");
    }
    assert_eq!(made.json()["proposed_prompt"], shown["proposed_prompt"]);
    assert_eq!(house.get(&format!("{path}&number=2")).await.status, 404);
    assert_eq!(house.get("/api/v1/reasoning/policy/proposals?role=..%2Fx").await.status, 422);
    assert_eq!(policy.get_proposal(get("testing", None)).await.unwrap_err().code(), tonic::Code::NotFound);
    let accept = v1::AcceptPromptRequest { role: "security".to_owned(), number: None };
    let accepted = policy.accept_prompt(accept.clone()).await.unwrap().into_inner();
    assert_eq!((accepted.number, accepted.written, Some(accepted.digest)), (1, true, got.digest));
    assert_eq!(house.get(path).await.json()["accepted_by"], "grpc");
    let again = policy.accept_prompt(accept).await.unwrap_err();
    assert_eq!(again.code(), tonic::Code::FailedPrecondition);
    let unproposed = v1::AcceptPromptRequest { role: "testing".to_owned(), number: None };
    assert_eq!(policy.accept_prompt(unproposed).await.unwrap_err().code(), tonic::Code::NotFound);
}

#[tokio::test]
async fn i7_an_investigation_is_held_over_both_interfaces() {
    use debate_proto::v1;
    let house = House::open().await;
    let request = json!({"format": "investigation", "problem": "The build hangs.", "investigators": ["ada", "ben"],
        "rounds": 1});
    let held = house.post(&[], request.to_string().as_bytes()).await;
    let result = held.json();
    assert_eq!((held.status, &result["completeness"]["state"]), (200, &json!("full")), "{result}");
    assert_eq!(
        (&result["metadata"]["rounds"], &result["hypotheses"][1]["investigator"]),
        (&json!(1), &json!("ben"))
    );
    assert!(result["verdict"]["hypothesis"].as_u64().is_some_and(|named| named <= 2), "{result}");

    let mut debates = v1::debate_service_client::DebateServiceClient::new(house.channel().await);
    let request = v1::InvestigationRequest {
        problem: "The build hangs.".to_owned(),
        investigators: vec!["ada".to_owned(), "ben".to_owned()],
        rounds: Some(1),
        ..Default::default()
    };
    let format = Some(v1::start_debate_request::Format::Investigation(request));
    let started = debates.start_debate(v1::StartDebateRequest { request_id: String::new(), format }).await;
    let debate_id = started.unwrap().into_inner().debate.unwrap().id;
    assert!(house.engine.concluded(debate_id.parse().unwrap(), PATIENCE).await.unwrap());
    let get = v1::GetDebateRequest { debate_id: debate_id.clone(), include_result: true, read_mask: None };
    let got = debates.get_debate(get).await.unwrap().into_inner();
    let Some(v1::get_debate_response::Result::Investigation(found)) = got.result else {
        panic!("no investigation")
    };
    let hypotheses: Vec<_> = found.hypotheses.iter().map(|entry| entry.statement.as_str()).collect();
    let over_rest: Vec<_> =
        result["hypotheses"].as_array().unwrap().iter().map(|entry| &entry["statement"]).collect();
    assert_eq!(json!(hypotheses), json!(over_rest), "equal questions have equal answers");
    let rounds = v1::ListRoundsRequest { debate_id: debate_id.clone() };
    assert_eq!(debates.list_rounds(rounds).await.unwrap().into_inner().standings, found.rounds);
    let ask = |role: &str| v1::ListArgumentsRequest { debate_id: debate_id.clone(), role: role.to_owned() };
    let said = debates.list_arguments(ask("ben")).await.unwrap().into_inner();
    assert_eq!(said.hypotheses, found.hypotheses[1..]);
    let said = debates.list_arguments(ask("devils_advocate")).await.unwrap().into_inner();
    assert_eq!(said.challenges, found.challenges);
    assert_eq!(debates.list_arguments(ask("cy")).await.unwrap_err().code(), tonic::Code::NotFound);
}

/// Returns an investigation of the examples as JSON and as a wire message.
fn investigation(file: &str) -> (serde_json::Value, debate_proto::v1::InvestigationRequest) {
    let path = format!("{}/../../examples/{file}", env!("CARGO_MANIFEST_DIR"));
    let json: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let list = |name: &str| json[name].as_array().cloned().unwrap_or_default();
    let hypothesis = |one: &serde_json::Value| debate_proto::v1::Hypothesis {
        statement: text(&one["statement"]).unwrap(),
        prediction: text(&one["prediction"]).unwrap(),
    };
    let request = debate_proto::v1::InvestigationRequest {
        problem: text(&json["problem"]).unwrap(),
        context: text(&json["context"]).unwrap(),
        language: text(&json["language"]),
        hypotheses: list("hypotheses").iter().map(hypothesis).collect(),
        investigators: list("investigators").iter().filter_map(text).collect(),
        ..Default::default()
    };
    (json, request)
}

#[tokio::test]
async fn i7_i8_the_examples_are_investigated_over_rest_and_over_grpc_in_english_and_chinese() {
    use debate_proto::v1;
    let house = House::open().await;
    let mut debates = v1::debate_service_client::DebateServiceClient::new(house.channel().await);
    for (file, words) in [("leap_second.json", "leap second"), ("five_hundred_miles.json", "sendmail")] {
        let (json, request) = investigation(file);
        let held = house.post(&[], json.to_string().as_bytes()).await;
        let result = held.json();
        assert_eq!(
            (held.status, &result["completeness"]["state"]),
            (200, &json!("full")),
            "{file}: {result}"
        );
        let stated: Vec<&serde_json::Value> =
            result["hypotheses"].as_array().unwrap().iter().map(|one| &one["statement"]).collect();
        assert_eq!(stated.len(), 3);
        assert!(stated[0].as_str().unwrap().contains(words), "{file}: {stated:?}");
        let conclusion = result["conclusion"]["text"].to_string();
        let is_chinese = conclusion.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
        assert_eq!(is_chinese, json["language"] == "zh", "{file}: {conclusion}");
        // The same as a wire message comes to the same.
        let format = Some(v1::start_debate_request::Format::Investigation(request));
        let start = v1::StartDebateRequest { request_id: String::new(), format };
        let debate_id = debates.start_debate(start).await.unwrap().into_inner().debate.unwrap().id;
        assert!(house.engine.concluded(debate_id.parse().unwrap(), PATIENCE).await.unwrap());
        let over_grpc = house.get(&format!("{DEBATES}/{debate_id}")).await.json();
        for part in ["hypotheses", "verdict", "conclusion", "stop_reason"] {
            assert_eq!(over_grpc[part], result[part], "{file}: {part}");
        }
    }
}

#[tokio::test]
async fn further_data_is_behind_the_door_and_its_table_and_further_pages_are_not() {
    let known =
        get(async |tenant: axum::Extension<debate_engine::Tenant>| format!("known to {:?}", tenant.0.0));
    let options = ServeOptions {
        token: Some("a-secret-of-some-length".to_owned()),
        pages: Router::new().route("/page", get(async || "shown")),
        data: Router::new()
            .route("/viewer/data/formats", known.post(async || "never"))
            .route("/unlisted", get(async || "never")),
        ..ServeOptions::default()
    };
    let house = House::with(options, "simulated:7").await;
    assert_eq!(house.get("/page").await.body, "shown");
    let token = [("Authorization", "Bearer a-secret-of-some-length")];
    let with_token = async |path| house.ask("GET", path, &token, b"").await;
    assert_eq!(house.get("/viewer/data/formats").await.status, 401);
    let known = with_token("/viewer/data/formats").await;
    assert_eq!((known.status, known.body.as_str()), (200, "known to \"\""));
    let by_another_method = house.ask("POST", "/viewer/data/formats", &token, b"").await;
    assert_eq!(by_another_method.status, 405, "{by_another_method:?}");
    assert_eq!((house.get("/unlisted").await.status, with_token("/unlisted").await.status), (401, 404));
    assert_eq!((house.get("/nowhere").await.status, with_token("/nowhere").await.status), (401, 404));
}

#[tokio::test]
async fn p24_prompt_texts_are_the_same_over_grpc_and_rest() {
    let house = House::open().await;
    let mut audits = v1::audit_service_client::AuditServiceClient::new(house.channel().await);
    let listed = audits.list_prompts(v1::ListPromptsRequest {}).await.unwrap().into_inner().prompts;
    let json = house.get("/api/v1/prompts").await.json();
    assert_eq!(json["prompts"].as_array().unwrap().len(), listed.len());
    assert!(listed.len() > 20 && listed.iter().all(|prompt| !prompt.replaced && prompt.digest.len() == 64));
    for prompt in listed {
        let (name, version) = prompt.name.split_once('@').unwrap();
        for name in [name.to_owned(), format!("{name}@{version}")] {
            let got =
                audits.get_prompt(v1::GetPromptRequest { name: name.clone() }).await.unwrap().into_inner();
            assert_eq!(got.prompt.unwrap().digest, prompt.digest);
            let json = house.get(&format!("/api/v1/prompts/{name}")).await.json();
            assert_eq!((&json["text"], &json["prompt"]["name"]), (&json!(got.text), &json!(prompt.name)));
        }
    }
    let missing =
        audits.get_prompt(v1::GetPromptRequest { name: "review/sing".to_owned() }).await.unwrap_err();
    let answer = house.get("/api/v1/prompts/review/sing").await;
    assert_eq!((missing.code(), answer.status), (tonic::Code::NotFound, 404));
    assert_eq!(answer.json()["reason"], "PROMPT_NOT_FOUND");
    house.ended().await.unwrap();
}

#[tokio::test]
async fn p15_the_preset_is_standard_except_at_the_contracts_endpoint() {
    let house = House::open().await;
    let contract = house.post(&[], &body()).await.debate_id();
    let started = house.ask("POST", "/api/v1/debates", &[], &body()).await;
    assert_eq!(started.status, 201, "{}", started.body);
    let open = started.json()["debate"]["id"].as_str().unwrap().to_owned();
    for (id, preset) in [(contract, json!(null)), (open, json!("standard"))] {
        let events = house.get(&format!("/api/v1/debates/{id}/events?page_size=1")).await.json();
        assert_eq!(events["events"][0]["body"]["config"]["preset"], preset, "{events}");
    }
    house.ended().await.unwrap();
}

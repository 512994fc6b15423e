//! Whole roundtables against a model server written by others, `@copilotkit/aimock`; `cargo xtask test` starts it.
//!
//! Skipped, visibly, where no such server runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "cli/program.rs"]
mod program;

use std::collections::BTreeSet;

use program::{Program, Ran, example};
use serde_json::{Value, json};

const MODEL: &str = "openai:gpt-5-mini";
const MODES: [&str; 7] = [
    "adversarial",
    "collaborative",
    "delphi",
    "devils-advocate",
    "expert-panel",
    "red-team-blue-team",
    "socratic",
];

/// Runs the program against the server; none where there is no server.
fn run(program: &Program, args: &[&str]) -> Option<Ran> {
    let Ok(url) = std::env::var("DEBATE_AIMOCK_URL") else {
        eprintln!("skipped: no aimock runs (DEBATE_AIMOCK_URL is not set)");
        return None;
    };
    let mut command = program.command(args.iter().chain(&["--model", MODEL]));
    command.env("OPENAI_BASE_URL", format!("{url}/v1")).env("OPENAI_API_KEY", "mock");
    Some(Ran::of(command.output().unwrap()))
}

fn check(program: &Program, mode: &str) {
    let file = std::fs::read(example(&format!("roundtable-{mode}.json"))).unwrap();
    let mut request: Value = serde_json::from_slice(&file).unwrap();
    // Nothing searches here.
    request.as_object_mut().unwrap().remove("tools");
    program.write("request.json", request.to_string());
    let Some(ran) = run(program, &["run", "request.json", "--json", "--quiet"]) else { return };
    assert_eq!(ran.code, Some(0), "{mode}: {ran:?}");
    let result = ran.json();
    assert_eq!(
        (&result["simulated"], &result["completeness"]["state"], &result["usage_complete"]),
        (&json!(false), &json!("full"), &json!(true)),
        "{mode}: {result}"
    );
    let id = result["debate_id"].as_str().unwrap();
    let log = program.run(["log", id, "--json"]).lines();
    assert_eq!(log[0]["body"]["config"]["mode"], mode);
    let of = |kind: &'static str| log.iter().filter(move |event| event["kind"] == kind);
    let given: Vec<&Value> = of("response_given").collect();
    let spoke: BTreeSet<String> = given.iter().map(|given| given["body"]["agent"].to_string()).collect();
    let agents = log[0]["body"]["config"]["agents"].as_array().unwrap();
    assert_eq!(spoke.len(), agents.len(), "{mode}");
    for response in given {
        let position = response["prose"]["position"].as_str().unwrap();
        assert!(position.contains("of ten would pay for it."), "{mode}: {response}");
        let stance = &response["body"]["stance"];
        assert_eq!(stance.is_null(), mode != "devils-advocate", "{mode}: {response}");
    }
    for answered in of("call_answered") {
        assert_eq!(answered["body"]["usage"], json!({"input": 11, "output": 7}), "{mode}: {answered}");
    }
    assert_eq!(of("attempt_failed").count(), 0, "{mode}");
    assert_eq!(program.run(["verify", id]).code, Some(0), "{mode}");
}

#[test]
fn t1_roundtables_of_every_mode_are_held_with_a_server_of_others() {
    let program = Program::new();
    MODES.iter().for_each(|mode| check(&program, mode));
}

#[test]
fn t11_scenarios_are_compared_with_a_server_of_others() {
    let program = Program::new();
    let file = example("scenarios/light_responses.json");
    let args = ["bench", "scenarios", file.to_str().unwrap(), "--runs", "1", "--json"];
    let Some(ran) = run(&program, &args) else { return };
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.json();
    assert_eq!(report["simulated"], false);
    for scenario in report["scenarios"].as_array().unwrap() {
        let debates = scenario["debates"].as_array().unwrap();
        assert_eq!(debates.len(), 1, "{scenario}");
        let id = debates[0].as_str().unwrap();
        assert_eq!(program.run(["show", id, "--json"]).json()["completeness"]["state"], "full", "{scenario}");
        assert_eq!(program.run(["verify", id]).code, Some(0), "{scenario}");
    }
    assert_eq!(report["comparisons"].as_array().unwrap().len(), 1, "{report}");
}

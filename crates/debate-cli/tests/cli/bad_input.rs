//! Bad input: every violation in one go, exit code 2, nothing recorded (rule K12).

use serde_json::{Value, json};

use crate::program::{Program, Ran, example};

/// Returns an example with one thing changed.
fn with(pointer: &str, value: Value) -> Value {
    let mut request: Value = serde_json::from_slice(&std::fs::read(example("taper.json")).unwrap()).unwrap();
    *request.pointer_mut(pointer).unwrap() = value;
    request
}

/// Runs a request that is refused; checks what is said of which fields and that nothing is recorded.
fn refused(request: impl AsRef<[u8]>, fields: &[&str]) {
    let program = Program::new();
    let path = program.write("request.json", request);
    let ran = program.run(["run".as_ref(), path.as_os_str()]);
    assert_eq!(ran.code, Some(2), "{fields:?}: {ran:?}");
    assert_eq!(ran.stdout, "", "{fields:?}");
    let named: Vec<&str> = ran
        .stderr
        .lines()
        .skip(1)
        .filter_map(|line| line.trim().split_once(": "))
        .map(|(field, _)| field)
        .collect();
    assert_eq!(named, fields, "{}", ran.stderr);
    assert!(!program.path("debates.sqlite").exists(), "{fields:?}: something was recorded");
}

#[test]
fn k12_what_is_wrong_with_a_request_is_named_by_its_field() {
    let outcomes = "/prediction_context/outcomes";
    let config = "/config";
    for (request, fields) in [
        (with(outcomes, json!([])), &["prediction_context.outcomes"][..]),
        (with("/prediction_context/outcomes/1/id", json!("spring")), &["prediction_context.outcomes[1].id"]),
        (
            with(
                "/prediction_context/simulation_summary/final_distribution",
                json!([{"outcome_id": "never", "probability": 0.5}, {"outcome_id": "summer", "probability": 1.5}]),
            ),
            &[
                "prediction_context.simulation_summary.final_distribution[0].outcome_id",
                "prediction_context.simulation_summary.final_distribution[1].probability",
            ],
        ),
        (with("/config/rounds", json!(0)), &["config.rounds"]),
        (with("/config/rounds", json!(11)), &["config.rounds"]),
        (with("/config/roles", json!(["optimist", "pessimist", "optimist"])), &["config.roles[2]"]),
        (with("/config/roles", json!(["optimist", "pessimist", "wizard"])), &["config.roles[2]"]),
        (with("/config/roles", json!(["optimist", "judge"])), &["config.roles"]),
        (
            with("/prediction_context/outcomes/0/description", json!("x".repeat(4_001))),
            &["prediction_context.outcomes[0].description"],
        ),
        (with(config, json!({"rounds": 3, "speed": 9})), &["config.speed"]),
    ] {
        refused(request.to_string(), fields);
    }
}

#[test]
fn k12_all_violations_are_reported_at_once() {
    let mut request = with("/config/rounds", json!(11));
    request["config"]["judge_weight"] = json!(2);
    request["prediction_context"]["outcomes"][0]["id"] = json!("summer");
    request["task_id"] = json!("");
    refused(
        request.to_string(),
        &["task_id", "prediction_context.outcomes[1].id", "config.rounds", "config.judge_weight"],
    );
}

#[test]
fn k12_what_is_no_request_at_all_is_refused_as_a_whole() {
    refused("", &["request"]);
    refused("{", &["request"]);
    refused(b"{\"task_id\": \"\xff\"}", &["request"]);
    refused(" ".repeat(1024 * 1024 + 1), &["request"]);
    refused(r#"{"format": "quarrel"}"#, &["format"]);
}

#[test]
fn k12_a_deliberation_is_checked_the_same_way() {
    refused(
        r#"{"format": "deliberation", "topic": " ", "mode": "medium", "participants": [{"name": "a"}]}"#,
        &["topic", "mode", "participants"],
    );
}

#[test]
fn k12_a_roundtable_is_checked_the_same_way() {
    refused(
        r#"{"format": "roundtable", "topic": "t", "mode": "dialectic", "agents": ["a"], "rounds": 0,
            "flags": {"groupthink_detection": {"threshold": 2}}}"#,
        &["mode", "agents", "rounds", "flags.groupthink_detection.threshold"],
    );
}

#[test]
fn k12_a_model_that_is_not_offered_is_refused_in_every_format() {
    let options = json!({"options": {"models": {"default": "unknown:1"}}});
    let review = json!({"debate": {"enabled": true, "model": "unknown:1"}});
    for (file, change, field) in [
        ("taper.json", &options, "options.models.default"),
        ("deliberation.json", &options, "options.models.default"),
        ("roundtable-socratic.json", &options, "options.models.default"),
        ("leap_second.json", &options, "options.models.default"),
        ("review.json", &review, "debate.model"),
    ] {
        let mut request: Value = serde_json::from_slice(&std::fs::read(example(file)).unwrap()).unwrap();
        request.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let program = Program::new();
        let ran = program.run_with_stdin(&["run", "-", "--store", "memory"], request.to_string().as_bytes());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{file}: {ran:?}");
        let expected = format!("{field}: \"unknown:1\" is not offered here");
        assert!(ran.stderr.contains(&expected), "{file}: {ran:?}");
    }
}

#[test]
fn t9_a_flag_of_the_environment_that_does_not_parse_is_named_with_its_source() {
    let program = Program::new();
    let file = example("roundtable-delphi.json");
    for args in [vec!["run", file.to_str().unwrap()], vec!["flags"], vec!["serve", "--listen", "127.0.0.1:0"]]
    {
        let mut command = program.command(args.iter().copied());
        let ran = Ran::of(command.env("ROUNDTABLE_EXIT_CONSENSUS", "often").output().unwrap());
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let expected = "ROUNDTABLE_EXIT_CONSENSUS: must be a number (environment)";
        assert!(ran.stderr.contains(expected), "{args:?}: {}", ran.stderr);
    }
}

#[test]
fn p15_a_request_that_cannot_fit_its_prompts_is_refused_with_the_count() {
    let outcome = |number: usize| json!({"id": format!("o{number}"), "label": format!("{number} {}", "long ".repeat(60))});
    let mut request = with("/prediction_context/outcomes", (0..50).map(outcome).collect());
    request["options"]["preset"] = json!("contract");
    refused(request.to_string(), &["options.preset"]);
    let program = Program::new();
    let path = program.write("request.json", request.to_string());
    let ran = program.run(["run".as_ref(), path.as_os_str()]);
    assert!(
        ran.stderr.contains(" tokens; 600 are allowed; standard is the smallest preset that fits"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_file_that_cannot_be_read_is_one_clear_error() {
    let program = Program::new();
    for file in ["gone.json", "."] {
        let ran = program.run(["run", file]);
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{ran:?}");
        assert!(ran.stderr.starts_with(&format!("error: cannot read {file}: ")), "{}", ran.stderr);
    }
    assert!(!program.path("debates.sqlite").exists());
}

#[test]
fn options_that_cannot_be_used_are_named() {
    let program = Program::new();
    let file = example("ice.json");
    for (option, value) in [
        ("--store", "mysql://h/db"),
        ("--store", "debates.sqlite"),
        ("--model", "gpt-5"),
        ("--model", "openai:"),
        ("--model", "anthropic: "),
        ("--model", "simulated:speed=9"),
        ("--durability", "none"),
        ("--seed", "-1"),
        ("--log-level", "debate=loud"),
    ] {
        let ran = program.run(["run", file.to_str().unwrap(), &format!("{option}={value}")]);
        assert_eq!(ran.code, Some(2), "{option} {value}: {ran:?}");
        assert!(
            ran.stderr.contains(option) && ran.stderr.contains(value),
            "{option} {value}: {}",
            ran.stderr
        );
        assert!(!program.path("debates.sqlite").exists());
    }
}

//! `debate bench`: walls under drawn and recorded latencies, scenarios of roundtables.

use std::path::Path;

use serde_json::{Value, json};

use crate::program::{Program, Ran, example};

/// Rehearses and returns what `--json` shows.
fn bench(program: &Program, args: &[&str]) -> Value {
    let ran = program.run(["bench", "latency", "--json"].iter().chain(args));
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    assert!(ran.stderr.starts_with("rehearsing "), "{args:?}: {}", ran.stderr);
    ran.json()
}

fn ways(found: &Value) -> Vec<(Option<&str>, &str)> {
    let rows = found["rows"].as_array().unwrap();
    rows.iter().map(|row| (row["schedule"].as_str(), row["hedge"].as_str().unwrap())).collect()
}

#[test]
fn every_schedule_and_hedge_has_a_row_and_calls_of_a_second_take_eight_or_six() {
    let program = Program::new();
    let found = bench(&program, &["--median", "1s", "--sigma", "0", "--debates", "1"]);
    let pipelined = |hedge| (Some("pipelined"), hedge);
    let all = [
        (Some("strict"), "off"),
        pipelined("off"),
        pipelined("p95"),
        pipelined("adaptive"),
        pipelined("p75"),
    ];
    assert_eq!(ways(&found), all);
    for (row, chain) in found["rows"].as_array().unwrap().iter().zip([8.0, 6.0, 6.0, 6.0, 6.0]) {
        for quantile in ["p50_s", "p95_s", "p99_s"] {
            let wall = row[quantile].as_f64().unwrap();
            assert!((wall - chain).abs() < 0.05, "{row}");
        }
        assert!((row["p99_ratio"].as_f64().unwrap() - chain / 8.0).abs() < 0.01, "{row}");
        let shares =
            ["extra_calls_share", "over_deadline_share", "full_share"].map(|share| row[share].as_f64());
        assert_eq!(shares, [Some(0.0), Some(0.0), Some(1.0)], "{row}");
    }
    assert_eq!((&found["calls"], &found["simulated"]), (&json!(31), &json!(true)));
    assert_eq!(found["latency"], json!({"kind": "log_normal", "median_s": 1.0, "sigma": 0.0}));
    assert!(!program.path("debates.sqlite").exists(), "a rehearsal stores nothing");
}

#[test]
fn the_same_seed_prints_the_same_table_and_says_that_all_is_made_up() {
    let program = Program::new();
    let run = |seed: &str| program.run(["bench", "latency", "--debates", "2", "--seed", seed]);
    let first = run("7");
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.stdout.starts_with("SIMULATED: latencies are drawn and answers are made up"), "{first:?}");
    assert!(first.stdout.contains("× strict p99") && first.stdout.contains("median 5.0 s, sigma 0.5"));
    assert_eq!(first.stdout, run("7").stdout);
    assert_ne!(first.stdout, run("8").stdout);
}

#[test]
fn a_request_brings_its_own_rounds_and_deadline_and_a_deliberation_has_one_schedule() {
    let program = Program::new();
    let mut request: Value = serde_json::from_slice(&std::fs::read(example("taper.json")).unwrap()).unwrap();
    request["config"]["rounds"] = json!(1);
    request["options"] = json!({"limits": {"deadline_ms": 2500}});
    let path = program.write("request.json", request.to_string());
    let steady = ["--median", "1s", "--sigma", "0", "--debates", "1"];
    let found = bench(&program, &[&[path.to_str().unwrap()], &steady[..]].concat());
    assert_eq!((&found["calls"], &found["deadline_s"]), (&json!(11), &json!(2.5)));
    assert_eq!(found["rows"][1]["over_deadline_share"], json!(1.0));
    let file = example("deliberation.json");
    let found = bench(&program, &[&[file.to_str().unwrap()], &steady[..]].concat());
    assert_eq!(ways(&found), [(None, "off"), (None, "p95"), (None, "adaptive"), (None, "p75")]);
}

#[test]
fn latencies_of_recorded_debates_are_drawn_from_by_model_and_purpose() {
    let program = Program::new();
    let file = example("ice.json");
    let ran = program.run(["run", file.to_str().unwrap(), "--json", "--model", "simulated:latency=20ms"]);
    let slow = ran.json()["debate_id"].as_str().unwrap().to_owned();
    let timeless = program.debate("ice.json");
    for args in [["--from", slow.as_str()].as_slice(), &["--all"]] {
        let found = bench(&program, &[args, &["--debates", "1"]].concat());
        let latency = &found["latency"];
        assert_eq!((&latency["kind"], &latency["answers"]), (&json!("recorded"), &json!(31)), "{args:?}");
        assert_eq!(latency["models"], json!(["simulated:seed=0,latency=20ms"]), "{args:?}");
        let wall = found["rows"][0]["p50_s"].as_f64().unwrap();
        assert!(wall >= 8.0 * 0.020, "{args:?}: {wall}");
    }
    let refused = |args: &[&str], code: i32, says: &str| {
        let ran = program.run(["bench", "latency"].iter().chain(args));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
    };
    refused(&["--from", &format!("{slow},{timeless}")], 2, &format!("debate {timeless} has no latencies"));
    refused(&["--from", "00000000-0000-4000-8000-000000000000"], 3, "00000000-0000-4000-8000-000000000000");
    refused(&["--all", "--store", "sqlite://gone.db"], 5, "there is no store at gone.db");
}

#[test]
fn all_bad_options_are_named_at_once() {
    let program = Program::new();
    let args =
        ["bench", "latency", "--median", "5", "--sigma", "-1", "--debates", "0", "--from", "x", "--all"];
    let ran = program.run(args);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let named = ran.stderr.lines().skip(1).filter_map(|line| Some(line.trim().split_once(": ")?.0));
    let mut named: Vec<&str> = named.collect();
    named.dedup();
    named.sort_unstable();
    named.dedup();
    assert_eq!(named, ["--debates", "--from", "--median", "--sigma"], "{}", ran.stderr);
    let path = program.write("request.json", r#"{"format": "quarrel"}"#);
    let ran = program.run(["bench", "latency", path.to_str().unwrap()]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("format: \"quarrel\" is not a format"), "{}", ran.stderr);
    assert!(!program.path("debates.sqlite").exists());
}

/// Runs scenarios and returns how the command ended and what `--json` shows.
fn scenarios(program: &Program, file: &Path) -> (Option<i32>, Value) {
    let steady = ["--median", "1s", "--sigma", "0", "--runs", "2", "--json"];
    let ran = program.run(["bench", "scenarios", file.to_str().unwrap()].iter().chain(&steady));
    assert!(ran.stderr.starts_with("holding 4 roundtables of 2 scenarios"), "{ran:?}");
    (ran.code, ran.json())
}

#[test]
fn t11_scenarios_are_compared_and_a_trigger_ends_the_command_with_4() {
    let program = Program::new();
    let file = example("scenarios/parallelization.json");
    let (code, found) = scenarios(&program, &file);
    let total_s =
        |place: usize| found["scenarios"][place]["metrics"]["latency"]["total_ms"].as_f64().unwrap() / 1e3;
    assert!((total_s(0) - 8.0).abs() < 0.05 && (total_s(1) - 4.0).abs() < 0.05, "{found}");
    let compared = &found["comparisons"][0];
    assert!((compared["delta"]["latency_reduction"].as_f64().unwrap() - 50.0).abs() < 1.0, "{compared}");
    // Roles that speak in parallel see less of each other: 5 references instead of 7, over a depth of 2 each.
    let rules: Vec<&Value> =
        compared["triggers"].as_array().unwrap().iter().map(|fired| &fired["rule"]).collect();
    assert_eq!((rules, &compared["recommendation"]), (vec![&json!("interaction")], &json!("reject")));
    assert_eq!((code, &found["rolls_back"]), (Some(4), &json!(true)), "{found}");
    assert!(!program.path("debates.sqlite").exists(), "a rehearsal stores nothing");

    // As a statement the topic is no question either way.
    let mut stated: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for scenario in stated["scenarios"].as_array_mut().unwrap() {
        scenario["topic"] = json!("The library should replace its fines by reminders.");
    }
    let (code, found) = scenarios(&program, &program.write("stated.json", stated.to_string()));
    assert_eq!((code, &found["comparisons"][0]["triggers"][0]["rule"]), (Some(4), &json!("interaction")));

    // The same, but people complain.
    let mut complained: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    complained["scenarios"][1]["reported_issues"] = json!(["it repeats itself"]);
    let (code, found) = scenarios(&program, &program.write("complained.json", complained.to_string()));
    assert_eq!((code, &found["comparisons"][0]["recommendation"]), (Some(4), &json!("reject")));
    let page =
        program.run(["bench", "scenarios", program.path("complained.json").to_str().unwrap(), "--runs", "1"]);
    assert!(page.stdout.starts_with("SIMULATED: ") && page.stdout.contains("ROLLBACK TRIGGER: "), "{page:?}");
    assert!(page.stdout.contains("- reported: it repeats itself"), "{page:?}");

    let mut other = complained.clone();
    other["scenarios"][1]["rounds"] = json!(1);
    let path = program.write("other.json", other.to_string());
    let refused = program.run(["bench", "scenarios", path.to_str().unwrap()]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let named = "devils-advocate-last-only: differs from its baseline \"devils-advocate-baseline\" in rounds";
    assert!(refused.stderr.contains(named), "{refused:?}");

    complained["scenarios"][1]["baseline"] = json!("unknown");
    complained["scenarios"][0]["rounds"] = json!(11);
    let path = program.write("wrong.json", complained.to_string());
    let refused = program.run(["bench", "scenarios", path.to_str().unwrap(), "no-such-file.json"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for named in ["scenarios[0].rounds: ", "no-such-file.json: "] {
        assert!(refused.stderr.contains(named), "{named} is not in {refused:?}");
    }
}

#[test]
fn t8_what_a_simulation_cannot_show_of_a_variant_is_said_and_rolls_nothing_back() {
    let program = Program::new();
    let (code, found) = scenarios(&program, &example("scenarios/light_responses.json"));
    let compared = &found["comparisons"][0];
    assert_eq!((code, &compared["triggers"]), (Some(0), &json!([])), "{found}");
    assert_eq!(compared["recommendation"], "conditional");
    assert!(
        compared["conditions"][0].as_str().unwrap().starts_with("drawn latencies know no model"),
        "{compared}"
    );
}

#[test]
fn d9_rehearsed_roundtables_use_tools_and_real_ones_need_something_that_searches() {
    let program = Program::new();
    let scenario = json!({
        "name": "searching", "topic": "Should the library lend tools?", "agents": ["a", "b"], "rounds": 1,
        "tools": ["search_web"],
    });
    let path = program.write("searching.json", json!({ "scenarios": [scenario] }).to_string());
    let ran = program.run(["bench", "scenarios", path.to_str().unwrap(), "--runs", "1", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let content = &ran.json()["scenarios"][0]["metrics"]["content"];
    assert!(
        content["citation_count"].as_f64().unwrap() > 0.0,
        "what tools found is named as a source: {content}"
    );
    let real = ["--model", "openai:some-model"];
    let mut command = program.command(["bench", "scenarios", path.to_str().unwrap()].iter().chain(&real));
    let refused = Ran::of(command.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").output().unwrap());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(
        refused.stderr.contains("searching: tools: agents cannot use search_web: nothing searches here"),
        "{refused:?}"
    );
}

//! Deadlines, effort and timeouts of `debate run`, what it expects to take, and `debate resume` (rules K22, K24, P23).

use std::process::Stdio;

use debate_core::limits::NO_DEADLINE_MS;
use serde_json::json;

use crate::program::{Program, Ran, example};
use crate::provider::{Answer, Provider};

/// Runs a command with a model behind a provider that answers nothing that can be read.
fn run_on_provider(program: &Program, args: &[&str]) -> Ran {
    let provider = Provider::start(|_| Answer::words(&["no", " argument"]));
    let file = example("ice.json");
    let mut command = program.command(["run", file.to_str().unwrap(), "--model", "openai:some-model"]);
    command.args(args).env("OPENAI_BASE_URL", &provider.base_url);
    Ran::of(command.output().unwrap())
}

#[test]
fn k22_run_has_no_deadline_unless_one_is_said() {
    let program = Program::new();
    let mut request: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(example("ice.json")).unwrap()).unwrap();
    request["options"]["limits"] = json!({"deadline_ms": 90_000});
    let (plain, said) = (example("ice.json"), program.write("said.json", request.to_string()));
    for (file, args, deadline_ms) in [
        (&plain, &[][..], NO_DEADLINE_MS),
        (&said, &[], 90_000),
        (&said, &["--deadline", "none"], NO_DEADLINE_MS),
        (&said, &["--deadline", "30m", "--effort", "low"], 1_800_000),
    ] {
        let ran = program.run(["run", file.to_str().unwrap(), "--json"].iter().chain(args));
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let id = ran.json()["debate_id"].as_str().unwrap().to_owned();
        let opened = program.run(["log", &id, "--json"]).lines().remove(0);
        let limits = &opened["body"]["limits"];
        assert_eq!((&limits["deadline_ms"], &limits["driven_time"]), (&json!(deadline_ms), &json!(true)));
        let effort = if args.contains(&"--effort") { json!("low") } else { json!(null) };
        assert_eq!(opened["body"]["config"]["models"]["effort"]["default"], effort, "{opened}");
    }
}

#[test]
fn k22_timeout_longer_than_the_deadline_is_refused() {
    let program = Program::new();
    let file = example("ice.json");
    for (flag, deadline) in
        [("--call-timeout", "1m"), ("--first-token-timeout", "1m"), ("--idle-timeout", "1m")]
    {
        let args = ["run", file.to_str().unwrap(), flag, "90s", "--deadline", deadline];
        let ran = program.run(args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        let says = format!(
            "error: {flag} 90s is longer than the debate's deadline of 60s; lower it, or raise --deadline\n"
        );
        assert_eq!(ran.stderr, says);
    }
    for deadline in ["soon", "1ms", "-5s", "90"] {
        let ran = program.run(["run", file.to_str().unwrap(), "--deadline", deadline]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
    }
    assert!(!program.path("debates.sqlite").exists(), "no debate was opened");
}

#[test]
fn k22_run_says_what_it_expects_to_take_before_it_asks() {
    let program = Program::new();
    let ran = run_on_provider(&program, &["--store", "memory", "--deadline", "10s"]);
    let expected = ran.stderr.lines().next().unwrap();
    for text in [
        "expected: 31 calls of openai:some-model; ",
        "cost unknown (see --prices)",
        "if a call takes 5.0 s; deadline after 10.0 s",
    ] {
        assert!(expected.contains(text), "{text}: {}", ran.stderr);
    }
    let warning = ran.stderr.lines().nth(1).unwrap();
    assert!(warning.starts_with("warning: ") && warning.contains("--deadline"), "{}", ran.stderr);
    let quiet = run_on_provider(&program, &["--store", "memory", "--quiet"]);
    assert!(!quiet.stderr.contains("expected: "), "{}", quiet.stderr);
}

#[test]
fn k24_void_debate_is_resumed_and_asked_again() {
    let program = Program::new();
    let void = run_on_provider(&program, &["--store", "sqlite://a b.db"]);
    assert_eq!(void.code, Some(1), "{void:?}");
    let id = program.run(["list", "--json", "--store", "sqlite://a b.db"]).lines()[0]["debate_id"].clone();
    let id = id.as_str().unwrap();
    let hint = format!("  debate resume {id} --store 'sqlite://a b.db'");
    assert!(void.stderr.contains(&hint), "{}", void.stderr);
    let ran = program.run(["resume", id, "--json", "--store", "sqlite://a b.db", "--model", "simulated"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["extra"]["completeness"]["state"], "full", "{ran:?}");
    let log = program.run(["log", id, "--json", "--store", "sqlite://a b.db"]).lines();
    let count = |kind: &str| log.iter().filter(|event| event["kind"] == kind).count();
    assert_eq!((count("reopened"), count("concluded")), (1, 2));
    let again = program.run(["resume", id, "--store", "sqlite://a b.db"]);
    assert_eq!(again.code, Some(2), "{again:?}");
    for text in ["has a result (full)", "debate continue", "debate fork"] {
        assert!(again.stderr.contains(text), "{text}: {}", again.stderr);
    }
    assert_eq!(program.run(["verify", id, "--store", "sqlite://a b.db"]).code, Some(0));
}

#[test]
fn k24_debate_that_a_process_drives_is_not_resumed() {
    let program = Program::new();
    let file = example("ice.json");
    let slow = ["run", file.to_str().unwrap(), "--quiet", "--model", "simulated:latency=60s"];
    let mut child = program.command(slow).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let running = || program.run(["list", "--json", "--status", "running"]);
    while running().code != Some(0) || running().stdout.is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was looked at");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let id = running().lines()[0]["debate_id"].as_str().unwrap().to_owned();
    assert!(program.run(["show", &id]).stdout.contains("not yet; there is no deadline"));
    let refused = program.run(["resume", &id]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains(&format!("debate watch {id}")), "{}", refused.stderr);
    child.kill().unwrap();
    child.wait().unwrap();
    let listed = program.run(["list", "--json"]).lines();
    assert_eq!(listed[0]["status"], "interrupted");
    assert!(running().stdout.is_empty());
    assert_eq!(program.run(["resume", &id, "--quiet"]).code, Some(0));
}

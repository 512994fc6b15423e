//! `debate list`, `show`, `watch`, `log`, `replay`, `cancel`, `golden` on what a run left behind.

use crate::program::{Program, example};

const UNKNOWN_ID: &str = "00000000-0000-4000-8000-000000000000";

#[test]
fn a_debate_is_found_shown_and_followed_after_its_run() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let topic = program.debate("deliberation.json");

    let listed = program.run(["list", "--json"]).lines();
    let ids: Vec<&str> = listed.iter().map(|entry| entry["debate_id"].as_str().unwrap()).collect();
    assert_eq!(ids, [topic.as_str(), id.as_str()], "the newest first");
    assert_eq!((&listed[1]["status"], &listed[1]["completeness"]), (&"concluded".into(), &"full".into()));
    let only = program.run(["list", "--json", "--format", "prediction", "--status", "concluded"]).lines();
    assert_eq!((only.len(), only[0]["debate_id"].as_str()), (1, Some(id.as_str())));
    assert_eq!(program.run(["list", "--status", "running"]).stdout, "no debates\n");
    assert!(program.run(["list"]).stdout.contains(&id[..8]));

    let shown = program.run(["show", &id]);
    assert_eq!(shown.code, Some(0));
    for heading in [
        "Will the average Arctic sea ice extent",
        "Probabilities",
        "Judge and consensus",
        "Roles by round: Yes",
        "Scores of the arguments by round",
        "Round 3: closing",
        "What it cost\n  31 calls",
    ] {
        assert!(shown.stdout.contains(heading), "{heading}: {}", shown.stdout);
    }
    assert!(shown.stdout.contains('█'), "{}", shown.stdout);
    let ascii = program.run(["show", &id, "--ascii"]);
    assert!(!ascii.stdout.contains('█') && ascii.stdout.contains("###"), "{}", ascii.stdout);
    assert!(program.run(["show", &id, "--full"]).stdout.len() > shown.stdout.len());
    assert_eq!(program.run(["show", &id, "--json"]).json()["debate_id"], id.as_str());
}

#[test]
fn k10_a_watch_shows_every_event_once_and_resumes_after_the_last_number_seen() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let log = program.run(["log", &id, "--json"]).lines();
    let seqs: Vec<u64> = log.iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=log.len() as u64).collect::<Vec<_>>());
    assert_eq!(program.run(["watch", &id, "--json"]).lines(), log);
    assert_eq!(program.run(["watch", &id, "--json", "--after", "40"]).lines(), log[40..]);
    assert_eq!(program.run(["watch", &id, "--after", &log.len().to_string()]).stdout, "");
    let lines = program.run(["watch", &id]).stdout;
    assert_eq!(lines.lines().count(), log.len());
    assert_eq!(lines, program.run(["log", &id]).stdout);
    let beyond = program.run(["watch", &id, "--after", "9999"]);
    assert_eq!(beyond.code, Some(2), "{beyond:?}");
}

#[test]
fn the_prompt_of_a_request_is_printed_with_whether_it_is_what_was_sent() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let log = program.run(["log", &id, "--json"]).lines();
    let begun = log.iter().find(|event| event["kind"] == "call_started").unwrap();
    let seq = begun["seq"].to_string();
    let printed = program.run(["log", &id, "--prompt", &seq]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    let first = format!("prompt of event {seq}: rendered again from the log, digest agrees\n");
    let digest = begun["body"]["prompt"]["digest"].as_str().unwrap();
    assert!(printed.stdout.starts_with(&first) && printed.stdout.contains(digest), "{}", printed.stdout);
    for part in ["\n--- system\n", "\n--- user\n", "Will the average Arctic sea ice extent"] {
        assert!(printed.stdout.contains(part), "{part}: {}", printed.stdout);
    }
    let shown = program.run(["log", &id, "--prompt", &seq, "--json"]).json();
    assert_eq!((&shown["agrees"], &shown["sent"]), (&true.into(), &begun["body"]["prompt"]));
    for (event, code) in [("1", 2), ("99999", 2), ("x", 2)] {
        assert_eq!(program.run(["log", &id, "--prompt", event]).code, Some(code), "{event}");
    }
    program.run(["redact", &id, "--all-prose"]);
    let gone = program.run(["log", &id, "--prompt", &seq]);
    assert!(gone.code == Some(0) && gone.stdout.contains("were deleted"), "{gone:?}");
    assert!(!gone.stdout.contains("Arctic"), "{gone:?}");
}

#[test]
fn k4_a_replay_shows_the_state_after_any_event_and_at_the_end_the_result() {
    let program = Program::new();
    let id = program.debate("ice.json");
    let last = program.run(["log", &id, "--json"]).lines().len();
    let begun = program.run(["replay", &id, "--at", "1", "--json"]).json();
    assert_eq!((&begun["lifecycle"], &begun["result"]["completed_at"]), (&"running".into(), &"".into()));
    let asked = program.run(["replay", &id, "--at", "7", "--json"]).json();
    assert_eq!(asked["open"].as_array().unwrap().len(), 5, "{asked}");
    let end = program.run(["replay", &id, "--at", &last.to_string(), "--json"]).json();
    assert_eq!(end["result"], program.run(["show", &id, "--json"]).json());
    assert_eq!(end, program.run(["replay", &id, "--json"]).json());
    let page = program.run(["replay", &id, "--at", "7"]).stdout;
    assert!(page.starts_with("State after event 7\n  under way: argue/1/"), "{page}");
    assert!(page.contains("RUNNING: this is how it stands"), "{page}");
    for at in [(last + 1).to_string(), "0".to_owned()] {
        assert_eq!(program.run(["replay", &id, "--at", &at]).code, Some(2));
    }
}

#[test]
fn a_debate_that_is_not_there_is_not_found() {
    let program = Program::new();
    program.debate("deliberation.json");
    for args in [
        &["show", UNKNOWN_ID][..],
        &["log", UNKNOWN_ID],
        &["watch", UNKNOWN_ID],
        &["replay", UNKNOWN_ID],
        &["verify", UNKNOWN_ID],
        &["cancel", UNKNOWN_ID],
    ] {
        let ran = program.run(args);
        assert_eq!(ran.code, Some(3), "{args:?}: {ran:?}");
        assert_eq!(ran.stderr, format!("error: there is no debate {UNKNOWN_ID}\n"), "{args:?}");
    }
    let ran = program.run(["show", "not-an-id"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn k9_a_debate_that_no_process_runs_can_be_cancelled() {
    let program = Program::new();
    let slow = ["run", "--model", "simulated:latency=60s"];
    let mut command =
        program.command(slow.iter().map(AsRef::as_ref).chain([example("ice.json").as_os_str()]));
    let mut child = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("round 1") {
        line.clear();
        assert_ne!(
            std::io::BufRead::read_line(&mut stderr, &mut line).unwrap(),
            0,
            "it ended before it began"
        );
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let id = program.run(["list", "--json", "--status", "interrupted"]).lines()[0]["debate_id"].clone();
    let id = id.as_str().unwrap();
    assert!(program.run(["show", id]).stdout.contains("RUNNING"));
    let cancelled = program.run(["cancel", id, "--reason", "enough"]);
    assert_eq!((cancelled.code, cancelled.stdout), (Some(0), format!("debate {id} is cancelled\n")));
    assert!(program.run(["log", id]).stdout.contains("cancelled: enough"));
    assert_eq!(program.run(["verify", id]).code, Some(0));
    let again = program.run(["cancel", id]);
    assert_eq!((again.code, again.stderr.as_str()), (Some(1), "error: the debate has concluded\n"));
}

#[test]
fn d11_golden_cases_are_checked_from_files() {
    let program = Program::new();
    let case = |rounds: u32| {
        format!(
            r#"{{"id": "weak-{rounds}", "description": "two speak", "input": {{"topic": "Tabs?", "mode": "weak",
            "participantResponses": {{"b": ["Yes."], "a": ["No."], "orchestrator": ["Both."]}}}},
            "expected": {{"roundCount": {rounds}, "phaseSequence": ["initial", "consensus"]}}}}"#
        )
    };
    program.write("good.json", case(2));
    program.write("list.json", format!("[{}, {}]", case(2), case(9)));
    let good = program.run(["golden", "good.json"]);
    assert_eq!(good.code, Some(0), "{good:?}");
    assert!(good.stdout.ends_with("1 cases, 0 failed\n"), "{}", good.stdout);
    let bad = program.run(["golden", "good.json", "list.json"]);
    assert_eq!(bad.code, Some(4), "{bad:?}");
    assert!(bad.stdout.contains("FAILED  weak-9"), "{}", bad.stdout);
    assert!(bad.stdout.contains("expected.roundCount: expected 9, got"), "{}", bad.stdout);
    program.write("broken.json", r#"{"id": 1}"#);
    for args in [["golden", "broken.json"], ["golden", "gone.json"]] {
        assert_eq!(program.run(args).code, Some(2), "{args:?}");
    }
}

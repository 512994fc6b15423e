//! `kill -9` in the middle of debates, of a server and of a backtest: all end, and nothing that was answered is asked again
//! (rules K2, K3).

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "cli/asked.rs"]
mod asked;
#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "cli/program.rs"]
mod program;
#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "cli/server.rs"]
mod server;

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use asked::check_asked_once;
use program::Program;
use serde_json::{Value, json};
use server::{Server, follow, open, request};

/// Slow enough that the server is always killed in the middle.
const MODEL: [&str; 2] =
    ["--model", "simulated:seed=3,latency=60ms,sigma=0.5,malformed=0.05,weak_argument=0.1"];
const DEBATES: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn k2_ten_debates_survive_kill_9_and_no_answer_is_asked_for_again() {
    let program = Program::new();
    let server = Server::start(&program, &MODEL);
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for number in 0..DEBATES {
        ids.push(open(&mut client, number).await);
    }
    // In the middle: the first has a part of its answers, the last has begun.
    follow(&mut client, &ids[0], 40).await;
    follow(&mut client, &ids[DEBATES - 1], 5).await;
    server.kill();

    let interrupted = program.run(["list", "--json", "--status", "interrupted"]).lines();
    assert_eq!(interrupted.len(), DEBATES, "the server was killed in the middle");
    let before: Vec<Vec<Value>> = ids.iter().map(|id| program.run(["log", id, "--json"]).lines()).collect();
    assert!(before.iter().flatten().any(|event| event["kind"] == "call_answered"));

    let mut server = Server::start(&program, &MODEL);
    assert!(server.says().contains("10 debates to resume"));
    let mut client = server.client().await;
    for id in &ids {
        follow(&mut client, id, usize::MAX).await;
    }
    // The same request still stands for the same debate (rule K11).
    let again = client.start_debate(request(3)).await.unwrap().into_inner();
    assert!(again.existing);
    assert_eq!(again.debate.unwrap().id, ids[3]);
    drop(server);

    let mut lost = 0;
    for (id, before) in ids.iter().zip(&before) {
        let log = program.run(["log", id, "--json"]).lines();
        assert_eq!(log[..before.len()], before[..], "what was written stays as it was");
        assert_eq!(log.last().unwrap()["kind"], "concluded");
        lost += check_asked_once(&log);
    }
    assert!(lost > 0, "calls were in flight when the server was killed");
    let verified = program.run(["verify", "--all"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

/// Runs an example until it says something, and kills it there; returns its debate.
fn kill_at(program: &Program, name: &str, sign: &str) -> String {
    let file = program::example(name);
    let mut command = program.command(["run", file.to_str().unwrap()].into_iter().chain(MODEL));
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains(sign) {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "{name} ended before it was killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let newest = program.run(["list", "--json", "--status", "interrupted"]).lines()[0]["debate_id"].clone();
    newest.as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn k2_killed_runs_of_any_format_are_taken_up_by_the_next_server() {
    let program = Program::new();
    let ids = [
        kill_at(&program, "ice.json", "round 2"),
        kill_at(&program, "review.json", "(argue, pair"),
        kill_at(&program, "leap_second.json", "reports on H"),
    ];
    let mut server = Server::start(&program, &MODEL);
    assert!(server.says().contains("3 debates to resume"));
    let mut client = server.client().await;
    for id in &ids {
        follow(&mut client, id, usize::MAX).await;
    }
    drop(server);
    for (id, format) in ids.iter().zip(["prediction", "review", "investigation"]) {
        let log = program.run(["log", id, "--json"]).lines();
        assert_eq!(
            (&log[0]["body"]["format"], &log.last().unwrap()["kind"]),
            (&format.into(), &"concluded".into())
        );
        check_asked_once(&log);
        let result = program.run(["show", id, "--json"]).json();
        let state =
            if format == "prediction" { &result["extra"]["completeness"] } else { &result["completeness"] };
        assert_eq!(state["state"], "full", "{format}: {result}");
    }
    let verified = program.run(["verify", "--all"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[test]
fn k24_killed_run_is_resumed_to_its_end() {
    let program = Program::new();
    let id = kill_at(&program, "ice.json", "round 2");
    let before = program.run(["log", &id, "--json"]).lines();
    let ran = program.run(["resume", &id, "--json"].into_iter().chain(MODEL));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["extra"]["completeness"]["state"], "full", "{ran:?}");
    let log = program.run(["log", &id, "--json"]).lines();
    assert_eq!(log[..before.len()], before[..], "what was written stays as it was");
    assert_eq!(log.last().unwrap()["kind"], "concluded");
    assert!(check_asked_once(&log) > 0, "calls were under way when it was killed");
    assert_eq!(program.run(["list", "--json"]).lines()[0]["status"], "concluded");
    assert_eq!(program.run(["verify", &id]).code, Some(0));
}

#[test]
fn k2_a_killed_backtest_goes_on_where_it_was_cut() {
    let program = Program::new();
    let line = |number: usize| {
        let question = format!("Will harbour {number} freeze?");
        let line = json!({"id": number.to_string(), "question": question, "outcomes": ["Yes", "No"], "resolution": "no"});
        format!("{line}\n")
    };
    program.write("questions.jsonl", (0..6).map(line).collect::<String>());
    let args = ["backtest", "questions.jsonl", "--parallel", "2", "--rounds", "2", "--json"];
    let mut command = program.command(args.into_iter().chain(MODEL));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("2/6 ") {
        assert_ne!(stderr.read_line(&mut said).unwrap(), 0, "it ended before it was killed: {said}");
    }
    // The two may end at the same moment, before another one has begun.
    while program.run(["list", "--status", "running", "--json"]).lines().is_empty() {}
    child.kill().unwrap();
    child.wait().unwrap();
    let before = program.run(["list", "--json"]).lines();
    let logs: Vec<(String, Vec<Value>)> = before
        .iter()
        .map(|listed| {
            let id = listed["debate_id"].as_str().unwrap();
            (id.to_owned(), program.run(["log", id, "--json"]).lines())
        })
        .collect();

    let ran = program.run(args.into_iter().chain(MODEL));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let found = ran.json();
    let count = |what: &str| found["questions"][what].as_u64().unwrap();
    assert!(count("concluded_before") >= 2 && count("cut") >= 1, "{found}");
    assert_eq!(count("concluded_before") + count("cut") + count("new"), 6);
    assert_eq!(found["calibration"]["resolved"], 6);
    assert_eq!(program.run(["list", "--json"]).lines().len(), 6, "nothing is held twice");
    for (id, before) in logs {
        let log = program.run(["log", &id, "--json"]).lines();
        assert_eq!(log[..before.len()], before[..], "what was written stays as it was");
        assert_eq!(log.last().unwrap()["kind"], "resolved");
        check_asked_once(&log);
    }
    assert_eq!(program.run(["verify", "--all"]).code, Some(0));
}

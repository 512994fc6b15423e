//! Who drives a debate, and with which models (rules K23, O3).

use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use debate_proto::v1;
use serde_json::{Value, json};

use crate::program::{Program, Ran, example};
use crate::provider::{Answer, Provider};
use crate::server::Server;

const MODEL: &str = "openai:some-model";

/// A provider that takes its time and whose answers can be used.
fn provider() -> Provider {
    let counter = Arc::new(AtomicUsize::new(0));
    Provider::pausing(Duration::from_millis(60), move |request| {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let answer = if body.contains("\"scores\"") {
            json!({"reason": "thin", "scores": {"logical_strength": 0.7, "evidence_quality": 0.6, "novelty": 0.5}})
        } else if body.contains("\"disagreements\"") {
            let reasoning = "Base rates weigh most.";
            json!({"reasoning": reasoning, "probabilities": {"A": 0.6}, "confidence": 0.6, "disagreements": [], "insights": []})
        } else {
            let argument =
                format!("Reason number {number} moves me, as measurement {number} of the series shows.");
            json!({"thinking": "", "claim": format!("Claim {number}."), "argument": argument, "supports": "A",
                "probabilities": {"A": 0.6}, "confidence": 0.6, "evidence_cited": [], "rebuts": [], "cites": [],
                "precedents": []})
        };
        Answer::words(&[&answer.to_string()])
    })
}

/// Begins a debate with the provider's model, and returns once it is under way.
fn begin(program: &Program, provider: &Provider) -> (Child, String) {
    let file = example("ice.json");
    let mut command = program.command(["run", file.to_str().unwrap(), "--json", "--model", MODEL]);
    command.env("OPENAI_BASE_URL", &provider.base_url).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let listed = || program.run(["list", "--json", "--status", "running"]);
    while listed().code != Some(0) || listed().stdout.is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was looked at");
        std::thread::sleep(Duration::from_millis(20));
    }
    let running = listed().lines().remove(0);
    assert_eq!(running["driver"], json!(format!("process {}", child.id())), "{running}");
    (child, running["debate_id"].as_str().unwrap().to_owned())
}

fn with_model(program: &Program, provider: &Provider, args: &[&str]) -> Command {
    let mut command = program.command(args);
    command.env("OPENAI_BASE_URL", &provider.base_url);
    command
}

fn log(program: &Program, id: &str) -> Vec<Value> {
    program.run(["log", id, "--json"]).lines()
}

/// Returns the models that were asked.
fn asked(log: &[Value]) -> BTreeSet<&str> {
    log.iter().filter_map(|event| event["body"]["model"].as_str()).collect()
}

#[cfg(unix)]
#[test]
fn k23_a_second_process_leaves_a_debate_to_the_one_that_drives_it() {
    let (program, provider) = (Program::new(), provider());
    let (child, id) = begin(&program, &provider);
    std::os::unix::fs::symlink(program.path("debates.sqlite"), program.path("link.sqlite")).unwrap();
    // It offers the same model, so nothing but the other process keeps it from driving.
    let mut command = with_model(
        &program,
        &provider,
        &["serve", "--listen", "127.0.0.1:0", "--store", "sqlite://link.sqlite", "--model", MODEL],
    );
    command.stderr(Stdio::null());
    let mut server = Server::of(command);
    let said = server.says();
    assert!(said.contains("0 debates to resume"), "{said}");
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["extra"]["completeness"]["state"], "full");
    let log = log(&program, &id);
    let started = log.iter().filter(|event| event["kind"] == "call_started");
    assert_eq!(
        started.clone().count(),
        provider.asked().iter().filter(|body| body["messages"].is_array()).count(),
        "every request is on record, and none was sent twice"
    );
    assert!(started.clone().all(|event| event["body"]["cause"] != "lost"));
    assert_eq!(asked(&log), BTreeSet::from([MODEL]));
    // Another process may run a debate with its own model at the same time.
    let file = example("ice.json");
    let (mut child, _) = begin(&program, &provider);
    let other = program.run(["run", file.to_str().unwrap(), "--quiet", "--model", "simulated"]);
    assert_eq!(other.code, Some(0), "{other:?}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn k23_no_process_goes_on_with_another_model() {
    let (program, provider) = (Program::new(), provider());
    let (mut child, id) = begin(&program, &provider);
    child.kill().unwrap();
    child.wait().unwrap();
    let events = log(&program, &id).len();
    let mut command = program.command(["serve", "--listen", "127.0.0.1:0", "--model", "simulated"]);
    let log_path = program.path("server.log");
    command.stderr(std::fs::File::create(&log_path).unwrap());
    let server = Server::of(command);
    let says = "left alone";
    while !std::fs::read_to_string(&log_path).unwrap().contains(says) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // The lease is given back right after it was said.
    let mut client = server.client().await;
    loop {
        let page = client.list_debates(v1::ListDebatesRequest::default()).await.unwrap().into_inner();
        if page.debates[0].interrupted == Some(true) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let get = v1::GetDebateRequest { debate_id: id.clone(), ..Default::default() };
    let debate = client.get_debate(get).await.unwrap().into_inner().debate.unwrap();
    assert_eq!((debate.interrupted, debate.state()), (Some(true), v1::DebateState::Running));
    assert!(server.terminate().success());
    assert_eq!(log(&program, &id).len(), events);
    assert_eq!(program.run(["list", "--json"]).lines()[0]["status"], "interrupted");
    let unnamed = program.run(["resume", &id]);
    assert_eq!(unnamed.code, Some(2), "{unnamed:?}");
    for part in ["openai:some-model (on the same machine)", "does not offer", "--model"] {
        assert!(unnamed.stderr.contains(part), "{part}: {}", unnamed.stderr);
    }
    // The environment does not decide it.
    let set = Ran::of(program.command(["resume", &id]).env("DEBATE_MODEL", "simulated").output().unwrap());
    assert_eq!(set.code, Some(2), "{set:?}");
    assert_eq!(log(&program, &id).len(), events);
    let mut resumed = with_model(&program, &provider, &["resume", &id, "--json", "--model", MODEL]);
    let resumed = Ran::of(resumed.output().unwrap());
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let log = log(&program, &id);
    assert!(log.iter().all(|event| event["kind"] != "model_replaced"));
    assert_eq!(asked(&log), BTreeSet::from([MODEL]));
}

#[test]
fn k23_another_model_takes_over_where_the_command_names_it_and_the_result_says_so() {
    let (program, provider) = (Program::new(), provider());
    let (mut child, id) = begin(&program, &provider);
    std::thread::sleep(Duration::from_millis(300));
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = program.run(["resume", &id, "--json", "--model", "simulated"]);
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let log = log(&program, &id);
    let replaced = log.iter().find(|event| event["kind"] == "model_replaced").unwrap();
    assert_eq!(replaced["body"]["model"]["at"], "simulated");
    let note = format!("all that was asked after event {} was put to simulated", replaced["seq"]);
    let notes = &resumed.json()["extra"]["notes"];
    assert!(notes[0].as_str().unwrap().starts_with(&note), "{notes}");
    let shown = program.run(["show", &id]).stdout;
    for part in ["SIMULATED IN PART", "MODEL REPLACED: all that was asked after event"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(program.run(["verify", &id]).code, Some(0));
}

#[test]
fn k23_a_copy_of_a_store_is_driven_by_itself() {
    let (program, provider) = (Program::new(), provider());
    let (mut child, id) = begin(&program, &provider);
    child.kill().unwrap();
    child.wait().unwrap();
    // Reading moves the journal into the file.
    assert_eq!(program.run(["verify", &id]).code, Some(0));
    std::fs::copy(program.path("debates.sqlite"), program.path("copy.sqlite")).unwrap();
    let events = log(&program, &id).len();
    let args = ["resume", &id, "--quiet", "--model", MODEL, "--store", "sqlite://copy.sqlite"];
    let resumed = Ran::of(with_model(&program, &provider, &args).output().unwrap());
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(log(&program, &id).len(), events);
    assert_eq!(program.run(["list", "--json"]).lines()[0]["status"], "interrupted");
}

#[test]
fn o3_a_server_for_others_makes_nothing_up_unless_that_is_wanted() {
    let program = Program::new();
    let serve = ["serve", "--listen", "0.0.0.0:0", "--store", "memory", "--token", "a-token-of-16-letters"];
    let refused = program.run(serve);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for part in
        ["--listen 0.0.0.0:0 serves others too", "simulated:0 makes up its answers", "--allow-simulated"]
    {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    let server = Server::of(program.command(serve.iter().chain(&["--allow-simulated"])));
    assert!(server.terminate().success());
}

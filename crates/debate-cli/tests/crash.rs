//! `kill -9` of the server in the middle of ten debates: all ten end, and nothing that was answered is asked again
//! (rules K2, K3).

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "cli/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use debate_proto::v1;
use debate_proto::v1::debate_service_client::DebateServiceClient;
use debate_proto::v1::watch_debate_response::Item;
use program::Program;
use serde_json::Value;
use tonic::transport::Channel;

/// Slow enough that the server is always killed in the middle.
const MODEL: &str = "simulated:latency=60ms,sigma=0.5,malformed=0.05,weak_argument=0.1";
const DEBATES: usize = 10;

/// A server that is killed when the test ends, however it ends.
struct Server {
    child: Child,
    stdout: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn start(program: &Program) -> Self {
        let args = ["serve", "--listen", "127.0.0.1:0", "--model", MODEL];
        let mut child = program.command(args).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let address =
            line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, stdout, address }
    }

    /// Returns the next line that the server says.
    fn says(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line
    }

    async fn client(&self) -> DebateServiceClient<Channel> {
        DebateServiceClient::connect(format!("http://{}", self.address)).await.unwrap()
    }

    /// Kills this process with SIGKILL; nothing of it gets to say a word.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(number: usize) -> v1::StartDebateRequest {
    let outcome =
        |id: &str| v1::Outcome { id: id.to_owned(), label: id.to_owned(), description: String::new() };
    let context = v1::PredictionContext {
        task: Some(prost_types::Value::from(format!("Will crash {number} be survived?"))),
        outcomes: vec![outcome("yes"), outcome("no")],
        ..Default::default()
    };
    let request = v1::DebateRequest {
        task_id: format!("crash-{number}"),
        prediction_context: Some(context),
        ..Default::default()
    };
    v1::StartDebateRequest {
        request_id: format!("crash-{number}"),
        format: Some(v1::start_debate_request::Format::Prediction(request)),
    }
}

/// Follows a debate until it has so many events, or to its end.
async fn follow(client: &mut DebateServiceClient<Channel>, id: &str, events: usize) {
    let watch = v1::WatchDebateRequest { debate_id: id.to_owned(), ..Default::default() };
    let mut stream = client.watch_debate(watch).await.unwrap().into_inner();
    let mut seen = 0;
    while let Some(response) = stream.message().await.unwrap() {
        seen += usize::from(matches!(response.item, Some(Item::Event(_))));
        if seen == events {
            return;
        }
    }
}

/// Checks what a log says of its questions: every answer was asked for once, and what was lost says so.
fn check_log(log: &[Value]) -> usize {
    let turn = |event: &Value| {
        let body = &event["body"];
        ["call", "revision", "attempt", "turn"].map(|field| body[field].to_string())
    };
    let question = |event: &Value| [event["body"]["call"].to_string(), event["body"]["revision"].to_string()];
    let mut answered = BTreeMap::new();
    let mut started = BTreeMap::new();
    let mut lost = 0;
    for event in log {
        match event["kind"].as_str().unwrap() {
            "call_started" => {
                assert_eq!(started.insert(turn(event), &event["seq"]), None, "started twice: {event}");
                assert!(!answered.contains_key(&question(event)), "asked again after its answer: {event}");
                lost += usize::from(event["body"]["cause"] == "lost");
            }
            "call_answered" => {
                assert!(started.contains_key(&turn(event)), "answered without being asked: {event}");
                assert_eq!(answered.insert(question(event), &event["seq"]), None, "answered twice: {event}");
            }
            _ => {}
        }
    }
    lost
}

#[tokio::test(flavor = "multi_thread")]
async fn k2_ten_debates_survive_kill_9_and_no_answer_is_asked_for_again() {
    let program = Program::new();
    let server = Server::start(&program);
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for number in 0..DEBATES {
        let started = client.start_debate(request(number)).await.unwrap().into_inner();
        ids.push(started.debate.unwrap().id);
    }
    // In the middle: the first has a part of its answers, the last has begun.
    follow(&mut client, &ids[0], 40).await;
    follow(&mut client, &ids[DEBATES - 1], 5).await;
    server.kill();

    let running = program.run(["list", "--json", "--status", "running"]).lines();
    assert_eq!(running.len(), DEBATES, "the server was killed in the middle");
    let before: Vec<Vec<Value>> = ids.iter().map(|id| program.run(["log", id, "--json"]).lines()).collect();
    assert!(before.iter().flatten().any(|event| event["kind"] == "call_answered"));

    let mut server = Server::start(&program);
    assert!(server.says().contains("10 debates taken up"));
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
        lost += check_log(&log);
    }
    assert!(lost > 0, "calls were in flight when the server was killed");
    let verified = program.run(["verify", "--all"]);
    assert_eq!(verified.code, Some(0), "{verified:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn k2_a_killed_run_is_taken_up_by_the_next_server() {
    let program = Program::new();
    let mut command = program.command([
        "run".as_ref(),
        program::example("ice.json").as_os_str(),
        "--model".as_ref(),
        MODEL.as_ref(),
    ]);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("round 2") {
        line.clear();
        assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended before it was killed");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let id = program.run(["list", "--json", "--status", "running"]).lines()[0]["debate_id"].clone();
    let id = id.as_str().unwrap();

    let mut server = Server::start(&program);
    assert!(server.says().contains("1 debates taken up"));
    follow(&mut server.client().await, id, usize::MAX).await;
    drop(server);
    let log = program.run(["log", id, "--json"]).lines();
    assert_eq!(log.last().unwrap()["kind"], "concluded");
    check_log(&log);
    assert_eq!(program.run(["verify", id]).code, Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_cleanly_on_sigterm_and_its_debates_go_on_at_the_next_start() {
    let program = Program::new();
    let mut server = Server::start(&program);
    let mut client = server.client().await;
    let started = client.start_debate(request(0)).await.unwrap().into_inner();
    let id = started.debate.unwrap().id;
    follow(&mut client, &id, 10).await;
    let pid = server.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert_eq!(server.child.wait().unwrap().code(), Some(0));

    let server = Server::start(&program);
    follow(&mut server.client().await, &id, usize::MAX).await;
    drop(server);
    let log = program.run(["log", &id, "--json"]).lines();
    assert_eq!(log.last().unwrap()["kind"], "concluded");
    check_log(&log);
}

//! The client crate against real servers: its README's example, starts that are sent again, watches that are cut.

use debate_client::{Client, WatchOptions, v1};
use tonic::Code;

use crate::program::Program;
use crate::server::{Server, request};

#[allow(dead_code, unreachable_pub, missing_docs, reason = "an example has a main function of its own")]
#[path = "../../../debate-client/examples/quickstart.rs"]
mod quickstart;

fn client(server: &Server) -> Client {
    Client::new(&format!("http://{}", server.address), None).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_readmes_example_is_the_one_that_runs() {
    let example = include_str!("../../../debate-client/examples/quickstart.rs");
    let readme = include_str!("../../../debate-client/README.md");
    let code = readme.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    for line in code.lines() {
        assert!(example.contains(line), "{line}");
    }
    let program = Program::new();
    let server = Server::start(&program, &[]);
    let held = quickstart::run(&format!("http://{}", server.address)).await.unwrap();
    assert_eq!(held.debate.unwrap().state(), v1::DebateState::Concluded);
    assert!(matches!(held.result, Some(v1::get_debate_response::Result::Deliberation(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_k11_a_start_that_is_sent_again_and_a_watch_whose_server_is_killed_lose_and_repeat_nothing() {
    const SLOW: [&str; 2] = ["--model", "simulated:latency=60ms,tokens_per_second=2000"];
    let program = Program::new();
    let server = Server::start(&program, &SLOW);
    let (address, client) = (server.address.clone(), client(&server));
    let started = client.start(request(0)).await.unwrap();
    let id = started.debate.unwrap().id;
    let mut watch = client.watch(&id, WatchOptions { include_tokens: true, ..WatchOptions::default() });
    let mut seen = Vec::new();
    while seen.len() < 30 {
        seen.push(watch.next_event().await.unwrap().unwrap().seq);
    }
    server.kill();
    // No server is up: the start and the watch wait until one is.
    let (again, rest, server) = tokio::join!(
        client.start(request(0)),
        async {
            let mut rest = Vec::new();
            while let Some(event) = watch.next_event().await.unwrap() {
                rest.push(event);
            }
            rest
        },
        async { Server::start_at(&program, &address, &SLOW) },
    );
    let again = again.unwrap();
    assert!(again.existing);
    assert_eq!(again.debate.unwrap().id, id);
    assert_eq!(rest.last().unwrap().kind, "concluded");
    seen.extend(rest.iter().map(|event| event.seq));
    let numbers: Vec<u64> = (1..=seen.len() as u64).collect();
    assert_eq!(seen, numbers);
    assert_eq!(watch.last_seq(), seen.len() as u64);
    assert!(client.result(&id).await.unwrap().result.is_some());
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_that_no_retry_can_fix_are_reported_at_once() {
    let program = Program::new();
    let server = Server::start(&program, &["--token", "open-sesame-4711", "--store", "memory"]);
    let unknown_id = "00000000-0000-4000-8000-000000000000";
    let refused = client(&server).watch(unknown_id, WatchOptions::default()).next().await.unwrap_err();
    assert_eq!(refused.code(), Code::Unauthenticated);
    let let_in = Client::new(&format!("http://{}", server.address), Some("open-sesame-4711")).unwrap();
    let missing = let_in.watch(unknown_id, WatchOptions::default()).next().await.unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
    let wrong = let_in.start(v1::StartDebateRequest::default()).await.unwrap_err();
    assert_eq!(wrong.code(), Code::InvalidArgument);
    for (address, token) in
        [("localhost:50051", None), ("http://", None), ("http://localhost:1", Some("a\nb"))]
    {
        assert!(Client::new(address, token).is_err(), "{address}");
    }
}

//! `debate serve`, and `debate watch` on a server.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use crate::program::Program;
use crate::server::{Server, follow, open};

const SLOW: [&str; 2] = ["--model", "simulated:latency=60ms,tokens_per_second=2000"];

#[tokio::test(flavor = "multi_thread")]
async fn k10_a_watch_on_a_server_shows_every_event_once_and_live_text_between_them() {
    let program = Program::new();
    let mut server = Server::start(&program, &SLOW);
    assert!(server.says().contains("0 debates to resume"));
    assert!(server.says().starts_with("SIMULATED"));
    let id = open(&mut server.client().await, 0).await;
    let url = format!("http://{}", server.address);
    let watched = program.run(["watch", &id, "--server", &url, "--tokens", "--json"]);
    assert_eq!(watched.code, Some(0), "{watched:?}");
    let (pieces, events): (Vec<Value>, Vec<Value>) =
        watched.lines().into_iter().partition(|line| line["kind"] == "piece");
    // A late subscriber misses some pieces; it gets the arguments after that from their first piece on.
    let begun =
        |piece: &&Value| piece["call"].as_str().unwrap().starts_with("argue/") && piece["number"] == 1;
    assert!(pieces.iter().any(|piece| begun(&piece)), "{pieces:?}");
    assert_eq!(events, program.run(["log", &id, "--json"]).lines());
    let rest = program.run(["watch", &id, "--server", &url, "--json", "--after", "40"]);
    assert_eq!(rest.lines(), events[40..]);
    let lines = program.run(["watch", &id, "--server", &url]);
    assert_eq!(lines.stdout, program.run(["watch", &id]).stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn k10_a_watch_that_is_cut_goes_on_behind_the_last_event_it_saw() {
    let program = Program::new();
    let server = Server::start(&program, &SLOW);
    let address = server.address.clone();
    let id = open(&mut server.client().await, 0).await;
    let url = format!("http://{address}");
    let mut command = program.command(["watch", &id, "--server", &url, "--json"]);
    let mut watch = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdout = BufReader::new(watch.stdout.take().unwrap());
    let mut seen = String::new();
    for _ in 0..30 {
        assert_ne!(stdout.read_line(&mut seen).unwrap(), 0, "the watch ended before it was cut");
    }
    server.kill();
    let server = Server::start_at(&program, &address, &SLOW);
    stdout.read_to_string(&mut seen).unwrap();
    assert!(watch.wait().unwrap().success());
    drop(server);
    let seen: Vec<Value> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(seen, program.run(["log", &id, "--json"]).lines());
    assert_eq!(seen.last().unwrap()["kind"], "concluded");
}

#[tokio::test(flavor = "multi_thread")]
async fn k9_a_debate_that_a_server_drives_is_cancelled_from_the_command_line() {
    let program = Program::new();
    let server = Server::start(&program, &["--model", "simulated:latency=60s"]);
    let mut client = server.client().await;
    let id = open(&mut client, 0).await;
    follow(&mut client, &id, 7).await;
    let cancelled = program.run(["cancel", &id, "--reason", "enough"]);
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    follow(&mut client, &id, usize::MAX).await;
    drop(server);
    let log = program.run(["log", &id, "--json"]).lines();
    assert_eq!(log.last().unwrap()["kind"], "concluded");
    assert_eq!(program.run(["verify", &id]).code, Some(0));
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_server_ends_cleanly_on_sigterm_and_its_debates_go_on_at_the_next_start() {
    let program = Program::new();
    let server = Server::start(&program, &SLOW);
    let mut client = server.client().await;
    let id = open(&mut client, 0).await;
    follow(&mut client, &id, 10).await;
    assert_eq!(server.terminate().code(), Some(0));
    assert_eq!(program.run(["list", "--json"]).lines()[0]["status"], "interrupted");
    let mut server = Server::start(&program, &SLOW);
    assert!(server.says().contains("1 debate to resume"));
    follow(&mut server.client().await, &id, usize::MAX).await;
    drop(server);
    assert_eq!(program.run(["list", "--json"]).lines()[0]["completeness"], "full");
    assert_eq!(program.run(["verify", &id]).code, Some(0));
}

/// Asks on a new connection whether the server is up; returns the connection, and what began to be said in time.
fn asked(server: &Server, patience: Duration) -> (TcpStream, std::io::Result<String>) {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(patience)).unwrap();
    // A server that wants none of it may have ended already.
    let _unread = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let mut answer = [0; 12];
    let read = stream.read(&mut answer).map(|read| String::from_utf8_lossy(&answer[..read]).into_owned());
    (stream, read)
}

#[cfg(unix)]
#[test]
fn connections_are_limited_by_options_and_open_files() {
    let program = Program::new();
    let (short, long) = (Duration::from_millis(300), Duration::from_secs(20));
    for (files, option, number, places, is_ended) in [
        (1_024, "--connections-max", "3", 3, false),
        (1_024, "--connections-per-address-max", "3", 3, true),
        (256, "--connections-max", "20000", 56, false),
    ] {
        let args = ["serve", "--listen", "127.0.0.1:0", "--store", "memory", option, number];
        let server = Server::of(program.command_with_files(files, &args));
        let mut held = Vec::new();
        for place in 0..places {
            let (stream, answer) = asked(&server, long);
            assert_eq!(answer.unwrap(), "HTTP/1.1 200", "{option} {number}: place {place}");
            held.push(stream);
        }
        let (_beyond, answer) = asked(&server, if is_ended { long } else { short });
        let got_none = answer.as_ref().is_ok_and(String::is_empty)
            || answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::ConnectionReset);
        let waits = answer.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert_eq!((got_none, waits), (is_ended, !is_ended), "{option} {number}: {answer:?}");
    }
}

#[test]
fn a_server_that_others_can_reach_needs_a_token() {
    let program = Program::new();
    let ran = program.run(["serve", "--listen", "0.0.0.0:0", "--store", "memory"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(2), 1), "{ran:?}");
    assert!(ran.stderr.contains("no token is set"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "", "it does not say that it listens and then refuse to");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = program.run(["serve", "--listen", &address, "--store", "memory"]);
    assert_eq!((ran.code, ran.stderr.lines().count()), (Some(1), 1), "{ran:?}");
    assert!(ran.stderr.starts_with(&format!("error: cannot listen on {address}: ")), "{}", ran.stderr);
}

#[test]
fn p22_a_client_without_the_token_is_refused_and_one_with_it_is_not() {
    let program = Program::new();
    let token = "open-sesame-4711";
    for server in Server::start_both_ways(&program, ("--token", "DEBATE_TOKEN"), token) {
        let url = format!("http://{}", server.address);
        let unknown_id = "00000000-0000-4000-8000-000000000000";
        let refused = program.run(["watch", unknown_id, "--server", &url]);
        assert_eq!(refused.code, Some(5), "{refused:?}");
        let let_in = program.run(["watch", unknown_id, "--server", &url, "--token", token]);
        assert_eq!(let_in.code, Some(3), "{let_in:?}");
    }
}

#[test]
fn a_server_that_is_not_there_is_one_clear_error() {
    let program = Program::new();
    let unknown_id = "00000000-0000-4000-8000-000000000000";
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (url, code) in
        [(format!("http://{free}"), 5), ("localhost:50051".to_owned(), 2), ("http://".to_owned(), 2)]
    {
        let ran = program.run(["watch", unknown_id, "--server", &url]);
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(code), 1), "{url}: {ran:?}");
    }
}

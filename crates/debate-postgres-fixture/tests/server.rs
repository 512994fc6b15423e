//! A private server starts, stops, and leaves nothing behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "all of this is tests")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use debate_postgres_fixture::{Server, fresh_database};

/// Set for the copy of this program that is to be killed.
const VICTIM: &str = "DEBATE_FIXTURE_VICTIM";

#[test]
fn a_server_syncs_by_default_and_goes_with_its_folder() {
    let server = Server::start(&["work_mem=1MB"]).unwrap();
    assert_eq!(server.sql("postgres", "SHOW fsync").unwrap(), "on\n");
    assert_eq!(server.sql("postgres", "SHOW work_mem").unwrap(), "1MB\n");
    let folder = server.folder().to_owned();
    assert!(UnixStream::connect(server.socket()).is_ok());
    drop(server);
    assert!(!folder.exists());
}

#[test]
fn a_server_stopped_or_killed_starts_again_with_what_was_committed() {
    let mut server = Server::start(&[]).unwrap();
    server.sql("postgres", "CREATE TABLE kept (a int)").unwrap();
    for kill in [false, true, true] {
        server.sql("postgres", "INSERT INTO kept VALUES (1)").unwrap();
        let ended = if kill { server.kill() } else { server.stop() };
        ended.unwrap();
        assert!(server.sql("postgres", "SELECT 1").is_err());
        server.start_again().unwrap();
    }
    assert_eq!(server.sql("postgres", "SELECT count(*) FROM kept").unwrap(), "3\n");
}

#[test]
fn each_test_has_a_database_of_its_own() {
    let (one, other) = (fresh_database().unwrap(), fresh_database().unwrap());
    assert_ne!(one, other);
}

#[test]
fn a_killed_process_leaves_no_server_behind() {
    if std::env::var_os(VICTIM).is_some() {
        let server = Server::start(&[]).unwrap();
        println!("\nfolder {}", server.folder().display());
        // Waits for the kill.
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    }
    let mut victim = Command::new(std::env::current_exe().unwrap());
    victim.args(["--exact", "--nocapture", "a_killed_process_leaves_no_server_behind"]).env(VICTIM, "1");
    let mut victim = victim.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines().map(Result::unwrap);
    let folder = lines.find_map(|line| line.strip_prefix("folder ").map(str::to_owned)).unwrap();
    let pid = fs::read_to_string(Path::new(&folder).join("data/postmaster.pid")).unwrap();
    let pid = pid.lines().next().unwrap().to_owned();
    victim.kill().unwrap();
    victim.wait().unwrap();
    let started = Instant::now();
    let runs =
        || Command::new("kill").args(["-s", "0", &pid]).stderr(Stdio::null()).status().unwrap().success();
    while Path::new(&folder).exists() || runs() {
        assert!(started.elapsed() < Duration::from_secs(20), "{folder} or process {pid} is still there");
        std::thread::yield_now();
    }
}

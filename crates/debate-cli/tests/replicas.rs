//! Three servers on one database: one is killed, stalls, or loses the database, and nothing is lost, doubled or paid
//! twice (rules K2, K3).

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "cli/asked.rs"]
mod asked;
#[path = "replicas/pass.rs"]
mod pass;
#[path = "replicas/platform.rs"]
mod platform;
#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "cli/program.rs"]
mod program;
#[allow(dead_code, reason = "the other tests use the rest of it")]
#[path = "cli/server.rs"]
mod server;

use std::thread;
use std::time::Duration;

use debate_postgres_fixture::Server as Database;
use pass::Pass;
use platform::{Kept, open, replica};
use program::Program;
use server::Server;

const DEBATES: usize = 9;
const PATIENCE: Duration = Duration::from_secs(60);

/// Slow enough that every debate runs when something happens to its server.
const MODEL: &str = "simulated:latency=700ms";
const AT_ONCE: &str = "simulated";

/// Long enough that others take over meanwhile.
const AWAY: Duration = Duration::from_secs(4);

/// Lets debates run on three servers, the first of which reaches the database by a way of its own, while something
/// happens to that one; then everything must be as if nothing had happened.
async fn survive(happens: impl FnOnce(&mut Vec<Server>, &Pass)) {
    let program = Program::new();
    let server = Database::start(&[]).unwrap();
    for database in ["platform", "undisturbed"] {
        server.create_database(database).unwrap();
    }
    let store = server.url("platform");
    let pass = Pass::open(&server.socket());
    let mut replicas = vec![replica(&program, &pass.url(&store), MODEL)];
    replicas.extend((0..2).map(|_| replica(&program, &store, MODEL)));
    let ids = open(&replicas, DEBATES).await;
    let kept = Kept { program: &program, store: &store };
    thread::sleep(Duration::from_millis(1_500));
    assert_eq!(kept.running(), DEBATES, "something happens in the middle");
    happens(&mut replicas, &pass);
    kept.wait_until_all_have_ended(PATIENCE);

    let lost: usize = ids.values().map(|id| kept.check(id)).sum();
    assert!(lost > 0, "calls were in flight");
    kept.verify();
    let undisturbed = server.url("undisturbed");
    let alone = [replica(&program, &undisturbed, AT_ONCE)];
    let wanted = open(&alone, DEBATES).await;
    let reference = Kept { program: &program, store: &undisturbed };
    reference.wait_until_all_have_ended(PATIENCE);
    for (number, id) in &ids {
        assert!(
            kept.outcome(id) == reference.outcome(&wanted[number]),
            "debate {number} came to something else"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k2_debates_of_a_server_that_is_killed_go_on_elsewhere() {
    survive(|replicas, _| replicas.remove(0).kill()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k2_a_server_that_stalls_and_resumes_disturbs_no_debate() {
    survive(|replicas, _| {
        replicas[0].signal("-STOP");
        thread::sleep(AWAY);
        replicas[0].signal("-CONT");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn k2_a_server_that_loses_the_database_stops_and_comes_back() {
    survive(|_, pass| {
        pass.block();
        thread::sleep(AWAY);
        pass.unblock();
    })
    .await;
}

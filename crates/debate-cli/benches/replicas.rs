//! Three servers on one PostgreSQL, one of them killed every second: does every debate end as if nothing had happened?
//!
//! 300 debates are opened over two minutes, one after the other on a server drawn from a seed, while every second another
//! server drawn is killed with SIGKILL and started anew. Then each log is checked, all are verified, and the result of
//! each debate is compared with an undisturbed run. The model is simulated. `--quick` opens 30 in twelve seconds.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a run that cannot go on has failed")]

#[path = "../tests/cli/asked.rs"]
mod asked;
#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/replicas/platform.rs"]
mod platform;
#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/cli/program.rs"]
mod program;
#[allow(dead_code, reason = "the tests use the rest of it")]
#[path = "../tests/cli/server.rs"]
mod server;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use debate_postgres_fixture::Server as Database;
use platform::{Kept, LEASE_SECONDS, open, replica, request};
use program::Program;
use serde_json::json;
use server::Server;

/// Three answers of this model and more are lost with every server that is killed.
const MODEL: &str = "simulated:latency=500ms,sigma=0.5,malformed=0.02";
const AT_ONCE: &str = "simulated:malformed=0.02";

const REPLICAS: usize = 3;
const OPEN_EVERY: Duration = Duration::from_millis(400);
const KILL_EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(300);

/// Draws numbers, the same in every run.
struct Draw(u64);

impl Draw {
    /// Returns a number below `end`.
    fn below(&mut self, end: usize) -> usize {
        // Steele, Lea, Flood: Fast splittable pseudorandom number generators (2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % end as u64).unwrap()
    }
}

/// Opens debates on servers that are killed meanwhile; returns their ids by number, and how many servers were killed.
async fn open_under_fire(
    program: &Program,
    store: &str,
    debates: usize,
) -> (Vec<Server>, BTreeMap<usize, String>, usize) {
    let mut draw = Draw(7);
    let mut replicas: Vec<Server> = (0..REPLICAS).map(|_| replica(program, store, MODEL)).collect();
    let mut ids = BTreeMap::new();
    let (mut kills, began) = (0, Instant::now());
    for number in 0..debates {
        tokio::time::sleep_until((began + OPEN_EVERY * u32::try_from(number).unwrap()).into()).await;
        while began.elapsed() > KILL_EVERY * (kills + 1) {
            let victim = draw.below(REPLICAS);
            replicas.swap_remove(victim).kill();
            replicas.push(replica(program, store, MODEL));
            kills += 1;
        }
        // A client whose server dies asks another one again, with the same request id (rule K11).
        let mut client = replicas[draw.below(REPLICAS)].client().await;
        let started = client.start_debate(request(number)).await.unwrap().into_inner();
        ids.insert(number, started.debate.unwrap().id);
    }
    (replicas, ids, kills as usize)
}

#[tokio::main]
async fn main() {
    let given: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| given.iter().any(|argument| argument == flag);
    let debates = if has("--quick") { 30 } else { 300 };
    let program = Program::new();
    let server = Database::start(&[]).unwrap();
    for database in ["platform", "undisturbed"] {
        server.create_database(database).unwrap();
    }
    let store = server.url("platform");
    eprintln!("opening {debates} debates on {REPLICAS} servers, one of them killed every second");
    let began = Instant::now();
    let (replicas, ids, kills) = open_under_fire(&program, &store, debates).await;
    let kept = Kept { program: &program, store: &store };
    eprintln!("all are open after {:.0} s; {} still run", began.elapsed().as_secs_f64(), kept.running());
    kept.wait_until_all_have_ended(PATIENCE);
    let seconds = began.elapsed().as_secs_f64();
    drop(replicas);

    let lost: usize = ids.values().map(|id| kept.check(id)).sum();
    kept.verify();
    eprintln!("all have ended after {seconds:.0} s and verify; comparing with an undisturbed run");
    let undisturbed = server.url("undisturbed");
    let alone = [replica(&program, &undisturbed, AT_ONCE)];
    let wanted = open(&alone, debates).await;
    let reference = Kept { program: &program, store: &undisturbed };
    reference.wait_until_all_have_ended(PATIENCE);
    let differ =
        ids.iter().filter(|(number, id)| kept.outcome(id) != reference.outcome(&wanted[number])).count();

    println!(
        "debates {debates}, servers killed {kills}, all ended after {seconds:.0} s (leases of {LEASE_SECONDS} s)"
    );
    println!(
        "questions lost with a server and asked again {lost}; answers asked for again 0 (checked in every log)"
    );
    println!("outcomes that differ from the undisturbed run {differ}");
    if has("--json") {
        let results = json!({
            "debates": debates, "kills": kills, "seconds": seconds, "lost": lost, "differ": differ,
        });
        println!("{}", json!({ "bench": "replicas", "results": results }));
    }
    assert_eq!(differ, 0, "debates came to something else");
}

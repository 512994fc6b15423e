//! Three servers on one database, debates spread over them, and what goes wrong with servers.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use debate_proto::v1;
use serde_json::Value;

use crate::asked::check_asked_once;
use crate::program::Program;
use crate::server::{self, Server};

/// Seconds for which the debates of a server that is not heard of are left alone.
pub(crate) const LEASE_SECONDS: &str = "2";

/// Starts a server that shares the debates of a database.
pub(crate) fn replica(program: &Program, store: &str, model: &str) -> Server {
    Server::start(program, &["--store", store, "--model", model, "--lease-seconds", LEASE_SECONDS])
}

/// Returns a small request that nothing but its deadline could cut short; the same number is the same request.
pub(crate) fn request(number: usize) -> v1::StartDebateRequest {
    let mut request = server::request(number);
    if let Some(v1::start_debate_request::Format::Prediction(debate)) = &mut request.format {
        debate.options = Some(v1::DebateOptions { limits: Some(generous()), ..Default::default() });
    }
    request
}

/// Limits that no number of lost calls reaches, so that what a debate comes to does not depend on it.
fn generous() -> v1::LimitsOption {
    v1::LimitsOption {
        deadline_ms: Some(3_600_000),
        calls_max: Some(10_000),
        input_tokens_max: Some(100_000_000),
        output_tokens_max: Some(100_000_000),
        ..Default::default()
    }
}

/// Opens debates, by turns on each of the servers; returns their ids by number.
pub(crate) async fn open(replicas: &[Server], debates: usize) -> BTreeMap<usize, String> {
    let mut ids = BTreeMap::new();
    for (at, replica) in replicas.iter().enumerate() {
        let mut client = replica.client().await;
        for number in (at..debates).step_by(replicas.len()) {
            let started = client.start_debate(request(number)).await.unwrap().into_inner();
            ids.insert(number, started.debate.unwrap().id);
        }
    }
    ids
}

/// What is kept in a store, read by a process of its own.
pub(crate) struct Kept<'a> {
    pub(crate) program: &'a Program,
    pub(crate) store: &'a str,
}

impl Kept<'_> {
    fn run(&self, args: &[&str]) -> Vec<Value> {
        let ran = self.program.run(args.iter().copied().chain(["--store", self.store]));
        assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
        ran.lines()
    }

    /// Returns how many debates run, whether or not a replica drives them just now.
    pub(crate) fn running(&self) -> usize {
        let listed = self.run(&["list", "--json", "--limit", "1000"]);
        listed.iter().filter(|debate| debate["status"] != "concluded").count()
    }

    /// Waits until no debate runs.
    pub(crate) fn wait_until_all_have_ended(&self, patience: Duration) {
        let began = Instant::now();
        while self.running() > 0 {
            assert!(began.elapsed() < patience, "{} debates still run after {patience:?}", self.running());
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Checks that a debate was run by the rules, whichever server ran it. Returns how many questions were lost.
    pub(crate) fn check(&self, id: &str) -> usize {
        let log = self.run(&["log", id, "--json"]);
        assert_eq!(log.iter().filter(|event| event["kind"] == "concluded").count(), 1, "{id}");
        check_asked_once(&log)
    }

    /// Checks hashes, folds and outcomes of all debates.
    pub(crate) fn verify(&self) {
        let ran = self.program.run(["verify", "--all", "--store", self.store]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }

    /// Returns what a debate came to, without its id, times and spend.
    pub(crate) fn outcome(&self, id: &str) -> Value {
        let mut outcome = self.run(&["show", id, "--json"]).remove(0);
        let fields = outcome.as_object_mut().unwrap();
        for of_this_run in ["debate_id", "completed_at", "metadata"] {
            assert!(fields.remove(of_this_run).is_some(), "{of_this_run}");
        }
        // What was lost is not known to have cost nothing.
        assert!(fields["extra"].as_object_mut().unwrap().remove("usage_complete").is_some());
        outcome
    }
}

//! A server that is slow to answer, and one that another takes over from: nothing acknowledged is lost, nothing is doubled,
//! and the store goes on by itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use debate_core::id::Seq;
use debate_postgres_fixture::{Proxy, Server};
use debate_store::{EventStore, Leases};
use tokio::task::JoinSet;

use crate::postgres_faults::{check, open, patient, write};
use crate::stream_writer::StreamWriter;

/// How long every piece of an answer takes.
const DELAY: Duration = Duration::from_millis(300);

/// How long a debate is left alone after its replica was last heard of: ten answers.
const TTL: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_way_to_the_server_loses_nothing_acknowledged_and_no_lease() {
    let server = Server::start(&[]).unwrap();
    let proxy = Proxy::start(server.socket()).await.unwrap();
    let near = open(&server.url("postgres"), patient()).await;
    let far = open(&proxy.url("postgres"), patient()).await;
    proxy.delay(DELAY);
    let lease = far.acquire(StreamWriter::new(0).stream, "far", TTL).await.unwrap().unwrap();
    let leased = Instant::now();
    let mut tasks = JoinSet::new();
    for id in 0..8 {
        tasks.spawn(write(Arc::clone(&far), id, 8));
    }
    while leased.elapsed() < TTL + DELAY {
        assert_eq!(far.renew(&[lease], TTL).await.unwrap(), [lease], "it is renewed in time");
        assert_eq!(near.adopt("near", TTL, 8).await.unwrap(), [], "no other replica takes it");
    }
    check(&near, &tasks.join_all().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_takes_over_in_the_middle_has_all_that_was_acknowledged() {
    let mut primary = Server::start(&[]).unwrap();
    let proxy = Proxy::start(primary.socket()).await.unwrap();
    let store = open(&proxy.url("postgres"), patient()).await;
    let standby = primary.standby().unwrap();
    // From here on a commit is acknowledged when both servers have it.
    primary.sql("postgres", "ALTER SYSTEM SET synchronous_standby_names = '*'").unwrap();
    primary.sql("postgres", "SELECT pg_reload_conf()").unwrap();
    while primary.sql("postgres", "SELECT sync_state FROM pg_stat_replication").unwrap() != "sync\n" {}

    let mut tasks = JoinSet::new();
    for id in 0..6 {
        tasks.spawn(write(Arc::clone(&store), id, 200));
    }
    let first = StreamWriter::new(0).stream;
    let mut seen = Seq::START;
    while seen < Seq(50) {
        seen = store.wait(first, seen).await.unwrap();
    }
    // Transactions are cut off in the middle; who comes back finds a server that refuses to write.
    proxy.lead_to(standby.socket());
    while !standby.log().contains("in a read-only transaction") {
        store.head(first).await.unwrap();
    }
    primary.kill().unwrap();
    assert_eq!(standby.sql("postgres", "SELECT pg_promote()").unwrap(), "t\n");
    check(&store, &tasks.join_all().await).await;
}

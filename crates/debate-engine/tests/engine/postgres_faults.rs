//! A whole debate on PostgreSQL through each thing that can happen to the server and to the way to it. Always: nothing
//! that was in the log is lost, nothing is answered twice, and the debate ends by itself as it does undisturbed.

use std::sync::Arc;
use std::time::Duration;

use debate_core::envelope::Envelope;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Engine, Sharing};
use debate_postgres_fixture::{Proxy, Server, SmallDisk};
use debate_prompts::prediction::PredictionPrompts;
use debate_store::{PostgresOptions, PostgresStore};

use crate::bench_of_one::{engine, kinds, log, memory, model, outcome, start};

/// How long a debate is left alone after its replica was last heard of.
const TTL: Duration = Duration::from_secs(3);

/// How long a debate may take that was disturbed.
const PATIENCE: Duration = Duration::from_secs(90);

/// Events after which something happens, of about a hundred.
const MIDDLE: Seq = Seq(40);

/// So slow that a debate takes a few seconds.
const MODEL: &str = "seed=7,latency=300ms";

/// A debate under way at a replica whose way to the server leads through a proxy.
struct Stage {
    server: Server,
    proxy: Proxy,
    /// Drives the debate.
    _engine: Engine,
    debate: DebateId,
    /// Looks on, patiently, and drives nothing.
    onlooker: Engine,
    /// The same debate where nothing happens to it.
    undisturbed: (Engine, DebateId),
    /// What the log held in the middle.
    before: Vec<Envelope>,
}

/// Options of a store that soon gives up an operation, so that the engine has to handle it.
fn impatient() -> PostgresOptions {
    PostgresOptions { retry_time: Duration::from_millis(200), ..PostgresOptions::default() }
}

fn patient() -> PostgresOptions {
    PostgresOptions { retry_time: PATIENCE, ..PostgresOptions::default() }
}

async fn replica(url: &str, name: &str, options: PostgresOptions) -> (Engine, Arc<PostgresStore>) {
    // On a busy machine it may give up on opening, too.
    let store = loop {
        if let Ok(store) = PostgresStore::open(url, options.clone()).await {
            break Arc::new(store);
        }
    };
    let sharing = Sharing { leases: store.clone(), replica: name.to_owned(), ttl: TTL };
    let engine = Engine::builder(store.clone(), model(MODEL))
        .format(PredictionPrompts)
        .actor(name)
        .sharing(sharing)
        .build();
    engine.recover().await.unwrap();
    (engine, store)
}

impl Stage {
    /// Starts a debate and waits until it is in the middle.
    async fn new() -> Self {
        Self::with(impatient()).await
    }

    async fn with(options: PostgresOptions) -> Self {
        let server = Server::start(&[]).unwrap();
        server.sql("postgres", "CREATE ROLE app LOGIN CREATEROLE").unwrap();
        server.sql("postgres", "CREATE DATABASE debates OWNER app").unwrap();
        let proxy = Proxy::start(server.socket()).await.unwrap();
        let (engine, _) = replica(&proxy.url_for("app", "debates"), "far", options).await;
        let store = PostgresStore::open(&proxy.url("debates"), patient()).await.unwrap();
        let onlooker = self::engine(Arc::new(store), model(MODEL));
        let calm = self::engine(memory(), model(MODEL));
        let undisturbed = calm.start(start(None)).await.unwrap().debate;
        // As impatient as its store, it may give up on a busy machine before there is a debate.
        let debate = loop {
            if let Ok(started) = engine.start(start(Some("once"))).await {
                break started.debate;
            }
        };
        let mut seen = Seq::START;
        while seen < MIDDLE {
            seen = onlooker.store().wait(debate.into(), seen).await.unwrap();
        }
        let before = log(&onlooker, debate).await;
        assert!(!kinds(&before).contains_key("concluded"), "it is under way");
        Self { server, proxy, _engine: engine, debate, onlooker, undisturbed: (calm, undisturbed), before }
    }

    /// Runs SQL as the superuser.
    fn sql(&self, sql: &str) {
        self.server.sql("debates", sql).unwrap();
    }

    /// Ends all connections of the replica, so that new ones are made.
    fn end_connections(&self) {
        self.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'");
    }

    /// Reads something.
    async fn look(&self) {
        self.onlooker.store().head(self.debate.into()).await.unwrap();
    }

    /// Waits until the server has said this so often.
    async fn said(&self, what: &str, times: usize) {
        while self.server.log().matches(what).count() < times {
            self.look().await;
        }
    }

    /// Checks that the debate ends, and how.
    async fn check(self) -> Vec<Envelope> {
        let (calm, undisturbed) = &self.undisturbed;
        for (engine, debate) in [(&self.onlooker, self.debate), (calm, *undisturbed)] {
            assert!(engine.concluded(debate, PATIENCE).await.unwrap(), "it ends");
        }
        let found = self.onlooker.verify(self.debate).await.unwrap();
        assert_eq!((found.fault, found.outcomes), (None, 1));
        let log = log(&self.onlooker, self.debate).await;
        assert!(log.starts_with(&self.before), "what was in the log stays");
        let calm_log = calm.log(*undisturbed, None).await.unwrap();
        for kind in ["call_answered", "argument_made", "argument_scored", "concluded"] {
            assert_eq!(kinds(&log)[kind], kinds(&calm_log)[kind], "{kind}: nothing is lost or doubled");
        }
        let [mut found, mut wanted] =
            [outcome(&self.onlooker, self.debate).await, outcome(calm, *undisturbed).await];
        // What was under way when the server went away may have been used.
        for outcome in [&mut found, &mut wanted] {
            outcome["extra"]["usage_complete"].take();
        }
        assert!(found == wanted, "{found} is not {wanted}");
        log
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_debate_goes_on_when_the_server_was_killed_and_when_it_was_restarted() {
    for kill in [true, false] {
        let mut stage = Stage::new().await;
        let ended = if kill { stage.server.kill() } else { stage.server.stop() };
        ended.unwrap();
        stage.server.start_again().unwrap();
        stage.check().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_debate_goes_on_when_answers_of_the_server_were_lost() {
    let stage = Stage::new().await;
    for cut in 1..=5 {
        stage.proxy.cut_after(cut % 3);
        while stage.proxy.cuts() < u64::try_from(cut).unwrap() {
            stage.look().await;
        }
    }
    stage.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_debate_goes_on_when_the_server_has_connections_again() {
    let stage = Stage::new().await;
    stage.sql("ALTER ROLE app CONNECTION LIMIT 0");
    stage.end_connections();
    stage.said("too many connections for role", 3).await;
    stage.sql("ALTER ROLE app CONNECTION LIMIT -1");
    stage.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_debate_goes_on_when_the_server_may_be_written_to_again() {
    let stage = Stage::new().await;
    stage.sql("ALTER ROLE app SET default_transaction_read_only = on");
    stage.end_connections();
    stage.said("in a read-only transaction", 3).await;
    stage.sql("ALTER ROLE app RESET default_transaction_read_only");
    stage.end_connections();
    stage.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_debate_goes_on_when_there_is_room_on_the_disk_again() {
    let stage = Stage::new().await;
    let disk = match SmallDisk::mount(&stage.server, 3) {
        Ok(disk) => disk,
        Err(error) => return eprintln!("skipped: {error}"),
    };
    stage.sql(&format!("CREATE TABLESPACE small LOCATION '{}'", disk.folder().display()));
    stage.sql("CREATE TABLE ballast (text text) TABLESPACE small");
    let fill = "INSERT INTO ballast SELECT repeat('x', 1000) FROM generate_series(1, 4000)";
    // The log moves to a disk that is full, but for what it holds by then.
    stage.sql("ALTER TABLE events SET TABLESPACE small");
    stage.server.sql("debates", fill).unwrap_err();
    stage.said("No space left on device", 3).await;
    stage.sql("DROP TABLE ballast");
    stage.check().await;
    drop(disk);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_debate_goes_on_where_another_server_took_over() {
    let mut stage = Stage::new().await;
    let standby = stage.server.standby().unwrap();
    stage.sql("ALTER SYSTEM SET synchronous_standby_names = '*'");
    stage.sql("SELECT pg_reload_conf()");
    while stage.server.sql("postgres", "SELECT sync_state FROM pg_stat_replication").unwrap() != "sync\n" {}
    stage.proxy.lead_to(standby.socket());
    stage.server.kill().unwrap();
    standby.sql("postgres", "SELECT pg_promote()").unwrap();
    stage.check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn k2_a_debate_goes_on_over_a_slow_way_and_no_other_replica_takes_it() {
    let stage = Stage::with(PostgresOptions::default()).await;
    stage.proxy.delay(Duration::from_millis(250));
    let (_other, _) = replica(&stage.server.url("debates"), "near", impatient()).await;
    let log = stage.check().await;
    let mut asked = log.iter().filter(|it| it.kind == "call_started");
    assert!(asked.all(|it| it.actor == "far"), "another replica took it");
    let [first, last] = [&log[0], &log[log.len() - 1]].map(|it| it.at.0);
    assert!(last - first > i64::try_from(TTL.as_millis()).unwrap(), "its lease had to be renewed");
}

//! The rounds of one run: with subscribers, without, the floor, and one in which the server is shut down.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use debate_core::id::{DebateId, Digest, Seq};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::process::{Server, Usage};
use crate::report::{self, Ratios, Turn};
use crate::subscriber::{Connections, Seen, Subscriber};

/// Subscribers of each debate.
const EACH: usize = 5;
/// How often all is run; ratios are of medians.
const TURNS: usize = 5;
/// How often it is looked how far a round is.
const LOOK: Duration = Duration::from_millis(5);

/// What one round took of the server.
pub(crate) struct Round {
    pub(crate) wall_s: f64,
    pub(crate) cpu_s: f64,
    pub(crate) usage: Usage,
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

/// Subscribers at work.
struct Crowd {
    seen: Arc<Seen>,
    server: watch::Sender<Connections>,
    following: JoinSet<Result<(DebateId, (Seq, Digest))>>,
}

impl Crowd {
    /// Sends subscribers to the debates, and returns once all of them watch.
    async fn gather(address: &str, debates: &[String]) -> Result<Self> {
        let count = debates.len() * EACH;
        let (server, _) = watch::channel(Connections::open(address, count).await?);
        let mut crowd = Self { seen: Arc::default(), server, following: JoinSet::new() };
        for number in 0..count {
            let debate: DebateId = debates[number / EACH].parse()?;
            let (server, seen) = (crowd.server.subscribe(), Arc::clone(&crowd.seen));
            let one = Subscriber { debate, server, number, seen, leaves_after: None };
            crowd.following.spawn(async move { Ok((debate, one.follow().await?)) });
        }
        while crowd.seen.attached.load(Ordering::Relaxed) < count {
            crowd.check().await?;
        }
        Ok(crowd)
    }

    /// Waits a little; fails as soon as one has.
    async fn check(&mut self) -> Result<()> {
        tokio::time::sleep(LOOK).await;
        while let Some(ended) = self.following.try_join_next() {
            ended??;
        }
        Ok(())
    }

    /// Waits until every subscriber has seen its debate to the end.
    async fn all_have_seen_all(&mut self) -> Result<()> {
        while let Some(ended) = self.following.join_next().await {
            ended??;
        }
        Ok(())
    }
}

async fn opened(address: &str, debates: usize) -> Result<Vec<String>> {
    let connections = Connections::open(address, 1).await?;
    let mut ids = Vec::new();
    for number in 0..debates {
        ids.push(connections.start(number).await?);
    }
    Ok(ids)
}

/// Has a server at work from `go` to the end of what it is to do.
async fn at_work(server: &mut Server, mut crowd: Option<Crowd>) -> Result<Round> {
    let before = server.usage()?;
    let began = Instant::now();
    server.tell("go")?;
    if let Some(crowd) = &mut crowd {
        crowd.all_have_seen_all().await?;
    } else {
        ensure!(server.ask("end")? == "ended", "the debates go on");
    }
    let usage = server.usage()?;
    let seen = crowd.map(|crowd| crowd.seen).unwrap_or_default();
    Ok(Round {
        wall_s: began.elapsed().as_secs_f64(),
        cpu_s: usage.cpu_s - before.cpu_s,
        usage,
        events: seen.events.load(Ordering::Relaxed),
        bytes: seen.bytes.load(Ordering::Relaxed),
    })
}

/// Who watches the debates of an engine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watchers {
    /// No subscribers.
    None,
    /// Subscribers of the engine.
    Ours,
    /// Subscribers of bare tonic in the same process.
    Floor,
}

/// Runs debates with their subscribers, or without any.
async fn with_engine(store: PathBuf, debates: usize, watchers: Watchers) -> Result<(Round, Vec<String>)> {
    let role = if watchers == Watchers::Floor { "engine-and-floor" } else { "engine" };
    let mut server = Server::start(role, &store)?;
    let ids = opened(&server.address, debates).await?;
    let crowd = match watchers {
        Watchers::None => None,
        Watchers::Ours => Some(Crowd::gather(&server.address, &ids).await?),
        Watchers::Floor => Some(Crowd::gather(&server.ask("floor")?, &ids).await?),
    };
    let round = at_work(&mut server, crowd).await?;
    server.terminate()?;
    Ok((round, ids))
}

async fn with_bare_tonic(store: &Path, ids: &[String]) -> Result<Round> {
    let mut server = Server::start("bare", store)?;
    let crowd = Crowd::gather(&server.address, ids).await?;
    at_work(&mut server, Some(crowd)).await
}

/// Tells a server to end when a third of the events have come, and starts it anew; returns how many had to resume.
async fn with_sigterm(store: &Path, debates: usize, events: usize) -> Result<(Round, usize)> {
    let mut server = Server::start("engine", store)?;
    let ids = opened(&server.address, debates).await?;
    let mut crowd = Crowd::gather(&server.address, &ids).await?;
    server.tell("go")?;
    while crowd.seen.events.load(Ordering::Relaxed) < events / 3 {
        crowd.check().await?;
    }
    server.terminate()?;
    let mut server = Server::start("engine", store)?;
    let connections = Connections::open(&server.address, debates * EACH).await?;
    crowd.server.send_replace(connections);
    let seen = Arc::clone(&crowd.seen);
    let round = at_work(&mut server, Some(crowd)).await?;
    server.terminate()?;
    Ok((round, seen.resumed.load(Ordering::Relaxed)))
}

/// Runs all rounds, prints what they took, and fails where a promise does not hold.
pub(crate) async fn run(is_quick: bool, json: bool) -> Result<()> {
    let debates = if is_quick { 100 } else { 1_000 };
    let folder = tempfile::tempdir()?;
    let place = |name: &str, turn: usize| folder.path().join(format!("{name}-{turn}.sqlite"));
    println!("{debates} debates at once, no latency of the model, {} subscribers", debates * EACH);
    report::heading();
    let (mut turns, mut last) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let ours = with_engine(place("ours", turn), debates, Watchers::Ours);
        let (ours, ids) = ours.await.context("with subscribers")?;
        let alone = with_engine(place("alone", turn), debates, Watchers::None);
        let (alone, _) = alone.await.context("without subscribers")?;
        let floor = with_engine(place("floor", turn), debates, Watchers::Floor);
        let (floor, _) = floor.await.context("with bare tonic in the same process")?;
        let turned = Turn { ours, alone, floor };
        turned.print();
        turns.push(turned);
        last = ids;
    }
    let streamed = turns.last().map(|turn| turn.ours.events).unwrap_or_default();
    let dash = with_bare_tonic(&place("ours", TURNS - 1), &last).await.context("bare tonic")?;
    ensure!(dash.events == streamed, "the floor streamed other messages");
    report::print("bare tonic alone", &dash);
    let (ended, resumed) =
        with_sigterm(&place("ended", 0), debates, streamed).await.context("with SIGTERM")?;
    report::print("SIGTERM, anew", &ended);
    println!("\nno event lost or seen twice, every chain whole; {resumed} resumed after SIGTERM");
    let ratios = Ratios::of(&turns);
    ratios.print();
    if json {
        let results = json!({
            "debates": debates, "subscribers": debates * EACH, "resumed": resumed, "ratios": ratios.json(),
            "turns": turns.iter().map(Turn::json).collect::<Vec<_>>(),
            "bare_alone": report::json_of(&dash), "sigterm": report::json_of(&ended),
        });
        println!("{}", json!({"bench": "fanout", "results": results}));
    }
    ensure!(resumed > 0, "no subscriber resumed: the server ended too late");
    ratios.check()
}

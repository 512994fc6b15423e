//! `cargo xtask bench peers`: one debate of 31 calls, held by the engine and by other orchestrators against one model
//! server; what each takes of time, processor and memory, and whether the ratios that are promised hold.

mod bars;
pub(crate) mod catchup;
mod flight;
pub(crate) mod install;
pub(crate) mod model_server;
mod roster;
mod table;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::cargo::Workspace;
use flight::{Field, Flight};
use model_server::ModelServer;
use roster::{PEERS, Pace, Peer, Started};

/// What is asked for on the command line.
#[derive(Debug, Default)]
pub(crate) struct Wanted {
    /// Fewer debates, rounds and peers under load.
    pub(crate) quick: bool,
    /// Print one JSON object as the last line.
    pub(crate) json: bool,
    /// Peers by name; all of them when empty.
    pub(crate) only: Vec<String>,
}

/// One measured setting of one peer, over all rounds.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) peer: &'static str,
    pub(crate) schedule: &'static str,
    pub(crate) field: Field,
    /// One for each round.
    pub(crate) flights: Vec<Flight>,
}

/// Runs the peers and prints the tables.
///
/// # Errors
///
/// When a name is not a peer's, the model server does not run, no peer could be measured, or a ratio that the peers
/// promise does not hold or could not be measured.
pub(crate) fn run(workspace: &Workspace, wanted: &Wanted) -> Result<()> {
    for name in &wanted.only {
        if !PEERS.iter().any(|peer| peer.name == name) {
            let known: Vec<_> = PEERS.iter().map(|peer| peer.name).collect();
            bail!("no peer is called {name}; there are {}", known.join(", "));
        }
    }
    let folder = workspace.target.join("peers");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let server = ModelServer::start(workspace)?;
    let ours = install::rust(workspace, "peer-ours", "peer-ours").context("the engine does not build")?;
    let tape = flight::record(&server, &ours, &folder)?;
    let (mut started, mut skipped) = (Vec::new(), Vec::new());
    for peer in PEERS.iter().filter(|peer| wanted.takes(peer)) {
        match install::peer(workspace, peer).and_then(|commands| {
            let started = Started { peer, commands, tape: tape.clone(), work: folder.join("log") };
            flight::fly(&server, &started, Field::TRIAL).map(|_| started)
        }) {
            Ok(peer) => started.push(peer),
            Err(error) => skipped.push((peer.name, format!("{error:#}"))),
        }
    }
    let rows = measure(&server, &started, wanted.quick, &mut skipped);
    let bars = bars::check(&server, &started, &rows, &mut skipped);
    let takes = |name: &str| PEERS.iter().any(|peer| peer.name == name && wanted.takes(peer));
    let broken = bars::broken(&bars, &bars::promised(takes));
    let base = rows.iter().find(|row| row.field.in_flight == 1).context("nothing was measured")?;
    println!("\n{}\n\n{}", table::rows(&rows), table::bars(&bars));
    let is_pinned = model_server::is_pinned();
    println!("pinned: {}", if is_pinned { "yes" } else { "no" });
    for (name, why) in &skipped {
        println!("skipped {name}: {why}");
    }
    if wanted.json {
        let skipped: Vec<_> = skipped.iter().map(|(name, why)| json!({ "peer": name, "why": why })).collect();
        println!(
            "{}",
            json!({
                "bench": "peers",
                "quick": wanted.quick,
                "pinned": is_pinned,
                "all_hold": broken.is_empty(),
                "rounds": base.flights.len(),
                "rows": rows.iter().map(table::row_json).collect::<Vec<_>>(),
                "bars": bars.iter().map(bars::Bar::to_json).collect::<Vec<_>>(),
                "skipped": skipped,
            })
        );
    }
    if broken.is_empty() { Ok(()) } else { bail!("{}", broken.join("; ")) }
}

impl Wanted {
    fn takes(&self, peer: &Peer) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == peer.name)
    }
}

/// Runs all peers in turn, round after round, so that other load on the machine affects all of them alike.
fn measure(
    server: &ModelServer,
    started: &[Started],
    quick: bool,
    skipped: &mut Vec<(&'static str, String)>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let rounds = if quick { 2 } else { 3 };
    for in_flight in [1, 10, 100, 500] {
        for round in 0..rounds {
            for peer in started {
                let Some(field) = peer.peer.pace.field(in_flight, quick, round) else { continue };
                eprintln!("round {} of {rounds}: {} with {in_flight} in flight", round + 1, peer.peer.name);
                match flight::fly(server, peer, field) {
                    Ok(flight) => keep(&mut rows, peer.peer, field, flight),
                    Err(error) => {
                        skipped.push((peer.peer.name, format!("{in_flight} in flight: {error:#}")));
                    }
                }
            }
        }
    }
    rows
}

fn keep(rows: &mut Vec<Row>, peer: &Peer, field: Field, flight: Flight) {
    let is_same = |row: &&mut Row| row.peer == peer.name && row.field.in_flight == field.in_flight;
    match rows.iter_mut().find(is_same) {
        Some(row) => row.flights.push(flight),
        None => {
            rows.push(Row { peer: peer.name, schedule: peer.schedule, field, flights: vec![flight] });
        }
    }
}

impl Pace {
    /// Returns what is measured with so many debates in flight, if anything is.
    fn field(self, in_flight: u32, quick: bool, round: u32) -> Option<Field> {
        // In flight, debates of a quick run, debates of a whole one.
        let sizes: &[(u32, u32, u32)] = match self {
            Self::Fast => &[(1, 20, 40), (10, 50, 100), (100, 300, 500), (500, 0, 1_000)],
            Self::Slow => &[(1, 5, 10), (10, 10, 30), (100, 100, 100), (500, 0, 500)],
            Self::Slower => &[(1, 5, 10), (10, 10, 30), (100, 0, 100)],
        };
        let (_, few, many) = *sizes.iter().find(|(size, ..)| *size == in_flight)?;
        let debates = if quick { few } else { many };
        // Of the slow ones a hundred at once take a minute, which once is enough.
        let is_once = !matches!(self, Self::Fast) && in_flight >= 100;
        if debates == 0 || (is_once && round > 0) {
            return None;
        }
        let median_ms = if in_flight == 1 { 50.0 } else { 200.0 };
        Some(Field { debates, in_flight, median_ms, sigma: 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_peers_hold_fewer_debates_and_once() {
        let debates = |pace: Pace, in_flight, quick, round| {
            pace.field(in_flight, quick, round).map(|field| field.debates)
        };
        assert_eq!(debates(Pace::Fast, 100, true, 1), Some(300));
        assert_eq!(debates(Pace::Slow, 100, true, 0), Some(100));
        assert_eq!(debates(Pace::Slow, 100, true, 1), None);
        assert_eq!(debates(Pace::Slower, 100, true, 0), None);
        assert_eq!(debates(Pace::Slower, 500, false, 0), None);
        assert_eq!(debates(Pace::Fast, 7, false, 0), None);
    }
}

//! What the rounds took, for comparison.

use anyhow::{Result, ensure};
use debate_benches::quartiles;
use serde_json::{Value, json};

use crate::rounds::Round;

/// The least that our fan-out has of the floor's throughput.
const PROMISED: f64 = 0.5;

/// Three rounds one after the other, which are compared.
pub(crate) struct Turn {
    /// Subscribers of the engine.
    pub(crate) ours: Round,
    /// No subscribers.
    pub(crate) alone: Round,
    /// Bare tonic in the engine's process.
    pub(crate) floor: Round,
}

impl Turn {
    pub(crate) fn print(&self) {
        print("ours", &self.ours);
        print("without subscribers", &self.alone);
        print("floor: bare tonic", &self.floor);
    }

    pub(crate) fn json(&self) -> Value {
        json!({"ours": json_of(&self.ours), "alone": json_of(&self.alone), "floor": json_of(&self.floor)})
    }
}

/// Ours as part of the floor's throughput, of medians over the turns.
pub(crate) struct Ratios {
    /// What subscribers add to the rounds without any, in wall-clock time, with clients on the same machine.
    wall: f64,
    /// The same by processor time of the server.
    cpu: f64,
    /// Debates and their fan-out together, on the clock.
    whole: f64,
}

impl Ratios {
    pub(crate) fn of(turns: &[Turn]) -> Self {
        let wall_s = |round: &Round| round.wall_s;
        Self {
            wall: ratio(turns, wall_s, true),
            cpu: ratio(turns, |round| round.cpu_s, true),
            whole: ratio(turns, wall_s, false),
        }
    }

    pub(crate) fn print(&self) {
        println!("throughput of the fan-out, of the floor's, by medians of the turns:");
        println!("  on the clock, clients included      {:.2} × (promised ≥ {PROMISED})", self.wall);
        println!("  by processor time of the server     {:.2} ×", self.cpu);
        println!("  debates and fan-out, on the clock   {:.2} ×", self.whole);
    }

    pub(crate) fn json(&self) -> Value {
        json!({"wall": self.wall, "cpu": self.cpu, "whole": self.whole})
    }

    pub(crate) fn check(&self) -> Result<()> {
        ensure!(self.wall >= PROMISED, "the fan-out is slower than promised");
        Ok(())
    }
}

/// Returns our throughput as part of the floor's; of what subscribers add, or of all.
fn ratio(turns: &[Turn], took: fn(&Round) -> f64, is_added: bool) -> f64 {
    let median = |value: &dyn Fn(&Turn) -> f64| quartiles(&turns.iter().map(value).collect::<Vec<_>>())[1];
    let alone = if is_added { median(&|turn| took(&turn.alone)) } else { 0.0 };
    let throughput = |of: &dyn Fn(&Turn) -> &Round| {
        median(&|turn| of(turn).events as f64) / (median(&|turn| took(of(turn))) - alone)
    };
    throughput(&|turn| &turn.ours) / throughput(&|turn| &turn.floor)
}

pub(crate) fn heading() {
    println!("round                    wall, s   CPU of the server, s   peak, MB   files   events   MB");
}

pub(crate) fn print(name: &str, round: &Round) {
    println!(
        "{name:<22} {:>9.2} {:>22.2} {:>10.0} {:>7} {:>8} {:>4.0}",
        round.wall_s,
        round.cpu_s,
        round.usage.peak_mb,
        round.usage.files,
        round.events,
        round.bytes as f64 / 1e6
    );
}

pub(crate) fn json_of(round: &Round) -> Value {
    json!({
        "wall_s": round.wall_s, "cpu_s": round.cpu_s, "peak_mb": round.usage.peak_mb,
        "files": round.usage.files, "events": round.events, "bytes": round.bytes,
    })
}

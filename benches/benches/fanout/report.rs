//! What the rounds took, side by side.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::rounds::Round;

/// The least that our fan-out has of the floor's throughput.
const PROMISED: f64 = 0.5;

/// Three rounds one after the other, which are compared.
pub(crate) struct Turn {
    /// Subscribers of the engine.
    pub(crate) ours: Round,
    /// Nobody watches.
    pub(crate) alone: Round,
    /// Bare tonic beside the engine.
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

    /// Returns how many times the floor's throughput ours is, by what subscribers add to the round without any.
    fn ratio(&self, took: fn(&Round) -> f64) -> f64 {
        let throughput = |round: &Round| round.events as f64 / (took(round) - took(&self.alone));
        throughput(&self.ours) / throughput(&self.floor)
    }
}

/// Medians over the turns, as parts of the floor's throughput.
pub(crate) struct Ratios {
    /// On the clock, clients beside the server.
    wall: Spread,
    /// By processor time of the server.
    cpu: Spread,
    /// Debates and their fan-out together, on the clock.
    whole: Spread,
}

/// A median with the least and the greatest.
struct Spread([f64; 3]);

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self([values[0], values[values.len() / 2], values[values.len() - 1]])
    }

    fn median(&self) -> f64 {
        self.0[1]
    }
}

impl std::fmt::Display for Spread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [least, median, greatest] = self.0;
        write!(f, "{median:.2} × ({least:.2} to {greatest:.2})")
    }
}

impl Ratios {
    pub(crate) fn of(turns: &[Turn]) -> Self {
        let of = |ratio: &dyn Fn(&Turn) -> f64| Spread::of(turns.iter().map(ratio).collect());
        Self {
            wall: of(&|turn| turn.ratio(|round| round.wall_s)),
            cpu: of(&|turn| turn.ratio(|round| round.cpu_s)),
            whole: of(&|turn| {
                let throughput = |round: &Round| round.events as f64 / round.wall_s;
                throughput(&turn.ours) / throughput(&turn.floor)
            }),
        }
    }

    pub(crate) fn print(&self) {
        println!("throughput of the fan-out, of the floor's, medians of the turns:");
        println!("  on the clock, clients beside it     {} (promised ≥ {PROMISED})", self.wall);
        println!("  by processor time of the server     {}", self.cpu);
        println!("  debates and fan-out, on the clock   {}", self.whole);
    }

    pub(crate) fn json(&self) -> Value {
        json!({"wall": self.wall.0, "cpu": self.cpu.0, "whole": self.whole.0})
    }

    pub(crate) fn check(&self) -> Result<()> {
        ensure!(self.wall.median() >= PROMISED, "the fan-out is slower than promised");
        Ok(())
    }
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

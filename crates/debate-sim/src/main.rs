//! `cargo xtask sim`: runs simulated worlds. A seed repeats that one run and shows all that happens in it.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use debate_core::id::Seq;
use debate_sim::run::{self, Failure, Report};
use debate_sim::store::CrashAt;

#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask sim", about = "Runs simulated worlds, each from one seed")]
struct Arguments {
    /// Repeat the run of this seed and show all that happens in it
    seed: Option<u64>,
    /// Run so many seeds and show only what they come to
    #[arg(long, value_name = "N", conflicts_with = "seed")]
    runs: Option<u64>,
    /// The first of these seeds
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    from: u64,
    /// With a seed: nothing goes wrong but one crash, when the event with this sequence number is to be stored
    #[arg(long, value_name = "SEQ", requires = "seed")]
    crash_at: Option<u64>,
    /// With a seed: nothing goes wrong
    #[arg(long, requires = "seed", conflicts_with = "crash_at")]
    calm: bool,
    /// With --crash-at: the event is stored when the process dies
    #[arg(long, requires = "crash_at")]
    stored: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match (arguments.seed, arguments.crash_at) {
        (Some(seed), Some(seq)) => {
            let crash = CrashAt { seq: Seq(seq), stored: arguments.stored };
            run::run_with_crash(seed, crash, true).map(|report| show(&report))
        }
        (Some(seed), None) if arguments.calm => run::run_calm(seed, true).map(|report| show(&report)),
        (Some(seed), None) => run::run(seed, true).map(|report| show(&report)),
        (None, _) => run_many(arguments.from, arguments.runs.unwrap_or(1_000)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn run_many(from: u64, runs: u64) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut all = Report::default();
    for seed in from..from.saturating_add(runs) {
        all.add(&run::run(seed, false)?);
    }
    show(&all);
    println!("seeds from {from} on, in {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

fn show(report: &Report) {
    for (kind, count) in &report.kinds {
        println!("{count:>9}  {kind}");
    }
    for (cause, count) in &report.causes {
        println!("{count:>9}  starts: {cause}");
    }
    for (budget, count) in &report.budgets {
        println!("{count:>9}  used up: {budget}");
    }
    let Report { runs, compared, events, lives, asked, .. } = report;
    println!("{runs} runs, {compared} compared, {events} events, {lives} lives, {asked} questions");
}

//! `cargo xtask`: the only door to tests, checks, benches and simulations of this workspace.
//!
//! It sets up what a bare machine lacks under the target folder and says so. It holds no knowledge of debates.

mod attack;
mod bench;
mod buf;
mod cargo;
mod clients;
mod debian;
mod deploy;
mod estimates;
mod fuzz;
mod lint;
mod npm;
mod packages;
mod peers;
mod postgres;
mod prompts;
mod python;
mod readme;
mod real;
mod reference;
mod report;
mod test;
mod tidy;
mod viewer;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};

use crate::cargo::Workspace;
use crate::report::Report;

#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", about = "Tests, checks, benches and simulations of this workspace")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every test: Rust tests, doc tests, clients by others, the files of deploy/, buf on proto/
    Test,
    /// Check what the compiler cannot: dependency directions, file sizes, names, words, machine paths
    Tidy,
    /// Check format, clippy, tidy, docs licences, bans and, where they can be fetched, advisories
    Lint,
    /// Run one bench target and print medians with their ratio to the floor of the same run
    ///
    /// In a criterion group the function named `floor` is the floor; a parameter is compared with the
    /// floor of the same parameter, or else with the group's only floor.
    /// `peers` is no bench target: it holds the same debate with other orchestrators, see docs/benchmarks.md. Nor is
    /// `prompts`, which prints what the prompts of each format and preset take.
    Bench {
        /// The bench target: maths, log, engine, schedule, store, catchup, replay, wake, replicas, fanout; or peers, or prompts
        name: String,
        /// Of peers: fewer debates and rounds, and slow peers not under load; of store, catchup, replay, wake, replicas and
        /// fanout: fewer of all
        #[arg(long)]
        quick: bool,
        /// Of peers: these alone, such as `ours,floor`
        #[arg(long, value_delimiter = ',', value_name = "NAMES")]
        only: Vec<String>,
        /// Print one JSON object as the last line
        #[arg(long)]
        json: bool,
        /// What follows `--` is handed to criterion
        #[arg(last = true)]
        criterion: Vec<String>,
    },
    /// Have a server under load, and fail where its memory, tasks or files grow
    Soak {
        /// How long
        #[arg(long, default_value_t = 30.0)]
        minutes: f64,
        /// Print one JSON object as the last line
        #[arg(long)]
        json: bool,
    },
    /// Run the fuzz targets, one after another, for an hour in all
    Fuzz {
        /// These alone, such as `request port`
        targets: Vec<String>,
        /// How long they run together, each its part
        #[arg(long, default_value_t = 3_600)]
        seconds: u64,
    },
    /// Run every format and mode with two small real models, installed with llama.cpp's server below the target folder
    ///
    /// Takes up to 90 minutes on two cores; a second run continues where the first one stopped. Fails where a debate of
    /// SmolLM2 does not end, is void, loses a call to our own time limits, or does not verify. gemma, a base model, is
    /// only reported. Not part of `ci`.
    Real(real::Options),
    /// Run simulated worlds: `cargo xtask sim 123` repeats the failing seed 123
    #[command(disable_help_flag = true)]
    Sim {
        /// Handed to debate-sim: a seed, or `--runs N`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Write the gRPC reference, target/docs/api.md, from the comments in proto/
    Api {
        /// Also record proto/ as released: what breaks its clients is refused from then on
        #[arg(long)]
        released: bool,
    },
    /// Build the page of debate-viewer into its assets, which are committed; needs node and npm
    Viewer,
    /// Run all of lint, the two commands of the README, and the fuzz targets for a minute in all
    Ci,
}

fn main() -> ExitCode {
    run(Arguments::parse().task).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(task: Task) -> Result<ExitCode> {
    let workspace = Workspace::find().context("cannot read this workspace")?;
    match task {
        Task::Test => {
            let mut report = Report::new("test");
            test::add_steps(&workspace, &mut report);
            Ok(report.close())
        }
        Task::Tidy => tidy::print(&workspace),
        Task::Lint => {
            let mut report = Report::new("lint");
            lint::add_steps(&workspace, &mut report);
            Ok(report.close())
        }
        Task::Bench { name, json, quick, only, .. } if name == "peers" => {
            peers::run(&workspace, &peers::Wanted { quick, json, only })?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Bench { name, json, quick: false, ref only, .. } if name == "attack" && only.is_empty() => {
            attack::run(&workspace, json)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Bench { name, json, quick: false, ref only, .. } if name == "prompts" && only.is_empty() => {
            prompts::run(&workspace, json)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Bench { name, quick, only, .. }
            if (quick && !bench::QUICK.contains(&&*name)) || !only.is_empty() =>
        {
            bail!("--quick is for peers, {}; --only for peers, not for {name}", bench::QUICK.join(", "))
        }
        Task::Bench { name, json, quick, criterion, .. } => {
            bench::run(&workspace, &name, json, quick, &criterion)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Soak { minutes, json } => {
            bench::soak(&workspace, minutes, json)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Fuzz { targets, seconds } => {
            let mut report = Report::new("fuzz");
            fuzz::add_steps(&workspace, &mut report, seconds, &targets)?;
            Ok(report.close())
        }
        Task::Real(options) => real::run(&workspace, &options),
        Task::Sim { arguments } => {
            let status = workspace
                .cargo(["run", "--quiet", "--profile", "sim", "--package", "debate-sim", "--"])
                .args(arguments)
                .status()
                .context("cannot start cargo")?;
            Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Task::Api { released } => {
            buf::write(&workspace, released)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Viewer => {
            viewer::build(&workspace)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Ci => {
            let mut report = Report::new("ci");
            lint::add_steps(&workspace, &mut report);
            readme::add_steps(&workspace, &mut report);
            fuzz::add_steps(&workspace, &mut report, fuzz::CI_SECONDS, &[])?;
            Ok(report.close())
        }
    }
}

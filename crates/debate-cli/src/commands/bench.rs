//! `debate bench`: what settings would bring, before anybody pays.

mod latency;
mod scenarios;
pub(super) mod wishes;

use clap::Subcommand;

use crate::args::Options;
use crate::exit::End;

/// Predict latency and results under other settings
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate bench latency
  debate bench latency examples/ice.json --median 3s --sigma 0.7
  debate bench scenarios examples/scenarios/*.json")]
pub(crate) struct Bench {
    /// What of.
    #[command(subcommand)]
    of: Of,
}

/// What can be found out.
#[derive(Debug, Subcommand)]
enum Of {
    Latency(latency::Latency),
    Scenarios(scenarios::Scenarios),
}

impl Bench {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        match &self.of {
            Of::Latency(latency) => latency.run(options).await,
            Of::Scenarios(scenarios) => scenarios.run(options).await,
        }
    }
}

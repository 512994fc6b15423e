//! `debate policy`: what past reviews say about the prompts of reviewers.

mod accept;
mod insights;
mod propose;
mod show;

use clap::Subcommand;
use debate_core::policy::insights::{
    DAYS_DEFAULT, DAYS_MAX, DEBATES_MIN_DEFAULT, SCORE_MIN_DEFAULT, Threshold,
};
use debate_engine::Window;

use crate::args::Options;
use crate::exit::End;

/// See how reviewers did, and propose better prompts for them
///
/// A proposal is a text for a person: it is written into a folder of its own, and no reviewer's file is ever changed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate policy insights --days 90
  debate policy propose security --reviewers-dir reviewers
  debate policy show security
  debate policy accept security")]
pub(crate) struct Policy {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Insights(insights::Insights),
    Propose(propose::Propose),
    Show(show::Show),
    Accept(accept::Accept),
}

impl Policy {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        match &self.what {
            What::Insights(insights) => insights.run(options).await,
            What::Propose(propose) => propose.run(options).await,
            What::Show(show) => show.run(options).await,
            What::Accept(accept) => accept.run(options).await,
        }
    }
}

/// Which debates are looked back on, and what follows from them.
#[derive(Debug, Clone, Copy, clap::Args)]
struct WindowArgs {
    /// Look back on debates opened in the last so many days, at most the 10,000 that came into the store last
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = DAYS_DEFAULT,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(DAYS_MAX))
    )]
    days: u32,

    /// The fewest debates of a reviewer from which anything follows
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = DEBATES_MIN_DEFAULT,
        value_parser = clap::value_parser!(u32).range(2..=10_000)
    )]
    debates_min: u32,

    /// The score, of 10, below which the whole 95 % interval of a reviewer's mean must lie for its prompt to need a change
    #[arg(
        long,
        value_name = "SCORE",
        default_value_t = SCORE_MIN_DEFAULT,
        value_parser = score
    )]
    score_min: f64,
}

impl From<WindowArgs> for Window {
    fn from(args: WindowArgs) -> Self {
        let WindowArgs { days, debates_min, score_min } = args;
        Self { days, threshold: Threshold { debates_min, score_min } }
    }
}

/// Reads a score, from 0 to 10.
fn score(text: &str) -> Result<f64, String> {
    let score = text.parse().ok().filter(|score| (0.0..=10.0).contains(score));
    score.ok_or_else(|| "write a number from 0 to 10".to_owned())
}

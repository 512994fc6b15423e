//! `debate review`: debates what reviewers contradict each other in, and prints a comment for a pull request.

mod comment;

use std::io::{self, Write as _};
use std::path::PathBuf;

use debate_core::format::Format as _;
use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::review::Review as ReviewFormat;
use debate_core::id::Seq;
use debate_core::prose::Texts;
use debate_engine::StartError;

use super::{print, run};
use crate::app_context::AppContext;
use crate::args::Options;
use crate::asking::Asking;
use crate::exit::{End, Failure};
use crate::follow::follow;
use crate::lines::{Silence, Steps};
use crate::request_file::RequestFile;

/// Debate what reviewers disagree about
///
/// FILE holds critiques as docs/formats/review.md describes them. The reviewers debate only if its debate.enabled is
/// true; otherwise the comment says why not. Nothing is merged: what the reviewers asked for stays as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate review examples/review.json
  debate review examples/review.json --quiet | gh pr comment 12 --body-file -
  debate review - --json < critiques.json | jq .debate_log")]
pub(crate) struct Review {
    /// The critiques; - reads them from stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Print the result as JSON, and nothing else, on stdout
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    asking: Asking,

    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Review {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let file = RequestFile(&self.file);
        let mut request = file.read_as(ReviewFormat::NAME, None, &options.offered())?;
        if !matches!(request, AcceptedRequest::Review(_)) {
            let format = request.format();
            return Err(Failure::bad_input(format!(
                "{} has the format {format}, not review",
                self.file.display()
            )));
        }
        self.asking.apply(&mut request, options)?;
        let settings = options.settings();
        let app = AppContext::open(options, settings).await?;
        run::check_and_estimate(options, &app, &request, !self.quiet).await?;
        let started = match run::start(&app.engine, request).await {
            Err(StartError::Invalid(violations)) => return Err(file.refused(&violations)),
            started => started?,
        };
        let followed = if self.quiet {
            follow(&app.engine, started.debate, Seq::START, false, &mut Silence).await
        } else {
            let mut steps = Steps(Box::new(io::stderr()));
            follow(&app.engine, started.debate, Seq::START, false, &mut steps).await
        };
        app.close().await;
        let followed = followed?;
        if self.json {
            print(&format!("{}\n", followed.debate.result_json(Texts::Shown)))?;
        } else if let AnyDebate::Review(debate) = &followed.debate {
            print(&comment::of(&ReviewFormat::outcome(debate, Texts::Shown)))?;
        }
        if !self.quiet {
            writeln!(
                io::stderr(),
                "\ndebate {} is kept; debate show {} has all of it",
                started.debate,
                started.debate
            )?;
        }
        Ok(End::Done)
    }
}

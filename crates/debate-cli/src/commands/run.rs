//! `debate run`: holds one debate and shows its result.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::thread;

use debate_core::codec::Author;
use debate_core::format::Format;
use debate_core::formats::accept::{Accepted, AcceptedRequest};
use debate_core::id::Seq;
use debate_engine::{Engine, Start, StartError, Started};
use debate_prompts::tokens;

use super::ACTOR;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::asking::Asking;
use crate::estimate::Estimate;
use crate::exit::{End, one_line};
use crate::holding::Holding;
use crate::request_file::RequestFile;
use crate::{prices, search, workspace};

/// Hold one debate and show its result
///
/// FILE is a request in the contract's JSON; its field "format" names another format than prediction. Progress goes
/// to stderr: a live view on a terminal, plain lines elsewhere. The first Ctrl-C cancels the debate and shows what
/// there is, the second one leaves at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate run examples/ice.json
  debate run examples/ice.json --json > result.json
  debate run - --store memory < examples/taper.json
  debate run examples/moon.json --model simulated:latency=300ms,tokens_per_second=80
  OPENAI_API_KEY=… debate run examples/ice.json --model openai:gpt-5-mini
  OPENAI_BASE_URL=http://localhost:11434/v1 debate run examples/ice.json --model openai:llama3.2
  debate run examples/deliberation.json --skills-dir ./skills
  debate run examples/leap_second.json --workspace .")]
pub(crate) struct Run {
    /// The request; - reads it from stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    #[command(flatten)]
    asking: Asking,

    #[command(flatten)]
    holding: Holding,

    /// Folder of the skills of a deliberation: a folder for each, with SKILL.md in it
    #[arg(long, env = "DEBATE_SKILLS_DIR", value_name = "FOLDER")]
    skills_dir: Option<PathBuf>,
}

impl Run {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        thread::spawn(tokens::warm_up);
        let request = self.request(options)?;
        let settings = options.settings();
        let app = AppContext::open(options, settings).await?;
        check_and_estimate(options, &app, &request, self.holding.shows_progress()).await?;
        let started = match start(&app.engine, request).await {
            Err(StartError::Invalid(violations)) => return Err(RequestFile(&self.file).refused(&violations)),
            started => started?,
        };
        self.holding.hold(options, app, started.debate, Seq::START).await
    }

    fn request(&self, options: &Options) -> anyhow::Result<AcceptedRequest> {
        let mut request = RequestFile(&self.file).read(self.skills_dir.as_deref(), &options.offered())?;
        workspace::admit(&mut request, options.workspace.as_deref());
        if let Some(left_out) = search::admit(&mut request, options) {
            writeln!(io::stderr(), "warning: {left_out}")?;
        }
        if let (AcceptedRequest::Prediction(accepted), Some(seed)) = (&mut request, options.seed) {
            accepted.config.seed = seed;
        }
        self.asking.apply(&mut request, options)?;
        Ok(request)
    }
}

/// Checks that the server has the model, and prints on stderr what the debate is expected to take, before it begins.
pub(super) async fn check_and_estimate(
    options: &Options,
    app: &AppContext,
    request: &AcceptedRequest,
    shows_estimate: bool,
) -> anyhow::Result<()> {
    app.check_model().await?;
    if app.is_simulated || !shows_estimate {
        return Ok(());
    }
    let prices = prices::read(options.prices.as_deref())?;
    match Estimate::of(options, app, &prices, request).await {
        Ok(estimate) => {
            let (line, warning) = estimate.lines();
            let mut stderr = io::stderr().lock();
            writeln!(stderr, "{line}")?;
            warning.map_or(Ok(()), |warning| writeln!(stderr, "{warning}"))?;
        }
        // The debate itself may do well all the same.
        Err(error) => tracing::debug!(error = one_line(&error), "what the debate takes cannot be estimated"),
    }
    Ok(())
}

pub(super) async fn start(engine: &Engine, request: AcceptedRequest) -> Result<Started, StartError> {
    match request {
        AcceptedRequest::Prediction(accepted) => engine.start(opening(*accepted)).await,
        AcceptedRequest::Deliberation(accepted) => engine.start(opening(*accepted)).await,
        AcceptedRequest::Roundtable(accepted) => engine.start(opening(*accepted)).await,
        AcceptedRequest::Review(accepted) => engine.start(opening(*accepted)).await,
        AcceptedRequest::Investigation(accepted) => engine.start(opening(*accepted)).await,
    }
}

fn opening<F: Format>(accepted: Accepted<F>) -> Start<F> {
    Start {
        config: accepted.config,
        brief: accepted.brief,
        limits: accepted.limits,
        request_digest: accepted.digest,
        request_id: None,
        author: Author { tenant: String::new(), actor: ACTOR.to_owned(), trace: None },
    }
}

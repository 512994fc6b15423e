//! `debate backtest`: holds debates on questions whose answers are known, and shows how good their forecasts were.

mod estimate;
mod holding;
mod report;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::prediction::backtest::{Question, Questions, read};
use debate_core::request::Violations;
use debate_engine::Env;

use self::estimate::Estimate;
use self::holding::{Plan, Progress};
use self::report::Report;
use super::print;
use crate::admission::admit;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::asking::Asking;
use crate::bounded;
use crate::exit::{End, Failure};
use crate::flags;
use crate::plain::one_line;
use crate::prices;
use crate::private_file;
use crate::terminal::Terminal;

/// Hold debates on questions with known answers and score them
///
/// First says what that will take: calls, tokens, money where --prices names the model, time. A model that is not
/// simulated is asked with --yes alone. The known answer and the market's forecast are recorded after a debate has
/// concluded, so no role sees them. The same command again goes on where it was cut: what has concluded is not held
/// anew. Another model, other rounds or another --run make debates of their own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate backtest questions.jsonl
  debate backtest questions.jsonl --limit 20 --rounds 1 --json | jq .calibration.comparisons
  debate backtest questions.jsonl --model openai:gpt-5-mini --prices prices.json --parallel 20 --yes

A line of the file; questions without a resolution are left out:
  {\"id\": \"q-1\", \"question\": \"Will the harbour freeze?\", \"outcomes\": [\"Yes\", \"No\"], \"crowd\": {\"value\": 0.2},
   \"resolution\": \"no\", \"background\": \"…\", \"resolution_criteria\": \"…\", \"resolve_date\": \"2026-03-01\"}")]
pub(crate) struct Backtest {
    /// The questions: a JSON object a line
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Hold so many at most, the first ones
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,

    /// How many rounds each debate has [default: 3]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10))]
    rounds: Option<u32>,

    /// How many debates are held at once
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 10,
        value_parser = clap::value_parser!(u16).range(1..=1_000)
    )]
    parallel: u16,

    /// Name of this run: the same questions under another name are debated anew
    #[arg(long, value_name = "NAME", default_value = "")]
    run: String,

    #[command(flatten)]
    asking: Asking,

    /// Ask a model that is not simulated, at the cost that was estimated
    #[arg(long, short)]
    yes: bool,

    /// The median latency of a call that is reckoned with, such as 800ms [default: 5s, or the simulated model's own]
    #[arg(long, value_name = "TIME")]
    median: Option<String>,

    /// Its spread: the standard deviation of the latency's logarithm, from 0 to 3 [default: 0.5]
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    sigma: Option<String>,

    /// Write all that was found to this file, as JSON
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Print all that was found as one JSON object
    #[arg(long)]
    json: bool,

    /// Show no progress
    #[arg(long, short)]
    quiet: bool,
}

impl Backtest {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let latencies = estimate::latencies(options, self.median.as_deref(), self.sigma.as_deref())?;
        let mut questions = self.questions(options)?;
        let prices = prices::read(options.prices.as_deref())?;
        if let Some(limit) = self.limit {
            questions.resolved.truncate(limit as usize);
        }
        let settings = options.settings();
        let app = AppContext::open(options, settings).await?;
        let plan = Plan::of(&app, questions, &self.run).await?;
        let estimate = Estimate::of(&plan, options, latencies, &prices, self.parallel).await?;
        write!(io::stderr(), "{}", estimate.page(&plan, Terminal::stderr(options.ascii)))?;
        if !plan.to_do().is_empty() && !app.is_simulated && !self.yes {
            app.close().await;
            let model = one_line(app.engine.model_name());
            return Err(Failure::bad_input(format!("refusing to call {model} without --yes")));
        }
        let progress = Progress::begin(self.quiet, plan.to_do().len(), Terminal::stderr(options.ascii))?;
        let held = plan.hold(&app.engine, usize::from(self.parallel), &progress).await;
        progress.end();
        let report = Report::of(&app, plan, estimate, held).await;
        app.close().await;
        self.show(&report?, options)
    }

    /// Reads the file; all that is wrong with it is said at once.
    fn questions(&self, options: &Options) -> anyhow::Result<Questions> {
        let name = self.file.display();
        let text = bounded::text(&self.file, bounded::ENTRIES_BYTES_MAX)?;
        let mut questions =
            read(&text, self.rounds, Env::real().now()).map_err(|refused| faulty(&self.file, &refused))?;
        if questions.resolved.is_empty() {
            return Err(Failure::bad_input(format!("{name} has no question that is resolved")));
        }
        let mut faults = Vec::new();
        for question in &mut questions.resolved {
            let mut request = AcceptedRequest::Prediction(Box::new(question.request.clone()));
            self.asking.apply(&mut request, options)?;
            if let AcceptedRequest::Prediction(accepted) = request {
                question.request = *accepted;
            }
            if let Err(Violations(found)) = admitted(question, options) {
                let line = question.line;
                faults.extend(found.into_iter().map(|mut fault| {
                    fault.field = format!("line {line}: {}", fault.field);
                    fault
                }));
            }
        }
        if faults.is_empty() { Ok(questions) } else { Err(faulty(&self.file, &Violations(faults))) }
    }

    fn show(&self, report: &Report, options: &Options) -> anyhow::Result<End> {
        let json = format!("{}\n", report.json());
        if let Some(path) = &self.output {
            private_file::write(path, &json)?;
        }
        if self.json {
            print(&json)?;
        } else {
            print(&report.page(Terminal::stdout(options.ascii)))?;
        }
        Ok(report.end())
    }
}

/// Gives a question the last word that requests of all commands get.
fn admitted(question: &mut Question, options: &Options) -> Result<(), Violations> {
    if let Some(seed) = options.seed {
        question.request.config.seed = seed;
    }
    let mut request = AcceptedRequest::Prediction(Box::new(question.request.clone()));
    admit(&mut request, None, &flags::of_environment()?, &options.offered()).map(drop)
}

fn faulty(file: &Path, Violations(found): &Violations) -> anyhow::Error {
    let lines = found.iter().map(|fault| format!("\n  {}", one_line(&fault.to_string())));
    Failure::bad_input(format!("{} cannot be debated:{}", file.display(), lines.collect::<String>()))
}

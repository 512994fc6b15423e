//! `debate bench scenarios`: roundtables run in several ways, measured by their logs and compared.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use debate_core::codec;
use debate_core::envelope::Envelope;
use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::roundtable::bench::{self, Comparison, Metrics, Recommendation, Scenario};
use debate_core::request::Violations;
use debate_rehearsal::{Latencies, Rehearsal, RoundtableTools};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::wishes::{Source, Written};
use crate::admission::admit;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::commands::{print, run};
use crate::exit::{End, Failure};
use crate::flags;
use crate::model::{self, ModelChoice};
use crate::page::{Column, Page};
use crate::plain::one_line;
use crate::search::{self, Search};
use crate::terminal::Terminal;

/// The seed where none is given.
const SEED_DEFAULT: u64 = 1;
/// How long a roundtable is waited for; its own deadline comes much earlier.
const PATIENCE: Duration = Duration::from_secs(4 * 3_600);

/// Compare ways of running roundtables: measure scenarios by their logs, name what is better and what to roll back
///
/// A file holds {"scenarios": […]}: requests for roundtables, each with a name, those that are variants with the name of
/// their baseline. With the simulated model, debates are held in virtual time under drawn latencies and nothing is stored;
/// with a real one they are held one after another and stay in the store. docs/benchmarks.md says what is measured, what
/// made-up latencies cannot show, and what rolls a variant back: it is to be faster and is not by 30 %, interaction falls by
/// more than 20 %, or issues are reported.
/// Then the command ends with exit code 4.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate bench scenarios examples/scenarios/*.json
  debate bench scenarios examples/scenarios/parallelization.json --runs 20 --json | jq '.comparisons[].recommendation'
  debate bench scenarios mine.json --model openai:gpt-5-mini --runs 3")]
pub(crate) struct Scenarios {
    /// The files
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,

    /// How many roundtables are held of each scenario; their means are compared
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..=1_000)
    )]
    runs: u16,

    /// The median latency of a call of the simulated model, such as 800ms [default: 5s]
    #[arg(long, value_name = "TIME")]
    median: Option<String>,

    /// Its spread: the standard deviation of the latency's logarithm, from 0 to 3 [default: 0.5]
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    sigma: Option<String>,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// A scenario with what it measured.
struct Measured {
    scenario: Scenario,
    /// The debates, where they were stored.
    debates: Vec<String>,
    /// The means over all runs.
    metrics: Metrics,
    /// One for each run.
    runs: Vec<Metrics>,
}

impl Scenarios {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let scenarios = self.read(options)?;
        let bar = self.progress(options, scenarios.len())?;
        let is_simulated = model::open(options)?.default_model().is_simulated();
        let measured = if is_simulated {
            self.rehearsed(options, scenarios, &bar).await?
        } else {
            self.held(options, scenarios, &bar).await?
        };
        bar.finish_and_clear();
        let report = Report { runs: self.runs, is_simulated, measured };
        let compared = report.comparisons();
        let text = if self.json {
            format!("{}\n", report.json(&compared))
        } else {
            report.page(&compared, Terminal::stdout(options.ascii))
        };
        print(&text)?;
        Ok(if rolls_back(&compared) { End::Fault } else { End::Done })
    }

    /// Reads all files; all that is wrong with them is said at once.
    fn read(&self, options: &Options) -> anyhow::Result<Vec<Scenario>> {
        let flags = flags::of_environment().map_err(|refused| Failure::bad_input(refused.to_string()))?;
        let (mut scenarios, mut faults) = (Vec::new(), Vec::new());
        for file in &self.files {
            match of_file(file) {
                Ok(found) => scenarios.extend(found),
                Err(Violations(found)) => {
                    let name = file.display();
                    faults.extend(
                        found.iter().map(|fault| format!("\n  {}", one_line(&format!("{name}: {fault}")))),
                    );
                }
            }
        }
        for scenario in &mut scenarios {
            let mut request = AcceptedRequest::Roundtable(Box::new(scenario.request.clone()));
            let admitted = admit(&mut request, None, &flags, &options.offered());
            let name = one_line(&scenario.name);
            // What is compared is what the scenarios say, so none runs without its tools.
            if let Some(left_out) = search::admit(&mut request, options) {
                faults.push(format!("\n  {name}: tools: {left_out}"));
            }
            if let Err(Violations(found)) = admitted {
                faults.extend(
                    found.iter().map(|fault| format!("\n  {name}: {}", one_line(&fault.to_string()))),
                );
            }
            if let AcceptedRequest::Roundtable(admitted) = request {
                scenario.request = *admitted;
            }
        }
        // Where one could not be read, others may only seem to miss it.
        if faults.is_empty()
            && let Err(Violations(found)) = bench::check(&scenarios)
        {
            faults.extend(found.iter().map(|fault| format!("\n  {}", one_line(&fault.to_string()))));
        }
        if faults.is_empty() {
            return Ok(scenarios);
        }
        Err(Failure::bad_input(format!("these scenarios cannot be run:{}", faults.concat())))
    }

    /// Returns a bar that is drawn on terminals alone.
    fn progress(&self, options: &Options, scenarios: usize) -> anyhow::Result<ProgressBar> {
        let debates = scenarios as u64 * u64::from(self.runs);
        writeln!(io::stderr(), "holding {debates} roundtables of {scenarios} scenarios")?;
        let bar = ProgressBar::with_draw_target(Some(debates), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} roundtables  {elapsed}")?;
        bar.set_style(style.progress_chars(Terminal::stderr(options.ascii).or("█▉▊▋▌▍▎▏ ", "#- ")));
        Ok(bar)
    }

    /// Holds debates in virtual time; nothing is stored.
    async fn rehearsed(
        &self,
        options: &Options,
        scenarios: Vec<Scenario>,
        bar: &ProgressBar,
    ) -> anyhow::Result<Vec<Measured>> {
        let runs = self.runs.to_string();
        let (median, sigma) = (self.median.as_deref(), self.sigma.as_deref());
        let written = Written { median, sigma, from: &[], all: false, debates: &runs };
        let wishes = written.accept()?;
        let Source::LogNormal { median, sigma } = wishes.source else {
            anyhow::bail!("latencies of no debate were asked for");
        };
        let of_model = match &options.model {
            ModelChoice::Simulated(config) => Some(config.seed).filter(|seed| *seed > 0),
            ModelChoice::Real(..) => None,
        };
        let seed = options.seed.or(of_model).unwrap_or(SEED_DEFAULT);
        let model = options.model.name();
        let (hedge_share_max, bar) = (options.hedge_share, bar.clone());
        let rehearse = move |scenario: Scenario| {
            let rehearsal = Rehearsal {
                request: AcceptedRequest::Roundtable(Box::new(scenario.request.clone())),
                model: model.clone(),
                latencies: Latencies::LogNormal { median, sigma },
                hedge_share_max,
                debates: wishes.debates,
                seed,
                tools: RoundtableTools(Search::Simulated.tools()),
            };
            let logs = rehearsal.logs(&|| bar.inc(1))?;
            Measured::of(scenario, Vec::new(), &logs)
        };
        let all = move || scenarios.into_iter().map(rehearse).collect::<anyhow::Result<Vec<_>>>();
        tokio::task::spawn_blocking(all).await?
    }

    /// Holds debates with a real model, one after another; they stay in the store.
    async fn held(
        &self,
        options: &Options,
        scenarios: Vec<Scenario>,
        bar: &ProgressBar,
    ) -> anyhow::Result<Vec<Measured>> {
        if self.median.is_some() || self.sigma.is_some() {
            return Err(Failure::bad_input("--median and --sigma are for the simulated model alone"));
        }
        let settings = options.settings();
        let app = AppContext::open(options, settings).await?;
        let mut measured = Vec::new();
        for scenario in scenarios {
            let (mut debates, mut logs) = (Vec::new(), Vec::new());
            for _ in 0..self.runs {
                let request = AcceptedRequest::Roundtable(Box::new(scenario.request.clone()));
                let debate = run::start(&app.engine, request).await?.debate;
                anyhow::ensure!(
                    app.engine.concluded(debate, PATIENCE).await?,
                    "debate {debate} does not end"
                );
                logs.push(app.engine.log(debate, None).await?);
                debates.push(debate.to_string());
                bar.inc(1);
            }
            measured.push(Measured::of(scenario, debates, &logs)?);
        }
        app.close().await;
        Ok(measured)
    }
}

fn of_file(file: &Path) -> Result<Vec<Scenario>, Violations> {
    let text = fs::read_to_string(file);
    let text =
        text.map_err(|error| debate_core::request::Violation::whole(format!("cannot be read: {error}")))?;
    bench::read(&text)
}

impl Measured {
    fn of(scenario: Scenario, debates: Vec<String>, logs: &[Vec<Envelope>]) -> anyhow::Result<Self> {
        let all = logs.iter().map(|log| metrics(log)).collect::<anyhow::Result<Vec<_>>>()?;
        let metrics = Metrics::mean(&all).ok_or_else(|| anyhow::anyhow!("no roundtable was held"))?;
        Ok(Self { scenario, debates, metrics, runs: all })
    }
}

/// Returns what a log measures.
fn metrics(log: &[Envelope]) -> anyhow::Result<Metrics> {
    let AnyDebate::Roundtable(debate) = AnyDebate::replay(log)? else {
        anyhow::bail!("the log is not that of a roundtable");
    };
    let recorded = log.iter().map(codec::decode).collect::<Result<Vec<_>, _>>()?;
    Ok(Metrics::of(&debate, &recorded))
}

/// What was found.
struct Report {
    runs: u16,
    is_simulated: bool,
    measured: Vec<Measured>,
}

impl Report {
    /// Returns every variant with its baseline and how they compare.
    fn comparisons(&self) -> Vec<(&Measured, &Measured, Comparison)> {
        let variants = self.measured.iter().filter_map(|variant| {
            let name = variant.scenario.baseline.as_ref()?;
            let baseline = self.measured.iter().find(|known| known.scenario.name == *name)?;
            let reductions = bench::reductions(&baseline.runs, &variant.runs);
            let terms = variant.scenario.terms(&baseline.scenario, self.is_simulated);
            let terms = bench::Terms { reductions: &reductions, ..terms };
            let comparison = bench::compare(&baseline.metrics, &variant.metrics, &terms);
            Some((baseline, variant, comparison))
        });
        variants.collect()
    }

    fn json(&self, compared: &[(&Measured, &Measured, Comparison)]) -> Value {
        let scenarios = self.measured.iter().map(|measured| {
            json!({
                "name": measured.scenario.name,
                "mode": measured.scenario.request.config.mode,
                "debates": measured.debates,
                "metrics": measured.metrics,
                "quality_score": measured.metrics.quality_score(),
            })
        });
        let comparisons = compared.iter().map(|(baseline, variant, comparison)| {
            let mut object = json!(comparison);
            object["baseline"] = baseline.scenario.name.as_str().into();
            object["variant"] = variant.scenario.name.as_str().into();
            object
        });
        json!({
            "simulated": self.is_simulated,
            "runs": self.runs,
            "scenarios": scenarios.collect::<Vec<_>>(),
            "comparisons": comparisons.collect::<Vec<_>>(),
            "rolls_back": rolls_back(compared),
        })
    }

    fn page(&self, compared: &[(&Measured, &Measured, Comparison)], terminal: Terminal) -> String {
        let mut page = Page::new(terminal);
        if self.is_simulated {
            page.warning("SIMULATED: latencies are drawn and answers are made up; no model was asked");
            page.gap();
        }
        let head = [
            ("scenario", Column::Left),
            ("time", Column::Right),
            ("references", Column::Right),
            ("depth", Column::Right),
            ("questions", Column::Right),
            ("sources", Column::Right),
            ("agreement", Column::Right),
            ("quality", Column::Right),
        ];
        page.table(0, &head, &self.measured.iter().map(Measured::cells).collect::<Vec<_>>());
        for (baseline, variant, comparison) in compared {
            let (baseline, variant) = (&baseline.scenario.name, &variant.scenario.name);
            page.heading(&one_line(&format!(
                "{variant} instead of {baseline}: {}",
                comparison.recommendation.as_str()
            )));
            show_comparison(&mut page, comparison);
        }
        page.into_text()
    }
}

impl Measured {
    fn cells(&self) -> Vec<String> {
        let Metrics { latency, interaction, content, consensus, .. } = &self.metrics;
        vec![
            one_line(&self.scenario.name),
            format!("{:.1} s", latency.total_ms / 1_000.0),
            format!("{:.1}", interaction.cross_reference_count),
            format!("{:.1}", interaction.rebuttal_depth),
            format!("{:.1}", interaction.question_response_pairs),
            format!("{:.1}", content.citation_count),
            format!("{:.2}", consensus.agreement_level),
            format!("{:.2}", self.metrics.quality_score()),
        ]
    }
}

/// Returns whether any trigger fired.
fn rolls_back(compared: &[(&Measured, &Measured, Comparison)]) -> bool {
    compared.iter().any(|(_, _, comparison)| !comparison.triggers.is_empty())
}

fn show_comparison(page: &mut Page, comparison: &Comparison) {
    let delta = comparison.delta;
    let of_runs = comparison.latency_reduction_95.map_or_else(String::new, |found| {
        format!(" (runs: {:.1} to {:.1}, 95 % interval of their mean)", found.low, found.high)
    });
    page.paragraph(
        2,
        &format!(
            "{:.1} % faster{of_runs}; interaction {:+.1} %; quality {:.2} ({:+.2})",
            delta.latency_reduction, delta.interaction_change, delta.quality_score, delta.quality_change
        ),
    );
    for condition in &comparison.conditions {
        page.hanging(2, "- ", condition);
    }
    if !comparison.triggers.is_empty() {
        let rules: Vec<&str> = comparison.triggers.iter().map(|trigger| trigger.rule.as_str()).collect();
        let what = match comparison.recommendation {
            Recommendation::Reject => "stay with the baseline",
            Recommendation::Adopt | Recommendation::Conditional => "roll back unless the condition holds",
        };
        page.warning(&format!("ROLLBACK TRIGGER: {}; {what}", rules.join(", ")));
    }
}

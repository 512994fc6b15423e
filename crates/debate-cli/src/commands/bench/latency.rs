//! `debate bench latency`: how long debates would take under each schedule and hedge.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use debate_core::formats::accept::{AcceptedRequest, accept};
use debate_core::formats::prediction::config::Schedule;
use debate_core::id::DebateId;
use debate_rehearsal::{Latencies, Recorded, Rehearsal, RoundtableTools, Summary, Way};
use debate_store::ListFilter;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::{Value, json};

use super::wishes::{Source, Wishes, Written};
use crate::app_context::AppContext;
use crate::args::Options;
use crate::commands::print;
use crate::exit::{End, Failure};
use crate::page::{Column, Page, percent, span, thousands};
use crate::plain::one_line;
use crate::request_file::RequestFile;
use crate::search::Search;
use crate::terminal::Terminal;

/// The debate that is rehearsed where no request is given.
const REQUEST_DEFAULT: &str = include_str!("../../../../../examples/ice.json");
/// The seed where none is given.
const SEED_DEFAULT: u64 = 1;

/// Show how long debates would take under each schedule and hedge, before you pay
///
/// The real engine runs whole debates in virtual time. Latencies are drawn and answers are made up, so no model is
/// called and nothing is stored. Latencies are log-normal, or those of debates in the store: by model and
/// purpose, with replacement. Debates run side by side, 100 at a time, and learn from one another when to race. A
/// second request may be sent for at most --hedge-share of the first ones.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate bench latency
  debate bench latency examples/ice.json --median 3s --sigma 0.7
  debate bench latency --from 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate bench latency --all --debates 200 --json | jq '.rows[].p99_s'")]
pub(crate) struct Latency {
    /// The request; - reads it from stdin, without one a prediction debate of the default size is rehearsed
    #[arg(value_name = "REQUEST")]
    file: Option<PathBuf>,

    /// The median latency of a call, such as 800ms [default: 5s]
    #[arg(long, value_name = "TIME")]
    median: Option<String>,

    /// The spread: the standard deviation of the latency's logarithm, from 0 to 3 [default: 0.5]
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true)]
    sigma: Option<String>,

    /// A debate in the store whose latencies are drawn from; may be given again
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    from: Vec<String>,

    /// Draw from the latencies of all debates in the store
    #[arg(long)]
    all: bool,

    /// How many debates are held in each way
    #[arg(long, value_name = "NUMBER", default_value = "1000", allow_hyphen_values = true)]
    debates: String,

    /// Print the result as one JSON object; p99_ratio is to the first row
    #[arg(long)]
    json: bool,
}

impl Latency {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let wishes = self.wishes()?;
        let request = match &self.file {
            Some(file) => RequestFile(file).read(None, &[])?,
            None => accept(REQUEST_DEFAULT)?,
        };
        let latencies = latencies(options, &wishes.source).await?;
        let rehearsal = Rehearsal {
            request,
            model: options.model.name(),
            latencies,
            hedge_share_max: options.hedge_share,
            debates: wishes.debates,
            seed: options.seed.unwrap_or(SEED_DEFAULT),
            tools: RoundtableTools(Search::Simulated.tools()),
        };
        let terminal = Terminal::stderr(options.ascii);
        let (rehearsal, rows) = tokio::task::spawn_blocking(move || {
            let bar = progress(&rehearsal, terminal)?;
            let rows = rehearsal.compare(&|| bar.inc(1))?;
            bar.finish_and_clear();
            anyhow::Ok((rehearsal, rows))
        })
        .await??;
        let found = Found { rehearsal, rows };
        let text = if self.json {
            format!("{}\n", found.json())
        } else {
            found.page(Terminal::stdout(options.ascii))
        };
        print(&text)?;
        Ok(End::Done)
    }

    fn wishes(&self) -> anyhow::Result<Wishes> {
        let written = Written {
            median: self.median.as_deref(),
            sigma: self.sigma.as_deref(),
            from: &self.from,
            all: self.all,
            debates: &self.debates,
        };
        written.accept()
    }
}

/// Says what is going to be done, and returns a bar that is drawn on terminals alone.
fn progress(rehearsal: &Rehearsal, terminal: Terminal) -> anyhow::Result<ProgressBar> {
    let ways = Way::all(&rehearsal.request).len();
    let each = thousands(rehearsal.debates as u64);
    writeln!(io::stderr(), "rehearsing {ways} × {each} debates in virtual time; this may take a minute")?;
    let target = ProgressDrawTarget::stderr();
    let bar = ProgressBar::with_draw_target(Some((ways * rehearsal.debates) as u64), target);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} debates  {elapsed}")?;
    bar.set_style(style.progress_chars(terminal.or("█▉▊▋▌▍▎▏ ", "#- ")));
    Ok(bar)
}

async fn latencies(options: &Options, source: &Source) -> anyhow::Result<Latencies> {
    if let Source::LogNormal { median, sigma } = source {
        return Ok(Latencies::LogNormal { median: *median, sigma: *sigma });
    }
    let app = AppContext::open_existing(options).await?;
    let recorded = recorded(&app, source).await;
    app.close().await;
    Ok(Latencies::Recorded(recorded?))
}

/// Reads the latencies of debates; each that is named must have some, and all together must have any.
async fn recorded(app: &AppContext, source: &Source) -> anyhow::Result<Recorded> {
    let (debates, must_each) = match source {
        Source::Debates(debates) => (debates.clone(), true),
        Source::Store => (stored(app).await?, false),
        Source::LogNormal { .. } => (Vec::new(), false),
    };
    let mut recorded = Recorded::default();
    let mut any = 0;
    for debate in debates {
        let log = app.engine.log(debate, None).await?;
        let mut of_this = recorded.clone();
        let timed = of_this.add(&log).with_context(|| format!("debate {debate} cannot be read"))?;
        if timed > 0 {
            recorded = of_this;
        } else if must_each {
            return Err(Failure::bad_input(format!(
                "debate {debate} has no latencies: none of its calls was answered, or none took any time"
            )));
        }
        any += timed;
    }
    if any == 0 {
        return Err(Failure::bad_input("no debate in the store has latencies; give --median and --sigma"));
    }
    Ok(recorded)
}

async fn stored(app: &AppContext) -> anyhow::Result<Vec<DebateId>> {
    let (mut found, mut filter) = (Vec::new(), ListFilter::default());
    loop {
        let page = app.store.events().list(filter.clone()).await?;
        found.extend(page.iter().map(|listed| DebateId(listed.first.stream.id)));
        match page.last() {
            Some(last) if page.len() == filter.limit as usize => filter.before = Some(last.position),
            Some(_) | None => return Ok(found),
        }
    }
}

/// What was found.
struct Found {
    rehearsal: Rehearsal,
    rows: Vec<(Way, Summary)>,
}

impl Found {
    fn base(&self) -> f64 {
        self.rows.first().map_or(0.0, |(_, first)| seconds(first.p99))
    }

    fn format(&self) -> &'static str {
        self.rehearsal.request.format()
    }

    fn page(&self, terminal: Terminal) -> String {
        let rehearsal = &self.rehearsal;
        let mut page = Page::new(terminal);
        page.warning("SIMULATED: latencies are drawn and answers are made up; no model was asked");
        page.gap();
        let (debates, calls) = (thousands(rehearsal.debates as u64), rehearsal.calls_expected());
        let (format, seed) = (self.format(), rehearsal.seed);
        page.paragraph(0, &format!("{debates} debates a row: {format}, {calls} calls each, seed {seed}"));
        page.paragraph(0, &latencies_in_words(&rehearsal.latencies));
        page.gap();
        let deadline = format!("over {}", span(ms(rehearsal.deadline())));
        let over_base = match self.rehearsal.request {
            AcceptedRequest::Prediction(_) => terminal.or("× strict p99", "x strict p99"),
            AcceptedRequest::Deliberation(_)
            | AcceptedRequest::Roundtable(_)
            | AcceptedRequest::Review(_)
            | AcceptedRequest::Investigation(_) => terminal.or("× off p99", "x off p99"),
        };
        let head = [
            ("schedule", Column::Left),
            ("hedge", Column::Left),
            ("p50", Column::Right),
            ("p95", Column::Right),
            ("p99", Column::Right),
            (over_base, Column::Right),
            ("extra calls", Column::Right),
            ("extra tokens", Column::Right),
            (deadline.as_str(), Column::Right),
        ];
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| self.cells(row)).collect();
        page.table(0, &head, &rows);
        let full = self.rows.iter().map(|(_, summary)| summary.full).fold(1.0, f64::min);
        if full < 1.0 {
            page.gap();
            let missing = percent(1.0 - full);
            page.warning(&format!(
                "in up to {missing} of the debates something is missing: a call may take 60 s and is given up \
                 after three tries, so these latencies are too long"
            ));
        }
        page.gap();
        page.paragraph(0, self.advice());
        page.into_text()
    }

    fn cells(&self, (way, summary): &(Way, Summary)) -> Vec<String> {
        let wall = |wall: Duration| format!("{:.2} s", seconds(wall));
        vec![
            way.schedule_name().to_owned(),
            way.hedge_name().to_owned(),
            wall(summary.p50),
            wall(summary.p95),
            wall(summary.p99),
            format!("{:.3}", ratio(summary, self.base())),
            format!("{:.1} %", summary.extra_calls * 100.0),
            format!("{:.1} %", summary.extra_tokens * 100.0),
            percent(summary.over_deadline),
        ]
    }

    fn advice(&self) -> &'static str {
        match self.rehearsal.request {
            AcceptedRequest::Prediction(_) => {
                "options.schedule in the request chooses the schedule (pipelined unless it says strict), --hedge when \
                 slow requests are raced, --hedge-share how often."
            }
            AcceptedRequest::Deliberation(_)
            | AcceptedRequest::Roundtable(_)
            | AcceptedRequest::Review(_)
            | AcceptedRequest::Investigation(_) => {
                "--hedge chooses when slow requests are raced, --hedge-share how often."
            }
        }
    }

    fn json(&self) -> Value {
        let rehearsal = &self.rehearsal;
        let rows = self.rows.iter().map(|(way, summary)| {
            json!({
                "schedule": way.schedule.map(Schedule::as_str),
                "hedge": way.hedge_name(),
                "p50_s": seconds(summary.p50),
                "p95_s": seconds(summary.p95),
                "p99_s": seconds(summary.p99),
                "p99_ratio": ratio(summary, self.base()),
                "extra_calls_share": summary.extra_calls,
                "extra_tokens_share": summary.extra_tokens,
                "over_deadline_share": summary.over_deadline,
                "full_share": summary.full,
            })
        });
        json!({
            "simulated": true,
            "format": self.format(),
            "calls": rehearsal.calls_expected(),
            "debates": rehearsal.debates,
            "seed": rehearsal.seed,
            "deadline_s": seconds(rehearsal.deadline()),
            "latency": latencies_as_json(&rehearsal.latencies),
            "rows": rows.collect::<Vec<_>>(),
        })
    }
}

fn ratio(summary: &Summary, base: f64) -> f64 {
    if base > 0.0 { seconds(summary.p99) / base } else { 1.0 }
}

fn latencies_in_words(latencies: &Latencies) -> String {
    match latencies {
        Latencies::LogNormal { median, sigma } => {
            format!("latency: log-normal, median {}, sigma {sigma}, all calls alike", span(ms(*median)))
        }
        Latencies::Recorded(recorded) => {
            let models: Vec<String> = recorded.models().into_iter().map(one_line).collect();
            let (count, median) = (thousands(recorded.count() as u64), span(ms(recorded.median())));
            let races = match recorded.races() {
                0 => String::new(),
                races => format!(
                    "; {races} second requests were sent then, so calls alone take somewhat longer than that"
                ),
            };
            let models = models.join(", ");
            format!("latency: drawn from {count} recorded answers of {models}, median {median}{races}")
        }
    }
}

fn latencies_as_json(latencies: &Latencies) -> Value {
    match latencies {
        Latencies::LogNormal { median, sigma } => {
            json!({"kind": "log_normal", "median_s": seconds(*median), "sigma": sigma})
        }
        Latencies::Recorded(recorded) => json!({
            "kind": "recorded",
            "answers": recorded.count(),
            "models": recorded.models(),
            "median_s": seconds(recorded.median()),
            "second_requests": recorded.races(),
        }),
    }
}

/// Returns seconds that read well: debates are timed in whole milliseconds.
fn seconds(time: Duration) -> f64 {
    ms(time) as f64 / 1e3
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

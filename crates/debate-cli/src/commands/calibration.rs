//! `debate calibration`: how good the forecasts of all resolved debates were.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use debate_core::formats::prediction::track_record::{
    CalibrationReport, Comparison, Finding, ForecastReport, Forecaster, Group, QUESTIONS_MIN, Source, Step,
};
use debate_core::measures::intervals::Interval;
use debate_engine::Engine;
use debate_viewer::calibration::{self, Cases};

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::exit::End;
use crate::page::{Column, Page};
use crate::plain::one_line;
use crate::terminal::Terminal;

/// Show how good the forecasts of resolved debates were
///
/// Computed from the logs: mean Brier and log scores (losses: smaller is better) of the debates, of judges, of the
/// consensus, of the blind openings and of every role, and what they are made of; what the debates gained over each of
/// the others, with a 95 % interval; how often what was given a probability came true; all that by model and prompt.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate calibration
  debate calibration --json | jq '.comparisons[] | select(.of == \"blind\")'")]
pub(crate) struct Calibration {
    /// Count real or simulated debates [default: real, or simulated where there are no others]
    #[arg(long, value_name = "SOURCE", value_parser = source())]
    source: Option<Source>,

    /// Leave partial debates out: of those some arguments, scores or the synthesis are missing
    #[arg(long)]
    complete: bool,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

impl Calibration {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::reading(options).await?;
        let report = report(&app.engine, self.source, !self.complete).await;
        app.close().await;
        let report = report?;
        if self.json {
            print(&format!("{}\n", serde_json::to_string(&report)?))?;
        } else {
            print(&page(&report, Terminal::stdout(options.ascii)))?;
        }
        Ok(End::Done)
    }
}

fn source() -> impl TypedValueParser<Value = Source> {
    PossibleValuesParser::new(Source::ALL.map(Source::as_str)).try_map(|name| name.parse::<Source>())
}

async fn report(
    engine: &Engine,
    source: Option<Source>,
    with_partial: bool,
) -> anyhow::Result<CalibrationReport> {
    let resolved = calibration::resolved(engine, None).await?;
    Ok(Cases::default().track_record(engine, resolved).await?.report(source, with_partial))
}

/// Lays a report out.
pub(super) fn page(report: &CalibrationReport, terminal: Terminal) -> String {
    let mut page = Page::new(terminal);
    if report.real + report.simulated == 0 {
        page.line("no debate is resolved; see debate resolve");
        return page.into_text();
    }
    let (left_out, of_others) = match report.source {
        Source::Real => (report.simulated, "simulated"),
        Source::Simulated => {
            page.warning(
                "SIMULATED: a program made up replies of these debates; that says nothing about the world",
            );
            (report.real, "real")
        }
    };
    let some = |number: u64, what: &str| {
        if number > 0 { format!(", {number} of them {what}") } else { String::new() }
    };
    let void = some(report.void, "void") + &some(report.partial, "partial");
    let counted = |number: u64, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let source = format!("{} debate", report.source.as_str());
    page.line(&format!(
        "{} on {} resolved{void}",
        counted(report.resolved, &source),
        counted(report.questions, "question")
    ));
    if report.left_out > 0 {
        page.line(&format!(
            "{} not read: no more are counted at once",
            counted(report.left_out, "older debate")
        ));
    }
    if left_out > 0 {
        page.line(&format!("{} left out; see --source", counted(left_out, &format!("{of_others} debate"))));
    }
    losses(&mut page, &report.forecasts);
    gains(&mut page, &report.comparisons);
    steps(&mut page, &report.steps);
    if let Some(last) = report.forecasts.iter().find(|found| found.forecaster == Forecaster::Final) {
        reliability(&mut page, last);
    }
    groups(&mut page, &report.groups);
    page.into_text()
}

fn name(of: &Forecaster) -> String {
    match of {
        Forecaster::Final => "the debates".to_owned(),
        Forecaster::Consensus => "consensus".to_owned(),
        Forecaster::Judge => "judges' syntheses".to_owned(),
        Forecaster::Blind => "blind openings".to_owned(),
        Forecaster::Opened => "blind openings, pooled".to_owned(),
        Forecaster::Market => "market".to_owned(),
        Forecaster::Role(role) => one_line(role.as_str()),
        Forecaster::Opening(role) => format!("{} alone", one_line(role.as_str())),
    }
}

const NUMBER: Column = Column::Right;

fn losses(page: &mut Page, forecasts: &[ForecastReport]) {
    page.heading("Mean losses (smaller is better)");
    let rows = forecasts.iter().map(|found| {
        let numbers = [format!("{:.4}", found.brier_mean), format!("{:.3}", found.log_bits_mean)];
        let numbers = numbers.into_iter().chain([found.debates.to_string()]);
        [name(&found.forecaster)].into_iter().chain(numbers).collect()
    });
    let head = [("forecasts of", Column::Left), ("Brier", NUMBER), ("bits", NUMBER), ("debates", NUMBER)];
    page.table(2, &head, &rows.collect::<Vec<_>>());
    page.line("  \"alone\" is a role's blind opening");
    parts(page, forecasts);
}

/// Shows the terms of the losses. They cover only questions with two outcomes, so the table also has their mean.
fn parts(page: &mut Page, forecasts: &[ForecastReport]) {
    page.heading(
        "Brier over questions with two outcomes = reliability - resolution + uncertainty + within bins",
    );
    let rows = forecasts.iter().filter_map(|found| {
        let brier = found.brier?;
        let terms = [brier.loss, brier.reliability, brier.resolution, brier.uncertainty, brier.within_bins];
        let terms = terms.into_iter().map(|term| format!("{term:.4}"));
        Some(
            [name(&found.forecaster)].into_iter().chain(terms).chain([brier.questions.to_string()]).collect(),
        )
    });
    let head = [
        ("forecasts of", Column::Left),
        ("Brier", NUMBER),
        ("reliability", NUMBER),
        ("resolution", NUMBER),
        ("uncertainty", NUMBER),
        ("within", NUMBER),
        ("questions", NUMBER),
    ];
    let rows: Vec<Vec<String>> = rows.collect();
    if !rows.is_empty() {
        page.table(2, &head, &rows);
    }
    page.line(&format!(
        "  of fewer than {QUESTIONS_MIN} such questions no loss is taken apart; each counts once"
    ));
}

/// Shows what each step of the debates gained.
fn steps(page: &mut Page, steps: &[Step]) {
    page.heading("What each step gained, with 95 % intervals");
    let rows = steps.iter().map(|Step { step, gain }| {
        let (brier, bits) = (interval(gain.brier.as_ref(), 4), interval(gain.log_bits.as_ref(), 3));
        let what = match *step {
            "pooling" => "pooling the openings",
            "debate" => "debating: last round over first, same pool",
            _ => "the judge's synthesis",
        };
        vec![what.to_owned(), brier, bits, gain.questions.to_string()]
    });
    let head =
        [("step", Column::Left), ("Brier", Column::Left), ("bits", Column::Left), ("questions", NUMBER)];
    page.table(2, &head, &rows.collect::<Vec<_>>());
}

fn gains(page: &mut Page, comparisons: &[Comparison]) {
    page.heading("What the debates gained over others in the same questions, with 95 % intervals");
    let rows = comparisons.iter().map(|found| {
        let (brier, bits) = (interval(found.brier.as_ref(), 4), interval(found.log_bits.as_ref(), 3));
        vec![
            name(&found.over),
            brier,
            bits,
            finding_label(found.finding).to_owned(),
            found.questions.to_string(),
        ]
    });
    let head = [
        ("over", Column::Left),
        ("Brier", Column::Left),
        ("bits", Column::Left),
        ("the debates are", Column::Left),
        ("questions", NUMBER),
    ];
    page.table(2, &head, &rows.collect::<Vec<_>>());
    page.line(&format!("  comparisons need at least {QUESTIONS_MIN} different questions"));
}

fn finding_label(finding: Finding) -> &'static str {
    match finding {
        Finding::TooFew => "too few to tell",
        Finding::Better => "better",
        Finding::Worse => "worse",
        Finding::Undecided => "not distinguishable",
    }
}

fn interval(found: Option<&Interval>, digits: usize) -> String {
    let Some(Interval { mean, low, high }) = found else { return "-".to_owned() };
    format!("{mean:+.digits$} [{low:+.digits$}, {high:+.digits$}]")
}

fn reliability(page: &mut Page, last: &ForecastReport) {
    page.heading("What the debates gave a probability, and how often it came true");
    let rows = last.calibration.iter().filter(|bin| bin.count > 0).map(|bin| {
        let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}"));
        let span = format!("{:.1} to {:.1}", bin.from, bin.to);
        vec![span, bin.count.to_string(), share(bin.mean_probability), share(bin.share_happened)]
    });
    let head = [("probability", Column::Left), ("count", NUMBER), ("mean", NUMBER), ("came true", NUMBER)];
    page.table(2, &head, &rows.collect::<Vec<_>>());
}

fn groups(page: &mut Page, groups: &[Group]) {
    page.heading("By model, prompts and rules");
    let rows = groups.iter().map(|group| {
        let uplift = group.uplift.as_ref().map_or_else(
            || "-".to_owned(),
            |found| match &found.brier {
                Some(gain) => format!("{}, {}", interval(Some(gain), 4), finding_label(found.finding)),
                None => finding_label(found.finding).to_owned(),
            },
        );
        let (models, prompts) = (one_line(&group.models), group.prompts.join(" "));
        let brier = format!("{:.4}", group.brier);
        let digest = group.setting.digest.to_string();
        let rules = format!("{} ({})", group.setting.rules, digest.get(..8).unwrap_or_default());
        vec![models, one_line(&prompts), rules, brier, uplift, group.debates.to_string()]
    });
    let head = [
        ("models", Column::Left),
        ("prompts", Column::Left),
        ("rules", Column::Left),
        ("Brier", NUMBER),
        ("uplift (Brier)", Column::Left),
        ("debates", NUMBER),
    ];
    page.table(2, &head, &rows.collect::<Vec<_>>());
}

//! `debate calibration`: how good the forecasts of all resolved debates were.

use clap::builder::FalseyValueParser;
use debate_core::formats::prediction::track_record::{
    CalibrationReport, Comparison, DEBATES_MIN, Finding, ForecastReport, Forecaster, Group,
};
use debate_core::measures::intervals::Interval;
use debate_engine::Engine;
use debate_viewer::calibration;

use super::print;
use crate::args::Options;
use crate::exit::End;
use crate::house::House;
use crate::page::{Column, Page};
use crate::paper::Paper;
use crate::plain::one_line;

/// Show how good the forecasts of all resolved debates were
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
    /// Print the report as JSON
    #[arg(long, env = "DEBATE_JSON", value_parser = FalseyValueParser::new())]
    json: bool,
}

impl Calibration {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let house = House::open_existing(options).await?;
        let report = report(&house.engine).await;
        house.close().await?;
        let report = report?;
        if self.json {
            print(&format!("{}\n", serde_json::to_string(&report)?))?;
        } else {
            print(&page(&report, Paper::stdout(options.ascii)))?;
        }
        Ok(End::Done)
    }
}

async fn report(engine: &Engine) -> anyhow::Result<CalibrationReport> {
    let resolved = calibration::resolved(engine, None).await?;
    Ok(calibration::track_record(engine, resolved).await?.report())
}

/// Lays a report out.
pub(super) fn page(report: &CalibrationReport, paper: Paper) -> String {
    let mut page = Page::new(paper);
    if report.resolved == 0 {
        page.line("no debate is resolved; see debate resolve");
        return page.into_text();
    }
    if report.simulated > 0 {
        page.warning(&format!(
            "SIMULATED: in {} of them a program made up replies; that says nothing about the world",
            report.simulated
        ));
    }
    let void = if report.void > 0 { format!(", {} of them void", report.void) } else { String::new() };
    let resolved = match report.resolved {
        1 => "1 debate is resolved".to_owned(),
        more => format!("{more} debates are resolved"),
    };
    page.line(&format!("{resolved}{void}"));
    losses(&mut page, &report.forecasts);
    gains(&mut page, &report.comparisons);
    if let Some(last) = report.forecasts.iter().find(|found| found.forecaster == Forecaster::Final) {
        reliability(&mut page, last);
    }
    if report.groups.len() > 1 {
        groups(&mut page, &report.groups);
    }
    page.into_text()
}

fn name(of: &Forecaster) -> String {
    match of {
        Forecaster::Final => "the debates".to_owned(),
        Forecaster::Consensus => "consensus".to_owned(),
        Forecaster::Judge => "judges' syntheses".to_owned(),
        Forecaster::Blind => "blind openings".to_owned(),
        Forecaster::Market => "market".to_owned(),
        Forecaster::Role(role) => one_line(role.as_str()),
    }
}

const NUMBER: Column = Column::Right;

fn losses(page: &mut Page, forecasts: &[ForecastReport]) {
    page.heading(
        "Mean losses (smaller is better); Brier = reliability - resolution + uncertainty + within bins",
    );
    let rows = forecasts.iter().map(|found| {
        let brier = &found.brier;
        let parts = [brier.loss, brier.reliability, brier.resolution, brier.uncertainty, brier.within_bins];
        let numbers = parts.into_iter().map(|part| format!("{part:.4}"));
        let bits = format!("{:.3}", found.log_bits_mean);
        [name(&found.forecaster)]
            .into_iter()
            .chain(numbers)
            .chain([bits, found.debates.to_string()])
            .collect()
    });
    let head = [
        ("forecasts of", Column::Left),
        ("Brier", NUMBER),
        ("reliability", NUMBER),
        ("resolution", NUMBER),
        ("uncertainty", NUMBER),
        ("within", NUMBER),
        ("bits", NUMBER),
        ("debates", NUMBER),
    ];
    page.table(2, &head, &rows.collect::<Vec<_>>());
}

fn gains(page: &mut Page, comparisons: &[Comparison]) {
    page.heading("What the debates gained over others in the same questions, with 95 % intervals");
    let rows = comparisons.iter().map(|found| {
        let told = match found.finding {
            Finding::TooFew => "too few to tell",
            Finding::Better => "better",
            Finding::Worse => "worse",
            Finding::Undecided => "not to be told apart",
        };
        vec![name(&found.over), interval(&found.brier, 4), interval(&found.log_bits, 3), told.to_owned()]
    });
    let head = [
        ("over", Column::Left),
        ("Brier", Column::Left),
        ("bits", Column::Left),
        ("the debates are", Column::Left),
    ];
    page.table(2, &head, &rows.collect::<Vec<_>>());
    page.line(&format!("  of fewer than {DEBATES_MIN} debates nothing is told"));
}

fn interval(found: &Interval, digits: usize) -> String {
    let Interval { mean, low, high } = found;
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
    page.heading("By model and prompts");
    let rows = groups.iter().map(|group| {
        let uplift = group.uplift.as_ref().map_or_else(|| "-".to_owned(), |found| interval(&found.brier, 4));
        let (models, prompts) = (one_line(&group.models), group.prompts.join(" "));
        let brier = format!("{:.4}", group.brier);
        vec![models, one_line(&prompts), brier, uplift, group.debates.to_string()]
    });
    let head = [
        ("models", Column::Left),
        ("prompts", Column::Left),
        ("Brier", NUMBER),
        ("uplift (Brier)", Column::Left),
        ("debates", NUMBER),
    ];
    page.table(2, &head, &rows.collect::<Vec<_>>());
}

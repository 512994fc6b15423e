//! `debate scores`: how good the forecasts of all resolved debates were.

use clap::builder::FalseyValueParser;
use debate_core::format::Format as _;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::prediction::scoreboard::{MeanScores, ScoreReport, Scoreboard};
use debate_core::id::DebateId;
use debate_engine::Engine;

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
/// consensus, of the blind openings and of every role; and how often what was given a probability came true.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate scores
  debate scores --json | jq .uplift")]
pub(crate) struct Scores {
    /// Print the scores as JSON
    #[arg(long, env = "DEBATE_JSON", value_parser = FalseyValueParser::new())]
    json: bool,
}

impl Scores {
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

async fn report(engine: &Engine) -> anyhow::Result<ScoreReport> {
    let mut board = Scoreboard::default();
    for listed in engine.having("resolved", Some(Prediction::NAME)).await? {
        let debate = DebateId(listed.first.stream.id);
        board.add(&engine.load::<Prediction>(debate, None).await?);
    }
    Ok(board.report())
}

fn page(report: &ScoreReport, paper: Paper) -> String {
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
    page.heading("Mean losses (smaller is better)");
    let row = |who: &str, scores: &MeanScores| {
        let (brier, bits) = (format!("{:.4}", scores.brier), format!("{:.3}", scores.log_bits));
        vec![who.to_owned(), brier, bits, scores.debates.to_string()]
    };
    let parts = [
        ("the debates", &report.r#final),
        ("judges' syntheses", &report.judge),
        ("consensus", &report.consensus),
        ("blind openings", &report.blind),
    ];
    let parts = parts.into_iter().filter_map(|(who, scores)| Some(row(who, scores.as_ref()?)));
    let roles = report.roles.iter().map(|entry| row(&one_line(entry.role.as_str()), &entry.scores));
    let rows: Vec<Vec<String>> = parts.chain(roles).collect();
    let head = [
        ("forecasts of", Column::Left),
        ("Brier", Column::Right),
        ("bits", Column::Right),
        ("debates", Column::Right),
    ];
    page.table(2, &head, &rows);
    if let Some(uplift) = &report.uplift {
        let (brier, bits) = (uplift.brier, uplift.log_bits);
        page.line(&format!("  uplift over the blind openings {brier:+.4} Brier, {bits:+.3} bits"));
    }
    calibration(&mut page, report);
    page.into_text()
}

fn calibration(page: &mut Page, report: &ScoreReport) {
    page.heading("What was given a probability, and how often it came true");
    let rows = report.calibration.iter().filter(|bin| bin.count > 0).map(|bin| {
        let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{share:.2}"));
        let span = format!("{:.1} to {:.1}", bin.from, bin.to);
        vec![span, bin.count.to_string(), share(bin.mean_probability), share(bin.share_happened)]
    });
    let head = [
        ("probability", Column::Left),
        ("count", Column::Right),
        ("mean", Column::Right),
        ("came true", Column::Right),
    ];
    page.table(2, &head, &rows.collect::<Vec<_>>());
}

//! `debate policy insights`: how well each reviewer argues, and whether its prompt should change.

use std::collections::BTreeMap;

use debate_core::counted::counted;
use debate_core::id::Role;
use debate_core::policy::insights::Insights as Found;

use super::WindowArgs;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::commands::print;
use crate::exit::End;
use crate::page::{Column, Page};
use crate::plain::one_line;
use crate::terminal::Terminal;

/// Show how well each reviewer argued in past reviews, and whether its prompt should change
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate policy insights
  debate policy insights --days 90 --score-min 6
  debate policy insights --json | jq '.reviewers | map_values(.needs_update)'")]
pub(crate) struct Insights {
    #[command(flatten)]
    window: WindowArgs,

    /// Print them as JSON
    #[arg(long)]
    json: bool,
}

impl Insights {
    /// Carries out the command.
    pub(super) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::open_existing(options).await?;
        let found = app.engine.policy_insights(self.window.into()).await;
        app.close().await;
        let found = found?;
        if self.json {
            print(&format!("{}\n", serde_json::json!({ "reviewers": found })))?;
        } else {
            print(&self.page(&found, Terminal::stdout(options.ascii)))?;
        }
        Ok(End::Done)
    }

    fn page(&self, found: &BTreeMap<Role, Found>, terminal: Terminal) -> String {
        let mut page = Page::new(terminal);
        if found.is_empty() {
            page.line(&format!(
                "no reviewer was judged in the last {} days; see debate review",
                self.window.days
            ));
            return page.into_text();
        }
        if found.values().any(|found| found.facts.simulated > 0) {
            page.warning("SIMULATED: in some of these debates a program made up the replies");
        }
        let head = [
            ("reviewer", Column::Left),
            ("debates", Column::Right),
            ("mean", Column::Right),
            ("95 % interval", Column::Right),
            ("won", Column::Right),
            ("change", Column::Left),
            ("labels", Column::Left),
        ];
        let rows: Vec<Vec<String>> = found.iter().map(|(role, found)| row(role, found)).collect();
        page.table(0, &head, &rows);
        for (role, found) in found.iter().filter(|(_, found)| !found.policy_signal.is_empty()) {
            page.hanging(2, &format!("{}: ", one_line(role.as_str())), &one_line(&found.policy_signal));
        }
        let WindowArgs { days, debates_min, score_min } = self.window;
        page.gap();
        page.paragraph(
            0,
            &format!(
                "A prompt needs a change where at least {} of the last {} put the whole interval below {score_min}.",
                counted(debates_min, "debate", "debates"),
                counted(days, "day", "days"),
            ),
        );
        page.into_text()
    }
}

fn row(role: &Role, found: &Found) -> Vec<String> {
    let facts = &found.facts;
    let interval = facts.interval_95.map(|(low, high)| format!("{low:.1}-{high:.1}"));
    vec![
        one_line(role.as_str()),
        facts.debates.to_string(),
        format!("{:.1}", facts.avg_argument_quality),
        interval.unwrap_or_else(|| "-".to_owned()),
        format!("{}/{}", facts.wins, facts.pairs),
        if facts.needs_update { "needed" } else { "no" }.to_owned(),
        facts.common_labels.join(", "),
    ]
}

//! `debate influence`: what each voice weighs in the answer.

use anyhow::Context as _;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::prediction::influence::{HELD_FIXED, Influence as Measured, LeftOut};

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::page::{Column, Page, percent};
use crate::plain::one_line;
use crate::terminal::Terminal;

/// Arguments listed unless all are asked for.
const SHOWN: usize = 12;

/// Show what each role and argument weighs in the answer
///
/// Computed from the log, with what the judge said unchanged. No model is called. To see the result of a debate without
/// a role, use "debate fork --without".
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate influence 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate influence 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --full
  debate influence 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json | jq '.left_out[0]'")]
pub(crate) struct Influence {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// Show everything that was left out, however little it weighs
    #[arg(long)]
    full: bool,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

impl Influence {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::reading(options).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let log = app.engine.history(id, None).await;
        app.close().await;
        let AnyDebate::Prediction(debate) = AnyDebate::replay(&log?)? else {
            return Err(Failure::bad_input(format!("debate {id} gives no probabilities")));
        };
        let measured = Measured::of(&debate).with_context(|| format!("debate {id} is void"))?;
        if self.json {
            print(&format!("{}\n", serde_json::to_string(&measured)?))?;
        } else {
            print(&self.page(&measured, Terminal::stdout(options.ascii)))?;
        }
        Ok(End::Done)
    }

    fn page(&self, measured: &Measured, terminal: Terminal) -> String {
        let mut page = Page::new(terminal);
        page.line(&format!("The final distribution with one voice left out, {HELD_FIXED}"));
        page.gap();
        let outcomes: Vec<String> =
            measured.r#final.iter().map(|share| one_line(share.outcome_id.as_str())).collect();
        let mut head = vec![("left out", Column::Left), ("moves it by", Column::Right)];
        head.extend(outcomes.iter().map(|outcome| (outcome.as_str(), Column::Right)));
        let shown = if self.full { usize::MAX } else { SHOWN };
        let mut rows = vec![vec!["nothing".to_owned(), String::new()]];
        rows[0].extend(measured.r#final.iter().map(|share| percent(share.probability)));
        rows.extend(measured.left_out.iter().take(shown).map(row));
        page.table(2, &head, &rows);
        let left = measured.left_out.len().saturating_sub(shown);
        if left > 0 {
            page.line(&format!("  {left} more that weigh less with --full"));
        }
        page.into_text()
    }
}

fn row(left: &LeftOut) -> Vec<String> {
    let name = left.argument.clone().unwrap_or_else(|| left.role.to_string());
    let mut row = vec![one_line(&name), percent(left.size)];
    row.extend(left.outcomes.iter().map(|outcome| {
        let change = outcome.change * 100.0;
        format!("{} ({change:+.1})", percent(outcome.probability))
    }));
    row
}

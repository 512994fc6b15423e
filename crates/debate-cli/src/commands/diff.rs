//! `debate diff`: where two debates differ.

use debate_core::diff::{Difference, Place, first_difference};
use debate_core::envelope::Envelope;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::moves::{self, Move};
use debate_core::id::DebateId;
use serde::Serialize;
use serde_json::Value;

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::End;
use crate::page::{Column, Page, clipped, percent};
use crate::plain::one_line;
use crate::terminal::Terminal;

/// The widest value shown.
const VALUE_COLUMNS_MAX: usize = 200;

/// Show where two debates first differ
///
/// What was asked, said and decided is compared, not ids, times, spend or the order in which answers arrived. A fork is
/// compared with all that it goes on from.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate diff 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a 0b8c8a3e-52a5-4a2f-9d3b-6f1c2a4e8d0b
  debate diff 6f1c2a4e-… 0b8c8a3e-… --json | jq '.moves[] | .change'")]
pub(crate) struct Diff {
    /// One debate
    #[arg(value_name = "A")]
    a: DebateRef,

    /// The other debate
    #[arg(value_name = "B")]
    b: DebateRef,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` shows.
#[derive(Serialize)]
struct Compared {
    a: String,
    b: String,
    /// Null where they differ in nothing.
    first_difference: Option<Difference>,
    /// One for each outcome; empty where neither gives probabilities.
    moves: Vec<Move>,
}

impl Diff {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::reading(options).await?;
        let read = self.read(&app).await;
        app.close().await;
        let (ids, (a, b)) = read?;
        let compared = Compared {
            a: ids[0].to_string(),
            b: ids[1].to_string(),
            first_difference: first_difference(&a, &b),
            moves: moves::between(&AnyDebate::replay(&a)?, &AnyDebate::replay(&b)?),
        };
        if self.json {
            print(&format!("{}\n", serde_json::to_string(&compared)?))?;
        } else {
            print(&page(&compared, Terminal::stdout(options.ascii)))?;
        }
        Ok(End::Done)
    }

    async fn read(
        &self,
        app: &AppContext,
    ) -> anyhow::Result<([DebateId; 2], (Vec<Envelope>, Vec<Envelope>))> {
        let store = &**app.store.events();
        let [a, b] = [self.a.find(store).await?, self.b.find(store).await?];
        Ok(([a, b], (app.engine.history(a, None).await?, app.engine.history(b, None).await?)))
    }
}

fn page(compared: &Compared, terminal: Terminal) -> String {
    let mut page = Page::new(terminal);
    let is_moved = compared.moves.iter().any(|moved| moved.change != Some(0.0));
    match &compared.first_difference {
        Some(difference) => {
            page.line("The first difference");
            side(&mut page, "A", difference.a.as_ref(), &difference.field, &difference.a_value);
            side(&mut page, "B", difference.b.as_ref(), &difference.field, &difference.b_value);
        }
        None if is_moved => page.line("What was said is the same; the answer is computed otherwise"),
        None => page.line("they differ in nothing but ids, times and spend"),
    }
    if compared.moves.is_empty() || (compared.first_difference.is_none() && !is_moved) {
        return page.into_text();
    }
    page.heading("The answers");
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), percent);
    let rows = compared.moves.iter().map(|moved| {
        vec![
            one_line(moved.outcome_id.as_str()),
            share(moved.a),
            share(moved.b),
            moved.change.map_or_else(|| "-".to_owned(), |change| format!("{:+.1}", change * 100.0)),
            moved.log_odds_change.map_or_else(|| "-".to_owned(), |change| format!("{change:+.3}")),
        ]
    });
    let head = [
        ("outcome", Column::Left),
        ("A", Column::Right),
        ("B", Column::Right),
        ("points", Column::Right),
        ("log-odds", Column::Right),
    ];
    page.table(2, &head, &rows.collect::<Vec<_>>());
    page.into_text()
}

fn side(page: &mut Page, name: &str, place: Option<&Place>, field: &str, value: &Value) {
    let Some(place) = place else {
        return page.hanging(2, &format!("{name}  "), "has no such event");
    };
    let about = if place.about.is_empty() { String::new() } else { format!(" {}", one_line(&place.about)) };
    let kind = one_line(&place.kind);
    let what = if field.is_empty() {
        String::new()
    } else {
        let value = clipped(&one_line(&value.to_string()), VALUE_COLUMNS_MAX);
        format!(": {} is {value}", one_line(field))
    };
    let text = format!("event {} of {}, {kind}{about}{what}", place.seq, place.debate_id);
    page.hanging(2, &format!("{name}  "), &text);
}

//! `debate resolve`: records what happened in the world.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use debate_core::command::DecideError;
use debate_core::event::Resolved;
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, OutcomeId, Timestamp};
use debate_engine::{Control, Engine, Env};
use serde::Deserialize;

use super::{ACTOR, print};
use crate::app_context::AppContext;
use crate::args::Options;
use crate::bounded;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::page::Page;
use crate::plain::one_line;
use crate::shown;
use crate::terminal::Terminal;

/// Record what happened and score the debate's forecasts
///
/// The debate must have concluded. What was recorded before is corrected by recording it again; both stay in the log.
/// A file of many is recorded whole or, where a line is at fault, not at all. "debate calibration" sums up all debates
/// that were resolved.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate resolve 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a yes
  debate resolve 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a no --at 2026-09-22
  debate resolve --from happened.jsonl
  debate calibration

A line of the file:
  {\"debate_id\": \"6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a\", \"outcome\": \"yes\", \"happened_at\": \"2026-09-22\"}")]
pub(crate) struct Resolve {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID", required_unless_present = "from")]
    id: Option<DebateRef>,

    /// The outcome that happened, by its id or its label
    #[arg(value_name = "OUTCOME", required_unless_present = "from")]
    outcome: Option<String>,

    /// When it happened: a day, or a moment such as 2026-09-22T12:00:00Z
    #[arg(long, value_name = "TIME")]
    at: Option<Timestamp>,

    /// Record many: a JSON object a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["id", "outcome", "at"])]
    from: Option<PathBuf>,
}

/// A line of a file of many.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Happened {
    debate_id: DebateId,
    outcome: OutcomeId,
    #[serde(default)]
    happened_at: Option<String>,
}

/// The number of a line, and what it says or why that cannot be read.
type Line = (usize, Result<(DebateId, Resolved), String>);

impl Resolve {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let many = self.from.as_deref().map(read).transpose()?;
        let app = AppContext::open_existing(options).await?;
        let done = match (many, &self.id, &self.outcome) {
            (Some(many), ..) => record_all(&app.engine, many).await,
            (None, Some(id), Some(outcome)) => self.record(&app, id, outcome, options).await,
            // The command line has them both where there is no file.
            (None, ..) => Err(Failure::bad_input("name a debate and an outcome, or a file")),
        };
        app.close().await;
        print(&done?)?;
        Ok(End::Done)
    }

    async fn record(
        &self,
        app: &AppContext,
        id: &DebateRef,
        outcome: &str,
        options: &Options,
    ) -> anyhow::Result<String> {
        let (engine, id) = (&app.engine, id.find(&**app.store.events()).await?);
        let cannot = || format!("cannot resolve debate {id}");
        let debate = AnyDebate::replay(&engine.history(id, None).await.with_context(cannot)?)?;
        let outcome = outcome_named(&debate, outcome).with_context(cannot)?;
        let resolved = Resolved { happened_at: self.at, ..Resolved::new(outcome.clone()) };
        let control = Control::Resolve(resolved);
        engine.control(id, control, ACTOR).await.with_context(cannot)?;
        let debate = AnyDebate::replay(&engine.history(id, None).await?)?;
        let mut page = Page::new(Terminal::stdout(options.ascii));
        page.line(&format!("debate {id} is resolved: {}", one_line(outcome.as_str())));
        if let AnyDebate::Prediction(debate) = &debate {
            shown::resolution(&mut page, debate);
        }
        Ok(page.into_text())
    }
}

/// Reads a file of many, each with its line number; blank lines are none.
fn read(path: &Path) -> anyhow::Result<Vec<Line>> {
    let text = bounded::text(path, bounded::ENTRIES_BYTES_MAX)?;
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    Ok(lines.map(|(line, number)| (number, happened(line))).collect())
}

fn happened(line: &str) -> Result<(DebateId, Resolved), String> {
    let Happened { debate_id, outcome, happened_at } =
        serde_json::from_str(line).map_err(|error| error.to_string())?;
    let happened_at = happened_at.map(|at| at.parse::<Timestamp>()).transpose();
    let happened_at = happened_at.map_err(|error| format!("happened_at: {error}"))?;
    Ok((debate_id, Resolved { happened_at, ..Resolved::new(outcome) }))
}

async fn record_all(engine: &Engine, many: Vec<Line>) -> anyhow::Result<String> {
    let (mut faults, mut wanted, mut before) = (Vec::new(), Vec::new(), 0);
    let mut said: BTreeMap<DebateId, (usize, Resolved)> = BTreeMap::new();
    for (number, line) in many {
        let (id, resolved) = match line {
            Ok(read) => read,
            Err(fault) => {
                faults.push(format!("line {number}: {fault}"));
                continue;
            }
        };
        match said.get(&id) {
            Some((_, same)) if *same == resolved => continue,
            Some((first, _)) => {
                faults.push(format!("line {number}: says something else of a debate than line {first}"));
                continue;
            }
            None => said.insert(id, (number, resolved.clone())),
        };
        match to_record(engine, id, resolved).await {
            Ok(Some(resolved)) => wanted.push((id, resolved)),
            Ok(None) => before += 1,
            Err(fault) => faults.push(format!("line {number}: {fault:#}")),
        }
    }
    if !faults.is_empty() {
        return Err(Failure::bad_input(format!("nothing was recorded:\n  {}", faults.join("\n  "))));
    }
    let count = wanted.len();
    for (id, resolved) in wanted {
        let recorded = engine.control(id, Control::Resolve(resolved), ACTOR).await;
        recorded.with_context(|| format!("cannot resolve debate {id}"))?;
    }
    let debates = if count == 1 { "1 debate is".to_owned() } else { format!("{count} debates are") };
    let already = if before > 0 { format!(", {before} were so already") } else { String::new() };
    Ok(format!("{debates} resolved{already}\n"))
}

/// Returns what is to be recorded, with the outcome's id; nothing if it is recorded already.
async fn to_record(engine: &Engine, id: DebateId, said: Resolved) -> anyhow::Result<Option<Resolved>> {
    let debate = AnyDebate::replay(&engine.history(id, None).await?)?;
    let resolved = Resolved { outcome: outcome_named(&debate, said.outcome.as_str())?, ..said };
    match debate.check_resolution(Env::real().now(), &resolved) {
        Ok(()) => Ok(Some(resolved)),
        Err(DecideError::Resolved(_)) => Ok(None),
        Err(refused) => Err(refused.into()),
    }
}

/// Returns the outcome with this id or, whatever its case, this label.
fn outcome_named(debate: &AnyDebate, name: &str) -> anyhow::Result<OutcomeId> {
    let given = OutcomeId::from(name);
    let AnyDebate::Prediction(debate) = debate else { return Ok(given) };
    let ids = &debate.config().outcomes;
    if ids.contains(&given) {
        return Ok(given);
    }
    let texts = debate.brief().shown().map_or(&[][..], |brief| &brief.outcomes);
    let label = |place: usize| texts.get(place).map_or("", |text| text.label.as_str());
    let is_named = |place: &usize| label(*place).to_lowercase() == name.trim().to_lowercase();
    if let [place] = (0..ids.len()).filter(is_named).collect::<Vec<_>>()[..] {
        return Ok(ids[place].clone());
    }
    let outcomes = ids.iter().enumerate().map(|(place, id)| format!("{id} ({})", one_line(label(place))));
    let outcomes = outcomes.collect::<Vec<_>>().join(", ");
    let name = one_line(name);
    Err(Failure::bad_input(format!("{name} is not an outcome of this debate; its outcomes are {outcomes}")))
}

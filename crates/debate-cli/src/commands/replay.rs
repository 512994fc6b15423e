//! `debate replay`: a debate as it was.

use std::num::NonZeroU64;

use debate_core::debate::Debate;
use debate_core::format::Format;
use debate_core::formats::any::AnyDebate;
use debate_core::id::Seq;
use debate_core::prose::Texts;
use serde::Serialize;
use serde_json::value::RawValue;

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::failures::Failures;
use crate::plain::one_line;
use crate::shown;
use crate::terminal::Terminal;

/// Show a debate as it was after one of its events
///
/// Folds the log up to that event and shows the state: what was running, what was still wanted, the result so far. No
/// model is called.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate replay 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --at 60
  debate replay 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --at 60 --json | jq .wanted")]
pub(crate) struct Replay {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// The last event to fold, from 1; the last one there is unless given
    #[arg(long, value_name = "NUMBER")]
    at: Option<NonZeroU64>,

    /// Show every outcome and every text whole
    #[arg(long)]
    full: bool,

    /// Print the state as JSON
    #[arg(long)]
    json: bool,
}

/// A state as `--json` shows it.
#[derive(Serialize)]
struct State {
    debate_id: String,
    seq: u64,
    format: &'static str,
    lifecycle: &'static str,
    phase: Option<String>,
    round: Option<u32>,
    open: Vec<String>,
    wanted: Vec<String>,
    outcome_digest: String,
    result: Box<RawValue>,
}

impl Replay {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::reading(options).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let at = self.at.map(|at| Seq(at.get()));
        let log = app.engine.history(id, at).await;
        app.close().await;
        let log = log?;
        let debate = AnyDebate::replay(&log)?;
        if let Some(at) = at.filter(|at| *at > debate.head()) {
            let head = debate.head();
            return Err(Failure::bad_input(format!("debate {id} has {head} events, none at {at}")));
        }
        if self.json {
            print(&format!("{}\n", serde_json::to_string(&state(&debate)?)?))?;
        } else {
            let terminal = Terminal::stdout(options.ascii);
            let (open, wanted) = work(&debate);
            let mut text = format!("State after event {}\n", debate.head());
            text.push_str(&format!("  under way: {}\n", one_line(&listed(&open))));
            text.push_str(&format!("  to be asked next: {}\n\n", one_line(&listed(&wanted))));
            text.push_str(&shown::page(&debate, &Failures::of(&log), terminal, self.full));
            print(&text)?;
        }
        Ok(End::Done)
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn state(debate: &AnyDebate) -> anyhow::Result<State> {
    let (open, wanted) = work(debate);
    let phase = debate.phase();
    Ok(State {
        debate_id: debate.id().to_string(),
        seq: debate.head().0,
        format: debate.format(),
        lifecycle: debate.lifecycle().as_str(),
        phase: phase.map(|(name, _)| name.to_owned()),
        round: phase.map(|(_, round)| round),
        open,
        wanted,
        outcome_digest: debate.outcome_digest().to_string(),
        result: RawValue::from_string(debate.outcome_json(Texts::Shown))?,
    })
}

/// Returns the calls that were under way, and those that were wanted and not begun.
fn work(debate: &AnyDebate) -> (Vec<String>, Vec<String>) {
    match debate {
        AnyDebate::Prediction(debate) => work_of(debate),
        AnyDebate::Deliberation(debate) => work_of(debate),
        AnyDebate::Roundtable(debate) => work_of(debate),
        AnyDebate::Review(debate) => work_of(debate),
        AnyDebate::Investigation(debate) => work_of(debate),
    }
}

fn work_of<F: Format>(debate: &Debate<F>) -> (Vec<String>, Vec<String>) {
    let open: Vec<String> =
        debate.calls().filter(|(_, call)| !call.open.is_empty()).map(|(key, _)| key.to_string()).collect();
    let wanted = debate
        .wanted_work()
        .iter()
        .map(|work| work.want().call.to_string())
        .filter(|call| !open.contains(call))
        .collect();
    (open, wanted)
}

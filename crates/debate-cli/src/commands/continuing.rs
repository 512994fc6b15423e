//! `debate continue`: holds more rounds of a debate that has concluded.

use std::thread;

use debate_core::id::{DebateId, Seq};
use debate_core::request::added::{AddedRounds, ROUNDS_ADDED_DEFAULT};
use debate_engine::{Control, Engine};
use debate_prompts::tokens;
use serde_json::json;

use super::ACTOR;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::holding::Holding;

/// Hold more rounds of a concluded debate
///
/// Predictions and roundtables take more rounds, up to 10 in all; roundtables also with a question of their own. The new
/// conclusion stands behind the old one in the log.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate continue 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate continue 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --rounds 2 --focus \"What would it cost?\"")]
pub(crate) struct Continue {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// How many rounds more
    #[arg(long, value_name = "NUMBER", default_value_t = ROUNDS_ADDED_DEFAULT)]
    rounds: u32,

    /// The question that they are to deal with
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,

    #[command(flatten)]
    holding: Holding,
}

impl Continue {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let AddedRounds { rounds, focus } =
            AddedRounds::accept(&json!({ "rounds": self.rounds, "focus": self.focus })).map_err(|wrong| {
                let lines: Vec<String> = wrong.0.iter().map(|one| format!("--{one}")).collect();
                Failure::bad_input(format!("these options cannot be used:\n  {}", lines.join("\n  ")))
            })?;
        thread::spawn(tokens::warm_up);
        let settings = options.settings();
        let app = AppContext::forking(options, settings).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let bound = app.bind_model(options, id).await;
        let continued = match bound {
            Ok(()) => go_on(&app.engine, id, rounds, focus).await,
            Err(error) => Err(error),
        };
        match continued {
            Ok(before) => self.holding.hold(options, app, id, before).await,
            Err(error) => {
                app.close().await;
                Err(error)
            }
        }
    }
}

/// Adds rounds, and returns the last event before them.
async fn go_on(engine: &Engine, id: DebateId, rounds: u32, focus: Option<String>) -> anyhow::Result<Seq> {
    let before = engine.history(id, None).await?.last().map_or(Seq::START, |last| last.seq);
    engine.control(id, Control::Continue { rounds, focus }, ACTOR).await?;
    Ok(before)
}

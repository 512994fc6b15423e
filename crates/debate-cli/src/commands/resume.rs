//! `debate resume`: drives a debate on that is paused, interrupted or void.

use std::thread;

use debate_core::debate::Lifecycle;
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Control, Engine};
use debate_prompts::tokens;

use super::ACTOR;
use crate::args::Options;
use crate::exit::End;
use crate::holding::Holding;
use crate::house::House;
use crate::model;

/// Drive a paused, interrupted or void debate on, and show its result
///
/// A paused debate goes on. One that an ended process left under way is driven from where its log ends. A void one is
/// asked again for what it lacks. Answers on record are never asked for again. One that concluded with a result is left
/// as it is: continue it, or fork it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate resume 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate resume 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --model openai:gpt-5-mini")]
pub(crate) struct Resume {
    /// Which debate
    #[arg(value_name = "ID")]
    id: DebateId,

    #[command(flatten)]
    holding: Holding,
}

impl Resume {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        thread::spawn(tokens::warm_up);
        model::check(options).await?;
        let house = House::forking(options, options.settings()).await?;
        match resume(&house.engine, self.id).await {
            Ok(before) => self.holding.hold(options, house, self.id, before).await,
            Err(error) => {
                house.close().await?;
                Err(error)
            }
        }
    }
}

/// Sets a debate going again, and returns the last event before that.
async fn resume(engine: &Engine, id: DebateId) -> anyhow::Result<Seq> {
    let log = engine.history(id, None).await?;
    let before = log.last().map_or(Seq::START, |last| last.seq);
    match AnyDebate::replay(&log)?.lifecycle() {
        Lifecycle::Running => engine.drive(id).await?,
        Lifecycle::Paused { .. } | Lifecycle::Concluded => engine.control(id, Control::Resume, ACTOR).await?,
    }
    Ok(before)
}

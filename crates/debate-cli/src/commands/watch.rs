//! `debate watch`: follows a debate.

use std::io;

use clap::builder::FalseyValueParser;
use debate_core::id::{DebateId, Seq};

use crate::args::Options;
use crate::exit::End;
use crate::follow::{Teller, follow};
use crate::house::House;
use crate::lines::{Json, Numbered};

/// Follow a debate until it has concluded: every event once, in order
///
/// The events come from the store, whoever drives the debate. After a cut, go on behind the last number seen.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --after 42
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json | jq -c 'select(.kind == \"argument_scored\").body'")]
pub(crate) struct Watch {
    /// Which debate
    #[arg(value_name = "ID")]
    id: DebateId,

    /// The last event seen already; 0 shows all
    #[arg(long, env = "DEBATE_AFTER", value_name = "NUMBER", default_value_t = 0)]
    after: u64,

    /// Print one JSON object in each line
    #[arg(long, env = "DEBATE_JSON", value_parser = FalseyValueParser::new())]
    json: bool,
}

impl Watch {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let house = House::open_existing(options).await?;
        let stdout = Box::new(io::stdout());
        let mut teller: Box<dyn Teller> =
            if self.json { Box::new(Json(stdout)) } else { Box::new(Numbered(stdout)) };
        let followed = follow(&house.engine, self.id, Seq(self.after), false, &mut *teller).await;
        house.close().await?;
        followed?;
        Ok(End::Done)
    }
}

//! `debate watch`: follows a debate.

use std::io;

use clap::builder::{FalseyValueParser, NonEmptyStringValueParser};
use debate_core::id::{DebateId, Seq};

use crate::args::Options;
use crate::exit::End;
use crate::follow::{Teller, follow};
use crate::house::House;
use crate::lines::{Json, Numbered};
use crate::remote::Server;

/// Follow a debate until it has concluded: every event once, in order
///
/// The events come from the store, whoever drives the debate, or from a server; live text comes from a server alone.
/// After a cut, go on behind the last number seen.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --after 42
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --server http://127.0.0.1:50051 --tokens
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json | jq -c 'select(.kind == \"argument_scored\").body'")]
pub(crate) struct Watch {
    /// Which debate
    #[arg(value_name = "ID")]
    id: DebateId,

    /// The last event seen already; 0 shows all
    #[arg(long, env = "DEBATE_AFTER", value_name = "NUMBER", default_value_t = 0)]
    after: u64,

    /// Address of a server that holds the debate, such as http://127.0.0.1:50051; without one the store is read
    #[arg(long, env = "DEBATE_SERVER", value_name = "URL", value_parser = NonEmptyStringValueParser::new())]
    server: Option<String>,

    /// The server's token, where it has one
    #[arg(
        long,
        env = "DEBATE_TOKEN",
        value_name = "TOKEN",
        hide_env_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
    token: Option<String>,

    /// Show live text too while models speak
    #[arg(long, env = "DEBATE_TOKENS", value_parser = FalseyValueParser::new(), requires = "server")]
    tokens: bool,

    /// Print one JSON object in each line
    #[arg(long, env = "DEBATE_JSON", value_parser = FalseyValueParser::new())]
    json: bool,
}

impl Watch {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let stdout = Box::new(io::stdout());
        let mut teller: Box<dyn Teller> =
            if self.json { Box::new(Json(stdout)) } else { Box::new(Numbered(stdout)) };
        if let Some(address) = &self.server {
            let server = Server::new(address, self.token.as_deref())?;
            server.follow(self.id, Seq(self.after), self.tokens, &mut *teller).await?;
            return Ok(End::Done);
        }
        let house = House::open_existing(options).await?;
        let followed = follow(&house.engine, self.id, Seq(self.after), false, &mut *teller).await;
        house.close().await?;
        followed?;
        Ok(End::Done)
    }
}

//! `debate watch`: follows a debate.

use std::io::{self, IsTerminal as _};

use clap::builder::NonEmptyStringValueParser;
use debate_core::id::Seq;

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::End;
use crate::follow::{Followed, Teller, follow};
use crate::lines::{Json, Numbered};
use crate::live::Live;
use crate::remote::Server;
use crate::shown;
use crate::terminal::Terminal;

/// Follow a debate to its end: every event once, in order
///
/// The events come from the store, whichever process runs the debate, or from a server; only a server sends live text.
/// After a cut, go on behind the last number seen. On a terminal a live view is shown, and the result behind it;
/// elsewhere, with --lines or --after, a line for each event.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --after 42
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --server http://127.0.0.1:50051 --tokens
  debate watch 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json | jq -c 'select(.kind == \"argument_scored\").body'")]
pub(crate) struct Watch {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// The last event seen already; 0 shows all
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,

    /// Address of a server that holds the debate, such as http://127.0.0.1:50051; without one the store is read
    #[arg(
        long,
        env = "DEBATE_SERVER",
        value_name = "URL",
        hide_env_values = true,
        value_parser = NonEmptyStringValueParser::new()
    )]
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
    #[arg(long, requires = "server")]
    tokens: bool,

    /// Print a line for each event on a terminal too
    #[arg(long)]
    lines: bool,

    /// Print one JSON object in each line
    #[arg(long)]
    json: bool,
}

impl Watch {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let is_drawn =
            !self.json && !self.lines && self.after == 0 && io::stdout().is_terminal() && Live::fits();
        let mut teller: Box<dyn Teller> = if is_drawn {
            Box::new(Live::new(Terminal::stderr(options.ascii)))
        } else if self.json {
            Box::new(Json(Box::new(io::stdout())))
        } else {
            Box::new(Numbered(Box::new(io::stdout())))
        };
        let followed = self.follow(options, self.tokens || is_drawn, &mut *teller).await?;
        drop(teller);
        if is_drawn {
            let Followed { debate, failures } = &followed;
            print(&shown::page(debate, failures, Terminal::stdout(options.ascii), false))?;
        }
        Ok(End::Done)
    }

    async fn follow(
        &self,
        options: &Options,
        tokens: bool,
        teller: &mut dyn Teller,
    ) -> anyhow::Result<Followed> {
        let after = Seq(self.after);
        if let Some(address) = &self.server {
            let server = Server::new(address, self.token.as_deref())?;
            return server.follow(self.id.whole()?, after, tokens, teller).await;
        }
        let app = AppContext::reading(options).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let followed = follow(&app.engine, id, after, false, teller).await;
        app.close().await;
        followed
    }
}

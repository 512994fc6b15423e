//! `debate report`: a debate as one file for mail and archives.

use std::path::PathBuf;

use clap::ValueEnum;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Engine, Env};
use debate_viewer::{DebatePage, Log, Report as Written};

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::private_file;

/// Write a debate into one file, with charts and its check
///
/// The page needs no server and no network: it is what `debate serve` shows under /viewer/. A new file is for its owner alone.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate report 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a -o report.html
  debate report 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --format md | less
  debate report 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --format json | jq .page.completeness")]
pub(crate) struct Report {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// Where to write it; by default to stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// How it is written
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Html)]
    format: Format,

    /// The debate as it was after this event; by default as it is
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    at: Option<u64>,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One page with charts
    Html,
    /// Markdown
    Md,
    /// What the page shows, as JSON
    Json,
}

impl Report {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::reading(options).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let report = self.report(&app.engine, id).await;
        app.close().await;
        let report = report?;
        let text = match self.format {
            Format::Html => report.html(),
            Format::Md => report.markdown(),
            Format::Json => report.json() + "\n",
        };
        match &self.output {
            Some(path) => private_file::write(path, &text)?,
            None => print(&text)?,
        }
        Ok(End::Done)
    }

    async fn report(&self, engine: &Engine, id: DebateId) -> anyhow::Result<Written> {
        let log = Log::fold(id, engine.history(id, None).await?)?;
        let head = log.head().0;
        let seq = self.at.map_or(head, Seq);
        if seq > head {
            let why = format!("debate {id} is at event {head}; there is no event {seq} yet");
            return Err(Failure::bad_input(why));
        }
        let page = DebatePage::of(&log, seq)?;
        Ok(Written::new(page, engine.verify(id).await?, Env::real().now()))
    }
}

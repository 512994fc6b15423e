//! `debate redact`: deletes words of a debate.

use debate_core::counted::counted;
use debate_core::id::Seq;
use debate_engine::{Redact as What, Redaction};
use serde_json::json;

use super::ACTOR;
use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::End;

/// Delete words of a concluded debate for good
///
/// An event's words go, its facts stay: numbers, outcomes, hashes and checkpoints hold as before, and everything that
/// shows the debate says that it was redacted. That it happened is an event of its own. Bundles and copies of the store
/// made before keep the words.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate redact 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --event 17
  debate redact 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --all-prose")]
pub(crate) struct Redact {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// The event whose words go
    #[arg(long, value_name = "NUMBER", required_unless_present = "all_prose")]
    event: Option<u64>,

    /// All words of the debate go: the question, arguments, replies, reasons
    #[arg(long, conflicts_with = "event")]
    all_prose: bool,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Redact {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let what = self.event.map_or(What::All, |seq| What::Event(Seq(seq)));
        let app = AppContext::open_existing(options).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let redacted = app.engine.redact(id, what, ACTOR).await;
        app.close().await;
        let Redaction { recorded, deleted } = redacted?;
        print(&if self.json {
            format!("{}\n", json!({ "debate_id": id.to_string(), "recorded": recorded, "deleted": deleted }))
        } else {
            let recorded = counted(recorded, "redaction", "redactions");
            let deleted = counted(deleted, "event", "events");
            format!("debate {id}: {recorded} recorded, the words of {deleted} deleted\n")
        })?;
        Ok(End::Done)
    }
}

//! `debate restore`: brings archived debates back into the store.

use std::path::PathBuf;

use debate_core::codec;
use debate_core::envelope::StreamId;
use debate_core::id::DebateId;
use serde_json::json;

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::proof::archive;

/// Bring archived debates back into the store
///
/// A debate's bundle is verified first, and must end as the debate did when it was archived. In the order of all events
/// it stands behind those that are there. The bundle stays where it is; a debate that is in the store already stays as
/// it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate restore 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --from archive
  debate list --status archived --json | jq -r .debate_id | xargs debate restore --from archive")]
pub(crate) struct Restore {
    /// Which debates; what a fork was forked from comes before it
    #[arg(value_name = "ID", required = true)]
    ids: Vec<DebateRef>,

    /// Folder of the archive
    #[arg(long, env = "DEBATE_ARCHIVE", value_name = "FOLDER")]
    from: PathBuf,

    /// Print one JSON object in each line
    #[arg(long)]
    json: bool,
}

impl Restore {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::open_existing(options).await?;
        let restored = self.restore_all(&app).await;
        app.close().await;
        restored?;
        Ok(End::Done)
    }

    async fn restore_all(&self, app: &AppContext) -> anyhow::Result<()> {
        for name in &self.ids {
            let debate = name.find(&**app.store.events()).await?;
            let events = self.restore(app, debate).await?;
            print(&if self.json {
                format!(
                    "{}\n",
                    json!({ "debate_id": debate.to_string(), "restored": true, "events": events })
                )
            } else {
                format!("restored  {debate}  {events} events\n")
            })?;
        }
        Ok(())
    }

    /// Brings a debate back; returns how many events it has.
    async fn restore(&self, app: &AppContext, debate: DebateId) -> anyhow::Result<u64> {
        let (store, stream) = (app.store.events(), StreamId::from(debate));
        let Some(archived) = store.find_archived(stream).await? else {
            let there = store.head(stream).await?;
            return Ok(there.ok_or(debate_engine::LoadError::NotFound(debate))?.seq.0);
        };
        let events = archive::events(&self.from, &archived)?;
        if let Some(forked) = events.first().and_then(codec::forked) {
            let parent = forked?.parent;
            if store.head(parent.into()).await?.is_none() {
                let why = format!("debate {debate} was forked from {parent}; restore that first");
                return Err(Failure::bad_input(why));
            }
        }
        app.store.archive()?.restore(stream, events).await?;
        Ok(archived.head.seq.0)
    }
}

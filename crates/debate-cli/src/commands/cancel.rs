//! `debate cancel`: ends a debate.

use debate_engine::Control;

use super::{ACTOR, print};
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::End;

/// End a debate now with what there is
///
/// Takes effect at once, whichever process runs the debate, and stays in its log. A server that runs it notices
/// within a second and stops its calls.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate cancel 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate cancel 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --reason \"the question is settled\"")]
pub(crate) struct Cancel {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// Why, in your words
    #[arg(long, value_name = "TEXT", default_value = "cancelled from the command line")]
    reason: String,
}

impl Cancel {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::open_existing(options).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let control = Control::Cancel { reason: self.reason.clone() };
        let cancelled = app.engine.control(id, control, ACTOR).await;
        app.close().await;
        cancelled?;
        print(&format!("debate {id} is cancelled\n"))?;
        Ok(End::Done)
    }
}

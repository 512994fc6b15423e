//! `debate show`: a debate's result.

use std::path::PathBuf;

use debate_core::format::Format as _;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::roundtable::{Roundtable, markdown};
use debate_core::id::DebateId;
use debate_core::prose::Texts;
use debate_engine::LoadError;
use debate_store::Archived;
use serde_json::json;

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::failures::Failures;
use crate::plain::one_line;
use crate::shown;
use crate::terminal::Terminal;

/// Show a debate: its result, or how it stands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate show 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate show 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --full | less -R
  debate show 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json | jq .extra.completeness
  debate show 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --markdown > roundtable.md")]
pub(crate) struct Show {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// Show every outcome and every text whole
    #[arg(long)]
    full: bool,

    /// Folder of the archive, from which archived debates are read
    #[arg(long, env = "DEBATE_ARCHIVE", value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,

    /// Print the result of a roundtable as a Markdown document
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl Show {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::with_archive(options, self.archive.as_deref()).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let log = app.engine.history(id, None).await;
        let archived = app.store.events().find_archived(id.into()).await;
        app.close().await;
        let log = match (log, archived?) {
            (Err(LoadError::Archived { debate, .. }), Some(archived)) if debate == id => {
                return self.show_archived(id, &archived);
            }
            (log, _) => log?,
        };
        let debate = AnyDebate::replay(&log)?;
        if self.markdown {
            let AnyDebate::Roundtable(debate) = &debate else {
                return Err(Failure::bad_input("only roundtables can be shown as Markdown"));
            };
            print(&markdown::document(&Roundtable::outcome(debate, Texts::Shown)))?;
        } else if self.json {
            print(&format!("{}\n", debate.result_json(Texts::Shown)))?;
        } else {
            let terminal = Terminal::stdout(options.ascii);
            print(&shown::page(&debate, &Failures::of(&log), terminal, self.full))?;
        }
        Ok(End::Done)
    }
    /// Says where an archived debate is.
    fn show_archived(&self, id: DebateId, archived: &Archived) -> anyhow::Result<End> {
        let (events, hash) = (archived.head.seq, archived.head.hash);
        let (at, bundle) = (archived.at.to_string(), one_line(&archived.bundle));
        print(&if self.json {
            let object = json!({
                "debate_id": id.to_string(),
                "status": "archived",
                "archived_at": at,
                "bundle": archived.bundle,
                "events": events.0,
                "head_hash": hash.to_string(),
            });
            format!("{object}\n")
        } else {
            format!(
                "debate {id} is archived since {at}: {events} events in {bundle}, head {hash}\n\
                 debate show {id} --archive FOLDER reads it there, debate restore {id} --from FOLDER brings it back\n"
            )
        })?;
        Ok(End::Done)
    }
}

//! `debate resume`: drives a debate on that is paused, interrupted or void.

use std::thread;

use debate_core::debate::Lifecycle;
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Seq};
use debate_core::stop::Completeness;
use debate_engine::Control;
use debate_prompts::tokens;

use super::ACTOR;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::holding::Holding;
use crate::store::StoreChoice;

/// Go on with a paused, interrupted or void debate
///
/// A paused debate goes on. One that an ended process left under way is driven from where its log ends. A void one is
/// asked again for what it lacks. Answers on record are never asked for again. One that concluded with a result is left
/// as it is: continue it, or fork it. A debate goes on with the models that it began with; where they are not to be had,
/// --model puts all that follows to another one, and log and result say so.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate resume 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate resume 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --model openai:gpt-5-mini")]
pub(crate) struct Resume {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    #[command(flatten)]
    holding: Holding,
}

impl Resume {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        thread::spawn(tokens::warm_up);
        let (id, before, lifecycle) = self.look(options).await?;
        let app = AppContext::forking(options, options.settings()).await?;
        app.check_model().await?;
        let resumed = match (app.bind_model(options, id).await, lifecycle) {
            (Err(error), _) => Err(error),
            (Ok(()), Lifecycle::Running) => app.engine.drive(id).await.map_err(anyhow::Error::from),
            (Ok(()), Lifecycle::Paused { .. } | Lifecycle::Concluded) => {
                app.engine.control(id, Control::Resume, ACTOR).await.map_err(anyhow::Error::from)
            }
        };
        match resumed {
            Ok(()) => self.holding.hold(options, app, id, before).await,
            Err(error) => {
                app.close().await;
                Err(error)
            }
        }
    }

    /// Returns the last event so far and where the debate is in its life, unless there is nothing to resume.
    async fn look(&self, options: &Options) -> anyhow::Result<(DebateId, Seq, Lifecycle)> {
        let app = AppContext::reading(options).await?;
        let looked = self.look_in(&app, options).await;
        app.close().await;
        looked
    }

    async fn look_in(
        &self,
        app: &AppContext,
        options: &Options,
    ) -> anyhow::Result<(DebateId, Seq, Lifecycle)> {
        let id = self.id.find(&**app.store.events()).await?;
        let log = app.engine.history(id, None).await?;
        let debate = AnyDebate::replay(&log)?;
        let (store, completeness) = (options.store_flag(), debate.completeness());
        match debate.lifecycle() {
            Lifecycle::Running if let Some(driver) = app.store.driven(&[id]).await?.remove(&id) => {
                let ended = match options.store {
                    StoreChoice::Postgres(_) => {
                        let seconds = options.lease_seconds;
                        format!(
                            "{driver} drives debate {id}, or did {seconds} s ago; if it has ended, try again"
                        )
                    }
                    StoreChoice::Sqlite(_) | StoreChoice::Memory => {
                        format!("{driver} drives debate {id}; resume it when that process has ended")
                    }
                };
                Err(Failure::bad_input(format!("{ended}, or follow it: debate watch {id}{store}")))
            }
            Lifecycle::Concluded if !matches!(completeness, Completeness::Void { .. }) => {
                Err(Failure::bad_input(format!(
                    "debate {id} has a result ({}), so there is nothing to resume; add rounds with \
                     debate continue {id}{store}, or change one thing with debate fork {id}{store}",
                    completeness.as_str()
                )))
            }
            lifecycle => Ok((id, log.last().map_or(Seq::START, |last| last.seq), lifecycle)),
        }
    }
}

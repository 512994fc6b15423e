//! `debate resolve`: records what happened in the world.

use anyhow::Context as _;
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, OutcomeId, Timestamp};
use debate_engine::Control;

use super::{ACTOR, print};
use crate::args::Options;
use crate::exit::End;
use crate::house::House;
use crate::page::Page;
use crate::paper::Paper;
use crate::plain::one_line;
use crate::shown;

/// Record what happened, and show how good the debate's forecasts were
///
/// The debate must have concluded. What was recorded before is corrected by recording it again; both stay in the log.
/// "debate scores" sums up all debates that were resolved.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate resolve 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a yes
  debate resolve 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a no --at 2026-09-22
  debate scores")]
pub(crate) struct Resolve {
    /// Which debate
    #[arg(value_name = "ID")]
    id: DebateId,

    /// The outcome that happened, by its id in the request
    #[arg(value_name = "OUTCOME")]
    outcome: String,

    /// When it happened: a day, or a moment such as 2026-09-22T12:00:00Z
    #[arg(long, env = "DEBATE_AT", value_name = "TIME")]
    at: Option<Timestamp>,
}

impl Resolve {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let house = House::open_existing(options).await?;
        let outcome = OutcomeId::from(self.outcome.as_str());
        let control = Control::Resolve { outcome, happened_at: self.at };
        let resolved = house.engine.control(self.id, control, ACTOR).await;
        let log = house.engine.history(self.id, None).await;
        house.close().await?;
        resolved.with_context(|| format!("cannot resolve debate {}", self.id))?;
        let debate = AnyDebate::replay(&log?)?;
        let mut page = Page::new(Paper::stdout(options.ascii));
        page.line(&format!("debate {} is resolved: {}", self.id, one_line(&self.outcome)));
        if let AnyDebate::Prediction(debate) = &debate {
            shown::resolution(&mut page, debate);
        }
        print(&page.into_text())?;
        Ok(End::Done)
    }
}

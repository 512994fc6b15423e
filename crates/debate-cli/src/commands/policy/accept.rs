//! `debate policy accept`: records that a person has taken a proposal over.

use debate_core::formats::review::reviewer::ReviewerName;

use crate::app_context::AppContext;
use crate::args::Options;
use crate::commands::{ACTOR, print};
use crate::exit::End;

/// Record that you accept a proposal for a reviewer's prompt
///
/// Nothing is written: changing the reviewer's file is yours. A proposal is accepted once; read it first with debate policy
/// show.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate policy accept security
  debate policy accept security --number 2")]
pub(crate) struct Accept {
    /// Which reviewer
    #[arg(value_name = "ROLE")]
    role: ReviewerName,

    /// Which of its proposals; the latest that was made unless given
    #[arg(long, value_name = "NUMBER")]
    number: Option<u32>,
}

impl Accept {
    /// Carries out the command.
    pub(super) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::open_existing(options).await?;
        let accepted = app.engine.accept_proposal(&self.role, self.number, ACTOR).await;
        app.close().await;
        let accepted = accepted?;
        let (number, role, digest) = (accepted.number, &self.role, accepted.digest);
        let unwritten = if accepted.is_written {
            String::new()
        } else {
            format!("no file of it is recorded; its text: debate policy show {role} --number {number}\n")
        };
        print(&format!("proposal {number} for {role} is accepted: {digest}\n{unwritten}"))?;
        Ok(End::Done)
    }
}

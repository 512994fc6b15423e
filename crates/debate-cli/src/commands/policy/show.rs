//! `debate policy show`: a proposal as it is recorded.

use debate_core::counted::counted;
use debate_core::formats::review::reviewer::ReviewerName;
use debate_core::policy::proposal_log::Shown;
use serde_json::json;

use crate::app_context::AppContext;
use crate::args::Options;
use crate::commands::print;
use crate::exit::End;
use crate::plain::plain;

/// Show a proposal for a reviewer's prompt as it is recorded: its state, its digest, how it differs, its whole text
///
/// What is accepted is this text, whatever a file of that name holds by now.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate policy show security
  debate policy show security --number 2
  debate policy show security --json | jq -r .proposed_prompt")]
pub(crate) struct Show {
    /// Which reviewer
    #[arg(value_name = "ROLE")]
    role: ReviewerName,

    /// Which of its proposals; the latest that was made unless given
    #[arg(long, value_name = "NUMBER")]
    number: Option<u32>,

    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

impl Show {
    /// Carries out the command.
    pub(super) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::open_existing(options).await?;
        let proposal = app.engine.proposal(&self.role, self.number).await;
        app.close().await;
        let proposal = proposal?;
        let shown = proposal.shown();
        let text = if self.json { format!("{}\n", json!(shown)) } else { self.text_of(&shown) };
        print(&text)?;
        Ok(End::Done)
    }

    fn text_of(&self, shown: &Shown<'_>) -> String {
        let (role, number, facts) = (&self.role, shown.number, shown.evidence);
        let state = match (shown.state, shown.accepted_by) {
            (_, Some(by)) => format!("accepted by {}", plain(by)),
            ("unwritten", None) => "made; no file of it is recorded".to_owned(),
            ("unmade", None) => "nothing was proposed".to_owned(),
            (state, None) => state.to_owned(),
        };
        let head = format!(
            "proposal {number} for {role}, asked for at {}, by {}\nstate: {state}\nevidence: {}, mean {:.1} of 10\n",
            shown.asked_at,
            plain(shown.model),
            counted(facts.debates, "debate", "debates"),
            facts.avg_argument_quality,
        );
        let Some(digest) = shown.digest else { return head };
        let (Some(prompt), Some(why), Some(diff)) = (shown.proposed_prompt, shown.rationale, shown.diff)
        else {
            return format!("{head}digest: {digest}\nits words were redacted\n");
        };
        let [prompt, why, diff] = [prompt, why, diff].map(|text| plain(text).trim_end().to_owned());
        format!("{head}digest: {digest}\nwhy: {why}\n\n{diff}\n\nthe whole prompt:\n\n{prompt}\n")
    }
}

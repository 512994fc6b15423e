//! `debate policy propose`: asks a model for a better prompt of a reviewer.

use std::path::PathBuf;

use debate_core::formats::review::reviewer::ReviewerName;
use debate_engine::{Proposed, ReviewersFolder, Settings};
use serde_json::json;

use super::WindowArgs;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::commands::{ACTOR, print};
use crate::exit::End;
use crate::plain::plain;

/// Ask a model for a better prompt of a reviewer
///
/// The prompt that stands is read from ROLE.cjs (or .js, .mjs, .ts) in the folder of reviewers: the text assigned to
/// SYSTEM_PROMPT. The proposal is written there as prompts/ROLE.txt, and how it differs as prompts/ROLE.diff; nothing else
/// is written. Links are refused.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate policy propose security --reviewers-dir reviewers
  debate policy propose testing --reviewers-dir reviewers --days 90 --model anthropic:claude-sonnet-4-6
  git diff --no-index reviewers/security.cjs reviewers/prompts/security.txt")]
pub(crate) struct Propose {
    /// Which reviewer
    #[arg(value_name = "ROLE")]
    role: ReviewerName,

    /// Folder of the reviewers' files
    #[arg(long, env = "DEBATE_REVIEWERS_DIR", value_name = "FOLDER")]
    reviewers_dir: PathBuf,

    #[command(flatten)]
    window: WindowArgs,

    /// Ask although the evidence does not speak for a change; too few debates are too few all the same
    #[arg(long)]
    anyway: bool,

    /// Print the proposal as JSON
    #[arg(long)]
    json: bool,
}

impl Propose {
    /// Carries out the command.
    pub(super) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let folder = ReviewersFolder::open(&self.reviewers_dir)?;
        let app = AppContext::forking(options, Settings::default()).await?;
        let proposed =
            app.engine.propose_prompt(&folder, &self.role, self.window.into(), self.anyway, ACTOR).await;
        app.close().await;
        let proposed = proposed?;
        let text = if self.json { json_of(&proposed) } else { self.text_of(&proposed) };
        print(&text)?;
        Ok(End::Done)
    }

    fn text_of(&self, proposed: &Proposed) -> String {
        let facts = &proposed.evidence;
        let interval =
            facts.interval_95.map_or_else(String::new, |(low, high)| format!(" ({low:.1} to {high:.1})"));
        let simulated = if proposed.model.starts_with("simulated") || facts.simulated > 0 {
            "SIMULATED: a program made up replies that this rests on\n"
        } else {
            ""
        };
        let [text, diff] = proposed.files.each_ref().map(|path| path.display().to_string());
        format!(
            "{simulated}proposal {number} for {role}, by {model}\nevidence: {debates} debates, mean \
             {mean:.1}{interval} of 10\nwhy: {why}\n\n{change}\nwritten to {text} and {diff}; once a person has taken it \
             over: debate policy accept {role}\n",
            number = proposed.number,
            role = self.role,
            model = proposed.model,
            debates = facts.debates,
            mean = facts.avg_argument_quality,
            why = plain(&proposed.rationale),
            change = plain(&proposed.diff),
        )
    }
}

fn json_of(proposed: &Proposed) -> String {
    let json = json!({
        "number": proposed.number,
        "evidence": proposed.evidence,
        "model": proposed.model,
        "proposed_prompt": proposed.proposed_prompt,
        "rationale": proposed.rationale,
        "diff": proposed.diff,
        "files": proposed.files,
    });
    format!("{json}\n")
}

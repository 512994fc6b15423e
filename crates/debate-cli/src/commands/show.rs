//! `debate show`: a debate's result.

use clap::builder::FalseyValueParser;
use debate_core::format::Format as _;
use debate_core::formats::any::AnyDebate;
use debate_core::formats::roundtable::{Roundtable, markdown};
use debate_core::id::DebateId;
use debate_core::prose::Texts;

use super::print;
use crate::args::Options;
use crate::exit::{End, Failure};
use crate::failures::Failures;
use crate::house::House;
use crate::paper::Paper;
use crate::shown;

/// Show a debate: its result, or how it stands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate show 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate show 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --full | less -R
  debate show 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json | jq .extra.completeness
  debate show 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --markdown > roundtable.md")]
pub(crate) struct Show {
    /// Which debate
    #[arg(value_name = "ID")]
    id: DebateId,

    /// Show every outcome and every text whole
    #[arg(long, env = "DEBATE_FULL", value_parser = FalseyValueParser::new())]
    full: bool,

    /// Print the result as JSON
    #[arg(long, env = "DEBATE_JSON", value_parser = FalseyValueParser::new())]
    json: bool,

    /// Print the result of a roundtable as a Markdown document
    #[arg(long, env = "DEBATE_MARKDOWN", value_parser = FalseyValueParser::new(), conflicts_with = "json")]
    markdown: bool,
}

impl Show {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let house = House::open_existing(options).await?;
        let log = house.engine.history(self.id, None).await;
        house.close().await?;
        let log = log?;
        let debate = AnyDebate::replay(&log)?;
        if self.markdown {
            let AnyDebate::Roundtable(debate) = &debate else {
                return Err(Failure::bad_input("only roundtables can be shown as Markdown"));
            };
            print(&markdown::document(&Roundtable::outcome(debate, Texts::Shown)))?;
        } else if self.json {
            print(&format!("{}\n", debate.result_json(Texts::Shown)))?;
        } else {
            let paper = Paper::stdout(options.ascii);
            print(&shown::page(&debate, &Failures::of(&log), paper, self.full))?;
        }
        Ok(End::Done)
    }
}

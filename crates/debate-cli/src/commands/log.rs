//! `debate log`: the events of a debate.

use clap::builder::FalseyValueParser;
use debate_core::formats::any::AnyDebate;
use debate_core::id::DebateId;

use super::print;
use crate::args::Options;
use crate::exit::End;
use crate::house::House;
use crate::{lines, told};

/// Print the log of a debate: every event, one in each line
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate log 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate log 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json > debate.ndjson
  debate log 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json | jq -r 'select(.kind == \"call_answered\").body.call'")]
pub(crate) struct Log {
    /// Which debate
    #[arg(value_name = "ID")]
    id: DebateId,

    /// Print one JSON object in each line: the events as they are stored
    #[arg(long, env = "DEBATE_JSON", value_parser = FalseyValueParser::new())]
    json: bool,
}

impl Log {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let house = House::open_existing(options).await?;
        let history = house.engine.history(self.id, None).await;
        house.close().await?;
        let history = history?;
        let mut text = String::new();
        let mut debate: Option<AnyDebate> = None;
        for envelope in &history {
            if envelope.stream != self.id.into() {
                // A fork's log is its own; what it shares with its parents stands in theirs.
                match &mut debate {
                    Some(debate) => debate.apply(envelope)?,
                    none => *none = Some(AnyDebate::replay(std::slice::from_ref(envelope))?),
                }
                continue;
            }
            if self.json {
                text.push_str(&lines::json(envelope)?);
            } else {
                let debate = match &mut debate {
                    Some(debate) => {
                        debate.apply(envelope)?;
                        debate
                    }
                    none => none.insert(AnyDebate::replay(std::slice::from_ref(envelope))?),
                };
                text.push_str(&lines::numbered(envelope, &told::tell(debate, envelope)?));
            }
            text.push('\n');
        }
        print(&text)?;
        Ok(End::Done)
    }
}

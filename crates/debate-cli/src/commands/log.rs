//! `debate log`: the events of a debate, and the prompts of its requests.

use std::num::NonZeroU64;
use std::str::FromStr;

use debate_core::envelope::Envelope;
use debate_core::event::PromptRef;
use debate_core::formats::any::AnyDebate;
use debate_core::id::{DebateId, Seq};
use debate_viewer::PromptShown;
use serde_json::Value;

use super::print;
use crate::app_context::AppContext;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::page::thousands;
use crate::plain::{one_line, plain};
use crate::{event_line, lines};

/// Print the events of a debate
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate log 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a
  debate log 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json > debate.ndjson
  debate log 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --json | jq -r 'select(.kind == \"call_answered\").body.call'
  debate log 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --prompt 17")]
pub(crate) struct Log {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID")]
    id: DebateRef,

    /// Print one JSON object in each line: the events as they are stored
    #[arg(long)]
    json: bool,

    /// Print the prompt of the request that this event began, rendered again from the log, and whether it is what was sent.
    /// Takes the number of the event, or the name of a call such as score/1/judge, or of an argument such as r2.pessimist
    #[arg(long, value_name = "NUMBER|NAME")]
    prompt: Option<Asked>,
}

impl Log {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let app = AppContext::reading(options).await?;
        let id = self.id.find(&**app.store.events()).await?;
        let history = app.engine.history(id, None).await;
        let engine = app.engine.clone();
        app.close().await;
        let history = history?;
        if let Some(asked) = &self.prompt {
            let seq = asked.seq(id, &history)?;
            let log = debate_viewer::Log::fold(id, history)?;
            let (head, _) = log.head();
            if seq > head {
                return Err(Failure::bad_input(format!("debate {id} has {head} events, none at {seq}")));
            }
            let shown = PromptShown::of(&engine, &log, seq)?;
            print(&if self.json { format!("{}\n", serde_json::to_string(&shown)?) } else { page(&shown) })?;
            return Ok(End::Done);
        }
        let mut text = String::new();
        let mut debate: Option<AnyDebate> = None;
        for envelope in &history {
            if envelope.stream != id.into() {
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
                text.push_str(&lines::numbered(envelope, &event_line::tell(debate, envelope)?));
            }
            text.push('\n');
        }
        print(&text)?;
        Ok(End::Done)
    }
}

/// The request whose prompt is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Asked {
    /// The event that began it.
    Event(NonZeroU64),
    /// The last one of a call, such as `argue/2/pessimist`.
    Call(String),
}

impl FromStr for Asked {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Event(number));
        }
        if let Some((round, role)) = text.strip_prefix('r').and_then(|text| text.split_once('.'))
            && round.parse::<u32>().is_ok()
        {
            return Ok(Self::Call(format!("argue/{round}/{role}")));
        }
        if text.contains('/') {
            return Ok(Self::Call(text.to_owned()));
        }
        Err("write the number of an event, a call such as score/1/judge, or an argument such as r2.pessimist"
            .to_owned())
    }
}

impl Asked {
    /// Returns the number of the event that began the request.
    fn seq(&self, id: DebateId, history: &[Envelope]) -> anyhow::Result<Seq> {
        let call = match self {
            Self::Event(seq) => return Ok(Seq(seq.get())),
            Self::Call(call) => call,
        };
        let begins = |envelope: &&Envelope| {
            let body = serde_json::from_str::<Value>(&envelope.body).unwrap_or_default();
            envelope.kind == "call_started" && envelope.stream == id.into() && body["call"] == **call
        };
        let found = history.iter().rev().find(begins).map(|envelope| envelope.seq);
        found.ok_or_else(|| Failure::bad_input(format!("debate {id} has asked no model for {call}")))
    }
}

/// Lays a prompt out: how it compares with what was sent, and then what was said to the model.
fn page(shown: &PromptShown) -> String {
    let PromptRef { version, digest, tokens, .. } = &shown.sent;
    let mut text = format!("prompt of event {}: {}\n", shown.seq, one_line(&shown.summary));
    if !version.is_empty() {
        text.push_str(&format!(
            "{}, {} tokens, digest {digest}\n",
            one_line(version),
            thousands((*tokens).into())
        ));
    }
    let Some(rendered) = &shown.rendered else { return text };
    if !shown.agrees {
        text.push_str(
            "What stands here is not what was sent, but what this program makes of the log today.\n",
        );
    }
    for message in &rendered.messages {
        text.push_str(&format!("\n--- {}\n{}\n", message.speaker, plain(&message.text).trim_end()));
    }
    if let Some(schema) = &rendered.reply_schema {
        text.push_str(&format!("\n--- the shape that the reply must have\n{}\n", plain(&schema.to_string())));
    }
    text
}

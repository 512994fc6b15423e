//! `debate prompts`: the texts of the prompts, and the prompts with which a debate would begin (P24).

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Subcommand;
use debate_core::formats::accept::{Accepted, AcceptedRequest};
use debate_core::id::Digest;
use debate_prompts::catalog::{self, Text};
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::prompts::{Prompt, Prompts as Port, Speaker};
use debate_prompts::review::ReviewPrompts;
use debate_prompts::roundtable::RoundtablePrompts;
use serde_json::{Value, json};
use similar::TextDiff;

use super::print;
use crate::args::Options;
use crate::asking::Asking;
use crate::exit::{End, Failure};
use crate::first_prompts::{self, FirstPrompt};
use crate::page::{Column, Page};
use crate::plain::plain;
use crate::request_file::RequestFile;
use crate::terminal::Terminal;

/// List, show, compare and try prompts
///
/// Nothing is sent to a model and nothing is recorded.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate prompts list
  debate prompts show prediction/argue.standard
  debate prompts diff prediction/argue prediction/argue.standard
  debate prompts try examples/ice.json --preset contract
  debate prompts try examples/ice.json --json | jq '.[0].messages'")]
pub(crate) struct Prompts {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    List(List),
    Show(Show),
    Diff(Diff),
    Try(Try),
}

impl Prompts {
    /// Carries out the command.
    pub(crate) fn run(&self, options: &Options) -> anyhow::Result<End> {
        match &self.what {
            What::List(list) => list.run(options),
            What::Show(show) => show.run(),
            What::Diff(diff) => diff.run(),
            What::Try(tried) => tried.run(options),
        }
    }
}

/// List the texts of all prompts with their versions and digests
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate prompts list
  debate prompts list --json | jq -r '.[].name'")]
struct List {
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

impl List {
    fn run(&self, options: &Options) -> anyhow::Result<End> {
        let texts = catalog::all();
        let digest = |text: &Text| Digest::of_text(text.text).to_string();
        if self.json {
            let entry = |text: &Text| {
                let Text { name, text: words, is_replaced } = text;
                json!({ "name": name, "digest": digest(text), "is_replaced": is_replaced, "text": words })
            };
            let entries: Vec<Value> = texts.iter().map(entry).collect();
            print(&format!("{}\n", serde_json::to_string(&entries)?))?;
            return Ok(End::Done);
        }
        let mut page = Page::new(Terminal::stdout(options.ascii));
        let head = [
            ("name", Column::Left),
            ("digest", Column::Left),
            ("bytes", Column::Right),
            ("from", Column::Left),
        ];
        let row = |text: &Text| {
            let from = if text.is_replaced { "--prompts" } else { "" };
            let bytes = text.text.len().to_string();
            vec![text.name.to_owned(), digest(text)[..16].to_owned(), bytes, from.to_owned()]
        };
        page.table(0, &head, &texts.iter().map(row).collect::<Vec<_>>());
        print(&page.into_text())?;
        Ok(End::Done)
    }
}

/// Print the text of a prompt, with the names of what is filled in
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate prompts show prediction/argue.standard
  debate prompts show review/judge > judge.txt")]
struct Show {
    /// Its name as `debate prompts list` prints it, with or without the version
    #[arg(value_name = "NAME")]
    name: String,
}

impl Show {
    fn run(&self) -> anyhow::Result<End> {
        print(&format!("{}\n", named(&self.name)?.text.trim_end()))?;
        Ok(End::Done)
    }
}

/// Returns the text with a name, with or without its version.
fn named(name: &str) -> anyhow::Result<Text> {
    catalog::find(name)
        .ok_or_else(|| Failure::bad_input(format!("no text is called {name:?}; see `debate prompts list`")))
}

/// Compare the text of a prompt with a file, or with another text
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate prompts diff prediction/argue prediction/argue.standard
  debate prompts diff review/judge judge.txt")]
struct Diff {
    /// The name of the text
    #[arg(value_name = "NAME")]
    name: String,

    /// A file, or the name of another text
    #[arg(value_name = "FILE|NAME")]
    other: String,
}

impl Diff {
    fn run(&self) -> anyhow::Result<End> {
        let old = named(&self.name)?;
        let (header, new) = match std::fs::read_to_string(&self.other) {
            Ok(text) => (self.other.clone(), text),
            Err(error) => {
                let other = named(&self.other).map_err(|_no_text| {
                    Failure::bad_input(format!("{:?} is no text and cannot be read: {error}", self.other))
                })?;
                (other.name.to_owned(), other.text.to_owned())
            }
        };
        let diff = TextDiff::from_lines(old.text, &new);
        print(&plain(&diff.unified_diff().context_radius(3).header(old.name, &header).to_string()))?;
        Ok(End::Done)
    }
}

/// Print the prompts with which a debate over a request would begin
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate prompts try examples/ice.json --role historian
  debate prompts try examples/ice.json --preset contract")]
struct Try {
    /// The request; - reads it from stdin
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Show only the prompts of one role
    #[arg(long, value_name = "ROLE")]
    role: Option<String>,

    /// Print the prompts as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    asking: Asking,
}

impl Try {
    fn run(&self, options: &Options) -> anyhow::Result<End> {
        let mut request = RequestFile(&self.file).read(None, &options.offered())?;
        self.asking.apply(&mut request, options)?;
        let first = match request {
            AcceptedRequest::Prediction(accepted) => self.first(&PredictionPrompts, *accepted)?,
            AcceptedRequest::Deliberation(accepted) => self.first(&DeliberationPrompts, *accepted)?,
            AcceptedRequest::Roundtable(accepted) => self.first(&RoundtablePrompts, *accepted)?,
            AcceptedRequest::Review(accepted) => self.first(&ReviewPrompts, *accepted)?,
            AcceptedRequest::Investigation(accepted) => self.first(&InvestigationPrompts, *accepted)?,
        };
        if first.is_empty() {
            let role = self.role.as_deref().unwrap_or_default();
            return Err(Failure::bad_input(format!("no one called {role:?} is asked first")));
        }
        if self.json {
            let entries: Vec<Value> = first.iter().map(|(call, prompt)| as_json(call, prompt)).collect();
            print(&format!("{}\n", serde_json::to_string(&entries)?))?;
        } else {
            let texts: Vec<String> = first.iter().map(|(call, prompt)| as_text(call, prompt)).collect();
            print(&texts.join("\n"))?;
        }
        Ok(End::Done)
    }

    fn first<P: Port>(
        &self,
        prompts: &P,
        accepted: Accepted<P::Format>,
    ) -> anyhow::Result<Vec<(String, Prompt)>> {
        let first = first_prompts::of(prompts, accepted)?.into_iter();
        let is_shown = |first: &FirstPrompt<P::Format>| {
            self.role.as_deref().is_none_or(|role| first.want.call.role.as_str() == role)
        };
        Ok(first.filter(is_shown).map(|first| (first.want.call.to_string(), first.prompt)).collect())
    }
}

const fn speaker(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::System => "system",
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
    }
}

fn as_json(call: &str, prompt: &Prompt) -> Value {
    let messages = prompt.messages.iter();
    let messages: Vec<Value> = messages
        .map(|message| json!({ "role": speaker(message.speaker), "content": &*message.text }))
        .collect();
    json!({
        "call": call,
        "version": prompt.version,
        "tokens": prompt.tokens,
        "output_tokens_max": prompt.output_tokens_max,
        "omitted": prompt.omitted,
        "messages": messages,
        "schema": prompt.shape.as_ref().map(|shape| &*shape.schema),
    })
}

fn as_text(call: &str, prompt: &Prompt) -> String {
    let Prompt { version, tokens, output_tokens_max, .. } = prompt;
    let mut text = format!("# {call}: {version}, {tokens} tokens, {output_tokens_max} for the answer\n");
    for omitted in &prompt.omitted {
        let _infallible = writeln!(text, "# {omitted}");
    }
    for message in &prompt.messages {
        let _infallible = write!(text, "\n--- {}\n{}\n", speaker(message.speaker), message.text.trim_end());
    }
    text
}

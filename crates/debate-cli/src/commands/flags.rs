//! `debate flags`: the flags of roundtables, each with where its value comes from.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::roundtable::flags::{FlagEntry, Flags as RoundtableFlags};
use debate_core::formats::roundtable::mode::Mode;
use debate_core::request::Violations;

use super::print;
use crate::args::Options;
use crate::exit::{End, Failure};
use crate::flags;
use crate::page::{Column, Page};
use crate::request_file::RequestFile;
use crate::terminal::Terminal;

/// Show the flags of roundtables and where they come from
///
/// A request's own flags come before those of the environment, and those before the defaults, which are the mode's own.
/// Without a file, the flags are shown that a request of a mode without any would get.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate flags
  debate flags --mode adversarial
  debate flags examples/roundtable-delphi.json
  ROUNDTABLE_EXIT_ENABLED=true debate flags --json | jq '.[] | select(.source != \"default\")'")]
pub(crate) struct Flags {
    /// The request of a roundtable; `-` for stdin
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// The mode, where there is no file [default: collaborative]
    #[arg(
        long,
        value_name = "MODE",
        conflicts_with = "file",
        value_parser = PossibleValuesParser::new(Mode::ALL.map(Mode::as_str))
    )]
    mode: Option<String>,

    /// Print the flags as JSON
    #[arg(long)]
    json: bool,
}

impl Flags {
    /// Carries out the command.
    pub(crate) fn run(&self, options: &Options) -> anyhow::Result<End> {
        let entries = self.entries()?;
        if self.json {
            print(&format!("{}\n", serde_json::to_string(&entries)?))?;
        } else {
            print(&page(&entries, Terminal::stdout(options.ascii)))?;
        }
        Ok(End::Done)
    }

    fn entries(&self) -> anyhow::Result<Vec<FlagEntry>> {
        let Some(file) = &self.file else {
            let refused = |refused: Violations| Failure::bad_input(refused.to_string());
            let environment = flags::of_environment().map_err(refused)?;
            let named = Mode::ALL.into_iter().find(|mode| Some(mode.as_str()) == self.mode.as_deref());
            let admitted = RoundtableFlags::default().admitted(&environment, named.unwrap_or_default());
            return Ok(admitted.map_err(|violation| refused(violation.into()))?.entries());
        };
        match RequestFile(file).read(None, &[])? {
            AcceptedRequest::Roundtable(accepted) => Ok(accepted.config.flags.entries()),
            AcceptedRequest::Prediction(_)
            | AcceptedRequest::Deliberation(_)
            | AcceptedRequest::Review(_)
            | AcceptedRequest::Investigation(_) => Err(Failure::bad_input("only roundtables have flags")),
        }
    }
}

fn page(entries: &[FlagEntry], terminal: Terminal) -> String {
    let mut page = Page::new(terminal);
    let head = [
        ("flag", Column::Left),
        ("value", Column::Left),
        ("source", Column::Left),
        ("variable", Column::Left),
    ];
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let value = entry.value.as_str().map_or_else(|| entry.value.to_string(), str::to_owned);
            vec![entry.flag.to_owned(), value, entry.source.as_str().to_owned(), entry.variable.to_owned()]
        })
        .collect();
    page.table(0, &head, &rows);
    page.into_text()
}

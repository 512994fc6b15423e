//! `debate config`: what a server would run with.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use super::{Command, print};
use crate::args::Options;
use crate::config::{self, Setting};
use crate::exit::End;
use crate::page::{Column, Page};
use crate::terminal::Terminal;

/// Check the configuration file
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate config check debate.toml
  DEBATE_CONFIG=/etc/debate/debate.toml debate config check --json | jq '.[] | select(.source != \"default\")'")]
pub(crate) struct Config {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Check(Check),
}

/// Show every option that `debate serve` would run with, and where its value comes from
///
/// The file is a flat table in TOML; each value has the name of its flag, as in `listen = "127.0.0.1:50051"`, and an
/// option that may be given again takes a list. Secrets are not shown. What is unknown or wrong is named with its
/// place, all at once, and the exit code is 2.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate config check
  debate config check deploy/debate.toml
  DEBATE_STORE=memory debate config check deploy/debate.toml --json")]
struct Check {
    /// The file; unless given, that of --config
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,

    /// Print the options as JSON
    #[arg(long)]
    json: bool,
}

impl Config {
    /// Carries out the command.
    pub(crate) fn run(&self, options: &Options) -> anyhow::Result<End> {
        let Action::Check(check) = &self.action;
        let argv: Vec<_> = std::env::args_os().collect();
        let (args, settings) = config::of_server(check.file.as_deref(), &argv)?;
        if let Command::Serve(serve) = &args.command {
            serve.tls()?;
        }
        if check.json {
            let rows: Vec<_> = settings.iter().map(row).collect();
            print(&format!("{}\n", json!(rows)))?;
        } else {
            print(&page(&settings, Terminal::stdout(options.ascii)))?;
        }
        Ok(End::Done)
    }
}

fn row(setting: &Setting) -> serde_json::Value {
    let Setting { name, variable, value, source } = setting;
    let (kind, place) = (source.kind(), source.to_string());
    json!({"name": name, "variable": variable, "value": value, "source": kind, "place": place})
}

fn page(settings: &[Setting], terminal: Terminal) -> String {
    let mut page = Page::new(terminal);
    let head = [("option", Column::Left), ("value", Column::Left), ("from", Column::Left)];
    let rows: Vec<Vec<String>> = settings
        .iter()
        .map(|setting| {
            let value = setting.value.clone().unwrap_or_else(|| "not set".to_owned());
            vec![setting.name.clone(), value, setting.source.to_string()]
        })
        .collect();
    page.table(0, &head, &rows);
    page.into_text()
}

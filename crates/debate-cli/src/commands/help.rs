//! `debate help`: the help of a command, or a topic. The groups of commands that `debate -h` shows are here too.

use std::fmt::Write as _;

use clap::{Arg, Command, CommandFactory as _, Subcommand as _};

use super::print;
use crate::args::Args;
use crate::exit::{self, End, Failure};

/// The commands by what people come for.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Ask", &["run", "review", "cancel", "resume", "continue", "fork"]),
    ("Read", &["list", "show", "watch", "log", "replay", "diff", "report"]),
    ("Learn", &["resolve", "calibration", "backtest", "influence", "bench", "prompts", "policy", "golden"]),
    ("Serve", &["serve", "mcp", "token", "doctor"]),
    ("Prove and keep", &["keys", "checkpoint", "verify", "export", "import", "archive", "restore", "redact"]),
    ("Settings", &["config", "flags", "completions", "help"]),
];

const REQUEST: &str = "\
A request is a JSON file. For a prediction:

  {\"task_id\": \"rain\",
   \"prediction_context\": {
     \"task\": {\"question\": \"Will it rain in Paris tomorrow?\",
              \"resolution_criteria\": \"Météo-France reports at least 1 mm.\"},
     \"outcomes\": [{\"id\": \"yes\", \"label\": \"Yes\"}, {\"id\": \"no\", \"label\": \"No\"}]}}

debate run FILE holds it, and - reads it from stdin. An invalid request is refused with every field at fault.
The folder examples has requests of every format. debate prompts try FILE shows the first prompts for free.
";

const FORMATS: &str = "\
The field format of a request names one of these; prediction unless set:

  prediction     five roles argue in rounds and forecast; a judge gives the final probabilities
  deliberation   experts state positions, rebut and revise them; a moderator finds the consensus
  roundtable     agents debate a topic in one of seven modes, such as delphi or socratic (field mode)
  review         reviewers whose critiques conflict debate each conflict before a judge
  investigation  investigators report evidence for competing hypotheses and challenge each other
";

const MODELS: &str = "\
--model, or DEBATE_MODEL, names who debates:

  openai:NAME            OpenAI's chat API, and every server that speaks like it (OPENAI_BASE_URL)
  openai-responses:NAME  OpenAI's Responses API
  anthropic:NAME         Anthropic (ANTHROPIC_BASE_URL)
  gemini:NAME            Google Gemini (GEMINI_BASE_URL)
  simulated              a program that makes up replies, for trials

Keys are read from OPENAI_API_KEY, ANTHROPIC_API_KEY and GEMINI_API_KEY. A local server needs no key:

  OPENAI_BASE_URL=http://localhost:11434/v1 debate run FILE --model openai:qwen3

debate doctor --model openai:NAME checks the model, measures it and recommends settings.
";

const SECRETS: &str = "\
  OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY  keys of providers
  DEBATE_SEARCH_KEY                                  key of the search service
  ROUNDTABLE_…                                       flags of roundtables; see debate flags
  NO_COLOR                                           no colors
";

/// Show the help of a command or a topic
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Topics: request, formats, models, options, environment, exit-codes

Examples:
  debate help models
  debate help token create")]
pub(crate) struct Help {
    /// A topic, or a command
    #[arg(value_name = "TOPIC")]
    about: Vec<String>,
}

impl Help {
    /// Carries out the command.
    pub(crate) fn run(&self) -> anyhow::Result<End> {
        let mut root = Args::command();
        root.build();
        let names: Vec<&str> = self.about.iter().map(String::as_str).collect();
        let text = match names[..] {
            ["request"] => REQUEST.to_owned(),
            ["formats"] => FORMATS.to_owned(),
            ["models"] => MODELS.to_owned(),
            ["options"] => options(&root),
            ["environment"] => environment(&root),
            ["exit-codes"] => format!("{}\n", exit::CODES),
            _ => self.of_command(&mut root)?,
        };
        print(&text)?;
        Ok(End::Done)
    }

    fn of_command(&self, root: &mut Command) -> anyhow::Result<String> {
        let mut found = root;
        for name in &self.about {
            found = found.find_subcommand_mut(name).ok_or_else(|| {
                let path = self.about.join(" ");
                Failure::bad_input(format!(
                    "{path:?} is neither a command nor a topic: `debate -h` lists the commands; topics are request, \
                     formats, models, options, environment and exit-codes"
                ))
            })?;
        }
        Ok(found.render_long_help().to_string())
    }
}

/// Returns the commands in their groups, each with its first line of help.
pub(crate) fn groups() -> String {
    let all = super::Command::augment_subcommands(Command::new("debate"));
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _infallible = writeln!(text, "{title}:");
        for name in names {
            let about = all.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
            let _infallible = writeln!(text, "  {name:<12} {}", about.unwrap_or_default());
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns the options of every command with their whole help.
fn options(root: &Command) -> String {
    let globals = root.get_arguments().filter(|arg| arg.is_global_set()).cloned();
    let globals = globals.map(|arg: Arg| arg.global(false).help_heading("Options of every command"));
    let template = "{all-args}";
    let mut shown = Command::new("debate").args(globals).help_template(template).disable_help_flag(true);
    shown.render_long_help().to_string()
}

/// Returns the variables of the environment that set something.
fn environment(root: &Command) -> String {
    let mut text =
        "A flag goes before its variable, and a variable before the file of --config.\n\n".to_owned();
    for (owner, command) in
        std::iter::once(("", root)).chain(root.get_subcommands().map(|command| (command.get_name(), command)))
    {
        let own = |arg: &&Arg| owner.is_empty() == arg.is_global_set();
        for arg in command.get_arguments().filter(own) {
            let Some((variable, flag)) = arg.get_env().zip(arg.get_long()) else { continue };
            let of = if owner.is_empty() { String::new() } else { format!(" of debate {owner}") };
            let _infallible = writeln!(text, "  {:<40} --{flag}{of}", variable.display());
        }
    }
    text.push_str("\nWithout a flag:\n\n");
    text.push_str(SECRETS);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_with_one_line() {
        let root = Args::command();
        let mut all: Vec<&str> = root.get_subcommands().map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
        for command in root.get_subcommands() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(about.chars().count() <= 65, "{}: {about}", command.get_name());
        }
    }

    #[test]
    fn short_help_fits_on_a_screen() {
        for mut command in std::iter::once(Args::command()).chain(Args::command().get_subcommands().cloned())
        {
            let help = command.render_help().to_string();
            let lines = help.lines().count();
            assert!(lines <= 70, "{} has {lines} lines:\n{help}", command.get_name());
        }
    }
}

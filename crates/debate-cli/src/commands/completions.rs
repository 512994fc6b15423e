//! `debate completions`: completions for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::print;
use crate::args::Args;
use crate::exit::End;

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate completions bash > ~/.local/share/bash-completion/completions/debate
  debate completions zsh > ~/.zfunc/_debate
  debate completions fish > ~/.config/fish/completions/debate.fish")]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Completions {
    /// Carries out the command.
    pub(crate) fn run(&self) -> anyhow::Result<End> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Args::command(), "debate", &mut script);
        print(&String::from_utf8(script)?)?;
        Ok(End::Done)
    }
}

//! The two commands of the README, run as they stand there, so that they cannot rot.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::cargo::{Workspace, succeed};
use crate::report::{Ended, Report};

/// Runs the README's two commands.
pub(crate) fn add_steps(workspace: &Workspace, report: &mut Report) {
    for (index, name) in ["first README command", "second README command"].into_iter().enumerate() {
        report.step(name, || {
            let path = workspace.root.join("README.md");
            let readme =
                fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let commands = commands(&readme)?;
            println!("{}", commands[index]);
            succeed(workspace.cargo(commands[index].split_whitespace().skip(1)))?;
            Ok(Ended::Passed)
        });
    }
}

/// Returns the first two lines in code blocks that start with `cargo`, without a prompt or comment.
fn commands(readme: &str) -> Result<[String; 2]> {
    let mut in_block = false;
    let mut commands = Vec::new();
    for line in readme.lines().map(str::trim) {
        if line.starts_with("```") {
            in_block = !in_block;
            continue;
        }
        let line = line.strip_prefix("$ ").unwrap_or(line);
        if in_block && line.starts_with("cargo ") {
            let command = line.split_once(" #").map_or(line, |(command, _)| command);
            commands.push(command.trim().to_owned());
        }
    }
    let Ok([first, second]) = <[String; 2]>::try_from(commands.into_iter().take(2).collect::<Vec<_>>())
    else {
        bail!("README.md shows fewer than two cargo commands in its code blocks");
    };
    if !first.starts_with("cargo run ") || second != "cargo xtask test" {
        bail!(
            "README.md starts with `{first}` and `{second}`, not with `cargo run …` and `cargo xtask test`"
        );
    }
    Ok([first, second])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_commands_are_read_from_code_blocks_alone() {
        let readme = "cargo run nowhere\n```sh\n$ cargo run -- run examples/a.json   # one debate\n```\n\
                      text\n```sh\ncargo xtask test\ncargo xtask ci\n```\n";
        assert_eq!(commands(readme).unwrap(), ["cargo run -- run examples/a.json", "cargo xtask test"]);
    }

    #[test]
    fn a_readme_with_other_commands_is_refused() {
        assert!(commands("```\ncargo build\ncargo xtask test\n```").is_err());
        assert!(commands("```\ncargo run -- run examples/a.json\n```").is_err());
    }
}

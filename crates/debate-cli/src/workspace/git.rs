//! Log, blame and commits of git, read-only. Git is given paths behind `--`, no configuration of the machine, and no way up out of
//! the workspace.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use tokio::process::Command;
use tokio::time::timeout;

use debate_core::formats::investigation::evidence::{REFUTED, VERIFIED};

use super::Workspace;
use super::quote::folded;

/// The longest that git may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Commits shown at most.
const COMMITS_MAX: u32 = 50;
/// Commits shown unless more are asked for.
const COMMITS_DEFAULT: u32 = 10;
/// Lines blamed at most.
const LINES_MAX: u32 = 100;

/// Returns the latest commits, of a path where one is given.
pub(super) async fn log(
    workspace: &Workspace,
    path: Option<&str>,
    count: Option<u32>,
) -> anyhow::Result<String> {
    let path = path.unwrap_or(".");
    workspace.inside(path)?;
    let count = format!("-n{}", count.unwrap_or(COMMITS_DEFAULT).clamp(1, COMMITS_MAX));
    let form = "--format=%h %as %an: %s";
    run(workspace, &["log", &count, form, "--no-show-signature", "--no-ext-diff", "--", path]).await
}

/// Returns who last changed lines of a file, and in which commit.
pub(super) async fn blame(
    workspace: &Workspace,
    path: &str,
    from: u32,
    to: Option<u32>,
) -> anyhow::Result<String> {
    workspace.inside(path)?;
    let from = from.max(1);
    let to = to.unwrap_or(from.saturating_add(19)).clamp(from, from.saturating_add(LINES_MAX - 1));
    let lines = format!("-L{from},{to}");
    run(workspace, &["blame", &lines, "--date=short", "--", path]).await
}

/// Says whether there is a commit, and whether words stand in its message or its changes, white space aside.
///
/// # Errors
/// It is not named by hexadecimal digits, or git cannot tell.
pub(super) async fn check(workspace: &Workspace, commit: &str, quote: &str) -> anyhow::Result<String> {
    ensure!(!commit.is_empty() && commit.chars().all(|c| c.is_ascii_hexdigit()), "that names no commit");
    // The whole repository is asked for, so that "no such commit" is not "no repository".
    run(workspace, &["rev-parse", "--git-dir"]).await?;
    let found = format!("{commit}^{{commit}}");
    if run(workspace, &["rev-parse", "--verify", "--quiet", &found]).await.is_err() {
        return Ok(format!("{REFUTED}: there is no commit {commit}"));
    }
    let wanted = folded(quote);
    if wanted.is_empty() {
        return Ok(format!("{VERIFIED}: there is a commit {commit}"));
    }
    let form = ["--no-show-signature", "--no-ext-diff", "--no-textconv", "--format=%B"];
    let shown = run(workspace, &[&["show"][..], &form, &[commit, "--"]].concat()).await?;
    // What a line of a change begins with, `+`, `-` or a blank, is none of its words.
    let plain = shown.lines().map(|line| folded(line.strip_prefix(['+', '-']).unwrap_or(line)));
    let plain = plain.collect::<Vec<_>>().join(" ");
    Ok(if plain.contains(&wanted) || folded(&shown).contains(&wanted) {
        format!("{VERIFIED}: it stands in commit {commit}")
    } else {
        format!("{REFUTED}: these words do not stand in commit {commit}")
    })
}

async fn run(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<String> {
    let root = workspace.root();
    let mut git = Command::new("git");
    // Whatever the machine or the repository configures to be run is not run.
    let settings = [
        "core.fsmonitor=false",
        "core.pager=cat",
        "log.showSignature=false",
        "core.attributesFile=/dev/null",
    ];
    git.arg("--no-pager").arg("--literal-pathspecs").arg("--no-optional-locks");
    for setting in settings {
        git.args(["-c", setting]);
    }
    git.args(arguments).current_dir(root).stdin(Stdio::null()).kill_on_drop(true);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("GIT_")) {
        git.env_remove(name);
    }
    git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_TERMINAL_PROMPT", "0");
    // The repository is this folder's own, not one that it happens to lie in.
    git.env("GIT_CEILING_DIRECTORIES", root.parent().unwrap_or(root));
    let output =
        timeout(PATIENCE, git.output()).await.context("git took too long")?.context("cannot run git")?;
    if !output.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(!text.trim().is_empty(), "git has nothing to say of it");
    Ok(text)
}

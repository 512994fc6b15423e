//! A folder in which investigators may look things up: read a file, search, log and blame of git, compare a quotation
//! (rule I10). Nothing is ever written, and nothing outside of the folder is read.

mod git;
mod path;
mod quote;
mod reading;
mod tool;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use debate_core::formats::accept::AcceptedRequest;
use debate_core::formats::investigation::evidence::CHECK_TOOL;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::exit::Failure;

/// The longest result of a tool, in characters.
const RESULT_CHARS_MAX: usize = 8_000;
/// The longest that is looked on a thread, and that git may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// A folder that tools may look into.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    /// Without links in it.
    root: PathBuf,
    /// How long is looked on a thread.
    patience: Duration,
}

/// Fails if the caller no longer waits for the result, or if the tool takes too long.
type Awaited<'a> = dyn Fn() -> anyhow::Result<()> + 'a;

/// What [`Workspace::read_file`] and [`git::blame`] are asked.
#[derive(Debug, Deserialize)]
struct Lines {
    path: String,
    #[serde(default = "one")]
    from: u32,
    to: Option<u32>,
}

/// What a search is asked.
#[derive(Debug, Deserialize)]
struct Search {
    text: String,
    path: Option<String>,
}

/// What a log is asked.
#[derive(Debug, Deserialize)]
struct Log {
    path: Option<String>,
    count: Option<u32>,
}

/// What a check is asked.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Quote {
    File { path: String, line: u32, quote: String },
    Commit { commit: String, quote: String },
}

fn one() -> u32 {
    1
}

impl Workspace {
    /// Opens a folder.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn open(folder: &Path) -> anyhow::Result<Self> {
        let root = folder.canonicalize().map_err(|error| {
            Failure::bad_input(format!("cannot open the workspace {}: {error}", folder.display()))
        })?;
        if !root.is_dir() {
            return Err(Failure::bad_input(format!("the workspace {} is no folder", folder.display())));
        }
        Ok(Self { root, patience: PATIENCE })
    }

    /// Runs a tool.
    ///
    /// # Errors
    /// There is no such tool, its arguments are not what it takes, or it may not, or cannot, look there.
    async fn run(self: &Arc<Self>, name: &str, arguments: &str) -> anyhow::Result<String> {
        match name {
            "read_file" => {
                let Lines { path, from, to } = read(arguments)?;
                self.blocking(move |workspace, _| workspace.read_file(&path, from, to)).await
            }
            "search" => {
                let Search { text, path } = read(arguments)?;
                let tracked = git::tracked(self).await.ok();
                self.blocking(move |workspace, awaited| {
                    workspace.search(&text, path.as_deref(), tracked, awaited)
                })
                .await
            }
            CHECK_TOOL => match read(arguments)? {
                Quote::File { path, line, quote } => {
                    self.blocking(move |workspace, awaited| workspace.check(&path, line, &quote, awaited))
                        .await
                }
                Quote::Commit { commit, quote } => git::check(self, &commit, &quote).await,
            },
            "git_log" => {
                let Log { path, count } = read(arguments)?;
                git::log(self, path.as_deref(), count).await
            }
            "git_blame" => {
                let Lines { path, from, to } = read(arguments)?;
                git::blame(self, &path, from, to).await
            }
            _ => anyhow::bail!("there is no tool of this name"),
        }
    }

    /// Looks on a thread for what blocks, which no timeout ends: so it asks whether it is still awaited.
    async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self, &Awaited<'_>) -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let (workspace, patience, since) = (Arc::clone(self), self.patience, Instant::now());
        let waiting = Arc::new(());
        let waits = Arc::downgrade(&waiting);
        let awaited = move || {
            anyhow::ensure!(waits.strong_count() > 0, "the caller no longer waits for the result");
            anyhow::ensure!(since.elapsed() < patience, "it took too long");
            Ok(())
        };
        tokio::task::spawn_blocking(move || look(&workspace, &awaited)).await.context("the tool broke off")?
    }
}

fn read<T: DeserializeOwned>(arguments: &str) -> anyhow::Result<T> {
    serde_json::from_str(arguments).context("its arguments do not fit")
}

fn clipped(text: &str) -> String {
    match text.char_indices().nth(RESULT_CHARS_MAX) {
        Some((end, _)) => format!("{}\n… cut at {RESULT_CHARS_MAX} characters", &text[..end]),
        None => text.to_owned(),
    }
}

/// Tells an investigation whether there is a workspace, so that its log says so.
pub(crate) fn admit(request: &mut AcceptedRequest, workspace: Option<&Path>) {
    if let AcceptedRequest::Investigation(accepted) = request {
        accepted.config.workspace = workspace.is_some();
    }
}

#[cfg(test)]
mod bounds_tests;
#[cfg(test)]
mod tests;

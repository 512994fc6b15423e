//! Log, blame and commits of git, read-only.
//!
//! A repository configures what git runs and where it reads: drivers of differences, filters, hooks, a working tree
//! elsewhere, objects that are fetched when asked for. None of that may come from a folder that only is to be looked at. So
//! git never sees the repository's own folder: it works in an empty one of ours, whose head is the commit that the
//! workspace's head names, with the workspace's objects, and without its configuration, index, references and hooks.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, copy, sink};
use tokio::process::Command;
use tokio::time::timeout;
use tokio::try_join;

use debate_core::formats::investigation::evidence::{REFUTED, VERIFIED};

use super::quote::{folded, joined};
use super::{Awaited, PATIENCE, Workspace};

/// The most that is read of a commit, a log or who changed lines, in bytes: a little of a repository unpacks to much.
const SAID_BYTES_MAX: u64 = 4 << 20;
/// The most that is read of the names of all files, in bytes.
const NAMES_BYTES_MAX: u64 = 16 << 20;
/// The tree without entries, which git knows in every repository of its first format and ignores in others.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
/// The most that is kept of what git says is wrong, in bytes.
const ERRORS_BYTES_MAX: u64 = 4 << 10;
/// Commits shown at most.
const COMMITS_MAX: u32 = 50;
/// Commits shown unless more are asked for.
const COMMITS_DEFAULT: u32 = 10;
/// Lines blamed at most.
const LINES_MAX: u32 = 100;
/// How often a reference may name another one.
const REFERENCES_MAX: usize = 5;
/// The largest of git's own files that is read, in bytes: references of a very large repository.
const OWN_BYTES_MAX: u64 = 64 << 20;
/// The hexadecimal digits of a commit by SHA-1 and by SHA-256.
const DIGITS: [usize; 2] = [40, 64];

/// Returns the latest commits, of a path where one is given.
pub(super) async fn log(
    workspace: &Arc<Workspace>,
    path: Option<&str>,
    count: Option<u32>,
) -> anyhow::Result<String> {
    let path = path.unwrap_or(".");
    workspace.inside(path)?;
    let count = format!("-n{}", count.unwrap_or(COMMITS_DEFAULT).clamp(1, COMMITS_MAX));
    said(workspace, &["log", &count, "--format=%h %as %an: %s", "--", path]).await
}

/// Returns who last changed lines of a file, and in which commit, as of the last commit.
pub(super) async fn blame(
    workspace: &Arc<Workspace>,
    path: &str,
    from: u32,
    to: Option<u32>,
) -> anyhow::Result<String> {
    workspace.inside(path)?;
    let from = from.max(1);
    let to = to.unwrap_or(from.saturating_add(19)).clamp(from, from.saturating_add(LINES_MAX - 1));
    let lines = format!("-L{from},{to}");
    said(workspace, &["blame", "--no-textconv", &lines, "--date=short", "HEAD", "--", path]).await
}

/// Says whether there is a commit, and whether words stand in its message or its changes, white space aside.
///
/// # Errors
/// It is not named by hexadecimal digits, has more than is read, or git cannot tell.
pub(super) async fn check(workspace: &Arc<Workspace>, commit: &str, quote: &str) -> anyhow::Result<String> {
    ensure!(!commit.is_empty() && commit.chars().all(|c| c.is_ascii_hexdigit()), "that names no commit");
    let shadow = Shadow::of(workspace).await?;
    let named = format!("{commit}^{{commit}}");
    let found = shadow.run(&["rev-parse", "--verify", "--quiet", &named], SAID_BYTES_MAX).await;
    if found.as_ref().is_err_and(anyhow::Error::is::<Failed>) {
        return Ok(format!("{REFUTED}: there is no commit {commit}"));
    }
    found?;
    let wanted = folded(quote);
    if wanted.is_empty() {
        return Ok(format!("{VERIFIED}: there is a commit {commit}"));
    }
    let shown = shadow.run(&["show", "--no-textconv", "--format=%B", commit, "--"], SAID_BYTES_MAX).await?;
    // What a line of a change begins with, `+`, `-` or a blank, is none of its words.
    let plain = shown.lines().map(|line| line.strip_prefix(['+', '-']).unwrap_or(line));
    let plain = joined(plain.flat_map(str::split_whitespace));
    Ok(if plain.contains(&wanted) || folded(&shown).contains(&wanted) {
        format!("{VERIFIED}: it stands in commit {commit}")
    } else {
        format!("{REFUTED}: these words do not stand in commit {commit}")
    })
}

/// Returns the files of the last commit, relative to the workspace.
///
/// # Errors
/// The workspace is no repository that may be read, or there is no end of its names.
pub(super) async fn tracked(workspace: &Arc<Workspace>) -> anyhow::Result<Vec<PathBuf>> {
    let listing = ["ls-tree", "-r", "-z", "--name-only", "HEAD"];
    let listed = Shadow::of(workspace).await?.run(&listing, NAMES_BYTES_MAX).await?;
    Ok(listed.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

async fn said(workspace: &Arc<Workspace>, arguments: &[&str]) -> anyhow::Result<String> {
    let text = Shadow::of(workspace).await?.run(arguments, SAID_BYTES_MAX).await?;
    ensure!(!text.trim().is_empty(), "git has nothing to say of it");
    Ok(text)
}

/// Git ran and found nothing, or could not do what it was asked to.
#[derive(Debug, thiserror::Error)]
#[error("git: {0}")]
struct Failed(String);

/// A repository of ours over the objects of the workspace's.
struct Shadow<'a> {
    workspace: &'a Workspace,
    folder: TempDir,
    objects: PathBuf,
}

impl<'a> Shadow<'a> {
    /// Makes one.
    ///
    /// # Errors
    /// The workspace is no repository, parts of its repository lie elsewhere, or looking through it takes too long.
    async fn of(workspace: &'a Arc<Workspace>) -> anyhow::Result<Self> {
        let making = workspace.blocking(|workspace, awaited| made(&workspace.root().join(".git"), awaited));
        let (folder, objects) = making.await?;
        Ok(Self { workspace, folder, objects })
    }

    /// Returns what git says, unless that has more than so many bytes: then git is ended.
    async fn run(&self, arguments: &[&str], bytes_max: u64) -> anyhow::Result<String> {
        let program = program(&std::env::var_os("PATH").unwrap_or_default(), self.workspace.root())?;
        let mut git = self.git(&program, arguments).spawn().context("cannot run git")?;
        let pipes = git.stdout.take().zip(git.stderr.take());
        let (stdout, stderr) = pipes.context("git has no pipes")?;
        let heard =
            async { try_join!(all(stdout, bytes_max), beginning(stderr), async { Ok(git.wait().await?) }) };
        let (said, errors, status) = timeout(PATIENCE, heard).await.context("git took too long")??;
        ensure!(status.success(), Failed(errors.trim().to_owned()));
        Ok(said)
    }

    fn git(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut git = Command::new(program);
        git.args(["--no-pager", "--literal-pathspecs", "--no-optional-locks", "--no-replace-objects"]);
        git.args(arguments).current_dir(self.workspace.root()).stdin(Stdio::null()).kill_on_drop(true);
        // What it would be given otherwise may lead it elsewhere, and holds the keys of providers.
        git.env_clear();
        git.env("GIT_DIR", self.folder.path()).env("GIT_OBJECT_DIRECTORY", &self.objects);
        // The workspace may be somebody's home, where git looks for configuration and attributes.
        git.env("HOME", self.folder.path());
        git.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0");
        git.stdout(Stdio::piped()).stderr(Stdio::piped());
        git
    }
}

/// Returns where git is, which is not in the workspace: the system would look for it there where a folder in which programs are
/// looked for is given from where one is, or lies in the workspace.
///
/// # Errors
/// It is nowhere else.
fn program(folders: &OsStr, root: &Path) -> anyhow::Result<PathBuf> {
    let name = format!("git{}", std::env::consts::EXE_SUFFIX);
    let absolute = std::env::split_paths(folders).filter(|folder| folder.is_absolute());
    let mut programs = absolute.filter_map(|folder| Some(folder.canonicalize().ok()?.join(&name)));
    let is_elsewhere = |program: &PathBuf| {
        let real = program.canonicalize();
        !program.starts_with(root) && real.is_ok_and(|real| real.is_file() && !real.starts_with(root))
    };
    programs.find(is_elsewhere).context("there is no git outside of the workspace")
}

/// Makes a repository over the objects of another one; returns its folder, and that of the objects.
fn made(git: &Path, awaited: &Awaited<'_>) -> anyhow::Result<(TempDir, PathBuf)> {
    ensure!(git.symlink_metadata().is_ok(), "the workspace is no repository of git");
    let objects = git.join("objects");
    ensure!(is_own(&objects) && objects.is_dir(), "refused: the repository lies elsewhere");
    ensure!(!git.join("commondir").exists(), "refused: the repository shares another one's folder");
    for alternates in ["info/alternates", "info/http-alternates"] {
        ensure!(!objects.join(alternates).exists(), "refused: the repository borrows from another one");
    }
    ensure!(!has_links(&objects, awaited)?, "refused: objects of the repository lie elsewhere");
    let head = head(git)?;
    let folder = tempfile::tempdir().context("cannot make a folder for git")?;
    let inside = |name: &str| folder.path().join(name);
    fs::create_dir(inside("refs"))?;
    fs::create_dir(inside("objects"))?;
    fs::write(inside("HEAD"), format!("{head}\n"))?;
    let format = if head.len() == DIGITS[0] { "" } else { "[extensions]\nobjectFormat = sha256\n" };
    // Git 2.43 to 2.45 would read attributes from HEAD in a repository without a working tree; this tree has none.
    let attributes = format!("[attr]\ntree = {EMPTY_TREE}\n");
    // An index of all packs may name packs that lie elsewhere.
    let core = "[core]\nrepositoryFormatVersion = 1\nbare = true\nmultiPackIndex = false\n";
    let config = format!("{core}{format}{attributes}");
    fs::write(inside("config"), config)?;
    if let Some(shallow) = text_of(&git.join("shallow")) {
        fs::write(inside("shallow"), shallow)?;
    }
    Ok((folder, objects))
}

/// Reads all that comes, or fails where it has more than so many bytes.
async fn all(pipe: impl AsyncRead + Unpin, bytes_max: u64) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    pipe.take(bytes_max + 1).read_to_end(&mut bytes).await?;
    ensure!(
        bytes.len() as u64 <= bytes_max,
        "git has more than {bytes_max} bytes to say of it, which is more than is read"
    );
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Keeps the beginning of what comes, and reads the rest.
async fn beginning(mut pipe: impl AsyncRead + Unpin) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    (&mut pipe).take(ERRORS_BYTES_MAX).read_to_end(&mut bytes).await?;
    copy(&mut pipe, &mut sink()).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns whether a path below the workspace, which has no links itself, is reached without any.
fn is_own(path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| real == path)
}

/// Reads one of git's own files, which is no link and no pipe, for that would never end, and of bounded size.
fn text_of(path: &Path) -> Option<String> {
    let about = path.symlink_metadata().ok()?;
    let is_read = is_own(path) && about.is_file() && about.len() <= OWN_BYTES_MAX;
    is_read.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Returns whether anything below a folder is a link. However deep it is, one folder is open at a time.
///
/// # Errors
/// The folder cannot be listed, or the caller no longer waits for the result.
fn has_links(folder: &Path, awaited: &Awaited<'_>) -> anyhow::Result<bool> {
    let mut left = vec![folder.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(folder)? {
            awaited()?;
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                return Ok(true);
            }
            if kind.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(false)
}

/// Returns the commit that the head of a repository names.
fn head(git: &Path) -> anyhow::Result<String> {
    let mut name = "HEAD".to_owned();
    for _ in 0..REFERENCES_MAX {
        let is_plain = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
        ensure!(is_plain && !name.contains('\0'), "refused: {name} is no reference");
        let found = text_of(&git.join(&name)).map(|text| text.trim().to_owned());
        let found = found.or_else(|| packed(git, &name)).context("the repository has no commit")?;
        match found.strip_prefix("ref:") {
            Some(next) => name = next.trim().to_owned(),
            None => {
                let is_commit = DIGITS.contains(&found.len()) && found.chars().all(|c| c.is_ascii_hexdigit());
                ensure!(is_commit, "the head of the repository names no commit");
                return Ok(found);
            }
        }
    }
    bail!("the head of the repository names no commit")
}

fn packed(git: &Path, wanted: &str) -> Option<String> {
    let packed = text_of(&git.join("packed-refs"))?;
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, name)| *name == wanted).map(|(commit, _)| commit.to_owned())
}

#[cfg(test)]
mod environment_tests;
#[cfg(test)]
mod tests;

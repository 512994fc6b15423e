//! The folder of checkpoints, outside of the store: `leaves`, a text that only grows, and one signed note for every
//! checkpoint, `checkpoint-SIZE`. The folder is written to in an order in which a crash loses nothing that was signed:
//! leaves first, then the note. Leaves behind those that the latest note signs were never signed and are written anew.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use debate_proof::checkpoint::Checkpoint;
use debate_proof::leaves::{Leaves, LeavesError};

use crate::bounded;
use crate::exit::Failure;
use crate::plain::one_line;

const LEAVES: &str = "leaves";
const NOTE: &str = "checkpoint-";

/// A folder that this process alone writes to.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    leaves: File,
}

impl Folder {
    /// Opens a folder for writing; it is made where there is none.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let cannot = |error: io::Error| Failure::bad_input(format!("cannot use {}: {error}", path.display()));
        fs::create_dir_all(path).map_err(cannot)?;
        let leaves = readable()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path.join(LEAVES))
            .map_err(cannot)?;
        if leaves.try_lock().is_err() {
            let path = path.display();
            return Err(Failure::unavailable(format!("another process is writing a checkpoint into {path}")));
        }
        Ok(Self { path: path.to_owned(), leaves })
    }

    /// Returns the note of the latest checkpoint.
    pub(crate) fn latest(&self) -> anyhow::Result<Option<String>> {
        match latest(&self.path)? {
            Some(path) => Ok(Some(read(&path)?)),
            None => Ok(None),
        }
    }

    /// Writes a checkpoint, behind the leaves that were signed before; returns the note's path.
    pub(crate) fn write(&mut self, leaves: &Leaves, signed: u64, note: &str) -> anyhow::Result<PathBuf> {
        let signed = leaves.first(signed).context("there are fewer leaves than were signed")?;
        let (before, text) = (signed.to_string().len(), leaves.to_string());
        self.leaves.set_len(before as u64)?;
        self.leaves.seek(SeekFrom::End(0))?;
        self.leaves.write_all(&text.as_bytes()[before..])?;
        self.leaves.sync_all()?;
        let path = self.path.join(format!("{NOTE}{:012}", leaves.len()));
        let draft = self.path.join("checkpoint.new");
        let mut file = readable().write(true).create(true).truncate(true).open(&draft)?;
        file.write_all(note.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, &path)?;
        // The new name is safe once the folder is; only Unix lets a folder be synced.
        if cfg!(unix) {
            File::open(&self.path)?.sync_all()?;
        }
        Ok(path)
    }
}

/// Returns how a file is opened that everybody may read and its owner alone write, whatever new files are elsewhere.
fn readable() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    options
}

/// Reads a note: the file itself, or the latest in a folder.
pub(crate) fn note(path: &Path) -> anyhow::Result<String> {
    if !path.is_dir() {
        return read(path);
    }
    let latest = latest(path)?;
    read(&latest.ok_or_else(|| Failure::bad_input(format!("{} has no checkpoint in it", path.display())))?)
}

/// Reads the leaves that a checkpoint is over: a file, or those in the folder of the note.
pub(crate) fn leaves(note: &Path, leaves: Option<&Path>, size: u64) -> anyhow::Result<Leaves> {
    let folder = if note.is_dir() { note } else { note.parent().unwrap_or(note) };
    let path = leaves.map_or_else(|| folder.join(LEAVES), Path::to_owned);
    parse(&path, size)
}

/// Reads the first leaves of a file; there may be fewer.
fn parse(path: &Path, size: u64) -> anyhow::Result<Leaves> {
    let text = read(path)?;
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let signed: String = text.split_inclusive('\n').take(size).collect();
    let bad =
        |error: LeavesError| Failure::fault(format!("{}: {}", path.display(), one_line(&error.to_string())));
    Leaves::parse(&signed).map_err(bad)
}

/// Says in which way leaves are not those that a checkpoint is over.
pub(crate) fn mismatch(leaves: &Leaves, checkpoint: &Checkpoint) -> Option<String> {
    let (found, signed) = (leaves.len() as u64, checkpoint.size);
    if found < signed {
        return Some(format!("{signed} leaves were signed, only {found} are there"));
    }
    let is_same = leaves.root() == checkpoint.root;
    (!is_same).then(|| format!("the {signed} leaves are not those that were signed"))
}

fn latest(folder: &Path) -> anyhow::Result<Option<PathBuf>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| Failure::bad_input(format!("cannot list {}: {error}", folder.display())))?;
    let mut latest = None;
    for entry in entries {
        let name = entry?.file_name();
        let size = name.to_str().and_then(|name| name.strip_prefix(NOTE)?.parse::<u64>().ok());
        latest = latest.max(size.map(|size| (size, folder.join(name))));
    }
    Ok(latest.map(|(_, path)| path))
}

fn read(path: &Path) -> anyhow::Result<String> {
    bounded::text(path, bounded::TEXT_BYTES_MAX)
}

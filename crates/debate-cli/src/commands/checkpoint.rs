//! `debate checkpoint`: signs what the store holds.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::PathBuf;

use debate_core::counted::counted;
use debate_core::envelope::StreamId;
use debate_proof::checkpoint::Checkpoint as Signed;
use debate_proof::key::SigningKey;
use debate_proof::leaf::Leaf;
use debate_proof::leaves::Leaves;
use debate_store::{EventStore, Head};
use serde_json::json;

use super::print;
use crate::args::Options;
use crate::exit::{End, Failure};
use crate::plain::one_line;
use crate::proof::folder::{self, Folder};
use crate::proof::{archive, keys, streams};
use crate::store;

/// Sign the state of all debates in the store
///
/// Records every debate that has grown since the last checkpoint, and signs the tree over all records. What was added
/// is checked first; where the store contradicts the last checkpoint, the debate is named and nothing is signed. Keep
/// copies of the folder where the store's administrators do not reach: a checkpoint proves what was there before it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate checkpoint --folder proof --key audit.key
  debate checkpoint --folder proof --key audit.key --json | jq -r .checkpoint")]
pub(crate) struct Checkpoint {
    /// Folder of the checkpoints, outside of the store; it is made where there is none
    #[arg(long, env = "DEBATE_PROOF_FOLDER", value_name = "FOLDER")]
    folder: PathBuf,

    /// File of the private key
    #[arg(long, env = "DEBATE_SIGNING_KEY", value_name = "FILE")]
    key: PathBuf,

    /// Folder of the archive, from which archived debates are read
    #[arg(long, env = "DEBATE_ARCHIVE", value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Checkpoint {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let key = keys::signing(&self.key)?;
        let mut folder = Folder::open(&self.folder)?;
        let (leaves, signed) = self.before(&folder, &key)?;
        let store = store::open_to_read(&options.store).await?;
        let store = store.with_archive(self.archive.as_deref());
        let checked = check(&**store.events(), &leaves).await;
        store.close().await;
        let (heads, faults) = checked?;
        if !faults.is_empty() {
            self.refuse(&faults)?;
            return Ok(End::Fault);
        }
        let grown = grow(leaves, &heads)?;
        self.tell(&mut folder, &grown, signed, &key)
    }

    /// Reads the leaves that the latest checkpoint signs, and how many there are; `None` before the first one.
    fn before(&self, folder: &Folder, key: &SigningKey) -> anyhow::Result<(Leaves, Option<u64>)> {
        let Some(note) = folder.latest()? else { return Ok((Leaves::default(), None)) };
        let name = self.folder.display();
        let wrong =
            |why: String| Failure::fault(format!("the latest checkpoint in {name} does not hold: {why}"));
        let latest = Signed::open(&note, key.verifier()).map_err(|error| wrong(error.to_string()))?;
        let leaves = folder::leaves(&self.folder, None, latest.size)?;
        match folder::mismatch(&leaves, &latest) {
            Some(why) => Err(wrong(why)),
            None => Ok((leaves, Some(latest.size))),
        }
    }

    fn refuse(&self, faults: &[(StreamId, streams::StreamFault)]) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        if self.json {
            let faults = faults.iter().map(|(stream, fault)| {
                json!({ "stream": stream.to_string(), "fault": one_line(&fault.to_string()) })
            });
            let refusal = json!({ "ok": false, "faults": faults.collect::<Vec<_>>() });
            return Ok(writeln!(stdout, "{refusal}")?);
        }
        for (stream, fault) in faults {
            writeln!(stdout, "FAULT  {stream}  {}", one_line(&fault.to_string()))?;
        }
        Ok(writeln!(stdout, "nothing was signed: the store contradicts the last checkpoint")?)
    }

    fn tell(
        &self,
        folder: &mut Folder,
        leaves: &Leaves,
        signed: Option<u64>,
        key: &SigningKey,
    ) -> anyhow::Result<End> {
        let (size, streams) = (leaves.len() as u64, leaves.streams().count());
        let new = size - signed.unwrap_or(0);
        let path = match signed {
            Some(_) if new == 0 => None,
            Some(_) | None => Some(folder.write(leaves, signed.unwrap_or(0), &Signed::sign(leaves, key))?),
        };
        let path = path.map(|path| path.display().to_string());
        print(&if self.json {
            let root = leaves.root().to_string();
            let object = json!({
                "ok": true, "checkpoint": path, "size": size, "root": root, "new": new, "streams": streams
            });
            format!("{object}\n")
        } else {
            let debates = counted(streams, "debate", "debates");
            match path {
                Some(path) => format!("{path}: {debates}, {new} new or longer\n"),
                None => format!("nothing is new since the last checkpoint; it holds for {debates}\n"),
            }
        })?;
        Ok(End::Done)
    }
}

type Checked = (BTreeMap<StreamId, Head>, Vec<(StreamId, streams::StreamFault)>);

/// Checks every stream against its latest leaf.
async fn check(store: &dyn EventStore, leaves: &Leaves) -> anyhow::Result<Checked> {
    let heads = streams::heads(store).await?;
    let mut faults = Vec::new();
    let archived = archive::all(store).await?;
    let gone = archived.keys().filter(|stream| !heads.contains_key(stream)).copied();
    let all: BTreeSet<StreamId> = heads.keys().copied().chain(gone).chain(leaves.streams()).collect();
    for stream in all {
        if let Some(archived) = archived.get(&stream).filter(|_| !heads.contains_key(&stream)) {
            // The archive is not read here, so the latest leaf must be the end of the archived stream.
            let is_end = |leaf: &Leaf| (leaf.seq, leaf.hash) == (archived.head.seq, archived.head.hash);
            if !leaves.latest(stream).is_some_and(is_end) {
                faults.push((stream, streams::StreamFault::Archived(archived.bundle.clone())));
            }
            continue;
        }
        let head = heads.get(&stream).copied();
        if let Err(fault) = streams::check_growth(store, stream, head, leaves.latest(stream)).await? {
            faults.push((stream, fault));
        }
    }
    Ok((heads, faults))
}

/// Adds a leaf for every stream that has grown, in the order of streams.
fn grow(mut leaves: Leaves, heads: &BTreeMap<StreamId, Head>) -> anyhow::Result<Leaves> {
    for (stream, head) in heads {
        if leaves.latest(*stream).is_none_or(|latest| latest.seq < head.seq) {
            leaves.push(Leaf { stream: *stream, seq: head.seq, hash: head.hash })?;
        }
    }
    Ok(leaves)
}

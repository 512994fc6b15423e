//! `debate export`: debates as a bundle.

use std::path::{Path, PathBuf};

use debate_core::counted::counted;
use debate_core::envelope::StreamId;
use debate_core::id::{DebateId, Digest};
use debate_engine::{LoadError, exported_events, exported_streams};
use debate_proof::bundle::{Consistency, End as BundleEnd, Inclusion, Line, Signed};
use debate_proof::checkpoint::Checkpoint;
use debate_proof::leaves::Leaves;
use debate_proof::tree;
use debate_store::{Archived, EventStore};

use super::print;
use crate::args::Options;
use crate::debate_ref::DebateRef;
use crate::exit::{End, Failure};
use crate::proof::bundle_file::BundleWriter;
use crate::proof::{archive, folder, streams};
use crate::store;

/// Write debates into a bundle with their proofs
///
/// A bundle can be verified on a machine that has neither the store nor a network, by `debate verify --bundle` or by
/// another program; its format is specified. A fork brings the debates that it was forked from. With a checkpoint it carries the proof that its debates are under it; a
/// bundle of all debates shows also that none is missing. Words that were redacted are not in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate export 6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a --output debate.bundle
  debate export --all --checkpoint proof --output all.bundle
  debate export --all --checkpoint proof --since seen-in-march --output all.bundle")]
pub(crate) struct Export {
    /// Which debate: its id, the beginning of its id, @ for the newest, or the address of its page
    #[arg(value_name = "ID", required_unless_present = "all", conflicts_with = "all")]
    id: Option<DebateRef>,

    /// Every debate of the store
    #[arg(long)]
    all: bool,

    /// Where to write the bundle: JSON lines, compressed with gzip
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Folder of the archive, from which archived debates are read
    #[arg(long, env = "DEBATE_ARCHIVE", value_name = "FOLDER")]
    archive: Option<PathBuf>,

    /// The checkpoint that proves the debates: a folder of checkpoints, for its latest, or a file
    #[arg(long, value_name = "PATH")]
    checkpoint: Option<PathBuf>,

    /// File of the leaves that the checkpoint covers; by default next to the checkpoint
    #[arg(long, value_name = "FILE", requires = "checkpoint")]
    leaves: Option<PathBuf>,

    /// An older checkpoint that the reader has: the bundle then proves that it is continued
    #[arg(long, value_name = "PATH", requires = "checkpoint")]
    since: Option<PathBuf>,
}

/// What proves the debates.
struct Proof {
    signed: Signed,
    leaves: Leaves,
    hashes: Vec<Digest>,
}

impl Export {
    /// Carries out the command.
    pub(crate) async fn run(&self, options: &Options) -> anyhow::Result<End> {
        let proof = self.proof()?;
        let store = store::open_to_read(&options.store).await?;
        let store = store.with_archive(self.archive.as_deref());
        let exported = self.export(&**store.events(), proof.as_ref()).await;
        store.close().await;
        let BundleEnd { streams, events } = exported?;
        let path = self.output.display();
        let how = if proof.is_some() { "" } else { "; not signed, as there is no --checkpoint" };
        let debates = counted(streams, "debate", "debates");
        let events = counted(events, "event", "events");
        print(&format!("{path}: {debates}, {events}{how}\n"))?;
        Ok(End::Done)
    }

    fn proof(&self) -> anyhow::Result<Option<Proof>> {
        let Some(path) = &self.checkpoint else { return Ok(None) };
        let note = folder::note(path)?;
        let bad = |path: &PathBuf, why: String| {
            Failure::bad_input(format!("{} is no checkpoint to use: {why}", path.display()))
        };
        let read =
            |path, note: &str| Checkpoint::read_unchecked(note).map_err(|error| bad(path, error.to_string()));
        let checkpoint = read(path, &note)?;
        let leaves = folder::leaves(path, self.leaves.as_deref(), checkpoint.size)?;
        if let Some(why) = folder::mismatch(&leaves, &checkpoint) {
            return Err(Failure::fault(why));
        }
        let hashes = leaves.tree_hashes();
        let since = match &self.since {
            Some(path) => {
                let older = read(path, &folder::note(path)?)?;
                let size = usize::try_from(older.size).unwrap_or(usize::MAX);
                let proof = tree::consistency_proof(&hashes, size);
                let proof = proof.filter(|_| tree::root(&hashes[..size]) == older.root);
                let why = || "the checkpoint to export does not continue it".to_owned();
                Some(Consistency { size: older.size, proof: proof.ok_or_else(|| bad(path, why()))? })
            }
            None => None,
        };
        Ok(Some(Proof { signed: Signed { note, since }, leaves, hashes }))
    }

    async fn export(&self, store: &dyn EventStore, proof: Option<&Proof>) -> anyhow::Result<BundleEnd> {
        let all: Vec<StreamId> = match &self.id {
            Some(id) => exported_streams(store, id.find(store).await?.into()).await?,
            None => self.everything(store).await?,
        };
        Bundling { store, proof, whole: self.all }.write(&all, &self.output).await
    }

    async fn everything(&self, store: &dyn EventStore) -> anyhow::Result<Vec<StreamId>> {
        if self.archive.is_none() {
            let archived = archive::all(store).await?.len();
            if archived > 0 {
                let debates = counted(archived, "debate is", "debates are");
                let why = format!("{debates} archived; give --archive, or export debates one by one");
                return Err(Failure::bad_input(why));
            }
        }
        Ok(streams::heads(store).await?.into_keys().collect())
    }
}

/// Writes the bundle of one debate, with those that it was forked from.
pub(super) async fn one(store: &dyn EventStore, stream: StreamId, path: &Path) -> anyhow::Result<BundleEnd> {
    let all = exported_streams(store, stream).await?;
    Bundling { store, proof: None, whole: false }.write(&all, path).await
}

/// What goes into a bundle.
struct Bundling<'a> {
    store: &'a dyn EventStore,
    proof: Option<&'a Proof>,
    whole: bool,
}

impl Bundling<'_> {
    /// Writes a bundle, whole or not at all.
    async fn write(&self, all: &[StreamId], path: &Path) -> anyhow::Result<BundleEnd> {
        let mut bundle = BundleWriter::create(path)?;
        match self.fill(all, &mut bundle).await {
            Ok(end) => {
                bundle.finish()?;
                Ok(end)
            }
            Err(error) => {
                bundle.discard();
                Err(error)
            }
        }
    }

    async fn fill(&self, all: &[StreamId], bundle: &mut BundleWriter) -> anyhow::Result<BundleEnd> {
        let Self { store, proof, whole } = *self;
        bundle.write(&Line::start(whole))?;
        if let Some(proof) = proof {
            bundle.write(&Line::Checkpoint(proof.signed.clone()))?;
            for leaf in proof.leaves.as_slice().iter().filter(|_| whole) {
                bundle.write(&Line::Leaf(leaf.to_string()))?;
            }
        }
        let mut end = BundleEnd { streams: 0, events: 0 };
        for &stream in all {
            let events = exported_events(store, stream).await?;
            if events.is_empty() {
                return Err(missing(store, stream).await?);
            }
            let inclusion = proof.filter(|_| !whole).and_then(|proof| proof.of(stream));
            if proof.is_some() && !whole && inclusion.is_none() {
                let why = format!("{stream} is not under that checkpoint yet; make a new one first");
                return Err(Failure::bad_input(why));
            }
            bundle.write(&Line::opened(stream, store.request_of(stream).await?, inclusion))?;
            for event in &events {
                bundle.write(&Line::Event(event.into()))?;
            }
            end = BundleEnd { streams: end.streams + 1, events: end.events + events.len() as u64 };
        }
        bundle.write(&Line::End(end.clone()))?;
        Ok(end)
    }
}

/// Returns why a stream has no events: it is archived, or there is none.
async fn missing(store: &dyn EventStore, stream: StreamId) -> anyhow::Result<anyhow::Error> {
    let debate = DebateId(stream.id);
    Ok(match store.find_archived(stream).await? {
        Some(Archived { bundle, .. }) => LoadError::Archived { debate, bundle },
        None => LoadError::NotFound(debate),
    }
    .into())
}

impl Proof {
    /// Returns the proof of a stream's latest leaf; none where it has no leaf yet.
    fn of(&self, stream: StreamId) -> Option<Inclusion> {
        let place = self.leaves.place(stream)?;
        Some(Inclusion {
            leaf: self.leaves.latest(stream)?.to_string(),
            index: place as u64,
            proof: tree::inclusion_proof(&self.hashes, place)?,
        })
    }
}

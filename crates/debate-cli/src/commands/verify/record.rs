//! What a checkpoint says of a store's debates.

use std::io::{self, Write as _};
use std::path::Path;

use debate_core::envelope::StreamId;
use debate_engine::{Fault, Verification};
use debate_proof::checkpoint::Checkpoint;
use debate_proof::key::VerifierKey;
use debate_proof::leaves::Leaves;
use debate_store::{EventStore, ReadError};
use serde_json::json;

use super::Covered;
use crate::exit::Failure;
use crate::plain::one_line;
use crate::proof::{folder, streams};

/// A checkpoint that its key has signed, and the leaves that it is over.
pub(super) struct Record {
    checkpoint: Checkpoint,
    leaves: Leaves,
    fault: Option<String>,
}

impl Record {
    /// Reads a checkpoint, whose signature must be the key's, and its leaves, which may turn out not to be.
    pub(super) fn read(path: &Path, leaves: Option<&Path>, key: &VerifierKey) -> anyhow::Result<Self> {
        let checkpoint = Checkpoint::open(&folder::note(path)?, key)
            .map_err(|error| Failure::fault(format!("{}: {error}", path.display())))?;
        let leaves = folder::leaves(path, leaves, checkpoint.size)?;
        let fault = folder::mismatch(&leaves, &checkpoint);
        Ok(Self { checkpoint, leaves, fault })
    }

    /// Returns what is wrong with the leaves. They are compared with the store all the same, which shows where.
    pub(super) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Returns the leaves.
    pub(super) fn leaves(&self) -> &Leaves {
        &self.leaves
    }

    /// Prints what the checkpoint is.
    pub(super) fn tell(&self, json: bool) -> io::Result<()> {
        let Checkpoint { origin, size, root } = &self.checkpoint;
        let mut stdout = io::stdout().lock();
        if json {
            let ok = self.fault.is_none();
            let mut object =
                json!({ "checkpoint": origin, "ok": ok, "size": size, "root": root.to_string() });
            if let Some(fault) = &self.fault {
                object["fault"] = json!(fault);
            }
            return writeln!(stdout, "{object}");
        }
        let origin = one_line(origin);
        match &self.fault {
            Some(fault) => writeln!(stdout, "FAULT  checkpoint of {origin}: {fault}"),
            None => writeln!(stdout, "ok     checkpoint of {origin}, {size} leaves, root {root}"),
        }
    }

    /// Compares a stream that was checked with its leaves, and records the first difference as its fault.
    pub(super) async fn compare(
        &self,
        store: &dyn EventStore,
        stream: StreamId,
        found: &mut Verification,
    ) -> Result<Covered, ReadError> {
        let leaves = self.leaves.of(stream);
        if found.fault.is_none() {
            let compared = streams::compare_all(store, stream, found.head.0, &leaves).await?;
            found.fault = compared.err().map(|fault| Fault { seq: fault.seq(), why: fault.to_string() });
        }
        // Of leaves that are not those that were signed none is.
        let signed = leaves.last().filter(|_| self.fault.is_none());
        Ok(Covered(signed.map(|leaf| leaf.seq)))
    }
}

//! Checking a bundle: line by line what it proves, and then each of its debates as if it were in a store.

use std::io::{self, Write as _};
use std::path::Path;

use debate_core::chain::ChainCheck;
use debate_core::counted::counted;
use debate_core::envelope::StreamId;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Fault, Verification};
use debate_proof::bundle::{BundleCheck, BundleError, BundleReport};
use debate_proof::checkpoint::Checkpoint;
use debate_proof::key::VerifierKey;
use debate_store::Head;
use serde_json::json;

use super::fold::OneByOne;
use super::forks::Forks;
use super::{Covered, stream_name, tell};
use crate::exit::Failure;
use crate::plain::one_line;
use crate::proof::bundle_file::BundleLines;
use crate::proof::folder;

/// What checking a bundle found.
#[derive(Debug)]
pub(crate) struct Checked {
    report: BundleReport,
    streams: Vec<(StreamId, Verification, Covered)>,
}

/// Reads an older checkpoint, which must be the key's.
pub(super) fn since(path: &Path, key: &VerifierKey) -> anyhow::Result<Checkpoint> {
    Checkpoint::open(&folder::note(path)?, key)
        .map_err(|error| Failure::fault(format!("{}: {error}", path.display())))
}

/// Checks a bundle. Without a key its checkpoint may be anybody's.
///
/// # Errors
/// The bundle cannot be read to its end.
pub(crate) async fn check(
    path: &Path,
    key: Option<VerifierKey>,
    since: Option<Checkpoint>,
) -> anyhow::Result<Checked> {
    let mut check = BundleCheck::new(key, since);
    let (mut folds, mut forks) = (OneByOne::default(), Forks::default());
    read(path, &mut check, &mut folds, &mut forks).await?;
    let report = check.finish().map_err(|error| unreadable(path, &error))?;
    let mut folds = forks.fold(path, folds).await?;
    let streams = report.streams.iter().map(|stream| {
        let mut found = folds.remove(&stream.stream).unwrap_or_else(|| never_folded(stream.stream));
        (found.events, found.head, found.redacted) = (stream.events, stream.head, stream.redacted);
        if let Some(fault) = &stream.fault {
            found.fault = Some(Fault { seq: fault.seq(), why: fault.to_string() });
        }
        (stream.stream, found, Covered(stream.signed))
    });
    Ok(Checked { streams: streams.collect(), report })
}

/// Reads a bundle line by line: of an event of a fork note is taken, every other one is folded, before the next is read.
///
/// # Errors
/// The bundle cannot be read to its end.
async fn read(
    path: &Path,
    check: &mut BundleCheck,
    folds: &mut OneByOne,
    forks: &mut Forks,
) -> anyhow::Result<()> {
    let mut lines = BundleLines::open(path)?;
    while let Some(line) = lines.next()? {
        let found = check.push(line).map_err(|error| unreadable(path, &error))?;
        if let Some(envelope) = found
            && !forks.note(&envelope, line)
        {
            folds.push(envelope).await?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &BundleError) -> anyhow::Error {
    Failure::fault(format!("{}: {}", path.display(), one_line(&error.to_string())))
}

/// Returns what is known of a debate that was not folded: nothing that could be believed.
fn never_folded(stream: StreamId) -> Verification {
    let nothing = Verification::new(DebateId(stream.id), ChainCheck::new(stream).head());
    let why = "it was not folded".to_owned();
    Verification { fault: Some(Fault { seq: Seq(1), why }), ..nothing }
}

impl Checked {
    /// Returns whether nothing is wrong.
    pub(crate) fn is_sound(&self) -> bool {
        self.report.is_sound() && self.streams.iter().all(|(_, found, _)| found.fault.is_none())
    }

    /// Returns where a debate of the bundle ends.
    pub(crate) fn head(&self, stream: StreamId) -> Option<Head> {
        let (_, found, _) = self.streams.iter().find(|(it, ..)| *it == stream)?;
        Some(Head { seq: found.head.0, hash: found.head.1 })
    }

    /// Returns whether what the checkpoint covers is signed: the key signed it, and it is this bundle's.
    fn is_signed(&self) -> bool {
        self.report.is_signed && self.report.faults.is_empty()
    }

    /// Returns how many debates have events that no signature which was checked covers.
    pub(crate) fn not_wholly_signed(&self) -> usize {
        let is_signed = |found: &Verification, covered: Covered| {
            self.is_signed() && covered.0.is_some_and(|seq| seq >= found.head.0)
        };
        self.streams.iter().filter(|(_, found, covered)| !is_signed(found, *covered)).count()
    }

    /// Prints what was found.
    pub(crate) fn tell(&self, json: bool) -> anyhow::Result<()> {
        self.tell_checkpoint(json)?;
        for (stream, found, covered) in &self.streams {
            let covered = self.is_signed().then_some(*covered);
            tell(&stream_name(*stream), found, covered, json)?;
        }
        if !json {
            let bad = self.streams.iter().filter(|(_, found, _)| found.fault.is_some()).count();
            let (faults, unsigned) = (bad + self.report.faults.len(), self.not_wholly_signed());
            let unsigned =
                if unsigned > 0 { format!(", {unsigned} not wholly signed") } else { String::new() };
            writeln!(
                io::stdout().lock(),
                "{} checked, {}{unsigned}",
                counted(self.streams.len() as u64, "debate", "debates"),
                counted(faults as u64, "fault", "faults")
            )?;
        }
        Ok(())
    }

    fn tell_checkpoint(&self, json: bool) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        let BundleReport { whole, checkpoint, is_signed, faults, .. } = &self.report;
        let faults: Vec<String> = faults.iter().map(|fault| one_line(&fault.to_string())).collect();
        if json {
            let signed = |it: &Checkpoint| json!({ "origin": it.origin, "size": it.size, "root": it.root.to_string() });
            let object = json!({
                "whole": whole,
                "checkpoint": checkpoint.as_ref().map(signed),
                "signed": is_signed,
                "ok": faults.is_empty(),
                "faults": faults,
            });
            return Ok(writeln!(stdout, "{object}")?);
        }
        for fault in &faults {
            writeln!(stdout, "FAULT  {fault}")?;
        }
        let line = match checkpoint {
            Some(Checkpoint { origin, size, root }) if *is_signed => {
                let origin = one_line(origin);
                format!("ok     checkpoint of {origin}, {size} leaves, root {root}")
            }
            Some(Checkpoint { origin, .. }) => {
                let origin = one_line(origin);
                format!(
                    "       the checkpoint says it is of {origin}; without --key its signature is not checked"
                )
            }
            None => "       no checkpoint: the author of the bundle can have made up all of it".to_owned(),
        };
        Ok(writeln!(stdout, "{line}")?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fold::tests::{event, stream};
    use super::super::forks::tests::{bundle, fork_of};
    use super::*;

    #[tokio::test]
    async fn k14_k15_each_event_of_a_bundle_is_folded_or_noted_before_the_next_line_is_read() {
        let parent = event(stream(1));
        let events = [parent.clone(), fork_of(&parent, 2), event(stream(3))];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.bundle");
        let mut lines = bundle(&events);
        *lines.last_mut().unwrap() = "no line of a bundle".to_owned();
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();

        let mut check = BundleCheck::new(None, None);
        let (mut folds, mut forks) = (OneByOne::default(), Forks::default());
        let error = read(&path, &mut check, &mut folds, &mut forks).await.unwrap_err().to_string();
        assert!(error.contains("line 8"), "{error}");
        let folded = folds.finish().await.unwrap();
        assert_eq!(folded.into_keys().collect::<Vec<_>>(), [1, 3].map(stream));
        let bytes = [(1, 2), (2, 4), (3, 6)].map(|(number, place)| (stream(number), lines[place].len()));
        assert_eq!(forks.bytes, bytes.into());
    }
}

//! Folding the forks of a bundle, each in one store with what it was forked from (rule K14).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use debate_core::chain::ChainCheck;
use debate_core::codec;
use debate_core::envelope::{Envelope, StreamId};
use debate_core::fork::DEPTH_MAX;
use debate_core::id::{DebateId, Seq};
use debate_engine::{Fault, Verification};
use debate_proof::bundle::{BundleCheck, STREAM_BYTES_MAX};

use super::fold::{Fold, OneByOne};
use crate::exit::Failure;
use crate::proof::bundle_file::BundleLines;

/// The forks of a bundle, as they are found while it is read for the first time.
#[derive(Debug)]
pub(super) struct Forks {
    /// How many bytes of the bundle are folded at once at most.
    bytes_max: usize,
    /// What each fork was forked from.
    parents: BTreeMap<StreamId, StreamId>,
    /// The bytes of each stream of the bundle.
    pub(super) bytes: BTreeMap<StreamId, usize>,
}

/// Forks that are folded together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pass {
    forks: Vec<StreamId>,
    /// These forks and what they were forked from.
    streams: BTreeSet<StreamId>,
}

impl Default for Forks {
    fn default() -> Self {
        // A fork has no more room than any other stream.
        Self { bytes_max: STREAM_BYTES_MAX, parents: BTreeMap::new(), bytes: BTreeMap::new() }
    }
}

impl Forks {
    /// Takes note of an event and its line; returns whether it is a fork's.
    pub(super) fn note(&mut self, envelope: &Envelope, line: &str) -> bool {
        let stream = envelope.stream;
        *self.bytes.entry(stream).or_default() += line.len();
        if envelope.seq == Seq(1)
            && let Some(Ok(forked)) = codec::forked(envelope)
        {
            self.parents.insert(stream, StreamId::from(forked.parent));
        }
        self.parents.contains_key(&stream)
    }

    /// Folds all of them, no more at once than there is room for: the bundle is read again for each such part. A fork that has
    /// more by itself is a fault. All else is folded before, so nothing of it is kept any more; what was found of it is added
    /// to.
    pub(super) async fn fold(
        &self,
        path: &Path,
        others: OneByOne,
    ) -> anyhow::Result<BTreeMap<StreamId, Verification>> {
        let mut folds = others.finish().await?;
        let (passes, too_large) = self.passes();
        for pass in passes {
            folds.extend(pass.fold(path).await?);
        }
        for fork in too_large {
            let nothing = Verification::new(DebateId(fork.id), ChainCheck::new(fork).head());
            let why = format!("it has, with what it was forked from, more than {} bytes", self.bytes_max);
            folds.insert(fork, Verification { fault: Some(Fault { seq: Seq(1), why }), ..nothing });
        }
        Ok(folds)
    }

    /// Parts the forks as there is room for them, those next to each other that were forked from the same; returns also those for
    /// which there is none.
    fn passes(&self) -> (Vec<Pass>, Vec<StreamId>) {
        let (mut passes, mut too_large) = (Vec::new(), Vec::new());
        let (mut pass, mut bytes) = (Pass::default(), 0);
        let mut forks: Vec<StreamId> = self.parents.keys().copied().collect();
        forks.sort_by_cached_key(|fork| self.lineage(*fork));
        for fork in forks {
            let lineage = BTreeSet::from_iter(self.lineage(fork));
            let alone = self.bytes_of(&lineage);
            if alone > self.bytes_max {
                too_large.push(fork);
                continue;
            }
            let more = self.bytes_of(lineage.iter().filter(|stream| !pass.streams.contains(stream)));
            if bytes + more > self.bytes_max {
                passes.push(std::mem::take(&mut pass));
                bytes = alone;
            } else {
                bytes += more;
            }
            pass.streams.extend(lineage);
            pass.forks.push(fork);
        }
        passes.extend(Some(pass).filter(|pass| !pass.forks.is_empty()));
        (passes, too_large)
    }

    /// Returns what a fork was forked from, as far as forks may go, the eldest first, and itself.
    fn lineage(&self, fork: StreamId) -> Vec<StreamId> {
        let parent = |stream: &StreamId| self.parents.get(stream).copied();
        let mut lineage: Vec<_> = std::iter::successors(Some(fork), parent).take(DEPTH_MAX + 2).collect();
        lineage.reverse();
        lineage
    }

    fn bytes_of<'a>(&self, streams: impl IntoIterator<Item = &'a StreamId>) -> usize {
        streams.into_iter().filter_map(|stream| self.bytes.get(stream)).sum()
    }
}

impl Pass {
    async fn fold(self, path: &Path) -> anyhow::Result<BTreeMap<StreamId, Verification>> {
        let mut fold = Fold::open(self.streams).await?;
        let mut lines = BundleLines::open(path)?;
        // All that it finds was found before.
        let mut check = BundleCheck::new(None, None);
        while let Some(line) = lines.next()? {
            let found = check.push(line).map_err(|error| Failure::fault(error.to_string()))?;
            if let Some(envelope) = found {
                fold.push(envelope).await?;
            }
        }
        fold.finish(&self.forks).await
    }
}

#[cfg(test)]
pub(in crate::commands) mod tests {
    use debate_core::chain::{GENESIS, hash_of};
    use debate_proof::bundle::{End, Line};
    use serde_json::json;

    use super::super::fold::tests::{event, stream};
    use super::*;

    #[test]
    fn k14_no_more_forks_are_folded_at_once_than_there_is_room_for() {
        // 1 was forked to 2, that to 3, and 1 to 4; 6 has too much for any room, and 8 and 9 say they come of one another.
        let parents = [(2, 1), (3, 2), (4, 1), (6, 5), (8, 9), (9, 8)];
        let bytes = [(1, 40), (2, 10), (3, 10), (4, 30), (5, 90), (6, 20), (7, 99), (8, 5), (9, 5)];
        let mut forks = Forks {
            bytes_max: 100,
            parents: parents.map(|(fork, parent)| (stream(fork), stream(parent))).into(),
            bytes: bytes.map(|(it, bytes)| (stream(it), bytes)).into(),
        };
        let pass = |forks: &[u128], streams: &[u128]| Pass {
            forks: forks.iter().copied().map(stream).collect(),
            streams: streams.iter().copied().map(stream).collect(),
        };
        let (passes, too_large) = forks.passes();
        assert_eq!(passes, [pass(&[2, 3, 4, 9, 8], &[1, 2, 3, 4, 8, 9])]);
        assert_eq!(too_large, [stream(6)]);
        forks.bytes_max = 75;
        let (passes, _) = forks.passes();
        assert_eq!(passes, [pass(&[2, 3], &[1, 2, 3]), pass(&[4], &[1, 4]), pass(&[9, 8], &[8, 9])]);
        forks.bytes_max = 110;
        assert_eq!(forks.passes().1, []);
        // Those of two parents that take turns by their ids are folded in two parts, not each alone.
        forks.bytes_max = 100;
        forks.parents = (3..=10).map(|fork| (stream(fork), stream(1 + fork % 2))).collect();
        forks.bytes =
            (3..=10).map(|fork| (stream(fork), 1)).chain([1, 2].map(|it| (stream(it), 90))).collect();
        let parts: Vec<_> = forks.passes().0.into_iter().map(|pass| pass.forks).collect();
        assert_eq!(parts, [[4, 6, 8, 10], [3, 5, 7, 9]].map(|forks| forks.map(stream)));
        assert_eq!(Forks::default().bytes_max, 256 << 20);
    }

    #[test]
    fn k14_the_bytes_of_all_events_of_a_stream_count() {
        let mut forks = Forks::default();
        for (number, bytes) in [(1, 10), (2, 20), (1, 30), (1, 40)] {
            forks.note(&event(stream(number)), &" ".repeat(bytes));
        }
        assert_eq!(forks.bytes, [(stream(1), 80), (stream(2), 20)].into());
    }

    #[tokio::test]
    async fn k14_a_fork_that_is_too_large_is_a_fault() {
        let (fork, parent) = (stream(2), stream(1));
        let forks = Forks {
            bytes_max: 100,
            parents: [(fork, parent)].into(),
            bytes: [(fork, 40), (parent, 61)].into(),
        };
        // Nothing of it is read.
        let folds = forks.fold(Path::new("nowhere.bundle"), OneByOne::default()).await.unwrap();
        let fault = folds[&fork].fault.as_ref().unwrap();
        assert_eq!(fault.why, "it has, with what it was forked from, more than 100 bytes");
    }

    /// Returns an event that opens a fork which shares another's only event.
    pub(in crate::commands) fn fork_of(parent: &Envelope, number: u128) -> Envelope {
        let mut fork = event(stream(number));
        fork.kind = "forked".to_owned();
        let (seq, hash) = (parent.seq, parent.hash);
        let body = json!({
            "parent": parent.stream.id, "at": seq, "parent_hash": hash, "change": "nothing", "format": "prediction",
        });
        fork.body = body.to_string();
        fork.hash = hash_of(&GENESIS, &fork);
        fork
    }

    /// Returns the lines of a bundle of streams with these events.
    pub(in crate::commands) fn bundle(events: &[Envelope]) -> Vec<String> {
        let count = events.len() as u64;
        let streams = events.iter().filter(|event| event.seq == Seq(1)).count() as u64;
        let lines = events.iter().flat_map(|event| {
            let begins = (event.seq == Seq(1)).then(|| Line::stream(event.stream, None));
            begins.into_iter().chain([Line::Event(event.into())])
        });
        let end = Line::End(End { streams, events: count });
        let lines = std::iter::once(Line::start(false)).chain(lines).chain([end]);
        lines.map(|line| line.text()).collect()
    }

    #[tokio::test]
    async fn k14_all_else_is_folded_and_let_go_of_before_the_first_fork_is() {
        let mut others = OneByOne::default();
        // A fold of it finds that the first event is missing.
        others.push(Envelope { seq: Seq(2), ..event(stream(1)) }).await.unwrap();
        let forks = Forks { parents: [(stream(3), stream(2))].into(), ..Forks::default() };
        let error = forks.fold(Path::new("nowhere.bundle"), others).await.unwrap_err().to_string();
        assert!(error.contains("the store has other events"), "{error}");
    }

    #[tokio::test]
    async fn k14_forks_for_which_there_is_no_room_together_are_folded_apart() {
        let parent = event(stream(1));
        let events = [parent.clone(), fork_of(&parent, 2), fork_of(&parent, 3)];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("it.bundle");
        std::fs::write(&path, bundle(&events).join("\n") + "\n").unwrap();
        // As if 3 had come of another one, which is not there: whether 1 is there tells whether 2 is, too.
        let mut forks = Forks {
            parents: [(stream(2), stream(1)), (stream(3), stream(4))].into(),
            bytes: [(stream(1), 40), (stream(2), 30), (stream(3), 30)].into(),
            ..Forks::default()
        };
        for (bytes_max, is_together) in [(99, false), (100, true)] {
            forks.bytes_max = bytes_max;
            let folds = forks.fold(&path, OneByOne::default()).await.unwrap();
            let has_parent = |number| {
                let why = &folds[&stream(number)].fault.as_ref().unwrap().why;
                let is_there = why.starts_with("what it was forked from does not hold: ");
                assert!(is_there || why.ends_with(" is not the one that it was forked from"), "{why}");
                is_there
            };
            assert_eq!([2, 3].map(has_parent), [true, is_together]);
        }
    }
}

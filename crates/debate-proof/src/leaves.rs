//! All leaves, in the order in which they were recorded: a list that only grows. Where a stream has grown since its last
//! leaf, the next checkpoint adds a leaf; where it has not, it adds none.
//!
//! The tree is over these records and not over the current heads, for heads change: a tree over them could show what
//! there is today, never that today's streams are yesterday's, longer. And no leaf ever goes, so a debate that was
//! recorded once is missed when it is gone.

use std::collections::BTreeMap;
use std::fmt;

use debate_core::envelope::StreamId;
use debate_core::id::{Digest, Seq};

use crate::leaf::{Leaf, LeafError};
use crate::tree;

/// Leaves in the order in which they were recorded.
///
/// Written one to a line, each ended by a line feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leaves {
    list: Vec<Leaf>,
    places: BTreeMap<StreamId, Vec<usize>>,
}

/// A list of leaves contradicts itself or cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeavesError {
    /// A line is not a leaf.
    #[error("line {line} is not a leaf: {why}")]
    Leaf {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        why: LeafError,
    },
    /// The last line is not ended.
    #[error("line {line} is cut off")]
    CutOff {
        /// The line, from 1.
        line: usize,
    },
    /// A stream's leaf does not come after the one before.
    #[error("leaf {line} has {stream} at event {seq}, a leaf before has it at {before}")]
    NotLater {
        /// The leaf's place, from 1.
        line: usize,
        /// The stream.
        stream: StreamId,
        /// The sequence number that the leaf gives.
        seq: Seq,
        /// The sequence number that the stream had reached before.
        before: Seq,
    },
}

impl Leaves {
    /// Reads leaves as they are written.
    ///
    /// # Errors
    /// The first line that is not a leaf, or does not follow from those before.
    pub fn parse(text: &str) -> Result<Self, LeavesError> {
        let mut leaves = Self::default();
        let mut rest = text;
        while !rest.is_empty() {
            let line = leaves.len() + 1;
            let (leaf, after) = rest.split_once('\n').ok_or(LeavesError::CutOff { line })?;
            leaves.push(leaf.parse().map_err(|why| LeavesError::Leaf { line, why })?)?;
            rest = after;
        }
        Ok(leaves)
    }

    /// Adds a leaf.
    ///
    /// # Errors
    /// [`LeavesError::NotLater`] where the stream has a leaf at that sequence number or a later one.
    pub fn push(&mut self, leaf: Leaf) -> Result<(), LeavesError> {
        let line = self.list.len() + 1;
        if let Some(latest) = self.latest(leaf.stream)
            && latest.seq >= leaf.seq
        {
            let (stream, seq, before) = (leaf.stream, leaf.seq, latest.seq);
            return Err(LeavesError::NotLater { line, stream, seq, before });
        }
        self.places.entry(leaf.stream).or_default().push(self.list.len());
        self.list.push(leaf);
        Ok(())
    }

    /// Returns how many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the first leaves, as many as `size`; `None` where there are fewer.
    #[must_use]
    pub fn first(&self, size: u64) -> Option<Self> {
        let size = usize::try_from(size).ok().filter(|size| *size <= self.len())?;
        let mut first = Self { list: self.list[..size].to_vec(), places: BTreeMap::new() };
        for (place, leaf) in first.list.iter().enumerate() {
            first.places.entry(leaf.stream).or_default().push(place);
        }
        Some(first)
    }

    /// Returns every leaf, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Leaf] {
        &self.list
    }

    /// Returns every stream that has a leaf, in order.
    pub fn streams(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.places.keys().copied()
    }

    /// Returns the leaves of one stream, in order.
    #[must_use]
    pub fn of(&self, stream: StreamId) -> Vec<Leaf> {
        self.places.get(&stream).into_iter().flatten().map(|place| self.list[*place]).collect()
    }

    /// Returns the latest leaf of one stream.
    #[must_use]
    pub fn latest(&self, stream: StreamId) -> Option<&Leaf> {
        self.place(stream).and_then(|place| self.list.get(place))
    }

    /// Returns where the latest leaf of one stream stands, from 0.
    #[must_use]
    pub fn place(&self, stream: StreamId) -> Option<usize> {
        self.places.get(&stream)?.last().copied()
    }

    /// Returns the hashes of all leaves in the tree, in order.
    #[must_use]
    pub fn tree_hashes(&self) -> Vec<Digest> {
        self.list.iter().map(Leaf::tree_hash).collect()
    }

    /// Returns the root of the tree over all leaves.
    #[must_use]
    pub fn root(&self) -> Digest {
        tree::root(&self.tree_hashes())
    }
}

impl fmt::Display for Leaves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.iter().try_for_each(|leaf| writeln!(f, "{leaf}"))
    }
}

/// A stream is not what its leaves say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LeafFault {
    /// Nothing of the stream is there.
    #[error("removed: it had {signed} events")]
    Removed {
        /// How many events it had.
        signed: Seq,
    },
    /// The stream ends before what was recorded.
    #[error("cut short: it ends at event {head}, it had {signed}")]
    CutShort {
        /// Where it ends.
        head: Seq,
        /// How many events it had.
        signed: Seq,
    },
    /// The stream's hash at a leaf is another, so that an event up to there was changed and the rest hashed anew.
    #[error("rewritten: an event from {from} to {to} is not the one that was recorded")]
    Rewritten {
        /// The first event that may be another.
        from: Seq,
        /// The last event that may be the first other one.
        to: Seq,
    },
}

impl LeafFault {
    /// Returns the first sequence number that may be bad.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Removed { .. } => Seq(1),
            Self::CutShort { head, .. } => head.next(),
            Self::Rewritten { from, .. } => *from,
        }
    }
}

/// Compares one stream, whose chain of hashes holds, with its leaves. `head` is where it ends, [`Seq::START`] where
/// nothing of it is there; `hash_at` gives the hash of its event at a leaf's sequence number.
///
/// # Errors
/// The first way in which the stream is not what its leaves say.
pub fn compare(
    leaves: &[Leaf],
    head: Seq,
    mut hash_at: impl FnMut(Seq) -> Option<Digest>,
) -> Result<(), LeafFault> {
    let Some(last) = leaves.last() else { return Ok(()) };
    let signed = last.seq;
    if head == Seq::START {
        return Err(LeafFault::Removed { signed });
    }
    let mut from = Seq(1);
    for leaf in leaves {
        if leaf.seq > head {
            return Err(LeafFault::CutShort { head, signed });
        }
        if hash_at(leaf.seq) != Some(leaf.hash) {
            return Err(LeafFault::Rewritten { from, to: leaf.seq });
        }
        from = leaf.seq.next();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use debate_core::envelope::StreamKind;
    use uuid::Uuid;

    use super::*;

    fn leaf(stream: u128, seq: u64) -> Leaf {
        let stream = StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(stream) };
        Leaf { stream, seq: Seq(seq), hash: hash(seq) }
    }

    fn hash(seq: u64) -> Digest {
        Digest::of_text(&seq.to_string())
    }

    fn leaves(list: &[(u128, u64)]) -> Leaves {
        let mut leaves = Leaves::default();
        list.iter().for_each(|(stream, seq)| leaves.push(leaf(*stream, *seq)).unwrap());
        leaves
    }

    #[test]
    fn leaves_are_read_back_as_they_are_written() {
        let leaves = leaves(&[(1, 4), (2, 7), (1, 9)]);
        assert_eq!(Leaves::parse(&leaves.to_string()), Ok(leaves.clone()));
        assert_eq!(leaves.latest(leaf(1, 0).stream), Some(&leaf(1, 9)));
        assert_eq!(leaves.of(leaf(1, 0).stream), [leaf(1, 4), leaf(1, 9)]);
        assert_eq!(leaves.first(2).unwrap(), self::leaves(&[(1, 4), (2, 7)]));
        assert_eq!(leaves.first(4), None);
    }

    #[test]
    fn a_stream_never_goes_back() {
        let mut leaves = leaves(&[(1, 4)]);
        for seq in [3, 4] {
            let refused = leaves.push(leaf(1, seq));
            let (stream, before) = (leaf(1, 0).stream, Seq(4));
            assert_eq!(refused, Err(LeavesError::NotLater { line: 2, stream, seq: Seq(seq), before }));
        }
    }

    #[test]
    fn a_bad_line_is_named() {
        let text = leaves(&[(1, 4), (2, 7)]).to_string();
        let bad = text.replace(" 7 ", " 7x ");
        assert!(matches!(Leaves::parse(&bad), Err(LeavesError::Leaf { line: 2, why: LeafError::Seq(_) })));
        assert_eq!(Leaves::parse(text.trim_end()), Err(LeavesError::CutOff { line: 2 }));
        assert!(matches!(Leaves::parse("\n"), Err(LeavesError::Leaf { line: 1, why: LeafError::Form })));
    }

    #[test]
    fn k15_a_stream_is_compared_with_all_its_leaves() {
        let list = [leaf(1, 4), leaf(1, 9)];
        let whole = |seq: Seq| Some(hash(seq.0));
        let rewritten_from = |first: u64| move |seq: Seq| (seq.0 < first).then(|| hash(seq.0));
        assert_eq!(compare(&list, Seq(12), whole), Ok(()));
        assert_eq!(compare(&[], Seq::START, whole), Ok(()));
        assert_eq!(compare(&list, Seq::START, whole), Err(LeafFault::Removed { signed: Seq(9) }));
        let short = LeafFault::CutShort { head: Seq(8), signed: Seq(9) };
        assert_eq!(compare(&list, Seq(8), whole), Err(short));
        let late = LeafFault::Rewritten { from: Seq(5), to: Seq(9) };
        assert_eq!(compare(&list, Seq(12), rewritten_from(7)), Err(late));
        let early = LeafFault::Rewritten { from: Seq(1), to: Seq(4) };
        assert_eq!(compare(&list, Seq(12), rewritten_from(2)), Err(early));
    }
}

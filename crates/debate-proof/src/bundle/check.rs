//! Checking a bundle line by line: form, chains of hashes, proofs, signature.

use std::collections::{BTreeMap, BTreeSet};

use debate_core::chain::{ChainBreak, ChainCheck};
use debate_core::envelope::{Envelope, StreamId};
use debate_core::id::{Digest, Seq};

use super::line::{Consistency, Inclusion, Line, LineError, Signed, StreamStart};
use super::{BundleError, EVENTS_MAX, LINE_BYTES_MAX, STREAM_BYTES_MAX, VERSION};
use crate::checkpoint::{Checkpoint, CheckpointError};
use crate::key::VerifierKey;
use crate::leaf::Leaf;
use crate::leaves::{LeafFault, Leaves, compare};
use crate::tree::{ConsistencyError, InclusionError, check_consistency, check_inclusion};

/// What checking a bundle found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleReport {
    /// Whether it claims to be all that the store has.
    pub whole: bool,
    /// Its checkpoint, where it has one.
    pub checkpoint: Option<Checkpoint>,
    /// Whether the checkpoint's signature was checked and is the key's.
    pub is_signed: bool,
    /// Its streams in order; then those that are missing.
    pub streams: Vec<StreamReport>,
    /// What is wrong with it as a whole.
    pub faults: Vec<BundleFault>,
}

impl BundleReport {
    /// Returns whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty() && self.streams.iter().all(|stream| stream.fault.is_none())
    }
}

/// What checking one stream of a bundle found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamReport {
    /// Which stream.
    pub stream: StreamId,
    /// How many of its events passed.
    pub events: u64,
    /// The last sequence number that passed, and its hash.
    pub head: (Seq, Digest),
    /// How many of these events have lost their prose.
    pub redacted: u64,
    /// The last event that the checkpoint covers; later events are chained, but not signed.
    pub signed: Option<Seq>,
    /// The first thing that is wrong.
    pub fault: Option<StreamFault>,
}

/// Something wrong with a bundle as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BundleFault {
    /// A key or an older checkpoint was given, and there is nothing signed.
    #[error("the bundle carries no checkpoint")]
    Unsigned,
    /// The checkpoint is none, or is not signed by the key.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// The leaves are not those that were signed.
    #[error("the {found} leaves are not the {signed} that were signed")]
    Leaves {
        /// How many leaves the checkpoint signs.
        signed: u64,
        /// How many leaves there are.
        found: u64,
    },
    /// The checkpoint that was seen before is of another log.
    #[error("the checkpoint seen before is of the log `{before}`, this one of `{now}`")]
    OtherLog {
        /// The log seen before.
        before: String,
        /// The log of the bundle.
        now: String,
    },
    /// Nothing in the bundle shows that its checkpoint comes after the one that was seen before.
    #[error("the bundle does not prove that it continues the checkpoint of {size} leaves")]
    NotContinued {
        /// How many leaves the older checkpoint has.
        size: u64,
    },
    /// The bundle's checkpoint does not continue the one that was seen before.
    #[error(transparent)]
    Consistency(#[from] ConsistencyError),
}

/// Something wrong with one stream of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StreamFault {
    /// The chain of hashes breaks.
    #[error(transparent)]
    Chain(#[from] ChainBreak),
    /// The stream is not what was recorded of it.
    #[error(transparent)]
    Leaf(#[from] LeafFault),
    /// The leaf is not shown to be in the checkpoint's tree.
    #[error(transparent)]
    Inclusion(#[from] InclusionError),
    /// The leaf is of another stream.
    #[error("its proof is for {0}")]
    OtherStream(StreamId),
    /// There is a checkpoint, and nothing that shows that the stream is under it.
    #[error("nothing shows that it is under the checkpoint")]
    Unproved,
    /// There is a proof, but no checkpoint that it could lead to.
    #[error("it has a proof, but there is no checkpoint")]
    NoCheckpoint,
}

impl StreamFault {
    /// Returns the first sequence number that may be bad.
    #[must_use]
    pub fn seq(&self) -> Seq {
        match self {
            Self::Chain(broken) => broken.seq(),
            Self::Leaf(fault) => fault.seq(),
            Self::Inclusion(_) | Self::OtherStream(_) | Self::Unproved | Self::NoCheckpoint => Seq(1),
        }
    }
}

/// Where in a bundle the check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    Checkpoint,
    Leaves,
    Streams,
    End,
}

/// The stream that is being read.
#[derive(Debug, Clone)]
struct Open {
    chain: ChainCheck,
    request_id: Option<String>,
    /// Its lines of events, also those after a fault.
    lines: u64,
    /// The bytes of these lines.
    bytes: usize,
    leaves: Vec<Leaf>,
    at_leaves: BTreeMap<Seq, Digest>,
    report: StreamReport,
}

/// Checks a bundle line by line.
#[derive(Debug, Clone)]
pub struct BundleCheck {
    key: Option<VerifierKey>,
    since: Option<Checkpoint>,
    line: u64,
    place: Place,
    leaves: Leaves,
    open: Option<Open>,
    seen: BTreeSet<StreamId>,
    events: u64,
    report: BundleReport,
}

impl BundleCheck {
    /// Starts before the first line. Without a key, no signature is required. `since` is a checkpoint that was seen
    /// before; the bundle's checkpoint must continue it.
    #[must_use]
    pub fn new(key: Option<VerifierKey>, since: Option<Checkpoint>) -> Self {
        let report = BundleReport {
            whole: false,
            checkpoint: None,
            is_signed: false,
            streams: Vec::new(),
            faults: Vec::new(),
        };
        Self {
            key,
            since,
            line: 0,
            place: Place::Start,
            leaves: Leaves::default(),
            open: None,
            seen: BTreeSet::new(),
            events: 0,
            report,
        }
    }

    /// Checks the next line, given without its line feed; returns the event that it brings, if its chain holds.
    ///
    /// # Errors
    /// The line cannot be read or does not belong here; nothing after it can be checked.
    pub fn push(&mut self, line: &str) -> Result<Option<Envelope>, BundleError> {
        self.line += 1;
        let taken = self.take(line);
        taken.map_err(|what| BundleError { line: self.line, what })
    }

    /// Returns the request id that the stream being read claims to be opened by.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.open.as_ref()?.request_id.as_deref()
    }

    /// Ends the check.
    ///
    /// # Errors
    /// The bundle stops before its end.
    pub fn finish(mut self) -> Result<BundleReport, BundleError> {
        if self.place != Place::End {
            return Err(BundleError { line: self.line + 1, what: LineError::CutOff });
        }
        let is_asked = self.key.is_some() || self.since.is_some();
        if is_asked && self.report.checkpoint.is_none() && self.report.faults.is_empty() {
            self.report.faults.push(BundleFault::Unsigned);
        }
        for stream in self.leaves.streams().filter(|stream| !self.seen.contains(stream)) {
            let leaves = self.leaves.of(stream);
            let fault = compare(&leaves, Seq::START, |_| None).err().map(StreamFault::from);
            let head = ChainCheck::new(stream).head();
            let signed = leaves.last().map(|leaf| leaf.seq);
            self.report.streams.push(StreamReport { stream, events: 0, head, redacted: 0, signed, fault });
        }
        Ok(self.report)
    }

    fn take(&mut self, text: &str) -> Result<Option<Envelope>, LineError> {
        if text.len() > LINE_BYTES_MAX {
            return Err(LineError::TooLong);
        }
        match (Line::parse(text)?, self.place) {
            (Line::Bundle(start), Place::Start) => {
                if start.version != VERSION {
                    return Err(LineError::Version(start.version));
                }
                self.report.whole = start.whole;
                self.place = Place::Checkpoint;
            }
            (Line::Checkpoint(signed), Place::Checkpoint) => {
                self.take_checkpoint(&signed);
                self.place = if self.report.whole { Place::Leaves } else { Place::Streams };
            }
            (Line::Leaf(leaf), Place::Leaves) => self.leaves.push(leaf.parse()?)?,
            (Line::Stream(start), Place::Checkpoint | Place::Leaves | Place::Streams) => {
                self.close_stream()?;
                self.check_leaves();
                self.open_stream(start)?;
                self.place = Place::Streams;
            }
            (Line::Event(event), Place::Streams) => {
                let open = self.open.as_mut().ok_or(LineError::Place)?;
                self.events += 1;
                open.make_room(text.len())?;
                return Ok(open.take(event.envelope(open.report.stream)?));
            }
            (Line::End(end), Place::Checkpoint | Place::Leaves | Place::Streams) => {
                self.close_stream()?;
                self.check_leaves();
                let (streams, events) = (self.seen.len() as u64, self.events);
                if (end.streams, end.events) != (streams, events) {
                    return Err(LineError::Count { streams, events });
                }
                self.place = Place::End;
            }
            (
                Line::Bundle(_)
                | Line::Checkpoint(_)
                | Line::Leaf(_)
                | Line::Stream(_)
                | Line::Event(_)
                | Line::End(_),
                _,
            ) => return Err(LineError::Place),
        }
        Ok(None)
    }

    fn take_checkpoint(&mut self, signed: &Signed) {
        let opened = match &self.key {
            Some(key) => Checkpoint::open(&signed.note, key),
            None => Checkpoint::read_unchecked(&signed.note),
        };
        match opened {
            Ok(checkpoint) => {
                self.report.is_signed = self.key.is_some();
                if let Err(fault) = self.continues(&checkpoint, signed.since.as_ref()) {
                    self.report.faults.push(fault);
                }
                self.report.checkpoint = Some(checkpoint);
            }
            Err(error) => self.report.faults.push(error.into()),
        }
    }

    /// Checks that a checkpoint continues the one that was seen before. A proof for its size is always checked.
    fn continues(&self, now: &Checkpoint, proof: Option<&Consistency>) -> Result<(), BundleFault> {
        let Some(before) = &self.since else { return Ok(()) };
        if before.origin != now.origin {
            return Err(BundleFault::OtherLog { before: before.origin.clone(), now: now.origin.clone() });
        }
        let empty = Consistency { size: before.size, proof: Vec::new() };
        let proof = match proof.filter(|proof| proof.size == before.size) {
            Some(proof) => proof,
            // The same tree and the empty one need no proof.
            None if before.size == now.size || before.size == 0 => &empty,
            None => return Err(BundleFault::NotContinued { size: before.size }),
        };
        Ok(check_consistency((before.size, &before.root), (now.size, &now.root), &proof.proof)?)
    }

    /// Checks, once all leaves are there, that they are those that were signed.
    fn check_leaves(&mut self) {
        if self.place != Place::Leaves {
            return;
        }
        if let Some(Checkpoint { size, root, .. }) = self.report.checkpoint
            && (size, root) != (self.leaves.len() as u64, self.leaves.root())
        {
            let found = self.leaves.len() as u64;
            self.report.faults.push(BundleFault::Leaves { signed: size, found });
        }
    }

    fn open_stream(&mut self, start: StreamStart) -> Result<(), LineError> {
        let stream = start.stream()?;
        if !self.seen.insert(stream) {
            return Err(LineError::Twice(stream));
        }
        if self.report.whole && start.inclusion.is_some() {
            return Err(LineError::Place);
        }
        let (leaves, fault) = match start.inclusion {
            Some(inclusion) => {
                let leaf: Leaf = inclusion.leaf.parse()?;
                (vec![leaf], self.check_inclusion(stream, &leaf, &inclusion).err())
            }
            // Where all leaves are there, a stream without one is a stream that was not recorded yet.
            None if self.report.whole || self.report.checkpoint.is_none() => (self.leaves.of(stream), None),
            None => (Vec::new(), Some(StreamFault::Unproved)),
        };
        let chain = ChainCheck::new(stream);
        let report = StreamReport {
            stream,
            events: 0,
            head: chain.head(),
            redacted: 0,
            // A leaf that is not shown to be under the checkpoint signs nothing.
            signed: leaves.last().filter(|_| fault.is_none()).map(|leaf| leaf.seq),
            fault,
        };
        let request_id = start.request_id;
        let at_leaves = BTreeMap::new();
        self.open = Some(Open { chain, request_id, lines: 0, bytes: 0, leaves, at_leaves, report });
        Ok(())
    }

    fn check_inclusion(
        &self,
        stream: StreamId,
        leaf: &Leaf,
        inclusion: &Inclusion,
    ) -> Result<(), StreamFault> {
        if leaf.stream != stream {
            return Err(StreamFault::OtherStream(leaf.stream));
        }
        let checkpoint = self.report.checkpoint.as_ref().ok_or(StreamFault::NoCheckpoint)?;
        let tree = (checkpoint.size, &checkpoint.root);
        Ok(check_inclusion(&leaf.tree_hash(), inclusion.index, tree, &inclusion.proof)?)
    }

    fn close_stream(&mut self) -> Result<(), LineError> {
        let Some(mut open) = self.open.take() else { return Ok(()) };
        if open.lines == 0 {
            return Err(LineError::Events { stream: open.report.stream, events: 0 });
        }
        if open.report.fault.is_none() {
            let found = compare(&open.leaves, open.report.head.0, |seq| open.at_leaves.get(&seq).copied());
            open.report.fault = found.err().map(StreamFault::from);
        }
        self.report.streams.push(open.report);
        Ok(())
    }
}

impl Open {
    /// Counts a line, which must be within what one stream may have.
    fn make_room(&mut self, bytes: usize) -> Result<(), LineError> {
        self.lines += 1;
        self.bytes += bytes;
        let stream = self.report.stream;
        if self.lines > EVENTS_MAX {
            return Err(LineError::Events { stream, events: self.lines });
        }
        if self.bytes > STREAM_BYTES_MAX { Err(LineError::Bytes(stream)) } else { Ok(()) }
    }

    fn take(&mut self, envelope: Envelope) -> Option<Envelope> {
        if matches!(self.report.fault, Some(StreamFault::Chain(_))) {
            return None;
        }
        if let Err(broken) = self.chain.push(&envelope) {
            self.report.fault.get_or_insert(broken.into());
            return None;
        }
        // Leaves ascend, as the events of a chain do: only the first that was not reached yet may be of this one.
        if self.leaves.get(self.at_leaves.len()).is_some_and(|next| next.seq == envelope.seq) {
            self.at_leaves.insert(envelope.seq, envelope.hash);
        }
        self.report.events += 1;
        self.report.redacted += u64::from(envelope.is_redacted());
        self.report.head = self.chain.head();
        Some(envelope)
    }
}

#[cfg(test)]
mod tests {
    use debate_core::envelope::StreamKind;
    use debate_core::id::Timestamp;

    use super::*;

    #[test]
    fn a_line_of_more_than_64_mib_is_not_read() {
        assert_eq!(LINE_BYTES_MAX, 64 << 20);
        let line = " ".repeat(LINE_BYTES_MAX + 1);
        let refused = |line: &str| BundleCheck::new(None, None).push(line).unwrap_err().what;
        assert_eq!(refused(&line), LineError::TooLong);
        assert_ne!(refused(&line[1..]), LineError::TooLong);
    }

    /// Returns the check of a bundle in which a stream begins, and the line of an event of it.
    fn opened() -> (BundleCheck, StreamId, String) {
        let stream = StreamId { kind: StreamKind::Debate, id: Default::default() };
        let event = Envelope {
            stream,
            seq: Seq(1),
            kind: "opened".to_owned(),
            version: 1,
            at: Timestamp(0),
            tenant: String::new(),
            actor: "engine".to_owned(),
            trace: None,
            body: "{}".to_owned(),
            prose: None,
            prose_digest: None,
            hash: Digest::default(),
        };
        let mut check = BundleCheck::new(None, None);
        for line in [Line::start(false), Line::opened(stream, None, None)] {
            check.push(&line.text()).unwrap();
        }
        (check, stream, Line::Event((&event).into()).text())
    }

    #[test]
    fn a_stream_of_more_than_a_million_events_is_read_no_further() {
        let (mut check, stream, event) = opened();
        assert_eq!(EVENTS_MAX, 1_000_000);
        // As if so many had been read but one.
        check.open.as_mut().unwrap().lines = EVENTS_MAX - 1;
        check.push(&event).unwrap();
        let refused = check.push(&event).unwrap_err();
        assert_eq!(refused.what, LineError::Events { stream, events: EVENTS_MAX + 1 });
    }

    #[test]
    fn a_stream_of_more_than_256_mib_is_read_no_further() {
        let (mut check, stream, event) = opened();
        assert_eq!(STREAM_BYTES_MAX, 256 << 20);
        // As if there were room for one more.
        check.open.as_mut().unwrap().bytes = STREAM_BYTES_MAX - 2 * event.len() + 1;
        check.push(&event).unwrap();
        let refused = check.push(&event).unwrap_err();
        assert_eq!(refused.what, LineError::Bytes(stream));
        // Another stream has as much room again.
        let (mut check, _, event) = opened();
        check.open.as_mut().unwrap().bytes = STREAM_BYTES_MAX - event.len();
        check.push(&event).unwrap();
        let other = StreamId { kind: StreamKind::Policy, ..stream };
        check.push(&Line::opened(other, None, None).text()).unwrap();
        check.push(&event).unwrap();
    }
}

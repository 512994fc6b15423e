//! Small logs, with everything that proves them.

use debate_core::chain::{ChainCheck, GENESIS, hash_of};
use debate_core::envelope::{Envelope, SaltedProse, StreamId, StreamKind};
use debate_core::id::{Digest, Seq, Timestamp};
use debate_proof::bundle::{
    BundleCheck, BundleError, BundleReport, Consistency, End, Inclusion, Line, Signed,
};
use debate_proof::checkpoint::Checkpoint;
use debate_proof::key::{SigningKey, VerifierKey};
use debate_proof::leaf::Leaf;
use debate_proof::leaves::{LeafFault, Leaves, compare};
use debate_proof::tree;
use uuid::Uuid;

/// Streams, and what was recorded of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Log {
    pub(crate) streams: Vec<Vec<Envelope>>,
    pub(crate) leaves: Leaves,
}

pub(crate) fn key() -> SigningKey {
    SigningKey::new("debates.example.org", [7; 32]).unwrap()
}

pub(crate) fn verifier() -> VerifierKey {
    key().verifier().clone()
}

pub(crate) fn stream(number: u128) -> StreamId {
    StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(number) }
}

/// Appends an event that follows from nothing but its place: every third is without prose, the second has a trace.
pub(crate) fn append(events: &mut Vec<Envelope>, stream: StreamId) {
    let last = events.last();
    let seq = last.map_or(Seq(1), |last| last.seq.next());
    let prose = (!seq.0.is_multiple_of(3)).then(|| SaltedProse {
        salt: [u8::try_from(seq.0).unwrap(); 16],
        text: format!("{{\"said\":\"Zürich \\\"{seq}\\\"\"}}"),
    });
    let mut envelope = Envelope {
        stream,
        seq,
        kind: if seq == Seq(1) { "opened" } else { "argument_made" }.to_owned(),
        version: 1,
        at: Timestamp(1_700_000_000_000 + i64::try_from(seq.0).unwrap()),
        tenant: if stream.id.as_u128().is_multiple_of(2) { "" } else { "t" }.to_owned(),
        actor: "engine".to_owned(),
        trace: (seq == Seq(2)).then(|| "00-1-2-01".to_owned()),
        body: format!("{{\"n\":{seq},\"p\":0.1}}"),
        prose_digest: prose.as_ref().map(SaltedProse::digest),
        prose,
        hash: Digest::default(),
    };
    envelope.hash = hash_of(&last.map_or(GENESIS, |last| last.hash), &envelope);
    events.push(envelope);
}

/// Hashes a stream anew from its first event on, as somebody could who changed it.
pub(crate) fn rehash(events: &mut [Envelope]) {
    let mut hash = GENESIS;
    for envelope in events {
        envelope.prose_digest = envelope.prose.as_ref().map(SaltedProse::digest).or(envelope.prose_digest);
        envelope.hash = hash_of(&hash, envelope);
        hash = envelope.hash;
    }
}

impl Log {
    /// Grows streams to these lengths and records them.
    pub(crate) fn grow(mut self, lengths: &[usize]) -> Self {
        self.streams.resize_with(lengths.len().max(self.streams.len()), Vec::new);
        for (number, (events, length)) in self.streams.iter_mut().zip(lengths).enumerate() {
            while events.len() < *length {
                append(events, stream(number as u128 + 1));
            }
            if let Some(last) = events.last()
                && self.leaves.latest(last.stream).is_none_or(|leaf| leaf.seq < last.seq)
            {
                self.leaves.push(Leaf { stream: last.stream, seq: last.seq, hash: last.hash }).unwrap();
            }
        }
        self
    }

    pub(crate) fn note(&self) -> String {
        Checkpoint::sign(&self.leaves, &key())
    }

    /// Returns the lines of the bundle of all streams.
    pub(crate) fn whole(&self, since: Option<usize>) -> Vec<String> {
        let mut lines = vec![Line::start(true), self.signed(since)];
        lines.extend(self.leaves.as_slice().iter().map(|leaf| Line::Leaf(leaf.to_string())));
        let streams = self.streams.iter().filter(|events| !events.is_empty());
        let mut count = 0;
        for events in streams {
            lines.push(Line::stream(events[0].stream, None));
            lines.extend(events.iter().map(|envelope| Line::Event(envelope.into())));
            count += 1;
        }
        lines.push(Line::End(End { streams: count, events: self.streams.iter().flatten().count() as u64 }));
        lines.iter().map(Line::text).collect()
    }

    /// Returns the lines of the bundle of one stream.
    pub(crate) fn single(&self, number: usize, since: Option<usize>) -> Vec<String> {
        let events = &self.streams[number];
        let stream = events[0].stream;
        let place = self.leaves.place(stream).unwrap();
        let inclusion = Inclusion {
            leaf: self.leaves.latest(stream).unwrap().to_string(),
            index: place as u64,
            proof: tree::inclusion_proof(&self.leaves.tree_hashes(), place).unwrap(),
        };
        let mut lines = vec![Line::start(false), self.signed(since), Line::stream(stream, Some(inclusion))];
        lines.extend(events.iter().map(|envelope| Line::Event(envelope.into())));
        lines.push(Line::End(End { streams: 1, events: events.len() as u64 }));
        lines.iter().map(Line::text).collect()
    }

    fn signed(&self, since: Option<usize>) -> Line {
        let since = since.map(|size| Consistency {
            size: size as u64,
            proof: tree::consistency_proof(&self.leaves.tree_hashes(), size).unwrap(),
        });
        Line::Checkpoint(Signed { note: self.note(), since })
    }

    /// Checks one stream as `verify --checkpoint` does: its chain, then its leaves.
    pub(crate) fn check(&self, stream: StreamId) -> Result<(), Found> {
        let mut chain = ChainCheck::new(stream);
        let events = self.streams.iter().find(|events| events.first().is_some_and(|it| it.stream == stream));
        let events = events.map_or(&[][..], Vec::as_slice);
        for envelope in events {
            chain.push(envelope).map_err(|broken| Found::Chain(broken.seq()))?;
        }
        let hash_at = |seq: Seq| events.get(usize::try_from(seq.0).unwrap() - 1).map(|event| event.hash);
        compare(&self.leaves.of(stream), chain.head().0, hash_at).map_err(Found::Leaf)
    }
}

/// What is wrong with a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Chain(Seq),
    Leaf(LeafFault),
}

/// Checks the lines of a bundle.
pub(crate) fn check(
    lines: &[String],
    key: Option<VerifierKey>,
    since: Option<Checkpoint>,
) -> Result<BundleReport, BundleError> {
    let mut check = BundleCheck::new(key, since);
    for line in lines {
        check.push(line)?;
    }
    check.finish()
}

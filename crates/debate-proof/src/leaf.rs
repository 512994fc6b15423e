//! One statement of the proof: a stream stood at a sequence number with a hash.

use std::fmt;
use std::str::FromStr;

use debate_core::envelope::{StreamId, StreamKind};
use debate_core::id::{Digest, Seq};
use uuid::Uuid;

use crate::excerpt::beginning;
use crate::tree;

/// States that a stream stood at a sequence number with a hash, and so, by the chain, what all its events up to there are.
///
/// Written `debate/6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a 42 <64 hex digits>`, in one way only; the tree hashes these bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// The stream.
    pub stream: StreamId,
    /// Its last sequence number, from 1.
    pub seq: Seq,
    /// The hash of that event's envelope.
    pub hash: Digest,
}

impl Leaf {
    /// Returns the leaf's hash in the tree.
    #[must_use]
    pub fn tree_hash(&self) -> Digest {
        tree::leaf_hash(self.to_string().as_bytes())
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.stream, self.seq, self.hash)
    }
}

/// A text is not a leaf.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeafError {
    /// It is not made of a stream, a sequence number and a hash.
    #[error("it is not of the form `kind/id seq hash`")]
    Form,
    /// The stream is not a kind and a UUID.
    #[error("`{0}` names no stream")]
    Stream(String),
    /// The sequence number is not a number from 1.
    #[error("`{0}` is not a sequence number")]
    Seq(String),
    /// The hash is not 64 hex digits.
    #[error("`{0}` is not a hash")]
    Hash(String),
    /// It says the same as a leaf that is written differently.
    #[error("it is not written as a leaf is")]
    Spelling,
}

impl FromStr for Leaf {
    type Err = LeafError;

    fn from_str(text: &str) -> Result<Self, LeafError> {
        let mut parts = text.split(' ');
        let (Some(stream), Some(seq), Some(hash), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(LeafError::Form);
        };
        let leaf = Self {
            stream: stream_id(stream).ok_or_else(|| LeafError::Stream(beginning(stream)))?,
            seq: seq
                .parse()
                .ok()
                .filter(|seq| *seq > 0)
                .map(Seq)
                .ok_or_else(|| LeafError::Seq(beginning(seq)))?,
            hash: hash.parse().map_err(|_| LeafError::Hash(beginning(hash)))?,
        };
        if leaf.to_string() == text { Ok(leaf) } else { Err(LeafError::Spelling) }
    }
}

fn stream_id(text: &str) -> Option<StreamId> {
    let (kind, id) = text.split_once('/')?;
    Some(StreamId { kind: StreamKind::from_name(kind)?, id: Uuid::parse_str(id).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "00000000000000000000000000000000000000000000000000000000000000af";

    #[test]
    fn a_leaf_is_written_in_one_way_and_read_back() {
        let text = format!("debate/6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a 42 {HASH}");
        let leaf: Leaf = text.parse().unwrap();
        assert_eq!((leaf.seq, leaf.to_string()), (Seq(42), text));
    }

    #[test]
    fn whatever_else_is_refused_with_its_reason() {
        let id = "6f1c2a4e-8d0b-4c35-9a57-0f2e1d3c4b5a";
        for (text, want) in [
            (String::new(), LeafError::Form),
            (format!("debate/{id} 4"), LeafError::Form),
            (format!("debate/{id} 4 {HASH} "), LeafError::Form),
            (format!("debates/{id} 4 {HASH}"), LeafError::Stream(format!("debates/{id}"))),
            (format!("debate/{} 4 {HASH}", id.replace('-', "")), LeafError::Spelling),
            (format!("debate/{} 4 {HASH}", id.to_uppercase()), LeafError::Spelling),
            (format!("debate/{id} 0 {HASH}"), LeafError::Seq("0".to_owned())),
            (format!("debate/{id} 04 {HASH}"), LeafError::Spelling),
            (format!("debate/{id} +4 {HASH}"), LeafError::Spelling),
            (format!("debate/{id} 4 {}", HASH.to_uppercase()), LeafError::Spelling),
            (format!("debate/{id} 4 af"), LeafError::Hash("af".to_owned())),
        ] {
            assert_eq!(text.parse::<Leaf>(), Err(want), "{text}");
        }
    }
}

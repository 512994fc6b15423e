//! Checkpoints (C2SP tlog-checkpoint): the signed size and root of the tree over all leaves.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use debate_core::id::Digest;

use crate::key::{SigningKey, VerifierKey};
use crate::leaves::Leaves;
use crate::note::{self, NoteError};

/// The size and root of the tree over all leaves, as its key's holder states them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log: the name of the key that signs it.
    pub origin: String,
    /// How many leaves the tree has.
    pub size: u64,
    /// Its root.
    pub root: Digest,
}

/// A text is not a checkpoint of the log that a key signs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// It is not a note, or not signed by the key.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// It is signed, but does not have the three lines of a checkpoint.
    #[error("the signed text is not a checkpoint: {0}")]
    Text(&'static str),
    /// It is of another log than the key.
    #[error("the checkpoint is of the log `{origin}`, the key of `{key}`")]
    Origin {
        /// The log's name.
        origin: String,
        /// The key's name.
        key: String,
    },
}

impl Checkpoint {
    /// Returns the checkpoint over leaves, unsigned.
    #[must_use]
    pub fn over(leaves: &Leaves, origin: &str) -> Self {
        Self { origin: origin.to_owned(), size: leaves.len() as u64, root: leaves.root() }
    }

    /// Returns the signed note of the checkpoint over leaves.
    #[must_use]
    pub fn sign(leaves: &Leaves, key: &SigningKey) -> String {
        note::sign(&Self::over(leaves, key.verifier().name()).to_string(), key)
    }

    /// Reads a note that a key has signed.
    ///
    /// # Errors
    /// [`CheckpointError`] says what it is instead.
    pub fn open(note: &str, key: &VerifierKey) -> Result<Self, CheckpointError> {
        let checkpoint = Self::read(note::open(note, key)?)?;
        if checkpoint.origin != key.name() {
            return Err(CheckpointError::Origin { origin: checkpoint.origin, key: key.name().to_owned() });
        }
        Ok(checkpoint)
    }

    /// Reads what a note states without checking who signed it.
    ///
    /// # Errors
    /// [`CheckpointError::Text`] where its text is not a checkpoint, [`CheckpointError::Note`] where it is no note.
    pub fn read_unchecked(note: &str) -> Result<Self, CheckpointError> {
        if note.len() > note::BYTES_MAX {
            return Err(NoteError::TooLong.into());
        }
        let end = note.rfind("\n\n").ok_or(NoteError::Unsigned)? + 1;
        Self::read(&note[..end])
    }

    /// Reads the text of a note. Lines after the third are signed too, but say nothing here.
    fn read(text: &str) -> Result<Self, CheckpointError> {
        let text = text.strip_suffix('\n').ok_or(CheckpointError::Text("its last line is not ended"))?;
        let mut lines = text.split('\n');
        let origin = lines.next().filter(|origin| !origin.is_empty());
        let origin = origin.ok_or(CheckpointError::Text("it names no log"))?.to_owned();
        let size = lines.next().and_then(|line| {
            let size: u64 = line.parse().ok()?;
            (size.to_string() == line).then_some(size)
        });
        let size = size.ok_or(CheckpointError::Text("its second line is not a size"))?;
        let root = lines.next().and_then(|line| STANDARD.decode(line).ok()?.try_into().ok());
        let root = Digest(root.ok_or(CheckpointError::Text("its third line is not a root"))?);
        if lines.any(str::is_empty) {
            return Err(CheckpointError::Text("it has an empty line"));
        }
        Ok(Self { origin, size, root })
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, STANDARD.encode(self.root.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> SigningKey {
        SigningKey::new("debates.example.org", [7; 32]).unwrap()
    }

    #[test]
    fn a_checkpoint_is_opened_as_it_was_signed() {
        let note = Checkpoint::sign(&Leaves::default(), &key());
        let checkpoint = Checkpoint::open(&note, key().verifier()).unwrap();
        assert_eq!(checkpoint, Checkpoint::over(&Leaves::default(), "debates.example.org"));
        assert_eq!(Checkpoint::read_unchecked(&note), Ok(checkpoint));
        assert!(note.starts_with("debates.example.org\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n\n"));
    }

    #[test]
    fn what_is_signed_but_no_checkpoint_is_refused_with_its_reason() {
        let root = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        for (text, want) in [
            (format!("debates.example.org\n0\n{root}\nmore\n"), Ok(())),
            (format!("\n0\n{root}\n"), Err(CheckpointError::Text("it names no log"))),
            (
                format!("other\n0\n{root}\n"),
                Err(CheckpointError::Origin {
                    origin: "other".to_owned(),
                    key: "debates.example.org".to_owned(),
                }),
            ),
            (format!("a\n00\n{root}\n"), Err(CheckpointError::Text("its second line is not a size"))),
            ("a\n0\nAA==\n".to_owned(), Err(CheckpointError::Text("its third line is not a root"))),
            ("a\n0\n".to_owned(), Err(CheckpointError::Text("its third line is not a root"))),
            (format!("a\n0\n{root}\n\nb\n"), Err(CheckpointError::Text("it has an empty line"))),
        ] {
            let opened = Checkpoint::open(&note::sign(&text, &key()), key().verifier());
            assert_eq!(opened.map(|_| ()), want, "{text}");
        }
    }
}

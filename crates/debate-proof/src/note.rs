//! Signed notes (C2SP signed-note): a text, an empty line, and a line for each signature.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::key::{SigningKey, VerifierKey};

/// The most bytes of a note; one of ours has under 300.
pub const BYTES_MAX: usize = 64 * 1024;

/// A note is not one, or is not signed by the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// It is longer than [`BYTES_MAX`].
    #[error("the note is longer than {BYTES_MAX} bytes")]
    TooLong,
    /// It has control characters other than line feeds in it.
    #[error("the note has control characters in it")]
    Control,
    /// It has no empty line between text and signatures, or does not end with a line feed.
    #[error("the note has no signatures after an empty line")]
    Unsigned,
    /// A line of signatures is none.
    #[error("line {line} of the note is not a signature")]
    Line {
        /// The line, from 1.
        line: usize,
    },
    /// No signature is of this key.
    #[error("the note is not signed by {key}")]
    OtherKey {
        /// The key, as it is written.
        key: String,
    },
    /// The key's signature is not over this text: text or signature was changed.
    #[error("the signature by {name} does not match the note")]
    Signature {
        /// The key's name.
        name: String,
    },
}

/// Returns the note of a text, which must end with a line feed, with one signature.
pub(crate) fn sign(text: &str, key: &SigningKey) -> String {
    let verifier = key.verifier();
    let signature = STANDARD.encode([verifier.id().as_slice(), &key.sign(text)].concat());
    format!("{text}\n\u{2014} {} {signature}\n", verifier.name())
}

/// Returns the text of a note that the key has signed. Signatures of other keys are not looked at.
pub(crate) fn open<'n>(note: &'n str, key: &VerifierKey) -> Result<&'n str, NoteError> {
    if note.len() > BYTES_MAX {
        return Err(NoteError::TooLong);
    }
    if note.contains(|c: char| c.is_ascii_control() && c != '\n') {
        return Err(NoteError::Control);
    }
    let end = note.rfind("\n\n").ok_or(NoteError::Unsigned)? + 1;
    let (text, signatures) = note.split_at(end);
    let signatures = signatures[1..].strip_suffix('\n').ok_or(NoteError::Unsigned)?;
    let first = text.lines().count() + 2;
    let mut is_signed = false;
    for (index, line) in signatures.split('\n').enumerate() {
        let (name, bytes) = signature(line).ok_or(NoteError::Line { line: first + index })?;
        if name != key.name() || bytes[..4] != key.id() {
            continue;
        }
        if !key.has_signed(text, &bytes[4..]) {
            return Err(NoteError::Signature { name: name.to_owned() });
        }
        is_signed = true;
    }
    if is_signed { Ok(text) } else { Err(NoteError::OtherKey { key: key.to_string() }) }
}

/// Splits a line into the name of a key and its id with its signature.
fn signature(line: &str) -> Option<(&str, Vec<u8>)> {
    let (name, encoded) = line.strip_prefix("\u{2014} ")?.split_once(' ')?;
    let bytes = STANDARD.decode(encoded).ok().filter(|bytes| bytes.len() > 4)?;
    (!name.is_empty()).then_some((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> SigningKey {
        SigningKey::new(name, [7; 32]).unwrap()
    }

    #[test]
    fn a_note_is_opened_by_the_key_that_signed_it_alone() {
        let note = sign("one\ntwo\n", &key("a"));
        assert_eq!(open(&note, key("a").verifier()), Ok("one\ntwo\n"));
        assert!(matches!(open(&note, key("b").verifier()), Err(NoteError::OtherKey { .. })));
        let other = SigningKey::new("a", [8; 32]).unwrap();
        assert!(matches!(open(&note, other.verifier()), Err(NoteError::OtherKey { .. })));
    }

    #[test]
    fn a_note_of_another_project_is_opened() {
        // The example of the package golang.org/x/mod/sumdb/note, signed by two keys.
        let peter: VerifierKey =
            "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW".parse().unwrap();
        let text = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
        let note = format!(
            "{text}\n\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
        );
        assert_eq!(open(&note, &peter), Ok(text));
    }

    #[test]
    fn other_signatures_are_passed_over_but_must_be_signatures() {
        let (a, b) = (key("a"), key("b"));
        let note = sign("one\n", &a);
        let second = sign("one\n", &b).split_once("\n\n").unwrap().1.to_owned();
        let both = format!("{note}{second}");
        assert_eq!(open(&both, a.verifier()), Ok("one\n"));
        assert_eq!(open(&both, b.verifier()), Ok("one\n"));
        assert_eq!(open(&format!("{note}x\n"), a.verifier()), Err(NoteError::Line { line: 4 }));
    }

    #[test]
    fn every_way_of_being_no_note_has_its_name() {
        let key = key("a");
        let note = sign("one\n", &key);
        let error = |note: &str| open(note, key.verifier()).unwrap_err();
        assert_eq!(error(&note.replace("one", "two")), NoteError::Signature { name: "a".to_owned() });
        assert_eq!(error(&note.replace("one", "o\re")), NoteError::Control);
        assert_eq!(error("one\n"), NoteError::Unsigned);
        assert_eq!(error(note.trim_end()), NoteError::Unsigned);
        assert_eq!(error(&"x".repeat(BYTES_MAX + 1)), NoteError::TooLong);
    }
}

//! The name of a reviewer as part of a file's name: whatever could lead anywhere else is refused (rule V7).

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::envelope::{StreamId, StreamKind};
use crate::id::{Digest, NAME_CHARS_MAX, Role, is_name};

/// A reviewer's name that is safe as the beginning of a file's name: 1–64 ASCII letters, digits, `_`, `-` and `.`, the
/// first a letter or digit, no two full stops in a row and none at the end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct ReviewerName(String);

/// A text is not a reviewer's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is no reviewer's name: write 1 to {NAME_CHARS_MAX} ASCII letters, digits, underscores, hyphens or single full stops, a letter or digit first"
)]
pub struct ReviewerNameError {
    /// The text, or as much of it as a name may have.
    pub name: String,
}

impl ReviewerName {
    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the reviewer as debates name it.
    #[must_use]
    pub fn role(&self) -> Role {
        Role::from(self.as_str())
    }

    /// Returns the stream in which the proposals for this reviewer of a tenant are recorded.
    #[must_use]
    pub fn stream(&self, tenant: &str) -> StreamId {
        let Digest(digest) = Digest::of_parts([b"policy".as_slice(), tenant.as_bytes(), self.0.as_bytes()]);
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&digest[..16]);
        StreamId { kind: StreamKind::Policy, id: uuid::Builder::from_custom_bytes(bytes).into_uuid() }
    }
}

impl FromStr for ReviewerName {
    type Err = ReviewerNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_name = is_name(text)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && !text.contains("..")
            && !text.ends_with('.');
        if is_name {
            return Ok(Self(text.to_owned()));
        }
        Err(ReviewerNameError { name: text.chars().take(NAME_CHARS_MAX).collect() })
    }
}

impl fmt::Display for ReviewerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v7_a_name_that_could_lead_elsewhere_is_no_name() {
        for name in ["security", "a", "a.b-c_d", "9lives", &"x".repeat(64)] {
            assert_eq!(name.parse::<ReviewerName>().unwrap().as_str(), name);
        }
        for c in '\0'..='\u{ff}' {
            let is_name = format!("a{c}b").parse::<ReviewerName>().is_ok();
            assert_eq!(is_name, c.is_ascii_alphanumeric() || "-_.".contains(c), "{c:?}");
        }
        let long = "x".repeat(65);
        for name in [
            "",
            ".",
            "..",
            "../security",
            "/etc/passwd",
            "a/b",
            "a\\b",
            "C:\\x",
            "a\0",
            "a\0/../b",
            ".hidden",
            "-rf",
            "_x",
            "a..b",
            "a.",
            "a b",
            "a\n",
            "~",
            "a:b",
            "%2e%2e%2f",
            "..%2f",
            &long,
            // A fraction slash, a division slash, two leaders, a Cyrillic letter, full-width stops, a joiner.
            "a\u{2044}b",
            "a\u{2215}b",
            "a\u{2024}\u{2024}b",
            "s\u{0435}curity",
            "\u{ff0e}\u{ff0e}\u{ff0f}x",
            "a\u{200d}b",
            "\u{202e}txt",
        ] {
            let refused = name.parse::<ReviewerName>().unwrap_err();
            assert!(refused.name.chars().count() <= 64, "{name:?}");
        }
    }

    #[test]
    fn a_reviewer_has_a_stream_of_its_own_for_each_tenant() {
        let name = |name: &str| name.parse::<ReviewerName>().unwrap();
        assert_eq!(name("a").stream(""), name("a").stream(""));
        assert_ne!(name("a").stream(""), name("b").stream(""));
        assert_ne!(name("a").stream(""), name("a").stream("t"));
    }
}

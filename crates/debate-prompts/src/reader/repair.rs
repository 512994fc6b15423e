//! What can be repaired in a reply.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest key quoted in a repair, in characters.
const KEY_CHARS_MAX: usize = 64;

/// Repairs listed at most for one reply.
const REPAIRS_MAX: usize = 32;

/// Something that was repaired to read a reply.
///
/// Holds facts only, no prose of the reply except keys, shortened to 64 characters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "repair", rename_all = "snake_case")]
pub enum Repair {
    /// Private thinking was left aside.
    ThinkingRemoved,
    /// A code fence was left aside.
    FenceRemoved,
    /// Prose around the object was left aside.
    TextAroundRemoved,
    /// Other objects in the reply were left aside.
    OtherObjectsIgnored {
        /// How many.
        objects: usize,
    },
    /// The object was escaped, as if inside a string.
    Unescaped,
    /// A key came twice; the last value counts.
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// The reply ends inside the object.
    Truncated {
        /// The key whose value was being read, or none between members.
        key: Option<String>,
    },
    /// The reply was cut: what it leaves open was not taken.
    Cut,
    /// A key without a value; it reads as null.
    MissingValue {
        /// The key.
        key: String,
    },
    /// Text in quotes other than `"`.
    OtherQuotes,
    /// Quotes inside a text were not escaped.
    UnescapedQuotes,
    /// A text whose end was not marked.
    MissingQuote {
        /// The key whose value it is, if any.
        key: Option<String>,
    },
    /// A key without quotes.
    UnquotedKey,
    /// A text without quotes.
    UnquotedText {
        /// The key whose value it is, if any.
        key: Option<String>,
    },
    /// Texts joined with `+`.
    JoinedTexts,
    /// Control characters inside a text.
    ControlCharacter,
    /// An escape that JSON does not know.
    UnknownEscape,
    /// A comma missing, doubled or trailing.
    Comma,
    /// A colon missing.
    MissingColon,
    /// A bracket missing, superfluous or of the wrong kind.
    Bracket,
    /// White space that JSON does not know.
    Blank,
    /// A comment.
    Comment,
    /// An ellipsis in place of members or items.
    Ellipsis,
    /// A literal that JSON spells otherwise, such as `True` or `NaN` (read as null).
    Literal,
    /// A number in a notation JSON does not know.
    Number,
    /// Something between members or items that has no meaning there.
    Dropped,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ThinkingRemoved => f.write_str("left private thinking aside"),
            Self::FenceRemoved => f.write_str("left a code fence aside"),
            Self::TextAroundRemoved => f.write_str("left prose around the object aside"),
            Self::OtherObjectsIgnored { objects } => write!(f, "ignored {objects} other objects"),
            Self::Unescaped => f.write_str("unescaped the whole object"),
            Self::DuplicateKey { key } => write!(f, "took the last of several values for {key:?}"),
            Self::Truncated { key: Some(key) } => write!(f, "reply ends inside {key:?}"),
            Self::Truncated { key: None } => f.write_str("reply ends inside the object"),
            Self::Cut => f.write_str("took only what the reply completes"),
            Self::MissingValue { key } => write!(f, "no value for {key:?}"),
            Self::OtherQuotes => f.write_str("read other quotes"),
            Self::UnescapedQuotes => f.write_str("escaped quotes inside a text"),
            Self::MissingQuote { key: Some(key) } => write!(f, "closed the text of {key:?}"),
            Self::MissingQuote { key: None } => f.write_str("closed a text"),
            Self::UnquotedKey => f.write_str("quoted a key"),
            Self::UnquotedText { key: Some(key) } => write!(f, "quoted the text of {key:?}"),
            Self::UnquotedText { key: None } => f.write_str("quoted a text"),
            Self::JoinedTexts => f.write_str("joined texts"),
            Self::ControlCharacter => f.write_str("escaped control characters"),
            Self::UnknownEscape => f.write_str("read an unknown escape as text"),
            Self::Comma => f.write_str("put commas right"),
            Self::MissingColon => f.write_str("added a colon"),
            Self::Bracket => f.write_str("put brackets right"),
            Self::Blank => f.write_str("read other white space"),
            Self::Comment => f.write_str("left a comment aside"),
            Self::Ellipsis => f.write_str("left an ellipsis aside"),
            Self::Literal => f.write_str("respelled a literal"),
            Self::Number => f.write_str("respelled a number"),
            Self::Dropped => f.write_str("dropped something without meaning"),
        }
    }
}

/// Collects repairs, each once.
#[derive(Debug, Default)]
pub(super) struct Repairs(Vec<Repair>);

impl Repairs {
    pub(super) fn note(&mut self, repair: Repair) {
        if self.0.len() < REPAIRS_MAX && !self.0.contains(&repair) {
            self.0.push(repair);
        }
    }

    pub(super) fn into_vec(self) -> Vec<Repair> {
        self.0
    }
}

/// Returns `key`, shortened for a repair.
pub(super) fn quoted_key(key: &str) -> String {
    key.chars().take(KEY_CHARS_MAX).collect()
}

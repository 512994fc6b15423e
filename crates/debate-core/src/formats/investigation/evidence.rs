//! What counts as evidence (rule I2): something concrete that others can look up.

use serde::{Deserialize, Serialize};
use serde_json::json;

/// The tool that compares evidence with the file or the commit that it is of (rule I10).
pub const CHECK_TOOL: &str = "check_quote";
/// The tools that an investigator may ask for by name.
pub const TOOLS: [&str; 5] = ["read_file", "search", "git_log", "git_blame", CHECK_TOOL];
/// What the log has for a tool of any other name: names are facts, which stay when words are deleted.
pub const OTHER_TOOL: &str = "_OTHER";
/// How its result begins where the words stand there.
pub const VERIFIED: &str = "verified";
/// How its result begins where they do not.
pub const REFUTED: &str = "refuted";

/// The fewest characters of a quotation of a file that are compared: a bracket stands in every file.
const QUOTE_CHARS_MIN: usize = 4;
/// The fewest hexadecimal digits of a commit.
const COMMIT_DIGITS_MIN: usize = 6;
/// The most hexadecimal digits of a commit.
const COMMIT_DIGITS_MAX: usize = 64;

/// What a piece of evidence points to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A line of a file.
    FileLine,
    /// A commit.
    Commit,
    /// What a command printed.
    CommandOutput,
    /// A test that passes or fails.
    Test,
    /// Figures.
    Data,
}

impl EvidenceKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [Self::FileLine, Self::Commit, Self::CommandOutput, Self::Test, Self::Data];

    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FileLine => "file_line",
            Self::Commit => "commit",
            Self::CommandOutput => "command_output",
            Self::Test => "test",
            Self::Data => "data",
        }
    }

    /// Reads a name back.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// One piece of evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// What it points to, where the message says so.
    pub kind: Option<EvidenceKind>,
    /// Where to look it up: `src/auth.rs:42`, a commit, a command, a test's name.
    pub pointer: String,
    /// What stands there, word for word; may be empty.
    pub quote: String,
    /// What it shows.
    pub claim: String,
}

/// What a look at the real thing has shown (rule I10).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// Not checked.
    #[default]
    Unverified,
    /// It stands there.
    Verified,
    /// It does not stand there.
    Refuted,
}

impl Check {
    /// Returns the name used in the log and on every interface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Verified => "verified",
            Self::Refuted => "refuted",
        }
    }
}

impl Evidence {
    /// Returns what the evidence points to if that is something concrete, `None` where it is no evidence (rule I2).
    ///
    /// A line of a file needs its path and number, a commit its hexadecimal name, a command's output and figures the very
    /// words quoted, a test its name in one word or what it printed. Evidence that does not say its kind has that of its pointer, if it is a line of a
    /// file or a commit.
    #[must_use]
    pub fn concrete(&self) -> Option<EvidenceKind> {
        let pointer = self.pointer.trim();
        let is_quoted = !self.quote.trim().is_empty();
        let kind = self.kind.or_else(|| {
            let of_pointer = [EvidenceKind::FileLine, EvidenceKind::Commit].into_iter();
            of_pointer.into_iter().find(|kind| points_to(*kind, pointer, is_quoted))
        })?;
        points_to(kind, pointer, is_quoted).then_some(kind)
    }

    /// Returns path and line of a pointer such as `src/auth.rs:42` or `src/auth.rs:42-50`, the first line counting.
    #[must_use]
    pub fn file_line(&self) -> Option<(&str, u32)> {
        file_line(self.pointer.trim())
    }

    /// Returns whether both point to the same place: the same line of the same file, else the same words.
    #[must_use]
    pub fn is_of_same_place(&self, other: &Self) -> bool {
        let place = |evidence: &Self| {
            let (path, line) = evidence.file_line()?;
            Some((path.trim_start_matches("./").to_lowercase(), line))
        };
        match (place(self), place(other)) {
            (Some(one), Some(other)) => one == other,
            (None, None) => self.pointer.trim().eq_ignore_ascii_case(other.pointer.trim()),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }

    /// Returns the arguments with which [`CHECK_TOOL`] is asked about this evidence: a quoted line of a file, or a commit
    /// with what is quoted of it, which may be nothing. `None` where there is nothing to compare, or so little that it
    /// stands anywhere.
    #[must_use]
    pub fn check_arguments(&self) -> Option<String> {
        match self.concrete()? {
            EvidenceKind::FileLine if self.quote.trim().chars().count() < QUOTE_CHARS_MIN => None,
            EvidenceKind::FileLine => {
                let (path, line) = self.file_line()?;
                Some(json!({ "path": path, "line": line, "quote": self.quote }).to_string())
            }
            EvidenceKind::Commit => {
                let commit = commit(&self.pointer)?;
                Some(json!({ "commit": commit, "quote": self.quote }).to_string())
            }
            EvidenceKind::CommandOutput | EvidenceKind::Test | EvidenceKind::Data => None,
        }
    }
}

fn points_to(kind: EvidenceKind, pointer: &str, is_quoted: bool) -> bool {
    match kind {
        EvidenceKind::FileLine => file_line(pointer).is_some(),
        EvidenceKind::Commit => commit(pointer).is_some(),
        EvidenceKind::CommandOutput | EvidenceKind::Data => !pointer.is_empty() && is_quoted,
        EvidenceKind::Test => {
            let is_name = !pointer.contains(char::is_whitespace) && pointer.contains(char::is_alphabetic);
            is_name || !pointer.is_empty() && is_quoted
        }
    }
}

fn file_line(pointer: &str) -> Option<(&str, u32)> {
    let pointer = pointer.trim_matches('`');
    let (path, lines) = pointer.rsplit_once([':', '：'])?;
    let (path, lines) = (path.trim(), lines.trim().trim_start_matches(['L', 'l']));
    let first = lines.split(['-', '–']).next().unwrap_or(lines);
    let line: u32 = first.parse().ok().filter(|line| *line > 0)?;
    let is_name = path.contains(['/', '\\', '.']) || !path.contains(char::is_whitespace);
    let is_path = is_name && path.contains(char::is_alphabetic) && !path.contains("://");
    is_path.then_some((path, line))
}

fn commit(pointer: &str) -> Option<&str> {
    pointer.split(|c: char| !c.is_ascii_alphanumeric()).find(|word| is_commit(word))
}

fn is_commit(word: &str) -> bool {
    (COMMIT_DIGITS_MIN..=COMMIT_DIGITS_MAX).contains(&word.len())
        && word.chars().all(|c| c.is_ascii_hexdigit())
        && word.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i2_only_what_can_be_looked_up_is_evidence() {
        use EvidenceKind::{CommandOutput, Commit, Data, FileLine, Test};
        let table = [
            (Some(FileLine), "auth.ts:42", "", Some(FileLine)),
            (Some(FileLine), "src/a b.rs:7-9", "", Some(FileLine)),
            (Some(FileLine), "auth.ts", "let x;", None),
            (Some(FileLine), "the auth module: 42 lines", "", None),
            (Some(FileLine), "auth.ts:0", "", None),
            (Some(FileLine), "Makefile:7", "", Some(FileLine)),
            (Some(FileLine), "the auth module:42", "", None),
            (Some(FileLine), "12:30", "", None),
            (Some(Commit), "commit abc123", "", Some(Commit)),
            (Some(Commit), "the latest changes", "", None),
            (Some(CommandOutput), "cargo test", "1 failed", Some(CommandOutput)),
            (Some(CommandOutput), "cargo test", " ", None),
            (Some(Test), "test_login_expires", "", Some(Test)),
            (Some(Test), "", "passes", None),
            (Some(Test), "in theory this should fail", "", None),
            (Some(Test), "login expires after an hour", "FAILED", Some(Test)),
            (Some(Test), "42", "", None),
            (Some(Data), "heap profile, minute 3", "812 MiB", Some(Data)),
            (Some(Data), "heap profile", "", None),
            (None, "`auth.ts:L42`", "", Some(FileLine)),
            (None, "9f8e7d6c5b", "", Some(Commit)),
            (None, "decade", "", None),
            (None, "I think it is null", "null", None),
        ];
        for (kind, pointer, quote, expected) in table {
            let [pointer, quote] = [pointer, quote].map(str::to_owned);
            let evidence = Evidence { kind, pointer, quote, claim: String::new() };
            assert_eq!(evidence.concrete(), expected, "{evidence:?}");
        }
    }

    #[test]
    fn i10_what_stands_in_files_and_commits_can_be_checked() {
        use EvidenceKind::{Commit, Data, FileLine, Test};
        let table = [
            (FileLine, "a/b.rs:3", "let \"x\"", Some(r#"{"path":"a/b.rs","line":3,"quote":"let \"x\""}"#)),
            (FileLine, "a/b.rs:3", "", None),
            (FileLine, "a/b.rs:3", " }; ", None),
            (Commit, "commit 9f8e7d6c5b (auth)", "", Some(r#"{"commit":"9f8e7d6c5b","quote":""}"#)),
            (Commit, "9f8e7d6c5b", "expire", Some(r#"{"commit":"9f8e7d6c5b","quote":"expire"}"#)),
            (Commit, "the latest", "expire", None),
            (Test, "a/b.rs:3", "x", None),
            (Data, "heap", "812 MiB", None),
        ];
        for (kind, pointer, quote, expected) in table {
            let [pointer, quote] = [pointer, quote].map(str::to_owned);
            let evidence = Evidence { kind: Some(kind), pointer, quote, claim: String::new() };
            assert_eq!(evidence.check_arguments().as_deref(), expected, "{evidence:?}");
        }
    }

    #[test]
    fn i5_places_are_the_same_however_they_are_written() {
        let at = |pointer: &str| Evidence { pointer: pointer.to_owned(), ..Evidence::default() };
        for (one, other, expected) in [
            ("src/c.rs:9", "./src/c.rs:9-10", true),
            ("`src/c.rs:L9`", "src/C.rs:9", true),
            ("src/c.rs:9", "src/c.rs:10", false),
            ("cargo test", " Cargo test", true),
            ("cargo test", "src/c.rs:9", false),
        ] {
            assert_eq!(at(one).is_of_same_place(&at(other)), expected, "{one} and {other}");
        }
    }
}

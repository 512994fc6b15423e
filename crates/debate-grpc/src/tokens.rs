//! Service tokens in a file: who may come in, for which tenant, to do what, within which limits.
//!
//! A token is 256 random bits, so a fast keyed hash of it is stored: such a token cannot be guessed, however fast the hash,
//! and a slow hash would let strangers keep the server busy with wrong tokens. The key, drawn for each file, keeps hashes
//! of different files from being compared. It does not protect the hashes from a reader of the file, and need not.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::{fmt, str};

use debate_core::formats::any::FORMATS;
use debate_core::id::{Digest, Timestamp};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

/// How every token begins, so that scanners for leaked secrets know it.
const PREFIX: &str = "dbt";
/// Hex digits of a token's public id.
const ID_DIGITS: usize = 12;
/// Characters of the name of a client or tenant.
const NAME_CHARS_MAX: usize = 64;
/// Names that the log uses for callers without a token.
const RESERVED: [&str; 5] = ["engine", "cli", "grpc", "rest", "mcp"];
/// Bytes of a file of tokens: some three thousand fit.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// What a token lets its bearer do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// See debates, their results and their events as they happen.
    Read,
    /// Start, fork and control debates.
    Write,
    /// Read logs to the byte, fold them again, check and export them.
    Audit,
    /// Delete words for good, and everything else.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Audit, Self::Admin];

    /// Returns the name used in files and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Audit => "audit",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl str::FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| "must be read, write, audit or admin".to_owned())
    }
}

/// What the bearer of a token may use; where nothing is said, what the server gives everybody.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenLimits {
    /// Requests in a minute, spread evenly; ten seconds' worth may come at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<NonZeroU32>,
    /// Requests at one time, streams included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_at_once: Option<NonZeroU32>,
    /// Debates that run at one time, those included that wait for their turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debates_at_once: Option<NonZeroU32>,
    /// Bytes of one request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_bytes_max: Option<NonZeroU32>,
    /// What one debate may cost, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub debate_cost_micros_max: Option<u64>,
    /// What all debates may cost that the client opens, or goes on with, within 24 hours, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_cost_micros_max: Option<u64>,
}

/// What is said of a new token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenWishes {
    /// The client's name, under which the log has what it does; several tokens may have the same.
    pub name: String,
    /// Whose debates it sees; empty for the only tenant.
    pub tenant: String,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// The formats that it may start, fork and let go on; all of them where none is named.
    pub formats: BTreeSet<String>,
    /// What it may use.
    pub limits: TokenLimits,
    /// When it ends by itself.
    pub expires_at: Option<Timestamp>,
}

/// A token as the file has it: everything but the token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// Names the token; the second part of it.
    pub id: String,
    /// The client's name.
    pub name: String,
    /// Whose debates it sees; empty for the only tenant.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// What it may do.
    pub scopes: BTreeSet<Scope>,
    /// The formats that it may start, fork and let go on; all of them where none is named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub formats: BTreeSet<String>,
    /// What it may use.
    #[serde(default)]
    pub limits: TokenLimits,
    /// When it was made, in milliseconds since 1970.
    pub created_at: Timestamp,
    /// When it ends by itself, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    hash: Digest,
}

/// A file of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenFile {
    key: Digest,
    tokens: Vec<TokenEntry>,
}

/// A file of tokens cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum TokenFileError {
    /// It cannot be read.
    #[error("cannot read tokens from {}", .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Others than its owner may write it, so that anybody of them could make tokens.
    #[error("{} may be written by others; use chmod 600", .path.display())]
    Exposed {
        /// Which file.
        path: PathBuf,
    },
    /// It is not a file of tokens.
    #[error("{} is no file of tokens: {why}", .path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// It cannot be written; the tokens are as they were.
    #[error("cannot write tokens to {}", .path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A changed file could not belong to whom this one belongs to; the tokens are as they were.
    #[error("{} belongs to {owner}:{group} and would not any more; change it as its owner or as root", .path.display())]
    Owner {
        /// Which file.
        path: PathBuf,
        /// Its owner, by number.
        owner: u32,
        /// Its group, by number.
        group: u32,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody changes it just now.
    #[error("{} is being changed; try again, and if no process is changing it, remove {}", .path.display(), .temporary.display())]
    Busy {
        /// Which file.
        path: PathBuf,
        /// The file that is in the way.
        temporary: PathBuf,
    },
    /// What is asked of a new token cannot be.
    #[error("{0}")]
    Wishes(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers")]
    Random,
}

impl TokenFile {
    /// Makes a file without tokens.
    ///
    /// # Errors
    /// The system gives no random numbers.
    pub fn new() -> Result<Self, TokenFileError> {
        Ok(Self { key: Digest(random()?), tokens: Vec::new() })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, others may write it, or it is not a file of tokens.
    pub fn read(path: &Path) -> Result<Self, TokenFileError> {
        let refuse = |source| TokenFileError::Read { path: path.to_owned(), source };
        let about = fs::metadata(path).map_err(refuse)?;
        if is_exposed(&about) {
            return Err(TokenFileError::Exposed { path: path.to_owned() });
        }
        let content = |why: String| TokenFileError::Content { path: path.to_owned(), why };
        if about.len() > FILE_BYTES_MAX {
            return Err(content(format!("it has more than {FILE_BYTES_MAX} bytes")));
        }
        let text = fs::read_to_string(path).map_err(refuse)?;
        let file: Self = serde_json::from_str(&text).map_err(|error| content(error.to_string()))?;
        let mut ids = BTreeSet::new();
        for entry in &file.tokens {
            let wishes = TokenWishes {
                name: entry.name.clone(),
                tenant: entry.tenant.clone(),
                scopes: entry.scopes.clone(),
                formats: entry.formats.clone(),
                limits: entry.limits,
                expires_at: entry.expires_at,
            };
            wishes.check().map_err(|why| content(format!("token {}: {why}", entry.id)))?;
            if !ids.insert(&entry.id) {
                return Err(content(format!("there are two tokens {}", entry.id)));
            }
        }
        Ok(file)
    }

    /// Changes a file as a whole or not at all, one caller at a time. Creates it if there is none. Who may read it stays the
    /// same: its owner, its group and its mode.
    ///
    /// # Errors
    /// The file cannot be used, somebody else changes it, it would get another owner or group, or `change` fails.
    pub fn change<T>(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, TokenFileError>,
    ) -> Result<T, TokenFileError> {
        // A server that opens the file by its own name would keep reading the old one if a link to it were replaced.
        let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".new");
        let temporary = PathBuf::from(temporary);
        let refuse = |source| TokenFileError::Write { path: path.to_owned(), source };
        let mut opened = private().open(&temporary);
        if opened.is_err() && is_left_over(&temporary) {
            opened = fs::remove_file(&temporary).and_then(|()| private().open(&temporary));
        }
        let busy = || TokenFileError::Busy { path: path.to_owned(), temporary: temporary.clone() };
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => busy(),
            _ => refuse(error),
        })?;
        // Other processes see by this lock whether the file is still being written.
        file.try_lock().map_err(|_| busy())?;
        let changed = Self::rewrite(path, &file, change);
        let kept = changed.and_then(|done| fs::rename(&temporary, path).map(|()| done).map_err(refuse));
        if kept.is_err() {
            let _gone = fs::remove_file(&temporary);
        }
        kept
    }

    fn rewrite<T>(
        path: &Path,
        mut into: &File,
        change: impl FnOnce(&mut Self) -> Result<T, TokenFileError>,
    ) -> Result<T, TokenFileError> {
        let refuse = |source| TokenFileError::Write { path: path.to_owned(), source };
        let is_there = path.exists();
        let mut tokens = if is_there { Self::read(path)? } else { Self::new()? };
        let done = change(&mut tokens)?;
        if is_there {
            hand_over(path, into)?;
        }
        let mut text = serde_json::to_string_pretty(&tokens).expect("tokens have string keys");
        text.push('\n');
        into.write_all(text.as_bytes()).and_then(|()| into.sync_all()).map_err(refuse)?;
        Ok(done)
    }

    /// Returns the tokens, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[TokenEntry] {
        &self.tokens
    }

    /// Makes a token and returns it. It cannot be read again.
    ///
    /// # Errors
    /// What is wished for cannot be.
    pub fn create(&mut self, wishes: TokenWishes, now: Timestamp) -> Result<String, TokenFileError> {
        self.create_of(random, wishes, now)
    }

    /// Makes a token of an id, which everybody may read, and a secret, each drawn for itself.
    fn create_of(
        &mut self,
        mut draw: impl FnMut() -> Result<[u8; 32], TokenFileError>,
        wishes: TokenWishes,
        now: Timestamp,
    ) -> Result<String, TokenFileError> {
        wishes.check().map_err(TokenFileError::Wishes)?;
        let id = loop {
            let id = Digest(draw()?).to_string()[..ID_DIGITS].to_owned();
            if self.tokens.iter().all(|entry| entry.id != id) {
                break id;
            }
        };
        let token = format!("{PREFIX}_{id}_{}", Digest(draw()?));
        let tag = hmac::sign(&self.hasher(), token.as_bytes());
        let hash = Digest(tag.as_ref().try_into().expect("HMAC-SHA-256 has 32 bytes"));
        let TokenWishes { name, tenant, scopes, formats, limits, expires_at } = wishes;
        let entry =
            TokenEntry { id, name, tenant, scopes, formats, limits, created_at: now, expires_at, hash };
        self.tokens.push(entry);
        Ok(token)
    }

    /// Removes the token of an id, or all of a name; returns those that were there.
    pub fn revoke(&mut self, id_or_name: &str) -> Vec<TokenEntry> {
        let is_it = |entry: &mut TokenEntry| entry.id == id_or_name || entry.name == id_or_name;
        self.tokens.extract_if(.., is_it).collect()
    }

    /// Returns what a token stands for, in a time that does not depend on where it is wrong.
    #[must_use]
    pub fn find(&self, token: &str) -> Option<&TokenEntry> {
        let mut parts = token.split('_');
        let id = parts.next().filter(|prefix| *prefix == PREFIX).and_then(|_| parts.next());
        let entry = id.and_then(|id| self.tokens.iter().find(|entry| entry.id == id));
        let hash = entry.map_or(self.key, |entry| entry.hash);
        let is_it = hmac::verify(&self.hasher(), token.as_bytes(), &hash.0).is_ok();
        entry.filter(|_| is_it)
    }

    /// Returns whether another file's hashes are made with the same key.
    pub(crate) fn has_key_of(&self, other: &Self) -> bool {
        self.key == other.key
    }

    fn hasher(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.key.0)
    }
}

impl TokenWishes {
    fn check(&self) -> Result<(), String> {
        let is_word = |text: &str| {
            text.len() <= NAME_CHARS_MAX
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@".contains(c))
        };
        let mut wrong = Vec::new();
        if self.name.is_empty() || !is_word(&self.name) {
            wrong.push(format!("name must have 1 to {NAME_CHARS_MAX} letters, digits, or any of - _ . @"));
        }
        if RESERVED.contains(&self.name.as_str()) {
            wrong.push(format!("name must not be any of {}", RESERVED.join(", ")));
        }
        if !is_word(&self.tenant) {
            wrong.push(format!(
                "tenant must have at most {NAME_CHARS_MAX} letters, digits, or any of - _ . @"
            ));
        }
        if self.scopes.is_empty() {
            wrong.push("scopes must name at least one of read, write, audit, admin".to_owned());
        }
        let unknown = self.formats.iter().filter(|format| !FORMATS.contains(&format.as_str()));
        wrong.extend(unknown.map(|format| format!("there is no format {format:?}")));
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }
}

fn random() -> Result<[u8; 32], TokenFileError> {
    let mut bytes = [0; 32];
    SystemRandom::new().fill(&mut bytes).map_err(|_| TokenFileError::Random)?;
    Ok(bytes)
}

/// Returns whether a file was left behind by a process that ended: no process has it locked.
fn is_left_over(temporary: &Path) -> bool {
    let is_file = temporary.symlink_metadata().is_ok_and(|about| about.is_file());
    is_file && File::open(temporary).is_ok_and(|file| file.try_lock().is_ok())
}

#[cfg(unix)]
fn private() -> fs::OpenOptions {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    options
}

#[cfg(not(unix))]
fn private() -> fs::OpenOptions {
    let mut options = File::options();
    options.write(true).create_new(true);
    options
}

/// Gives a file that is to replace another the mode, the owner and the group of that one.
#[cfg(unix)]
fn hand_over(path: &Path, to: &File) -> Result<(), TokenFileError> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let refuse = |source| TokenFileError::Write { path: path.to_owned(), source };
    let (old, new) = (fs::metadata(path).map_err(refuse)?, to.metadata().map_err(refuse)?);
    // While it is still empty, and while the user of this process still owns it.
    to.set_permissions(old.permissions()).map_err(refuse)?;
    let (owner, group) = (old.uid(), old.gid());
    if (new.uid(), new.gid()) != (owner, group) {
        fchown(to, Some(owner), Some(group)).map_err(|source| TokenFileError::Owner {
            path: path.to_owned(),
            owner,
            group,
            source,
        })?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn hand_over(_: &Path, _: &File) -> Result<(), TokenFileError> {
    Ok(())
}

#[cfg(unix)]
fn is_exposed(about: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.permissions().mode() & 0o022 != 0
}

#[cfg(not(unix))]
fn is_exposed(_: &fs::Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests;

//! Why a folder of reviewers cannot be used.

use std::io;
use std::path::PathBuf;

use debate_core::formats::review::reviewer::ReviewerName;

/// A file of a folder of reviewers cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder cannot be opened.
    #[error("cannot open the folder {}", path.display())]
    Open {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is no file of the reviewer with a system prompt.
    #[error("{} has no SYSTEM_PROMPT of {reviewer} in {reviewer}.cjs, .js, .mjs or .ts", path.display())]
    NoPrompt {
        /// The folder.
        path: PathBuf,
        /// The reviewer.
        reviewer: ReviewerName,
    },
    /// Something else stands where a file or folder should: a link, say.
    #[error("{} is a link, or no plain file or folder; nothing was written", path.display())]
    NotPlain {
        /// What it is about.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot use {}", path.display())]
    Io {
        /// What it is about.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

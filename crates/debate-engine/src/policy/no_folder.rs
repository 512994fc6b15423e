//! Where names of files cannot be kept from leading elsewhere, there is no folder of reviewers (rule V7).

use std::io;
use std::path::{Path, PathBuf};

use debate_core::formats::review::reviewer::ReviewerName;

use super::folder_error::FolderError;

/// A folder of reviewers; on this system there is none.
#[derive(Debug)]
pub enum ReviewersFolder {}

impl ReviewersFolder {
    /// Refuses to open a folder.
    ///
    /// # Errors
    /// Always: this system has no way to open files without following links.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        Err(FolderError::Open { path: path.to_owned(), source: io::ErrorKind::Unsupported.into() })
    }

    /// Returns the system prompt of a reviewer, from its file.
    ///
    /// # Errors
    /// Never: there is no such folder.
    pub fn system_prompt(&self, _reviewer: &ReviewerName) -> Result<String, FolderError> {
        match *self {}
    }

    /// Writes a proposal.
    ///
    /// # Errors
    /// Never: there is no such folder.
    pub fn write(&self, _: &ReviewerName, _: u32, _: &str, _: &str) -> Result<[PathBuf; 2], FolderError> {
        match *self {}
    }

    /// Checks that proposals could be written.
    ///
    /// # Errors
    /// Never: there is no such folder.
    pub fn check(&self, _reviewer: &ReviewerName) -> Result<(), FolderError> {
        match *self {}
    }
}

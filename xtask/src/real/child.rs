//! A child process that never outlives the value that owns it.

use std::fs;
use std::path::Path;
use std::process::Child;

use anyhow::{Context, Result};

/// A running process; dropping it kills the process by its own id.
#[derive(Debug)]
pub(crate) struct OwnedChild(pub(crate) Child);

impl OwnedChild {
    /// Returns whether the process has ended.
    ///
    /// # Errors
    ///
    /// When the operating system cannot say.
    pub(crate) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.0.try_wait().context("cannot look at a child process")?.is_some())
    }
}

impl Drop for OwnedChild {
    fn drop(&mut self) {
        // It may have ended by itself; nothing else can be done then.
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Returns the last line of a file that is not empty, for error messages.
pub(crate) fn last_line(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("no output").to_owned()
}

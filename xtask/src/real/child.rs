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

/// Returns the line of a program's stderr that says why it failed, for error messages.
pub(crate) fn cause(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let error = lines.clone().find(|line| line.starts_with("error"));
    error.or_else(|| lines.next_back()).unwrap_or("no output").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_is_the_error_line_or_else_the_last_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("errors.txt");
        assert_eq!(cause(&path), "no output");
        fs::write(&path, "round 1\n  1 × timeout\n\n").unwrap();
        assert_eq!(cause(&path), "1 × timeout");
        fs::write(&path, "error: unknown command\n\nFor more information, try '--help'.\n").unwrap();
        assert_eq!(cause(&path), "error: unknown command");
    }
}

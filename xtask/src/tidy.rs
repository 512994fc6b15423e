//! `cargo xtask tidy`: the rules of the house that no compiler checks, one line per violation.

mod circles;
mod edges;
mod files;
mod sources;
mod words;

use std::fmt;
use std::process::ExitCode;

use anyhow::Result;

use crate::cargo::Workspace;

/// A broken rule and where it is broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Violation {
    /// Relative to the root, with `/` on every machine.
    path: String,
    /// Counted from 1; absent when the whole file is meant.
    line: Option<usize>,
    text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.text),
            None => write!(f, "{}: {}", self.path, self.text),
        }
    }
}

/// Prints every violation and returns failure when there is one.
///
/// # Errors
///
/// When the files of the workspace cannot be read.
pub(crate) fn print(workspace: &Workspace) -> Result<ExitCode> {
    let violations = violations(workspace)?;
    for violation in &violations {
        println!("{violation}");
    }
    if violations.is_empty() {
        println!("tidy");
        return Ok(ExitCode::SUCCESS);
    }
    println!("{} violations", violations.len());
    Ok(ExitCode::FAILURE)
}

/// Returns every violation, in order of paths and lines.
///
/// # Errors
///
/// When the files of the workspace cannot be read.
pub(crate) fn violations(workspace: &Workspace) -> Result<Vec<Violation>> {
    let packages = edges::packages(&workspace.metadata, &workspace.root)?;
    let mut violations = edges::violations(&packages);
    let sources = sources::under(&workspace.root, &workspace.target)?;
    violations.extend(circles::violations(&sources));
    for source in &sources {
        violations.extend(files::violations(source));
        violations.extend(words::violations(source));
    }
    violations.sort();
    Ok(violations)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn what_no_code_may_say_stands_nowhere_in_the_workspace() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let sources = sources::under(root, &root.join("target")).unwrap();
        let code: Vec<_> = sources.iter().filter(|source| source.is_rust()).collect();
        assert!(code.iter().any(|source| source.path == "crates/debate-store/src/postgres/read.rs"));
        let said: Vec<_> = code.into_iter().flat_map(words::violations).map(|it| it.to_string()).collect();
        assert!(said.is_empty(), "{said:#?}");
    }
}

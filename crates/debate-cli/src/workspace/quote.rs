//! Comparing a quotation with the file that it is of.

use debate_core::formats::investigation::evidence::{REFUTED, VERIFIED};

use super::{Awaited, Workspace};

/// How many lines a quotation may stand away from where it is said to stand.
const LINES_OFF_MAX: usize = 3;

impl Workspace {
    /// Says whether words stand in a file at a line, white space aside.
    ///
    /// # Errors
    /// The path is not allowed, the file is too large, or the caller no longer waits for the result. A file
    /// that is missing or is not text refutes the quotation.
    pub(super) fn check(
        &self,
        path: &str,
        line: u32,
        quote: &str,
        awaited: &Awaited<'_>,
    ) -> anyhow::Result<String> {
        let found = match self.inside(path) {
            Ok(found) => found,
            Err(error) if is_refusal(&error) => return Err(error),
            Err(_) => return Ok(format!("{REFUTED}: there is no file {path}")),
        };
        let text = match self.text_of(&found) {
            Ok(text) => text,
            Err(error) if is_refusal(&error) => return Err(error),
            Err(_) => return Ok(format!("{REFUTED}: {path} is no file of text")),
        };
        let wanted = folded(quote);
        let lines: Vec<String> = text.lines().map(folded).collect();
        let stands = places(&lines, &wanted, awaited)?;
        let is_near = |at: &usize| at.abs_diff(line as usize) <= LINES_OFF_MAX;
        Ok(match (stands.iter().find(|at| is_near(at)), stands.first()) {
            (Some(at), _) => format!("{VERIFIED}: it stands in {path} at line {at}"),
            (None, Some(at)) => format!("{REFUTED}: it stands in {path} at line {at}, not at {line}"),
            (None, None) => format!("{REFUTED}: these words do not stand in {path}"),
        })
    }
}

fn is_refusal(error: &anyhow::Error) -> bool {
    error.to_string().starts_with("refused")
}

/// Returns the lines, from 1, at which words begin that may go on over several lines.
fn places(lines: &[String], wanted: &str, awaited: &Awaited<'_>) -> anyhow::Result<Vec<usize>> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let begins = |start: usize| {
        let mut joined = lines[start].clone();
        let own = joined.len();
        for line in &lines[start + 1..] {
            if joined.len() > own + wanted.len() {
                break;
            }
            joined.push(' ');
            joined.push_str(line);
        }
        joined.find(wanted).is_some_and(|at| at < own.max(1))
    };
    let mut found = Vec::new();
    for start in 0..lines.len() {
        awaited()?;
        if begins(start) {
            found.push(start + 1);
        }
    }
    Ok(found)
}

/// Returns words with single blanks between them.
pub(super) fn folded(text: &str) -> String {
    joined(text.split_whitespace())
}

/// Joins words by single blanks.
pub(super) fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut joined = String::new();
    for word in words {
        if !joined.is_empty() {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
}

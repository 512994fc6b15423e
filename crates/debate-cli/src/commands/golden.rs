//! `debate golden`: checks golden cases of deliberations.

use std::path::{Path, PathBuf};

use debate_core::formats::deliberation::golden::{self, GoldenCase};
use serde_json::value::RawValue;

use super::print;
use crate::bounded;
use crate::exit::{End, Failure};
use crate::plain::one_line;

/// Check golden cases of deliberations
///
/// A file holds one case or a list of cases in the legacy format. Every case runs through the kernel; no model is
/// asked and nothing is stored.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  debate golden cases.json
  debate golden golden/*.json")]
pub(crate) struct Golden {
    /// The files
    #[arg(value_name = "FILES", required = true)]
    files: Vec<PathBuf>,
}

impl Golden {
    /// Carries out the command.
    pub(crate) fn run(&self) -> anyhow::Result<End> {
        let mut cases = Vec::new();
        for file in &self.files {
            cases.extend(read(file)?);
        }
        let (mut text, mut failed) = (String::new(), 0);
        for case in &cases {
            let mismatches = golden::check(case);
            let verdict = if mismatches.is_empty() { "ok    " } else { "FAILED" };
            failed += usize::from(!mismatches.is_empty());
            text.push_str(&format!("{verdict}  {}  {}\n", one_line(&case.id), one_line(&case.description)));
            for mismatch in mismatches {
                text.push_str(&format!("        {}\n", one_line(&mismatch.to_string())));
            }
        }
        text.push_str(&format!("{} cases, {failed} failed\n", cases.len()));
        print(&text)?;
        Ok(if failed == 0 { End::Done } else { End::Fault })
    }
}

fn read(file: &Path) -> anyhow::Result<Vec<GoldenCase>> {
    let name = file.display();
    let text = bounded::text(file, bounded::ENTRIES_BYTES_MAX)?;
    let is_list = text.trim_start().starts_with('[');
    // As text, not as a tree: the order of responses is the order of speaking, and a name may not stand twice.
    let cases: Result<Vec<&RawValue>, _> = if is_list {
        serde_json::from_str(&text)
    } else {
        serde_json::from_str(&text).map(|case| vec![case])
    };
    let cases = cases.map_err(|error| Failure::bad_input(format!("{name} is not JSON: {error}")))?;
    let case = |(place, case): (usize, &RawValue)| {
        serde_json::from_str(case.get()).map_err(|error| {
            Failure::bad_input(format!("{name}: case {} is not a golden case: {error}", place + 1))
        })
    };
    cases.into_iter().enumerate().map(case).collect()
}

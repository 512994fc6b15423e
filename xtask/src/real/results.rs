//! What a run found: one result for each debate, as a table, as JSON, and as the page docs/real-models.md.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::counts::Counts;

/// How one debate went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct DebateResult {
    pub(crate) debate: String,
    pub(crate) model: String,
    /// The day on which it ran, in UTC.
    pub(crate) date: String,
    pub(crate) seconds: u64,
    pub(crate) counts: Counts,
    /// Whether `debate verify` found no fault.
    pub(crate) verified: bool,
    /// What a disturbance cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// What must not happen, and did.
    pub(crate) faults: Vec<String>,
}

/// The timeouts that are our own limits, which must not cost a call.
const OWN_LIMITS: [&str; 2] = ["timeout_total", "timeout_turn"];

impl DebateResult {
    /// Adds to the faults what the counts show.
    ///
    /// `cause` is what the program wrote to stderr about its failure.
    pub(crate) fn judge(&mut self, cause: &str) {
        match self.counts.completeness.as_deref() {
            None => self.faults.push(format!("did not end: {cause}")),
            Some("void") => self.faults.push("void".to_owned()),
            Some(_) => {}
        }
        for kind in OWN_LIMITS {
            if let Some(count) = self.counts.timeouts.get(kind) {
                self.faults.push(format!("{count} × {kind}"));
            }
        }
        if !self.verified {
            self.faults.push("debate verify finds a fault".to_owned());
        }
    }

    /// Returns one line for people.
    pub(crate) fn line(&self) -> String {
        let Counts { calls, at_once, after_retry, .. } = self.counts;
        let end = self.end();
        let mut line = format!("{end}: {calls} calls, {at_once} read at once, {after_retry} after a retry");
        for more in self.note.iter().chain(&self.faults) {
            line.push_str("; ");
            line.push_str(more);
        }
        line
    }

    fn end(&self) -> &str {
        self.counts.completeness.as_deref().unwrap_or("no end")
    }

    fn cells(&self) -> Vec<String> {
        let counts = &self.counts;
        let timeouts: usize = counts.timeouts.values().sum();
        let mut cells = vec![self.debate.clone(), self.end().to_owned()];
        let unread = counts.calls - counts.answered();
        let numbers = [
            counts.calls,
            counts.at_once,
            counts.after_retry,
            unread,
            counts.cut,
            counts.unreadable,
            counts.rejected,
            counts.copied,
            timeouts,
        ];
        cells.extend(numbers.map(|number| number.to_string()));
        cells.extend(
            [counts.tokens.input, counts.tokens.output, self.seconds].map(|number| number.to_string()),
        );
        cells
    }
}

const HEAD: [&str; 14] = [
    "debate",
    "result",
    "calls",
    "read at once",
    "after a retry",
    "not read",
    "cut",
    "unreadable",
    "rejected",
    "copied",
    "timeouts",
    "tokens in",
    "out",
    "s",
];

/// Returns the results of one model as a table in Markdown, aligned for a terminal too.
pub(crate) fn table(results: &[&DebateResult]) -> String {
    let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
    rows.extend(results.iter().map(|result| result.cells()));
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column < 2 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        format!("| {} |", cells.collect::<Vec<_>>().join(" | "))
    };
    let rule = widths.iter().enumerate().map(|(column, &width)| {
        if column < 2 { "-".repeat(width + 2) } else { format!("{}:", "-".repeat(width + 1)) }
    });
    let mut lines: Vec<_> = rows.iter().map(line).collect();
    lines.insert(1, format!("|{}|", rule.collect::<Vec<_>>().join("|")));
    lines.join("\n")
}

/// Where and on what a run took place.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Setting {
    /// The last day on which a debate ran, in UTC.
    pub(crate) date: String,
    pub(crate) commit: String,
    pub(crate) machine: String,
    /// The options of `cargo xtask real`.
    pub(crate) options: String,
}

const INTRODUCTION: &str = "# Real models

`cargo xtask real --record` writes this page. It installs llama.cpp's server and two small models, starts the
server on loopback, and runs every format and mode with the program `debate`. Models this small say nothing
about the quality of debates by large ones. They show whether calls, limits and retries work, and whether a
result says what is missing.

- A *call* is one question to the model; a question that is asked anew after a rejection counts again.
- *Read at once* is a call whose first attempt was read; *after a retry*, one with failed attempts before.
- *Cut* counts replies that ended at the token limit, *unreadable* replies that could not be read or used,
  *rejected* answers that broke a rule, and *copied* the replies among them that repeat the prompt.
- *Timeouts* counts attempts that ended by a time limit. Tokens are counted by the server.

SmolLM2-135M-Instruct must pass: every debate ends, none is void, no call is lost to our own time limits, and
`debate verify` finds no fault. gemma-3-270m is a base model without instruction tuning: it is only reported.
";

/// Writes the page with the results.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn record(path: &Path, setting: &Setting, models: &[(&str, Vec<&DebateResult>)]) -> Result<()> {
    let Setting { date, commit, machine, options } = setting;
    let mut page = format!(
        "{INTRODUCTION}\n## Results of {date}\n\nCommit {commit}, on {machine}: `{options}`. Other programs may have \
         run at the same time.\n"
    );
    for (model, results) in models {
        page.push_str(&format!("\n### {model}\n\n{}\n", table(results)));
        let lines = results.iter().filter(|result| result.note.is_some() || !result.faults.is_empty());
        let lines: Vec<_> = lines.map(|result| format!("- {}: {}", result.debate, result.line())).collect();
        if !lines.is_empty() {
            page.push_str(&format!("\n{}\n", lines.join("\n")));
        }
    }
    fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> DebateResult {
        DebateResult {
            debate: "review".to_owned(),
            model: "smollm2".to_owned(),
            date: "2026-11-28".to_owned(),
            seconds: 61,
            counts: Counts {
                calls: 12,
                at_once: 9,
                after_retry: 2,
                completeness: Some("partial".to_owned()),
                ..Counts::default()
            },
            verified: true,
            note: None,
            faults: Vec::new(),
        }
    }

    #[test]
    fn sound_debates_are_judged_without_faults() {
        let mut sound = result();
        sound.counts.timeouts.insert("timeout_idle".to_owned(), 1);
        sound.judge("");
        assert!(sound.faults.is_empty(), "{:?}", sound.faults);
    }

    #[test]
    fn void_endless_late_and_unverified_debates_are_faults() {
        let mut void = result();
        void.counts.completeness = Some("void".to_owned());
        void.counts.timeouts.insert("timeout_total".to_owned(), 3);
        void.verified = false;
        void.judge("");
        assert_eq!(void.faults, ["void", "3 × timeout_total", "debate verify finds a fault"]);
        let mut endless = result();
        endless.counts.completeness = None;
        endless.judge("error: no model");
        assert_eq!(endless.faults, ["did not end: error: no model"]);
    }

    #[test]
    fn tables_have_one_aligned_row_for_each_debate() {
        let table = table(&[&result()]);
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| line.chars().count() == lines[0].chars().count()), "{table}");
        let cells: Vec<_> = lines[2].split('|').map(str::trim).collect();
        assert_eq!(cells[1..7], ["review", "partial", "12", "9", "2", "1"]);
    }

    #[test]
    fn results_are_read_back_as_they_were_written() {
        let mut noted = result();
        noted.note = Some("4 attempts lost".to_owned());
        let text = serde_json::to_string(&noted).unwrap();
        assert_eq!(serde_json::from_str::<DebateResult>(&text).unwrap(), noted);
    }
}

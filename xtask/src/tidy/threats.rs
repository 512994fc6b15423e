//! Rules on the pages of threats: whoever says that something is prevented names the tests that show it.

use std::collections::BTreeSet;

use super::Violation;
use super::sources::Source;

/// The folder of the pages.
const PAGES: &str = "docs/threats/";

/// The last column's title in the tables of protections.
const SHOWN_BY: &str = "| what stops it | shown by |";

/// The folder whose functions a macro makes into tests of every store.
const SUITE: &str = "conformance";

/// Returns every protection without a test, and every test that is named and not there.
pub(crate) fn violations(sources: &[Source]) -> Vec<Violation> {
    let rust = sources.iter().filter(|source| source.is_rust());
    let tests: BTreeSet<&str> = rust.flat_map(|it| tests(&it.text, it.is_under(SUITE))).collect();
    let pages = sources.iter().filter(|source| source.path.starts_with(PAGES));
    pages.flat_map(|page| page_violations(page, &tests, sources)).collect()
}

fn page_violations(page: &Source, tests: &BTreeSet<&str>, sources: &[Source]) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut is_protection = false;
    for (line, text) in (1..).zip(page.text.lines()) {
        if !text.starts_with('|') || text == SHOWN_BY {
            is_protection = text == SHOWN_BY;
            continue;
        }
        if !is_protection || text.starts_with("|---") {
            continue;
        }
        let shown_by = text.trim_end_matches([' ', '|']).rsplit_once(" | ").map_or("", |(_, last)| last);
        let named: Vec<&str> = shown_by.split('`').skip(1).step_by(2).collect();
        let mut violation =
            |text: String| violations.push(Violation { path: page.path.clone(), line: Some(line), text });
        if named.is_empty() {
            violation("a protection without a test".to_owned());
        }
        for name in named {
            let is_file =
                || sources.iter().any(|it| it.path == name || it.path.starts_with(&format!("{name}/")));
            if !tests.contains(name) && !is_file() {
                violation(format!("there is neither a test nor a file `{name}`"));
            }
        }
    }
    violations
}

/// Returns the names of functions that stand below an attribute that makes them tests, or of all.
fn tests(text: &str, all: bool) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            is_test = true;
        }
        let name = line.trim_start_matches("async ").strip_prefix("fn ")?;
        let name = name.split(['(', '<']).next()?;
        (std::mem::take(&mut is_test) || all).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(row: &str) -> Vec<String> {
        let source = |path: &str, text: &str| Source { path: path.to_owned(), text: text.to_owned() };
        let sources = [
            source(
                "crates/a/src/a.rs",
                "#[test]\nfn one() {}\n\n    #[tokio::test(start_paused = true)]\n    async fn two() {}\n\nfn no_test() {}\n",
            ),
            source("crates/a/tests/conformance/a.rs", "async fn of_all(store: Store) {}\n"),
            source("deploy/check.py", ""),
            source("docs/other.md", "| what stops it | shown by |\n|---|---|\n| a | |\n"),
            source(
                "docs/threats/a.md",
                &format!("| threat | tests |\n| a | b |\n\n{SHOWN_BY}\n|---|---|\n{row}\n\n| c | |\n"),
            ),
        ];
        violations(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_protection_names_tests_that_are_there() {
        for row in [
            "| a | `one` |",
            "| `x` is refused | `two`, `one` |",
            "| a | `deploy/check.py` |",
            "| a | `deploy` |",
        ] {
            assert!(check(row).is_empty(), "{row}");
        }
        for (row, violation) in [
            ("| a | |", "a protection without a test"),
            ("| `one` is refused | |", "a protection without a test"),
            ("| a | one |", "a protection without a test"),
            ("| a | `one`, `three` |", "there is neither a test nor a file `three`"),
            ("| a | `no_test` |", "there is neither a test nor a file `no_test`"),
            ("| a | `deploy/chec` |", "there is neither a test nor a file `deploy/chec`"),
        ] {
            assert_eq!(check(row), [format!("docs/threats/a.md:6: {violation}")], "{row}");
        }
    }
}

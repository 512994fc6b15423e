//! Rules on a file as a whole: its size and its name.

use super::Violation;
use super::sources::Source;

const LINES_MAX: usize = 500;

/// Names that say nothing about what is inside.
const NAMES: [&str; 8] = ["utils", "util", "common", "types", "helpers", "helper", "misc", "shared"];

/// Returns what is wrong with a file's size and name.
pub(crate) fn violations(source: &Source) -> Vec<Violation> {
    if !source.is_rust() {
        return Vec::new();
    }
    let violation = |text: String| Violation { path: source.path.clone(), line: None, text };
    let mut violations = Vec::new();
    let lines = source.text.lines().count();
    if source.is_under("src") && lines > LINES_MAX {
        violations.push(violation(format!("{lines} lines, at most {LINES_MAX}")));
    }
    for name in source.folders().chain([source.stem()]) {
        if NAMES.contains(&name) || name.contains("manager") {
            violations.push(violation(format!("the name `{name}` says nothing; name the concept")));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, lines: usize) -> Vec<String> {
        let source = Source { path: path.to_owned(), text: "line\n".repeat(lines) };
        violations(&source).into_iter().map(|violation| violation.text).collect()
    }

    #[test]
    fn a_source_file_has_at_most_500_lines() {
        assert!(check("crates/debate-core/src/decide.rs", 500).is_empty());
        assert_eq!(check("crates/debate-core/src/decide.rs", 501), ["501 lines, at most 500"]);
        assert!(check("crates/debate-core/tests/log.rs", 501).is_empty());
        assert!(check("README.md", 501).is_empty());
    }

    #[test]
    fn a_name_says_what_is_inside() {
        let banned = [
            "crates/debate-core/src/utils.rs",
            "crates/debate-core/src/common.rs",
            "crates/debate-core/src/types.rs",
            "crates/debate-engine/src/debate_manager.rs",
            "crates/debate-engine/src/utils/mod.rs",
        ];
        for path in banned {
            assert_eq!(check(path, 1).len(), 1, "{path}");
        }
        assert!(check("crates/debate-core/src/plan.rs", 1).is_empty());
    }
}

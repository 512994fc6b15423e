//! What a raw finding asks for: the rule that turns a reviewer's sentence into an operation, so that conflicts can be
//! found in critiques that state none (rule V2). It is documented in docs/formats/review.md; a change of it changes both.

use serde_json::Value;

use super::conflict::Operation;
use crate::id::Role;

/// The operation of a finding that asks for more.
pub const ADD: &str = "AddConstraint";
/// The operation of a finding that asks for less.
pub const REMOVE: &str = "RemoveConstraint";

/// Phrases by which a finding asks for more.
const ADDS: [&str; 30] = [
    "missing",
    "lack",
    "lacks",
    "lacking",
    "is required",
    "should add",
    "should be added",
    "need to",
    "needs to",
    "must be",
    "should check",
    "should validate",
    "should be validated",
    "should handle",
    "should ensure",
    "should guard",
    "never validated",
    "never checked",
    "not validated",
    "not checked",
    "not handled",
    "not covered",
    "without checking",
    "without validating",
    "without handling",
    "no validation",
    "no test",
    "consider adding",
    "add a",
    "guard against",
];

/// Phrases by which a finding asks for less.
const REMOVES: [&str; 28] = [
    "should be removed",
    "can be removed",
    "could be removed",
    "must be removed",
    "need to be removed",
    "needs to be removed",
    "should remove",
    "should be deleted",
    "can be deleted",
    "must be deleted",
    "should be dropped",
    "must be dropped",
    "unnecessary",
    "redundant",
    "unused",
    "never used",
    "never called",
    "not used",
    "superfluous",
    "dead code",
    "no longer needed",
    "not needed",
    "is duplicated",
    "duplicates",
    "duplicate logic",
    "code duplication",
    "over-engineered",
    "excessive",
];

/// Returns the operation that a finding asks for: none where it asks for nothing, for both more and less, or names no
/// piece of code.
///
/// Phrases are whole words. What asks for less is taken first: `must be removed` does not say `must be` as well.
///
/// Its target is the first piece of code that it names: a word in back-ticks, one with a capital or an underscore inside,
/// or one before an opening bracket.
#[must_use]
pub fn operation(reviewer: &Role, finding: &str) -> Option<Operation> {
    let (removes, rest) = without(&finding.to_lowercase(), &REMOVES);
    let (adds, _) = without(&rest, &ADDS);
    let op = match (adds, removes) {
        (true, false) => ADD,
        (false, true) => REMOVE,
        (true, true) | (false, false) => return None,
    };
    let target = code_name(finding)?.to_owned();
    let value = Value::String(finding.to_owned());
    Some(Operation { reviewer_role: reviewer.clone(), op: op.to_owned(), target, value })
}

/// Returns whether a text has one of some phrases, and the text without them.
fn without(text: &str, phrases: &[&str]) -> (bool, String) {
    let mut rest = text.to_owned();
    for phrase in phrases {
        let mut from = 0;
        while let Some(at) = rest[from..].find(phrase).map(|at| from + at) {
            from = at + phrase.len();
            let is_whole = !rest[..at].ends_with(char::is_alphanumeric)
                && !rest[from..].starts_with(char::is_alphanumeric);
            if is_whole {
                rest.replace_range(at..from, &" ".repeat(phrase.len()));
            }
        }
    }
    (rest != text, rest)
}

/// Returns the first piece of code that a text names, without back-ticks and brackets.
fn code_name(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c == '`' || c == '_' || c.is_ascii_alphabetic()) {
        rest = &rest[start..];
        if let Some(quoted) = rest.strip_prefix('`') {
            let end = quoted.find('`');
            let word = end.map(|end| quoted[..end].trim_end_matches("()"));
            if let Some(word) = word.filter(|word| !word.is_empty() && !word.contains(char::is_whitespace)) {
                return Some(word);
            }
            rest = quoted;
            continue;
        }
        let end = rest.find(|c: char| c != '_' && !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        if has_inner_mark(word) || (word.len() > 1 && after.starts_with('(')) {
            return Some(word);
        }
        rest = after;
    }
    None
}

/// Returns whether a word is written as names in code are: with a capital behind a small letter, or an underscore
/// between other characters.
fn has_inner_mark(word: &str) -> bool {
    let bytes = word.as_bytes();
    let hump = bytes
        .windows(2)
        .any(|two| (two[0].is_ascii_lowercase() || two[0].is_ascii_digit()) && two[1].is_ascii_uppercase());
    hump || word.trim_matches('_').contains('_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(finding: &str) -> Option<(String, String)> {
        operation(&"claude".into(), finding).map(|operation| (operation.op, operation.target))
    }

    #[test]
    fn v2_a_finding_asks_for_more_or_for_less_of_the_first_code_that_it_names() {
        for (finding, op, target) in [
            ("Missing null check for `referenceId` in the loop", ADD, "referenceId"),
            ("The test lacks a join of readerThread before asserting", ADD, "readerThread"),
            ("`get_item_key()` duplicates what the parent has", REMOVE, "get_item_key"),
            ("_cleanup_old() is never called", REMOVE, "_cleanup_old"),
            ("render(x) does redundant work", REMOVE, "render"),
            ("Code in ` two words ` and MAX_SIZE is unused", REMOVE, "MAX_SIZE"),
        ] {
            assert_eq!(read(finding), Some((op.to_owned(), target.to_owned())), "{finding}");
        }
    }

    #[test]
    fn v2_each_phrase_of_the_documented_rule_is_read_as_whole_words() {
        let documented = include_str!("../../../../../docs/formats/review.md").replace('\n', " ");
        let listed = |op: &str| {
            let from = documented.find(&format!("- `{op}` where it says one of: ")).unwrap();
            let list = documented[from..].split_once(": ").unwrap().1.split_once(';').unwrap().0;
            list.split(',')
                .map(|phrase| phrase.split_whitespace().collect::<Vec<_>>().join(" "))
                .collect::<Vec<_>>()
        };
        for (op, phrases) in [(ADD, &ADDS[..]), (REMOVE, &REMOVES[..])] {
            assert_eq!(listed(op), phrases);
            for phrase in phrases {
                let said = Some((op.to_owned(), "readerThread".to_owned()));
                assert_eq!(read(&format!("`readerThread`: {phrase}, it says")), said, "{phrase}");
                assert_eq!(read(&format!("{} `readerThread`", phrase.to_uppercase())), said, "{phrase}");
                if !phrase.contains(' ') {
                    assert_eq!(read(&format!("`readerThread`: b{phrase} {phrase}k")), None, "{phrase}");
                }
            }
        }
        for (finding, said) in [
            ("`readerThread` is on the black list of Slack", None),
            ("`readerThread` must be removed", Some(REMOVE)),
            ("`readerThread` needs to be removed, it is unused", Some(REMOVE)),
            ("`readerThread` must be removed, and its join must be checked", None),
            ("`readerThread` must be joined", Some(ADD)),
        ] {
            assert_eq!(read(finding).map(|(op, _)| op), said.map(str::to_owned), "{finding}");
        }
    }

    #[test]
    fn v2_a_finding_without_direction_or_code_or_with_both_directions_asks_for_nothing() {
        for finding in [
            "",
            "`retryCount` is incremented twice",
            "This is redundant",
            "Missing a test for the other branch",
            "`retryCount` is unused but should be validated",
            "Missing `",
            "übermäßig excessive ___",
        ] {
            assert_eq!(read(finding), None, "{finding}");
        }
    }
}

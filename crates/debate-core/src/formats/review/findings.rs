//! What a raw finding asks for: the rule that turns a reviewer's sentence into an operation, so that conflicts can be
//! found in critiques that state none (rule V2). It is documented in docs/review.md; a change of it changes both.

use serde_json::Value;

use super::conflict::Operation;
use crate::id::Role;

/// The operation of a finding that asks for more.
pub const ADD: &str = "AddConstraint";
/// The operation of a finding that asks for less.
pub const REMOVE: &str = "RemoveConstraint";

/// Phrases by which a finding asks for more.
const ADDS: [&str; 28] = [
    "missing",
    "lack",
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
    "add a ",
    "guard against",
];

/// Phrases by which a finding asks for less.
const REMOVES: [&str; 24] = [
    "should be removed",
    "can be removed",
    "could be removed",
    "must be removed",
    "should remove",
    "should be deleted",
    "can be deleted",
    "should be dropped",
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
/// Its target is the first piece of code that it names: a word in back-ticks, one with a capital or an underscore inside,
/// or one before an opening bracket.
#[must_use]
pub fn operation(reviewer: &Role, finding: &str) -> Option<Operation> {
    let lower = finding.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let op = match (says(&ADDS), says(&REMOVES)) {
        (true, false) => ADD,
        (false, true) => REMOVE,
        (true, true) | (false, false) => return None,
    };
    let target = code_name(finding)?.to_owned();
    let value = Value::String(finding.to_owned());
    Some(Operation { reviewer_role: reviewer.clone(), op: op.to_owned(), target, value })
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

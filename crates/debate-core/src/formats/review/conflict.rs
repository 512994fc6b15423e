//! Operations that reviewers want done, conflicts between them, and the pairs that debate (rule V2).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::config::{Critique, Dispute, Pair};
use crate::bounds;
use crate::id::Role;

/// The type of the conflicts that are found here.
pub const ADD_REMOVE_CONFLICT: &str = "add_remove_conflict";

/// Whether an operation adds or removes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It adds: its name begins with `Add`.
    Add,
    /// It removes: its name begins with `Remove`, `Delete` or `Drop`.
    Remove,
}

impl Direction {
    /// Returns the word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Add => "Add",
            Self::Remove => "Remove",
        }
    }
}

/// Something that a reviewer wants done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operation {
    /// The reviewer.
    pub reviewer_role: Role,
    /// What kind of thing, such as `AddGuardrail`, `AddConstraint` or `RemoveConstraint`.
    #[serde(deserialize_with = "bounds::name")]
    pub op: String,
    /// To what.
    pub target: String,
    /// With what; any JSON.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub value: Value,
}

impl Operation {
    /// Returns whether it adds or removes; none where it does neither.
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        let name = self.op.to_ascii_lowercase();
        if name.starts_with("add") {
            Some(Direction::Add)
        } else {
            let removes = ["remove", "delete", "drop"].iter().any(|word| name.starts_with(word));
            removes.then_some(Direction::Remove)
        }
    }

    /// Returns the value as a text.
    #[must_use]
    pub fn value_text(&self) -> String {
        value_text(&self.value)
    }
}

pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Operations that cannot all be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Conflict {
    /// The type, such as `add_remove_conflict`.
    #[serde(rename = "type", deserialize_with = "bounds::name")]
    pub kind: String,
    /// What the operations are about.
    pub target: String,
    /// The operations.
    pub ops: Vec<Operation>,
    /// How the caller resolves it; any JSON, null where it is open.
    pub resolution: Value,
}

/// Finds the conflicts in critiques: targets to which one reviewer adds and from which another removes, in the order in
/// which targets are first named (rule V2).
///
/// Targets are the same where they differ in case and white space alone. The operations of a conflict are all that add
/// to its target or remove from it.
#[must_use]
pub fn find(critiques: &[Critique]) -> Vec<Conflict> {
    let all: Vec<&Operation> = critiques.iter().flat_map(|critique| &critique.operations).collect();
    let mut by_target: Vec<(String, Vec<&Operation>)> = Vec::new();
    for operation in all.into_iter().filter(|operation| operation.direction().is_some()) {
        let target = folded(&operation.target);
        match by_target.iter_mut().find(|(known, _)| *known == target) {
            Some((_, operations)) => operations.push(operation),
            None => by_target.push((target, vec![operation])),
        }
    }
    let conflicts = by_target.into_iter().filter(|(_, operations)| opposed(operations).is_some());
    conflicts
        .map(|(_, operations)| Conflict {
            kind: ADD_REMOVE_CONFLICT.to_owned(),
            target: operations[0].target.clone(),
            ops: operations.into_iter().cloned().collect(),
            resolution: Value::Null,
        })
        .collect()
}

/// Selects who debates: one pair for each conflict in which one reviewer adds what another removes, in the order of the
/// conflicts, at most `max_pairs` (rule V2).
///
/// The first operation that has an opponent speaks for its side. A conflict without operations of its own takes those of
/// the critiques that have its target.
#[must_use]
pub fn select_pairs(
    conflicts: &[Conflict],
    critiques: &[Critique],
    max_pairs: usize,
) -> Vec<(Pair, Dispute)> {
    let pairs = conflicts.iter().filter_map(|conflict| {
        let own: Vec<&Operation> = if conflict.ops.is_empty() {
            let all = critiques.iter().flat_map(|critique| &critique.operations);
            all.filter(|operation| folded(&operation.target) == folded(&conflict.target)).collect()
        } else {
            conflict.ops.iter().collect()
        };
        let (op_a, op_b) = opposed(&own)?;
        let pair = Pair { role_a: op_a.reviewer_role.clone(), role_b: op_b.reviewer_role.clone() };
        Some((pair, dispute(&conflict.target, op_a.clone(), op_b.clone())))
    });
    pairs.take(max_pairs).collect()
}

fn dispute(target: &str, op_a: Operation, op_b: Operation) -> Dispute {
    let side = |operation: &Operation| format!("{} ({})", operation.reviewer_role, operation.op);
    Dispute {
        target: target.to_owned(),
        conflict_description: format!("{} vs {} on '{target}'", side(&op_a), side(&op_b)),
        op_a,
        op_b,
    }
}

/// Returns the first operation that adds and the first of another reviewer that removes.
fn opposed<'a>(operations: &[&'a Operation]) -> Option<(&'a Operation, &'a Operation)> {
    let of = |direction| {
        operations.iter().copied().filter(move |operation| operation.direction() == Some(direction))
    };
    of(Direction::Add).find_map(|adds| {
        let other = of(Direction::Remove).find(|removes| removes.reviewer_role != adds.reviewer_role)?;
        Some((adds, other))
    })
}

/// Returns a target without differences that mean nothing.
fn folded(target: &str) -> String {
    target.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(text: &str) -> Operation {
        let mut parts = text.splitn(3, ' ');
        let mut next = || parts.next().unwrap_or_default().to_owned();
        let role = next();
        Operation { reviewer_role: role.as_str().into(), op: next(), target: next(), value: Value::Null }
    }

    fn critiques(operations: &[&str]) -> Vec<Critique> {
        let critique = |text: &&str| {
            let operation = operation(text);
            let role = operation.reviewer_role.clone();
            Critique { role, system_prompt: String::new(), operations: vec![operation], findings: Vec::new() }
        };
        operations.iter().map(critique).collect()
    }

    fn pairs(operations: &[&str], max_pairs: usize) -> Vec<String> {
        let critiques = critiques(operations);
        let selected = select_pairs(&find(&critiques), &critiques, max_pairs);
        selected.into_iter().map(|(_, dispute)| dispute.conflict_description).collect()
    }

    #[test]
    fn v2_there_are_no_pairs_without_conflicts() {
        assert_eq!(pairs(&[], 2), Vec::<String>::new());
        assert_eq!(
            pairs(&["security AddGuardrail env access", "testing AddConstraint env access"], 2).len(),
            0
        );
        assert_eq!(pairs(&["security AddGuardrail env", "security RemoveConstraint env"], 2).len(), 0);
        assert_eq!(pairs(&["security AddGuardrail env", "testing RemoveConstraint disk"], 2).len(), 0);
        assert_eq!(pairs(&["security ModifyStep env", "testing RemoveConstraint env"], 2).len(), 0);
    }

    #[test]
    fn v2_who_adds_is_role_a_and_targets_differ_in_more_than_spelling() {
        assert_eq!(
            pairs(&["testing RemoveConstraint Env  Access", "security AddGuardrail env access"], 2),
            ["security (AddGuardrail) vs testing (RemoveConstraint) on 'Env  Access'"]
        );
        assert_eq!(
            pairs(
                &["a AddX t", "a RemoveX t", "b RemoveX t", "c AddX t", "b drop_x u", "c addX u", "d AddX t"],
                2
            ),
            ["a (AddX) vs b (RemoveX) on 't'", "c (addX) vs b (drop_x) on 'u'"]
        );
    }

    #[test]
    fn v2_pairs_are_capped_even_with_five_conflicts() {
        let operations: Vec<String> = (0..5)
            .flat_map(|n| [format!("a AddConstraint t{n}"), format!("b RemoveConstraint t{n}")])
            .collect();
        let operations: Vec<&str> = operations.iter().map(String::as_str).collect();
        let on = |n: u32| format!("a (AddConstraint) vs b (RemoveConstraint) on 't{n}'");
        assert_eq!(pairs(&operations, 2), [on(0), on(1)]);
        assert_eq!(pairs(&operations, 9).len(), 5);
    }

    #[test]
    fn v2_a_given_conflict_without_operations_takes_those_of_the_critiques() {
        let critiques = critiques(&["a AddConstraint t", "b RemoveConstraint T"]);
        let given = Conflict {
            kind: ADD_REMOVE_CONFLICT.to_owned(),
            target: "t".to_owned(),
            ops: Vec::new(),
            resolution: Value::Null,
        };
        let selected = select_pairs(&[given], &critiques, 2);
        assert_eq!(selected.len(), 1);
        assert_eq!(selected[0].1.audit_line(), "Add vs Remove on 't'");
    }
}

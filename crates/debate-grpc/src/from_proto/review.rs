//! Requests for review debates.

use debate_core::format::Format as _;
use debate_core::formats::review::Review;
use debate_proto::v1;
use serde_json::Value;

use super::{Object, limits, list_value, value};

/// Returns a request as JSON.
///
/// Critiques are always there, so that none at all is refused or taken by the core's rules, not by the wire's.
pub(super) fn request(request: v1::ReviewRequest) -> Value {
    let critiques: Vec<Value> = request.critiques.into_iter().map(critique).collect();
    Object::default()
        .some("format", Some(Review::NAME))
        .text("original_prompt", request.original_prompt)
        .text("context", request.context)
        .some("critiques", Some(critiques))
        .list("conflicts", request.conflicts, conflict)
        .some("debate", request.debate.map(debate))
        .some("options", request.options.map(options))
        .json()
}

fn critique(critique: v1::Critique) -> Value {
    Object::default()
        .text("role", critique.role)
        .text("system_prompt", critique.system_prompt)
        .list("operations", critique.operations, operation)
        .list("findings", critique.findings, finding)
        .json()
}

fn operation(operation: v1::ReviewOperation) -> Value {
    Object::default()
        .text("reviewer_role", operation.reviewer_role)
        .text("op", operation.op)
        .text("target", operation.target)
        .some("value", operation.value.map(value))
        .json()
}

fn finding(finding: v1::ReviewFinding) -> Value {
    Object::default()
        .text("text", finding.text)
        .text("path", finding.path)
        .some("line", finding.line)
        .text("severity", finding.severity)
        .json()
}

fn conflict(conflict: v1::ReviewConflict) -> Value {
    Object::default()
        .text("type", conflict.r#type)
        .text("target", conflict.target)
        .list("ops", conflict.ops, operation)
        .some("resolution", conflict.resolution.map(value))
        .json()
}

fn debate(debate: v1::ReviewDebateConfig) -> Value {
    Object::default()
        .some("enabled", debate.enabled)
        .some("max_pairs", debate.max_pairs)
        .list("model", debate.model, Value::from)
        .list("judge_model", debate.judge_model, Value::from)
        .some("min_conflicts_to_trigger", debate.min_conflicts_to_trigger)
        .json()
}

fn options(options: v1::ReviewOptions) -> Value {
    let models = |models: v1::ReviewModelsOption| {
        Object::default()
            .list("argue", models.argue, Value::from)
            .list("rebut", models.rebut, Value::from)
            .map("roles", models.roles, list_value)
            .json()
    };
    Object::default()
        .some("judge_passes", options.judge_passes)
        .some("seed", options.seed)
        .some("models", options.models.map(models))
        .some("limits", options.limits.map(limits))
        .some("language", options.language)
        .some("as_of", options.as_of)
        .asking(options.effort, options.output_tokens)
        .json()
}

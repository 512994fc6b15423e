//! Which models a request names and how they are asked, the same in every format: `options.models`, `options.effort` and
//! `options.output_tokens`.

use serde_json::{Map, Value, json};

use super::sizes::{
    LABEL_CHARS_MAX, MODELS_MAX, NAME_CHARS_MAX, OUTPUT_TOKENS, PARTICIPANTS_MAX, whole_schema,
};
use super::{Field, Fields};
use crate::call::Effort;
use crate::id::Role;
use crate::models::{EffortPlan, ModelPlan};

/// Reads a plan of models by kind of call and by role; `is_role` tells who there is, and `who` what they are called.
pub(crate) fn read(
    field: &Field<'_>,
    kinds: &[&str],
    is_role: impl Fn(&str) -> bool,
    who: &str,
) -> ModelPlan {
    let known: Vec<&str> = kinds.iter().copied().chain(["default", "roles"]).collect();
    let named = field.object(&known);
    let mut plan = ModelPlan { default: names(&named.field("default")), ..ModelPlan::default() };
    for kind in kinds {
        let models = names(&named.field(kind));
        if !models.is_empty() {
            plan.purposes.insert((*kind).to_owned(), models);
        }
    }
    // Somebody may take part and close as well.
    for (role, field) in named.field("roles").entries(PARTICIPANTS_MAX + 1) {
        if !is_role(role) {
            field.refuse(format_args!("{role:?} is not one of the {who}"));
        }
        plan.roles.insert(Role::from(role), names(&field));
    }
    plan
}

/// Reads how calls are asked into a plan: `options.effort` and `options.output_tokens` (rule P23).
pub(crate) fn read_asking(
    plan: &mut ModelPlan,
    options: &Fields<'_>,
    kinds: &[&str],
    is_role: impl Fn(&str) -> bool,
    who: &str,
) {
    let field = options.field("effort");
    plan.effort = match field.value() {
        Some(Value::Object(_)) => efforts(&field, kinds, is_role, who),
        Some(_) | None => EffortPlan { default: effort(&field), ..EffortPlan::default() },
    };
    plan.language = options.field("language").language();
    let caps = options.field("output_tokens").object(kinds);
    for kind in kinds {
        if let Some(tokens) = caps.field(kind).whole(OUTPUT_TOKENS) {
            plan.output_tokens.insert((*kind).to_owned(), u32::try_from(tokens).unwrap_or(u32::MAX));
        }
    }
}

/// Returns the JSON schema of `effort`; without `kinds` an object may name any kind of call.
#[must_use]
pub fn effort_schema(kinds: Option<&[&str]>) -> Value {
    let effort = json!({ "type": "string", "enum": Effort::ALL.map(Effort::as_str) });
    let named = kinds.unwrap_or_default().iter().copied().chain(["default"]);
    let mut properties: Map<String, Value> = named.map(|name| (name.to_owned(), effort.clone())).collect();
    properties.insert("roles".to_owned(), json!({ "type": "object", "additionalProperties": effort }));
    let others = if kinds.is_some() { json!(false) } else { effort.clone() };
    json!({ "anyOf": [
        effort,
        { "type": "object", "properties": properties, "additionalProperties": others },
    ]})
}

/// Returns the JSON schema of `output_tokens`.
pub(crate) fn output_tokens_schema(kinds: &[&str]) -> Value {
    let tokens = whole_schema(&OUTPUT_TOKENS);
    let properties: Map<String, Value> =
        kinds.iter().map(|kind| ((*kind).to_owned(), tokens.clone())).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

fn efforts(field: &Field<'_>, kinds: &[&str], is_role: impl Fn(&str) -> bool, who: &str) -> EffortPlan {
    let known: Vec<&str> = kinds.iter().copied().chain(["default", "roles"]).collect();
    let named = field.object(&known);
    let mut plan = EffortPlan { default: effort(&named.field("default")), ..EffortPlan::default() };
    for kind in kinds {
        if let Some(effort) = effort(&named.field(kind)) {
            plan.purposes.insert((*kind).to_owned(), effort);
        }
    }
    for (role, field) in named.field("roles").entries(PARTICIPANTS_MAX + 1) {
        if !is_role(role) {
            field.refuse(format_args!("{role:?} is not one of the {who}"));
        }
        if let Some(effort) = effort(&field) {
            plan.roles.insert(Role::from(role), effort);
        }
    }
    plan
}

fn effort(field: &Field<'_>) -> Option<Effort> {
    let name = field.text(LABEL_CHARS_MAX)?;
    let found = Effort::ALL.into_iter().find(|effort| effort.as_str() == name);
    if found.is_none() {
        let names = Effort::ALL.map(Effort::as_str).join(", ");
        field.refuse(format_args!("must be one of {names}"));
    }
    found
}

/// Returns whether a plan names models for a kind of call, or by default, whatever is wrong with their names.
pub(crate) fn is_named(field: &Field<'_>, kind: &str) -> bool {
    match field.value().and_then(|plan| plan.get(kind)) {
        None | Some(Value::Null) => false,
        Some(Value::Array(models)) => !models.is_empty(),
        Some(_) => true,
    }
}

/// Reads the name of a model, or a list of them with the first choice first.
pub(crate) fn names(field: &Field<'_>) -> Vec<String> {
    match field.value() {
        Some(Value::Array(_)) => field.texts(MODELS_MAX, NAME_CHARS_MAX),
        Some(_) => field.words(NAME_CHARS_MAX).map(str::to_owned).into_iter().collect(),
        None => Vec::new(),
    }
}

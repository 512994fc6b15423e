//! Which models a request names, the same in every format: `options.models`.

use serde_json::Value;

use super::Field;
use super::sizes::{MODELS_MAX, NAME_CHARS_MAX, PARTICIPANTS_MAX};
use crate::id::Role;
use crate::models::ModelPlan;

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

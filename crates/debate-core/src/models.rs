//! Which models a debate asks: by role, by purpose, each with what stands in where it fails.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::Effort;
use crate::id::{Role, Timestamp};

/// The option of a request that names models.
const OPTION: &str = "options.models";

/// Models of one debate by the names under which they are recorded, such as `openai:gpt-5-mini`.
///
/// Every list begins with the model that is asked; the others stand in for it, in order. An empty list leaves the
/// choice to the next wider one, and at last to the process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelPlan {
    /// For everything that nothing narrower is said of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub default: Vec<String>,
    /// By kind of call, such as `score`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub purposes: BTreeMap<String, Vec<String>>,
    /// By role, for what the role says itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<Role, Vec<String>>,
    /// How much they think.
    #[serde(default, skip_serializing_if = "EffortPlan::is_empty")]
    pub effort: EffortPlan,
    /// The most tokens of the visible answer by kind of call, where that is not the format's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output_tokens: BTreeMap<String, u32>,
    /// The language of answers, a BCP 47 tag; that of the question or topic where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The moment that prompts state and tools receive; the opening of the debate where it is absent (rule K19).
    /// Predictions have it among their dates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
}

/// How much models think (rule P23): an effort for everything, by kind of call, by role; the narrowest counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffortPlan {
    /// For everything that nothing narrower is said of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Effort>,
    /// By kind of call, such as `score`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub purposes: BTreeMap<String, Effort>,
    /// By role, for what the role says itself.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<Role, Effort>,
}

impl EffortPlan {
    /// Returns whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the effort for a kind of call, in which `speaker` speaks where it is somebody's own.
    #[must_use]
    pub fn of(&self, kind: &str, speaker: Option<&Role>) -> Option<Effort> {
        let own = speaker.and_then(|role| self.roles.get(role));
        own.or_else(|| self.purposes.get(kind)).copied().or(self.default)
    }
}

/// What a request says of how one of its calls is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Asking {
    /// How much the model is to think; left to the engine when absent.
    pub effort: Option<Effort>,
    /// The most tokens of the visible answer; the format's own when absent.
    pub output_tokens: Option<u32>,
}

impl ModelPlan {
    /// Returns whether the choice is left to the process throughout.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the models for a kind of call, in which `speaker` speaks where it is somebody's own; empty where the
    /// choice is the process's.
    #[must_use]
    pub fn of(&self, kind: &str, speaker: Option<&Role>) -> &[String] {
        let own = speaker.and_then(|role| self.roles.get(role)).filter(|models| !models.is_empty());
        let purpose = || self.purposes.get(kind).filter(|models| !models.is_empty());
        own.or_else(purpose).unwrap_or(&self.default)
    }

    /// Returns how a kind of call is asked, in which `speaker` speaks where it is somebody's own.
    #[must_use]
    pub fn asking(&self, kind: &str, speaker: Option<&Role>) -> Asking {
        Asking { effort: self.effort.of(kind, speaker), output_tokens: self.output_tokens.get(kind).copied() }
    }

    /// Returns the plan with one choice made anew: that of a kind of call, of `roles.ROLE`, or of all where it is empty.
    ///
    /// # Errors
    /// There is no such choice.
    pub(crate) fn with(
        &self,
        choice: &str,
        model: &str,
        kinds: &[&str],
        is_role: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let models = vec![model.to_owned()];
        if choice.is_empty() {
            let (purposes, roles) = Default::default();
            return Ok(Self { default: models, purposes, roles, ..self.clone() });
        }
        let mut plan = self.clone();
        match choice.strip_prefix("roles.") {
            Some(role) if is_role(role) => plan.roles.insert(Role::from(role), models),
            None if choice == "default" => Some(std::mem::replace(&mut plan.default, models)),
            None if kinds.contains(&choice) => plan.purposes.insert(choice.to_owned(), models),
            Some(_) | None => return Err(format!("there is no model for {choice:?} in this debate")),
        };
        Ok(plan)
    }

    /// Returns every model that is named, with the path at which a request names it.
    #[must_use]
    pub fn named_in_options(&self) -> Vec<(String, String)> {
        self.named().map(|(path, model)| (format!("{OPTION}.{path}"), model.to_owned())).collect()
    }

    /// Returns every model that is named, with the path below this plan at which it is.
    pub fn named(&self) -> impl Iterator<Item = (String, &str)> {
        let default = self.default.iter().map(|model| ("default".to_owned(), model));
        let purposes = self
            .purposes
            .iter()
            .flat_map(|(purpose, models)| models.iter().map(move |model| (purpose.clone(), model)));
        let roles = self
            .roles
            .iter()
            .flat_map(|(role, models)| models.iter().map(move |model| (format!("roles.{role}"), model)));
        default.chain(purposes).chain(roles).map(|(path, model)| (path, model.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_choice_counts() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let plan = ModelPlan {
            default: names(&["a:1", "a:2"]),
            purposes: [("score".to_owned(), names(&["b:1"]))].into(),
            roles: [(Role::from("judge"), names(&["c:1"]))].into(),
            ..ModelPlan::default()
        };
        let judge = Role::from("judge");
        assert_eq!(plan.of("argue", Some(&judge)), names(&["c:1"]));
        assert_eq!(plan.of("argue", Some(&"optimist".into())), names(&["a:1", "a:2"]));
        assert_eq!(plan.of("score", None), names(&["b:1"]));
        assert_eq!(ModelPlan::default().of("score", None), names(&[]));
        let paths: Vec<_> = plan.named().map(|(path, model)| format!("{path}={model}")).collect();
        assert_eq!(paths, ["default=a:1", "default=a:2", "score=b:1", "roles.judge=c:1"]);
    }
}

//! Which models a debate may use (rule K23): facts of its first event, so that no process goes on with another one.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::CallKey;
use crate::debate::Debate;
use crate::format::Format;

/// Models whose names begin so give no forecast, only something to try the engine with.
const SIMULATED_PREFIX: &str = "simulated";

/// Returns whether a program makes up what the model of that name answers.
#[must_use]
pub fn is_simulated(name: &str) -> bool {
    name.starts_with(SIMULATED_PREFIX)
}

/// Where a model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Nowhere: a program makes up the answers.
    Simulated,
    /// At its provider's own address.
    Provider,
    /// On the machine of the process that asks it.
    Local,
    /// At any other address.
    Elsewhere,
}

impl Place {
    /// Returns the place in a few words, such as `at its provider`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Provider => "at its provider",
            Self::Local => "on the same machine",
            Self::Elsewhere => "at another address",
        }
    }
}

/// A model as a debate knows it: two of one name at different places are not the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelIdentity {
    /// The name under which it is recorded, such as `openai:gpt-5-mini`.
    pub name: String,
    /// Where it answers.
    pub at: Place,
}

impl fmt::Display for ModelIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, at } = self;
        match at {
            Place::Simulated => write!(f, "{name}"),
            Place::Provider | Place::Local | Place::Elsewhere => write!(f, "{name} ({})", at.as_str()),
        }
    }
}

/// The models that a debate may use.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundModels {
    /// The one for questions of which the rules name no model; absent where they name one for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<ModelIdentity>,
    /// Those that the rules name, in name order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<ModelIdentity>,
}

impl BoundModels {
    /// Returns all of them.
    pub fn all(&self) -> impl Iterator<Item = &ModelIdentity> {
        self.default.iter().chain(&self.named)
    }
}

/// What the fold knows of a debate's models.
impl<F: Format> Debate<F> {
    /// Returns the models that a call is put to, those that stand in for the first behind it; empty where the log does
    /// not say, as logs once did not.
    #[must_use]
    pub fn models_for(&self, call: &CallKey) -> &[String] {
        if let Some((model, _)) = &self.replacement {
            return std::slice::from_ref(&model.name);
        }
        let named = F::models(&self.config, call);
        let default = self.bound.as_ref().and_then(|bound| bound.default.as_ref());
        match default {
            Some(default) if named.is_empty() => std::slice::from_ref(&default.name),
            Some(_) | None => named,
        }
    }

    /// Returns the models without which the debate cannot go on; `None` where its log does not say.
    #[must_use]
    pub fn models_needed(&self) -> Option<Vec<&ModelIdentity>> {
        match (&self.replacement, &self.bound) {
            (Some((model, _)), _) => Some(vec![model]),
            (None, bound) => bound.as_ref().map(|bound| bound.all().collect()),
        }
    }

    /// Returns a line that says which model stands in for those that the debate may use, if any does.
    #[must_use]
    pub fn replacement_note(&self) -> Option<String> {
        let (model, event) = self.replacement.as_ref()?;
        Some(format!("all that was asked after event {event} was put to {model} instead"))
    }

    /// Returns whether all replies came from simulated models, if any came.
    #[must_use]
    pub fn is_wholly_simulated(&self) -> bool {
        self.is_simulated() && self.models.iter().all(|model| is_simulated(model))
    }

    /// Returns the models asked so far, in name order.
    #[must_use]
    pub fn models(&self) -> &BTreeSet<String> {
        &self.models
    }

    /// Returns the models asked so far that have no price, in name order (rule K8).
    #[must_use]
    pub fn unpriced_models(&self) -> &BTreeSet<String> {
        &self.unpriced_models
    }

    /// Returns whether any reply came from a simulated model.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.models.iter().any(|model| is_simulated(model))
    }
}

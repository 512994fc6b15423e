//! Which models of this process a debate may use (rule K23).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use debate_core::bound::{BoundModels, ModelIdentity, Place, is_simulated};
use debate_core::call::CallKey;
use debate_core::debate::Debate;
use debate_core::format::Format;
use debate_core::id::Role;
use debate_llm::ChatModel;

use crate::engine_shared::EngineShared;

/// Why a debate cannot go on with the models of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unoffered {
    /// Its log does not say which models it may use.
    Unknown,
    /// These models are not offered here, or answer at another place here.
    Missing(Vec<ModelIdentity>),
}

impl fmt::Display for Unoffered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the log of the debate does not say which models it may use"),
            Self::Missing(models) => {
                let models: Vec<String> = models.iter().map(ToString::to_string).collect();
                write!(f, "the debate may use {} alone, which this process does not offer", models.join(", "))
            }
        }
    }
}

/// Returns what a debate knows a model by.
pub(crate) fn identity(model: &dyn ChatModel) -> ModelIdentity {
    let at = match model.place() {
        debate_llm::Place::Simulated => Place::Simulated,
        debate_llm::Place::Provider => Place::Provider,
        debate_llm::Place::Local => Place::Local,
        debate_llm::Place::Elsewhere => Place::Elsewhere,
    };
    ModelIdentity { name: model.name().to_owned(), at }
}

/// Returns the models that a debate with these rules may use.
pub(crate) fn bound<F: Format>(shared: &EngineShared, config: &F::Config) -> BoundModels {
    let models = &shared.models;
    let named: BTreeSet<String> = F::models_named(config).into_iter().map(|(_, model)| model).collect();
    let other = CallKey::new("", 0, Role::from(""));
    let is_open = |call: &CallKey| F::models(config, call).is_empty();
    let needs_default = is_open(&other) || F::calls(config).iter().any(is_open);
    BoundModels {
        default: needs_default.then(|| identity(&**models.default_model())),
        named: named.iter().filter_map(|name| models.get(name)).map(|model| identity(&**model)).collect(),
    }
}

/// Returns the model of this process that a debate knows by a name. One simulated model can replace another: its seed
/// and speed are part of its name.
pub(crate) fn offered<'a>(shared: &'a EngineShared, name: &str) -> Option<&'a Arc<dyn ChatModel>> {
    let default = shared.models.default_model();
    let is_simulated = is_simulated(name) && default.is_simulated();
    shared.models.get(name).or_else(|| is_simulated.then_some(default))
}

/// Returns why a debate cannot go on with the models of this process, if it cannot.
pub(crate) fn missing<F: Format>(shared: &EngineShared, debate: &Debate<F>) -> Option<Unoffered> {
    let Some(needed) = debate.models_needed() else { return Some(Unoffered::Unknown) };
    let is_offered = |wanted: &ModelIdentity| {
        offered(shared, &wanted.name).is_some_and(|model| identity(&**model).at == wanted.at)
    };
    let missing: Vec<ModelIdentity> =
        needed.into_iter().filter(|wanted| !is_offered(wanted)).cloned().collect();
    (!missing.is_empty()).then_some(Unoffered::Missing(missing))
}

//! The models that a process can ask, by the names under which they are recorded.

use std::fmt;
use std::sync::Arc;

use crate::ChatModel;

/// A default model for requests that name none, and further models that requests may name. Cheap to clone.
#[derive(Clone)]
pub struct Models {
    /// The default one first; no name twice.
    all: Arc<[Arc<dyn ChatModel>]>,
}

impl Models {
    /// Makes a registry; of models with the same name the first one counts.
    pub fn new(default: Arc<dyn ChatModel>, offered: impl IntoIterator<Item = Arc<dyn ChatModel>>) -> Self {
        let mut all = vec![default];
        for model in offered {
            if all.iter().all(|known| known.name() != model.name()) {
                all.push(model);
            }
        }
        Self { all: all.into() }
    }

    /// Returns the model for requests that name none.
    #[must_use]
    pub fn default_model(&self) -> &Arc<dyn ChatModel> {
        &self.all[0]
    }

    /// Returns the model that is recorded as `name`, such as `openai:gpt-5-mini`, the default one included.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn ChatModel>> {
        self.all.iter().find(|model| model.name() == name)
    }

    /// Returns all names, the default one first, then in the order of offering.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|model| model.name())
    }

    /// Opens what the first calls would otherwise wait for, once for each provider: its models share connections.
    pub async fn warm_up(&self) {
        let mut warm: Vec<&str> = Vec::new();
        for model in self.all.iter() {
            let provider = model.name().split(':').next().unwrap_or_default();
            if !warm.contains(&provider) {
                warm.push(provider);
                model.warm_up().await;
            }
        }
    }
}

impl From<Arc<dyn ChatModel>> for Models {
    fn from(default: Arc<dyn ChatModel>) -> Self {
        Self::new(default, [])
    }
}

impl<M: ChatModel + 'static> From<Arc<M>> for Models {
    fn from(default: Arc<M>) -> Self {
        Self::new(default, [])
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimulatedConfig, debater};

    fn model(seed: u64) -> Arc<dyn ChatModel> {
        Arc::new(debater(SimulatedConfig { seed, ..SimulatedConfig::default() }))
    }

    #[test]
    fn models_are_found_by_their_recorded_names_and_the_default_comes_first() {
        let models = Models::new(model(1), [model(2), model(1), model(2), model(3)]);
        assert_eq!(models.names().collect::<Vec<_>>(), ["simulated:1", "simulated:2", "simulated:3"]);
        assert_eq!(models.default_model().name(), "simulated:1");
        assert_eq!(models.get("simulated:3").map(|model| model.name()), Some("simulated:3"));
        assert!(Arc::ptr_eq(models.get("simulated:1").unwrap(), models.default_model()));
        assert!(models.get("simulated:4").is_none());
        assert_eq!(Models::from(model(9)).names().collect::<Vec<_>>(), ["simulated:9"]);
    }
}

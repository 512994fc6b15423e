//! Which model, and making it.

use std::str::FromStr;
use std::sync::Arc;

use debate_llm::openai::{OpenAi, OpenAiConfig};
use debate_llm::simulated::debater;
use debate_llm::{ChatModel, ScriptedAnswer, ScriptedModel, SimulatedConfig};

use crate::args::Options;

/// Who debates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ModelChoice {
    /// A program that makes up its answers.
    Simulated(Box<SimulatedConfig>),
    /// A model behind the OpenAI protocol, by its name.
    OpenAi(String),
}

impl FromStr for ModelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (provider, rest) = text.split_once(':').unwrap_or((text, ""));
        match provider {
            "simulated" => {
                let config: SimulatedConfig = rest.parse().map_err(|error| format!("{error}"))?;
                Ok(Self::Simulated(Box::new(config)))
            }
            "openai" if !rest.trim().is_empty() => Ok(Self::OpenAi(rest.trim().to_owned())),
            "openai" => Err("no model is named; write openai:NAME, such as openai:gpt-5-mini".to_owned()),
            _ => Err("write simulated, simulated:KEY=VALUE,… or openai:NAME".to_owned()),
        }
    }
}

/// Makes the model; connects to nothing yet.
pub(crate) fn open(options: &Options) -> anyhow::Result<Arc<dyn ChatModel>> {
    match &options.model {
        ModelChoice::Simulated(config) => {
            let mut config = (**config).clone();
            config.seed = options.seed.unwrap_or(config.seed);
            Ok(Arc::new(debater(config)))
        }
        ModelChoice::OpenAi(name) => {
            let config = OpenAiConfig::from_env(name, |variable| match variable {
                "OPENAI_BASE_URL" => options.openai_base_url.clone(),
                _ => std::env::var(variable).ok(),
            })?;
            Ok(Arc::new(OpenAi::new(config)?))
        }
    }
}

/// Makes a model for those who read debates: nobody asks it anything.
pub(crate) fn nobody() -> Arc<dyn ChatModel> {
    Arc::new(ScriptedModel::in_order(std::iter::empty::<ScriptedAnswer>()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_by_its_provider() {
        let simulated = |text: &str| ModelChoice::Simulated(Box::new(text.parse().unwrap()));
        assert_eq!("simulated".parse(), Ok(simulated("")));
        assert_eq!("simulated:7".parse(), Ok(simulated("seed=7")));
        assert_eq!("simulated:latency=5ms".parse(), Ok(simulated("latency=5ms")));
        assert_eq!("openai:gpt-5-mini".parse(), Ok(ModelChoice::OpenAi("gpt-5-mini".to_owned())));
        assert_eq!(
            "openai:library/llama3:8b".parse(),
            Ok(ModelChoice::OpenAi("library/llama3:8b".to_owned()))
        );
        for (bad, why) in [
            ("openai", "openai:NAME"),
            ("openai: ", "openai:NAME"),
            ("gpt-5", "simulated"),
            ("", "simulated"),
            ("simulatedx", "simulated"),
            ("simulated:speed=9", "speed"),
        ] {
            let error = bad.parse::<ModelChoice>().unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}

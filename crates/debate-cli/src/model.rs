//! Which model, and making it.

use std::str::FromStr;
use std::sync::Arc;

use debate_llm::simulated::debater;
use debate_llm::{
    ChatModel, HttpConfig, HttpModel, Provider, ScriptedAnswer, ScriptedModel, SimulatedConfig,
};

use crate::args::Options;

/// Who debates.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ModelChoice {
    /// A program that makes up its answers.
    Simulated(Box<SimulatedConfig>),
    /// A model behind a provider's protocol, by its name.
    Real(Provider, String),
}

impl FromStr for ModelChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (prefix, rest) = text.split_once(':').unwrap_or((text, ""));
        if prefix == "simulated" {
            let config: SimulatedConfig = rest.parse().map_err(|error| format!("{error}"))?;
            return Ok(Self::Simulated(Box::new(config)));
        }
        let Some(provider) = Provider::named(prefix) else {
            let real = Provider::ALL.map(|provider| format!("{provider}:NAME")).join(", ");
            return Err(format!("write one of simulated, simulated:KEY=VALUE,…, {real}"));
        };
        match rest.trim() {
            "" => {
                let example = provider.example();
                Err(format!("no model is named; write {provider}:NAME, such as {example}"))
            }
            name => Ok(Self::Real(provider, name.to_owned())),
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
        ModelChoice::Real(provider, name) => {
            let config = HttpConfig::from_env(*provider, name, |variable| match variable {
                "OPENAI_BASE_URL" => options.openai_base_url.clone(),
                _ => std::env::var(variable).ok(),
            })?;
            Ok(Arc::new(HttpModel::new(config)?))
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
        for (text, provider, name) in [
            ("openai:gpt-5-mini", Provider::OpenAi, "gpt-5-mini"),
            ("openai-responses:gpt-5-mini", Provider::OpenAiResponses, "gpt-5-mini"),
            ("openai:library/llama3:8b", Provider::OpenAi, "library/llama3:8b"),
            (" anthropic: claude-sonnet-5 ", Provider::Anthropic, "claude-sonnet-5"),
            ("gemini:models/gemini-3.5-flash", Provider::Gemini, "models/gemini-3.5-flash"),
        ] {
            assert_eq!(text.parse(), Ok(ModelChoice::Real(provider, name.to_owned())));
        }
        for (bad, why) in [
            ("openai", "openai:NAME"),
            ("openai: ", "openai:NAME"),
            ("anthropic", "anthropic:NAME"),
            ("gemini:", "gemini:NAME"),
            ("gpt-5", "anthropic:NAME"),
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

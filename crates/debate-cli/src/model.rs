//! Which models, and making them.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::sync::Arc;

use debate_llm::simulated::debater;
use debate_llm::{
    ChatModel, ConfigError, Gate, Governed, HttpConfig, HttpModel, Models, Provider, ProviderLimits,
    ScriptedAnswer, ScriptedModel, SimulatedConfig, Window,
};

use crate::args::Options;
use crate::exit::Failure;

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

impl ModelChoice {
    /// Returns the name under which the model is recorded.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Simulated(config) => config.to_string(),
            Self::Real(provider, name) => format!("{provider}:{name}"),
        }
    }

    /// Returns whether a program makes up its replies.
    pub(crate) fn is_simulated(&self) -> bool {
        matches!(self, Self::Simulated(_))
    }
}

/// The limits of one provider, written `openai:concurrency=50,requests_per_minute=500`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitsChoice {
    provider: Provider,
    limits: ProviderLimits,
}

/// Returns how many calls of a model may be under way at once, where options limit that.
pub(crate) fn concurrency(options: &Options, model: &ModelChoice) -> Option<u32> {
    let ModelChoice::Real(provider, _) = model else { return None };
    let limits = options.provider_limits.iter().find(|choice| choice.provider == *provider)?.limits;
    limits.concurrency.map(NonZeroU32::get)
}

impl FromStr for LimitsChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, spelling) = text.split_once(':').unwrap_or((text, ""));
        let Some(provider) = Provider::named(name.trim()) else {
            let names = Provider::ALL.map(Provider::name).join(", ");
            return Err(format!("write PROVIDER:LIMIT=NUMBER,… with one of {names}"));
        };
        let limits = spelling.parse().map_err(|error| format!("{error}"))?;
        Ok(Self { provider, limits })
    }
}

/// Makes the default model and those offered; connects to nothing yet.
///
/// # Errors
/// When a model's address or key cannot be used, or a provider's limits are given twice.
pub(crate) fn open(options: &Options) -> anyhow::Result<Models> {
    let mut opening = Opening { options, providers: HashMap::new() };
    for (nth, choice) in options.provider_limits.iter().enumerate() {
        if options.provider_limits[..nth].iter().any(|earlier| earlier.provider == choice.provider) {
            return Err(Failure::bad_input(format!(
                "the limits of {} are given twice; join them by commas",
                choice.provider
            )));
        }
    }
    let default = opening.model(&options.model)?;
    let offered: anyhow::Result<Vec<_>> = options.offer.iter().map(|choice| opening.model(choice)).collect();
    Ok(Models::new(default, offered?))
}

/// Opens on a spare task what the first calls would otherwise wait for; what fails shows in those calls.
pub(crate) fn warm_up(models: &Models) {
    let models = models.clone();
    tokio::spawn(async move { models.warm_up().await });
}

/// Makes models; those of one provider share its connections and its limits.
struct Opening<'a> {
    options: &'a Options,
    providers: HashMap<Provider, (Arc<HttpModel>, Arc<Gate>)>,
}

impl Opening<'_> {
    fn model(&mut self, choice: &ModelChoice) -> anyhow::Result<Arc<dyn ChatModel>> {
        match choice {
            ModelChoice::Simulated(config) => {
                let mut config = (**config).clone();
                config.seed = self.options.seed.unwrap_or(config.seed);
                Ok(Arc::new(debater(config)))
            }
            ModelChoice::Real(provider, name) => self.real(*provider, name),
        }
    }

    fn real(&mut self, provider: Provider, name: &str) -> anyhow::Result<Arc<dyn ChatModel>> {
        if let Some((sibling, gate)) = self.providers.get(&provider) {
            let model = Arc::new(sibling.with_model(name)?);
            return Ok(Arc::new(Governed::new(model, Arc::clone(gate))));
        }
        let config = config(self.options, provider, name)?;
        if config.exposes_key() {
            let variable = provider.base_url_variable();
            tracing::warn!(
                "the key of {provider} goes over the network unencrypted: write https:// in {variable}"
            );
        }
        let model = Arc::new(HttpModel::new(config)?);
        let chosen = self.options.provider_limits.iter().find(|choice| choice.provider == provider);
        let limits = chosen.map(|choice| choice.limits).unwrap_or_default();
        let gate = Arc::new(Gate::new(provider, limits));
        self.providers.insert(provider, (Arc::clone(&model), Arc::clone(&gate)));
        Ok(Arc::new(Governed::new(model, gate)))
    }
}

/// Returns the context window of each model by its name, where the options or its server say it.
pub(crate) async fn windows(options: &Options, models: &Models) -> Vec<(String, Window)> {
    let mut windows = Vec::new();
    for name in models.names() {
        let Some(model) = models.get(name).filter(|model| !model.is_simulated()) else { continue };
        let asked = match options.context_window {
            Some(tokens) => Some(tokens.into()),
            None => model.window().await,
        };
        windows.extend(asked.map(|window| (name.to_owned(), window)));
    }
    windows
}

/// Returns where a model is and with which key it is asked.
///
/// # Errors
/// There is neither a key nor another address than the provider's own.
pub(crate) fn config(options: &Options, provider: Provider, name: &str) -> Result<HttpConfig, ConfigError> {
    let config = HttpConfig::from_env(provider, name, |variable| match variable {
        "OPENAI_BASE_URL" => options.openai_base_url.clone(),
        _ => std::env::var(variable).ok(),
    })?;
    Ok(HttpConfig {
        captures_content: options.capture_content,
        context_window: options.context_window,
        ..config
    })
}

/// Makes a model for commands that only read debates. It is never called.
pub(crate) fn unused() -> Arc<dyn ChatModel> {
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

    #[test]
    fn model_limits_default_to_those_of_the_adapters() {
        let argv = ["debate", "serve", "--openai-base-url=http://localhost:1"].map(Into::into);
        let options = crate::config::parse(&argv).unwrap().options;
        let limits = config(&options, Provider::OpenAi, "m").unwrap().limits;
        assert_eq!(limits, HttpConfig::new(Provider::OpenAi, "https://h", "m").limits);
    }

    #[test]
    fn limits_are_those_of_a_provider() {
        let limits = "concurrency=50,tokens_per_minute=9".parse().unwrap();
        let want = LimitsChoice { provider: Provider::OpenAi, limits };
        assert_eq!("openai:tokens_per_minute=9,concurrency=50".parse(), Ok(want));
        for (bad, why) in [
            ("concurrency=50", "anthropic, gemini, openai, openai-responses"),
            ("simulated:concurrency=1", "PROVIDER"),
            ("openai:concurrency=x", "concurrency: \"x\""),
            ("openai:speed=1", "speed: there is no such limit"),
        ] {
            let error = bad.parse::<LimitsChoice>().unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}

//! Whether the models are configured so that they can be asked.

use std::sync::Arc;

use debate_llm::{ChatModel, HttpConfig, HttpModel, Provider};

use super::{Check, Verdict};
use crate::args::Options;
use crate::config::without_login;
use crate::exit;
use crate::model::{self, ModelChoice};
use crate::search;

const MODEL: &str = "model";
const OFFER: &str = "offer";
const SEARCH: &str = "search";

const UNENCRYPTED: &str = "it is sent unencrypted: write https://";

/// The default model, ready to be asked.
pub(super) struct Ready {
    pub(super) model: Arc<dyn ChatModel>,
    pub(super) provider: Provider,
}

/// Checks all models; returns the default one if it is real and all can be used.
pub(super) fn check(options: &Options) -> (Vec<Check>, Option<Ready>) {
    let mut checks = vec![of(options, MODEL, &options.model)];
    checks.extend(options.offer.iter().map(|choice| of(options, OFFER, choice)));
    let ModelChoice::Real(provider, _) = options.model else { return (checks, None) };
    if checks.iter().any(|check| check.verdict == Verdict::Fail) {
        return (checks, None);
    }
    match model::open(options) {
        Ok(models) => {
            let model = Arc::clone(models.default_model());
            (checks, Some(Ready { model, provider }))
        }
        Err(error) => {
            checks.push(Check::new(MODEL, Verdict::Fail, exit::one_line(&error)));
            (checks, None)
        }
    }
}

fn of(options: &Options, name: &str, choice: &ModelChoice) -> Check {
    let full = choice.name();
    let (provider, of_provider) = match choice {
        ModelChoice::Simulated(_) => {
            let text = format!("{full} is SIMULATED: a program makes up every reply, so nothing is measured");
            return Check::new(name, Verdict::Warn, text).remedy("--model openai:NAME asks a real one");
        }
        ModelChoice::Real(provider, of_provider) => (*provider, of_provider),
    };
    let made = model::config(options, provider, of_provider);
    match made.and_then(|config| HttpModel::new(config.clone()).map(|_| config)) {
        Ok(config) => configured(name, &full, provider, &config),
        Err(error) => {
            let text = format!("{full}: {}", exit::one_line(&error.into()));
            let (address, key) = (provider.base_url_variable(), provider.key_variable());
            Check::new(name, Verdict::Fail, text).remedy(format!("see {address} and {key}"))
        }
    }
}

/// Says where a model is and whether there is a key; never the key.
fn configured(name: &str, full: &str, provider: Provider, config: &HttpConfig) -> Check {
    let base = without_login(config.base_url.trim()).unwrap_or_default();
    let key = provider.key_variable();
    let has_key = config.api_key.is_some();
    let key_said = if has_key { "a key is set" } else { "no key is set" };
    let text = format!("{full} at {base}; {key_said}");
    if config.exposes_key() {
        return Check::new(name, Verdict::Warn, text).remedy(UNENCRYPTED);
    }
    if !has_key && !config.is_local() {
        let remedy = format!("set {key} unless the server needs none");
        return Check::new(name, Verdict::Warn, text).remedy(remedy);
    }
    Check::new(name, Verdict::Ok, text)
}

/// Checks the search service, where one is named; asks it nothing.
pub(super) fn searching(options: &Options) -> Option<Check> {
    match search::endpoint(options) {
        Ok(endpoint) => endpoint.map(|endpoint| match endpoint.exposes_key() {
            true => Check::new(SEARCH, Verdict::Warn, "a key is set").remedy(UNENCRYPTED),
            false => Check::new(SEARCH, Verdict::Ok, "--search-endpoint is an address"),
        }),
        Err(error) => Some(Check::new(SEARCH, Verdict::Fail, exit::one_line(&error))),
    }
}

#[cfg(test)]
mod tests {
    use debate_llm::ApiKey;

    use super::*;

    #[test]
    fn a_key_is_never_shown_and_what_is_odd_about_its_use_is() {
        let check = |base: &str, key: Option<&str>| {
            let api_key = key.map(ApiKey::new);
            let config = HttpConfig { api_key, ..HttpConfig::new(Provider::OpenAi, base, "m") };
            configured(MODEL, "openai:m", Provider::OpenAi, &config)
        };
        for (base, key, verdict, says) in [
            ("https://api.example.com/v1?token=hush", Some("hush"), Verdict::Ok, "a key is set"),
            (
                "https://api.example.com/v1;key=hush",
                Some("hush"),
                Verdict::Ok,
                "at https://[hidden]; a key is set",
            ),
            ("https://api.example.com/v1", None, Verdict::Warn, "set OPENAI_API_KEY"),
            ("http://api.example.com/v1", Some("hush"), Verdict::Warn, "unencrypted"),
            ("http://localhost:11434/v1", None, Verdict::Ok, "no key is set"),
            ("http://127.0.0.1:9/v1", Some("hush"), Verdict::Ok, "http://127.0.0.1:9/v1"),
            ("http://[::1]:9/v1", None, Verdict::Ok, "no key is set"),
            ("http://127.example.com/v1", Some("hush"), Verdict::Warn, "unencrypted"),
        ] {
            let check = check(base, key);
            let line = check.line();
            assert_eq!(check.verdict, verdict, "{base}: {line}");
            assert!(line.contains(says) && !line.contains("hush"), "{base}: {line}");
        }
    }
}

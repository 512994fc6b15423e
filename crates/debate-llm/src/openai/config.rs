//! Where the provider is, which model, which key, which limits.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::HeaderValue;

use crate::retry::RetryPolicy;

/// The address used when none is given.
pub const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// All that an [`OpenAi`](super::OpenAi) model needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenAiConfig {
    /// The address below which `chat/completions` lies, such as `http://localhost:11434/v1`.
    pub base_url: String,
    /// The key, sent as a bearer token; local servers need none.
    pub api_key: Option<ApiKey>,
    /// The provider's name of the model.
    pub model: String,
    /// What is waited for and how much is read.
    pub limits: WireLimits,
    /// How often the wire is tried again (K5).
    pub retry: RetryPolicy,
}

impl OpenAiConfig {
    /// Makes the configuration of `model` at `base_url`, without a key, with default limits.
    pub fn new(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            limits: WireLimits::default(),
            retry: RetryPolicy::default(),
        }
    }

    /// Reads `OPENAI_BASE_URL` and `OPENAI_API_KEY` through `lookup`; an empty value counts as none.
    ///
    /// # Errors
    /// [`ConfigError::MissingKey`] when no key is set and the address is OpenAI's own.
    pub fn from_env(
        model: impl Into<String>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let value =
            |name: &str| lookup(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let base_url = value("OPENAI_BASE_URL");
        let api_key = value("OPENAI_API_KEY").map(ApiKey::new);
        if base_url.is_none() && api_key.is_none() {
            return Err(ConfigError::MissingKey);
        }
        let base_url = base_url.unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
        Ok(Self { api_key, ..Self::new(base_url, model) })
    }

    /// Returns the address that requests are sent to.
    pub(super) fn endpoint(&self) -> Result<Url, ConfigError> {
        let refused =
            |why: &str| ConfigError::BaseUrl { base_url: shown(&self.base_url), why: why.to_owned() };
        let no_scheme = || refused("it must begin with http:// or https://");
        let mut url = match Url::parse(self.base_url.trim()) {
            Ok(url) => url,
            Err(error) if self.base_url.contains("://") => return Err(refused(&error.to_string())),
            Err(_) => return Err(no_scheme()),
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(no_scheme());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("it must not hold a user or password; set OPENAI_API_KEY"));
        }
        let complete = url.path().trim_end_matches('/').ends_with("/chat/completions");
        if let (false, Ok(mut path)) = (complete, url.path_segments_mut()) {
            path.pop_if_empty().extend(["chat", "completions"]);
        }
        Ok(url)
    }

    /// Returns the header that carries the key.
    pub(super) fn authorization(&self) -> Result<Option<HeaderValue>, ConfigError> {
        let Some(key) = &self.api_key else { return Ok(None) };
        let mut header =
            HeaderValue::from_str(&format!("Bearer {}", key.0)).map_err(|_| ConfigError::UnusableKey)?;
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

/// What is waited for and how much is read.
#[derive(Debug, Clone, PartialEq)]
pub struct WireLimits {
    /// The longest wait for a connection.
    pub connect_timeout: Duration,
    /// The longest wait for the first byte of a response, and for the first one of its body.
    pub first_byte_timeout: Duration,
    /// The longest silence in the middle of an answer.
    pub idle_timeout: Duration,
    /// The most bytes of a response's body.
    pub reply_bytes_max: usize,
}

impl Default for WireLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(60),
            idle_timeout: Duration::from_secs(30),
            reply_bytes_max: 4 << 20,
        }
    }
}

/// A secret key; it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// Returns `text` with the key blotted out.
    pub(super) fn redact(&self, text: &str) -> Box<str> {
        if self.0.is_empty() { text.into() } else { text.replace(&self.0, "[key]").into() }
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey([hidden])")
    }
}

/// A configuration that cannot work.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The base URL is not one.
    #[error("base URL {base_url:?} cannot be used: {why}")]
    BaseUrl {
        /// The URL as given, a password in it blotted out.
        base_url: String,
        /// What is wrong with it.
        why: String,
    },
    /// No model was named.
    #[error("no model is named; write openai:NAME, such as openai:gpt-5-mini")]
    MissingModel,
    /// OpenAI's own address needs a key.
    #[error("OPENAI_API_KEY is not set (a local server needs none: set OPENAI_BASE_URL)")]
    MissingKey,
    /// The key holds characters that no header can carry.
    #[error("OPENAI_API_KEY holds characters that cannot be sent")]
    UnusableKey,
    /// The HTTP client cannot be made, most often because the system has no CA certificates.
    #[error("the HTTPS client cannot be made; are CA certificates installed?")]
    Client {
        /// The cause.
        #[source]
        source: reqwest::Error,
    },
}

/// Blots out what stands before an `@` in an address.
fn shown(url: &str) -> String {
    match (url.find("://"), url.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            format!("{}[hidden]{}", &url[..scheme + 3], &url[at..])
        }
        (_, Some(at)) => format!("[hidden]{}", &url[at..]),
        (_, None) => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(pairs: &[(&str, &str)]) -> Result<OpenAiConfig, ConfigError> {
        OpenAiConfig::from_env("m", |name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_gives_address_and_key() {
        let config = from(&[("OPENAI_API_KEY", "k1")]).unwrap();
        assert_eq!(config.base_url, DEFAULT_BASE_URL);
        let local = from(&[("OPENAI_BASE_URL", "http://localhost:1/v1"), ("OPENAI_API_KEY", " ")]).unwrap();
        assert_eq!((local.base_url.as_str(), local.api_key), ("http://localhost:1/v1", None));
        assert!(matches!(from(&[]), Err(ConfigError::MissingKey)));
    }

    #[test]
    fn a_key_is_never_shown() {
        let config = from(&[("OPENAI_API_KEY", "sk-secret")]).unwrap();
        assert!(!format!("{config:?}{:?}", config.authorization().unwrap()).contains("sk-secret"));
        assert_eq!(&*ApiKey::new("sk-secret").redact("bad sk-secret!"), "bad [key]!");
        let bad = OpenAiConfig { api_key: Some(ApiKey::new("a\nb")), ..config };
        assert!(matches!(bad.authorization(), Err(ConfigError::UnusableKey)));
    }

    #[test]
    fn a_base_url_leads_to_one_endpoint_or_one_clear_error() {
        for (base, want) in [
            ("http://h:1/v1", Ok("http://h:1/v1/chat/completions")),
            ("http://h:1/v1/", Ok("http://h:1/v1/chat/completions")),
            ("https://h", Ok("https://h/chat/completions")),
            ("https://h/x?api-version=2", Ok("https://h/x/chat/completions?api-version=2")),
            ("https://h/v1/chat/completions", Ok("https://h/v1/chat/completions")),
            ("localhost:8080/v1", Err("http://")),
            ("api.openai.com/v1", Err("http://")),
            ("ftp://h/v1", Err("http://")),
            ("", Err("http://")),
            ("http://", Err("host")),
            ("http://h:99999/", Err("port")),
            ("http://u:pw@h/", Err("[hidden]@h")),
        ] {
            let got = OpenAiConfig::new(base, "m").endpoint().map_err(|error| error.to_string());
            match want {
                Ok(url) => assert_eq!(got.unwrap().as_str(), url),
                Err(part) => {
                    let text = got.unwrap_err();
                    assert!(text.contains(part) && !text.contains("pw"), "{base}: {text}");
                }
            }
        }
    }
}

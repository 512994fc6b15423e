//! Where the provider is, which model, which key, which limits.

use std::fmt;
use std::time::Duration;

use http::Uri;
use http::header::{HeaderValue, InvalidHeaderValue};
use url::Url;

use super::connect::{is_in_the_clear, is_loopback};
use super::retry::RetryPolicy;
use crate::Provider;

/// All that an [`HttpModel`](super::HttpModel) needs to know.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpConfig {
    /// Whose protocol is spoken.
    pub provider: Provider,
    /// The address below which the protocol's paths lie, such as `http://localhost:11434/v1`.
    pub base_url: String,
    /// The key; local servers need none.
    pub api_key: Option<ApiKey>,
    /// The provider's name of the model.
    pub model: String,
    /// How long a connection may take and how much is read.
    pub limits: WireLimits,
    /// How often the wire is tried again (K5).
    pub retry: RetryPolicy,
    /// The context window in tokens, where it is set by hand; the server is asked otherwise.
    pub context_window: Option<u32>,
    /// Whether spans hold what was asked and answered; not unless somebody wants it.
    pub captures_content: bool,
}

impl HttpConfig {
    /// Makes the configuration of `model` at `base_url`, without a key, with default limits.
    pub fn new(provider: Provider, base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            provider,
            base_url: base_url.into(),
            api_key: None,
            model: model.into(),
            limits: WireLimits::default(),
            retry: RetryPolicy::default(),
            context_window: None,
            captures_content: false,
        }
    }

    /// Reads address and key from the provider's variables through `lookup`; an empty value counts as none.
    ///
    /// # Errors
    /// [`ConfigError::MissingKey`] when no key is set and the address is the provider's own.
    pub fn from_env(
        provider: Provider,
        model: impl Into<String>,
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let value =
            |name: &str| lookup(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let base_url = value(provider.base_url_variable());
        let api_key = provider.key_variables().iter().find_map(|name| value(name)).map(ApiKey::new);
        if base_url.is_none() && api_key.is_none() {
            return Err(ConfigError::MissingKey { provider });
        }
        let base_url = base_url.unwrap_or_else(|| provider.base_url().to_owned());
        Ok(Self { api_key, ..Self::new(provider, base_url, model) })
    }

    /// Returns whether the server is on this machine, by its name alone.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.endpoint_uri().is_ok_and(|endpoint| is_loopback(&endpoint))
    }

    /// Returns whether the key goes over a network unencrypted.
    #[must_use]
    pub fn exposes_key(&self) -> bool {
        self.api_key.is_some() && self.endpoint_uri().is_ok_and(|endpoint| is_in_the_clear(&endpoint))
    }

    /// Returns whether the server is the provider's own.
    pub(super) fn is_providers_own(&self) -> bool {
        let host = |url: &Url| url.host_str().map(str::to_owned);
        let own = Url::parse(self.provider.base_url()).ok().as_ref().and_then(host);
        self.endpoint().ok().as_ref().and_then(host) == own
    }

    /// Returns the address that requests are sent to.
    pub(super) fn endpoint(&self) -> Result<Url, ConfigError> {
        let refused =
            |why: &str| ConfigError::BaseUrl { base_url: shown(&self.base_url), why: why.to_owned() };
        let no_scheme = || refused("it must begin with http:// or https://");
        let base_url = self.base_url.trim();
        let mut url = match Url::parse(base_url) {
            Ok(url) => url,
            Err(error) if scheme_len(base_url) > 0 => return Err(refused(&error.to_string())),
            Err(_) => return Err(no_scheme()),
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(no_scheme());
        }
        if !url.username().is_empty() || url.password().is_some() {
            let variable = self.provider.key_variable();
            return Err(refused(&format!("it must not hold a user or password; set {variable}")));
        }
        self.provider.protocol().complete_address(&mut url, self.model.trim());
        Ok(url)
    }

    /// Returns that address as it is sent.
    pub(super) fn endpoint_uri(&self) -> Result<Uri, ConfigError> {
        self.endpoint()?.as_str().parse().map_err(|error: http::uri::InvalidUri| ConfigError::BaseUrl {
            base_url: shown(&self.base_url),
            why: error.to_string(),
        })
    }

    /// Returns the value of the header that carries the key.
    pub(super) fn authorization(&self) -> Result<Option<HeaderValue>, ConfigError> {
        let Some(key) = &self.api_key else { return Ok(None) };
        let prefix = self.provider.protocol().facts().key_header.prefix;
        let mut header = HeaderValue::from_str(&format!("{prefix}{}", key.0))
            .map_err(|_| ConfigError::UnusableKey { provider: self.provider })?;
        header.set_sensitive(true);
        Ok(Some(header))
    }
}

/// How long a connection may take and how much is read; the time of a call is the request's.
#[derive(Debug, Clone, PartialEq)]
pub struct WireLimits {
    /// The longest wait for a connection.
    pub connect_timeout: Duration,
    /// The most bytes of a response's body, those for thinking left out.
    pub reply_bytes_max: usize,
}

impl Default for WireLimits {
    fn default() -> Self {
        Self { connect_timeout: Duration::from_secs(10), reply_bytes_max: 4 << 20 }
    }
}

/// What is shown in the place of a key.
const REDACTED: &str = "[key]";

/// From how many bytes on a key is not found in other texts by chance.
const LONG_KEY_BYTES: usize = 8;

/// A secret key; it is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// Returns the value of a header that carries the key as a bearer token; it is never shown.
    pub(super) fn bearer(&self) -> Result<HeaderValue, InvalidHeaderValue> {
        let mut header = HeaderValue::from_str(&format!("Bearer {}", self.0))?;
        header.set_sensitive(true);
        Ok(header)
    }

    /// Returns `text` with the key blotted out; a short key, which other texts may hold, only where it is all of a token.
    pub(super) fn redact(&self, text: &str) -> Box<str> {
        if self.0.is_empty() {
            return text.into();
        }
        if !self.is_short() {
            return text.replace(&self.0, REDACTED).into();
        }
        let is_of_token = |c: char| c.is_alphanumeric() || "-_.".contains(c);
        let (mut redacted, mut rest) = (String::new(), text);
        while let Some(at) = rest.find(&self.0) {
            let (before, after) = (&rest[..at], &rest[at + self.0.len()..]);
            let left = before.chars().next_back().or(redacted.chars().next_back());
            let is_whole = !left.is_some_and(is_of_token) && !after.chars().next().is_some_and(is_of_token);
            redacted.push_str(before);
            redacted.push_str(if is_whole { REDACTED } else { &self.0 });
            rest = after;
        }
        redacted.push_str(rest);
        redacted.into()
    }

    /// Returns a name with the key blotted out; a short key is left in it, as a name may well be so short.
    pub(super) fn redact_name(&self, name: &str) -> Box<str> {
        if self.is_short() { name.into() } else { self.redact(name) }
    }

    fn is_short(&self) -> bool {
        self.0.len() < LONG_KEY_BYTES
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
    #[error("no model is named; write {provider}:NAME, such as {}", provider.example())]
    MissingModel {
        /// Whose model.
        provider: Provider,
    },
    /// The provider's own address needs a key.
    #[error(
        "{} is not set (a server of your own may need none: set {})",
        provider.key_variable(),
        provider.base_url_variable()
    )]
    MissingKey {
        /// Whose key.
        provider: Provider,
    },
    /// The key holds characters that no header can carry.
    #[error("{} holds characters that cannot be sent", provider.key_variable())]
    UnusableKey {
        /// Whose key.
        provider: Provider,
    },
    /// The HTTP client cannot be made, most often because the system has no CA certificates.
    #[error("the HTTPS client cannot be made; are CA certificates installed?")]
    Client {
        /// The cause.
        #[source]
        source: rustls::Error,
    },
}

/// Returns an address as it may be shown. Unless a plain host, port and path follow its `://`, all that
/// follows is hidden, because an unusual address may contain a secret.
fn shown(url: &str) -> String {
    let (scheme, rest) = url.split_at(scheme_len(url));
    let (server, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (host, port) = server.split_once(':').unwrap_or((server, ""));
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "_.-/".contains(c);
    let is_plain =
        host.chars().chain(path.chars()).all(is_of_name) && port.chars().all(|c| c.is_ascii_digit());
    format!("{scheme}{}", if is_plain { rest } else { "[hidden]" })
}

/// Returns the length of an address's scheme with its `://`; 0 where what stands before that is none, and may be a login.
fn scheme_len(url: &str) -> usize {
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    url.find("://").filter(|end| url[..*end].chars().all(is_of_scheme)).map_or(0, |end| end + 3)
}

#[cfg(test)]
mod tests {
    use super::super::call::ERROR_BYTES_MAX;
    use super::super::search::SearchEndpoint;
    use super::*;

    fn from(provider: Provider, pairs: &[(&str, &str)]) -> Result<HttpConfig, ConfigError> {
        HttpConfig::from_env(provider, "m", |name| {
            pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_gives_address_and_key() {
        for provider in Provider::ALL {
            for key in provider.key_variables() {
                let config = from(provider, &[(key, "k1")]).unwrap();
                assert_eq!(
                    (config.base_url.as_str(), config.api_key),
                    (provider.base_url(), Some(ApiKey::new("k1")))
                );
            }
            let pairs =
                [(provider.base_url_variable(), "http://localhost:1/v1"), (provider.key_variable(), " ")];
            let local = from(provider, &pairs).unwrap();
            assert_eq!((local.base_url.as_str(), local.api_key), ("http://localhost:1/v1", None));
            let error = from(provider, &[]).unwrap_err();
            assert!(matches!(error, ConfigError::MissingKey { .. }));
            assert!(error.to_string().contains(provider.key_variable()), "{error}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        for provider in Provider::ALL {
            let config = from(provider, &[(provider.key_variable(), "sk-secret")]).unwrap();
            assert!(!format!("{config:?}{:?}", config.authorization().unwrap()).contains("sk-secret"));
            let bad = HttpConfig { api_key: Some(ApiKey::new("a\nb")), ..config };
            assert!(matches!(bad.authorization(), Err(ConfigError::UnusableKey { .. })));
        }
        assert!(!format!("{:?}", ApiKey::new("sk-secret").bearer().unwrap()).contains("sk-secret"));
        assert_eq!(&*ApiKey::new("sk-secret").redact("bad sk-secret!"), "bad [key]!");
    }

    #[test]
    fn a_short_key_is_redacted_only_where_it_is_a_token() {
        let key = ApiKey::new("x");
        let text = "max x, xx, (x) x_1 key=x: exact x";
        assert_eq!(&*key.redact(text), "max [key], xx, ([key]) x_1 key=[key]: exact [key]");
        assert_eq!(&*key.redact_name("x"), "x");
        let key = ApiKey::new("sk-very-secret");
        let name = format!("id-{}", "sk-very-secret-1");
        assert_eq!([&*key.redact(&name), &*key.redact_name(&name)], ["id-[key]-1"; 2]);
    }

    #[test]
    fn a_key_is_exposed_where_it_leaves_this_machine_unencrypted() {
        for (base, key, is_local, is_exposed) in [
            ("https://api.example.com/v1", Some("k1"), false, false),
            ("http://api.example.com/v1", Some("k1"), false, true),
            ("HTTP://api.example.com/v1", Some("k1"), false, true),
            ("http://api.example.com/v1", None, false, false),
            ("http://127.example.com/v1", Some("k1"), false, true),
            ("http://localhost.example.com/v1", Some("k1"), false, true),
            ("http://10.0.0.7:8000/v1", Some("k1"), false, true),
            ("http://localhost:11434/v1", Some("k1"), true, false),
            ("http://127.0.0.7:9/v1", Some("k1"), true, false),
            ("http://[::1]:9/v1", Some("k1"), true, false),
        ] {
            let api_key = key.map(ApiKey::new);
            let search = SearchEndpoint::new(base, api_key.as_ref()).unwrap();
            let config = HttpConfig { api_key, ..HttpConfig::new(Provider::OpenAi, base, "m") };
            let exposed = [config.exposes_key(), search.exposes_key()];
            assert_eq!((config.is_local(), exposed), (is_local, [is_exposed; 2]), "{base}");
        }
    }

    #[test]
    fn default_wire_limits_are_as_documented() {
        let seconds = Duration::from_secs;
        let documented = WireLimits { connect_timeout: seconds(10), reply_bytes_max: 4 * 1024 * 1024 };
        assert_eq!(HttpConfig::new(Provider::OpenAi, "https://h", "m").limits, documented);
        assert_eq!(ERROR_BYTES_MAX, 64 * 1024);
    }

    #[test]
    fn a_base_url_leads_to_one_endpoint() {
        use Provider::{Anthropic, Gemini, OpenAi, OpenAiResponses};
        for (provider, base, want) in [
            (OpenAi, "http://h:1/v1", "http://h:1/v1/chat/completions"),
            (OpenAi, "http://h:1/v1/", "http://h:1/v1/chat/completions"),
            (OpenAi, "https://h", "https://h/chat/completions"),
            (OpenAi, "https://h/x?api-version=2", "https://h/x/chat/completions?api-version=2"),
            (OpenAi, "https://h/v1/chat/completions", "https://h/v1/chat/completions"),
            (OpenAiResponses, "http://h:1/v1/", "http://h:1/v1/responses"),
            (OpenAiResponses, "https://h/v1/responses", "https://h/v1/responses"),
            (Anthropic, "https://h", "https://h/v1/messages"),
            (Anthropic, "https://h/", "https://h/v1/messages"),
            (Anthropic, "https://h/v1/", "https://h/v1/messages"),
            (Anthropic, "https://h/anthropic", "https://h/anthropic/v1/messages"),
            (Anthropic, "https://h/v1/messages", "https://h/v1/messages"),
            (Gemini, "https://h", "https://h/v1beta/models/m:streamGenerateContent?alt=sse"),
            (Gemini, "https://h/v1/", "https://h/v1/models/m:streamGenerateContent?alt=sse"),
            (Gemini, "https://h/x/v1beta", "https://h/x/v1beta/models/m:streamGenerateContent?alt=sse"),
        ] {
            assert_eq!(HttpConfig::new(provider, base, "m").endpoint().unwrap().as_str(), want);
        }
        let named =
            HttpConfig::new(Gemini, "https://h/v1beta", "models/gemini-3.5-flash").endpoint().unwrap();
        assert_eq!(named.path(), "/v1beta/models/gemini-3.5-flash:streamGenerateContent");
        let escaped = HttpConfig::new(Gemini, "https://h/v1beta", "../x?y=1#z").endpoint().unwrap();
        assert_eq!(escaped.path(), "/v1beta/models/..%2Fx%3Fy=1%23z:streamGenerateContent");
    }

    #[test]
    fn a_base_url_that_is_none_is_one_clear_error() {
        let long = format!("http://h/?key=pw{}", "x".repeat(1 << 16));
        for provider in Provider::ALL {
            for (base, part) in [
                ("localhost:8080/v1", "http://"),
                ("api.openai.com/v1", "http://"),
                ("ftp://h/v1", "http://"),
                ("", "http://"),
                ("http://", "host"),
                ("http://h:99999/", "port"),
                ("http://h.example-1:99999/v_1", "\"http://h.example-1:99999/v_1\""),
                ("http://u:pw@h/", "\"http://[hidden]\""),
                ("http://u%3Apw%40h:99999/", "\"http://[hidden]\""),
                ("http://u%3apw@h:99999/", "\"http://[hidden]\""),
                ("http://h:99999/;key=pw", "\"http://[hidden]\""),
                ("http://u:pw/v1", "\"http://[hidden]\""),
                ("gateway/v1?key=pw", "http://"),
                ("gateway/v1?key=pw&to=http://x", "http://"),
                ("u:pw@https://h/", "http://"),
                ("u:p?pw@https://h/", "[hidden]"),
                ("http://u:a?pw#pw@h/?key=pw", "http://[hidden]"),
                ("http://h:99999/?key=pw@h", "port"),
                (&long, "too long"),
            ] {
                let text = HttpConfig::new(provider, base, "m").endpoint_uri().unwrap_err().to_string();
                assert!(text.contains(part) && !text.contains("pw"), "{base}: {text}");
            }
        }
    }
}

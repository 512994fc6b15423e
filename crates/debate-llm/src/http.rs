//! Models behind HTTP: all that their protocols have in common.
//!
//! An adapter is a `Protocol`: its defaults, address, headers, body, events and error codes. One call over its
//! tries on the wire, limits of time and size, and what goes wrong are the same for all and live here alone.

mod advice;
mod answer;
mod call;
mod client;
mod config;
mod connect;
mod decode;
mod dialect;
pub(crate) mod effort;
mod encoding;
mod ending;
mod failure;
mod interim;
mod limit;
mod pausing;
mod protocol;
mod provider_error;
#[cfg(test)]
mod recorded_tests;
mod retry;
mod schema;
pub mod search;
mod server;
mod sse;
mod terms;

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use http::Uri;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use tracing::Instrument as _;

pub(crate) use self::answer::Answer;
use self::call::Call;
use self::client::Client;
pub use self::config::{ApiKey, ConfigError, HttpConfig, WireLimits};
pub(crate) use self::decode::{Events, keep, malformed, read_json, text};
pub(crate) use self::dialect::{Dialect, Parameter};
pub(crate) use self::failure::{Codes, Meaning, error_event};
pub(crate) use self::protocol::{Facts, KeyHeader, Outgoing, Protocol};
pub use self::retry::RetryPolicy;
use self::schema::Schemas;
pub(crate) use self::schema::Subset;
use self::terms::Terms;
use crate::thinks::Shown;
use crate::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, Ending, ModelError, Place, Thinks, Window, telemetry,
};

/// A model behind a provider's HTTP protocol.
#[derive(Debug)]
pub struct HttpModel {
    name: String,
    config: HttpConfig,
    client: Client,
    endpoint: Uri,
    headers: HeaderMap,
    schemas: Schemas,
    /// What the server is known not to take; shared by all calls.
    dialect: AtomicU32,
    /// The largest limit of tokens that the model is known to allow.
    cap_max: AtomicU32,
    /// How many replies in a row the server found not to keep to the schema.
    bad_replies: AtomicU32,
    /// What its answers have shown of whether it thinks.
    shown: Shown,
    /// How much fits into a call, once the server was asked.
    window: OnceCell<Option<Window>>,
}

impl HttpModel {
    /// Makes the model; connects to nothing yet.
    ///
    /// # Errors
    /// [`ConfigError`] when the address, the model or the key cannot be used, or there are no CA certificates.
    pub fn new(config: HttpConfig) -> Result<Self, ConfigError> {
        let endpoint = config.endpoint_uri()?;
        let client = Client::new(&endpoint, config.limits.connect_timeout)
            .map_err(|source| ConfigError::Client { source })?;
        Self::with_client(config, client)
    }

    /// Makes another model of the same provider, which shares this one's connections.
    ///
    /// # Errors
    /// [`ConfigError::MissingModel`] when `model` is empty.
    pub fn with_model(&self, model: impl Into<String>) -> Result<Self, ConfigError> {
        let config = HttpConfig { model: model.into(), ..self.config.clone() };
        Self::with_client(config, self.client.clone())
    }

    fn with_client(config: HttpConfig, client: Client) -> Result<Self, ConfigError> {
        let protocol = config.provider.protocol();
        let endpoint = config.endpoint_uri()?;
        if config.model.trim().is_empty() {
            return Err(ConfigError::MissingModel { provider: config.provider });
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        for (name, value) in protocol.facts().headers {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(key) = config.authorization()? {
            headers.insert(HeaderName::from_static(protocol.facts().key_header.name), key);
        }
        Ok(Self {
            name: format!("{}:{}", config.provider, config.model),
            client,
            headers,
            schemas: Schemas::default(),
            dialect: AtomicU32::new(protocol.first_dialect(&config.endpoint()?, &config.model).bits()),
            cap_max: AtomicU32::new(u32::MAX),
            bad_replies: AtomicU32::new(0),
            shown: Shown::default(),
            window: OnceCell::new(),
            endpoint,
            config,
        })
    }

    fn protocol(&self) -> &'static dyn Protocol {
        self.config.provider.protocol()
    }

    /// Returns what the server is known to take so far.
    fn terms(&self) -> Terms {
        Terms {
            dialect: Dialect::from_bits(self.dialect.load(Ordering::Relaxed)),
            cap_max: self.cap_max.load(Ordering::Relaxed),
            room: u32::MAX,
        }
    }

    /// Remembers what the server was found not to take.
    fn remember(&self, terms: Terms) {
        let Terms { dialect, cap_max, room: _ } = terms;
        if cap_max < self.cap_max.fetch_min(cap_max, Ordering::Relaxed) {
            telemetry::left_out(self.config.provider, &self.config.model, "max_tokens_above_the_models");
        }
        let before = Dialect::from_bits(self.dialect.fetch_or(dialect.bits(), Ordering::Relaxed));
        for parameter in Parameter::ALL {
            if before.takes(parameter) && !dialect.takes(parameter) {
                telemetry::left_out(self.config.provider, &self.config.model, parameter.name());
            }
        }
    }

    fn reply(&self, answer: Answer, call: &mut Call<'_>) -> ChatReply {
        ChatReply {
            text: answer.text,
            reasoning: Some(answer.reasoning).filter(|text| !text.is_empty()),
            tool_calls: answer.tool_calls,
            web_sources: answer.web_sources.into_vec(),
            usage: answer.usage,
            ending: answer.ending.unwrap_or(Ending::Unknown),
            stop_reason: answer.stop_reason.map(|word| self.redact_name(&word).into()),
            model: answer
                .model
                .map_or_else(|| self.config.model.clone(), |name| self.redact_name(&name).into()),
            request_id: call.request_id.take().or_else(|| Some(self.redact_name(&answer.id?).into())),
            http_version: call.http_version.map(|version| format!("{version:?}")),
            latency: call.elapsed(),
            first_byte: call.first_byte,
            waited: call.waited,
            wire_retries: call.wire_retries,
        }
    }

    /// Blots the key out of what a provider says.
    fn redact(&self, message: &str) -> Box<str> {
        match &self.config.api_key {
            Some(key) => key.redact(message),
            None => message.into(),
        }
    }

    /// Blots the key out of a name that a provider gives something.
    fn redact_name(&self, name: &str) -> Box<str> {
        match &self.config.api_key {
            Some(key) => key.redact_name(name),
            None => name.into(),
        }
    }
}

#[async_trait]
impl ChatModel for HttpModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_simulated(&self) -> bool {
        false
    }

    fn place(&self) -> Place {
        if self.config.is_providers_own() {
            Place::Provider
        } else if connect::is_loopback(&self.endpoint) {
            Place::Local
        } else {
            Place::Elsewhere
        }
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let started = Instant::now();
        let measured = telemetry::Call::begin(&self.config, &self.endpoint, request, started);
        let mut call = Call::new(self, started, request.time);
        let answered = match call.turn(request, chunks).instrument(measured.span()).await {
            Ok(answer) => {
                let reply = self.reply(answer, &mut call);
                self.shown.note(request, &reply);
                Ok(reply)
            }
            Err(error) => Err(call.complete_error(error)),
        };
        measured.end(&answered, call.first_byte);
        answered
    }

    async fn warm_up(&self) {
        self.client.open_connection(&self.endpoint, self.config.limits.connect_timeout).await;
    }

    async fn check(&self) -> Result<(), ModelError> {
        let error = server::check(self).await.err();
        error.map_or(Ok(()), |error| {
            let advice = advice::advice(&error.kind, self.config.provider).into();
            Err(ModelError { advice, ..error })
        })
    }

    async fn window(&self) -> Option<Window> {
        if let Some(input_and_output) = self.config.context_window {
            return Some(input_and_output.into());
        }
        if self.config.is_providers_own() {
            return None;
        }
        // What cannot be reached now is asked again.
        self.window.get_or_try_init(|| server::window(self)).await.ok().copied().flatten()
    }

    fn thinks(&self) -> Thinks {
        self.shown.thinks(&self.config.model)
    }
}

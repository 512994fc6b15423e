//! Chat completions over HTTP as OpenAI defined them and as most providers and local servers speak them.
//!
//! Always streams; an answer that comes whole is taken as well. Provider JSON does not leave this module.

mod body;
mod config;
mod decode;
mod failure;
#[cfg(test)]
mod recorded_tests;
mod sse;

use std::error::Error as _;
use std::future::Future;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url, redirect};
use tokio::time::{Instant, timeout, timeout_at};

use self::body::{Dialect, Parameter};
pub use self::config::{ApiKey, ConfigError, DEFAULT_BASE_URL, OpenAiConfig, WireLimits};
use self::decode::{Answer, Decoder};
use self::failure::Failure;
pub use crate::retry::RetryPolicy;
use crate::{ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, ModelErrorKind, TimeoutStage};

/// The most bytes of an error's body that are read.
const ERROR_BYTES_MAX: usize = 64 << 10;

/// How long the end of a finished stream is waited for, so that its connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

/// A model behind the OpenAI chat completions protocol.
#[derive(Debug)]
pub struct OpenAi {
    name: String,
    config: OpenAiConfig,
    client: Client,
    endpoint: Url,
    headers: HeaderMap,
    /// What the server is known not to take; shared by all calls.
    dialect: AtomicU8,
}

impl OpenAi {
    /// Makes the model; connects to nothing yet.
    ///
    /// # Errors
    /// [`ConfigError`] when the address, the model or the key cannot be used, or there are no CA certificates.
    pub fn new(config: OpenAiConfig) -> Result<Self, ConfigError> {
        let endpoint = config.endpoint()?;
        if config.model.trim().is_empty() {
            return Err(ConfigError::MissingModel);
        }
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(key) = config.authorization()? {
            headers.insert(AUTHORIZATION, key);
        }
        let client = http_client(&endpoint, config.limits.connect_timeout)
            .map_err(|source| ConfigError::Client { source })?;
        let is_openai = endpoint.host_str() == Some("api.openai.com");
        let dialect =
            if is_openai { Dialect::default().without(Parameter::MaxTokens) } else { Dialect::default() };
        let name = format!("openai:{}", config.model);
        Ok(Self { name, config, client, endpoint, headers, dialect: AtomicU8::new(dialect.bits()) })
    }

    /// Remembers what the server was found not to take.
    fn remember(&self, dialect: Dialect) {
        let before = self.dialect.fetch_or(dialect.bits(), Ordering::Relaxed);
        if before | dialect.bits() != before {
            tracing::warn!(
                model = %self.name,
                "the server refuses some request parameters; they are left out from now on"
            );
        }
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_simulated(&self) -> bool {
        false
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let started = Instant::now();
        let mut call = Call {
            model: self,
            started,
            deadline: started + request.timeout,
            first_byte: None,
            request_id: None,
            wire_retries: 0,
        };
        let answer = call.answer(request, chunks).await.map_err(|error| call.complete_error(error))?;
        Ok(ChatReply {
            text: answer.text,
            reasoning: Some(answer.reasoning).filter(|text| !text.is_empty()),
            tool_calls: Vec::new(),
            usage: answer.usage,
            finish: answer.finish.unwrap_or(crate::FinishReason::Stop),
            model: answer.model.unwrap_or_else(|| self.config.model.clone()),
            request_id: call.request_id.or(answer.id),
            latency: started.elapsed(),
            first_byte: call.first_byte,
            wire_retries: call.wire_retries,
        })
    }
}

/// One call, over all its tries on the wire.
struct Call<'a> {
    model: &'a OpenAi,
    started: Instant,
    deadline: Instant,
    first_byte: Option<Duration>,
    request_id: Option<String>,
    wire_retries: u32,
}

impl Call<'_> {
    /// Sends until there is an answer, an error that stays, or no time (K5).
    async fn answer(
        &mut self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<Answer, ModelError> {
        let encode = |dialect| {
            body::encode(&self.model.config.model, request, dialect).map(Bytes::from).map_err(|error| {
                ModelError::new(ModelErrorKind::BadRequest, &format!("cannot write the request: {error}"))
            })
        };
        let mut dialect = Dialect::from_bits(self.model.dialect.load(Ordering::Relaxed));
        let mut body = encode(dialect)?;
        loop {
            let failure = match self.exchange(body.clone(), chunks).await {
                Ok(answer) => {
                    self.model.remember(dialect);
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            if let Some(next) = failure.blames.and_then(|parameter| dialect.concede(parameter, request)) {
                dialect = next;
                body = encode(dialect)?;
                continue;
            }
            let error = *failure.error;
            let policy = &self.model.config.retry;
            let wait = policy.next_wait(self.wire_retries, error.retry_after(), crate::retry::jitter());
            let Some(wait) = wait.filter(|_| error.should_retry_wire()) else { return Err(error) };
            // Waiting past the end would only turn a clear error into a timeout.
            if wait >= self.deadline.saturating_duration_since(Instant::now()) {
                return Err(error);
            }
            self.wire_retries += 1;
            tracing::debug!(kind = error.kind.label(), retry = self.wire_retries, ?wait, "wire retry");
            tokio::time::sleep(wait).await;
        }
    }

    /// Sends once and reads what comes.
    async fn exchange(&mut self, body: Bytes, chunks: &mut dyn ChunkSink) -> Result<Answer, Failure> {
        let model = self.model;
        let limits = &model.config.limits;
        let send = model.client.post(model.endpoint.clone()).headers(model.headers.clone()).body(body).send();
        let mut response = self
            .within(limits.first_byte_timeout, TimeoutStage::FirstByte, send)
            .await?
            .map_err(|error| connection_error(&error.without_url()))?;
        let header = |name| response.headers().get(name)?.to_str().ok().map(str::to_owned);
        self.request_id = header("x-request-id").or_else(|| header("request-id"));
        let status = response.status();
        if !status.is_success() {
            let body = self.error_body(&mut response).await;
            let mut failure = failure::from_response(status.as_u16(), response.headers(), &body);
            failure.error.message = self.safe(&failure.error.message);
            return Err(failure);
        }
        let mut decoder = Decoder::new(limits.reply_bytes_max);
        let read = self.read(&mut response, &mut decoder, chunks).await;
        let usage = decoder.usage();
        let answer = match read {
            Ok(()) => decoder.finish(chunks),
            // The answer was there; only its usage may be lost.
            Err(error) if decoder.is_complete() && is_cut(&error) => decoder.finish(chunks),
            Err(error) => Err(error),
        };
        answer.map_err(|error| {
            let received_any = self.first_byte.is_some();
            let message = self.safe(&error.message);
            ModelError { status: Some(status.as_u16()), usage, received_any, message, ..error }.into()
        })
    }

    /// Feeds the decoder until the end mark or the end of the body.
    async fn read(
        &mut self,
        response: &mut Response,
        decoder: &mut Decoder,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        let limits = &self.model.config.limits;
        while !decoder.is_done() {
            let (limit, stage) = match self.first_byte {
                None => (limits.first_byte_timeout, TimeoutStage::FirstByte),
                Some(_) => (limits.idle_timeout, TimeoutStage::Idle),
            };
            let piece = self.within(limit, stage, response.chunk()).await?;
            let piece = piece.map_err(|error| match self.first_byte {
                None => connection_error(&error.without_url()),
                Some(_) => {
                    ModelError::new(ModelErrorKind::Truncated, "the connection broke within the answer")
                }
            })?;
            let Some(piece) = piece else { return Ok(()) };
            if self.first_byte.is_none() && !piece.is_empty() {
                self.first_byte = Some(self.started.elapsed());
            }
            decoder.push(&piece, chunks)?;
        }
        let _ = timeout(DRAIN_TIMEOUT, response.chunk()).await;
        Ok(())
    }

    /// Reads the beginning of an error's body; what cannot be read is left out.
    async fn error_body(&self, response: &mut Response) -> Vec<u8> {
        let limit = self.model.config.limits.idle_timeout;
        let mut body = Vec::new();
        while body.len() < ERROR_BYTES_MAX {
            match self.within(limit, TimeoutStage::Idle, response.chunk()).await {
                Ok(Ok(Some(piece))) => body.extend_from_slice(&piece),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        body
    }

    /// Waits for `future`, but neither longer than `limit` nor past the end of the whole call.
    async fn within<T>(
        &self,
        limit: Duration,
        stage: TimeoutStage,
        future: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let stage_end = Instant::now() + limit;
        let (end, stage) =
            if self.deadline < stage_end { (self.deadline, TimeoutStage::Total) } else { (stage_end, stage) };
        timeout_at(end, future).await.map_err(|_| {
            let waited = self.started.elapsed().as_millis();
            ModelError::new(ModelErrorKind::Timeout(stage), &format!("no answer after {waited} ms"))
        })
    }

    fn complete_error(&self, error: ModelError) -> ModelError {
        ModelError {
            wire_retries: self.wire_retries,
            request_id: self.request_id.as_deref().map(Into::into),
            ..error
        }
    }

    /// Blots the key out of what a provider says.
    fn safe(&self, message: &str) -> Box<str> {
        match &self.model.config.api_key {
            Some(key) => key.redact(message),
            None => message.into(),
        }
    }
}

/// Returns whether an error is about the wire alone, so that an answer that was whole before it stands.
fn is_cut(error: &ModelError) -> bool {
    matches!(error.kind, ModelErrorKind::Truncated | ModelErrorKind::Timeout(_))
}

/// Says why there is no connection, without the address, which may hold a secret.
fn connection_error(error: &reqwest::Error) -> ModelError {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        message = inner.to_string();
        cause = inner.source();
    }
    let kind = if error.is_timeout() && error.is_connect() {
        ModelErrorKind::Timeout(TimeoutStage::Connect)
    } else {
        ModelErrorKind::Connection
    };
    ModelError::new(kind, &message)
}

fn http_client(endpoint: &Url, connect_timeout: Duration) -> Result<Client, reqwest::Error> {
    // A second call finds a provider installed and is refused, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("debate/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .redirect(redirect::Policy::none());
    if endpoint.scheme() == "http" {
        // Nothing is verified without TLS, so a machine without CA certificates can still use a local server.
        builder = builder.tls_certs_only([]);
    }
    if is_loopback(endpoint) {
        builder = builder.no_proxy();
    }
    builder.build()
}

fn is_loopback(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

//! One call, over all its tries on the wire (K5).

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::Version;
use hyper::body::Incoming;
use tokio::time::{Instant, timeout, timeout_at};

use super::HttpModel;
use super::advice::advice;
use super::answer::Answer;
use super::client::{connection_error, has_tls_failed, next_piece};
use super::decode::Decoder;
use super::failure::{self, Failure};
use super::protocol::Outgoing;
use super::retry;
use super::terms::Terms;
use crate::{CallTime, ChatRequest, ChunkSink, ModelError, ModelErrorKind, TimeoutStage, telemetry};

/// The most bytes of an error's body that are read.
pub(super) const ERROR_BYTES_MAX: usize = 64 << 10;

/// The most bytes that a token of a visible answer is taken to have.
const TOKEN_BYTES_MAX: usize = 8;

/// The most bytes that an event with one token is taken to have.
const EVENT_BYTES_MAX: usize = 512;

/// How long the end of a finished stream is waited for, so that its connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

/// The headers in which providers give the id of a request.
const REQUEST_ID_HEADERS: [&str; 2] = ["x-request-id", "request-id"];

/// One call under way.
pub(super) struct Call<'a> {
    model: &'a HttpModel,
    started: Instant,
    time: CallTime,
    /// When the request last left.
    left: Instant,
    /// How long it was waited between tries, which is not the call's own time (K22).
    pub(super) waited: Duration,
    /// Whether there is no connection because TLS failed.
    has_tls_failed: bool,
    pub(super) first_byte: Option<Duration>,
    pub(super) request_id: Option<String>,
    pub(super) http_version: Option<Version>,
    pub(super) wire_retries: u32,
}

impl<'a> Call<'a> {
    /// Begins a call.
    pub(super) fn new(model: &'a HttpModel, started: Instant, time: CallTime) -> Self {
        Self {
            model,
            started,
            time,
            left: started,
            waited: Duration::ZERO,
            has_tls_failed: false,
            first_byte: None,
            request_id: None,
            http_version: None,
            wire_retries: 0,
        }
    }

    /// Sends until there is an answer, an error that stays, or no time (K5); waits for an absent server (K22).
    pub(super) async fn answer(
        &mut self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<Answer, ModelError> {
        let mut terms = self.model.terms();
        let mut body = self.encode(request, terms)?;
        let mut unnamed: Option<ModelError> = None;
        loop {
            let failure = match self.exchange(request, body.clone(), chunks).await {
                Ok(answer) => {
                    self.model.remember(terms);
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            let safe = |error: ModelError| error.safe(|told| self.model.redact(told));
            let next = terms.conceded(&failure, request).or_else(|| {
                let plain = terms.plain(&failure, request)?;
                unnamed = Some(safe((*failure.error).clone()));
                Some(plain)
            });
            if let Some(next) = next {
                terms = next;
                body = self.encode(request, terms)?;
                continue;
            }
            let error = safe(terms.explain(*failure.error, request));
            // Without the effort it was refused as well: what was said first is about what was asked.
            if let Some(first) = unnamed.take().filter(|_| error.kind == ModelErrorKind::BadRequest) {
                return Err(first);
            }
            let Some(wait) = self.next_wait(&error, request) else { return Err(error) };
            self.wire_retries = self.wire_retries.saturating_add(1);
            let config = &self.model.config;
            telemetry::wire_retry(config.provider, &config.model, &error, self.wire_retries, wait);
            chunks.waits();
            let began = Instant::now();
            tokio::time::sleep(wait).await;
            self.left = Instant::now();
            self.waited += self.left.duration_since(began);
            chunks.leaves();
        }
    }

    /// Returns how long to wait before the next try; `None` where there is none, or no time for it.
    fn next_wait(&self, error: &ModelError, request: &ChatRequest) -> Option<Duration> {
        let policy = &self.model.config.retry;
        let now = Instant::now();
        let patience_end = self.time.give_up_at.unwrap_or(self.started + policy.absent_max);
        let is_waited_for = request.waits_for_server && retry::is_absent(error) && !self.has_tls_failed;
        let is_waited_for = is_waited_for && now < patience_end;
        if !error.should_retry_wire() || !is_waited_for && policy.is_used_up(self.wire_retries) {
            return None;
        }
        let end = if is_waited_for { Some(patience_end) } else { self.deadline() };
        let wait = policy.next_wait(self.wire_retries, error.retry_after(), retry::jitter());
        // Waiting past the end would only turn a clear error into a timeout.
        (end.is_none_or(|end| wait < end.saturating_duration_since(now))).then_some(wait)
    }

    /// Returns when the whole call must have ended, if ever.
    fn deadline(&self) -> Option<Instant> {
        let total = self.time.total.map(|total| self.started + self.waited + total);
        total.into_iter().chain(self.time.give_up_at).min()
    }

    /// Returns how long the call has taken, its waits left out.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.waited)
    }

    /// Adds to an error what the whole call knows.
    pub(super) fn complete_error(&self, error: ModelError) -> ModelError {
        ModelError {
            advice: advice(&error.kind, self.model.config.provider).into(),
            wire_retries: self.wire_retries,
            request_id: self.request_id.as_deref().map(Into::into),
            ..error
        }
    }

    /// Writes the body once; it is shared by all tries on the same terms.
    fn encode(&self, request: &ChatRequest, terms: Terms) -> Result<Bytes, ModelError> {
        let Terms { dialect, .. } = terms;
        let model = self.model;
        let refused = |error: serde_json::Error| {
            ModelError::new(ModelErrorKind::BadRequest, &format!("cannot write the request: {error}"))
        };
        let schema = match &request.schema {
            Some(schema) if dialect.takes(super::Parameter::Schema) => {
                Some(model.schemas.cut(schema, model.protocol()).map_err(refused)?)
            }
            Some(_) | None => None,
        };
        let schema = schema.as_deref();
        let cap = terms.cap(request);
        let outgoing = Outgoing { model: &model.config.model, request, schema, dialect, cap };
        model.protocol().encode(&outgoing).map(Bytes::from).map_err(refused)
    }

    /// Sends once and reads what comes.
    async fn exchange(
        &mut self,
        request: &ChatRequest,
        body: Bytes,
        chunks: &mut dyn ChunkSink,
    ) -> Result<Answer, Failure> {
        let model = self.model;
        let limits = &model.config.limits;
        let send = model.client.post(&model.endpoint, telemetry::traced(model.headers.clone()), body);
        let sent = self.within(self.left + self.time.first_token, TimeoutStage::FirstByte, send).await?;
        let mut response = sent.map_err(|error| {
            self.has_tls_failed = has_tls_failed(&error);
            connection_error(&error)
        })?;
        let header = |name: &str| Some(model.redact(response.headers().get(name)?.to_str().ok()?).into());
        self.request_id = REQUEST_ID_HEADERS.iter().find_map(|name| header(name));
        self.http_version = Some(response.version());
        let status = response.status();
        if !status.is_success() {
            let body = self.error_body(response.body_mut()).await;
            let code = status.as_u16();
            return Err(failure::from_response(model.protocol(), code, response.headers(), &body));
        }
        let bytes_max = limits.reply_bytes_max.saturating_add(thought_bytes_max(request));
        let mut decoder = Decoder::new(model.protocol().events(), bytes_max);
        decoder.bound_text(text_bytes_max(request));
        let read = self.read(response.body_mut(), &mut decoder, chunks).await;
        let answer = match read {
            Ok(()) => decoder.finish(chunks),
            // The answer was there; only its usage may be lost.
            Err(error) if decoder.is_complete() && is_cut(&error) => decoder.finish(chunks),
            Err(error) => Err(error),
        };
        answer.map_err(|error| {
            let received_any = self.first_byte.is_some();
            let (status, usage) = (Some(status.as_u16()), Box::new(decoder.usage()));
            ModelError { status, usage, received_any, ..error }.into()
        })
    }

    /// Feeds the decoder until the end mark or the end of the body. Until the first token any silence is thinking.
    async fn read(
        &mut self,
        body: &mut Incoming,
        decoder: &mut Decoder,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        while !decoder.is_done() {
            let (end, stage) = match decoder.has_begun() {
                false => (self.left + self.time.first_token, TimeoutStage::FirstByte),
                true => (Instant::now() + self.time.idle, TimeoutStage::Idle),
            };
            let piece = self.within(end, stage, next_piece(body)).await?;
            let piece = piece.map_err(|error| match self.first_byte {
                None => connection_error(&error),
                Some(_) => {
                    ModelError::new(ModelErrorKind::Truncated, "the connection broke within the answer")
                }
            })?;
            let Some(piece) = piece else { return Ok(()) };
            if self.first_byte.is_none() && !piece.is_empty() {
                self.first_byte = Some(self.elapsed());
            }
            decoder.push(&piece, chunks)?;
        }
        let _ = timeout(DRAIN_TIMEOUT, next_piece(body)).await;
        Ok(())
    }

    /// Reads the beginning of an error's body; what cannot be read, or takes too long altogether, is left out.
    async fn error_body(&self, body: &mut Incoming) -> Vec<u8> {
        let end = Instant::now() + self.time.idle;
        let mut read = Vec::new();
        while read.len() < ERROR_BYTES_MAX {
            match self.within(end, TimeoutStage::Idle, next_piece(body)).await {
                Ok(Ok(Some(piece))) => read.extend_from_slice(&piece),
                Ok(Ok(None) | Err(_)) | Err(_) => break,
            }
        }
        read.truncate(ERROR_BYTES_MAX);
        read
    }

    /// Waits for `future`, but neither past `stage_end` nor past the end of the whole call.
    async fn within<T>(
        &self,
        stage_end: Instant,
        stage: TimeoutStage,
        future: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let (end, stage) = match self.deadline().filter(|deadline| *deadline <= stage_end) {
            Some(deadline) => (deadline, TimeoutStage::Total),
            None => (stage_end, stage),
        };
        let timed_out = || ModelError::new(ModelErrorKind::Timeout(stage), &self.patience(stage));
        // A server that always has the next bytes ready would otherwise never be interrupted.
        if end <= Instant::now() {
            return Err(timed_out());
        }
        timeout_at(end, future).await.map_err(|_| timed_out())
    }

    /// Says which limit of time was reached.
    fn patience(&self, stage: TimeoutStage) -> String {
        let CallTime { first_token, idle, total, .. } = self.time;
        match stage {
            TimeoutStage::Idle => format!("nothing for {idle:?} in the middle of an answer"),
            TimeoutStage::Total => match total.filter(|total| *total <= self.elapsed()) {
                Some(total) => format!("no whole answer within {total:?}"),
                None => "no whole answer before the time for it was over".to_owned(),
            },
            TimeoutStage::Turn | TimeoutStage::Connect | TimeoutStage::FirstByte => {
                format!("no answer began within {first_token:?}")
            }
        }
    }
}

/// Returns the most bytes that a stream has for thinking, each token in an event of its own.
fn thought_bytes_max(request: &ChatRequest) -> usize {
    (request.thinking_tokens as usize).saturating_mul(EVENT_BYTES_MAX)
}

/// Returns the most bytes of visible text that are read: where the provider's limit has head-room for thinking, it bounds the
/// visible answer no more. A token of ordinary text, however it is written, has fewer bytes than this allows for.
fn text_bytes_max(request: &ChatRequest) -> usize {
    match request.thinking_tokens {
        0 => usize::MAX,
        _ => (request.max_output_tokens as usize).saturating_mul(TOKEN_BYTES_MAX),
    }
}

/// Returns whether an error is about the wire alone, so that an answer that was whole before it stands.
fn is_cut(error: &ModelError) -> bool {
    matches!(error.kind, ModelErrorKind::Truncated | ModelErrorKind::Timeout(_))
}

//! One call, over all its tries on the wire (K5).

use std::borrow::Cow;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, Version};
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::HttpModel;
use super::advice::advice;
use super::answer::Answer;
use super::client::{connection_error, has_tls_failed, next_piece};
use super::decode::{Decoder, clip_name};
use super::dialect::Parameter;
use super::encoding::Decompressor;
use super::failure::{self, Failure};
use super::protocol::Outgoing;
use super::retry;
use super::terms::Terms;
use crate::{CallTime, ChatRequest, ChunkSink, ModelError, ModelErrorKind, Role, TimeoutStage, telemetry};

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
    /// What the model has said in the turn that its provider paused.
    pub(super) so_far: Vec<Value>,
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
            so_far: Vec::new(),
        }
    }

    /// Sends until there is an answer, an error that stays, or no time (K5); waits for an absent server
    /// (K22).
    pub(super) async fn answer(
        &mut self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<Answer, ModelError> {
        let mut terms = self.model.terms();
        let mut body = self.encode(request, terms)?;
        let mut unnamed: Option<ModelError> = None;
        let mut request = Cow::Borrowed(request);
        loop {
            let failure = match self.exchange(&request, body.clone(), chunks).await {
                Ok(answer) => {
                    self.model.remember(terms);
                    if request.schema.is_some() {
                        self.model.bad_replies.store(0, Ordering::Relaxed);
                    }
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            let safe = |error: ModelError| error.safe(|text| self.model.redact(text));
            // For this call alone: other replies may well keep to the schema.
            if failure.is_bad_reply && self.is_bad_again() && request.schema.is_some() {
                request = Cow::Owned(schema_in_words(&request));
                body = self.encode(&request, terms)?;
                continue;
            }
            let next = terms.conceded(&failure, &request).or_else(|| {
                let plain = terms.plain(&failure, &request)?;
                unnamed = Some(safe((*failure.error).clone()));
                Some(plain)
            });
            if let Some(next) = next {
                terms = next;
                body = self.encode(&request, terms)?;
                continue;
            }
            let error = safe(terms.explain(*failure.error, &request));
            // Without the effort it was refused as well: what was said first is about what was asked.
            if let Some(first) = unnamed.take().filter(|_| error.kind == ModelErrorKind::BadRequest) {
                return Err(first);
            }
            let Some(wait) = self.next_wait(&error, &request) else { return Err(error) };
            self.wire_retries = self.wire_retries.saturating_add(1);
            let config = &self.model.config;
            telemetry::wire_retry(config.provider, &config.model, &error, self.wire_retries, wait);
            chunks.waits();
            let began = Instant::now();
            tokio::time::sleep(wait).await;
            self.waited += began.elapsed();
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
        if is_waited_for && self.wire_retries == 0 {
            telemetry::is_absent(self.model.config.provider, &self.model.config.model, error);
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
            message: self.with_address(&error).into(),
            advice: match error.advice.is_empty() {
                true => advice(&error.kind, self.model.config.provider).into(),
                false => error.advice,
            },
            wire_retries: u16::try_from(self.wire_retries).unwrap_or(u16::MAX),
            request_id: self.request_id.as_deref().map(Into::into),
            ..error
        }
    }

    /// Returns an error's message, with the address that was asked where that may be what is wrong.
    fn with_address(&self, error: &ModelError) -> String {
        let is_of_address = match &error.kind {
            ModelErrorKind::Connection | ModelErrorKind::Malformed => true,
            ModelErrorKind::Timeout(stage) => *stage != TimeoutStage::Turn,
            _ => error.status == Some(404),
        };
        let endpoint = &self.model.endpoint;
        match endpoint.authority() {
            Some(server) if is_of_address => {
                let asked = format!("{server}{}", endpoint.path());
                format!("{} ({})", error.message, self.model.redact_name(&asked))
            }
            Some(_) | None => error.message.to_string(),
        }
    }

    /// Notes a reply that the server found not to keep to the schema, and returns whether the one before it
    /// did not either.
    fn is_bad_again(&self) -> bool {
        self.model.bad_replies.fetch_add(1, Ordering::Relaxed) > 0
    }

    /// Writes the body once; it is shared by all tries on the same terms.
    fn encode(&self, request: &ChatRequest, terms: Terms) -> Result<Bytes, ModelError> {
        let Terms { dialect, .. } = terms;
        let model = self.model;
        let refused = |error: serde_json::Error| {
            ModelError::new(ModelErrorKind::BadRequest, &format!("cannot write the request: {error}"))
        };
        let schema = match &request.schema {
            Some(schema) if dialect.takes(Parameter::Schema) => {
                let bounds = dialect.takes(Parameter::SchemaBounds);
                Some(model.schemas.cut(schema, model.protocol(), bounds).map_err(refused)?)
            }
            Some(_) | None => None,
        };
        let schema = schema.as_deref();
        let (cap, so_far) = (terms.cap(request), &self.so_far);
        let outgoing = Outgoing { model: &model.config.model, request, schema, dialect, cap, so_far };
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
        self.left = Instant::now();
        let sent = self.within((self.left, self.time.first_token), TimeoutStage::FirstByte, send).await?;
        let mut response = sent.map_err(|error| {
            self.has_tls_failed = has_tls_failed(&error);
            connection_error(&error)
        })?;
        let header = |name: &str| {
            let id = response.headers().get(name)?.to_str().ok()?;
            Some(model.redact_name(clip_name(id)).into())
        };
        self.request_id = REQUEST_ID_HEADERS.iter().find_map(|name| header(name));
        self.http_version = Some(response.version());
        let status = response.status();
        if !status.is_success() {
            let body = self.error_body(&mut response).await;
            let code = status.as_u16();
            return Err(failure::from_response(model.protocol(), code, response.headers(), &body));
        }
        let bytes_max = limits.reply_bytes_max.saturating_add(thought_bytes_max(request));
        let mut decoder = Decoder::new(model.protocol().events(), bytes_max);
        decoder.bound_text(text_bytes_max(request));
        let read = self.read(&mut response, &mut decoder, chunks).await;
        let answer = match read {
            Ok(()) => decoder.finish(chunks),
            // The answer was there; only its usage may be lost.
            Err(error) if decoder.is_complete() && is_cut(&error) => decoder.finish(chunks),
            Err(error) => Err(error),
        };
        answer.map_err(|error| {
            let received_any = self.first_byte.is_some();
            // Text that was already passed on cannot be taken back, so only the next attempt may do without
            // the schema.
            let has_said = decoder.progress() > 0;
            let is_bad_reply = error.kind == ModelErrorKind::Malformed && !error.text.is_empty() && !has_said;
            let error = ModelError { status: Some(status.as_u16()), received_any, ..decoder.fail(error) };
            Failure { is_bad_reply, ..error.into() }
        })
    }

    /// Feeds the decoder until the end mark or the end of the body. What is no part of an answer, such as a
    /// comment that keeps the connection open, ends neither the wait for the first token nor a silence.
    async fn read(
        &mut self,
        response: &mut Response<Incoming>,
        decoder: &mut Decoder,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        let mut decompressor = Decompressor::new(response.headers())?;
        let body = response.body_mut();
        let mut last = self.left;
        while !decoder.is_done() {
            let before = decoder.progress();
            let (limit, stage) = match before {
                0 => (self.time.first_token, TimeoutStage::FirstByte),
                _ => (self.time.idle, TimeoutStage::Idle),
            };
            let piece = self.within((last, limit), stage, next_piece(body)).await?;
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
            decompressor.push(&piece, |bytes| decoder.push(bytes, chunks))?;
            if decoder.progress() > before {
                last = Instant::now();
            }
        }
        let _ = timeout(DRAIN_TIMEOUT, next_piece(body)).await;
        Ok(())
    }

    /// Reads the beginning of an error's body; what cannot be read, or takes too long altogether, is left
    /// out.
    async fn error_body(&self, response: &mut Response<Incoming>) -> Vec<u8> {
        let Ok(mut decompressor) = Decompressor::new(response.headers()) else { return Vec::new() };
        let body = response.body_mut();
        let limit = (Instant::now(), self.time.idle);
        let mut read = Vec::new();
        while read.len() < ERROR_BYTES_MAX {
            let Ok(Ok(Some(piece))) = self.within(limit, TimeoutStage::Idle, next_piece(body)).await else {
                break;
            };
            let decoded = decompressor.push(&piece, |bytes| {
                let room = ERROR_BYTES_MAX.saturating_sub(read.len());
                read.extend_from_slice(&bytes[..bytes.len().min(room)]);
                Ok(())
            });
            if decoded.is_err() {
                break;
            }
        }
        read
    }

    /// Waits for `future`, but neither longer than a limit that counts from an instant nor past the end of
    /// the whole call.
    async fn within<T>(
        &self,
        (from, limit): (Instant, Duration),
        stage: TimeoutStage,
        future: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let stage_end = from + limit;
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

/// Returns a request that asks in words for what the schema demands, of a model that does not keep to it.
fn schema_in_words(request: &ChatRequest) -> ChatRequest {
    let mut request = request.clone();
    let last = request.messages.iter_mut().rfind(|message| message.role == Role::User);
    if let (Some(schema), Some(last)) = (request.schema.take(), last) {
        let words = format!("{}\n\nThe JSON must match this schema:\n{}", last.content, schema.json());
        last.content = words.into();
    }
    request
}

/// Returns the most bytes that a stream has for thinking, each token in an event of its own.
fn thought_bytes_max(request: &ChatRequest) -> usize {
    (request.thinking_tokens as usize).saturating_mul(EVENT_BYTES_MAX)
}

/// Returns the most bytes of visible text that are read: where the provider's limit has head-room for
/// thinking, it bounds the visible answer no more. A token of ordinary text, however it is written, has fewer
/// bytes than this allows for.
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

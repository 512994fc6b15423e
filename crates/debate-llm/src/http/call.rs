//! One call, over all its tries on the wire (K5).

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
use super::client::{connection_error, next_piece};
use super::decode::{Decoder, clip_name};
use super::dialect::{Dialect, Parameter};
use super::encoding::Decompressor;
use super::failure::{self, Failure};
use super::protocol::Outgoing;
use super::retry;
use crate::{CallTime, ChatRequest, ChunkSink, ModelError, ModelErrorKind, TimeoutStage, telemetry};

/// The most bytes of an error's body that are read.
pub(super) const ERROR_BYTES_MAX: usize = 64 << 10;

/// How long the end of a finished stream is waited for, so that its connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(20);

/// The headers in which providers give the id of a request.
const REQUEST_ID_HEADERS: [&str; 2] = ["x-request-id", "request-id"];

/// One call under way.
pub(super) struct Call<'a> {
    model: &'a HttpModel,
    started: Instant,
    time: CallTime,
    /// When the whole call must have ended, if ever.
    deadline: Option<Instant>,
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
        let total = time.total.map(|total| started + total);
        let deadline = total.into_iter().chain(time.give_up_at).min();
        Self {
            model,
            started,
            time,
            deadline,
            first_byte: None,
            request_id: None,
            http_version: None,
            wire_retries: 0,
            so_far: Vec::new(),
        }
    }

    /// Sends until there is an answer, an error that stays, or no time (K5).
    pub(super) async fn answer(
        &mut self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<Answer, ModelError> {
        let mut dialect = self.model.dialect();
        let mut body = self.encode(request, dialect)?;
        let mut is_schema_dropped = false;
        loop {
            let failure = match self.exchange(body.clone(), chunks).await {
                Ok(answer) if is_schema_dropped => return Ok(answer),
                Ok(answer) => {
                    self.model.remember(dialect);
                    self.model.bad_replies.store(0, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(failure) => failure,
            };
            if failure.is_bad_reply && !is_schema_dropped && self.is_bad_again() {
                // For this call alone: other replies may well keep to the schema.
                if let Some(next) = dialect.concede(Parameter::Schema, request) {
                    (dialect, is_schema_dropped) = (next, true);
                    body = self.encode(request, dialect)?;
                    continue;
                }
            }
            if let Some(next) = failure.blames.and_then(|parameter| dialect.concede(parameter, request)) {
                dialect = next;
                body = self.encode(request, dialect)?;
                continue;
            }
            let error = failure.error.safe(|told| self.model.redact(told));
            let policy = &self.model.config.retry;
            let wait = policy.next_wait(self.wire_retries, error.retry_after(), retry::jitter());
            let Some(wait) = wait.filter(|_| error.should_retry_wire()) else { return Err(error) };
            // Waiting past the end would only turn a clear error into a timeout.
            if self.deadline.is_some_and(|end| wait >= end.saturating_duration_since(Instant::now())) {
                return Err(error);
            }
            self.wire_retries += 1;
            let config = &self.model.config;
            telemetry::wire_retry(config.provider, &config.model, &error, self.wire_retries, wait);
            tokio::time::sleep(wait).await;
        }
    }

    /// Adds to an error what the whole call knows.
    pub(super) fn complete_error(&self, error: ModelError) -> ModelError {
        ModelError {
            message: self.with_address(&error).into(),
            advice: match error.advice.is_empty() {
                true => advice(&error.kind, self.model.config.provider).into(),
                false => error.advice,
            },
            wire_retries: self.wire_retries,
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

    /// Notes a reply that the server found not to keep to the schema, and returns whether the one before it did not either.
    fn is_bad_again(&self) -> bool {
        self.model.bad_replies.fetch_add(1, Ordering::Relaxed) > 0
    }

    /// Writes the body once; it is shared by all tries in the same dialect.
    fn encode(&self, request: &ChatRequest, dialect: Dialect) -> Result<Bytes, ModelError> {
        let model = self.model;
        let refused = |error: serde_json::Error| {
            ModelError::new(ModelErrorKind::BadRequest, &format!("cannot write the request: {error}"))
        };
        let schema = match &request.schema {
            Some(schema) if dialect.takes(Parameter::Schema) => {
                Some(model.schemas.cut(schema, model.protocol()).map_err(refused)?)
            }
            Some(_) | None => None,
        };
        let schema = schema.as_deref();
        let outgoing =
            Outgoing { model: &model.config.model, request, schema, dialect, so_far: &self.so_far };
        model.protocol().encode(&outgoing).map(Bytes::from).map_err(refused)
    }

    /// Sends once and reads what comes.
    async fn exchange(&mut self, body: Bytes, chunks: &mut dyn ChunkSink) -> Result<Answer, Failure> {
        let model = self.model;
        let limits = &model.config.limits;
        let send = model.client.post(&model.endpoint, telemetry::traced(model.headers.clone()), body);
        let sent = Instant::now();
        let mut response = self
            .within((sent, self.time.first_token), TimeoutStage::FirstByte, send)
            .await?
            .map_err(|error| connection_error(&error))?;
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
        let mut decoder = Decoder::new(model.protocol().events(), limits.reply_bytes_max);
        let read = self.read(&mut response, sent, &mut decoder, chunks).await;
        let answer = match read {
            Ok(()) => decoder.finish(chunks),
            // The answer was there; only its usage may be lost.
            Err(error) if decoder.is_complete() && is_cut(&error) => decoder.finish(chunks),
            Err(error) => Err(error),
        };
        answer.map_err(|error| {
            let received_any = self.first_byte.is_some();
            // What was told already cannot be taken back, so it is the next attempt that may do without the schema.
            let has_said = decoder.progress() > 0;
            let is_bad_reply = error.kind == ModelErrorKind::Malformed && !error.text.is_empty() && !has_said;
            let error = ModelError { status: Some(status.as_u16()), received_any, ..decoder.fail(error) };
            Failure { is_bad_reply, ..error.into() }
        })
    }

    /// Feeds the decoder until the end mark or the end of the body. What is no part of an answer, such as a comment that keeps
    /// the connection open, ends neither the wait for the first token nor a silence.
    async fn read(
        &mut self,
        response: &mut Response<Incoming>,
        sent: Instant,
        decoder: &mut Decoder,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        let mut decompressor = Decompressor::new(response.headers())?;
        let body = response.body_mut();
        let mut last = sent;
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
                self.first_byte = Some(self.started.elapsed());
            }
            decompressor.push(&piece, |bytes| decoder.push(bytes, chunks))?;
            if decoder.progress() > before {
                last = Instant::now();
            }
        }
        let _ = timeout(DRAIN_TIMEOUT, next_piece(body)).await;
        Ok(())
    }

    /// Reads the beginning of an error's body; what cannot be read, or takes too long altogether, is left out.
    async fn error_body(&self, response: &mut Response<Incoming>) -> Vec<u8> {
        let Ok(mut decompressor) = Decompressor::new(response.headers()) else { return Vec::new() };
        let body = response.body_mut();
        let begun = Instant::now();
        let limit = self.model.config.limits.idle_timeout;
        let mut read = Vec::new();
        while read.len() < ERROR_BYTES_MAX {
            let Ok(Ok(Some(piece))) = self.within((begun, limit), TimeoutStage::Idle, next_piece(body)).await
            else {
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

    /// Waits for `future`, but neither longer than a limit that counts from an instant nor past the end of the whole call.
    async fn within<T>(
        &self,
        (from, limit): (Instant, Duration),
        stage: TimeoutStage,
        future: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let stage_end = from + limit;
        let (end, stage) = match self.deadline.filter(|deadline| *deadline < stage_end) {
            Some(deadline) => (deadline, TimeoutStage::Total),
            None => (stage_end, stage),
        };
        let timed_out = || ModelError::new(ModelErrorKind::Timeout(stage), &self.patience(stage, limit));
        // A server that always has the next bytes ready would otherwise never be interrupted.
        if end <= Instant::now() {
            return Err(timed_out());
        }
        timeout_at(end, future).await.map_err(|_| timed_out())
    }

    /// Says which limit of time was reached.
    fn patience(&self, stage: TimeoutStage, limit: Duration) -> String {
        match stage {
            TimeoutStage::Turn | TimeoutStage::Connect => format!("none within {limit:?}"),
            TimeoutStage::FirstByte => format!("no answer began within {limit:?}"),
            TimeoutStage::Idle => format!("nothing for {limit:?} in the middle of an answer"),
            TimeoutStage::Total => {
                let limit = self.deadline.map_or(limit, |deadline| deadline - self.started);
                format!("no whole answer within {limit:?}")
            }
        }
    }
}

/// Returns whether an error is about the wire alone, so that an answer that was whole before it stands.
fn is_cut(error: &ModelError) -> bool {
    matches!(error.kind, ModelErrorKind::Truncated | ModelErrorKind::Timeout(_))
}

//! What can be seen while models are called: a span for each call, and measurements as tracing events that
//! `tracing-opentelemetry` turns into metrics.
//!
//! A field `histogram.NAME` or `monotonic_counter.NAME` is a measurement, the other fields are its attributes. Names
//! are those of OpenTelemetry's conventions for generative AI where there is one (see docs/telemetry.md), else they begin
//! with `debate.llm`. Times are in seconds. Nothing holds a key; a span holds what was said only where
//! [`HttpConfig::captures_content`](crate::HttpConfig) is set. All are at DEBUG. A circuit that opens, and a
//! server that refuses a part of requests, are also logged at WARN.

use std::collections::HashMap;
use std::time::Duration;

use http::Uri;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::uri::Scheme;
use opentelemetry::trace::Status;
use opentelemetry::{Array, StringValue, Value};
use serde_json::{Value as Json, json};
use tokio::time::Instant;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::breaker::Change;
use crate::{ChatReply, ChatRequest, Ending, HttpConfig, Message, ModelError, Provider, Role, Usage};

/// The target of all events here, for filters.
macro_rules! measured {
    ($($field:tt)*) => {
        tracing::event!(target: "debate_llm::metrics", tracing::Level::DEBUG, $($field)*)
    };
}

/// What a call waits for before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// For one of the calls under way to end.
    Concurrency,
    /// For those that came before and wait for the minute's limits.
    Queue,
    /// For the requests of a minute.
    Requests,
    /// For the tokens of a minute.
    Tokens,
}

impl Limit {
    /// Returns the name, that of the setting where there is one.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Concurrency => "concurrency",
            Self::Queue => "queue",
            Self::Requests => "requests_per_minute",
            Self::Tokens => "tokens_per_minute",
        }
    }
}

/// One call under way; dropped before its end, it counts as cancelled.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    provider: Provider,
    model: &'a str,
    captures_content: bool,
    span: Span,
    started: Instant,
    has_ended: bool,
}

impl<'a> Call<'a> {
    /// Begins a call to `endpoint`.
    pub(crate) fn begin(
        config: &'a HttpConfig,
        endpoint: &Uri,
        request: &ChatRequest,
        started: Instant,
    ) -> Self {
        let (provider, model) = (config.provider, config.model.as_str());
        let span = tracing::debug_span!(
            target: "debate_llm::spans",
            "chat",
            "otel.name" = format!("chat {model}"),
            "otel.kind" = "client",
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider_name(provider),
            gen_ai.request.model = model,
            gen_ai.request.stream = true,
            gen_ai.request.max_tokens = request.max_output_tokens,
            gen_ai.request.temperature = request.temperature,
            gen_ai.request.seed = request.seed,
            gen_ai.output.type = if request.schema.is_some() { "json" } else { "text" },
            server.address = endpoint.host(),
            server.port = port(endpoint),
        );
        let captures_content = config.captures_content && !span.is_disabled();
        if captures_content {
            span.set_attribute("gen_ai.input.messages", messages(request));
        }
        Self { provider, model, captures_content, span, started, has_ended: false }
    }

    /// Returns the span of the call.
    pub(crate) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Tells the outcome, and when the first byte came.
    pub(crate) fn end(mut self, answered: &Result<ChatReply, ModelError>, first_byte: Option<Duration>) {
        self.has_ended = true;
        if !self.span.is_disabled() {
            self.close(answered, first_byte);
        }
        let (usage, answered_by, error) = match answered {
            Ok(reply) => (&reply.usage, Some(reply.model.as_str()), None),
            Err(error) => (&*error.usage, None, Some(error.kind.label())),
        };
        self.tell(answered_by, error);
        if let Some(first_byte) = first_byte {
            measured!(
                histogram.gen_ai.client.inference.time_to_first_chunk = first_byte.as_secs_f64(),
                gen_ai.operation.name = "chat",
                gen_ai.provider.name = provider_name(self.provider),
                gen_ai.request.model = self.model,
                gen_ai.response.model = answered_by
            );
        }
        self.tell_tokens(usage, answered_by);
        if let Ok(reply) = answered {
            measured!(
                monotonic_counter.debate.llm.answers = 1_u64,
                gen_ai.provider.name = provider_name(self.provider),
                gen_ai.request.model = self.model,
                debate.llm.ended = reply.ending.as_str()
            );
        }
    }

    fn tell(&self, answered_by: Option<&str>, error: Option<&str>) {
        measured!(
            histogram.gen_ai.client.inference.duration = self.started.elapsed().as_secs_f64(),
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider_name(self.provider),
            gen_ai.request.model = self.model,
            gen_ai.response.model = answered_by,
            "error.type" = error
        );
    }

    /// Counts the tokens that the provider reported; a count that it did not report is not counted as 0.
    fn tell_tokens(&self, usage: &Usage, answered_by: Option<&str>) {
        macro_rules! tokens {
            ($($metric:ident).+, $tokens:expr) => {
                if let Some(tokens) = $tokens {
                    measured!(
                        monotonic_counter.gen_ai.client.inference.usage.$($metric).+ = tokens,
                        gen_ai.operation.name = "chat",
                        gen_ai.provider.name = provider_name(self.provider),
                        gen_ai.request.model = self.model,
                        gen_ai.response.model = answered_by
                    );
                }
            };
        }
        tokens!(input_tokens, usage.input);
        tokens!(output_tokens, usage.output);
        tokens!(cache_read.input_tokens, usage.cached);
        tokens!(cache_write.input_tokens, usage.cache_written);
        tokens!(reasoning.output_tokens, usage.reasoning);
    }

    /// Writes the outcome on the span.
    fn close(&self, answered: &Result<ChatReply, ModelError>, first_byte: Option<Duration>) {
        let set = |name: &'static str, value: Option<Value>| {
            if let Some(value) = value {
                self.span.set_attribute(name, value);
            }
        };
        let count =
            |tokens: Option<u64>| tokens.and_then(|tokens| i64::try_from(tokens).ok()).map(Value::I64);
        let (usage, retries) = match answered {
            Ok(reply) => {
                let reason = StringValue::from(finish_reason(reply).to_owned());
                set("gen_ai.response.model", Some(reply.model.clone().into()));
                set("gen_ai.response.id", reply.request_id.clone().map(Value::from));
                set("gen_ai.response.finish_reasons", Some(Value::Array(Array::String(vec![reason]))));
                set("debate.llm.ended", Some(reply.ending.as_str().into()));
                if self.captures_content {
                    let part = json!({"type": "text", "content": reply.text});
                    let said = json!([{
                        "role": "assistant",
                        "parts": [part],
                        "finish_reason": finish_reason(reply),
                    }]);
                    set("gen_ai.output.messages", Some(said.to_string().into()));
                }
                (&reply.usage, reply.wire_retries)
            }
            Err(error) => {
                let kind = error.kind.label();
                set("error.type", Some(kind.into()));
                set("http.response.status_code", error.status.map(|status| i64::from(status).into()));
                self.span.set_status(Status::error(kind));
                (&*error.usage, error.wire_retries.into())
            }
        };
        set("gen_ai.response.time_to_first_chunk", first_byte.map(|first| first.as_secs_f64().into()));
        set("gen_ai.usage.input_tokens", count(usage.input));
        set("gen_ai.usage.output_tokens", count(usage.output));
        set("gen_ai.usage.cache_read.input_tokens", count(usage.cached));
        set("gen_ai.usage.cache_write.input_tokens", count(usage.cache_written));
        set("gen_ai.usage.reasoning.output_tokens", count(usage.reasoning));
        set("debate.llm.wire_retries", Some(i64::from(retries).into()));
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.span.set_attribute("error.type", "cancelled");
            self.tell(None, Some("cancelled"));
        }
    }
}

fn port(endpoint: &Uri) -> u16 {
    let usual = if endpoint.scheme() == Some(&Scheme::HTTP) { 80 } else { 443 };
    endpoint.port_u16().unwrap_or(usual)
}

/// Returns the headers of a request with W3C's trace context of the current span, where somebody listens.
pub(crate) fn traced(mut headers: HeaderMap) -> HeaderMap {
    let span = Span::current();
    if span.is_disabled() {
        return headers;
    }
    let mut context = HashMap::new();
    opentelemetry::global::get_text_map_propagator(|propagator| {
        propagator.inject_context(&span.context(), &mut context);
    });
    for (name, value) in context {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            headers.insert(name, value);
        }
    }
    headers
}

/// Returns what a model is asked, in the conventions' shape.
fn messages(request: &ChatRequest) -> String {
    let message = |message: &Message| {
        let role = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        json!({"role": role, "parts": [{"type": "text", "content": &*message.content}]})
    };
    Json::Array(request.messages.iter().map(message).collect()).to_string()
}

/// Returns a reason's name in the conventions.
fn finish_reason(reply: &ChatReply) -> &str {
    match reply.ending {
        Ending::Complete => "stop",
        Ending::ToolCalls => "tool_call",
        Ending::CutInThinking | Ending::CutInText => "length",
        Ending::Refused => "content_filter",
        Ending::Paused | Ending::Failed | Ending::Unknown => {
            reply.stop_reason.as_deref().unwrap_or(reply.ending.as_str())
        }
    }
}

/// Tells that the wire is tried again (K5), for the `retry`-th time and after `wait`.
pub(crate) fn wire_retry(provider: Provider, model: &str, error: &ModelError, retry: u32, wait: Duration) {
    tracing::debug!(%provider, model, retry, ?wait, "sent again");
    measured!(
        monotonic_counter.debate.llm.wire_retries = 1_u64,
        gen_ai.provider.name = provider_name(provider),
        gen_ai.request.model = model,
        "error.type" = error.kind.label()
    );
}

/// Logs that a call waits for a server that cannot be reached (rule K22).
pub(crate) fn is_absent(provider: Provider, model: &str, error: &ModelError) {
    tracing::warn!(%provider, model, error = %error.message, "the model's server cannot be reached; the call waits for it");
}

/// Tells that the server of a model refuses a parameter, which is left out from now on; of a schema the reply's reader
/// sees to it that answers have its shape all the same.
pub(crate) fn left_out(provider: Provider, model: &str, parameter: &'static str) {
    tracing::warn!(%provider, model, parameter, "the server refuses this parameter; it is left out from now on");
    measured!(
        monotonic_counter.debate.llm.parameters_left_out = 1_u64,
        gen_ai.provider.name = provider_name(provider),
        gen_ai.request.model = model,
        debate.llm.parameter = parameter
    );
}

/// Tells how long a call waited for its turn at one limit; calls that did not wait tell nothing.
pub(crate) fn waited(provider: Provider, limit: Limit, wait: Duration) {
    measured!(
        histogram.debate.llm.turn_wait.duration = wait.as_secs_f64(),
        gen_ai.provider.name = provider_name(provider),
        debate.llm.limit = limit.name()
    );
}

/// Tells that the circuit of a model, by its recorded name, has changed.
pub(crate) fn circuit_changed(provider: Provider, name: &str, change: Change) {
    let model = name.split_once(':').map_or(name, |(_, model)| model);
    let state = match change {
        Change::Opened => "open",
        Change::HalfOpened => "half_open",
        Change::Closed => "closed",
    };
    if change == Change::Opened {
        tracing::warn!(%provider, model, "the model fails again and again; it is not asked for a while");
    }
    measured!(
        monotonic_counter.debate.llm.circuit_changes = 1_u64,
        gen_ai.provider.name = provider_name(provider),
        gen_ai.request.model = model,
        debate.llm.circuit.state = state
    );
}

/// Returns the provider's name in OpenTelemetry's conventions.
fn provider_name(provider: Provider) -> &'static str {
    match provider {
        Provider::Anthropic => "anthropic",
        Provider::Gemini => "gcp.gemini",
        Provider::OpenAi | Provider::OpenAiResponses => "openai",
    }
}

//! What can be measured while models are called, as tracing events that `tracing-opentelemetry` turns into metrics.
//!
//! A field `histogram.NAME` or `monotonic_counter.NAME` is a measurement, the other fields are its attributes. Names
//! are those of OpenTelemetry's conventions for generative AI where there is one, else they begin with `debate.llm`.
//! Times are in seconds. No event holds a text, a key or an address. All are at DEBUG; that a circuit opens, and that a
//! server refuses a part of requests, is told at WARN too.

use std::time::Duration;

use tokio::time::Instant;

use crate::governed::Change;
use crate::{ChatReply, ModelError, Provider, Usage};

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
    started: Instant,
    has_ended: bool,
}

impl<'a> Call<'a> {
    /// Begins a call of `model`, by the provider's name of it.
    pub(crate) fn begin(provider: Provider, model: &'a str, started: Instant) -> Self {
        Self { provider, model, started, has_ended: false }
    }

    /// Tells the outcome, and when the first byte came.
    pub(crate) fn end(mut self, answered: &Result<ChatReply, ModelError>, first_byte: Option<Duration>) {
        self.has_ended = true;
        let (usage, answered_by, error) = match answered {
            Ok(reply) => (&reply.usage, Some(reply.model.as_str()), None),
            Err(error) => (&*error.usage, None, Some(error.kind.label())),
        };
        self.tell(answered_by, error);
        if let Some(first_byte) = first_byte {
            measured!(
                histogram.gen_ai.client.operation.time_to_first_chunk = first_byte.as_secs_f64(),
                gen_ai.operation.name = "chat",
                gen_ai.provider.name = provider_name(self.provider),
                gen_ai.request.model = self.model,
                gen_ai.response.model = answered_by,
                "first byte"
            );
        }
        self.tell_tokens(usage, answered_by);
    }

    fn tell(&self, answered_by: Option<&str>, error: Option<&str>) {
        measured!(
            histogram.gen_ai.client.operation.duration = self.started.elapsed().as_secs_f64(),
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider_name(self.provider),
            gen_ai.request.model = self.model,
            gen_ai.response.model = answered_by,
            "error.type" = error,
            "call ended"
        );
    }

    fn tell_tokens(&self, usage: &Usage, answered_by: Option<&str>) {
        for (token_type, tokens) in [("input", usage.input), ("output", usage.output)] {
            let Some(tokens) = tokens else { continue };
            measured!(
                histogram.gen_ai.client.token.usage = tokens,
                "gen_ai.token.type" = token_type,
                gen_ai.operation.name = "chat",
                gen_ai.provider.name = provider_name(self.provider),
                gen_ai.request.model = self.model,
                gen_ai.response.model = answered_by,
                "tokens used"
            );
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.tell(None, Some("cancelled"));
        }
    }
}

/// Tells that the wire is tried again (K5), for the `retry`-th time and after `wait`.
pub(crate) fn wire_retry(provider: Provider, model: &str, error: &ModelError, retry: u32, wait: Duration) {
    measured!(
        monotonic_counter.debate.llm.wire_retries = 1_u64,
        gen_ai.provider.name = provider_name(provider),
        gen_ai.request.model = model,
        "error.type" = error.kind.label(),
        retry,
        ?wait,
        "wire retry"
    );
}

/// Tells that the server of a model refuses a parameter, which is left out from now on; of a schema the reply's reader
/// sees to it that answers have its shape all the same.
pub(crate) fn left_out(provider: Provider, model: &str, parameter: &'static str) {
    tracing::warn!(%provider, model, parameter, "the server refuses this parameter; it is left out from now on");
    measured!(
        monotonic_counter.debate.llm.parameters_left_out = 1_u64,
        gen_ai.provider.name = provider_name(provider),
        gen_ai.request.model = model,
        debate.llm.parameter = parameter,
        "parameter left out"
    );
}

/// Tells how long a call waited for its turn at one limit; calls that did not wait tell nothing.
pub(crate) fn waited(provider: Provider, limit: Limit, wait: Duration) {
    measured!(
        histogram.debate.llm.turn_wait.duration = wait.as_secs_f64(),
        gen_ai.provider.name = provider_name(provider),
        debate.llm.limit = limit.name(),
        "waited for a turn"
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
        debate.llm.circuit.state = state,
        "circuit changed"
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

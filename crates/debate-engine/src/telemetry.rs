//! What can be seen of debates while they are driven: spans of a debate, its rounds, their calls and the attempts at
//! them, and measurements.
//!
//! Names are those of OpenTelemetry's conventions for generative AI where there is one (see docs/telemetry.md), else they
//! begin with `debate.`. Nothing here holds what anybody said. All of it is at DEBUG under targets of its own, so that
//! without a subscriber it costs one check of a flag.

use std::collections::BTreeMap;
use std::time::Duration;

use debate_core::call::{CallKey, Work};
use debate_core::command::Command;
use debate_core::debate::Debate;
use debate_core::event::{AttemptRef, Event, KernelEvent};
use debate_core::format::{Evaluation, Format};
use debate_core::id::{DebateId, Seq};
use debate_core::stop::StopRule;
use debate_store::EventStore;
use opentelemetry::propagation::Extractor;
use opentelemetry::trace::{Status, TraceContextExt as _};
use tokio::time::Instant;
use tracing::Span;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::turn::Question;

/// Opens a span that is heard of only by those who ask for this target.
macro_rules! span {
    ($parent:expr, $($field:tt)*) => {
        tracing::debug_span!(target: "debate_engine::spans", parent: $parent, $($field)*)
    };
}

/// Tells a measurement, as `tracing-opentelemetry` reads them.
macro_rules! measured {
    ($($field:tt)*) => {
        tracing::event!(target: "debate_engine::metrics", tracing::Level::DEBUG, $($field)*)
    };
}

/// The spans of one debate that is driven here.
#[derive(Debug)]
pub(crate) struct Spans {
    debate: Span,
    id: DebateId,
    format: &'static str,
    rounds: BTreeMap<u32, Span>,
    calls: BTreeMap<(CallKey, u32), Asked>,
}

/// One question, from when it is first put to when it is settled.
#[derive(Debug)]
struct Asked {
    span: Span,
    since: Instant,
    attempts: u64,
    tools: u64,
}

impl Spans {
    /// Opens the span of a debate, below what its opener was about, which the first event of its log says.
    pub(crate) async fn open<F: Format>(store: &dyn EventStore, debate: &Debate<F>, tenant: &str) -> Self {
        let id = debate.id();
        let span = span!(
            None,
            "debate",
            "otel.name" = format!("invoke_workflow {}", F::NAME),
            gen_ai.operation.name = "invoke_workflow",
            gen_ai.workflow.name = F::NAME,
            gen_ai.conversation.id = %id,
            debate.tenant = tenant,
        );
        if !span.is_disabled() {
            let first = store.read(id.into(), Seq::START, 1).await.unwrap_or_default();
            if let Some(cause) = first.first().and_then(|envelope| envelope.trace.as_deref()) {
                let cause = opentelemetry::global::get_text_map_propagator(|propagator| {
                    propagator.extract(&TraceContext(cause))
                });
                if cause.span().span_context().is_valid() {
                    // Without a layer for OpenTelemetry this has no effect.
                    let _unheard = span.set_parent(cause);
                }
            }
        }
        Self { debate: span, id, format: F::NAME, rounds: BTreeMap::new(), calls: BTreeMap::new() }
    }

    /// Returns the debate's own span.
    pub(crate) fn debate(&self) -> Span {
        self.debate.clone()
    }

    /// Opens the span of an attempt, and those of its round and its call where they are not open.
    pub(crate) fn attempt<F: Format>(&mut self, attempt: &AttemptRef, question: &Question<F>) -> Span {
        let id = self.id;
        let Some(call) = self.call(&attempt.call, attempt.revision) else { return Span::none() };
        call.attempts += 1;
        if call.span.is_disabled() {
            return Span::none();
        }
        span!(
            &call.span,
            "attempt",
            "otel.name" = format!("attempt {}", attempt.attempt),
            debate.attempt = attempt.attempt,
            debate.turn = attempt.turn,
            gen_ai.conversation.id = %id,
            gen_ai.request.model = question.model.name(),
            gen_ai.prompt.version = question.prompt.version,
        )
    }

    /// Opens the span of a tool's run.
    pub(crate) fn tool(&mut self, work: &Work, name: &str) -> Span {
        let Some(call) = self.call(&work.want().call, work.want().revision) else { return Span::none() };
        call.tools += 1;
        span!(
            &call.span,
            "tool",
            "otel.name" = format!("execute_tool {name}"),
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = name,
        )
    }

    /// Returns a question that is in flight; `None` if neither spans nor measurements are enabled.
    fn call(&mut self, key: &CallKey, revision: u32) -> Option<&mut Asked> {
        if self.debate.is_disabled() && !is_measured() {
            return None;
        }
        let Self { debate, id, rounds, calls, .. } = self;
        let round = rounds.entry(key.round).or_insert_with(|| {
            span!(
                &*debate,
                "round",
                "otel.name" = format!("round {}", key.round),
                debate.round = key.round,
                gen_ai.conversation.id = %id,
            )
        });
        Some(calls.entry((key.clone(), revision)).or_insert_with(|| {
            let span = span!(
                &*round,
                "call",
                "otel.name" = format!("invoke_agent {}", key.role),
                gen_ai.operation.name = "invoke_agent",
                gen_ai.agent.name = %key.role,
                gen_ai.conversation.id = %id,
                debate.call = %key,
                debate.revision = revision,
            );
            Asked { span, since: Instant::now(), attempts: 0, tools: 0 }
        }))
    }

    /// Returns whether no call has an open span.
    pub(crate) fn are_closed(&self) -> bool {
        self.calls.is_empty()
    }

    /// Closes the spans of calls that are answered or given up, and of rounds in which nothing runs any more.
    pub(crate) fn close_all_but(&mut self, running: &[Work]) {
        if self.are_closed() {
            return;
        }
        let runs = |key: &CallKey, revision: u32| {
            running.iter().any(|work| work.want().call == *key && work.want().revision == revision)
        };
        let format = self.format;
        self.calls.retain(|(key, revision), asked| {
            let goes_on = runs(key, *revision);
            if !goes_on {
                asked.settled(format, key);
            }
            goes_on
        });
        self.rounds.retain(|round, _| self.calls.keys().any(|(key, _)| key.round == *round));
    }

    /// Says what a debate came to, and measures it.
    pub(crate) fn conclude<F: Format>(&self, debate: &Debate<F>) {
        let Some((concluded, at)) = debate.conclusion() else { return };
        let completeness = concluded.completeness.as_str();
        let stop_rule = debate.stop_rule().map(StopRule::as_str);
        measured!(
            histogram.gen_ai.invoke_workflow.duration =
                Duration::from_millis(at.since_ms(debate.opened_at())).as_secs_f64(),
            gen_ai.workflow.name = F::NAME,
            debate.completeness = completeness,
            debate.stop_rule = stop_rule
        );
        self.debate.set_attribute("debate.completeness", completeness);
        if let Some(stop_rule) = stop_rule {
            self.debate.set_attribute("debate.stop_rule", stop_rule);
        }
    }
}

impl Asked {
    /// Measures what it took to settle a question: failed attempts and second requests are in it.
    fn settled(&self, format: &'static str, key: &CallKey) {
        measured!(
            histogram.gen_ai.invoke_agent.duration = self.since.elapsed().as_secs_f64(),
            gen_ai.workflow.name = format,
            gen_ai.agent.name = %key.role
        );
        measured!(
            histogram.gen_ai.invoke_agent.inference_calls = self.attempts,
            gen_ai.workflow.name = format,
            gen_ai.agent.name = %key.role
        );
        measured!(
            histogram.gen_ai.invoke_agent.tool_calls = self.tools,
            gen_ai.workflow.name = format,
            gen_ai.agent.name = %key.role
        );
    }
}

/// Measures a run of a tool.
pub(crate) fn tool_ran(name: &str, ok: bool, latency_ms: u64) {
    measured!(
        histogram.gen_ai.execute_tool.duration = Duration::from_millis(latency_ms).as_secs_f64(),
        gen_ai.tool.name = name,
        error.type = (!ok).then_some("tool_error")
    );
}

fn is_measured() -> bool {
    tracing::enabled!(target: "debate_engine::metrics", tracing::Level::DEBUG)
}

/// A debate that is driven here, counted while it lives.
#[derive(Debug)]
pub(crate) struct Driven(&'static str);

impl Driven {
    /// Counts a debate of a format in.
    pub(crate) fn begin<F: Format>() -> Self {
        measured!(counter.debate.driven = 1_i64, gen_ai.workflow.name = F::NAME);
        Self(F::NAME)
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        measured!(counter.debate.driven = -1_i64, gen_ai.workflow.name = self.0);
    }
}

/// Tells what of the events that were just appended is counted, and how long the store took over them.
pub(crate) fn recorded<F: Format>(config: &F::Config, events: &[Event<F>], took: Duration) {
    evaluated(config, events);
    if events.is_empty() || !is_measured() {
        return;
    }
    measured!(histogram.debate.append.duration = took.as_secs_f64(), gen_ai.workflow.name = F::NAME);
    for event in events {
        if let Event::Kernel(KernelEvent::CallStarted(started)) = event {
            measured!(
                monotonic_counter.debate.attempts = 1_u64,
                gen_ai.workflow.name = F::NAME,
                gen_ai.request.model = started.model,
                debate.cause = started.cause.as_str()
            );
        }
    }
}

/// Says on the current span, that of the debate, how good answers were found to be.
fn evaluated<F: Format>(config: &F::Config, events: &[Event<F>]) {
    if !tracing::enabled!(target: "debate_engine::spans", tracing::Level::DEBUG) {
        return;
    }
    let facts = events.iter().filter_map(|event| match event {
        Event::Fact(fact) => Some(fact),
        Event::Kernel(_) | Event::Opened(_) => None,
    });
    for Evaluation { call, name, score } in facts.flat_map(|fact| F::evaluations(config, fact)) {
        tracing::event!(
            target: "debate_engine::spans",
            tracing::Level::DEBUG,
            gen_ai.evaluation.name = name,
            gen_ai.evaluation.score.value = score,
            gen_ai.agent.name = %call.role,
            debate.call = %call,
            "gen_ai.evaluation.result"
        );
    }
}

/// Says on the current span, that of an attempt, how it ended.
pub(crate) fn attempt_ended<F: Format>(command: &Command<F>) {
    if let Command::FailCall { failure, .. } = command {
        let span = Span::current();
        span.set_attribute("error.type", failure.as_str());
        span.set_status(Status::error(failure.as_str()));
    }
}

/// The headers of W3C's trace context, as the log keeps them: one, or two with a space between.
struct TraceContext<'a>(&'a str);

impl Extractor for TraceContext<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let (parent, state) = self.0.split_once(' ').unwrap_or((self.0, ""));
        match key {
            "traceparent" => Some(parent),
            "tracestate" => Some(state).filter(|state| !state.is_empty()),
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

//! A model under the limits of its provider: it waits for its turn, and is left alone while it keeps failing.
//!
//! The limits are shared by all models of a provider, and turns go to the tenants in a ring; the circuit is each model's
//! own, because providers run out of capacity model by model, and another one may be what a caller falls back to. Wire
//! retries happen inside a turn: they are counted among the requests afterwards.

mod bucket;
mod gate;
mod limits;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

pub use self::gate::Gate;
use self::gate::Turn;
pub use self::limits::{ProviderLimits, ProviderLimitsError};
pub use crate::breaker::BreakerPolicy;
use crate::breaker::{Breaker, Change, Outcome, Ticket};
use crate::call_time::{ABSENT_MAX, FOREVER};
use crate::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, ModelError, ModelErrorKind, Place, Thinks, TimeoutStage,
    Window, telemetry,
};

/// What a message costs beyond its text, at most: the marks of its role and its ends.
const MESSAGE_TOKENS: u64 = 16;

/// A model behind the gate of its provider.
pub struct Governed {
    model: Arc<dyn ChatModel>,
    gate: Arc<Gate>,
    circuit: Mutex<Circuit>,
    /// Notified whenever a call returns, because the circuit may then let other calls through.
    changed: Notify,
}

/// The breaker, and what a person may read about the last failure.
#[derive(Debug)]
struct Circuit {
    breaker: Breaker,
    last_failure: String,
}

impl Governed {
    /// Puts `model` behind `gate`, its circuit closed.
    pub fn new(model: Arc<dyn ChatModel>, gate: Arc<Gate>) -> Self {
        let breaker = Breaker::new(gate.limits().breaker);
        let circuit = Mutex::new(Circuit { breaker, last_failure: String::new() });
        Self { model, gate, circuit, changed: Notify::new() }
    }

    fn circuit(&self) -> MutexGuard<'_, Circuit> {
        self.circuit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of a call that the circuit lets through.
    ///
    /// # Errors
    /// `CircuitOpen` where it does not in time, or is not to be waited for; `Timeout` of the stage `Turn`.
    async fn turn(&self, request: &ChatRequest) -> Result<(Turn<'_>, Passage<'_>), ModelError> {
        let began = Instant::now();
        let deadline = request.time.give_up_at.unwrap_or(began + FOREVER);
        let patience_end = request.time.give_up_at.unwrap_or(began + ABSENT_MAX);
        let patience_end = if request.waits_for_server { patience_end } else { began };
        let tokens = if self.gate.counts_tokens() { tokens_max(request) } else { 0 };
        loop {
            self.circuit_lets_through(patience_end).await?;
            let turn = self.gate.turn(&request.tenant, tokens, deadline).await?;
            // Meanwhile it may have opened; the turn goes back to the others then.
            match self.enter(Instant::now()) {
                Ok(passage) => return Ok((turn, passage)),
                Err(refusal) if request.waits_for_server => drop((turn, refusal)),
                Err(refusal) => return Err(refusal),
            }
        }
    }

    /// Waits, without a turn, until the circuit would let a call through.
    async fn circuit_lets_through(&self, patience_end: Instant) -> Result<(), ModelError> {
        loop {
            // Made before the look at the circuit, so that no change after it is missed.
            let changed = self.changed.notified();
            let now = Instant::now();
            let (wait, refusal) = {
                let circuit = self.circuit();
                let Some(wait) = circuit.breaker.refuses(now) else { return Ok(()) };
                (wait, circuit.refusal(wait))
            };
            if wait >= patience_end.saturating_duration_since(now) {
                return Err(refusal);
            }
            let _ = timeout(wait.max(Duration::from_millis(1)), changed).await;
        }
    }

    fn enter(&self, now: Instant) -> Result<Passage<'_>, ModelError> {
        let mut circuit = self.circuit();
        let (ticket, change) = circuit.breaker.enter(now).map_err(|wait| circuit.refusal(wait))?;
        drop(circuit);
        self.tell(change);
        Ok(Passage { governed: self, ticket: Some(ticket) })
    }

    fn leave(&self, ticket: Ticket, outcome: Outcome, failure: Option<&ModelError>) {
        let mut circuit = self.circuit();
        if let Some(error) = failure {
            circuit.last_failure = error.to_string();
        }
        let change = circuit.breaker.leave(Instant::now(), ticket, outcome);
        drop(circuit);
        self.changed.notify_waiters();
        self.tell(change);
    }

    fn tell(&self, change: Option<Change>) {
        if let Some(change) = change {
            telemetry::circuit_changed(self.gate.provider(), self.model.name(), change);
        }
    }
}

impl Circuit {
    fn refusal(&self, retry_after: Duration) -> ModelError {
        let message = format!("not asked after many failures, the last one {}", self.last_failure);
        ModelError::unsent(ModelErrorKind::CircuitOpen { retry_after }, &message)
    }
}

impl std::fmt::Debug for Governed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { model, gate, circuit, changed: _ } = self;
        f.debug_struct("Governed")
            .field("model", &model.name())
            .field("gate", gate)
            .field("circuit", circuit)
            .finish()
    }
}

/// A call on its way through the circuit. If it is dropped, its outcome is unknown.
struct Passage<'a> {
    governed: &'a Governed,
    ticket: Option<Ticket>,
}

impl Passage<'_> {
    /// Tells what became of the call, which `is_hurried` where it had waited for most of its time.
    fn leave(mut self, answered: &Result<ChatReply, ModelError>, is_hurried: bool) {
        let outcome =
            answered.as_ref().map_or_else(|error| outcome(&error.kind, is_hurried), |_| Outcome::Alive);
        let failure = answered.as_ref().err().filter(|_| outcome == Outcome::Failed);
        if let Some(ticket) = self.ticket.take() {
            self.governed.leave(ticket, outcome, failure);
        }
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.governed.leave(ticket, Outcome::Unknown, None);
        }
    }
}

#[async_trait]
impl ChatModel for Governed {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn is_simulated(&self) -> bool {
        self.model.is_simulated()
    }

    fn place(&self) -> Place {
        self.model.place()
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let began = Instant::now();
        chunks.waits();
        let (mut turn, passage) = self.turn(request).await?;
        turn.send();
        chunks.leaves();
        let waited = began.elapsed();
        let rest = request.time.give_up_at.map(|end| end.saturating_duration_since(Instant::now()));
        let answered = self.model.complete(request, chunks).await;
        passage.leave(&answered, rest.is_some_and(|rest| rest < waited));
        let (requests, tokens) = spent(&answered);
        turn.settle(requests, tokens);
        answered.map(|reply| ChatReply { waited: waited + reply.waited, ..reply })
    }

    async fn warm_up(&self) {
        self.model.warm_up().await;
    }

    async fn check(&self) -> Result<(), ModelError> {
        self.model.check().await
    }

    async fn window(&self) -> Option<Window> {
        self.model.window().await
    }

    fn thinks(&self) -> Thinks {
        self.model.thinks()
    }
}

/// Returns the most tokens that a call can use: its output limit and its input, which, where the caller has not
/// counted it, has at most one token for each byte and a few for each message.
fn tokens_max(request: &ChatRequest) -> u64 {
    let counted = request.input_tokens.map(u64::from);
    let input = counted.unwrap_or_else(|| {
        let message = |message: &crate::Message| {
            let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len());
            MESSAGE_TOKENS + (message.content.len() + calls.sum::<usize>()) as u64
        };
        let schema = request.schema.as_ref().map(|schema| schema.json().to_string().len());
        let tool = |tool: &crate::ToolSpec| {
            tool.name.len() + tool.description.len() + tool.parameters.to_string().len()
        };
        let more = schema.unwrap_or_default() + request.tools.iter().map(tool).sum::<usize>();
        request.messages.iter().map(message).sum::<u64>() + more as u64
    });
    input + u64::from(request.max_output_tokens) + u64::from(request.thinking_tokens)
}

/// Returns how many requests a call was, and how many tokens it used where that is known.
fn spent(answered: &Result<ChatReply, ModelError>) -> (u64, Option<u64>) {
    let (usage, retries) = match answered {
        Ok(reply) => (&reply.usage, reply.wire_retries),
        Err(error) => (&*error.usage, error.wire_retries.into()),
    };
    // What the provider did not even take up cost no tokens.
    let untouched = answered.as_ref().is_err_and(ModelError::should_retry_wire);
    let tokens = usage.input.zip(usage.output).map(|(input, output)| input.saturating_add(output));
    (1 + u64::from(retries), tokens.or(untouched.then_some(0)))
}

/// Returns what a failure says about whether the provider is at work; that a hurried call found no end says nothing.
fn outcome(kind: &ModelErrorKind, is_hurried: bool) -> Outcome {
    match kind {
        ModelErrorKind::Timeout(TimeoutStage::Total) if is_hurried => Outcome::Unknown,
        ModelErrorKind::Overloaded { .. }
        | ModelErrorKind::Server { .. }
        | ModelErrorKind::Connection
        | ModelErrorKind::Timeout(
            TimeoutStage::Connect | TimeoutStage::FirstByte | TimeoutStage::Idle | TimeoutStage::Total,
        ) => Outcome::Failed,
        ModelErrorKind::RateLimited { .. }
        | ModelErrorKind::Auth
        | ModelErrorKind::UnknownModel
        | ModelErrorKind::QuotaExhausted
        | ModelErrorKind::BadRequest
        | ModelErrorKind::WindowExceeded { .. }
        | ModelErrorKind::Malformed
        | ModelErrorKind::TooLarge
        | ModelErrorKind::Truncated
        | ModelErrorKind::StreamError
        | ModelErrorKind::Refused => Outcome::Alive,
        ModelErrorKind::CircuitOpen { .. }
        | ModelErrorKind::Timeout(TimeoutStage::Turn)
        | ModelErrorKind::Cancelled => Outcome::Unknown,
    }
}

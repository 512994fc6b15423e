//! One debate on a stage: opening it, and what its log says once it has ended.

use std::sync::Arc;
use std::time::Duration;

use debate_core::call::{CallKey, Cause, Tokens, Usage};
use debate_core::codec::Author;
use debate_core::envelope::Envelope;
use debate_core::event::{CallAnswered, CallStarted, Concluded};
use debate_core::format::Format;
use debate_core::formats::accept::{Accepted, AcceptedRequest};
use debate_core::id::DebateId;
use debate_core::record::{Body, decode_body};
use debate_core::stop::Completeness;
use debate_engine::{Engine, EngineBuilder, Hedging, Settings, Start, StartError};
use debate_llm::Models;
use debate_prompts::deliberation::DeliberationPrompts;
use debate_prompts::investigation::InvestigationPrompts;
use debate_prompts::prediction::PredictionPrompts;
use debate_prompts::review::ReviewPrompts;
use debate_prompts::roundtable::RoundtablePrompts;
use debate_store::EventStore;

use crate::error::RehearsalError;

/// The longest wait for a debate's end, on its own clock.
const PATIENCE: Duration = Duration::from_secs(2 * 3_600);

/// One debate that was held.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Held {
    /// From its first event to its last.
    pub wall: Duration,
    /// How long each answered call took.
    pub latencies: Vec<(CallKey, Duration)>,
    /// Requests that were sent, second ones included.
    pub calls: u64,
    /// What these requests and the made-up replies to them used.
    pub used: Tokens,
    /// The most that these requests could have used.
    pub reserved: Tokens,
    /// What of that was for second requests.
    pub raced: Tokens,
    /// Whether nothing is missing in its outcome.
    pub is_full: bool,
}

/// Begins to put an engine together that holds debates of every format.
pub fn engine(store: Arc<dyn EventStore>, models: impl Into<Models>, hedging: Hedging) -> EngineBuilder {
    let settings = Settings { hedging, ..Settings::default() };
    Engine::builder(store, models)
        .format(PredictionPrompts)
        .format(DeliberationPrompts)
        .format(RoundtablePrompts)
        .format(ReviewPrompts)
        .format(InvestigationPrompts)
        .settings(settings)
}

/// Opens a debate.
///
/// # Errors
/// The engine refuses it, or its store fails.
pub async fn open(engine: &Engine, request: AcceptedRequest) -> Result<DebateId, StartError> {
    match request {
        AcceptedRequest::Prediction(accepted) => start(engine, *accepted).await,
        AcceptedRequest::Deliberation(accepted) => start(engine, *accepted).await,
        AcceptedRequest::Roundtable(accepted) => start(engine, *accepted).await,
        AcceptedRequest::Review(accepted) => start(engine, *accepted).await,
        AcceptedRequest::Investigation(accepted) => start(engine, *accepted).await,
    }
}

async fn start<F: Format>(engine: &Engine, accepted: Accepted<F>) -> Result<DebateId, StartError> {
    let Accepted { config, brief, limits, digest, .. } = accepted;
    let author = Author { tenant: String::new(), actor: "rehearsal".to_owned(), trace: None };
    let start = Start::<F> { config, brief, limits, request_digest: digest, request_id: None, author };
    Ok(engine.start(start).await?.debate)
}

/// Waits for a debate's end and says what it took.
///
/// # Errors
/// It does not end within two hours of its own clock, or its log cannot be read.
pub async fn held(engine: &Engine, debate: DebateId) -> Result<Held, RehearsalError> {
    if !engine.concluded(debate, PATIENCE).await? {
        return Err(RehearsalError::Endless { debate });
    }
    Held::of(&engine.log(debate, None).await?)
}

impl Held {
    fn of(log: &[Envelope]) -> Result<Self, RehearsalError> {
        let ends = log.first().zip(log.last());
        let wall_ms = ends.map_or(0, |(first, last)| last.at.since_ms(first.at));
        let mut held = Self { wall: Duration::from_millis(wall_ms), ..Self::default() };
        for envelope in log {
            match envelope.kind.as_str() {
                CallStarted::KIND => {
                    let started: CallStarted = decode_body(envelope.version, &envelope.body, None)?;
                    held.calls += 1;
                    held.reserved = held.reserved.plus(started.reserved.tokens());
                    if started.cause == Cause::Hedge {
                        held.raced = held.raced.plus(started.reserved.tokens());
                    }
                }
                CallAnswered::KIND => {
                    let answered: CallAnswered = decode_body(envelope.version, &envelope.body, None)?;
                    let latency = Duration::from_millis(answered.reply.latency_ms);
                    let Usage { input, output, .. } = answered.reply.usage;
                    let (input, output) = (input.unwrap_or_default(), output.unwrap_or_default());
                    held.used = held.used.plus(Tokens { input, output });
                    held.latencies.push((answered.attempt.call, latency));
                }
                Concluded::KIND => {
                    let concluded: Concluded = decode_body(envelope.version, &envelope.body, None)?;
                    held.is_full = concluded.completeness == Completeness::Full;
                }
                _ => {}
            }
        }
        Ok(held)
    }
}

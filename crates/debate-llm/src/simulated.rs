//! A model that makes up its answers from a seed and the prompt, with settable latency, speed and faults.
//!
//! An answer's text depends on the seed and the messages alone, a fault also on how often the question failed
//! before. Neither depends on the order in which questions come, so a run that crashed and went on hears the same
//! answers as one that did not.
//!
//! Usage is reported, so that nothing downstream counts as unknown, but it is made up like the answers: a quarter of
//! the bytes. An answer is cut at its output limit by the same estimate.

mod config;
mod debater;
mod draw;
mod fault;

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep_until};

pub use self::config::{FaultRates, LatencyDist, SimulatedConfig, SimulatedConfigError};
pub use self::debater::{Debater, debater};
pub use self::draw::Draw;
use self::draw::PromptKey;
use self::fault::Fault;
use crate::call_time::FOREVER;
use crate::{
    ChatModel, ChatReply, ChatRequest, ChunkSink, Ending, ModelError, ModelErrorKind, TimeoutStage, Usage,
    speech,
};

/// How many bytes a piece of the stream has when no token rate is set.
const CHUNK_BYTES: usize = 128;

/// How many pieces are streamed in a second when a token rate is set.
const CHUNKS_PER_SECOND: f64 = 25.0;

/// What a simulated model has in its head: reads a request, makes up the answer.
pub trait Mind: Send + Sync {
    /// Returns the answer's text; the same request, draw and flaws give the same text on any machine.
    fn reply(&self, request: &ChatRequest, draw: &mut Draw, flaws: &Flaws) -> String;

    /// Returns the role that the request asks it to play, if it can tell; a role can be set to be absent.
    fn role<'a>(&self, request: &'a ChatRequest) -> Option<&'a str> {
        let _ = request;
        None
    }
}

impl<F: Fn(&ChatRequest, &mut Draw, &Flaws) -> String + Send + Sync> Mind for F {
    fn reply(&self, request: &ChatRequest, draw: &mut Draw, flaws: &Flaws) -> String {
        self(request, draw, flaws)
    }
}

/// The faults that an answer shall show in what it says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flaws {
    /// An argument so weak that its composite score is below 0.2 (P6).
    pub weak_argument: bool,
    /// Fewer precedents than asked for (P12).
    pub missing_precedents: bool,
    /// No point of an earlier round is cited (P11).
    pub missing_citation: bool,
    /// An outcome is named that the question does not list (P7).
    pub unknown_outcome: bool,
}

/// A deterministic model around a [`Mind`].
#[derive(Debug)]
pub struct SimulatedModel<M> {
    name: String,
    config: SimulatedConfig,
    mind: M,
}

impl<M: Mind> SimulatedModel<M> {
    /// Makes a model that thinks with `mind`.
    pub fn new(config: SimulatedConfig, mind: M) -> Self {
        Self { name: config.to_string(), config, mind }
    }

    /// Returns what the answer to `request` says, faults of the wire and of the form aside.
    fn text(&self, request: &ChatRequest, key: PromptKey) -> String {
        let rates = &self.config.faults;
        let shows = |label, rate| rate > 0.0 && key.draw(label, 0).chance(rate);
        let flaws = Flaws {
            weak_argument: shows("weak_argument", rates.weak_argument),
            missing_precedents: shows("missing_precedents", rates.missing_precedents),
            missing_citation: shows("missing_citation", rates.missing_citation),
            unknown_outcome: shows("unknown_outcome", rates.unknown_outcome),
        };
        self.mind.reply(request, &mut key.draw("reply", 0), &flaws)
    }

    fn is_absent(&self, request: &ChatRequest) -> bool {
        let absent = &self.config.faults.absent_roles;
        !absent.is_empty()
            && self.mind.role(request).is_some_and(|role| absent.iter().any(|name| name == role))
    }
}

#[async_trait]
impl<M: Mind> ChatModel for SimulatedModel<M> {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_simulated(&self) -> bool {
        true
    }

    async fn complete(
        &self,
        request: &ChatRequest,
        chunks: &mut dyn ChunkSink,
    ) -> Result<ChatReply, ModelError> {
        let key = PromptKey::of(self.config.seed, request);
        let latency = self
            .config
            .latency
            .draw(&mut key.draw("latency", request.attempt.wrapping_add(request.race << 16)));
        let total = request.time.total.unwrap_or(FOREVER);
        let mut clock = Clock::start(latency, total.min(request.time.first_token));
        let fault = if self.is_absent(request) {
            Some(Fault::Refused)
        } else {
            Fault::draw(&self.config.faults, &mut key.draw("fault", request.attempt))
        };
        if let Some(error) = fault.and_then(Fault::before_the_answer) {
            let is_timeout = matches!(error.kind, ModelErrorKind::Timeout(_));
            clock.wait(if is_timeout { clock.timeout } else { latency }).await?;
            return Err(error);
        }
        clock.wait(latency).await?;
        clock.timeout = total;
        let prompt_bytes = request.messages.iter().map(|message| message.content.len()).sum();
        let (text, ending) = fault::spoil(fault, self.text(request, key), &mut key.draw("spoil", 0));
        let (text, ending) = limit(text, ending, request.max_output_tokens);
        let first_byte = clock.elapsed();
        clock.speak(&text, self.config.tokens_per_second, chunks).await?;
        let usage = Usage {
            input: Some(speech::tokens_in(prompt_bytes)),
            output: Some(speech::tokens_in(text.len())),
            cached: Some(0),
            cache_written: None,
            reasoning: None,
        };
        let ending = match ending {
            fault::Ending::Finished(ending) => ending,
            fault::Ending::Broken(error) => return Err(ModelError { usage: Box::new(usage), ..error }),
        };
        Ok(ChatReply {
            usage,
            ending,
            latency: clock.elapsed(),
            first_byte: Some(first_byte),
            ..ChatReply::new(&self.name, text)
        })
    }
}

/// Cuts an answer at its output limit, as a provider does.
fn limit(mut text: String, ending: fault::Ending, tokens_max: u32) -> (String, fault::Ending) {
    let bytes_max = (tokens_max as usize).saturating_mul(speech::BYTES_PER_TOKEN);
    if text.len() <= bytes_max {
        return (text, ending);
    }
    text.truncate(speech::beginning(&text, bytes_max).len());
    (text, fault::Ending::Finished(Ending::CutInText))
}

/// The time that a simulated call takes; at zero latency none passes and no timer is made.
struct Clock {
    started: Option<Instant>,
    timeout: Duration,
    due: Duration,
}

impl Clock {
    fn start(latency: Duration, timeout: Duration) -> Self {
        let started = (!latency.is_zero()).then(Instant::now);
        Self { started, timeout, due: Duration::ZERO }
    }

    fn elapsed(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |started| started.elapsed())
    }

    /// Lets `more` pass, but not more than the request's time.
    async fn wait(&mut self, more: Duration) -> Result<(), ModelError> {
        let Some(started) = self.started else {
            tokio::task::yield_now().await;
            return Ok(());
        };
        self.due = self.due.saturating_add(more);
        sleep_until(started + self.due.min(self.timeout)).await;
        if self.due > self.timeout {
            let kind = ModelErrorKind::Timeout(TimeoutStage::Total);
            return Err(ModelError::new(kind, "no answer in time"));
        }
        Ok(())
    }

    /// Streams `text` at the token rate.
    async fn speak(
        &mut self,
        text: &str,
        tokens_per_second: Option<f64>,
        chunks: &mut dyn ChunkSink,
    ) -> Result<(), ModelError> {
        let Some(rate) = tokens_per_second else {
            speech::say(text, CHUNK_BYTES, chunks);
            return Ok(());
        };
        self.started.get_or_insert_with(Instant::now);
        let tokens = (rate / CHUNKS_PER_SECOND).ceil().max(1.0);
        for piece in speech::pieces(text, tokens as usize * speech::BYTES_PER_TOKEN) {
            let seconds = speech::tokens_in(piece.len()) as f64 / rate;
            self.wait(Duration::from_secs_f64(seconds))
                .await
                .map_err(|error| ModelError { received_any: true, ..error })?;
            chunks.push(piece);
        }
        Ok(())
    }
}

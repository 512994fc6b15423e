//! How long calls take: by a distribution, or as logs recorded it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use debate_core::call::{CallKey, Cause};
use debate_core::envelope::Envelope;
use debate_core::event::{AttemptRef, CallAnswered, CallStarted};
use debate_core::formats::prediction::call::Call;
use debate_core::record::{Body, RecordError, decode_body};
use debate_llm::simulated::Draw;
use debate_llm::{ChatRequest, ReplySchema};

/// The longest latency that is drawn.
const LATENCY_MAX: Duration = Duration::from_secs(3_600);

/// What a call is for, as far as its latency depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// A role argues.
    Argue,
    /// An argument is scored.
    Score,
    /// The judge sums up.
    Synthesise,
    /// Somebody contributes to a deliberation, a roundtable or an investigation.
    Speak,
}

impl Purpose {
    fn of_call(call: &CallKey) -> Self {
        match Call::of(call) {
            Some(Call::Argue { .. }) => Self::Argue,
            Some(Call::Score { .. }) => Self::Score,
            Some(Call::Synthesise { .. }) => Self::Synthesise,
            None => Self::Speak,
        }
    }

    /// Returns what a request is for, by the name of the shape that its answer must have.
    pub(crate) fn of_request(request: &ChatRequest) -> Self {
        match request.schema.as_ref().map(ReplySchema::name) {
            Some("scores") => Self::Score,
            Some("synthesis") => Self::Synthesise,
            Some("response") | None => Self::Speak,
            Some(_) => Self::Argue,
        }
    }
}

/// How long calls take.
#[derive(Debug, Clone, PartialEq)]
pub enum Latencies {
    /// Log-normal: median · exp(sigma · z), z standard normal; all calls alike.
    LogNormal {
        /// The median.
        median: Duration,
        /// The standard deviation of the logarithm; 0 makes all calls take the median.
        sigma: f64,
    },
    /// Those of a log, drawn with replacement.
    Recorded(Recorded),
}

impl Latencies {
    /// Returns the latency of one call.
    pub(crate) fn draw(&self, model: &str, purpose: Purpose, draw: &mut Draw) -> Duration {
        match self {
            Self::LogNormal { median, sigma } => {
                let seconds = median.as_secs_f64() * libm::exp(sigma * draw.normal());
                Duration::try_from_secs_f64(seconds).unwrap_or(LATENCY_MAX).min(LATENCY_MAX)
            }
            Self::Recorded(recorded) => {
                draw.pick(recorded.like(model, purpose)).copied().unwrap_or_default().min(LATENCY_MAX)
            }
        }
    }
}

/// The latencies of answered calls in logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    by_model: BTreeMap<(String, Purpose), Vec<Duration>>,
    by_purpose: BTreeMap<Purpose, Vec<Duration>>,
    all: Vec<Duration>,
    races: usize,
}

impl Recorded {
    /// Adds the answered calls of a log; returns how many of them took any time.
    ///
    /// # Errors
    /// An event of a call cannot be read.
    pub fn add(&mut self, log: &[Envelope]) -> Result<usize, RecordError> {
        let mut asked: Vec<CallStarted> = Vec::new();
        let mut timed = 0;
        for envelope in log {
            let (version, body) = (envelope.version, envelope.body.as_str());
            match envelope.kind.as_str() {
                CallStarted::KIND => {
                    let started: CallStarted = decode_body(version, body, None)?;
                    self.races += usize::from(started.cause == Cause::Hedge);
                    asked.push(started);
                }
                CallAnswered::KIND => {
                    let answered: CallAnswered = decode_body(version, body, None)?;
                    let question = asked.iter().find(|started| is_same(started, &answered.attempt));
                    let model = question.map_or("", |started| started.model.as_str());
                    let latency = Duration::from_millis(answered.reply.latency_ms);
                    timed += usize::from(!latency.is_zero());
                    self.push(model, Purpose::of_call(&answered.attempt.call), latency);
                }
                _ => {}
            }
        }
        Ok(timed)
    }

    fn push(&mut self, model: &str, purpose: Purpose, latency: Duration) {
        self.by_model.entry((model.to_owned(), purpose)).or_default().push(latency);
        self.by_purpose.entry(purpose).or_default().push(latency);
        self.all.push(latency);
    }

    /// Returns the latencies of the same model for the same purpose; where there are none those of any model for the
    /// purpose, and where there are none either all.
    fn like(&self, model: &str, purpose: Purpose) -> &[Duration] {
        let own = self.by_model.get(&(model.to_owned(), purpose));
        own.or_else(|| self.by_purpose.get(&purpose)).unwrap_or(&self.all)
    }

    /// Returns how many answered calls there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns how many second requests there were: where they won, what the log shows is shorter than one call is.
    #[must_use]
    pub fn races(&self) -> usize {
        self.races
    }

    /// Returns the models that answered, by name.
    pub fn models(&self) -> BTreeSet<&str> {
        self.by_model.keys().map(|(model, _)| model.as_str()).collect()
    }

    /// Returns the median of all; zero where there are none.
    #[must_use]
    pub fn median(&self) -> Duration {
        let mut sorted = self.all.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len() / 2).copied().unwrap_or_default()
    }
}

fn is_same(started: &CallStarted, answered: &AttemptRef) -> bool {
    (&started.call, started.revision, started.attempt, started.turn)
        == (&answered.call, answered.revision, answered.attempt, answered.turn)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    #[test]
    fn a_call_takes_what_its_own_model_took_for_the_same_purpose_before_what_others_took() {
        let mut recorded = Recorded::default();
        recorded.push("a:1", Purpose::Argue, MS(10));
        recorded.push("b:1", Purpose::Argue, MS(20));
        recorded.push("b:1", Purpose::Score, MS(30));
        assert_eq!(recorded.like("a:1", Purpose::Argue), [MS(10)]);
        assert_eq!(recorded.like("a:1", Purpose::Score), [MS(30)]);
        assert_eq!(recorded.like("c:1", Purpose::Argue), [MS(10), MS(20)]);
        assert_eq!(recorded.like("a:1", Purpose::Synthesise), [MS(10), MS(20), MS(30)]);
        assert_eq!(recorded.models().into_iter().collect::<Vec<_>>(), ["a:1", "b:1"]);
        assert_eq!((recorded.count(), recorded.median()), (3, MS(20)));
    }

    #[test]
    fn a_log_normal_latency_has_its_median_and_the_same_seed_draws_the_same() {
        let latencies = Latencies::LogNormal { median: MS(5_000), sigma: 0.5 };
        let drawn = |seed| {
            let mut draw = Draw::new(seed);
            let mut drawn: Vec<Duration> =
                (0..4_001).map(|_| latencies.draw("m", Purpose::Argue, &mut draw)).collect();
            drawn.sort_unstable();
            drawn
        };
        let median = drawn(3)[2_000];
        assert!(median.abs_diff(MS(5_000)) < MS(150), "{median:?}");
        assert_eq!(drawn(3), drawn(3));
        assert_ne!(drawn(3), drawn(4));
    }

    #[test]
    fn a_latency_is_never_beyond_measure() {
        let endless = Latencies::LogNormal { median: Duration::MAX, sigma: 3.0 };
        assert_eq!(endless.draw("m", Purpose::Score, &mut Draw::new(1)), LATENCY_MAX);
    }
}

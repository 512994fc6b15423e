//! Three small questions to a real model, timed.

use std::time::{Duration, Instant};

use debate_core::limits::DEADLINE_MS_DEFAULT;
use debate_engine::Settings;
use debate_llm::{
    ChatReply, ChatRequest, Message, ModelError, ModelErrorKind, Provider, ReplySchema, TimeoutStage,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::models::Ready;
use super::{Check, Verdict};
use crate::page::span;

/// How many questions there are.
pub(super) const COUNT: usize = QUESTIONS.len();

/// The most tokens of all answers, and a few for the questions.
pub(super) const TOKENS_MAX: u32 = COUNT as u32 * (OUTPUT_TOKENS_MAX + 100);

/// The most tokens of one answer: enough for models that think before they speak.
const OUTPUT_TOKENS_MAX: u32 = 1_000;

/// About what an argument has, its JSON included.
const ARGUMENT_TOKENS: f64 = 400.0;

/// The shortest time between first and last word from which a speed is told.
const STREAM_MIN: Duration = Duration::from_millis(20);

const ESTIMATE: &str = "debate";

/// What is asked: the first opens the connection, the second shows the speed, the third must answer in JSON.
const QUESTIONS: [&str; 3] = [
    "Answer with the one word: ready",
    "Explain in about eighty words why sea ice reflects sunlight and open water does not.",
    "Name one port in Europe and the sea that it lies at.",
];

/// The place of the question whose answer has a shape.
const SHAPED: usize = 2;

/// The fields of that shape.
const FIELDS: [&str; 2] = ["port", "sea"];

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    reply: ChatReply,
    /// Until the answer was whole, by the clock that timed its first words.
    latency: Duration,
    /// Until the first words of the answer.
    first_words: Option<Duration>,
    /// Pieces in which the answer came.
    pieces: u32,
    /// Whether it has the shape that was asked for, where one was.
    is_shaped: Option<bool>,
}

/// Asks one of the questions.
pub(super) async fn ask(ready: &Ready, nth: usize) -> (Check, Result<Measured, ModelError>) {
    let name = format!("call {}", nth + 1);
    let began = Instant::now();
    let (mut first_words, mut pieces) = (None, 0);
    let mut hear = |_: &str| {
        first_words.get_or_insert_with(|| began.elapsed());
        pieces += 1;
    };
    match ready.model.complete(&request(nth), &mut hear).await {
        Ok(reply) => {
            let is_shaped = (nth == SHAPED).then(|| has_shape(&reply.text));
            let measured = Measured { reply, latency: began.elapsed(), first_words, pieces, is_shaped };
            (measured.check(&name), Ok(measured))
        }
        Err(error) => (failed(&name, ready.provider, &error), Err(error)),
    }
}

fn request(nth: usize) -> ChatRequest {
    let timeout = Settings::default().call_time;
    let question = QUESTIONS.get(nth).copied().unwrap_or_default();
    let request = ChatRequest::new(vec![Message::user(question)], OUTPUT_TOKENS_MAX, timeout);
    let schema = || {
        let fields = FIELDS.map(|field| (field.to_owned(), json!({"type": "string"})));
        json!({
            "type": "object",
            "properties": serde_json::Map::from_iter(fields),
            "required": FIELDS,
            "additionalProperties": false,
        })
    };
    let schema = (nth == SHAPED).then(|| ReplySchema::new("place", schema()));
    ChatRequest { schema, waits_for_server: false, ..request }
}

fn has_shape(text: &str) -> bool {
    let read: Option<Value> = serde_json::from_str(text).ok();
    read.is_some_and(|value| FIELDS.iter().all(|field| value[*field].is_string()))
}

impl Measured {
    /// Returns the tokens of the answer, thoughts left out.
    fn written(&self) -> Option<u64> {
        let usage = &self.reply.usage;
        Some(usage.output?.saturating_sub(usage.reasoning.unwrap_or(0)))
    }

    /// Returns how fast the answer was written, where it came in pieces and over some time.
    fn tokens_per_second(&self) -> Option<f64> {
        let writing = self.latency.checked_sub(self.first_words?)?;
        let told = self.pieces > 1 && writing >= STREAM_MIN;
        told.then_some(self.written()? as f64 / writing.as_secs_f64())
    }

    fn check(&self, name: &str) -> Check {
        let reply = &self.reply;
        let mut parts = vec![span(ms(self.latency))];
        parts.extend(self.first_words.map(|time| format!("first words after {}", span(ms(time)))));
        parts.extend(self.tokens_per_second().map(|speed| format!("{speed:.0} tokens/s")));
        let told = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        parts.push(format!("{} tokens read, {} written", told(reply.usage.input), told(reply.usage.output)));
        parts.extend(reply.http_version.clone());
        parts.extend(reply.request_id.as_ref().map(|id| format!("request {id}")));
        parts.extend((reply.wire_retries > 0).then(|| format!("sent {} times", reply.wire_retries + 1)));
        parts.extend(self.is_shaped.filter(|is_it| *is_it).map(|_| "JSON as asked for".to_owned()));
        let (text, remedy) = (parts.join(", "), self.remedy());
        let check = Check::new(name, if remedy.is_some() { Verdict::Warn } else { Verdict::Ok }, text);
        Check { remedy: remedy.map(str::to_owned), ..check }
    }

    /// Returns what is to be known about an answer that is not as it should be.
    fn remedy(&self) -> Option<&'static str> {
        if self.reply.ending.is_cut() {
            return Some("the answer was cut: the model thinks long; debates may need a faster one");
        }
        if self.is_shaped == Some(false) {
            return Some(
                "the answer has not the shape asked for; debates mend or repeat such replies at a cost",
            );
        }
        if self.reply.text.trim().is_empty() {
            return Some("the answer is empty");
        }
        None
    }

    /// Returns what `--json` shows.
    pub(super) fn json(&self) -> Value {
        let reply = &self.reply;
        json!({
            "latency_ms": ms(self.latency),
            "first_words_ms": self.first_words.map(ms),
            "tokens_per_second": self.tokens_per_second(),
            "usage": {
                "input": reply.usage.input,
                "output": reply.usage.output,
                "cached": reply.usage.cached,
                "reasoning": reply.usage.reasoning,
            },
            "model": reply.model,
            "request_id": reply.request_id,
            "http_version": reply.http_version,
            "pieces": self.pieces,
            "wire_retries": reply.wire_retries,
            "is_shaped": self.is_shaped,
        })
    }
}

fn failed(name: &str, provider: Provider, error: &ModelError) -> Check {
    Check::new(name, Verdict::Fail, error.to_string()).remedy(remedy(provider, &error.kind))
}

/// Returns what a person can do about a failure.
fn remedy(provider: Provider, kind: &ModelErrorKind) -> String {
    let (address, key) = (provider.base_url_variable(), provider.key_variable());
    match kind {
        ModelErrorKind::Auth => format!("set {key} to a key that may use this model"),
        ModelErrorKind::UnknownModel => format!("check the model's name, and {address}"),
        ModelErrorKind::QuotaExhausted => "add credit to the account or raise its limit".to_owned(),
        ModelErrorKind::RateLimited { .. } => {
            format!("wait, and keep below the account's limits with --provider-limits {provider}:…")
        }
        ModelErrorKind::Overloaded { .. }
        | ModelErrorKind::Server { .. }
        | ModelErrorKind::StreamError
        | ModelErrorKind::CircuitOpen { .. } => "the provider is in trouble; try again later".to_owned(),
        ModelErrorKind::Timeout(TimeoutStage::Turn) => {
            format!("the limits in --provider-limits {provider}:… are too low")
        }
        ModelErrorKind::Connection | ModelErrorKind::Timeout(TimeoutStage::Connect) => {
            format!("check {address}, that the server runs, and the network")
        }
        ModelErrorKind::Timeout(TimeoutStage::FirstByte | TimeoutStage::Idle | TimeoutStage::Total) => {
            "the model is too slow for debates; choose another".to_owned()
        }
        ModelErrorKind::BadRequest => "check that this is a model for chats".to_owned(),
        ModelErrorKind::WindowExceeded { .. } => "give the server a larger context window".to_owned(),
        ModelErrorKind::Malformed | ModelErrorKind::TooLarge | ModelErrorKind::Truncated => {
            format!("this is not how {provider} answers: check {address}, and for a proxy in between")
        }
        ModelErrorKind::Refused => "the model declines harmless questions; choose another".to_owned(),
        ModelErrorKind::Cancelled => "try again".to_owned(),
    }
}

/// What a debate would take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Estimate {
    /// One call, in seconds.
    call_s: f64,
    /// Whether that was reckoned from the speed of writing, else it is the median of the small calls.
    from_speed: bool,
    /// Six calls in a row, as under the pipelined schedule, in seconds.
    six_calls_s: f64,
    /// Eight calls in a row, as under the strict schedule, in seconds.
    eight_calls_s: f64,
}

/// Reckons what a debate would take; nothing where no call was answered.
pub(super) fn estimate(measured: &[Measured]) -> Option<Estimate> {
    let mut latencies: Vec<Duration> = measured.iter().map(|call| call.latency).collect();
    latencies.sort_unstable();
    let median = latencies.get(latencies.len() / 2)?.as_secs_f64();
    let speeds = measured.iter().filter_map(|call| Some((call.written()?, call)));
    // The longest answer tells the speed best.
    let longest = speeds.max_by_key(|(written, _)| *written).map(|(_, call)| call);
    let spoken = longest.and_then(|call| Some((call.first_words?.as_secs_f64(), call.tokens_per_second()?)));
    let by_speed = spoken.filter(|(_, speed)| *speed > 0.0);
    let call_s = by_speed.map_or(median, |(first, speed)| first + ARGUMENT_TOKENS / speed);
    let from_speed = by_speed.is_some();
    Some(Estimate { call_s, from_speed, six_calls_s: 6.0 * call_s, eight_calls_s: 8.0 * call_s })
}

impl Estimate {
    /// Returns the line about it.
    pub(super) fn check(&self) -> Check {
        let time = |seconds: f64| span((seconds * 1e3) as u64);
        let reckoned = if self.from_speed {
            format!("for {ARGUMENT_TOKENS} tokens")
        } else {
            "as measured; real ones are longer".to_owned()
        };
        let text = format!(
            "at {} a call ({reckoned}) a debate takes {} pipelined (6 calls in a row), {} strict (8)",
            time(self.call_s),
            time(self.six_calls_s),
            time(self.eight_calls_s)
        );
        let deadline_s = DEADLINE_MS_DEFAULT as f64 / 1e3;
        if self.six_calls_s > deadline_s {
            let remedy = format!("its deadline is {deadline_s} s: choose a faster model or fewer rounds");
            return Check::new(ESTIMATE, Verdict::Warn, text).remedy(remedy);
        }
        let median_ms = (self.call_s * 1e3).round().max(1.0);
        Check::new(ESTIMATE, Verdict::Ok, text)
            .remedy(format!("see debate bench latency --median {median_ms}ms"))
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use debate_llm::Usage;

    use super::*;

    fn measured(latency_ms: u64, first_ms: u64, output: u64, pieces: u32) -> Measured {
        let usage = Usage { input: Some(10), output: Some(output), reasoning: Some(0), ..Usage::default() };
        let latency = Duration::from_millis(latency_ms);
        let reply = ChatReply { usage, ..ChatReply::new("m", "text") };
        let first_words = Some(Duration::from_millis(first_ms));
        Measured { reply, latency, first_words, pieces, is_shaped: None }
    }

    #[test]
    fn a_debate_is_reckoned_from_the_speed_of_the_longest_answer() {
        let all = [measured(600, 500, 1, 1), measured(1_500, 500, 100, 40), measured(700, 500, 20, 9)];
        let estimate = estimate(&all).unwrap();
        assert_eq!((estimate.call_s, estimate.from_speed), (4.5, true));
        assert_eq!((estimate.six_calls_s, estimate.eight_calls_s), (27.0, 36.0));
        assert!(estimate.check().line().contains("--median 4500ms"), "{}", estimate.check().line());
    }

    #[test]
    fn without_a_speed_the_median_of_the_calls_counts_and_without_calls_nothing() {
        let whole = [measured(600, 599, 1, 1), measured(900, 899, 100, 1), measured(700, 699, 20, 1)];
        let reckoned = estimate(&whole).unwrap();
        assert_eq!((reckoned.call_s, reckoned.from_speed), (0.7, false));
        assert_eq!(estimate(&[]), None);
        let slow = estimate(&[measured(20_000, 19_999, 1, 1)]).unwrap().check();
        assert_eq!(slow.verdict, Verdict::Warn);
        assert!(slow.line().contains("its deadline is 110 s"), "{}", slow.line());
    }

    #[test]
    fn thoughts_do_not_count_as_speed() {
        let mut call = measured(1_500, 500, 100, 40);
        call.reply.usage.reasoning = Some(60);
        assert_eq!(call.tokens_per_second(), Some(40.0));
    }
}

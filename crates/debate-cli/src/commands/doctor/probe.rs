//! What a real model is asked, timed: one small question, then five opening arguments at once, as a debate asks them.

use std::time::{Duration, Instant};

use debate_engine::thinking;
use debate_llm::{
    CallTime, ChatReply, ChatRequest, Ending, Message, ModelError, ModelErrorKind, Provider, TimeoutStage,
};
use futures::future::join_all;
use serde_json::{Value, json};

use super::models::Ready;
use super::openings::Opening;
use super::{Check, Verdict};
use crate::page::span;

/// The small question: it opens the connection and shows whether the model can be asked at all.
const HELLO: &str = "Answer with the one word: ready";

/// The most tokens of the visible answer to it.
const HELLO_TOKENS_MAX: u32 = 100;

/// The shortest time between first and last text from which a speed follows.
const STREAM_MIN: Duration = Duration::from_millis(20);

/// One answer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Measured {
    pub(super) reply: ChatReply,
    /// Until the answer was whole, by the clock that timed its first text.
    pub(super) latency: Duration,
    /// Until the first text of the answer.
    pub(super) first_words: Option<Duration>,
    /// Pieces in which the answer came.
    pieces: u32,
    /// Whether a debate could read the answer, where it is one to an opening.
    pub(super) is_read: Option<bool>,
}

/// Asks the small question.
pub(super) async fn hello(ready: &Ready, time: CallTime) -> (Check, Result<Measured, ModelError>) {
    let request = ChatRequest {
        thinking_tokens: thinking::ROOM_DEFAULT,
        waits_for_server: false,
        ..ChatRequest::new(vec![Message::user(HELLO)], HELLO_TOKENS_MAX, time)
    };
    let answered = ask(ready, &request).await;
    (checked("call 1", ready.provider, &answered), answered)
}

/// Asks for all openings at once.
pub(super) async fn at_once(
    ready: &Ready,
    openings: &[Opening],
    time: CallTime,
) -> Vec<(Check, Result<Measured, ModelError>)> {
    let one = async |(place, opening): (usize, &Opening)| {
        let answered = ask(ready, &opening.request(time)).await.map(|measured| {
            let is_read = Some(opening.is_read(&measured.reply.text));
            Measured { is_read, ..measured }
        });
        (checked(&format!("call {}", place + 2), ready.provider, &answered), answered)
    };
    join_all(openings.iter().enumerate().map(one)).await
}

/// Returns the most tokens of all questions and their visible answers.
pub(super) fn tokens_max(openings: &[Opening]) -> u32 {
    openings.iter().map(Opening::tokens_max).sum::<u32>() + 2 * HELLO_TOKENS_MAX
}

async fn ask(ready: &Ready, request: &ChatRequest) -> Result<Measured, ModelError> {
    let began = Instant::now();
    let (mut first_words, mut pieces) = (None, 0);
    let mut hear = |_: &str| {
        first_words.get_or_insert_with(|| began.elapsed());
        pieces += 1;
    };
    let reply = ready.model.complete(request, &mut hear).await?;
    Ok(Measured { reply, latency: began.elapsed(), first_words, pieces, is_read: None })
}

fn checked(name: &str, provider: Provider, answered: &Result<Measured, ModelError>) -> Check {
    match answered {
        Ok(measured) => measured.check(name),
        Err(error) => {
            Check::new(name, Verdict::Fail, error.to_string()).remedy(remedy(provider, &error.kind))
        }
    }
}

impl Measured {
    /// Returns the tokens of thoughts, as far as they are counted; nothing where there is no sign of any.
    pub(super) fn thought(&self) -> Option<u64> {
        let counted = self.reply.usage.reasoning.unwrap_or(0);
        let is_shown = self.reply.reasoning.as_ref().is_some_and(|text| !text.trim().is_empty());
        let thinks = counted > 0 || is_shown || self.reply.ending == Ending::CutInThinking;
        thinks.then_some(counted)
    }

    /// Returns the tokens of the answer, thoughts left out.
    fn written(&self) -> Option<u64> {
        let usage = &self.reply.usage;
        Some(usage.output?.saturating_sub(usage.reasoning.unwrap_or(0)))
    }

    /// Returns how fast the answer was written, where it came in pieces and over some time.
    pub(super) fn tokens_per_second(&self) -> Option<f64> {
        let writing = self.latency.checked_sub(self.first_words?)?;
        let is_measurable = self.pieces > 1 && writing >= STREAM_MIN;
        is_measurable.then_some(self.written()? as f64 / writing.as_secs_f64())
    }

    fn check(&self, name: &str) -> Check {
        let reply = &self.reply;
        let mut parts = vec![span(ms(self.latency))];
        parts.extend(self.first_words.map(|time| format!("first words after {}", span(ms(time)))));
        parts.extend(self.tokens_per_second().map(|speed| format!("{speed:.0} tokens/s")));
        let number = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
        parts.push(format!(
            "{} tokens read, {} written",
            number(reply.usage.input),
            number(reply.usage.output)
        ));
        parts.extend(reply.http_version.clone());
        parts.extend(reply.request_id.as_ref().map(|id| format!("request {id}")));
        parts.extend((reply.wire_retries > 0).then(|| format!("sent {} times", reply.wire_retries + 1)));
        parts.extend(
            self.thought().filter(|count| *count > 0).map(|count| format!("{count} of them thoughts")),
        );
        parts.extend(self.is_read.filter(|is_it| *is_it).map(|_| "read as an argument".to_owned()));
        let (text, remedy) = (parts.join(", "), self.remedy());
        let check = Check::new(name, if remedy.is_some() { Verdict::Warn } else { Verdict::Ok }, text);
        Check { remedy: remedy.map(str::to_owned), ..check }
    }

    /// Returns what is to be known about an answer that is not as it should be.
    fn remedy(&self) -> Option<&'static str> {
        match self.reply.ending {
            Ending::CutInThinking => return Some("the answer was cut: thinking used up its limit of tokens"),
            Ending::CutInText => return Some("the answer was cut at its limit of tokens"),
            Ending::Complete
            | Ending::ToolCalls
            | Ending::Refused
            | Ending::Paused
            | Ending::Failed
            | Ending::Unknown => {}
        }
        if self.is_read == Some(false) {
            return Some("a debate cannot read this answer and would ask again");
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
            "ended": reply.ending.as_str(),
            "is_read": self.is_read,
        })
    }
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
            "the model is slow; wait longer with --first-token-timeout, --idle-timeout or --call-timeout"
                .to_owned()
        }
        ModelErrorKind::BadRequest => "check that this is a model for chats".to_owned(),
        ModelErrorKind::WindowExceeded { window } => {
            let window = window.map_or_else(|| "TOKENS".to_owned(), |window| window.to_string());
            format!(
                "give the server a larger context window, or have prompts fit with --context-window {window}"
            )
        }
        ModelErrorKind::Malformed | ModelErrorKind::TooLarge | ModelErrorKind::Truncated => {
            format!("this is not how {provider} answers: check {address}, and for a proxy in between")
        }
        ModelErrorKind::Refused => "the model declines harmless questions; choose another".to_owned(),
        ModelErrorKind::Cancelled => "try again".to_owned(),
    }
}

pub(super) fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use debate_llm::Usage;

    use super::*;

    pub(in super::super) fn measured(latency_ms: u64, first_ms: u64, output: u64, pieces: u32) -> Measured {
        let usage = Usage { input: Some(10), output: Some(output), reasoning: Some(0), ..Usage::default() };
        let latency = Duration::from_millis(latency_ms);
        let reply = ChatReply { usage, ..ChatReply::new("m", "text") };
        let first_words = Some(Duration::from_millis(first_ms));
        Measured { reply, latency, first_words, pieces, is_read: Some(true) }
    }

    #[test]
    fn thoughts_do_not_count_as_speed() {
        let mut call = measured(1_500, 500, 100, 40);
        call.reply.usage.reasoning = Some(60);
        assert_eq!(call.tokens_per_second(), Some(40.0));
    }
}

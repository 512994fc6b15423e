//! A watch as it goes over the wire: events, live text, heartbeats, and an end that says why (rule K10).

use std::time::Duration;

use debate_core::envelope::Envelope;
use debate_core::event::{
    AnswerRejected, AttemptAbandoned, AttemptFailed, AttemptRef, CallAnswered, CallStarted, CallVoided,
    ToolAnswered, ToolStarted, TurnAnswered,
};
use debate_core::id::Seq;
use debate_core::record::Body as _;
use debate_engine::{WatchError, Watched};
use debate_proto::v1;
use futures::stream::BoxStream;
use futures::{StreamExt as _, future};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use v1::watch_debate_response::Item;

use crate::bounded::Bounded;
use crate::to_proto;
use crate::unread::Reached;

/// The longest silence while events pass that the client does not want.
const SILENCE_MAX: Duration = Duration::from_secs(10);

/// Events of the calls behind a debate, which are not its course.
const CALL_KINDS: [&str; 9] = [
    CallStarted::KIND,
    TurnAnswered::KIND,
    ToolStarted::KIND,
    ToolAnswered::KIND,
    CallAnswered::KIND,
    AttemptFailed::KIND,
    AttemptAbandoned::KIND,
    AnswerRejected::KIND,
    CallVoided::KIND,
];

/// What a client wants to see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Whether the events of calls are wanted too.
    pub(crate) calls: bool,
    /// Whether live text is wanted.
    pub(crate) tokens: bool,
    /// When the client stops waiting.
    pub(crate) deadline: Option<Instant>,
}

/// What a client has been sent so far.
struct Following {
    wanted: Wanted,
    reached: Reached,
    sent_at: Instant,
}

/// Turns what the engine shows into what goes over the wire, and notes how far that has come.
pub(crate) fn follow(
    watched: BoxStream<'static, Result<Watched, WatchError>>,
    wanted: Wanted,
    reached: Reached,
    closing: &CancellationToken,
) -> BoxStream<'static, Result<v1::WatchDebateResponse, Status>> {
    let mut following = Following { wanted, reached, sent_at: Instant::now() };
    let items = watched.filter_map(move |watched| {
        future::ready(match watched {
            Ok(watched) => following.pass_on(&watched).map(Ok),
            Err(error) => Some(Err(error)),
        })
    });
    Bounded::new(items, closing, wanted.deadline)
        .map(|item| item.map(|item| v1::WatchDebateResponse { item: Some(item) }).map_err(Status::from))
        .boxed()
}

impl Following {
    fn pass_on(&mut self, watched: &Watched) -> Option<Item> {
        if let Watched::Event(envelope) = watched {
            self.reached.note(envelope.seq.0);
        }
        let item = self.item(watched)?;
        self.sent_at = Instant::now();
        Some(item)
    }

    fn item(&self, watched: &Watched) -> Option<Item> {
        match watched {
            Watched::Event(envelope) => self.event(envelope),
            Watched::Chunk(chunk) => Some(Item::Chunk(to_proto::chunk(chunk))),
            Watched::Heartbeat(seq) => Some(heartbeat(*seq)),
        }
    }

    fn event(&self, envelope: &Envelope) -> Option<Item> {
        if is_wanted(&envelope.kind, self.wanted.calls) {
            return Some(Item::Event(to_proto::event(envelope)));
        }
        if self.wanted.tokens
            && let Some(attempt) = dropped(envelope)
        {
            return Some(Item::AttemptDropped(to_proto::attempt_dropped(&attempt)));
        }
        (self.sent_at.elapsed() >= SILENCE_MAX).then(|| heartbeat(envelope.seq))
    }
}

/// Returns whether a client wants events of a kind, who may want those of calls too.
pub(crate) fn is_wanted(kind: &str, calls: bool) -> bool {
    calls || !CALL_KINDS.contains(&kind)
}

fn heartbeat(seq: Seq) -> Item {
    Item::Heartbeat(v1::Heartbeat { head_seq: seq.0 })
}

/// Returns the attempt whose chunks an event makes worthless.
fn dropped(envelope: &Envelope) -> Option<AttemptRef> {
    let ends = [AttemptFailed::KIND, AttemptAbandoned::KIND].contains(&envelope.kind.as_str());
    ends.then(|| serde_json::from_str(&envelope.body).ok()).flatten()
}

/// Reads how long a client waits, as gRPC writes it: digits and one of `H M S m u n`.
pub(crate) fn grpc_timeout(header: Option<&str>) -> Option<Duration> {
    let text = header?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > 8 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3_600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use debate_core::id::{DebateId, Digest, Timestamp};
    use futures::stream::{self, Stream};
    use tonic::Code;

    use super::*;

    const ALL: Wanted = Wanted { calls: true, tokens: false, deadline: None };
    const COURSE: Wanted = Wanted { calls: false, ..ALL };

    fn event(seq: u64, kind: &str, body: &str) -> Result<Watched, WatchError> {
        Ok(Watched::Event(std::sync::Arc::new(Envelope {
            stream: DebateId("7f7f9a3c-52a7-4c0b-8c4e-0f2f8f1f9a11".parse().unwrap()).into(),
            seq: Seq(seq),
            kind: kind.to_owned(),
            version: 1,
            at: Timestamp(0),
            tenant: String::new(),
            actor: "engine".to_owned(),
            trace: None,
            body: body.to_owned(),
            prose: None,
            prose_digest: None,
            hash: Digest::default(),
        })))
    }

    fn after<T: Send + 'static>(wait: Duration, item: T) -> BoxStream<'static, T> {
        stream::once(async move {
            tokio::time::sleep(wait).await;
            item
        })
        .boxed()
    }

    /// Names what goes over the wire, one word for each item.
    async fn sent(
        watched: impl Stream<Item = Result<Watched, WatchError>> + Send + 'static,
        wanted: Wanted,
    ) -> Vec<String> {
        let reached = Reached::in_debate("", Seq::START);
        let sent = follow(watched.boxed(), wanted, reached, &CancellationToken::new());
        sent.map(|item| match item.map(|response| response.item.unwrap()) {
            Ok(Item::Event(event)) => format!("{}:{}", event.seq, event.kind),
            Ok(Item::Chunk(chunk)) => chunk.text,
            Ok(Item::AttemptDropped(dropped)) => format!("dropped:{}/{}", dropped.call, dropped.attempt),
            Ok(Item::Heartbeat(heartbeat)) => format!("heartbeat:{}", heartbeat.head_seq),
            Err(status) => format!("{:?}", status.code()),
        })
        .collect()
        .await
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_past_its_deadline_ends_with_deadline_exceeded() {
        let deadline = Some(Instant::now() + Duration::from_secs(5));
        let watched = stream::iter([event(1, "opened", "{}")]).chain(stream::pending());
        let expired = format!("{:?}", Code::DeadlineExceeded);
        assert_eq!(sent(watched, Wanted { deadline, ..ALL }).await, ["1:opened".to_owned(), expired]);
    }

    #[tokio::test(start_paused = true)]
    async fn events_that_are_not_wanted_do_not_silence_the_stream() {
        let call = |seq| after(Duration::from_secs(6), event(seq, "call_started", "{}"));
        let watched = stream::iter([event(1, "opened", "{}")]).chain(call(2)).chain(call(3)).chain(call(4));
        assert_eq!(sent(watched, COURSE).await, ["1:opened", "heartbeat:3"]);
    }

    #[tokio::test]
    async fn k10_an_attempt_that_is_given_up_is_announced_to_who_heard_it() {
        let body = r#"{"call":"argue/1/optimist","revision":0,"attempt":2,"turn":1,"reason":"stopped"}"#;
        let watched = || stream::iter([event(5, "attempt_abandoned", body), event(6, "concluded", "{}")]);
        let tokens = Wanted { tokens: true, ..COURSE };
        assert_eq!(sent(watched(), tokens).await, ["dropped:argue/1/optimist/2", "6:concluded"]);
        assert_eq!(sent(watched(), COURSE).await, ["6:concluded"]);
        assert_eq!(sent(watched(), ALL).await, ["5:attempt_abandoned", "6:concluded"]);
    }

    #[test]
    fn a_grpc_timeout_is_digits_and_a_unit() {
        assert_eq!(grpc_timeout(Some("10S")), Some(Duration::from_secs(10)));
        assert_eq!(grpc_timeout(Some("250m")), Some(Duration::from_millis(250)));
        assert_eq!(grpc_timeout(Some("99999999H")), Some(Duration::from_secs(99_999_999 * 3_600)));
        for bad in [None, Some(""), Some("S"), Some("10"), Some("1.5S"), Some("123456789S"), Some("1é")] {
            assert_eq!(grpc_timeout(bad), None, "{bad:?}");
        }
    }
}

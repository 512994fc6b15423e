//! A debate as it goes on, as Server-Sent Events (rule K10): what happened, by name and number, and pieces of what is
//! being said. A page that was cut off asks again with the number that it saw last and misses no event.

use std::convert::Infallible;

use axum::response::sse::{Event, KeepAlive, Sse};
use debate_core::envelope::Envelope;
use debate_core::event::AttemptRef;
use debate_core::id::DebateId;
use debate_core::id::Seq;
use debate_engine::{HEARTBEAT, WatchError, Watched};
use futures::stream::{self, Stream, StreamExt as _};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::log_cache::LogCache;
use crate::refused::Refused;

/// Follows a debate from behind an event to its conclusion, or until the server ends.
pub(crate) async fn follow(
    log_cache: &LogCache,
    debate: DebateId,
    after: Seq,
    closing: CancellationToken,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>> + Send + 'static>, Refused> {
    let watched = log_cache.engine().watch(debate, after, true).await?;
    // Only a stream that came to its end says so; one that broke off is taken up again by the page.
    let events = watched.map(Some).chain(stream::once(async { None })).scan(false, |broken, item| {
        let event = if *broken { None } else { Some(event(item, broken)) };
        async move { event }
    });
    let events = events.take_until(closing.cancelled_owned()).map(Ok);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(HEARTBEAT)))
}

fn event(item: Option<Result<Watched, WatchError>>, broken: &mut bool) -> Event {
    match item {
        Some(Ok(Watched::Event(envelope))) => {
            named("event", &happened(&envelope)).id(envelope.seq.to_string())
        }
        Some(Ok(Watched::Chunk(chunk))) => {
            let AttemptRef { call, revision, attempt, turn } = &chunk.attempt;
            named(
                "text",
                &json!({
                    "call": call, "revision": revision, "attempt": attempt, "turn": turn,
                    "number": chunk.number, "text": chunk.text,
                }),
            )
        }
        Some(Ok(Watched::Heartbeat(seq))) => named("heartbeat", &json!({ "seq": seq })),
        Some(Err(error)) => {
            *broken = true;
            named("broken", &json!({ "why": Refused::from(error).to_string() }))
        }
        None => named("end", &json!({})),
    }
}

fn named(name: &str, data: &Value) -> Event {
    Event::default().event(name).data(data.to_string())
}

/// Returns what happened, without words: the page asks for what it shows.
fn happened(envelope: &Envelope) -> Value {
    let attempt: Option<AttemptRef> = serde_json::from_str(&envelope.body).ok();
    json!({
        "seq": envelope.seq,
        "kind": envelope.kind,
        "at": envelope.at.to_string(),
        "call": attempt.as_ref().map(|attempt| attempt.call.to_string()),
        "revision": attempt.as_ref().map(|attempt| attempt.revision),
        "attempt": attempt.as_ref().map(|attempt| attempt.attempt),
    })
}

#[cfg(test)]
mod tests {
    use debate_store::ReadError;

    use super::*;

    #[test]
    fn causes_inside_the_house_are_in_no_stream_of_the_page() {
        let cause = std::io::Error::other("password sesame at /srv");
        let mut is_broken = false;
        let sent = event(Some(Err(WatchError::Read(ReadError::backend(cause)))), &mut is_broken);
        let sent = format!("{sent:?}");
        assert!(is_broken && sent.contains("cannot be read just now") && !sent.contains("sesame"), "{sent}");
    }
}

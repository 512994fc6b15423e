//! An accepted request can be stored and read back; a refused one gets a reason.

use debate_core::event::{Event, Opened};
use debate_core::format::Format;
use debate_core::formats::accept::{Accepted, AcceptedRequest, accept_bytes};
use debate_core::id::DebateId;
use debate_core::prose::Prose;

/// Checks what holds for every request.
pub(crate) fn check(data: &[u8]) {
    match accept_bytes(data) {
        Ok(AcceptedRequest::Prediction(accepted)) => is_read_as_written(*accepted),
        Ok(AcceptedRequest::Deliberation(accepted)) => is_read_as_written(*accepted),
        Ok(AcceptedRequest::Roundtable(accepted)) => is_read_as_written(*accepted),
        Ok(AcceptedRequest::Review(accepted)) => is_read_as_written(*accepted),
        Ok(AcceptedRequest::Investigation(accepted)) => is_read_as_written(*accepted),
        Err(violations) => assert!(!violations.0.is_empty(), "a refusal says why"),
    }
}

fn is_read_as_written<F: Format>(accepted: Accepted<F>) {
    let debate: DebateId = "00000000-0000-4000-8000-000000000000".parse().expect("it is a UUID");
    let opened: Event<F> = Event::Opened(Opened {
        format: F::NAME.to_owned(),
        debate,
        request_digest: accepted.digest,
        limits: accepted.limits,
        config: accepted.config,
        prose: Prose::new(accepted.brief),
        models: None,
    });
    let prose = opened.prose();
    let read = Event::decode(opened.kind(), opened.version(), &opened.body(), prose.as_deref());
    let read = read.expect("the kind is known").expect("what was written has its shape");
    assert_eq!(read, opened);
}

//! Whatever is read as an event is written so that the same is read again.
//!
//! The input is four parts with a line break between them: kind, version, body, and the prose if there is any.

use debate_core::event::Event;
use debate_core::format::Format;
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;

/// Checks what holds for every stored event.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut parts = text.splitn(4, '\n');
    let (Some(kind), Some(version), Some(body)) = (parts.next(), parts.next(), parts.next()) else { return };
    let Ok(version) = version.parse() else { return };
    let prose = parts.next();
    is_read_again::<Prediction>(kind, version, body, prose);
    is_read_again::<Deliberation>(kind, version, body, prose);
    is_read_again::<Roundtable>(kind, version, body, prose);
    is_read_again::<Review>(kind, version, body, prose);
    is_read_again::<Investigation>(kind, version, body, prose);
}

fn is_read_again<F: Format>(kind: &str, version: u16, body: &str, prose: Option<&str>) {
    let Some(Ok(event)) = Event::<F>::decode(kind, version, body, prose) else { return };
    let (body, prose) = (event.body(), event.prose());
    let again = Event::<F>::decode(event.kind(), event.version(), &body, prose.as_deref());
    let again = again.expect("the kind is known").expect("what was written has its shape");
    assert_eq!(again, event);
    assert_eq!((again.body(), again.prose()), (body, prose));
}

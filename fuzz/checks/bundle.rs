//! Whatever a bundle says, what counts as signed in it is what the key of the test vectors signed.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use debate_core::envelope::Envelope;
use debate_proof::bundle::{BundleCheck, BundleReport};
use debate_proof::key::SigningKey;

/// The vectors' bundle of all debates, sound to the byte.
const WHOLE: &str = include_str!("../../crates/debate-proof/tests/vectors/whole.bundle");

/// What identifies an event and fixes what it says.
type Known = (String, u64, String);

static SIGNED: LazyLock<BTreeSet<Known>> = LazyLock::new(|| {
    let (report, events) = read(WHOLE).expect("the vectors are sound");
    assert!(report.is_sound() && report.is_signed);
    events.iter().map(known).collect()
});

/// Checks what holds for every bundle.
pub(crate) fn check(data: &[u8]) {
    let Some((report, events)) = std::str::from_utf8(data).ok().and_then(read) else { return };
    if !report.is_sound() || !report.is_signed {
        return;
    }
    for event in &events {
        let stream = report.streams.iter().find(|stream| stream.stream == event.stream);
        let signed = stream.expect("every stream is in the report").signed;
        let is_signed = signed.is_some_and(|last| event.seq <= last);
        assert!(!is_signed || SIGNED.contains(&known(event)), "{event:?} was never signed");
    }
}

/// Returns what checking a bundle found, and the events whose chains hold.
fn read(text: &str) -> Option<(BundleReport, Vec<Envelope>)> {
    let key = SigningKey::new("debates.example.org", [7; 32]).expect("a name");
    let mut check = BundleCheck::new(Some(key.verifier().clone()), None);
    let mut events = Vec::new();
    for line in text.strip_suffix('\n')?.split('\n') {
        events.extend(check.push(line).ok()?);
    }
    Some((check.finish().ok()?, events))
}

/// Words may be withheld, and nothing else may differ.
fn known(event: &Envelope) -> Known {
    let facts = Envelope { prose: None, ..event.clone() };
    (event.stream.to_string(), event.seq.0, format!("{facts:?}"))
}

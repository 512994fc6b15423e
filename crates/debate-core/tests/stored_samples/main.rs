//! What was once stored is read for ever: samples of every version of every event, and whole logs.
//!
//! What a line of tests/samples says was stored is never edited. A new version of an event adds lines, and says in `becomes`
//! as what the older ones are read. No event has changed its shape yet: one of these tests' own did.

#![allow(clippy::unwrap_used, reason = "all of this is tests")]

use debate_core::chain::ChainCheck;
use debate_core::envelope::{Envelope, SaltedProse, StreamId};
use debate_core::event::Event;
use debate_core::format::Format;
use debate_core::formats::any::{AnyDebate, FORMATS};
use debate_core::formats::deliberation::Deliberation;
use debate_core::formats::investigation::Investigation;
use debate_core::formats::prediction::Prediction;
use debate_core::formats::review::Review;
use debate_core::formats::roundtable::Roundtable;
use debate_core::id::{DebateId, Digest, Seq, Timestamp};
use debate_core::policy::event::PolicyEvent;
use debate_core::record::{Record, RecordError};
use debate_core::stop::Completeness;
use serde::Deserialize;
use serde_json::value::RawValue;

mod claims;
mod reshaped;

const KERNEL: &str = include_str!("../samples/kernel.ndjson");

/// One event as it was stored; body and prose are the stored bytes.
#[derive(Deserialize)]
struct Sample<'a> {
    kind: &'a str,
    version: u16,
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(borrow, default)]
    prose: Option<&'a RawValue>,
    /// As what an older version is read today.
    #[serde(borrow, default)]
    becomes: Option<Shape<'a>>,
}

/// An event in the shape of today.
#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(borrow, default)]
    prose: Option<&'a RawValue>,
}

/// Body and prose as they are written today.
type Written = (String, Option<String>);

/// Reads every sample of some kinds, and checks that no version of any kind is without one.
///
/// `rewrite` reads kind, version, body and prose, and writes them anew.
fn check_lines<'a>(
    kinds: &[(&'static str, u16)],
    lines: impl Iterator<Item = &'a str>,
    rewrite: impl Fn(&str, u16, &str, Option<&str>) -> Option<Result<Written, RecordError>>,
) {
    let every_version =
        |&(kind, today): &(&'static str, u16)| (1..=today).map(move |version| (kind, version));
    let mut missing: Vec<(&str, u16)> = kinds.iter().flat_map(every_version).collect();
    for line in lines {
        let sample: Sample<'_> = serde_json::from_str(line).unwrap();
        let Sample { kind, version, .. } = sample;
        let today = kinds.iter().find(|(known, _)| *known == kind);
        let (_, today) = today.unwrap_or_else(|| panic!("{kind} is not known here"));
        missing.retain(|wanted| *wanted != (kind, version));
        let read = |prose: Option<&RawValue>| {
            rewrite(kind, version, sample.body.get(), prose.map(RawValue::get)).unwrap().unwrap()
        };
        let (whole, redacted) = (read(sample.prose), read(None));
        // A field that came later is left out where it says what old logs mean; anything else is a new version.
        let stored = Shape { body: sample.body, prose: sample.prose };
        let expected = match sample.becomes {
            None if version == *today => stored,
            Some(shape) if version < *today => shape,
            _ => panic!("{kind}@{version}: an older version says what it becomes, and only an older one"),
        };
        let (body, prose) = (expected.body.get(), expected.prose.map(RawValue::get));
        assert_eq!((whole.0.as_str(), whole.1.as_deref()), (body, prose), "{kind}@{version}");
        assert_eq!(redacted, (whole.0, None), "{kind}@{version} redacted");
    }
    assert_eq!(missing, [], "of these there is no stored sample");
}

/// Checks the samples of the kernel and of one format.
fn check_samples<F: Format>(own: &str) {
    let kinds: Vec<_> = Event::<F>::kinds().collect();
    check_lines(&kinds, KERNEL.lines().chain(own.lines()), |kind, version, body, prose| {
        let event = Event::<F>::decode(kind, version, body, prose)?;
        Some(event.map(|event| (event.body(), event.prose())))
    });
}

/// Checks the samples of a set of events that is no format's.
fn check_records<R: Record>(own: &str) {
    check_lines(R::KINDS, own.lines(), |kind, version, body, prose| {
        let event = R::decode(kind, version, body, prose)?;
        Some(event.map(|event| (event.body(), event.prose())))
    });
}

#[test]
fn k1_every_version_of_every_event_is_read_for_ever() {
    check_samples::<Prediction>(include_str!("../samples/prediction.ndjson"));
    check_samples::<Deliberation>(include_str!("../samples/deliberation.ndjson"));
    check_samples::<Roundtable>(include_str!("../samples/roundtable.ndjson"));
    check_samples::<Review>(include_str!("../samples/review.ndjson"));
    check_samples::<Investigation>(include_str!("../samples/investigation.ndjson"));
}

#[test]
fn k1_every_version_of_every_event_of_a_proposal_is_read_for_ever() {
    check_records::<PolicyEvent>(include_str!("../samples/policy.ndjson"));
}

/// One envelope as it was stored.
#[derive(Deserialize)]
struct Line<'a> {
    stream: DebateId,
    seq: Seq,
    kind: String,
    version: u16,
    at: Timestamp,
    tenant: String,
    actor: String,
    #[serde(default)]
    trace: Option<String>,
    #[serde(borrow)]
    body: &'a RawValue,
    #[serde(borrow, default)]
    prose: Option<&'a RawValue>,
    #[serde(default)]
    salt: String,
    #[serde(default)]
    prose_digest: Option<Digest>,
    hash: Digest,
}

impl Line<'_> {
    fn into_envelope(self) -> Envelope {
        let prose = self.prose.map(|text| {
            let mut salt = [0; 16];
            hex::decode_to_slice(&self.salt, &mut salt).unwrap();
            SaltedProse { salt, text: text.get().to_owned() }
        });
        Envelope {
            stream: StreamId::from(self.stream),
            seq: self.seq,
            kind: self.kind,
            version: self.version,
            at: self.at,
            tenant: self.tenant,
            actor: self.actor,
            trace: self.trace,
            body: self.body.get().to_owned(),
            prose,
            prose_digest: self.prose_digest,
            hash: self.hash,
        }
    }
}

/// Checks the chain of a stored log, folds it event by event, and compares its outcome with the one that was stored.
fn check_log(format: &str, text: &str, outcome: &str) {
    let line = |line| serde_json::from_str::<Line<'_>>(line).unwrap().into_envelope();
    let log: Vec<Envelope> = text.lines().map(line).collect();
    let mut chain = ChainCheck::new(log[0].stream);
    log.iter().for_each(|envelope| chain.push(envelope).unwrap());
    let withheld = |envelope: &Envelope| Envelope { prose: None, ..envelope.clone() };
    let redacted: Vec<Envelope> = log.iter().map(withheld).collect();
    for log in [log, redacted] {
        let mut debate = AnyDebate::replay(&log[..1]).unwrap();
        log[1..].iter().for_each(|envelope| debate.apply(envelope).unwrap());
        assert_eq!((debate.format(), debate.head().0), (format, log.len() as u64));
        let (concluded, _) = debate.conclusion().expect("the stored debate has concluded");
        assert_eq!(concluded.completeness, Completeness::Full);
        assert_eq!(concluded.outcome_digest.to_string(), outcome);
        assert_eq!(debate.outcome_digest().to_string(), outcome, "the outcome is the one it was");
    }
}

#[test]
fn k4_a_stored_log_verifies_folds_and_gives_the_same_outcome_for_ever() {
    let logs = [
        (
            include_str!("../samples/logs/prediction.ndjson"),
            "ea1ab211e8c88b4e39247a5d9e232b133c554813365fe31b6409e6d78f848468",
        ),
        (
            include_str!("../samples/logs/deliberation.ndjson"),
            "ab252694d8b23ee530f71e716829f0667e863a0e893678247a5ed40854f19f38",
        ),
        (
            include_str!("../samples/logs/roundtable.ndjson"),
            "3027064baf40652363561d04dd42ee48375f59f829654849adfcbd80a08c24d5",
        ),
        (
            include_str!("../samples/logs/review.ndjson"),
            "41c16aef6c27748c75dbd890888fb82588594e06948363cd8cc6a9eb47ce67e0",
        ),
        (
            include_str!("../samples/logs/investigation.ndjson"),
            "ccb70de6a32b0b1a2048f7d6ce50cb7b478fada7bae0602322c188b2fefcf2b9",
        ),
    ];
    assert_eq!(logs.len(), FORMATS.len(), "every format has a stored log");
    for (format, (text, outcome)) in FORMATS.into_iter().zip(logs) {
        check_log(format, text, outcome);
    }
}

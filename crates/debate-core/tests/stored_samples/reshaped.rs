//! A kind that changed its shape twice, as one of the engine's will.

use debate_core::chain::ChainCheck;
use debate_core::codec::{Author, Head, seal_records};
use debate_core::envelope::{StreamId, StreamKind};
use debate_core::id::Timestamp;
use debate_core::prose::Prose;
use debate_core::record::{Record as _, RecordError};
use debate_core::{body, records};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::check_records;

/// One line for each version, and one of each older version that was redacted.
const SAMPLES: &str = r#"{"kind":"weighed","version":1,"body":{"grams":1500,"scale":"left"},"prose":"heavy","becomes":{"body":{"scales":["left"],"kilograms":1.5},"prose":{"remark":"heavy"}}}
{"kind":"weighed","version":1,"body":{"grams":0,"scale":""},"becomes":{"body":{"scales":[],"kilograms":0.0}}}
{"kind":"weighed","version":2,"body":{"kilograms":0.1,"scale":"right"},"prose":"light","becomes":{"body":{"scales":["right"],"kilograms":0.1},"prose":{"remark":"light"}}}
{"kind":"weighed","version":2,"body":{"kilograms":2.0,"scale":"right"},"becomes":{"body":{"scales":["right"],"kilograms":2.0}}}
{"kind":"weighed","version":3,"body":{"scales":["left","right"],"kilograms":0.2},"prose":{"remark":"so so"}}"#;

/// The first shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WeighedV1 {
    grams: u32,
    scale: String,
    #[serde(skip)]
    prose: Prose<String>,
}

/// Another unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct WeighedV2 {
    kilograms: f64,
    scale: String,
    #[serde(skip)]
    prose: Prose<String>,
}

/// More than one scale, and prose with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Weighed {
    scales: Vec<String>,
    kilograms: f64,
    #[serde(skip)]
    prose: Prose<Remark>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Remark {
    remark: String,
}

body!(WeighedV1, "weighed", prose: String);
body!(WeighedV2, "weighed", older: WeighedV1, prose: String);
body!(Weighed, "weighed", older: WeighedV2, prose: Remark);

impl From<WeighedV1> for WeighedV2 {
    fn from(old: WeighedV1) -> Self {
        Self { kilograms: f64::from(old.grams) / 1_000.0, scale: old.scale, prose: old.prose }
    }
}

impl From<WeighedV2> for Weighed {
    fn from(old: WeighedV2) -> Self {
        let scales = Some(old.scale).filter(|scale| !scale.is_empty()).into_iter().collect();
        let remark = old.prose.shown().cloned();
        let prose = remark.map_or_else(Prose::default, |remark| Prose::new(Remark { remark }));
        Self { scales, kilograms: old.kilograms, prose }
    }
}

records! {
    /// What a program of the past knew.
    enum Past { Weighed(WeighedV1) }
}

records! {
    /// What this program knows.
    enum Present { Weighed(Weighed) }
}

#[test]
fn k1_an_older_version_is_read_as_one_of_today() {
    assert_eq!(Present::KINDS, [("weighed", 3)]);
    check_records::<Present>(SAMPLES);
}

#[test]
fn k1_a_version_that_never_was_or_is_yet_to_come_is_refused() {
    for version in [0, 4] {
        let read = Present::decode("weighed", version, r#"{"scales":[],"kilograms":1.0}"#, None).unwrap();
        assert!(
            matches!(read, Err(RecordError::Version { version: found, .. }) if found == version),
            "{read:?}"
        );
    }
    let read = Present::decode("weighed", 1, r#"{"scales":[],"kilograms":1.0}"#, None).unwrap();
    assert!(matches!(read, Err(RecordError::Shape { .. })), "the shape is that of its version: {read:?}");
}

#[test]
fn k15_the_chain_of_an_older_version_holds_over_what_was_stored() {
    let stream = StreamId { kind: StreamKind::Debate, id: Uuid::from_u128(1) };
    let author = Author { tenant: String::new(), actor: "engine".to_owned(), trace: None };
    let old = Past::from(WeighedV1 {
        grams: 1_500,
        scale: "left".to_owned(),
        prose: Prose::new("heavy".to_owned()),
    });
    let past = seal_records(stream, Head::NONE, &author, Timestamp(1), &[old], || [1; 16]);
    let head = past.head();
    let past = past.into_envelopes();
    let read = |envelope: &debate_core::envelope::Envelope| {
        let prose = envelope.prose.as_ref().map(|prose| prose.text.as_str());
        Present::decode(&envelope.kind, envelope.version, &envelope.body, prose).unwrap().unwrap()
    };
    // What was read from the past is said again today, behind it.
    let today =
        seal_records(stream, head, &author, Timestamp(2), &[read(&past[0])], || [2; 16]).into_envelopes();
    let log = [past, today].concat();
    let mut chain = ChainCheck::new(stream);
    log.iter().for_each(|envelope| chain.push(envelope).unwrap());
    assert_eq!(log.iter().map(|envelope| envelope.version).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(read(&log[0]), read(&log[1]));
    assert_ne!(log[0].body, log[1].body);
}

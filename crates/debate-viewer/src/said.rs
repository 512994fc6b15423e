//! What was said in a debate of any format: the facts of its log, each with the call that it answers.

use std::sync::Arc;

use debate_core::call::Want;
use debate_core::envelope::Envelope;
use debate_core::event::{AnswerRejected, CallAnswered, CallVoided, KernelEvent, Opened};
use debate_core::formats::prediction::Prediction;
use debate_core::record::{Body as _, Record as _};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A fact that a format added to the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Said {
    /// Its sequence number, in its own stream.
    pub seq: u64,
    /// When.
    pub at: String,
    /// Its kind.
    pub kind: String,
    /// The question that it answers, such as `contribute/1/analyst`; null where it follows from others.
    pub call: Option<String>,
    /// Who answers it, or whom the question is about; null where it follows from others.
    pub role: Option<String>,
    /// The round or phase of the question, or that it is about; of a review, the pair.
    pub round: Option<u32>,
    /// Why it no longer stands: `void`, or the rules that it broke.
    pub set_aside: Option<String>,
    /// What was decided, as it is in the log.
    pub facts: Value,
    /// The words; null where there are none or they were redacted.
    pub words: Option<Value>,
    /// Whether words were deleted here.
    pub redacted: bool,
}

/// Returns what was said, in order.
pub(crate) fn said(events: &[Arc<Envelope>]) -> Vec<Said> {
    let mut said: Vec<(Option<Want>, Said)> = Vec::new();
    // The facts of an answer stand right behind it.
    let mut answered: Option<Want> = None;
    for event in events {
        if is_fact(&event.kind) {
            // A fact without text follows from earlier facts; it answers no call.
            let of = answered.as_ref().filter(|_| event.prose_digest.is_some());
            said.push((of.cloned(), entry(event, of)));
            continue;
        }
        answered = read::<CallAnswered>(event).map(|answered| answered.attempt.want());
        if let Some(rejected) = read::<AnswerRejected>(event) {
            let want = Want { call: rejected.call, revision: rejected.revision };
            set_aside(&mut said, &want, &rejected.rules.join(", "));
        } else if let Some(voided) = read::<CallVoided>(event) {
            set_aside(&mut said, &Want { call: voided.call, revision: voided.revision }, "void");
        }
    }
    said.into_iter().map(|(_, said)| said).collect()
}

fn entry(event: &Envelope, answered: Option<&Want>) -> Said {
    let call = answered.map(|want| &want.call);
    let facts: Value = serde_json::from_str(&event.body).unwrap_or_default();
    let about = ["round", "pair"].iter().find_map(|name| u32::try_from(facts[*name].as_u64()?).ok());
    Said {
        seq: event.seq.0,
        at: event.at.to_string(),
        kind: event.kind.clone(),
        call: call.map(ToString::to_string),
        role: call.map(|call| call.role.to_string()),
        round: call.map(|call| call.round).or(about),
        set_aside: None,
        facts,
        words: event.prose.as_ref().and_then(|prose| serde_json::from_str(&prose.text).ok()),
        redacted: event.is_redacted(),
    }
}

fn set_aside(said: &mut [(Option<Want>, Said)], want: &Want, why: &str) {
    for (_, said) in said.iter_mut().filter(|(of, _)| of.as_ref() == Some(want)) {
        said.set_aside = Some(why.to_owned());
    }
}

/// Returns whether a kind is one that only a format knows.
fn is_fact(kind: &str) -> bool {
    kind != Opened::<Prediction>::KIND && KernelEvent::KINDS.iter().all(|(known, _)| *known != kind)
}

/// Reads an event's body where it is of that kind.
pub(crate) fn read<B: debate_core::record::Body + DeserializeOwned>(event: &Envelope) -> Option<B> {
    (event.kind == B::KIND).then(|| serde_json::from_str(&event.body).ok()).flatten()
}

//! Where two debates first differ (rule K14): by what was asked, said and decided, not by ids, times, spend or the order
//! in which answers arrived.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::envelope::Envelope;

/// Fields that tell when, at what cost and under which name something happened, but not what.
const IGNORED_FIELDS: [&str; 16] = [
    "attempt",
    "cause",
    "cost_micros",
    "deadline_at",
    "debate",
    "latency_ms",
    "outcome_digest",
    "remaining_ms",
    "request_digest",
    "request_id",
    "reserved",
    "spend",
    "statistic",
    "threshold",
    "usage",
    "wire_retries",
];

/// Fields that say what an event is about, so that it is compared with the other debate's event about the same.
const IDENTITY: [&str; 9] =
    ["call", "revision", "turn", "index", "round", "role", "participant", "pass", "phase"];

/// Kinds that say how a debate came about and nothing of what was said in it.
const NOT_COMPARED: [&str; 4] = ["attempt_abandoned", "attempt_failed", "forked", "redacted"];

/// The first thing in which two debates differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The first debate's event; null where it has none about this.
    pub a: Option<Place>,
    /// The second debate's event; null where it has none about this.
    pub b: Option<Place>,
    /// Which field of the event differs, outer before inner, such as `config.rounds`; `words` for its prose. Empty where
    /// only one debate has the event.
    pub field: String,
    /// What the first debate has there.
    pub a_value: Value,
    /// What the second debate has there.
    pub b_value: Value,
}

/// An event of one of the debates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Whose stream it stands in: a parent's, where it is of a fork's prefix.
    pub debate_id: String,
    /// Its sequence number there.
    pub seq: u64,
    /// Its kind.
    pub kind: String,
    /// What it is about, such as `argue/2/optimist`; empty where it is about the debate.
    pub about: String,
}

/// One event, as far as it is compared.
struct Compared<'a> {
    order: usize,
    envelope: &'a Envelope,
    facts: Value,
}

/// The events of one debate by kind and what they are about; what merely says the same again is left out.
type Subjects<'a> = BTreeMap<(String, String), Vec<Compared<'a>>>;

/// Returns the first difference between two debates, each with all that it is folded from; `None` where there is none.
#[must_use]
pub fn first_difference(a: &[Envelope], b: &[Envelope]) -> Option<Difference> {
    let (a, b) = (subjects(a), subjects(b));
    let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
    let found = keys.filter_map(|key| {
        let (a, b) = (a.get(key).map_or(&[][..], Vec::as_slice), b.get(key).map_or(&[][..], Vec::as_slice));
        // What only one of them says again is compared with what the other said last.
        let pairs = (0..a.len().max(b.len())).map(|place| {
            let of = |side: &'_ [Compared<'_>]| place.min(side.len().saturating_sub(1));
            (a.get(of(a)), b.get(of(b)))
        });
        let differs = |(a, b): &(Option<&Compared<'_>>, Option<&Compared<'_>>)| match (a, b) {
            (Some(a), Some(b)) => field_of(a, b).is_some(),
            (a, b) => a.is_some() || b.is_some(),
        };
        let (a, b) = pairs.into_iter().find(differs)?;
        let order = a.iter().chain(&b).map(|compared| compared.order).max()?;
        Some((order, difference(&key.1, a, b)))
    });
    found.min_by_key(|(order, _)| *order).map(|(_, difference)| difference)
}

fn difference(about: &str, a: Option<&Compared<'_>>, b: Option<&Compared<'_>>) -> Difference {
    let place = |compared: &Compared<'_>| Place {
        debate_id: compared.envelope.stream.id.to_string(),
        seq: compared.envelope.seq.0,
        kind: compared.envelope.kind.clone(),
        about: about.to_owned(),
    };
    let field = a.zip(b).and_then(|(a, b)| field_of(a, b));
    let (field, a_value, b_value) = field.unwrap_or_default();
    Difference { a: a.map(place), b: b.map(place), field, a_value, b_value }
}

fn subjects(log: &[Envelope]) -> Subjects<'_> {
    let mut subjects = Subjects::new();
    let compared = log.iter().filter(|envelope| !NOT_COMPARED.contains(&envelope.kind.as_str()));
    for (order, envelope) in compared.enumerate() {
        let body: Value = serde_json::from_str(&envelope.body).unwrap_or_default();
        let key = (envelope.kind.clone(), about(&body));
        let compared = Compared { order, envelope, facts: facts(body) };
        let known = subjects.entry(key).or_default();
        if known.last().is_none_or(|last| field_of(last, &compared).is_some()) {
            known.push(compared);
        }
    }
    subjects
}

/// Returns what an event is about.
fn about(body: &Value) -> String {
    let attempt = &body["attempt"];
    let fields = IDENTITY.iter().filter_map(|field| body.get(field).or_else(|| attempt.get(field)));
    let parts = fields.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    parts.collect::<Vec<_>>().join(" ")
}

fn facts(body: Value) -> Value {
    match body {
        Value::Object(fields) => {
            let compared = fields.into_iter().filter(|(name, _)| !IGNORED_FIELDS.contains(&name.as_str()));
            Value::Object(compared.map(|(name, value)| (name, facts(value))).collect::<Map<_, _>>())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(facts).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => body,
    }
}

/// Returns in which field two events differ, with what each has there.
fn field_of(a: &Compared<'_>, b: &Compared<'_>) -> Option<(String, Value, Value)> {
    inner(String::new(), &a.facts, &b.facts).or_else(|| {
        let (a, b) = (a.envelope.prose.as_ref()?, b.envelope.prose.as_ref()?);
        let words = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        inner("words".to_owned(), &words(&a.text), &words(&b.text))
    })
}

fn inner(path: String, a: &Value, b: &Value) -> Option<(String, Value, Value)> {
    let deeper = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match (a, b) {
        (Value::Object(one), Value::Object(other)) => {
            let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
            let mut found =
                names.filter_map(|name| inner(deeper(name), &a[name.as_str()], &b[name.as_str()]));
            found.next()
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let mut pairs = one.iter().zip(other).enumerate();
            pairs.find_map(|(place, (one, other))| inner(deeper(&place.to_string()), one, other))
        }
        _ => (a != b).then(|| (path, a.clone(), b.clone())),
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::envelope::{SaltedProse, StreamId};
    use crate::id::{DebateId, Digest, Seq, Timestamp};

    /// Builds a log of kinds with their facts, and with words where there are any.
    fn log(debate: u128, events: &[(&str, &str, Option<&str>)]) -> Vec<Envelope> {
        let envelope = |(seq, (kind, body, words)): (u64, &(&str, &str, Option<&str>))| Envelope {
            stream: StreamId::from(DebateId(Uuid::from_u128(debate))),
            seq: Seq(seq),
            kind: (*kind).to_owned(),
            version: 1,
            at: Timestamp(i64::try_from(seq).unwrap()),
            tenant: String::new(),
            actor: String::new(),
            trace: None,
            body: (*body).to_owned(),
            prose: words.map(|words| SaltedProse { salt: [0; 16], text: format!("{words:?}") }),
            prose_digest: None,
            hash: Digest::default(),
        };
        (1..).zip(events).map(envelope).collect()
    }

    const MADE: (&str, &str, Option<&str>) =
        ("argument_made", r#"{"round":1,"role":"x","p":[0.1,0.9]}"#, Some("yes"));

    #[test]
    fn k14_times_ids_and_the_order_of_arrival_are_no_difference() {
        let x = (
            "call_answered",
            r#"{"attempt":{"call":"argue/1/x","attempt":1},"reply":{"latency_ms":5}}"#,
            None,
        );
        let y = (
            "call_answered",
            r#"{"attempt":{"call":"argue/1/y","attempt":1},"reply":{"latency_ms":9}}"#,
            None,
        );
        let late = (
            "call_answered",
            r#"{"attempt":{"call":"argue/1/x","attempt":2},"reply":{"latency_ms":7}}"#,
            None,
        );
        let again = ("phase_opened", r#"{"phase":"opening","round":1}"#, None);
        let a = log(1, &[again, x, MADE, y]);
        let b = log(2, &[again, again, y, late, MADE, ("attempt_abandoned", "{}", None)]);
        assert_eq!(first_difference(&a, &b), None);
    }

    #[test]
    fn k14_the_first_difference_is_named_with_what_each_has_there() {
        let other = ("argument_made", r#"{"round":1,"role":"x","p":[0.1,0.8]}"#, Some("yes"));
        let later = ("argument_made", r#"{"round":2,"role":"x","p":[0.5,0.5]}"#, None);
        let found = first_difference(&log(1, &[MADE, later]), &log(2, &[other])).unwrap();
        assert_eq!((found.field.as_str(), &found.a_value, &found.b_value), ("p.1", &0.9.into(), &0.8.into()));
        let (a, b) = (found.a.unwrap(), found.b.unwrap());
        assert_eq!((a.seq, a.about.as_str(), b.debate_id), (1, "1 x", Uuid::from_u128(2).to_string()));
        let found = first_difference(&log(1, &[MADE, later]), &log(2, &[MADE])).unwrap();
        assert_eq!((found.a.map(|place| place.seq), found.b), (Some(2), None));
    }

    #[test]
    fn k14_words_differ_unless_one_side_was_redacted() {
        let (kind, body, _) = MADE;
        let found = first_difference(&log(1, &[MADE]), &log(2, &[(kind, body, Some("no"))])).unwrap();
        assert_eq!((found.field.as_str(), &found.b_value), ("words", &"no".into()));
        assert_eq!(first_difference(&log(1, &[MADE]), &log(2, &[(kind, body, None)])), None);
    }
}

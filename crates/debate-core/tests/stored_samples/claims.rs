//! What a made-up log claims of a debate's size is read within the bounds of requests alone.

use std::collections::BTreeSet;

use debate_core::call::CallKey;
use debate_core::event::Event;
use debate_core::formats::prediction::point::PointId;
use debate_core::id::{OutcomeId, Role};
use serde_json::{Value, json};

use super::*;

/// Numbers and lists of configurations and facts up to which, and through which, a debate is gone.
const COUNTS: [&str; 6] = ["rounds", "max_rounds", "round", "judge_passes", "pass", "pair"];
const LISTS: [&str; 2] = ["outcomes", "criteria"];
/// That of those who debate a conflict.
const PAIRS: &str = "pairs";
/// Those of the participants.
const PARTICIPANTS: [&str; 4] = ["roles", "participants", "agents", "seats"];
/// Those that name a call or a challenge of a round.
const CALLS: [&str; 3] = ["call", "challenge", "id"];
/// The list of those that name an argument of a round.
const POINTS: &str = "cites";

/// Returns copies of a body, each with one claim made too large, and its name.
fn exaggerated(body: &Value) -> Vec<(&str, Value)> {
    let mut found = Vec::new();
    for (member, value) in body.as_object().into_iter().flatten() {
        let name = member.as_str();
        let larger: Vec<(&str, Value)> = match value {
            Value::Number(_) if COUNTS.contains(&name) => [101, u32::MAX].map(|n| (name, n.into())).into(),
            Value::Array(items)
                if [&LISTS[..], &PARTICIPANTS, &[PAIRS]].concat().contains(&name) && !items.is_empty() =>
            {
                let length = match name {
                    PAIRS => 11,
                    _ if LISTS.contains(&name) => 101,
                    _ => 21,
                };
                vec![(name, items.iter().cycle().take(length).cloned().collect())]
            }
            Value::String(text) if CALLS.contains(&name) => {
                larger_rounds(text).into_iter().map(|text| (name, text.into())).collect()
            }
            Value::Array(points) if name == POINTS && !points.is_empty() => {
                vec![(name, json!(["r4000000000.optimist"]))]
            }
            Value::Object(_) => exaggerated(value),
            _ => Vec::new(),
        };
        for (name, value) in larger {
            let mut body = body.clone();
            body[member] = value;
            found.push((name, body));
        }
    }
    found
}

/// Returns the name of a call such as argue/2/optimist with a round or a pass of billions, or that of a challenge such as
/// C1.2 with such a round.
fn larger_rounds(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split('/').collect();
    match (&parts[..], text.strip_prefix('C').and_then(|rest| rest.split_once('.'))) {
        ([kind, round, role, ..], _) => {
            vec![format!("{kind}/4000000000/{role}"), format!("{kind}/{round}/{role}/4000000000")]
        }
        (_, Some((_, number))) => vec![format!("C4000000000.{number}")],
        (_, None) => Vec::new(),
    }
}

/// Makes each claim of each sample too large, sees it refused, and adds its name.
fn refused<F: Format>(own: &str, names: &mut BTreeSet<String>) {
    for line in KERNEL.lines().chain(own.lines()) {
        let sample: Sample<'_> = serde_json::from_str(line).unwrap();
        let body: Value = serde_json::from_str(sample.body.get()).unwrap();
        let prose = sample.prose.map(RawValue::get);
        for (name, larger) in exaggerated(&body) {
            let read = Event::<F>::decode(sample.kind, sample.version, &larger.to_string(), prose);
            assert!(matches!(read, Some(Err(_))), "{} with a larger {name}: {larger}", sample.kind);
            names.insert(name.to_owned());
        }
    }
}

#[test]
fn k12_a_log_that_claims_more_than_any_request_may_ask_for_is_read_no_further() {
    let mut names = BTreeSet::new();
    refused::<Prediction>(include_str!("../samples/prediction.ndjson"), &mut names);
    refused::<Deliberation>(include_str!("../samples/deliberation.ndjson"), &mut names);
    refused::<Roundtable>(include_str!("../samples/roundtable.ndjson"), &mut names);
    refused::<Review>(include_str!("../samples/review.ndjson"), &mut names);
    refused::<Investigation>(include_str!("../samples/investigation.ndjson"), &mut names);
    let every: BTreeSet<_> = [&COUNTS[..], &LISTS, &PARTICIPANTS, &CALLS, &[PAIRS, POINTS]]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect();
    assert_eq!(names, every, "what no sample claims is not shown");
}

/// Returns the first of the samples in which there is such a text.
fn sample_with<'a>(samples: &'a str, part: &str) -> Sample<'a> {
    serde_json::from_str(samples.lines().find(|line| line.contains(part)).unwrap()).unwrap()
}

#[test]
fn k12_an_insight_is_of_no_round_beyond_those_that_a_request_may_ask_for() {
    let samples = include_str!("../samples/prediction.ndjson");
    let Sample { kind, version, body, prose, .. } = sample_with(samples, r#""insights":[{"#);
    let is_read = |round: u32| {
        let round = format!(r#""round":{round},"impact""#);
        let prose = prose.unwrap().get().replace(r#""round":1,"impact""#, &round);
        Event::<Prediction>::decode(kind, version, body.get(), Some(&prose)).unwrap().is_ok()
    };
    assert_eq!([100, 101, u32::MAX].map(is_read), [true, false, false]);
}

#[test]
fn k12_a_judgement_is_of_no_pass_beyond_those_that_a_request_may_ask_for() {
    let samples = include_str!("../samples/prediction.ndjson");
    let Sample { kind, version, body, prose, .. } = sample_with(samples, r#""kind":"judgement_rendered""#);
    let is_read = |pass: u32| {
        let mut body: Value = serde_json::from_str(body.get()).unwrap();
        body["pass"] = pass.into();
        Event::<Prediction>::decode(kind, version, &body.to_string(), prose.map(RawValue::get))
            .unwrap()
            .is_ok()
    };
    assert_eq!([1, 2, 101, u32::MAX].map(is_read), [true, true, false, false]);
}

#[test]
fn k12_a_review_has_no_more_critiques_than_a_request_may_have() {
    let samples = include_str!("../samples/review.ndjson");
    let Sample { kind, version, body, prose, .. } = sample_with(samples, r#""critiques":[{"#);
    let is_read = |count: usize| {
        let mut prose: Value = serde_json::from_str(prose.unwrap().get()).unwrap();
        let critiques = prose["critiques"].as_array_mut().unwrap();
        *critiques = critiques.iter().cycle().take(count).cloned().collect();
        Event::<Review>::decode(kind, version, body.get(), Some(&prose.to_string())).unwrap().is_ok()
    };
    assert_eq!([20, 21].map(is_read), [true, false]);
}

#[test]
fn k13_a_log_has_no_names_but_those_that_requests_may_give() {
    let is_read = |name: &str| {
        let is_role = |name: &str| serde_json::from_value::<Role>(name.into()).is_ok();
        let role = is_role(name);
        let calls = [format!("argue/1/{name}"), format!("{name}/1/judge")];
        let calls = calls.map(|call| serde_json::from_value::<CallKey>(call.into()).is_ok());
        assert_eq!(calls, [role; 2], "{name:?}");
        let point = serde_json::from_value::<PointId>(format!("r1.{name}").into()).is_ok();
        // White space around a point is none of it.
        assert_eq!(point, is_role(name.trim_end()), "{name:?}");
        role
    };
    assert!(is_read("devils_advocate") && is_read("B-2.x") && is_read(&"n".repeat(64)));
    for name in ["", " ", "a b", "a\n", "é", "<b>", "a\"", "a]", "\u{1b}[2J", "\u{202e}", &"n".repeat(65)] {
        assert!(!is_read(name), "{name:?}");
    }
    let outcome = |id: &str| serde_json::from_value::<OutcomeId>(id.into()).is_ok();
    assert!(outcome("below 5 %") && !outcome("a\nb") && !outcome("\u{9b}31m"));
}

/// Puts what would end an attribute behind the first place where a sample has `before`, and sees it refused.
fn refused_behind<F: Format>(own: &str, before: &str) {
    let line =
        own.lines().find(|line| line.contains(before)).unwrap_or_else(|| panic!("no sample has {before}"));
    let Sample { kind, version, body, prose, .. } = serde_json::from_str(line).unwrap();
    let [body, prose] =
        [Some(body), prose].map(|part| Some(part?.get().replacen(before, &format!("{before}x\\\" y="), 1)));
    let read = Event::<F>::decode(kind, version, &body.unwrap(), prose.as_deref());
    let error = format!("{:?}", read.unwrap().unwrap_err());
    assert!(error.contains("is no name"), "{before}: {error}");
}

#[test]
fn k13_a_log_has_no_names_of_criteria_operations_skills_and_tools_but_those_that_requests_may_give() {
    refused_behind::<Prediction>(KERNEL, r#""tools":[{"tool":""#);
    refused_behind::<Prediction>(include_str!("../samples/prediction.ndjson"), r#""criteria":[{"name":""#);
    refused_behind::<Prediction>(
        include_str!("../samples/prediction.ndjson"),
        r#""rubrics":[{"criterion":""#,
    );
    for before in [r#""op":""#, r#""type":""#] {
        refused_behind::<Review>(include_str!("../samples/review.ndjson"), before);
    }
    for before in [r#""skills":[""#, r#""skills_missing":[""#, r#""skills":[{"name":""#] {
        refused_behind::<Deliberation>(include_str!("../samples/deliberation.ndjson"), before);
    }
}

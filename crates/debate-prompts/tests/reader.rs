//! The reply reader on real broken replies, and its promises for any text.

use std::time::{Duration, Instant};

use debate_prompts::reader::{DEPTH_MAX, REPLY_BYTES_MAX, ReadError, Reading, Repair, read, read_object};
use debate_prompts::tags::tag;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct Case {
    id: String,
    input: String,
    source: String,
    strict_json_ok: bool,
    #[serde(default)]
    expected_value: Value,
}

#[derive(Deserialize)]
struct Tagged {
    id: String,
    raw_output: String,
    shape: String,
    parsed_answer: Option<String>,
    parsed_probability_yes: Option<f64>,
}

/// Reads a file of real material, or says that it is not here.
fn material<T: serde::de::DeserializeOwned>(name: &str) -> Vec<T> {
    let path = format!("{}/../../../shared/data/broken_json/{name}", env!("CARGO_MANIFEST_DIR"));
    let Ok(lines) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: ../shared/data/broken_json/{name} is not here");
        return Vec::new();
    };
    lines.split('\n').filter(|line| !line.is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn keys<'v>(value: &'v Value, keys: &mut Vec<&'v str>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                keys.push(key);
                self::keys(value, keys);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| self::keys(item, keys)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Decodes every escape of a text, wherever it stands, so that escaped keys can be looked for.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        let rest = &text[at..];
        let len = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'u')) => 12.min(rest.len()),
            (b'\\', Some(b)) if b.is_ascii() => 2,
            _ => 0,
        };
        let decoded = [len, 6].into_iter().filter(|len| *len <= rest.len() && rest.is_char_boundary(*len)).find_map(
            |len| Some((len, serde_json::from_str::<String>(&format!("\"{}\"", &rest[..len])).ok()?)),
        );
        match decoded {
            Some((taken, decoded)) if len > 0 => {
                plain += &decoded;
                at += taken;
            }
            _ if len > 0 && rest.len() > 1 && !rest.starts_with("\\u") => {
                // The reader keeps the backslash of an escape that JSON does not know.
                if !rest.starts_with("\\'") && !rest.starts_with("\\`") && !rest.starts_with("\\\n") {
                    plain.push('\\');
                }
                at += 1;
            }
            _ => {
                let c = rest.chars().next().unwrap();
                plain.push(c);
                at += c.len_utf8();
            }
        }
    }
    plain
}

/// Checks what holds for every text.
fn check(text: &str) -> Result<Reading, ReadError> {
    let result = read_object(text, &[]);
    if let Ok(strict @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
        let reading = result.as_ref().unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(Value::Object(reading.value.clone()), strict, "strict input is unchanged");
        assert!(
            reading.repairs.iter().all(|repair| matches!(repair, Repair::DuplicateKey { .. })),
            "{:?}: {text}",
            reading.repairs
        );
    } else if let Ok(reading) = &result {
        assert!(!reading.repairs.is_empty(), "says what it repaired: {text}");
    }
    if let Ok(reading) = &result {
        let value = Value::Object(reading.value.clone());
        let mut found = Vec::new();
        keys(&value, &mut found);
        let (once, twice) = (unescaped(text), unescaped(&unescaped(text)));
        for key in found {
            let stands = [text, &once, &twice].iter().any(|text| text.contains(key));
            assert!(stands || key.contains('\u{fffd}'), "invented {key:?} in {text:?}");
        }
    }
    result
}

fn object(value: &Value) -> Option<&Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

#[test]
fn real_broken_replies_are_read_as_other_libraries_read_them() {
    let cases: Vec<Case> = material("cases.jsonl");
    if cases.is_empty() {
        return;
    }
    assert_eq!(cases.len(), 456);
    let (mut objects, mut equal) = (0, 0);
    for case in &cases {
        let result = check(&case.input);
        let Some(expected) = object(&case.expected_value) else { continue };
        let read = result.as_ref().map(|reading| &reading.value);
        objects += 1;
        let is_equal = read.is_ok_and(|read| same(&Value::Object(read.clone()), &Value::Object(expected.clone())));
        equal += u32::from(is_equal);
        assert!(is_equal || !case.strict_json_ok || case.source == "BoundaryML/baml", "{}: {}", case.id, case.input);
        if !is_equal && std::env::var_os("SHOW_DIFFERENCES").is_some() {
            eprintln!("{} {}\n  {:?}\n  expected {}\n  read {result:?}", case.id, case.source, case.input, case.expected_value);
        }
    }
    eprintln!("{equal} of {objects} objects equal");
}

#[test]
fn real_tagged_replies_are_read_as_published() {
    let replies: Vec<Tagged> = material("tagged_outputs.jsonl");
    for reply in &replies {
        let answer = tag(&reply.raw_output, "answer").map(str::to_lowercase);
        let confidence = tag(&reply.raw_output, "confidence").and_then(|text| text.parse::<f64>().ok());
        if reply.shape == "odd" {
            // Published from a guess at the prose: there is no answer tag to read.
            assert_eq!(answer, None, "{}", reply.id);
            continue;
        }
        assert_eq!(answer, reply.parsed_answer, "{}", reply.id);
        let percent = confidence.unwrap_or_else(|| panic!("{}: no confidence", reply.id));
        let yes = if answer.as_deref() == Some("yes") { percent / 100.0 } else { 1.0 - percent / 100.0 };
        assert!((yes - reply.parsed_probability_yes.unwrap()).abs() < 1e-9, "{}", reply.id);
    }
}

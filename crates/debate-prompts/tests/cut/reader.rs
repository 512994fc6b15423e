//! What the reader alone takes of a text that was cut.

use debate_prompts::prompts::Received;
use debate_prompts::reader::{ReadError, Repair, read_object};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::material::{RealReply, Take, is_quoted, real_replies};

fn taken(text: &str) -> Map<String, Value> {
    match read_object(Received::cut(text), &[]) {
        Ok(reading) => {
            assert!(reading.repairs.contains(&Repair::Cut), "{:?}", reading.repairs);
            reading.value
        }
        Err(_) => Map::new(),
    }
}

#[track_caller]
fn takes(text: &str, expected: &Value) {
    assert_eq!(&Value::Object(taken(text)), expected, "{text}");
}

#[test]
fn k18_reader_takes_complete_values_of_a_cut_text() {
    takes(r#"{"a": "x", "b": "y"#, &json!({"a": "x"}));
    takes(r#"{"a": "x""#, &json!({"a": "x"}));
    takes(r#"{"a": "x", "b"#, &json!({"a": "x"}));
    takes(r#"{"a": 0.5, "p": 0.0"#, &json!({"a": 0.5}));
    takes(r#"{"a": 0.5, "p": 0.05,"#, &json!({"a": 0.5, "p": 0.05}));
    takes("{\"a\": 0.5\n", &json!({"a": 0.5}));
    takes(r#"{"a": true, "b": tru"#, &json!({"a": true}));
    takes(r#"{"a": "x", "b":"#, &json!({"a": "x"}));
    takes(r#"{"a": "x", "p": {"A": 0.5, "B": 0.5"#, &json!({"a": "x"}));
    takes(r#"{"p": {"A": 0.5, "B": 0.5}"#, &json!({"p": {"A": 0.5, "B": 0.5}}));
    takes(r#"{"a": 1, "a": 2"#, &json!({}));
}

#[test]
fn k18_reader_cuts_a_list_to_its_complete_entries() {
    takes(r#"{"l": ["x", "y", "z"#, &json!({"l": ["x", "y"]}));
    takes(r#"{"l": [1, 2, 3"#, &json!({"l": [1, 2]}));
    takes(r#"{"l": [{"a": 1, "b": 2}, {"a": 1, "b"#, &json!({"l": [{"a": 1, "b": 2}]}));
    takes(r#"{"a": "x", "l": ["#, &json!({"a": "x"}));
    takes(r#"{"l": [["x"], ["y", "z"#, &json!({"l": [["x"]]}));
    takes(r#"{"o": {"l": ["x", "y"#, &json!({}));
}

#[test]
fn k18_reader_takes_a_complete_object_of_a_cut_text() {
    let whole = json!({"a": "x", "p": 0.05});
    takes(r#"{"a": "x", "p": 0.05}"#, &whole);
    takes("```json\n{\"a\": \"x\", \"p\": 0.05}\n```\nThis means that", &whole);
}

#[test]
fn k18_reader_takes_complete_values_of_broken_json() {
    takes(r#"{"a": "He said "no", and", "b": "y"#, &json!({"a": "He said \"no\", and"}));
    takes(r#"{"a": "He said "no","#, &json!({}));
    takes(r#"{"a": "He said ""#, &json!({}));
    takes("{'a': 'x', 'b': .5, 'c': .", &json!({"a": "x", "b": 0.5}));
    takes("{a: 1, b: 2.", &json!({"a": 1}));
    takes(
        "{\"a\": \"two\nlines\", \"b\": [1, 2,], \"c\": [3, 4",
        &json!({"a": "two\nlines", "b": [1, 2], "c": [3]}),
    );
    takes(r#"{\"a\": \"x\", \"b\": \"y"#, &json!({"a": "x"}));
    takes("{\"a\": \"x\", \"n\": 1\u{fffd}", &json!({"a": "x"}));
}

#[test]
fn k18_reader_takes_nothing_from_inside_a_cut_value() {
    for draft in
        [r#"{"thinking": "perhaps {\"argument\": \"x\"} or"#, "{\"thinking\": \"first\n{'argument': 'x'} or"]
    {
        let read = read_object(Received::cut(draft), &["argument"]);
        assert!(matches!(read, Err(ReadError::NoObject)), "{draft}: {read:?}");
    }
    let corrected = r#"{"argument": "x"} or rather {"argument": "y"#;
    assert!(matches!(read_object(Received::cut(corrected), &["argument"]), Err(ReadError::NoObject)));
}

#[test]
fn k18_reader_takes_what_real_replies_list() {
    let replies = real_replies();
    for RealReply { file, take, text, is_cut, .. } in &replies {
        let Take::Fields(fields) = take else { continue };
        assert!(is_cut, "{file}");
        let taken = taken(text);
        for (key, quoted) in fields {
            if key == "stance" && file.starts_with("synthesise") {
                // It is quoted from inside the only disagreement, which is not complete: an entry is taken whole.
                assert!(!taken.contains_key("disagreements"), "{file}");
                continue;
            }
            let value = taken.get(key).unwrap_or_else(|| panic!("{file}: no {key}"));
            assert!(is_quoted(value, quoted), "{file}: {key}: {value}, not {quoted}");
        }
    }
    let of = |is_it: fn(&Take) -> bool| replies.iter().filter(|reply| is_it(&reply.take)).count();
    let counts = [
        of(|take| matches!(take, Take::Fields(_))),
        of(|take| matches!(take, Take::Text)),
        of(|take| matches!(take, Take::Nothing)),
    ];
    assert!(replies.is_empty() || counts == [30, 4, 12], "{counts:?}");
}

/// Checks that whatever was taken is in the whole as it is there: fields equal, lists of the outermost object up to some
/// entry.
pub(crate) fn check_part(taken: &Map<String, Value>, whole: &Map<String, Value>) -> Result<(), String> {
    for (key, value) in taken {
        let is_part = match (value, whole.get(key)) {
            (Value::Array(items), Some(Value::Array(all))) => all.starts_with(items),
            (value, Some(all)) => value == all,
            (_, None) => false,
        };
        if !is_part {
            return Err(format!("{key}: {value}, not {:?}", whole.get(key)));
        }
    }
    Ok(())
}

/// Returns what is left of a text of which only so many bytes came.
pub(crate) fn first_bytes(text: &str, bytes: usize) -> String {
    String::from_utf8_lossy(&text.as_bytes()[..bytes]).into_owned()
}

#[test]
fn k18_real_replies_cut_anywhere_complete_no_value() {
    for RealReply { file, text, is_cut, .. } in &real_replies() {
        let Ok(whole) = read_object(Received { text, is_cut: *is_cut, is_last: false }, &[]) else {
            continue;
        };
        for bytes in (0..text.len()).step_by(11) {
            let cut = first_bytes(text, bytes);
            check_part(&taken(&cut), &whole.value).unwrap_or_else(|error| panic!("{file}, {bytes}: {error}"));
        }
    }
}

#[derive(Deserialize)]
struct Case {
    id: String,
    input: String,
}

#[test]
fn k18_broken_replies_cut_anywhere_complete_no_value() {
    let path = format!("{}/../../../shared/data/broken_json/cases.jsonl", env!("CARGO_MANIFEST_DIR"));
    let Ok(lines) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: ../shared/data/broken_json is not here");
        return;
    };
    let cases = lines.split('\n').filter(|line| !line.is_empty());
    let (mut checked, mut odd) = (0, Vec::new());
    for case in cases.map(|line| serde_json::from_str::<Case>(line).expect("a case")) {
        let Ok(whole) = read_object(Received::whole(&case.input), &[]) else { continue };
        let ambiguous = |repair: &Repair| {
            matches!(repair, Repair::OtherObjectsIgnored { .. } | Repair::DuplicateKey { .. })
        };
        if whole.repairs.iter().any(ambiguous) {
            continue;
        }
        checked += 1;
        for bytes in 0..case.input.len() {
            let cut = first_bytes(&case.input, bytes);
            // What is complete as JSON is complete, though the rest may show that it was not meant as JSON.
            let object = &cut[cut.find('{').unwrap_or(cut.len())..];
            if serde_json::from_str::<Value>(object).is_err_and(|error| error.is_eof()) {
                continue;
            }
            if let Err(error) = check_part(&taken(&cut), &whole.value) {
                odd.push(format!("{} {bytes}: {error}\n    {cut}", case.id));
                break;
            }
        }
    }
    assert!(odd.is_empty(), "{} of {checked}:\n{}", odd.len(), odd.join("\n"));
    assert!(checked > 200, "{checked}");
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e3_f64..1e3).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "([a-zé]{1,6}|, |\\. |\"|\\{|\\}|: ){0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k18_objects_cut_anywhere_give_all_complete_values_only(
        fields in prop::collection::btree_map("[a-z_]{1,6}", any_value(), 1..5),
        pretty in any::<bool>(),
    ) {
        let whole: Map<String, Value> = fields.into_iter().collect();
        let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) };
        let text = text.unwrap();
        // Where each field ends: behind a comma, or at the closing bracket.
        let mut ends = Vec::new();
        for (place, (key, _)) in whole.iter().enumerate() {
            let until: Map<String, Value> = whole.clone().into_iter().take(place + 1).collect();
            let until = if pretty { serde_json::to_string_pretty(&until) } else { serde_json::to_string(&until) };
            ends.push((key, until.unwrap().len() - if pretty { 2 } else { 1 }));
        }
        for bytes in 0..=text.len() {
            let taken = taken(&first_bytes(&text, bytes));
            let part = check_part(&taken, &whole);
            prop_assert!(part.is_ok(), "{bytes} of {text}: {}", part.unwrap_err());
            for (key, end) in &ends {
                prop_assert!(bytes <= *end || taken.get(*key) == whole.get(*key), "{bytes} of {text}: {key}");
            }
        }
    }
}

//! The reply reader on real broken replies, and its promises for any text.

use std::time::{Duration, Instant};

use debate_prompts::prompts::Received;
use debate_prompts::reader::{DEPTH_MAX, REPLY_BYTES_MAX, ReadError, Reading, Repair, read, read_object};
use debate_prompts::tags::tag;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Case {
    id: String,
    input: String,
    source: String,
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
    lines
        .split('\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("a row of the material"))
        .collect()
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
        let decoded =
            [len, 6].into_iter().filter(|len| *len <= rest.len() && rest.is_char_boundary(*len)).find_map(
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
                let c = rest.chars().next().expect("the text goes on");
                plain.push(c);
                at += c.len_utf8();
            }
        }
    }
    plain
}

/// Checks what holds for every text.
fn check(text: &str) -> Result<Reading, ReadError> {
    let result = read_object(Received::whole(text), &[]);
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
    let (mut equal, mut equal_typed) = (0, 0);
    for case in &cases {
        let result = check(&case.input);
        let Value::Object(expected) = &case.expected_value else { continue };
        let read = result.as_ref().map(|reading| Value::Object(reading.value.clone()));
        let is_equal = read.is_ok_and(|read| same(&read, &Value::Object(expected.clone())));
        // One library bends its result to a type that is not in the text: nulls, aliases, numbers.
        match case.source.as_str() {
            "BoundaryML/baml" => equal_typed += u32::from(is_equal),
            _ => equal += u32::from(is_equal),
        }
        if !is_equal && std::env::var_os("SHOW_DIFFERENCES").is_some() {
            eprintln!(
                "{} {}\n  {}\n  expected {}\n  read {result:?}",
                case.id, case.source, case.input, case.expected_value
            );
        }
    }
    eprintln!("read as expected: {equal} of 196 objects, {equal_typed} of 35 bent to a type");
    // Eleven objects end within a text: other libraries take what there is of it, and this reader does not (K18).
    assert!(equal >= 154, "{equal} of 196");
    assert!(equal_typed >= 17, "{equal_typed} of 35");
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

#[test]
fn strict_objects_are_read_as_they_are() {
    let reading = check(" {\"b\": [1, {\"a\": null}], \"a\": 1.50, \"c\": \"</think> {x}\"}\n").unwrap();
    assert_eq!(Value::Object(reading.value), json!({"b": [1, {"a": null}], "a": 1.5, "c": "</think> {x}"}));
    assert_eq!(reading.repairs, []);
}

#[test]
fn the_last_value_of_a_doubled_key_counts_and_is_reported() {
    let reading = check(r#"{"a": 1, "b": {"c": 1, "c": 2}, "a": 3}"#).unwrap();
    assert_eq!(Value::Object(reading.value), json!({"a": 3, "b": {"c": 2}}));
    let key = |key: &str| Repair::DuplicateKey { key: key.to_owned() };
    assert_eq!(reading.repairs, [key("c"), key("a")]);
    let reading = check(r#"{"a": 1, "a": 2,}"#).unwrap();
    assert_eq!(reading.value["a"], 2);
    assert_eq!(reading.repairs, [key("a"), Repair::Comma]);
}

#[track_caller]
fn reads(text: &str, expected: &Value, repairs: &[Repair]) {
    let reading = check(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&Value::Object(reading.value), expected, "{text}");
    assert_eq!(reading.repairs, repairs, "{text}");
}

#[test]
fn what_stands_around_the_object_is_left_aside() {
    let a = json!({"a": 1});
    reads("\u{feff}{\"a\": 1}\u{a0}", &a, &[Repair::Blank]);
    reads("```json\n{\"a\": 1}\n```", &a, &[Repair::FenceRemoved]);
    reads("Here it is:\n{\"a\": 1}\nDone.", &a, &[Repair::TextAroundRemoved]);
    reads("<think>{\"a\": 2}</think>{\"a\": 1}", &a, &[Repair::ThinkingRemoved]);
    reads("so {a: 2} it is</think>\n{\"a\": 1}", &a, &[Repair::ThinkingRemoved]);
    reads("{\"a\": 1}\n<think>{\"a\": 2}", &a, &[Repair::ThinkingRemoved]);
    reads("[{\"a\": 1}]", &a, &[Repair::TextAroundRemoved]);
    reads("\"{\\\"a\\\": 1}\"", &a, &[Repair::Unescaped]);
    reads("{\\\"a\\\": 1}", &a, &[Repair::Unescaped]);
}

#[test]
fn of_several_objects_the_last_complete_one_is_read() {
    let others = |objects| Repair::OtherObjectsIgnored { objects };
    reads(
        "{\"a\": 1} or rather {\"a\": 2} in $\\frac{x}{y}$ and {\"a\": 3",
        &json!({"a": 2}),
        &[Repair::TextAroundRemoved, others(2)],
    );
    let reading = read_object(Received::whole("{\"p\": 1, \"q\": 2} {\"note\": 1}"), &["p", "q"]).unwrap();
    assert_eq!(Value::Object(reading.value), json!({"p": 1, "q": 2}), "known keys tell the answer");
    let (answer, _): (Answer, _) = read(Received::whole("{\"yes\": 0.5} and {\"no\": 1}"), &[], &[]).unwrap();
    assert_eq!(answer, Answer { yes: 0.5 }, "the shape tells the answer");
    let Err(ReadError::Shape { source, .. }) =
        read::<Answer>(Received::whole("{\"yes\": \"maybe\"}"), &[], &[])
    else {
        panic!("a text is no number");
    };
    assert!(source.to_string().contains("invalid type"), "{source}");
}

#[derive(Debug, PartialEq, Deserialize)]
struct Answer {
    yes: f64,
}

#[test]
fn a_broken_object_is_repaired_and_the_repairs_are_said() {
    let text = Some("text".to_owned());
    reads(
        r#"{"text": "He said "no", and "yes", then left, or so", "p": 0.5}"#,
        &json!({"text": "He said \"no\", and \"yes\", then left, or so", "p": 0.5}),
        &[Repair::UnescapedQuotes],
    );
    reads(
        r#"{"p": 0.5, "text": "so far, and"#,
        &json!({"p": 0.5}),
        &[Repair::Truncated { key: text.clone() }, Repair::Cut],
    );
    reads(
        r#"{"p": 0.5, "text": 0.1"#,
        &json!({"p": 0.5, "text": 0.1}),
        &[Repair::Truncated { key: text.clone() }],
    );
    reads(
        "{\"text\": \"a, b,\n \"p\": 0.5}",
        &json!({"text": "a, b", "p": 0.5}),
        &[Repair::ControlCharacter, Repair::MissingQuote { key: text.clone() }],
    );
    reads(
        "{'text': 'it's \"so\"', }",
        &json!({"text": "it's \"so\""}),
        &[Repair::OtherQuotes, Repair::UnescapedQuotes, Repair::Comma],
    );
    reads(
        "{text: New York, NY, p: .5, q: 80%, r: True} // done",
        &json!({"text": "New York, NY", "p": 0.5, "q": "80%", "r": true}),
        &[
            Repair::TextAroundRemoved,
            Repair::UnquotedKey,
            Repair::UnquotedText { key: text },
            Repair::Number,
            Repair::UnquotedText { key: Some("q".to_owned()) },
            Repair::Literal,
        ],
    );
    reads(
        r#"{"p": {"yes": 0.4, "no": 0.6}}, "text": "\ud83d\ude00 \ud83d \d", "q": NaN}"#,
        &json!({"p": {"yes": 0.4, "no": 0.6}, "text": "😀 \u{fffd} \\d", "q": null}),
        &[Repair::Bracket, Repair::UnknownEscape, Repair::Literal],
    );
    reads(
        "{\"a\": [1 2, /* x */ 3, ...], \"b\" 4 \"c\": }",
        &json!({"a": ["1 2", 3], "b": 4, "c": null}),
        &[
            Repair::UnquotedText { key: Some("a".to_owned()) },
            Repair::Comment,
            Repair::Ellipsis,
            Repair::Comma,
            Repair::MissingColon,
            Repair::MissingValue { key: "c".to_owned() },
        ],
    );
}

#[test]
fn what_holds_no_object_is_refused() {
    assert!(matches!(check(""), Err(ReadError::Empty)));
    assert!(matches!(check("<think>{\"a\": 1}</think>\n"), Err(ReadError::Empty)));
    for text in
        ["I cannot help with that.", "[1, 2]", "\"text\"", "0.5", "null", "{", "{\"a", "$\\frac{x}{y}$"]
    {
        assert!(matches!(check(text), Err(ReadError::NoObject)), "{text}: {:?}", check(text));
    }
    assert!(matches!(check(&" ".repeat(REPLY_BYTES_MAX + 1)), Err(ReadError::TooLong { .. })));
}

#[test]
fn depth_is_limited_as_in_strict_parsing() {
    let nested = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(check(&nested(DEPTH_MAX)).unwrap().repairs, []);
    assert!(matches!(check(&nested(DEPTH_MAX + 1)), Err(ReadError::TooDeep)));
}

#[test]
fn a_megabyte_of_anything_is_read_in_bounded_time() {
    let pieces = [
        "{",
        "[",
        "}",
        "]",
        "{[",
        "{\"a\":",
        "{\"a\":[",
        "{\"",
        "\"",
        "'",
        "{a:",
        "{a:1}",
        "{\"a\":1}",
        "{\"a:1,",
        "{\"a\":\"x,",
        "\"a\":\"x,",
        "{\"a\":\"x\ny\",",
        "<think>",
        "<think></think>",
        "</think>{",
        "<",
        "```",
        "{```",
        "{//",
        "{/*",
        "{\"a\":1,",
        ",",
        "{,",
        "{:",
        "\\",
        "{\"\\u",
        "{\\\"",
        " ",
        "{\"a\" ",
        "{\"a\":\"b\" ",
        "{\"a\":[\"x\" y\",",
        "é",
        "“",
        "{“",
        "\u{feff}",
        "+\"",
    ];
    let check = |text: &str, is_cut: bool| {
        let begun = Instant::now();
        let result = read_object(Received { text, is_cut, is_last: false }, &["a"]);
        let start = &text[..text.floor_char_boundary(40)];
        assert!(begun.elapsed() < Duration::from_secs(120), "{start}…: {result:?}");
    };
    for piece in pieces {
        for (start, end) in
            [("", ""), ("{\"a\": ", "}"), ("{\"a\": \"", ""), ("{\"a\": [", "}"), ("{", "\"}")]
        {
            check(&format!("{start}{}{end}", piece.repeat((1 << 15) / piece.len())), false);
            check(&format!("{start}{}", piece.repeat((1 << 12) / piece.len())), true);
        }
    }
    for brackets in ["{", "[", "{[", "{\"a\":", "{\"a\":[", "}"] {
        check(&brackets.repeat((1 << 20) / brackets.len()), false);
        check(&brackets.repeat((1 << 16) / brackets.len()), true);
    }
}

fn broken(json: &str, edits: &[(usize, Edit)]) -> String {
    let mut chars: Vec<char> = json.chars().collect();
    for (at, edit) in edits {
        let at = at % (chars.len() + 1);
        match edit {
            Edit::Cut => chars.truncate(at),
            Edit::Remove => {
                if at < chars.len() {
                    chars.remove(at);
                }
            }
            Edit::Insert(c) => chars.insert(at, *c),
        }
    }
    chars.into_iter().collect()
}

#[derive(Clone, Debug)]
enum Edit {
    Cut,
    Remove,
    Insert(char),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        1 => Just(Edit::Cut),
        4 => Just(Edit::Remove),
        6 => prop::sample::select("\"'“{}[]:,\\/#`<>+- \n\u{a0}aué…".chars().collect::<Vec<_>>()).prop_map(Edit::Insert),
    ]
}

fn any_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e9_f64..1e9).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "([a-z]{1,6}|, |\\. |\"|'|: ){0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,6}|.{0,3}", inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    prop::collection::btree_map("[a-z_]{1,6}", value, 1..5)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_without_a_panic_or_an_invented_key(text in any::<String>()) {
        let _ = check(&text);
    }

    #[test]
    fn any_soup_of_json_is_read_without_a_panic_or_an_invented_key(
        text in "([{}\\[\\]:,\"'“”‘`+#/\\\\<> \\n-]|\\.\\.\\.|```json|//|/\\*|\\*/|\\\\u|d83d|true|None|a|b|é|1|0\\.|e5|<think>|</think>){0,60}",
    ) {
        let _ = check(&text);
    }

    #[test]
    fn a_strict_object_stays_as_it_is(value in any_object(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let reading = check(&text).unwrap();
        prop_assert_eq!(Value::Object(reading.value), value.clone());
        prop_assert_eq!(reading.repairs, vec![]);
        // The same in a fence: strict inside, whatever its texts hold.
        let reading = read_object(Received::whole(&format!("```json\n{text}\n```")), &[]).unwrap();
        prop_assert_eq!(Value::Object(reading.value), value);
        prop_assert_eq!(reading.repairs, vec![Repair::FenceRemoved]);
    }

    #[test]
    fn a_damaged_object_is_read_without_a_panic_or_an_invented_key(
        value in any_object(),
        edits in prop::collection::vec((any::<usize>(), edit()), 1..5),
    ) {
        let _ = check(&broken(&serde_json::to_string(&value).unwrap(), &edits));
    }

    #[test]
    fn a_trailing_comma_or_a_lost_end_changes_no_value(value in any_object()) {
        let text = serde_json::to_string(&value).unwrap();
        let body = text.strip_suffix('}').unwrap();
        let reading = read_object(Received::whole(&format!("{body},}}")), &[]).unwrap();
        prop_assert_eq!(Value::Object(reading.value), value.clone());
        prop_assert_eq!(reading.repairs, vec![Repair::Comma]);
        let reading = read_object(Received::whole(body), &[]).unwrap();
        prop_assert_eq!(Value::Object(reading.value), value);
    }
}

//! The lenient reader leaves strict JSON as it is, says what it mended, invents no key; and what is shown of a
//! stream does not depend on where it was cut.

use debate_prompts::prompts::Received;
use debate_prompts::public_text::PublicText;
use debate_prompts::reader::read_object;
use serde_json::Value;

/// Checks what holds for every reply.
pub(crate) fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let strict = serde_json::from_str::<Value>(text).ok().filter(Value::is_object);
    match (read_object(Received::whole(text), &[]), strict) {
        (Ok(reading), Some(strict)) => assert_eq!(Value::Object(reading.value), strict),
        (Ok(reading), None) => {
            assert!(!reading.repairs.is_empty(), "it says what it repaired");
            stand_in(text, &Value::Object(reading.value));
        }
        (Err(error), Some(_)) => panic!("strict JSON is read: {error}"),
        (Err(_), None) => {}
    }
    for public in [PublicText::plain, || PublicText::field("argument")] {
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let halves = text.split_at(text.floor_char_boundary(text.len() / 2));
        let whole = shown(public(), [text]);
        assert_eq!(shown(public(), pieces.iter().map(String::as_str)), whole);
        assert_eq!(shown(public(), [halves.0, halves.1]), whole);
    }
}

/// Checks that the longest word of every key stands in the text, unless escapes may have spelt it.
fn stand_in(text: &str, value: &Value) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let words = key.split(|c: char| !c.is_ascii_alphanumeric());
                let word = words.max_by_key(|word| word.len()).unwrap_or_default();
                assert!(text.contains(word) || text.contains('\\'), "{key:?} was invented");
                stand_in(text, value);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| stand_in(text, item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn shown<'a>(mut public: PublicText, pieces: impl IntoIterator<Item = &'a str>) -> String {
    let mut shown = String::new();
    for piece in pieces {
        shown += &public.push(piece);
    }
    shown + &public.finish()
}

//! Any way of cutting a stream into chunks shows the same text (K10).

use debate_prompts::public_text::PublicText;
use proptest::prelude::*;
use serde_json::{Value, json};

fn shown(mut public: PublicText, text: &str, cuts: &[usize]) -> String {
    let mut chars = text.chars().peekable();
    let mut shown = String::new();
    let mut cuts = cuts.iter().cycle();
    while chars.peek().is_some() {
        let len = cuts.next().copied().unwrap_or(usize::MAX);
        let chunk: String = chars.by_ref().take(len).collect();
        shown += &public.push(&chunk);
    }
    shown + &public.finish()
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\"\\\\{}\\[\\]:, é😀a-c]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("argument|[a-z]{1,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Escapes every character above ASCII, as some providers do.
fn ascii(json: &str) -> String {
    let mut ascii = String::new();
    for c in json.chars() {
        if c.is_ascii() {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                ascii.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    ascii
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn k10_the_text_of_the_field_is_shown_for_any_chunking(
        argument in any::<String>(),
        before in proptest::collection::btree_map("[a-z]{1,3}", any_json(), 0..4),
        after in any_json(),
        cuts in proptest::collection::vec(1_usize..9, 1..6),
        escaped in any::<bool>(),
        pretty in any::<bool>(),
    ) {
        let mut object: serde_json::Map<String, Value> = before.into_iter().collect();
        object.insert("argument".to_owned(), json!(argument));
        object.insert("zz_after".to_owned(), after);
        let value = Value::Object(object);
        let plain = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let reply = if escaped { ascii(&plain) } else { plain };
        prop_assert_eq!(shown(PublicText::field("argument"), &reply, &cuts), argument);
    }

    #[test]
    fn k10_any_text_shows_the_same_for_any_chunking(
        reply in "(<think>|</think>|<|>|\\{|\\}|\"argument\": ?\"|\"|, |\\\\|\\\\ud83d|\\\\ude00|[a-zé😀]){0,40}",
        cuts in proptest::collection::vec(1_usize..5, 1..6),
    ) {
        prop_assert_eq!(
            shown(PublicText::field("argument"), &reply, &cuts),
            shown(PublicText::field("argument"), &reply, &[usize::MAX])
        );
        prop_assert_eq!(
            shown(PublicText::plain(), &reply, &cuts),
            shown(PublicText::plain(), &reply, &[usize::MAX])
        );
    }

    #[test]
    fn k10_a_plain_reply_is_shown_without_its_thinking(
        said in "[a-zé <>/\\n]{0,30}",
        thought in "[a-z <>{}\"\\n]{0,30}",
        cuts in proptest::collection::vec(1_usize..5, 1..6),
    ) {
        let reply = format!("{said}<think>{thought}</think>{said}");
        prop_assert_eq!(shown(PublicText::plain(), &reply, &cuts), format!("{said}{said}"));
    }
}

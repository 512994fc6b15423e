//! Comparison of texts as readers see them: texts that look the same are equal.

use unicode_normalization::UnicodeNormalization as _;

/// Returns what two texts have in common that look alike: compatible characters made one (NFKC), in lower case, and without
/// what shows nothing of itself.
pub(crate) fn key(text: &str) -> String {
    let visible = text.nfkc().filter(|c| !is_ignorable(*c) && !c.is_whitespace());
    // Some capitals become several letters, which may have to be composed again.
    visible.flat_map(char::to_lowercase).nfkc().filter(|c| !is_ignorable(*c)).collect()
}

/// Returns whether a character shows nothing of itself (Unicode: default ignorable), or only turns others around.
fn is_ignorable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
                | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f13_texts_that_look_alike_have_one_key() {
        for (one, other) in [
            ("caf\u{e9}", "cafe\u{301}"),
            ("yes", "ye\u{200b}s"),
            ("Yes", "YES"),
            ("\u{202e}no", "no"),
            ("fi", "\u{fb01}"),
            ("STRASSE", "strasse"),
            ("5 %", "5\u{a0}%"),
        ] {
            assert_eq!(key(one), key(other), "{one:?} {other:?}");
        }
        assert_ne!(key("yes"), key("no"));
        assert_ne!(key("cafe"), key("caf\u{e9}"));
    }
}

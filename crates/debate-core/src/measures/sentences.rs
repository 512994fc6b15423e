//! Counting sentences in prose (rule V3).

/// What ends with a full stop and no sentence.
const ABBREVIATIONS: [&str; 12] =
    ["e.g.", "i.e.", "etc.", "vs.", "cf.", "dr.", "mr.", "mrs.", "ms.", "st.", "approx.", "fig."];

/// Returns how many sentences a text has.
///
/// A sentence ends with `.`, `!`, `?` or `…` (or their full-width forms), closing quotes and brackets included, before
/// white space or the end; so `v1.2` and `a.b()` end none, and neither do abbreviations. What stands behind the last end
/// is a sentence too. A line that is blank ends a sentence.
#[must_use]
pub fn count(text: &str) -> u32 {
    let mut sentences: u32 = 0;
    for paragraph in text.split("\n\n") {
        let mut is_open = false;
        for word in paragraph.split_whitespace() {
            let bare = word.trim_end_matches(['"', '\'', ')', ']', '*', '_', '`', '”', '’', '»', '」']);
            let ends = bare.ends_with(['.', '!', '?', '…', '。', '！', '？']);
            let bare = bare.trim_start_matches(['(', '[', '"', '\'', '“', '‘']).to_lowercase();
            if !is_open && is_number(&bare) {
                continue;
            }
            is_open |= word.contains(char::is_alphanumeric);
            if is_open && ends && !ABBREVIATIONS.contains(&bare.as_str()) {
                sentences += 1;
                is_open = false;
            }
        }
        sentences += u32::from(is_open);
    }
    sentences
}

/// Returns whether a word numbers an item of a list, such as `2.`
fn is_number(word: &str) -> bool {
    word.strip_suffix('.')
        .is_some_and(|digits| digits.len() < 3 && digits.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v3_sentences_are_counted_as_people_do() {
        for (text, sentences) in [
            ("", 0),
            (" \n\n ", 0),
            ("...", 0),
            ("One", 1),
            ("One. Two! Three?", 3),
            ("Keep `env.get()` in v1.2, e.g. for tests. Drop the rest.", 2),
            ("He said “no.” Then (he left.) And that was it…", 3),
            ("It fails on line 12. That is so.", 2),
            ("It fails on line 12. That is so.", 2),
            ("1. First point here. 2. Second point there.", 2),
            ("No stop here\n\nand none there", 2),
            ("这是第一句。 这是第二句！", 2),
        ] {
            assert_eq!(count(text), sentences, "{text:?}");
        }
    }
}

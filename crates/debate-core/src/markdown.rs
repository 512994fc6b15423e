//! Text of people and models in Markdown, shown as plain text. It adds no formatting, no links and no
//! mentions of users, wherever the document is rendered (rule K13).

use crate::steering::{steers, turns_text};

/// From so many hexadecimal digits on, GitHub takes a word for a commit's name.
const COMMIT_DIGITS_MIN: usize = 7;

/// Invisible, and no part of a word.
const GAP: char = '\u{200b}';

/// Returns a text as Markdown that shows it and does nothing else, on one line.
#[must_use]
pub fn shown(text: &str) -> String {
    let quiet = quiet(text);
    let mut safe = String::with_capacity(quiet.len() + quiet.len() / 8);
    for c in quiet.chars() {
        if "\\`*_{}[]()!|~+-".contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// Returns a text as HTML without links or mentions of users, on one line; Markdown within it is unchanged.
#[must_use]
pub fn quiet(text: &str) -> String {
    let text = unlinked(&one_line(text));
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            // An invisible space keeps a name from being called, a number and an address from being linked.
            '@' | '#' | ':' => {
                safe.push(c);
                safe.push(GAP);
            }
            // What stands between two of them is set as mathematics, unless each is an element of its own.
            '$' => safe.push_str("<span>$</span>"),
            c => safe.push(c),
        }
    }
    safe.replace("www.", &format!("www{GAP}."))
}

/// Parts what GitHub takes for an issue or a commit: `GH-12`, and a word of hexadecimal digits.
fn unlinked(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end.max(c.len_utf8()));
        let is_name = word.len() >= COMMIT_DIGITS_MIN && word.chars().all(|c| c.is_ascii_hexdigit());
        for (place, c) in word.chars().enumerate() {
            if is_name && place > 0 && place % (COMMIT_DIGITS_MIN - 1) == 0 {
                safe.push(GAP);
            }
            safe.push(c);
        }
        if word.eq_ignore_ascii_case("gh") && behind.starts_with('-') {
            safe.push(GAP);
        }
        rest = behind;
    }
    safe
}

/// Returns a text as Markdown on one line, for documents that people read as they are, too: signs that mean something are
/// escaped, and what would call somebody or link something is parted.
#[must_use]
pub fn inline(text: &str) -> String {
    let text = text.trim();
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for (at, c) in text.char_indices() {
        let rest = &text[at + c.len_utf8()..];
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => safe.extend(['\\', c]),
            c if turns_text(c) => {}
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
        let calls = matches!(c, '@' | '#') && rest.starts_with(|next: char| next.is_alphanumeric());
        if calls || (c == ':' && rest.starts_with("//")) {
            safe.push(GAP);
        }
    }
    safe.replace("www.", &format!("www{GAP}."))
}

/// Returns a text on one line in which nothing steers a terminal or turns text around.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(steers, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k13_words_are_never_markup_and_stay_on_their_line() {
        assert_eq!(
            shown("# a\n[b](c) <d> | \u{202e}e"),
            "#\u{200b} a \\[b\\]\\(c\\) &lt;d&gt; \\| \u{fffd}e"
        );
        // A sign that takes the next one's meaning away must not take it from ours.
        assert_eq!(shown("\\[b] ![d] &lt;f"), "\\\\\\[b\\] \\!\\[d\\] &amp;lt;f");
        assert_eq!(shown("a\r\u{1b}[2Jb\u{9b}31mc\u{7}"), "a \u{fffd}\\[2Jb\u{fffd}31mc\u{fffd}");
        assert_eq!(
            shown("[x](javascript:y) @me #3"),
            "\\[x\\]\\(javascript:\u{200b}y\\) @\u{200b}me #\u{200b}3"
        );
    }

    #[test]
    fn k13_text_in_a_report_is_never_markup_and_mentions_no_user() {
        assert_eq!(inline("# a\n[b](c) <d> | \u{202e}e"), "\\# a \\[b\\](c) &lt;d&gt; \\| e");
        // A sign that takes the next one's meaning away must not take it from ours.
        assert_eq!(inline("\\[b](c) ![d](e) &lt;f"), "\\\\\\[b\\](c) \\!\\[d\\](e) &amp;lt;f");
        assert_eq!(inline("a\r\u{1b}[2Jb\u{9b}31mc\u{7}\u{2067}d\u{200f}"), "a  \\[2Jb 31mc d");
        let parted = "@\u{200b}me, \\#\u{200b}3, http:\u{200b}//e.org, www\u{200b}.e.org: 5 @ 1";
        assert_eq!(inline("@me, #3, http://e.org, www.e.org: 5 @ 1"), parted);
    }

    #[test]
    fn k13_words_link_no_issue_and_no_commit() {
        for (text, parted) in [
            ("see GH-12 and gh-3", "see GH_-12 and gh_-3"),
            ("since 0123abc, e.g. DEADBEEFdeadbeef1", "since 0123ab_c, e.g. DEADBE_EFdead_beef1"),
            ("a/b@0123abcd", "a/b@0123ab_cd"),
            ("12345678 tokens", "123456_78 tokens"),
            ("defaced 0123ab bigHash-x, 0123abg", "deface_d 0123ab bigHash-x, 0123abg"),
        ] {
            assert_eq!(unlinked(text), parted.replace('_', "\u{200b}"));
            assert!(!shown(text).contains("GH\\-") && !quiet(text).contains("0123abc"), "{text}");
        }
        let name = "0123456789abcdef0123456789abcdef01234567";
        let parts = unlinked(name);
        assert!(parts.split('\u{200b}').all(|part| part.len() < COMMIT_DIGITS_MIN));
    }
}

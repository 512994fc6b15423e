//! Reads replies written with XML-like tags, such as `<answer>yes</answer>`, and hides private thinking.
//!
//! Never looks inside a thinking block, and never treats what is there as an answer.

use std::ops::Range;

/// Names of the blocks in which models think privately.
const THINKING_TAGS: [&str; 4] = ["think", "thinking", "reasoning", "scratchpad"];

/// Returns the trimmed text of the last `<name>…</name>` outside private thinking, or `None` when
/// there is none.
///
/// The last one, because models draft before they answer. Names are compared without case. A block
/// that is never closed ends at the next line that begins with a tag, or at the end of the text.
pub fn tag<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let public = public_ranges(text);
    let mut found = None;
    for range in public {
        let part = &text[range];
        let mut from = 0;
        while let Some((_, body)) = find_tag(part, from, name, false) {
            let rest = &part[body..];
            let (end, next) = match find_tag(part, body, name, true) {
                Some((end, next)) => (end - body, next),
                None => (unclosed_end(rest), part.len()),
            };
            // A tag opened twice and closed once: the inner one counts.
            let inner = last_opening(&rest[..end], name).unwrap_or(0);
            found = Some(rest[inner..end].trim());
            from = next;
        }
    }
    found
}

/// Returns `text` without its private thinking (`<think>…</think>` and the like).
///
/// A closing tag that was never opened hides everything before it: some chat templates open the
/// block themselves. An opening tag that is never closed hides everything after it.
pub fn without_thinking(text: &str) -> String {
    public_ranges(text).into_iter().map(|range| &text[range]).collect()
}

/// Returns the parts of `text` that are not private thinking, in order.
pub(crate) fn public_ranges(text: &str) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    let mut at = 0;
    while let Some(offset) = text[at..].find('<') {
        let start = at + offset;
        match thinking_tag(&text[start..]) {
            Some(ThinkingTag { closing: true, len, .. }) => {
                ranges.clear();
                from = start + len;
                at = from;
            }
            Some(ThinkingTag { closing: false, len, name }) => {
                ranges.push(from..start);
                at = match find_tag(text, start + len, name, true) {
                    Some((_, next)) => next,
                    None => text.len(),
                };
                from = at;
            }
            None => at = start + 1,
        }
    }
    ranges.push(from..text.len());
    ranges.retain(|range| !range.is_empty());
    ranges
}

/// An opening or closing tag of a thinking block, at the start of a text.
pub(crate) struct ThinkingTag {
    pub(crate) name: &'static str,
    pub(crate) closing: bool,
    /// Length in bytes, angle brackets included.
    pub(crate) len: usize,
}

/// Returns the thinking tag that `text` begins with.
pub(crate) fn thinking_tag(text: &str) -> Option<ThinkingTag> {
    THINKING_TAGS.into_iter().find_map(|name| {
        let opening = tag_len(text, name, false).map(|len| ThinkingTag { name, closing: false, len });
        opening.or_else(|| tag_len(text, name, true).map(|len| ThinkingTag { name, closing: true, len }))
    })
}

/// Returns the length of the thinking block that `text` begins with: of a closing tag alone, of a
/// block with both its tags, or of all of `text` when the block is never closed.
pub(crate) fn thinking_block_len(text: &str) -> Option<usize> {
    let tag = thinking_tag(text)?;
    if tag.closing {
        return Some(tag.len);
    }
    Some(find_tag(text, tag.len, tag.name, true).map_or(text.len(), |(_, end)| end))
}

/// Tells whether more text could turn `text`, which begins with `<`, into a thinking tag.
pub(crate) fn may_become_thinking_tag(text: &str) -> bool {
    let name = text.strip_prefix("</").or_else(|| text.strip_prefix('<')).unwrap_or(text);
    THINKING_TAGS.iter().any(|tag| {
        name.len() <= tag.len() && tag.as_bytes()[..name.len()].eq_ignore_ascii_case(name.as_bytes())
    })
}

/// Returns start and end of the first opening (or closing) tag `name` at or after `from`.
fn find_tag(text: &str, from: usize, name: &str, closing: bool) -> Option<(usize, usize)> {
    let mut at = from;
    while let Some(offset) = text[at..].find('<') {
        let start = at + offset;
        if let Some(len) = tag_len(&text[start..], name, closing) {
            return Some((start, start + len));
        }
        at = start + 1;
    }
    None
}

fn last_opening(text: &str, name: &str) -> Option<usize> {
    let mut last = None;
    let mut from = 0;
    while let Some((_, end)) = find_tag(text, from, name, false) {
        last = Some(end);
        from = end;
    }
    last
}

/// Returns the length of the tag `<name>` or `</name>` when `text` begins with it.
fn tag_len(text: &str, name: &str, closing: bool) -> Option<usize> {
    let rest = text.strip_prefix(if closing { "</" } else { "<" })?;
    let head = rest.as_bytes().get(..name.len())?;
    if !head.eq_ignore_ascii_case(name.as_bytes()) {
        return None;
    }
    (rest.as_bytes().get(name.len()) == Some(&b'>')).then(|| text.len() - rest.len() + name.len() + 1)
}

fn unclosed_end(text: &str) -> usize {
    text.find("\n<").or_else(|| text.find("</")).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_answer_outside_thinking_counts() {
        let reply = "<think>maybe <answer>no</answer></think><answer>draft</answer>\n<Answer> yes </ANSWER>";
        assert_eq!(tag(reply, "answer"), Some("yes"));
        assert_eq!(tag(reply, "confidence"), None);
    }

    #[test]
    fn thinking_that_the_template_opened_is_hidden_up_to_its_closing_tag() {
        let reply = "first I think <answer>no</answer>\n</think>\n\n<answer>yes</answer>";
        assert_eq!(tag(reply, "answer"), Some("yes"));
        assert_eq!(without_thinking(reply), "\n\n<answer>yes</answer>");
    }

    #[test]
    fn thinking_that_never_ends_hides_the_rest() {
        assert_eq!(without_thinking("said <thinking>not said <answer>no</answer>"), "said ");
        assert_eq!(tag("<think><answer>no</answer>", "answer"), None);
    }

    #[test]
    fn an_unclosed_tag_ends_at_the_next_line_that_begins_with_one() {
        assert_eq!(tag("<answer>yes\n<confidence>70</confidence>", "answer"), Some("yes"));
        assert_eq!(tag("<answer>yes, because", "answer"), Some("yes, because"));
    }

    #[test]
    fn a_tag_with_a_longer_name_is_another_tag() {
        assert_eq!(tag("<answers>no</answers>", "answer"), None);
        assert_eq!(without_thinking("<thinker>kept</thinker>"), "<thinker>kept</thinker>");
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in "(<|>|/|think|answer|é|\\n|[a-z]){0,60}") {
            let public = without_thinking(&text);
            prop_assert!(public.len() <= text.len());
            if let Some(answer) = tag(&text, "answer") {
                prop_assert!(text.contains(answer));
            }
        }
    }
}

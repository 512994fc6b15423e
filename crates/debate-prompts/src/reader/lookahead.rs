//! Looks ahead in broken JSON to tell what a quote, comma or bracket was meant to be.
//!
//! Every look is bounded, so that repairing stays linear.

/// Longest key, in bytes.
pub(super) const KEY_BYTES_MAX: usize = 256;

/// What encloses a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// An object; with `bare` its keys have no quotes.
    Object {
        /// A key without quotes was seen in it.
        bare: bool,
    },
    /// An array.
    Array,
}

/// Returns the first position at or after `at` that is no blank.
pub(super) fn skip_blank(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    at + rest.len() - rest.trim_start_matches(is_blank).len()
}

/// Tells whether `c` is white space between tokens.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{feff}'
}

/// Returns the closing quotes that belong to `c` when it opens a text.
pub(super) fn closing_quotes(c: char) -> Option<&'static [char]> {
    match c {
        '"' => Some(&['"']),
        '\'' => Some(&['\'']),
        '“' | '”' | '„' => Some(&['”', '“', '"']),
        '‘' | '’' => Some(&['’', '‘', '\'']),
        '`' | '´' => Some(&['`', '´', '\'']),
        _ => None,
    }
}

/// Tells whether a quoted key and a colon begin at `at`.
pub(super) fn quoted_key_at(text: &str, at: usize) -> bool {
    let rest = &text[at..];
    let Some(quotes) = rest.chars().next().and_then(closing_quotes) else { return false };
    let mut escaped = false;
    for (offset, c) in rest.char_indices().skip(1) {
        if offset > KEY_BYTES_MAX || c == '\n' {
            return false;
        }
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if quotes.contains(&c) {
            return text[skip_blank(text, at + offset + c.len_utf8())..].starts_with(':');
        }
    }
    false
}

/// Tells whether a key without quotes and a colon begin at `at`; not where a text that was cut leaves it open.
pub(super) fn bare_key_at(text: &str, at: usize, is_cut: bool) -> bool {
    let rest = &text[at..];
    let len = rest
        .char_indices()
        .take_while(|(offset, c)| {
            *offset <= KEY_BYTES_MAX && (c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
        })
        .map(|(offset, c)| offset + c.len_utf8())
        .last()
        .unwrap_or(0);
    let after = &text[skip_blank(text, at + len)..];
    let may_be_address = after.starts_with("://") || (is_cut && "://".starts_with(after));
    len > 0 && after.starts_with(':') && !may_be_address
}

/// Tells whether a comma and a quoted key follow at `at`.
pub(super) fn member_follows(text: &str, at: usize) -> bool {
    let comma = skip_blank(text, at);
    text[comma..].starts_with(',') && quoted_key_at(text, skip_blank(text, comma + 1))
}

/// Tells whether a quote that ends at `at` closes the value of the innermost of `frames`; not where a text that was cut
/// leaves it open.
pub(super) fn closes_value(text: &str, at: usize, frames: &[Frame], is_cut: bool) -> bool {
    let next = skip_blank(text, at);
    let rest = &text[next..];
    let broken = text[at..next].contains('\n');
    let Some(c) = rest.chars().next() else { return !is_cut };
    match c {
        '}' | ']' => closes_frame(text, next, frames, is_cut),
        ',' => item_follows(text, next + 1, frames.last().copied(), is_cut),
        '+' => text[skip_blank(text, next + 1)..].starts_with(['"', '\'']),
        '/' => rest.starts_with("//") || rest.starts_with("/*"),
        '#' => next > at,
        '`' if rest.starts_with("```") => true,
        _ => match frames.last() {
            Some(Frame::Object { bare }) => {
                quoted_key_at(text, next) || ((*bare || broken) && bare_key_at(text, next, is_cut))
            }
            Some(Frame::Array) => {
                next > at && (closing_quotes(c).is_some() || (broken && starts_value(rest)))
            }
            None => true,
        },
    }
}

/// Tells whether the bracket at `at` closes the innermost of `frames` (or one around it).
fn closes_frame(text: &str, at: usize, frames: &[Frame], is_cut: bool) -> bool {
    let Some((_, outer)) = frames.split_last() else { return true };
    let is_object = |frame: &Frame| matches!(frame, Frame::Object { .. });
    let fits = match text.as_bytes()[at] {
        b'}' => frames.iter().any(is_object),
        _ => frames.contains(&Frame::Array) || only_brackets_remain(text, at, is_cut),
    };
    if !fits {
        return false;
    }
    let next = skip_blank(text, at + 1);
    let Some(c) = text[next..].chars().next() else { return !is_cut };
    match c {
        '}' | ']' | '`' | '/' | '#' => true,
        ',' if outer.is_empty() => {
            let after = skip_blank(text, next + 1);
            let ends = text[after..].is_empty() && !is_cut;
            ends || text[after..].starts_with(['{', '[']) || quoted_key_at(text, after)
        }
        ',' => item_follows(text, next + 1, outer.last().copied(), is_cut),
        _ => match outer.last() {
            Some(Frame::Object { .. }) => quoted_key_at(text, next) || bare_key_at(text, next, is_cut),
            Some(Frame::Array) => matches!(c, '{' | '['),
            None => true,
        },
    }
}

/// Tells whether, after a comma that ends at `at`, another member or item (or the end, unless the text was cut) follows.
pub(super) fn item_follows(text: &str, at: usize, frame: Option<Frame>, is_cut: bool) -> bool {
    let next = skip_blank(text, at);
    let rest = &text[next..];
    if rest.is_empty() {
        return !is_cut;
    }
    if rest.starts_with(['}', ']', ',', '/', '#']) || rest.starts_with("...") {
        return true;
    }
    match frame {
        Some(Frame::Object { bare }) => {
            let broken = text[at..next].contains('\n');
            quoted_key_at(text, next) || ((bare || broken) && bare_key_at(text, next, is_cut))
        }
        Some(Frame::Array) => starts_value(rest),
        None => true,
    }
}

/// Tells whether `text` begins like a JSON value, a text without quotes not included.
pub(super) fn starts_value(text: &str) -> bool {
    let literals = ["true", "false", "null", "True", "False", "None"];
    text.starts_with(|c: char| {
        matches!(c, '{' | '[' | '-') || c.is_ascii_digit() || closing_quotes(c).is_some()
    }) || literals.iter().any(|literal| text.starts_with(literal))
}

/// Returns the length of `text` without the brackets, blanks and fence at its end, or `None` when
/// it does not end an object.
pub(super) fn before_brackets(text: &str) -> Option<usize> {
    let unfenced = text.trim_end_matches(is_blank);
    let unfenced = unfenced.strip_suffix("```").unwrap_or(unfenced).trim_end_matches(is_blank);
    let bare = unfenced.trim_end_matches(|c| matches!(c, '}' | ']') || is_blank(c));
    unfenced.ends_with('}').then_some(bare.len())
}

fn only_brackets_remain(text: &str, at: usize, is_cut: bool) -> bool {
    let rest = &text[at..];
    let window = rest.char_indices().nth(64).map_or(rest, |(end, _)| &rest[..end]);
    let is_open = is_cut && window.len() == rest.len();
    !is_open && window.chars().all(|c| matches!(c, '}' | ']' | ',') || is_blank(c))
}

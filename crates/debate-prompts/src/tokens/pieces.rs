//! Splits a text into the words that the o200k tokenizer encodes one by one.
//!
//! ASCII is split by hand, which is what makes counting cheap; the rest by the tokenizer's pattern.

use std::sync::LazyLock;

use regex::Regex;

/// The word pattern of o200k without its look-ahead, which [`Pieces`] applies.
static WORDS: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+",
    ];
    Regex::new(&pattern.join("|")).expect("the pattern is fixed and tested")
});

/// Prepares the pattern.
pub(super) fn warm_up() {
    LazyLock::force(&WORDS);
}

/// The words of a text; together they are the whole text.
pub(super) struct Pieces<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Pieces<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'t> Iterator for Pieces<'t> {
    type Item = &'t str;

    fn next(&mut self) -> Option<&'t str> {
        if self.at >= self.text.len() {
            return None;
        }
        let start = self.at;
        self.at = ascii_end(self.text.as_bytes(), start).unwrap_or_else(|| pattern_end(self.text, start));
        Some(&self.text[start..self.at])
    }
}

fn pattern_end(text: &str, start: usize) -> usize {
    // Every character is matched by some alternative, so the match begins at `start`.
    let Some(found) = WORDS.find_at(text, start) else { return text.len() };
    let end = found.end();
    let piece = &text[start..end];
    // `\s+(?!\S)`: blanks before a word leave their last one to it.
    match piece.chars().next_back() {
        Some(last)
            if end < text.len()
                && !matches!(last, '\r' | '\n')
                && last.len_utf8() < piece.len()
                && piece.chars().all(char::is_whitespace) =>
        {
            end - last.len_utf8()
        }
        Some(_) | None => end,
    }
}

/// Returns where the piece at `start` ends, or `None` where a character above ASCII has a say.
fn ascii_end(bytes: &[u8], start: usize) -> Option<usize> {
    let first = *bytes.get(start)?;
    if !first.is_ascii() {
        return None;
    }
    if first.is_ascii_digit() {
        let end = skip(bytes, start, |b| b.is_ascii_digit()).min(start + 3);
        return (end == start + 3 || is_settled(bytes, end)).then_some(end);
    }
    if first.is_ascii_alphabetic() {
        return word_end(bytes, start);
    }
    let next = bytes.get(start + 1).copied();
    if next.is_some_and(|b| !b.is_ascii()) {
        return None;
    }
    let next_is_letter = next.is_some_and(|b| b.is_ascii_alphabetic());
    if next_is_letter && !matches!(first, b'\r' | b'\n') {
        return word_end(bytes, start + 1);
    }
    if is_mark(first) || (first == b' ' && next.is_some_and(is_mark)) {
        let marks = skip(bytes, start + 1, is_mark);
        if !is_settled(bytes, marks) {
            return None;
        }
        return Some(skip(bytes, marks, |b| matches!(b, b'\r' | b'\n' | b'/')));
    }
    blanks_end(bytes, start)
}

/// Returns the end of the word whose letters begin at `start`: capitals, small letters, `'s`.
fn word_end(bytes: &[u8], start: usize) -> Option<usize> {
    let capitals = skip(bytes, start, |b| b.is_ascii_uppercase());
    let end = skip(bytes, capitals, |b| b.is_ascii_lowercase());
    if !is_settled(bytes, end) {
        return None;
    }
    if bytes.get(end) != Some(&b'\'') {
        return Some(end);
    }
    let letter = |offset: usize| bytes.get(end + offset).map(u8::to_ascii_lowercase);
    match (letter(1), letter(2)) {
        (Some(b's' | b't' | b'm' | b'd'), _) => Some(end + 2),
        (Some(b'r' | b'v'), Some(b'e')) | (Some(b'l'), Some(b'l')) => Some(end + 3),
        (Some(b), _) if !b.is_ascii() => None,
        _ => Some(end),
    }
}

fn blanks_end(bytes: &[u8], start: usize) -> Option<usize> {
    let end = skip(bytes, start, is_blank);
    if !is_settled(bytes, end) {
        return None;
    }
    if let Some(line) = bytes[start..end].iter().rposition(|b| matches!(b, b'\r' | b'\n')) {
        return Some(start + line + 1);
    }
    let leaves_one = end < bytes.len() && end - start > 1;
    Some(if leaves_one { end - 1 } else { end })
}

fn skip(bytes: &[u8], start: usize, is_part: impl Fn(u8) -> bool) -> usize {
    bytes[start..].iter().position(|b| !is_part(*b)).map_or(bytes.len(), |len| start + len)
}

/// Tells whether the byte at `end` is ASCII or not there, so that it cannot belong to the piece.
fn is_settled(bytes: &[u8], end: usize) -> bool {
    bytes.get(end).is_none_or(u8::is_ascii)
}

fn is_blank(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn is_mark(b: u8) -> bool {
    b.is_ascii() && !b.is_ascii_alphanumeric() && !is_blank(b)
}

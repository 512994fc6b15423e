//! Reads texts whose quotes or escapes are broken.

use super::lenient::{Lenient, Stop};
use super::lookahead::{
    KEY_BYTES_MAX, before_brackets, closes_value, closing_quotes, is_blank, quoted_key_at, skip_blank,
};
use super::repair::Repair;

impl Lenient<'_, '_> {
    /// Reads the quoted key at the current position, or `None` when its end is not near.
    pub(super) fn quoted_key(&mut self) -> Result<Option<String>, Stop> {
        let start = self.at;
        let Some(open) = self.peek() else { return Ok(None) };
        let Some(quotes) = closing_quotes(open) else { return Ok(None) };
        self.at += open.len_utf8();
        let mut key = String::new();
        // Where the first quote would end the key, in case no quote is followed by a colon.
        let mut first_end: Option<(usize, usize)> = None;
        while let Some(c) = self.peek() {
            self.spend(1)?;
            if self.at - start > KEY_BYTES_MAX || c == '\n' {
                break;
            }
            if c == '\\' {
                self.escape(&mut key);
                continue;
            }
            self.at += c.len_utf8();
            if quotes.contains(&c) {
                let next = skip_blank(self.text, self.at);
                if self.text[next..].starts_with(':') {
                    if first_end.is_some() {
                        self.note(Repair::UnescapedQuotes);
                    }
                    self.note_quotes(open);
                    return Ok(Some(key));
                }
                first_end.get_or_insert((self.at, key.len()));
                if next > self.at {
                    break;
                }
            }
            key.push(c);
        }
        let Some((end, len)) = first_end else {
            self.at = start;
            return Ok(None);
        };
        key.truncate(len);
        self.at = end;
        self.note_quotes(open);
        Ok(Some(key))
    }

    /// Reads the quoted text at the current position, and those joined to it with `+`; `None` where it was cut.
    pub(super) fn quoted_text(&mut self) -> Result<Option<String>, Stop> {
        let mut value = String::new();
        loop {
            if !self.one_text(&mut value)? {
                return Ok(None);
            }
            let plus = skip_blank(self.text, self.at);
            let next = skip_blank(self.text, plus + usize::from(self.text[plus..].starts_with('+')));
            let is_quote = self.text[next..].chars().next().is_some_and(|c| closing_quotes(c).is_some());
            if next == plus || !is_quote {
                return Ok(Some(value));
            }
            self.note(Repair::JoinedTexts);
            self.at = next;
        }
    }

    /// Reads a text, and returns whether it has an end.
    fn one_text(&mut self, value: &mut String) -> Result<bool, Stop> {
        let Some(open) = self.peek() else { return Ok(false) };
        let Some(quotes) = closing_quotes(open) else { return Ok(false) };
        self.note_quotes(open);
        self.at += open.len_utf8();
        let (start, value_start) = (self.at, value.len());
        while let Some(c) = self.peek() {
            self.spend(1)?;
            if c == '\\' {
                self.escape(value);
                continue;
            }
            let after = self.at + c.len_utf8();
            if quotes.contains(&c) {
                if closes_value(self.text, after, &self.frames, self.cut) {
                    self.at = after;
                    return Ok(true);
                }
                if self.begins_next_member(start) {
                    let body = &self.text[start..self.at];
                    let len = body.trim_end_matches(|c| c == ',' || is_blank(c)).len();
                    shorten(value, body.len() - len, value_start);
                    self.at = start + len;
                    self.missing_quote();
                    return Ok(true);
                }
                self.note(Repair::UnescapedQuotes);
            }
            self.at = after;
            if c.is_control() {
                self.note(Repair::ControlCharacter);
            }
            value.push(c);
        }
        self.spend(self.at - start)?;
        Ok(self.ends_unclosed_text(start, value_start, value))
    }

    /// Tells whether the next member begins here, so that the text that began at `start` was not closed.
    fn begins_next_member(&self, start: usize) -> bool {
        if !self.in_object() {
            return false;
        }
        let before = &self.text[start..self.at];
        let trimmed = before.trim_end_matches(is_blank);
        let separated = trimmed.ends_with(',') || before[trimmed.len()..].contains('\n');
        separated && quoted_key_at(self.text, self.at)
    }

    /// Ends a text that no quote closes before the closing brackets of the reply; returns false where there are none,
    /// or the reply was cut, and so the text with it.
    fn ends_unclosed_text(&mut self, start: usize, value_start: usize, value: &mut String) -> bool {
        let body = &self.text[start..];
        let Some(len) = before_brackets(body).filter(|_| !self.cut) else {
            self.cut_here();
            return false;
        };
        // Brackets are copied as they are, so the value is longer by just as many bytes.
        shorten(value, body.len() - len, value_start);
        self.at = start + len;
        self.missing_quote();
        true
    }

    /// Reads the escape at the current position.
    fn escape(&mut self, value: &mut String) {
        self.at += 1;
        let Some(c) = self.peek() else { return };
        let plain = match c {
            '"' | '\\' | '/' => c,
            '\'' | '`' | '\n' => {
                self.note(Repair::UnknownEscape);
                c
            }
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => return self.unicode_escape(value),
            _ => {
                self.note(Repair::UnknownEscape);
                value.push('\\');
                c
            }
        };
        self.at += c.len_utf8();
        value.push(plain);
    }

    fn unicode_escape(&mut self, value: &mut String) {
        let rest = &self.text[self.at + 1..];
        let Some(high) = hex4(rest) else {
            if rest.len() < 4 && rest.chars().all(|c| c.is_ascii_hexdigit()) {
                // Cut off in the middle of the escape.
                self.at = self.text.len();
                return;
            }
            self.note(Repair::UnknownEscape);
            value.push_str("\\u");
            self.at += 1;
            return;
        };
        self.at += 5;
        if let Some(c) = char::from_u32(high) {
            value.push(c);
            return;
        }
        let low = rest[4..].strip_prefix("\\u").and_then(hex4);
        match low {
            Some(low) if high < 0xDC00 && (0xDC00..0xE000).contains(&low) => {
                self.at += 6;
                let code = 0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                value.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            Some(_) | None => {
                self.note(Repair::UnknownEscape);
                value.push(char::REPLACEMENT_CHARACTER);
            }
        }
    }

    fn note_quotes(&mut self, open: char) {
        if open != '"' {
            self.note(Repair::OtherQuotes);
        }
    }
}

/// Takes `bytes` off the end of `value`, but nothing before `start`.
fn shorten(value: &mut String, bytes: usize, start: usize) {
    let len = value.len().saturating_sub(bytes).max(start);
    value.truncate(value.floor_char_boundary(len));
}

/// Returns the number of the four hexadecimal digits that `text` begins with.
fn hex4(text: &str) -> Option<u32> {
    let digits = text.get(..4)?;
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

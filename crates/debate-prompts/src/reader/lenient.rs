//! A forgiving parser for one JSON object: reads on where strict JSON stops, and notes why.

use serde_json::{Map, Value};

use super::DEPTH_MAX;
use super::lookahead::{
    Frame, bare_key_at, is_blank, item_follows, member_follows, quoted_key_at, skip_blank, starts_value,
};
use super::lookahead::{KEY_BYTES_MAX, closing_quotes};
use super::repair::{Repair, Repairs, quoted_key};

/// Longest word after a code fence, in bytes.
const FENCE_WORD_BYTES_MAX: usize = 16;

/// Why parsing stopped without a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    TooDeep,
    OutOfSteps,
}

/// What was read.
pub(super) struct Parsed {
    pub(super) value: Map<String, Value>,
    pub(super) repairs: Vec<Repair>,
    /// Whether the text ended only after the object did.
    pub(super) complete: bool,
    /// Whether the text was cut.
    pub(super) is_cut: bool,
    /// The field whose value is not complete where the text was cut.
    pub(super) cut_key: Option<String>,
    /// Where the object ends.
    pub(super) end: usize,
}

pub(super) struct Lenient<'t, 's> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) frames: Vec<Frame>,
    /// Whether the text was cut: nothing that it leaves open is taken (rule K18).
    pub(super) cut: bool,
    key: Option<String>,
    /// The field of the outermost object that is being read.
    field: Option<String>,
    complete: bool,
    repairs: Repairs,
    steps: &'s mut usize,
}

impl<'t, 's> Lenient<'t, 's> {
    /// Prepares to parse the object whose bracket is at `start`; takes from `steps` as it works.
    pub(super) fn new(text: &'t str, start: usize, cut: bool, steps: &'s mut usize) -> Self {
        let (frames, repairs) = (Vec::new(), Repairs::default());
        Self { text, at: start, frames, cut, key: None, field: None, complete: true, repairs, steps }
    }

    pub(super) fn parse(mut self) -> Result<Parsed, Stop> {
        let value = self.object()?.unwrap_or_default();
        let mut repairs = self.repairs.into_vec();
        if repairs.is_empty() {
            // Strict JSON refused it, and only white space is read without a note.
            repairs.push(Repair::Blank);
        }
        let (complete, is_cut, cut_key) = (self.complete, self.cut && !self.complete, self.field);
        Ok(Parsed { value, repairs, complete, is_cut, cut_key, end: self.at })
    }

    /// Reads the object at the current position; `None` where it is inside another value and was cut.
    fn object(&mut self) -> Result<Option<Map<String, Value>>, Stop> {
        self.enter(Frame::Object { bare: false })?;
        let mut members = Map::new();
        // Whether a comma is due before the next member, or was just read.
        let (mut comma_due, mut comma_read) = (false, false);
        loop {
            self.spend(1)?;
            self.gap();
            let Some(c) = self.peek() else {
                self.key = None;
                self.truncated();
                self.frames.pop();
                return Ok(Some(members).filter(|_| !self.cut || self.frames.is_empty()));
            };
            match c {
                '}' if self.frames.len() == 1 && member_follows(self.text, self.at + 1) => {
                    self.note(Repair::Bracket);
                    self.at += 1;
                }
                '}' => {
                    if comma_read {
                        self.note(Repair::Comma);
                    }
                    self.at += 1;
                    break;
                }
                ']' => {
                    self.note(Repair::Bracket);
                    if !self.frames.contains(&Frame::Array) {
                        self.at += 1;
                    }
                    break;
                }
                ',' => {
                    if comma_read || !comma_due {
                        self.note(Repair::Comma);
                    }
                    (comma_due, comma_read) = (false, true);
                    self.at += 1;
                }
                _ => {
                    if self.member(&mut members, c)? {
                        if comma_due {
                            self.note(Repair::Comma);
                        }
                        (comma_due, comma_read) = (true, false);
                    }
                }
            }
        }
        self.frames.pop();
        Ok(Some(members))
    }

    /// Reads a member, or drops what is none. Returns whether there was one.
    fn member(&mut self, members: &mut Map<String, Value>, first: char) -> Result<bool, Stop> {
        let Some(key) = self.key(first)? else { return Ok(false) };
        self.key = Some(quoted_key(&key));
        if self.frames.len() == 1 {
            self.field = Some(key.clone());
        }
        self.gap();
        let value = match self.peek() {
            None => {
                self.cut_here();
                None
            }
            Some('}' | ',' | ']') => {
                self.note(Repair::MissingValue { key: quoted_key(&key) });
                Some(Value::Null)
            }
            Some(c) => self.value(c)?,
        };
        if members.contains_key(&key) {
            self.note(Repair::DuplicateKey { key: quoted_key(&key) });
        }
        match value {
            Some(value) => members.insert(key, value),
            None => members.remove(&key),
        };
        if self.frames.len() == 1 && self.complete {
            self.field = None;
        }
        Ok(true)
    }

    /// Reads a key and its colon, or drops what is no key.
    fn key(&mut self, first: char) -> Result<Option<String>, Stop> {
        if closing_quotes(first).is_some() {
            let start = self.at;
            if let Some(key) = self.quoted_key()? {
                let colon = skip_blank(self.text, self.at);
                if self.text[colon..].starts_with(':') {
                    self.at = colon + 1;
                    return Ok(Some(key));
                }
                if starts_value(&self.text[colon..]) && !quoted_key_at(self.text, colon) {
                    self.note(Repair::MissingColon);
                    return Ok(Some(key));
                }
                self.note(Repair::Dropped);
                return Ok(None);
            }
            self.at = start + first.len_utf8();
            self.note(Repair::Dropped);
            return Ok(None);
        }
        if first.is_alphanumeric() || matches!(first, '_' | '$') {
            return self.bare_key();
        }
        self.at += first.len_utf8();
        self.note(if first == '{' { Repair::Bracket } else { Repair::Dropped });
        Ok(None)
    }

    fn bare_key(&mut self) -> Result<Option<String>, Stop> {
        let rest = &self.text[self.at..];
        let len = rest
            .char_indices()
            .find(|(offset, c)| *offset > KEY_BYTES_MAX || ":,{}[]\"'“”\n/#`".contains(*c))
            .map_or(rest.len(), |(offset, _)| offset);
        self.spend(len)?;
        let key = rest[..len].trim_end();
        self.at += len;
        // A key of which only the closing quote is there.
        let quote = self.peek().filter(|c| closing_quotes(*c).is_some()).map_or(0, char::len_utf8);
        let colon = skip_blank(self.text, self.at + quote);
        if !self.text[colon..].starts_with(':') {
            self.note(Repair::Dropped);
            return Ok(None);
        }
        self.at = colon + 1;
        self.note(Repair::UnquotedKey);
        if quote == 0
            && let Some(Frame::Object { bare }) = self.frames.last_mut()
        {
            *bare = true;
        }
        Ok(Some(key.to_owned()))
    }

    /// Reads the list at the current position. Where it was cut, a field has the entries that are complete, if there are
    /// some; of one inside another value nothing is taken.
    fn array(&mut self) -> Result<Option<Vec<Value>>, Stop> {
        self.enter(Frame::Array)?;
        let mut items = Vec::new();
        let (mut comma_due, mut comma_read) = (false, false);
        loop {
            self.spend(1)?;
            self.gap();
            let Some(c) = self.peek() else {
                self.truncated();
                self.frames.pop();
                let is_field = self.frames.len() == 1 && !items.is_empty();
                return Ok(Some(items).filter(|_| !self.cut || is_field));
            };
            match c {
                ']' => {
                    if comma_read {
                        self.note(Repair::Comma);
                    }
                    self.at += 1;
                    break;
                }
                '}' => {
                    self.note(Repair::Bracket);
                    break;
                }
                ',' => {
                    if comma_read || !comma_due {
                        self.note(Repair::Comma);
                    }
                    (comma_due, comma_read) = (false, true);
                    self.at += 1;
                }
                ':' => {
                    self.note(Repair::Dropped);
                    self.at += 1;
                }
                _ if !items.is_empty() && (quoted_key_at(self.text, self.at) || self.bare_member()) => {
                    // A member of the object around: the bracket of this array is missing.
                    self.note(Repair::Bracket);
                    break;
                }
                _ => {
                    if comma_due {
                        self.note(Repair::Comma);
                    }
                    items.extend(self.value(c)?);
                    (comma_due, comma_read) = (true, false);
                }
            }
        }
        self.frames.pop();
        Ok(Some(items))
    }

    /// Reads a value; `None` where it was cut.
    fn value(&mut self, first: char) -> Result<Option<Value>, Stop> {
        Ok(match first {
            '{' => self.object()?.map(Value::Object),
            '[' => self.array()?.map(Value::Array),
            c if closing_quotes(c).is_some() => self.quoted_text()?.map(Value::String),
            _ => self.bare_value()?,
        })
    }

    /// Reads a number, a literal or a text without quotes; `None` where it was cut.
    fn bare_value(&mut self) -> Result<Option<Value>, Stop> {
        let start = self.at;
        while let Some(c) = self.peek() {
            self.spend(1)?;
            if self.ends_bare_value(c, start) {
                break;
            }
            self.at += c.len_utf8();
        }
        if self.at == start {
            // Nothing that could be a value: leave it aside rather than stand still.
            self.at += self.peek().map_or(0, char::len_utf8);
            self.note(Repair::Dropped);
            return Ok(Some(Value::Null));
        }
        let token = self.text[start..self.at].trim_end_matches(is_blank);
        if self.cut && token.ends_with(',') {
            // Whether the comma belongs to the value shows only in what was cut.
            self.at = self.text.len();
        }
        if self.at == self.text.len() {
            // Only a text needs an end to be known as whole where the reply was not cut.
            if self.cut || !(is_literal(token) || respelled_number(token).is_some()) {
                self.cut_here();
                return Ok(None);
            }
            self.truncated();
        }
        Ok(Some(self.literal(token)))
    }

    fn ends_bare_value(&self, c: char, start: usize) -> bool {
        let rest = &self.text[self.at..];
        match c {
            '}' | '\n' => true,
            ']' => self.frames.contains(&Frame::Array),
            ',' => {
                let token = self.text[start..self.at].trim_end();
                let after = rest[1..].chars().next();
                let is_grouped = after.map_or(self.cut, |c| c.is_ascii_digit());
                is_literal(token)
                    || (respelled_number(token).is_some() && !is_grouped)
                    || item_follows(self.text, self.at + 1, self.frames.last().copied(), self.cut)
            }
            '/' => rest.starts_with("/*") || (rest.starts_with("//") && !self.text[..self.at].ends_with(':')),
            '`' => rest.starts_with("```"),
            c if closing_quotes(c).is_some() => self.in_object() && quoted_key_at(self.text, self.at),
            c if is_blank(c) => {
                let next = skip_blank(self.text, self.at);
                self.in_object() && self.bare_frame() && bare_key_at(self.text, next, self.cut)
            }
            _ => false,
        }
    }

    fn literal(&mut self, token: &str) -> Value {
        if let Ok(number) = serde_json::from_str::<serde_json::Number>(token) {
            return Value::Number(number);
        }
        match token {
            "true" => return Value::Bool(true),
            "false" => return Value::Bool(false),
            "null" => return Value::Null,
            _ => self.note_token(token),
        }
        match token.to_ascii_lowercase().as_str() {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" | "none" | "undefined" | "nan" | "infinity" | "-infinity" => Value::Null,
            _ => match respelled_number(token) {
                Some(number) => Value::Number(number),
                None => Value::String(token.trim_end_matches('"').to_owned()),
            },
        }
    }

    fn note_token(&mut self, token: &str) {
        if is_literal(token) {
            self.note(Repair::Literal);
        } else if respelled_number(token).is_some() {
            self.note(Repair::Number);
        } else {
            self.note(Repair::UnquotedText { key: self.key.clone() });
        }
    }

    /// Skips what may stand between tokens: blanks, comments, fences, ellipses.
    fn gap(&mut self) {
        loop {
            self.at = skip_blank(self.text, self.at);
            let rest = &self.text[self.at..];
            let (len, repair) = if rest.starts_with("//") || rest.starts_with('#') {
                (rest.find('\n').unwrap_or(rest.len()), Repair::Comment)
            } else if let Some(comment) = rest.strip_prefix("/*") {
                (comment.find("*/").map_or(rest.len(), |end| end + 4), Repair::Comment)
            } else if let Some(fenced) = rest.strip_prefix("```") {
                let word = fenced.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(fenced.len());
                (if word <= FENCE_WORD_BYTES_MAX { 3 + word } else { 3 }, Repair::FenceRemoved)
            } else if rest.starts_with("...") {
                (3, Repair::Ellipsis)
            } else if rest.starts_with('…') {
                ('…'.len_utf8(), Repair::Ellipsis)
            } else {
                return;
            };
            self.at += len;
            self.note(repair);
        }
    }

    fn enter(&mut self, frame: Frame) -> Result<(), Stop> {
        if self.frames.len() >= DEPTH_MAX {
            return Err(Stop::TooDeep);
        }
        self.frames.push(frame);
        self.at += 1;
        Ok(())
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    pub(super) fn note(&mut self, repair: Repair) {
        self.repairs.note(repair);
    }

    pub(super) fn truncated(&mut self) {
        // The first is where the text ended; those around it follow from it.
        if self.complete {
            self.complete = false;
            self.note(Repair::Truncated { key: self.key.clone() });
        }
    }

    /// Notes that the text ends within a value, so that it was cut.
    pub(super) fn cut_here(&mut self) {
        self.truncated();
        self.cut = true;
    }

    pub(super) fn missing_quote(&mut self) {
        self.note(Repair::MissingQuote { key: self.key.clone() });
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Stop> {
        *self.steps = self.steps.checked_sub(steps).ok_or(Stop::OutOfSteps)?;
        Ok(())
    }

    pub(super) fn in_object(&self) -> bool {
        matches!(self.frames.last(), Some(Frame::Object { .. }))
    }

    fn bare_frame(&self) -> bool {
        self.frames.iter().any(|frame| matches!(frame, Frame::Object { bare: true }))
    }

    fn bare_member(&self) -> bool {
        self.bare_frame() && bare_key_at(self.text, self.at, self.cut)
    }
}

fn is_literal(token: &str) -> bool {
    let literals = ["true", "false", "null", "none", "undefined", "nan", "infinity", "-infinity"];
    literals.iter().any(|literal| token.eq_ignore_ascii_case(literal))
}

/// Returns the number of a token such as `.5`, `2.`, `+1`, `1e` or `82_461`.
///
/// A token with leading zeros is no number: it may be a code.
fn respelled_number(token: &str) -> Option<serde_json::Number> {
    let digits = token.trim_start_matches(['+', '-']);
    if token.len() - digits.len() > 1 || digits.starts_with('_') || digits.ends_with('_') {
        return None;
    }
    let sign = if token.starts_with('-') { "-" } else { "" };
    let mut plain = digits.replace('_', "");
    let mantissa = plain.trim_end_matches(['-', '+']).trim_end_matches(['e', 'E']).len();
    plain.truncate(mantissa);
    if plain.starts_with('.') {
        plain.insert(0, '0');
    }
    if plain.ends_with('.') {
        plain.push('0');
    }
    serde_json::from_str(&format!("{sign}{plain}")).ok()
}

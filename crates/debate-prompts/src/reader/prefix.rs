//! Reads strict JSON whose end is missing: what is written completely, and nothing else (rule K18).

use serde_json::{Map, Value};

use super::repair::{Repair, Repairs, quoted_key};
use super::strict::Strict;

/// What is written completely of an object that was cut.
pub(super) struct Prefix {
    /// The fields; of a list the entries that are complete.
    pub(super) value: Map<String, Value>,
    pub(super) repairs: Vec<Repair>,
    /// The field whose value is not complete.
    pub(super) cut_key: Option<String>,
}

/// Why a value is not read.
enum Stop {
    /// The text ends within it, or where it may go on.
    Cut,
    /// It is not strict JSON.
    Broken,
}

/// Reads the object that `text` begins with; `None` where it is not strict JSON up to its end, or has one.
pub(super) fn read(text: &str) -> Option<Prefix> {
    let mut reader = PrefixReader { text, at: 1, repairs: Repairs::default() };
    let mut value = Map::new();
    let mut cut_key = None;
    match reader.members(&mut value, &mut cut_key) {
        Stop::Broken => return None,
        Stop::Cut => {}
    }
    reader.repairs.note(Repair::Truncated { key: cut_key.as_deref().map(quoted_key) });
    Some(Prefix { value, repairs: reader.repairs.into_vec(), cut_key })
}

struct PrefixReader<'t> {
    text: &'t str,
    at: usize,
    repairs: Repairs,
}

impl PrefixReader<'_> {
    /// Reads fields until the text ends, and returns why it stopped; `cut_key` is set while a value is read.
    fn members(&mut self, members: &mut Map<String, Value>, cut_key: &mut Option<String>) -> Stop {
        loop {
            match self.member(members, cut_key) {
                Ok(()) => {}
                Err(stop) => return stop,
            }
            match self.next_char() {
                Some(',') => self.at += 1,
                Some(_) => return Stop::Broken,
                None => return Stop::Cut,
            }
        }
    }

    fn member(&mut self, members: &mut Map<String, Value>, cut_key: &mut Option<String>) -> Result<(), Stop> {
        if self.next_char().is_some_and(|first| first != '"') {
            return Err(Stop::Broken);
        }
        let Value::String(key) = self.value()? else { return Err(Stop::Broken) };
        match self.next_char() {
            Some(':') => self.at += 1,
            Some(_) => return Err(Stop::Broken),
            None => return Err(Stop::Cut),
        }
        if members.remove(&key).is_some() {
            self.repairs.note(Repair::DuplicateKey { key: quoted_key(&key) });
        }
        *cut_key = Some(key.clone());
        if self.next_char() == Some('[') {
            let mut items = Vec::new();
            let end = self.items(&mut items);
            if end.is_ok() || !items.is_empty() {
                members.insert(key, Value::Array(items));
            }
            end?;
        } else {
            let value = self.value()?;
            members.insert(key, value);
        }
        *cut_key = None;
        Ok(())
    }

    /// Reads the entries of the list at the current position, as far as they are complete.
    fn items(&mut self, items: &mut Vec<Value>) -> Result<(), Stop> {
        self.at += 1;
        if self.next_char() == Some(']') {
            self.at += 1;
            return Ok(());
        }
        loop {
            items.push(self.value()?);
            match self.next_char() {
                Some(',') => self.at += 1,
                Some(']') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(_) => return Err(Stop::Broken),
                None => return Err(Stop::Cut),
            }
        }
    }

    /// Reads a whole value.
    fn value(&mut self) -> Result<Value, Stop> {
        let rest = &self.text[self.at..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Strict>();
        let Strict { value, repairs } = match stream.next() {
            Some(Ok(strict)) => strict,
            Some(Err(error)) if !error.is_eof() => return Err(Stop::Broken),
            Some(Err(_)) | None => return Err(Stop::Cut),
        };
        let end = self.at + stream.byte_offset();
        if end == self.text.len() && may_go_on(&value) {
            return Err(Stop::Cut);
        }
        repairs.into_iter().for_each(|repair| self.repairs.note(repair));
        self.at = end;
        Ok(value)
    }

    fn next_char(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.text[self.at..].chars().next()
    }
}

/// Tells whether a value behind which the text ends may be longer: a number may have more digits, and a quote behind a
/// blank or a bracket may begin a quotation that the model did not escape.
fn may_go_on(value: &Value) -> bool {
    match value {
        Value::Number(_) => true,
        Value::String(text) => text.ends_with(|c: char| c.is_whitespace() || matches!(c, '(' | '[')),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => false,
    }
}

//! Reading a request field by field. Whatever does not fit is noted with its path and replaced by nothing, and the
//! reading goes on, so that all violations come out together (rule K12).

use std::cell::RefCell;
use std::fmt::Display;
use std::ops::{Bound, RangeBounds, RangeInclusive};

use oxilangtag::LanguageTag;
use serde_json::{Map, Number, Value};

use super::path::Path;
use super::sizes::{LABEL_CHARS_MAX, NAME_CHARS_MAX, VIOLATIONS_MAX};
use super::{Violation, Violations};
use crate::counted::counted;
use crate::id::{Timestamp, TimestampError, is_name};

/// The largest whole number that a double holds exactly with all below it.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// What is wrong so far: the one list of it, in which all that look at a request note what they find, so that it is cut once.
#[derive(Debug, Default)]
pub(crate) struct Complaints(RefCell<Noted>);

#[derive(Debug, Default)]
struct Noted {
    listed: Vec<Violation>,
    unlisted: usize,
}

impl Complaints {
    /// Notes a violation.
    pub(crate) fn add(&self, field: &str, reason: impl Display) {
        let mut noted = self.0.borrow_mut();
        if noted.listed.len() < VIOLATIONS_MAX {
            noted.listed.push(Violation::new(field, reason.to_string()));
        } else {
            noted.unlisted += 1;
        }
    }

    /// Notes what others have noted.
    pub(crate) fn add_all(&self, others: Self) {
        let Noted { listed, unlisted } = others.0.into_inner();
        listed.into_iter().for_each(|found| self.add(&found.field, found.reason));
        self.0.borrow_mut().unlisted += unlisted;
    }

    /// Returns what was read if nothing was wrong with it.
    pub(crate) fn finish<T>(self, read: T) -> Result<T, Violations> {
        if self.0.borrow().listed.is_empty() { Ok(read) } else { Err(self.refused()) }
    }

    /// Returns all that is wrong.
    pub(crate) fn refused(self) -> Violations {
        let Noted { mut listed, unlisted } = self.0.into_inner();
        if unlisted > 0 {
            listed.push(Violation::whole(format!("breaks {}", counted(unlisted, "more rule", "more rules"))));
        }
        Violations(listed)
    }
}

impl FromIterator<Violation> for Complaints {
    fn from_iter<T: IntoIterator<Item = Violation>>(found: T) -> Self {
        let complaints = Self::default();
        found.into_iter().for_each(|found| complaints.add(&found.field, found.reason));
        complaints
    }
}

/// One field of a request, there or not. A JSON null counts as not there.
#[derive(Debug, Clone)]
pub(crate) struct Field<'a> {
    path: Path,
    value: Option<&'a Value>,
    complaints: &'a Complaints,
}

/// The fields of an object.
#[derive(Debug, Clone)]
pub(crate) struct Fields<'a> {
    path: Path,
    map: Option<&'a Map<String, Value>>,
    complaints: &'a Complaints,
}

impl<'a> Fields<'a> {
    /// Starts with the request itself.
    pub(crate) fn of_request(request: &'a Value, known: &[&str], complaints: &'a Complaints) -> Self {
        Field::root(request, complaints).object(known)
    }

    /// Returns a field by its name.
    pub(crate) fn field(&self, name: &str) -> Field<'a> {
        let value = self.map.and_then(|map| map.get(name)).filter(|value| !value.is_null());
        Field { path: self.path.field(name), value, complaints: self.complaints }
    }

    /// Returns the field under the one of its two names that is used, the first where neither is.
    pub(crate) fn either(&self, name: &str, legacy: &str) -> Field<'a> {
        let (field, other) = (self.field(name), self.field(legacy));
        match (field.value(), other.value()) {
            _ if name == legacy => field,
            (Some(_), Some(_)) => {
                other.refuse(format_args!("is the same as {name}; give one of them"));
                field
            }
            (None, Some(_)) => other,
            (Some(_) | None, None) => field,
        }
    }

    /// Returns a field that must be there.
    pub(crate) fn required(&self, name: &str) -> Field<'a> {
        let field = self.field(name);
        if field.value.is_none() && self.map.is_some() {
            field.refuse("is required");
        }
        field
    }
}

impl<'a> Field<'a> {
    /// Starts with a whole document.
    pub(crate) fn root(document: &'a Value, complaints: &'a Complaints) -> Self {
        Self { path: Path::default(), value: Some(document), complaints }
    }

    /// Returns the value as it came, if there is one.
    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Returns whether this is an object with a field of that name, whatever is wrong with what it holds.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value.and_then(|value| value.get(name)).is_some_and(|value| !value.is_null())
    }

    /// Notes what is wrong with this field.
    pub(crate) fn refuse(&self, reason: impl Display) {
        self.complaints.add(self.path.as_str(), reason);
    }

    /// Reads an object that has no other fields than these; an absent one has none.
    pub(crate) fn object(&self, known: &[&str]) -> Fields<'a> {
        let map = self.map();
        for name in map.into_iter().flat_map(Map::keys).filter(|name| !known.contains(&name.as_str())) {
            self.complaints.add(self.path.field(name).as_str(), "is not a field of this request");
        }
        Fields { path: self.path.clone(), map, complaints: self.complaints }
    }

    /// Reads an object that may have other fields than those that are read.
    pub(crate) fn open_object(&self) -> Fields<'a> {
        Fields { path: self.path.clone(), map: self.map(), complaints: self.complaints }
    }

    /// Reads an object whose keys are names of the caller's; an absent one has none.
    pub(crate) fn entries(&self, max: usize) -> Vec<(&'a str, Self)> {
        let map = self.map();
        if let Some(found) = map.map(Map::len).filter(|found| *found > max) {
            self.refuse(format_args!("has {}; {max} are allowed", counted(found, "entry", "entries")));
            return Vec::new();
        }
        let entry = |(name, value): (&'a String, &'a Value)| {
            let path = self.path.field(name);
            (name.as_str(), Self { path, value: Some(value), complaints: self.complaints })
        };
        map.into_iter().flatten().map(entry).collect()
    }

    /// Returns the entries of an object that was read before with the same limit, so that nothing is noted twice.
    pub(crate) fn known_entries(&self, max: usize) -> Vec<(&'a str, Self)> {
        let is_read = matches!(self.value, Some(Value::Object(map)) if map.len() <= max);
        if is_read { self.entries(max) } else { Vec::new() }
    }

    /// Reads a list; an absent one is empty.
    pub(crate) fn items(&self, max: usize) -> Vec<Self> {
        let items = match self.value {
            None => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(_) => {
                self.refuse("must be a list");
                return Vec::new();
            }
        };
        if items.len() > max {
            let found = counted(items.len(), "entry", "entries");
            self.refuse(format_args!("has {found}; {max} are allowed"));
            return Vec::new();
        }
        let item = |(place, value)| Self {
            path: self.path.item(place),
            value: Some(value),
            complaints: self.complaints,
        };
        items.iter().enumerate().map(item).collect()
    }

    /// Reads a text of at most so many characters.
    pub(crate) fn text(&self, chars_max: usize) -> Option<&'a str> {
        let Value::String(text) = self.value? else {
            self.refuse("must be a text");
            return None;
        };
        let chars = text.chars().count();
        if chars > chars_max {
            self.refuse(format_args!("has {chars} characters; {chars_max} are allowed"));
            return None;
        }
        Some(text)
    }

    /// Reads a text in which there is something to read.
    pub(crate) fn words(&self, chars_max: usize) -> Option<&'a str> {
        let text = self.text(chars_max)?;
        if text.trim().is_empty() {
            self.refuse("must not be empty");
            return None;
        }
        Some(text)
    }

    /// Reads one of a few words.
    pub(crate) fn choice<T: Copy>(&self, all: &[T], name: impl Fn(T) -> &'static str) -> Option<T> {
        let text = self.text(usize::MAX)?;
        let found = all.iter().copied().find(|one| name(*one) == text);
        if found.is_none() {
            let names: Vec<&str> = all.iter().map(|one| name(*one)).collect();
            self.refuse(format_args!("must be one of {}", names.join(", ")));
        }
        found
    }

    /// Reads a text, empty where there is none.
    pub(crate) fn text_or_empty(&self, chars_max: usize) -> String {
        self.text(chars_max).unwrap_or_default().to_owned()
    }

    /// Reads a list of texts.
    pub(crate) fn texts(&self, max: usize, chars_max: usize) -> Vec<String> {
        self.items(max).iter().filter_map(|item| item.required_text(chars_max)).collect()
    }

    /// Reads a name: 1–64 letters, digits, `_`, `-` or `.`, all ASCII.
    pub(crate) fn name(&self) -> Option<&'a str> {
        let text = self.text(usize::MAX)?;
        self.check_name(text).then_some(text)
    }

    /// Notes whatever keeps a text from being a name; says whether it is one.
    pub(crate) fn check_name(&self, text: &str) -> bool {
        let is_name = is_name(text);
        if !is_name {
            self.refuse(format_args!(
                "must be 1 to {NAME_CHARS_MAX} ASCII letters, digits, underscores, hyphens or full stops"
            ));
        }
        is_name
    }

    /// Reads a whole number.
    pub(crate) fn whole(&self, range: RangeInclusive<u64>) -> Option<u64> {
        let found = match self.value? {
            Value::Number(number) => whole_number(number),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                self.refuse("must be a whole number");
                return None;
            }
        };
        let found = found.and_then(|found| u64::try_from(found).ok()).filter(|found| range.contains(found));
        if found.is_none() {
            let (start, end) = range.into_inner();
            self.refuse(format_args!("must be a whole number from {start} to {end}"));
        }
        found
    }

    /// Reads a number.
    pub(crate) fn number(&self, range: impl RangeBounds<f64>) -> Option<f64> {
        let found = match self.value? {
            Value::Number(number) => number.as_f64(),
            Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                self.refuse("must be a number");
                return None;
            }
        };
        let found = found.filter(|found| range.contains(found));
        if found.is_none() {
            self.refuse(Between(range.start_bound().cloned(), range.end_bound().cloned()));
        }
        found
    }

    /// Reads a moment such as `2026-11-21T23:17:00Z`, or a day, which stands for its beginning in UTC.
    pub(crate) fn moment(&self) -> Option<Timestamp> {
        let moment = self.words(LABEL_CHARS_MAX)?.parse();
        moment.map_err(|error: TimestampError| self.refuse(error)).ok()
    }

    /// Reads a language as a BCP 47 tag such as `de` or `pt-BR`.
    pub(crate) fn language(&self) -> Option<String> {
        let tag = self.words(LABEL_CHARS_MAX)?;
        match LanguageTag::parse_and_normalize(tag) {
            Ok(tag) => Some(tag.into_inner()),
            Err(error) => {
                self.refuse(format_args!("{tag:?} is not a BCP 47 tag such as de or pt-BR: {error}"));
                None
            }
        }
    }

    /// Reads a truth value.
    pub(crate) fn truth(&self) -> Option<bool> {
        let Value::Bool(truth) = self.value? else {
            self.refuse("must be true or false");
            return None;
        };
        Some(*truth)
    }

    /// Reads a word or a number, as the caller has it; null where there is none.
    pub(crate) fn scalar(&self, chars_max: usize) -> Value {
        match self.value {
            None => Value::Null,
            Some(Value::String(_)) => self.text(chars_max).map_or(Value::Null, Value::from),
            Some(value @ (Value::Number(_) | Value::Bool(_) | Value::Null)) => value.clone(),
            Some(Value::Array(_) | Value::Object(_)) => {
                self.refuse("must be a text or a number");
                Value::Null
            }
        }
    }

    fn required_text(&self, chars_max: usize) -> Option<String> {
        self.text(chars_max).map(str::to_owned)
    }

    fn map(&self) -> Option<&'a Map<String, Value>> {
        match self.value? {
            Value::Object(map) => Some(map),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.refuse("must be an object");
                None
            }
        }
    }
}

/// Says between which bounds a number must be.
struct Between(Bound<f64>, Bound<f64>);

impl Display for Between {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Bound::Included(low) => write!(f, "must be from {low}")?,
            Bound::Excluded(low) => write!(f, "must be above {low}")?,
            Bound::Unbounded => f.write_str("must be a number")?,
        }
        match self.1 {
            Bound::Included(high) => write!(f, " to {high}"),
            Bound::Excluded(high) => write!(f, " to below {high}"),
            Bound::Unbounded => Ok(()),
        }
    }
}

/// Returns a number that is whole, however it is written: `3` and `3.0` are the same.
pub(super) fn whole_number(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_u64() {
        return Some(i128::from(whole));
    }
    if let Some(whole) = number.as_i64() {
        return Some(i128::from(whole));
    }
    let value = number.as_f64()?;
    (value == value.trunc() && value.abs() <= EXACT_MAX).then_some(value as i128)
}

//! The file: a flat table in TOML, each value under the name of its flag.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use toml_span::Value;
use toml_span::value::ValueInner;

use crate::believed_file::is_everybodys;
use crate::exit::Failure;

/// The largest file, in bytes.
const BYTES_MAX: u64 = 64 * 1024;

/// What a file says.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// Its values, in the order of their names.
    pub(super) entries: Vec<Entry>,
}

/// One value of a file.
#[derive(Debug)]
pub(super) struct Entry {
    /// The name of its flag.
    pub(super) name: String,
    /// The file and the line.
    pub(super) place: String,
    /// What it is.
    pub(super) given: Given,
}

/// A value as the file has it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Given {
    /// On or off.
    Switch(bool),
    /// A text or number.
    One(String),
    /// Several of them.
    List(Vec<String>),
    /// Something that is no value of an option.
    Nothing(&'static str),
}

impl ConfigFile {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, is no TOML, or everybody could change what it says.
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let mut text = String::new();
        let cannot =
            |error: io::Error| Failure::bad_input(format!("cannot read the configuration {name}: {error}"));
        let file = File::open(path).map_err(cannot)?;
        if is_everybodys(&file.metadata().map_err(cannot)?) {
            return Err(Failure::bad_input(format!(
                "the configuration {name} may be written by everybody; use chmod o-w"
            )));
        }
        file.take(BYTES_MAX + 1).read_to_string(&mut text).map_err(cannot)?;
        if text.len() as u64 > BYTES_MAX {
            return Err(Failure::bad_input(format!(
                "the configuration {name} is longer than {BYTES_MAX} bytes"
            )));
        }
        let line = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let parsed = toml_span::parse(&text).map_err(|error| {
            Failure::bad_input(format!("{name}:{} is no TOML: {error}", line(error.span.start)))
        })?;
        let entries = parsed.as_table().into_iter().flatten().map(|(key, value)| Entry {
            name: key.name.to_string(),
            place: format!("{name}:{}", line(key.span.start)),
            given: given(value),
        });
        Ok(Self { entries: entries.collect() })
    }

    /// Returns the value under a name.
    pub(super) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

impl Given {
    /// Returns the texts that the option is given.
    pub(super) fn texts(&self) -> Vec<String> {
        match self {
            Self::Switch(on) => vec![on.to_string()],
            Self::One(text) => vec![text.clone()],
            Self::List(texts) => texts.clone(),
            Self::Nothing(_) => Vec::new(),
        }
    }
}

fn given(value: &Value<'_>) -> Given {
    if let Some(array) = value.as_array() {
        let texts: Option<Vec<String>> = array.iter().map(text).collect();
        return texts.map_or(Given::Nothing("a list of anything but texts and numbers"), Given::List);
    }
    match value.as_ref() {
        ValueInner::Boolean(on) => Given::Switch(*on),
        ValueInner::Table(_) => Given::Nothing("a table"),
        ValueInner::String(_) | ValueInner::Integer(_) | ValueInner::Float(_) | ValueInner::Array(_) => {
            text(value).map_or(Given::Nothing("a list"), Given::One)
        }
    }
}

fn text(value: &Value<'_>) -> Option<String> {
    match value.as_ref() {
        ValueInner::String(text) => Some(text.to_string()),
        ValueInner::Integer(number) => Some(number.to_string()),
        ValueInner::Float(number) => Some(number.to_string()),
        ValueInner::Boolean(_) | ValueInner::Array(_) | ValueInner::Table(_) => None,
    }
}

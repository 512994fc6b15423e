//! The values that flags have, each with how it is read.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::mode::{Mode, Parallelization};
use crate::request::Field;
use crate::request::sizes::{EXIT_ROUNDS, TOOL_CALLS, whole_schema};

/// A value of a flag.
pub(super) trait FlagValue: Sized {
    /// Reads the value; nothing where it is absent, or noted as wrong.
    fn read(field: &Field<'_>) -> Option<Self>;

    /// Returns the JSON schema of what [`FlagValue::read`] takes in a request.
    fn schema() -> Value;
}

/// A share, in [0, 1].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Share(pub f64);

/// A number of tool calls, from 0 to 20.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallCount(pub u32);

/// A number of rounds, from 1 to 20.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoundCount(pub u32);

/// A list of modes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Modes(pub Vec<Mode>);

/// How strictly prompts ask for the use of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// Tools are asked for, and what has no source is to be left out.
    Strict,
    /// Tools are asked for.
    Normal,
    /// Tools are offered.
    Relaxed,
}

impl Enforcement {
    /// Every level, the strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Normal, Self::Relaxed];

    /// Returns the name used in flags and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Normal => "normal",
            Self::Relaxed => "relaxed",
        }
    }
}

/// What is done where agents agree too easily.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is in the log alone.
    Shadow,
    /// The result warns of it.
    Warn,
    /// Everybody is asked once more, blind; both answers are kept, and the result warns of it.
    Repoll,
}

impl Action {
    /// Every action, the quietest first.
    pub const ALL: [Self; 3] = [Self::Shadow, Self::Warn, Self::Repoll];

    /// Returns the name used in flags and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Shadow => "shadow",
            Self::Warn => "warn",
            Self::Repoll => "repoll",
        }
    }
}

/// By what positions count as alike, as a sign of agreeing too easily.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closeness {
    /// The level of agreement is at the threshold.
    Agreement,
    /// The mean overlap of words of all pairs is at 0.5.
    Overlap,
}

impl Closeness {
    /// Every way, the default first.
    pub const ALL: [Self; 2] = [Self::Agreement, Self::Overlap];

    /// Returns the name used in flags and results.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agreement => "agreement",
            Self::Overlap => "overlap",
        }
    }
}

impl FlagValue for bool {
    fn read(field: &Field<'_>) -> Option<Self> {
        field.truth()
    }

    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

impl FlagValue for Share {
    fn read(field: &Field<'_>) -> Option<Self> {
        field.number(0.0..=1.0).map(Self)
    }

    fn schema() -> Value {
        json!({ "type": "number", "minimum": 0, "maximum": 1 })
    }
}

impl FlagValue for CallCount {
    fn read(field: &Field<'_>) -> Option<Self> {
        field.whole(TOOL_CALLS).and_then(|count| u32::try_from(count).ok()).map(Self)
    }

    fn schema() -> Value {
        whole_schema(&TOOL_CALLS)
    }
}

impl FlagValue for RoundCount {
    fn read(field: &Field<'_>) -> Option<Self> {
        field.whole(EXIT_ROUNDS).and_then(|count| u32::try_from(count).ok()).map(Self)
    }

    fn schema() -> Value {
        whole_schema(&EXIT_ROUNDS)
    }
}

impl FlagValue for Parallelization {
    fn read(field: &Field<'_>) -> Option<Self> {
        field.choice(&Self::ALL, Self::as_str)
    }

    fn schema() -> Value {
        json!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}

impl FlagValue for Enforcement {
    fn read(field: &Field<'_>) -> Option<Self> {
        field.choice(&Self::ALL, Self::as_str)
    }

    fn schema() -> Value {
        json!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}

impl FlagValue for Action {
    fn read(field: &Field<'_>) -> Option<Self> {
        field.choice(&Self::ALL, Self::as_str)
    }

    fn schema() -> Value {
        json!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}

impl FlagValue for Closeness {
    fn read(field: &Field<'_>) -> Option<Self> {
        field.choice(&Self::ALL, Self::as_str)
    }

    fn schema() -> Value {
        json!({ "type": "string", "enum": Self::ALL.map(Self::as_str) })
    }
}

impl FlagValue for Modes {
    /// Reads a list of modes; the environment writes one as words with commas between.
    fn read(field: &Field<'_>) -> Option<Self> {
        let Some(Value::String(text)) = field.value() else {
            field.value()?;
            return Some(Self(super::modes(field)));
        };
        let named = text.split(',').map(str::trim);
        let modes: Option<Vec<Mode>> =
            named.map(|name| Mode::ALL.into_iter().find(|mode| mode.as_str() == name)).collect();
        if modes.is_none() {
            field.refuse(format_args!(
                "must be modes with commas between: {}",
                Mode::ALL.map(Mode::as_str).join(", ")
            ));
        }
        modes.map(Self)
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": { "type": "string", "enum": Mode::ALL.map(Mode::as_str) } })
    }
}

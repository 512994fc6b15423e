//! Identifiers and small values that every other module speaks in. Nothing here draws an id or reads a clock.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// The most characters of the name of a role, participant, criterion, skill or tool.
pub const NAME_CHARS_MAX: usize = 64;

/// Returns whether a text is a name: 1 to [`NAME_CHARS_MAX`] letters, digits, `_`, `-` or `.`, all ASCII.
pub(crate) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=NAME_CHARS_MAX).contains(&text.len()) && text.chars().all(fits)
}

/// Identifies one debate: a UUID v4, passed in by the caller that opens it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DebateId(pub Uuid);

impl fmt::Display for DebateId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for DebateId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}

/// The place of an event in its stream: 1 for the first, without holes. 0 stands for "before the first".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub u64);

impl Seq {
    /// The position before the first event of a stream.
    pub const START: Self = Self(0);

    /// Returns the position right after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A moment in milliseconds since the Unix epoch, UTC. The core receives the time as input and reads no
/// clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

/// The milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

impl Timestamp {
    /// Returns the milliseconds from `earlier` to this moment, 0 where the clock went backwards.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// Returns the day in UTC, such as `2026-11-21`.
    #[must_use]
    pub fn day(self) -> String {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => moment.to_zoned(jiff::tz::TimeZone::UTC).date().to_string(),
            Err(_) => self.to_string(),
        }
    }

    /// Returns how many days in UTC lie between the day of this moment and that of another, below 0 where it is past.
    #[must_use]
    pub fn days_until(self, other: Self) -> i64 {
        let day = |at: Self| at.0.div_euclid(DAY_MS);
        day(other).saturating_sub(day(self))
    }

    /// Returns this moment moved forward.
    #[must_use]
    pub fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }
}

impl fmt::Display for Timestamp {
    /// Writes ISO 8601 in UTC with milliseconds, such as `2026-11-21T23:17:00.000Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(moment) => write!(f, "{moment:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

/// A text is not a moment.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a moment such as 2026-11-21T23:17:00Z, nor a day such as 2026-11-21")]
pub struct TimestampError {
    text: String,
}

impl std::str::FromStr for Timestamp {
    type Err = TimestampError;

    /// Reads ISO 8601 with an offset, or a day, which stands for its beginning in UTC.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let day = || {
            // A moment without an offset is not a day.
            let day = text.parse::<jiff::civil::Date>().ok().filter(|_| text.len() == "2026-11-21".len())?;
            Some(day.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
        };
        let moment = text.parse::<jiff::Timestamp>().ok().or_else(day);
        let moment = moment.ok_or_else(|| TimestampError { text: text.to_owned() })?;
        Ok(Self(moment.as_millisecond()))
    }
}

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident, if $is_one:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = Arc::<str>::deserialize(from)?;
                let is_one: fn(&str) -> bool = $is_one;
                if is_one(&text) {
                    return Ok(Self(text));
                }
                Err(serde::de::Error::custom(format_args!("{text:?} is no name")))
            }
        }

        impl $name {
            /// Wraps a name that the edge has already checked.
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }

            /// Returns the name as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self::new(text)
            }
        }
    };
}

name_type! {
    /// Names who speaks in a debate: a persona, an expert, an orchestrator. Only what a request may call them is read from a
    /// log (rule K13).
    Role, if is_name
}
name_type! {
    /// Names one possible answer to the question of a debate; nothing is read from a log that has control characters.
    OutcomeId, if |text| !text.contains(char::is_control)
}

/// A SHA-256 value, written as 64 lower-case hex digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the SHA-256 of the parts, each preceded by its length, so that no two lists of parts look alike.
    #[must_use]
    pub fn of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.finalize().into())
    }

    /// Returns the plain SHA-256 of a text.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }

    /// Returns the first eight bytes as a number, for seeding what must follow from this value.
    #[must_use]
    pub fn as_seed(&self) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&self.0[..8]);
        u64::from_le_bytes(first)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 64];
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

impl std::str::FromStr for Digest {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_read_as_it_is_written_and_a_day_is_its_beginning() {
        for (text, ms) in [
            ("1970-01-01T00:00:09.500Z", 9_500),
            ("1970-01-02T01:00:00+01:00", 86_400_000),
            ("1970-01-02", 86_400_000),
        ] {
            assert_eq!(text.parse(), Ok(Timestamp(ms)), "{text}");
        }
        assert_eq!("1970-01-01T00:00:09.500Z", Timestamp(9_500).to_string());
        for text in ["", "today", "1970-13-01", "1970-01-02T01:00:00"] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}

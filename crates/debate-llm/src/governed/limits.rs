//! The limits of a provider, and how they are written: `concurrency=50,requests_per_minute=500`.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use crate::breaker::BreakerPolicy;

/// How much may be asked of one provider, by all of its models together; unlimited unless set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProviderLimits {
    /// The most calls under way at once.
    pub concurrency: Option<NonZeroU32>,
    /// The most requests in a minute, wire retries included; as many may leave at once after a quiet minute.
    pub requests_per_minute: Option<NonZeroU32>,
    /// The most tokens in a minute, read and written ones together; as many may be spent at once after a quiet minute.
    pub tokens_per_minute: Option<NonZeroU32>,
    /// When a model of the provider is left alone; each model has a circuit of its own.
    pub breaker: BreakerPolicy,
}

/// The fields as they are written, each with its least and its largest value.
const FIELDS: [(&str, u32, u32); 6] = [
    ("concurrency", 1, 100_000),
    ("requests_per_minute", 1, 10_000_000),
    ("tokens_per_minute", 1, 1_000_000_000),
    ("breaker_failures", 0, 10_000),
    ("breaker_window_ms", 1, 3_600_000),
    ("breaker_pause_ms", 1, 3_600_000),
];

/// Limits that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct ProviderLimitsError {
    /// The field that is wrong.
    pub field: String,
    /// What is wrong with it.
    pub why: String,
}

impl ProviderLimits {
    /// Returns the fields that are set, as they are written.
    fn fields(&self) -> [Option<u32>; 6] {
        let default = BreakerPolicy::default();
        let ms = |duration: Duration| u32::try_from(duration.as_millis()).unwrap_or(u32::MAX);
        let breaker = |of: fn(&BreakerPolicy) -> Duration| {
            Some(ms(of(&self.breaker))).filter(|set| *set != ms(of(&default)))
        };
        [
            self.concurrency.map(NonZeroU32::get),
            self.requests_per_minute.map(NonZeroU32::get),
            self.tokens_per_minute.map(NonZeroU32::get),
            Some(self.breaker.failures_max).filter(|set| *set != default.failures_max),
            breaker(|policy| policy.window),
            breaker(|policy| policy.pause),
        ]
    }

    fn set(&mut self, field: &str, value: u32) {
        let ms = Duration::from_millis(value.into());
        match field {
            "concurrency" => self.concurrency = NonZeroU32::new(value),
            "requests_per_minute" => self.requests_per_minute = NonZeroU32::new(value),
            "tokens_per_minute" => self.tokens_per_minute = NonZeroU32::new(value),
            "breaker_failures" => self.breaker.failures_max = value,
            "breaker_window_ms" => self.breaker.window = ms,
            _ => self.breaker.pause = ms,
        }
    }
}

impl FromStr for ProviderLimits {
    type Err = ProviderLimitsError;

    /// Reads `concurrency=50,requests_per_minute=500,tokens_per_minute=200000` and the fields of the breaker:
    /// `breaker_failures` (0 for never), `breaker_window_ms`, `breaker_pause_ms`; any of them may be left out.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut limits = Self::default();
        let mut seen: Vec<&str> = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (field, value) = part.split_once('=').unwrap_or((part, ""));
            let (field, value) = (field.trim(), value.trim());
            let wrong = |why: String| ProviderLimitsError { field: field.to_owned(), why };
            let Some((_, min, max)) = FIELDS.iter().find(|(name, ..)| *name == field) else {
                let names = FIELDS.map(|(name, ..)| name).join(", ");
                return Err(wrong(format!("there is no such limit; there are {names}")));
            };
            if seen.contains(&field) {
                return Err(wrong("it is set twice".to_owned()));
            }
            seen.push(field);
            let number = value.parse().ok().filter(|number| (min..=max).contains(&number));
            let number = number
                .ok_or_else(|| wrong(format!("{value:?} is not a whole number from {min} to {max}")))?;
            limits.set(field, number);
        }
        Ok(limits)
    }
}

impl fmt::Display for ProviderLimits {
    /// Writes what is not the default, in a form that reads back as the same.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = FIELDS.iter().zip(self.fields()).filter_map(|((name, ..), value)| Some((name, value?)));
        for (nth, (name, value)) in set.enumerate() {
            write!(f, "{}{name}={value}", if nth == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_read_back_as_they_are_written() {
        for (text, want) in [
            ("", ""),
            (" concurrency = 50 ,", "concurrency=50"),
            (
                "tokens_per_minute=200000,requests_per_minute=500,concurrency=50",
                "concurrency=50,requests_per_minute=500,tokens_per_minute=200000",
            ),
            ("breaker_failures=10,breaker_window_ms=60000,breaker_pause_ms=10000", ""),
            ("breaker_failures=0,breaker_pause_ms=5", "breaker_failures=0,breaker_pause_ms=5"),
            ("breaker_window_ms=1", "breaker_window_ms=1"),
        ] {
            let limits: ProviderLimits = text.parse().unwrap();
            assert_eq!(limits.to_string(), want);
            assert_eq!(want.parse(), Ok(limits));
        }
        assert_eq!("".parse(), Ok(ProviderLimits::default()));
    }

    #[test]
    fn a_wrong_limit_is_one_error_that_names_its_field() {
        for (text, want) in [
            ("concurrency=0", "concurrency: \"0\" is not a whole number from 1 to 100000"),
            ("concurrency", "concurrency: \"\" is not a whole number from 1 to 100000"),
            (
                "tokens_per_minute=2e5",
                "tokens_per_minute: \"2e5\" is not a whole number from 1 to 1000000000",
            ),
            ("tokens_per_minute=9999999999", "tokens_per_minute: \"9999999999\" is not"),
            ("concurrency=5,concurrency=6", "concurrency: it is set twice"),
            ("rpm=5", "rpm: there is no such limit; there are concurrency, requests_per_minute, "),
            ("=5", ": there is no such limit"),
        ] {
            let error = text.parse::<ProviderLimits>().unwrap_err().to_string();
            assert!(error.starts_with(want), "{text}: {error}");
        }
    }
}

//! Spans of time as options write them.

use std::time::Duration;

/// How spans are written.
const SPELLING: &str = "write a number with ms, s, m or h behind it, such as 90s, 30m or 2h";

/// Reads a span such as `90s`, `30m` or `1.5h`, longer than nothing and at most a year.
///
/// # Errors
/// How it is written.
pub(crate) fn read(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return Err(SPELLING.to_owned()),
    };
    let number: f64 = number.trim().parse().map_err(|_| SPELLING.to_owned())?;
    let span = Duration::try_from_secs_f64(number * seconds).map_err(|_| SPELLING.to_owned())?;
    let year = Duration::from_secs(365 * 24 * 3_600);
    if span.is_zero() || span > year { Err(SPELLING.to_owned()) } else { Ok(span) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_a_number_with_its_unit() {
        for (text, ms) in [("250ms", 250), ("90s", 90_000), ("30m", 1_800_000), ("1.5h", 5_400_000)] {
            assert_eq!(read(text), Ok(Duration::from_millis(ms)));
        }
        for text in ["", "90", "s", "-1s", "0s", "1d", "9000h", "NaNs", "infs"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}

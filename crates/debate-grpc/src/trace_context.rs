//! The W3C trace context that a caller brings, as the log keeps it.

/// The longest `tracestate` that is kept, in bytes: what the recommendation asks everybody to pass on.
const STATE_BYTES_MAX: usize = 512;

/// Hex digits of the parts of a `traceparent`: version, trace, span, flags.
const PARENT_PARTS: [usize; 4] = [2, 32, 16, 2];

/// Reads `traceparent`, and behind a space `tracestate` where there is one, as far as they have the shape of such.
///
/// A list of vendors without a cause belongs to nothing, and one that is too long is left out whole.
pub(crate) fn read<'a>(header: impl Fn(&'static str) -> Option<&'a str>) -> Option<String> {
    let is_parent = |text: &&str| {
        let parts = text.split('-').map(str::len);
        parts.eq(PARENT_PARTS) && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
    };
    let is_state = |text: &&str| text.len() <= STATE_BYTES_MAX && text.split(',').all(is_member);
    let parent = header("traceparent").filter(is_parent)?;
    Some(match header("tracestate").map(str::trim).filter(is_state) {
        Some(state) => format!("{parent} {state}"),
        None => parent.to_owned(),
    })
}

/// Returns whether a text is what one vendor adds to a trace: `key=value`.
fn is_member(text: &str) -> bool {
    let is_key = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-*/@".contains(c);
    text.trim().split_once('=').is_some_and(|(key, value)| {
        !key.is_empty()
            && key.chars().all(is_key)
            && !value.is_empty()
            && value.chars().all(|c| c == ' ' || c.is_ascii_graphic() && c != '=')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn of(parent: Option<&str>, state: Option<&str>) -> Option<String> {
        read(|name| if name == "traceparent" { parent } else { state })
    }

    #[test]
    fn the_callers_trace_is_kept_with_the_state_of_its_vendors() {
        assert_eq!(of(Some(PARENT), None).as_deref(), Some(PARENT));
        let both = format!("{PARENT} congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
        assert_eq!(of(Some(PARENT), Some(" congo=t61rcWkgMzE,rojo=00f067aa0ba902b7")), Some(both));
    }

    #[test]
    fn what_has_not_the_shape_of_a_trace_is_left_out() {
        assert_eq!(of(None, Some("congo=1")), None);
        let no_digit = PARENT.replace("f0", "g0");
        let mut parents = vec!["00-4bf9".to_owned(), "-".repeat(55), "0".repeat(55), no_digit];
        parents.push(format!("{PARENT}-00"));
        for (index, digits) in PARENT_PARTS.into_iter().enumerate() {
            for wrong in ["1".repeat(digits - 1), "1".repeat(digits + 1), "g".repeat(digits)] {
                let mut parts: Vec<String> = PARENT.split('-').map(str::to_owned).collect();
                parts[index] = wrong;
                parents.push(parts.join("-"));
            }
        }
        for parent in parents {
            assert_eq!(of(Some(&parent), Some("congo=1")), None, "{parent}");
        }
        let long = format!("a={}", "x".repeat(511));
        for state in [
            "",
            "a=\u{7f}",
            "a=1\t2",
            "hello world",
            "a=1,b",
            "A=1",
            "a=1=2",
            "=1",
            "a=",
            "a\"b=1",
            "a b=1",
            "a.b=1",
            "{a}=1",
            &long,
        ] {
            assert_eq!(of(Some(PARENT), Some(state)).as_deref(), Some(PARENT), "{state}");
        }
    }
}

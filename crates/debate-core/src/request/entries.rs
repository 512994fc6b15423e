//! How much a text of JSON may hold for its length: of a list of empty entries each takes three bytes, and a hundred and
//! more in memory once it is read. Texts are looked through before they are read.

/// Bytes of memory that one value may take at most while the list that it stands in grows.
const VALUE_BYTES: usize = 180;

/// Bytes of memory that a text may take: so many for each of its bytes, and so many for any text.
const MEMORY_PER_BYTE: usize = 16;
const MEMORY_FREE: usize = 512 * 1024;

/// Checks a text before it is read as JSON.
///
/// # Errors
/// It holds too many values for its length; the reason, for people.
pub fn check(json: &[u8]) -> Result<(), String> {
    let allowed = (MEMORY_FREE + MEMORY_PER_BYTE * json.len()) / VALUE_BYTES;
    if values(json) > allowed {
        return Err(format!("holds too many values for its {} bytes; {allowed} are allowed", json.len()));
    }
    Ok(())
}

/// Returns how many values a text of JSON holds at most: a value begins with a bracket, or stands before or behind a comma.
fn values(json: &[u8]) -> usize {
    let (mut values, mut is_text, mut is_escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            b',' | b'[' | b'{' if !is_text => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_values_are_counted_outside_of_texts() {
        for (json, want) in [
            ("1", 1),
            ("[]", 2),
            ("[[],[]]", 5),
            (r#"{"a":1,"b":[2,3]}"#, 5),
            (r#"["a,[{","b\"c,\\","d"]"#, 4),
        ] {
            assert_eq!(values(json.as_bytes()), want, "{json}");
        }
    }

    #[test]
    fn f3_many_values_for_their_length_are_refused() {
        for bytes in [64 * 1024, 1024 * 1024] {
            for entry in ["[],", "0,", "{},", "\"\","] {
                let json = format!("[{}0]", entry.repeat(bytes / entry.len()));
                assert!(check(json.as_bytes()).is_err(), "{entry} {bytes}");
            }
        }
        let words = format!("[{}0]", r#"{"name": "a variable", "value": 0.25},"#.repeat(20_000));
        assert_eq!(check(words.as_bytes()), Ok(()));
        assert_eq!(check(format!("[{}0]", "0,".repeat(2_000)).as_bytes()), Ok(()));
    }
}

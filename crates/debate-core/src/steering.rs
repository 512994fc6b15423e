//! Characters with which words of people and models could do more than be read, wherever they are shown (rule K13).

/// Returns whether a character controls a terminal or changes the direction of the text next to it.
///
/// Line breaks and tabs are among them; who shows text of several lines lets these pass.
#[must_use]
pub fn steers(c: char) -> bool {
    c.is_control() || turns_text(c)
}

/// Returns whether a character only sets the direction of the text next to it: embeddings, overrides,
/// isolates and marks of the Unicode bidirectional algorithm (UAX #9).
#[must_use]
pub fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Unicode calls `Bidi_Control`.
    const TURNING: &str =
        "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";

    #[test]
    fn k13_steering_and_direction_characters_are_recognized() {
        let all = |is_one: fn(char) -> bool| ('\0'..=char::MAX).filter(|c| is_one(*c)).collect::<String>();
        assert_eq!(all(turns_text), TURNING);
        let controls: String = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}').collect();
        assert_eq!(all(steers), controls + TURNING);
    }
}

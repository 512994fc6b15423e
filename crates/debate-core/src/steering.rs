//! Characters with which words of people and models could do more than be read, wherever they are shown (rule K13).

/// Returns whether a character steers a terminal, or turns around the text that stands beside it.
///
/// Line breaks and tabs are among them; who shows text of several lines lets these pass.
#[must_use]
pub fn steers(c: char) -> bool {
    c.is_control() || turns_text(c)
}

/// Returns whether a character only sets the direction of the text that stands beside it: embeddings, overrides, isolates
/// and marks of the Unicode bidirectional algorithm (UAX #9).
#[must_use]
pub fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k13_what_steers_or_turns_is_told_from_what_is_read() {
        assert!(
            ['\u{1b}', '\u{9b}', '\r', '\u{61c}', '\u{202e}', '\u{2067}', '\u{200f}'].into_iter().all(steers)
        );
        assert!(!['a', 'é', '\u{5d0}', '\u{200d}', '\u{2028}'].into_iter().any(steers));
        assert!(!turns_text('\u{1b}'));
    }
}

//! Makes text of people and models safe for a terminal: the text cannot move the cursor, change colors or
//! reverse the direction of the text next to it (rule K13).

use debate_core::steering::steers;

/// Returns a text without control characters; line breaks stay, tabs become spaces.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        match c {
            '\n' => safe.push('\n'),
            '\t' => safe.push_str("    "),
            c if steers(c) => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Returns a text as one line: breaks and runs of white space become single spaces.
pub(crate) fn one_line(text: &str) -> String {
    plain(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k13_words_of_a_model_cannot_steer_the_terminal() {
        let spoken = "a\x1b[2Jb\x07\r\nc\td\u{202e}e\u{9b}31m";
        assert_eq!(plain(spoken), "a\u{fffd}[2Jb\u{fffd}\nc    d\u{fffd}e\u{fffd}31m");
        assert_eq!(one_line(" a \n\n b\tc "), "a b c");
    }
}
